"""Exceptions as users get them: with their own frames alone, whether printed by Python, by IPython or by pytest.

Where a call of the user's enters graphc, what it raises is cleaned and raised again:

    except BaseException as error:
        clean(error)
        raise

A bare `raise` adds no frame to the traceback, so that not even the way in is in it. GRAPHC_TRACEBACK=full keeps everything.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType, TracebackType

from graphc.debug import switches
from graphc.errors import (
    ORIGINALS,
    SOURCE_MAPS,
    GraphcError,
    Loc,
    is_generated,
    is_hidden,
    is_library,
    loc_of,
)
from graphc.errors.source_lines import find_file, is_pythons

#: What graphc itself calls: between its frames, theirs are none of the user's.
_BENEATH = frozenset(("numpy", "networkx", "numba", "llvmlite", "jinja2", "ml_dtypes"))
_TRACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace") + os.sep
#: What stands for Python's own statements: what fails right there is the user's statement.
_STATEMENTS = (
    os.path.join(_TRACE, "conversion", "convert.py"),
    os.path.join(_TRACE, "conversion", "rewrite.py"),
    os.path.join("malt", "operators", "variables.py"),  # Reads a name that may have no value yet.
)
#: Of the frames of an error that shows its line itself so many are kept, of both ends.
_ENDS = 2


def clean(error: BaseException) -> None:
    """Leave the user's frames alone in the traceback of an exception, and of those that it was raised from."""
    if switches().full_traceback:
        return
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        ours = isinstance(each, GraphcError)
        if ours:
            _hide_origin(each)
        kept = list(_users(each.__traceback__))
        if ours and len(kept) > 2 * _ENDS:
            kept = kept[:_ENDS] + kept[-_ENDS:]
        made: TracebackType | None = None
        for frame, instruction, line in reversed(kept):
            made = TracebackType(made, frame, instruction, line)
        each.__traceback__ = made
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def is_own(error: BaseException) -> bool:
    """Whether it is the user's code that has raised an exception, or what that called beneath it; and one that a step raises at
    the end of its run, for a `raise` statement of the user's.
    """
    if error.__dict__.get("graphc_asked_for"):
        return True
    innermost = True
    for entry in reversed(list(_entries(error.__traceback__))):
        file = entry.tb_frame.f_code.co_filename
        if file in SOURCE_MAPS:
            return True
        if is_hidden(file):
            # A call of the user's code with the wrong arguments fails where graphc makes it.
            called = isinstance(error, TypeError) and file.startswith(_TRACE)
            return innermost and (called or file.endswith(_STATEMENTS))
        if not _is_beneath(file):
            return True
        innermost = False
    return True


def may_be_caught(end: str) -> bool:
    """Whether an exception that is raised now comes by a `try` of the user's on its way to a frame of the file `end`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != end:
        file, line = frame.f_code.co_filename, frame.f_lineno
        mapped = SOURCE_MAPS.get(file, {}).get(line)
        if mapped is not None:
            file, line = mapped.file, mapped.line
        if (mapped is not None or not is_hidden(file)) and any(line in lines for lines in _tried(file)):
            return True
        frame = frame.f_back
    return False


@lru_cache(64)
def _tried(file: str) -> list[range]:
    """The lines of a file that are inside of `try`, or of `with suppress`."""
    try:
        tree = ast.parse("".join(linecache.getlines(find_file(file))))
    except (SyntaxError, ValueError):
        return []
    found = []
    for node in ast.walk(tree):
        quiet = isinstance(node, ast.With) and any("suppress" in ast.unparse(item) for item in node.items)
        if isinstance(node, (ast.Try, ast.TryStar)) or (isinstance(node, ast.With) and quiet):
            found.append(range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1))
    return found


def place(traceback: TracebackType | None) -> Loc | None:
    """The innermost line of the user's in a traceback."""
    for entry in reversed(list(_entries(traceback))):
        code = entry.tb_frame.f_code
        mapped = SOURCE_MAPS.get(code.co_filename)
        if mapped is not None and entry.tb_lineno in mapped:
            return mapped[entry.tb_lineno]
        if not is_hidden(code.co_filename) and not _is_beneath(code.co_filename):
            return loc_of(code, entry.tb_lasti, entry.tb_lineno)
    return None


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries, but for what Python has written for graphc's classes."""
    while traceback is not None:
        if not is_generated(traceback.tb_frame):
            yield traceback
        traceback = traceback.tb_next


def _hide_origin(error: BaseException) -> None:
    """An exception of graphc's own insides from which an error was raised is kept, but not printed with it."""
    origin = error.__cause__ or error.__context__
    if origin is not None and not isinstance(origin, GraphcError) and not is_own(origin):
        error.__cause__ = None
        error.__context__, error.__suppress_context__ = origin, True


def _users(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    """(frame, instruction, line) of the user's; of converted code, the lines that it was made from."""
    inside = False  # Whether the last frame was graphc's, or of a library that it called.
    entries = list(_entries(traceback))
    for place, entry in enumerate(entries):
        frame = entry.tb_frame
        file = frame.f_code.co_filename
        if file in SOURCE_MAPS:
            inside = False
            loc = SOURCE_MAPS[file].get(entry.tb_lineno)
            if loc is not None and not _goes_on(frame, entries[place + 1 :]):
                original = ORIGINALS[file]
                whole = original.co_filename
                path = whole if whole.endswith(loc.file) else find_file(loc.file)
                yield _stand_in(original, loc.function, path), 0, loc.line
        elif is_hidden(file):
            inside = True
        elif not (inside and _is_beneath(file)):
            inside = False
            yield frame, entry.tb_lasti, entry.tb_lineno


def _goes_on(frame: FrameType, entries: list[TracebackType]) -> bool:
    """Whether converted code goes on in a part of itself: branches and loops are functions in it."""
    part = f"{frame.f_code.co_qualname}.<locals>."
    converted = next((e.tb_frame.f_code for e in entries if not is_library(e.tb_frame.f_code.co_filename)), None)
    return converted is not None and converted.co_qualname.startswith(part) and converted.co_filename in SOURCE_MAPS


def _is_beneath(file: str) -> bool:
    """Whether a file belongs to Python or to a library that graphc calls."""
    _, installed, inside = file.replace("dist-packages", "site-packages").rpartition(f"site-packages{os.sep}")
    if installed:
        return inside.split(os.sep)[0] in _BENEATH
    return is_pythons(file) or file.startswith("<__array_function__")


@lru_cache(maxsize=256)
def _stand_in(original: CodeType, name: str, file: str) -> FrameType:
    """A frame that says that it belongs to the user's function, which never ran itself."""
    code = compile("raise LookupError", file, "exec")
    # No instruction of it has a place (entries of kind 15, each for up to eight instructions): nothing is underlined.
    nowhere = bytes(0x80 | 15 << 3 | min(8, rest) - 1 for rest in range(len(code.co_code) // 2, 0, -8))
    code = code.replace(
        co_name=name.rpartition(".")[2],
        co_qualname=name,
        co_firstlineno=original.co_firstlineno,
        co_linetable=nowhere,
    )
    try:
        exec(code, {})
    except LookupError as error:
        traceback = error.__traceback__
        assert traceback is not None
        assert traceback.tb_next is not None
        return traceback.tb_next.tb_frame
    raise AssertionError("it raises")
