"""Where in the user's code something happens: the line of a frame, of an instruction, of who makes an object; and which files are
graphc's own.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType, FrameType

from graphc.errors.source_lines import display_path, is_pythons, working_directory

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: The file of what stands around constructors.
_WRAPPERS = os.path.join(_PACKAGE, "validation", "signatures.py")
#: How the modules begin that Python's own code for classes says it is of: graphc's, and those that tuples with names are given.
_GENERATED = ("graphc", "namedtuple_")
#: Folders of the package whose lines count as the user's: they are written like user code.
_USER_CODE = (os.path.join(_PACKAGE, "examples") + os.sep,)


@dataclass(frozen=True, slots=True)
class Loc:
    """A line of the user's: file as displayed, line number; columns and function where known, which take no part in comparisons
    and in the text IR.
    """

    file: str
    line: int
    function: str = field(default="", compare=False)
    col: int | None = field(default=None, compare=False)
    end_col: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def is_library(filename: str) -> bool:
    """Whether a file belongs to graphc itself rather than to its user."""
    return filename.startswith(_PACKAGE) and not filename.startswith(_USER_CODE)


#: Generated file -> line -> the user's line it was made from. Filled by graphc.trace.conversion.convert.
SOURCE_MAPS: dict[str, dict[int, Loc]] = {}
#: Generated file -> the code of the user's function that it was made from. Filled by graphc.trace.conversion.convert.
ORIGINALS: dict[str, CodeType] = {}
#: Folders of libraries whose frames are passed over. Filled by graphc.trace.conversion.convert and graphc.steps.compiled_step.
SKIPPED: set[str] = set()


#: Places of instructions, by code object and instruction, with that code; None for what is passed over.
Places = dict[tuple[int, int], tuple[CodeType, Loc | None]]


def user_loc(frame: FrameType | None = None, known: Places | None = None) -> Loc | None:
    """The innermost frame outside graphc, from `frame` (default: the caller) outwards.

    `known` keeps the places for who asks often, while the working directory, by which they are shown, stays what it is.
    """
    frame = frame or sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not _INTERNAL.get(code.co_filename):  # Most frames are graphc's own: no more calls for them.
            place = None if known is None else known.get((id(code), frame.f_lasti))
            if place is None:
                place = code, _place(frame)
                if known is not None:
                    known[id(code), frame.f_lasti] = place
            if place[1] is not None:
                return place[1]
        frame = frame.f_back
    return None


def _place(frame: FrameType) -> Loc | None:
    """The user's line that a frame is at; None if the frame is none of the user's."""
    filename = frame.f_code.co_filename
    mapped = SOURCE_MAPS.get(filename)
    if mapped is not None:
        return mapped.get(frame.f_lineno)
    # Whom Python's library calls for a user, in a thread or as a generator, it is not.
    if _passed_over(filename) or is_pythons(filename) or (filename == "<string>" and is_generated(frame)):
        return None
    return loc_of(frame.f_code, frame.f_lasti, frame.f_lineno)


def is_generated(frame: FrameType) -> bool:
    """Whether a frame is of what Python writes for graphc's classes, such as the `__eq__` of a dataclass, or for any tuple with
    named fields, such as its `__new__`: it has no file.
    """
    file, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "")
    return file == "<string>" and isinstance(module, str) and module.startswith(_GENERATED)


def is_same_code(a: Loc | None, b: Loc | None) -> bool:
    """Whether two places are in one line of one function: a lambda stands in the line of who is given it."""
    return a == b and (a is None or b is None or a.function == b.function)


def maker_loc(instance: object) -> Loc | None:
    """The user's line that makes an instance, whose `__init__` is running: not one inside of that."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        (frame.f_code.co_name == "__init__" and instance is frame.f_locals.get("self"))
        or frame.f_code.co_filename == _WRAPPERS
    ):
        frame = frame.f_back
    return None if frame is None else user_loc(frame)


def loc_of(code: CodeType, instruction: int, line: int) -> Loc:
    """The place of an instruction, which stands in this line."""
    key, here = (id(code), instruction), working_directory()
    known = _LOCS.get(key)
    if known is None or known[0] is not code or known[1] != here:
        if len(_LOCS) >= _MOST_LOCS:
            _LOCS.clear()
        known = _LOCS[key] = (code, here, _loc(code, instruction, line))
    return known[2]


def loc_of_definition(code: CodeType) -> Loc:
    """The first line of a function."""
    return Loc(display_path(code.co_filename), code.co_firstlineno, code.co_qualname)


#: By code object and instruction: that very code object, for equal ones may be of other files, the working directory, the place.
_LOCS: dict[tuple[int, int], tuple[CodeType, str, Loc]] = {}
_MOST_LOCS = 4096


def _loc(code: CodeType, instruction: int, current: int) -> Loc:
    """The place of an instruction in line `current`."""
    line, end_line, col, end_col = next(
        islice(code.co_positions(), instruction // 2, None), (current, None, None, None)
    )
    if end_line != line:
        end_col = None
    return Loc(display_path(code.co_filename), line or current, code.co_qualname, col, end_col)


def is_hidden(filename: str) -> bool:
    """Whether tracebacks leave out the frames of a file: graphc's own, generated ones, those of a library it uses."""
    return filename in SOURCE_MAPS or _passed_over(filename)


def _passed_over(filename: str) -> bool:
    return _is_internal(filename) or filename.startswith(tuple(SKIPPED))


#: What `_is_internal` has found, by file name.
_INTERNAL: dict[str, bool] = {}


def _is_internal(filename: str) -> bool:
    found = _INTERNAL.get(filename)
    if found is None:
        # networkx writes functions of its own, under a name that is no file's.
        launcher = filename.startswith(("<frozen", "<class 'networkx")) or os.path.basename(filename) == "graphc"
        found = _INTERNAL[filename] = launcher or is_library(filename)
    return found
