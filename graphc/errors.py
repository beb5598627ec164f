"""Errors as users see them, and where in the user's code they come from.

Format (docs/errors.md): the cause on line 1, then the user's line with a caret, then every value by the user's own
name, then one suggestion. Every class also derives from the builtin that MindSpore raises in the same situation.
"""

from __future__ import annotations

import importlib
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType, FrameType
from typing import Any, cast

from graphc.codes import CODES as CODES
from graphc.source_lines import display_path, excerpt, is_pythons, working_directory

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: The file of what stands around constructors.
_WRAPPERS = os.path.join(_PACKAGE, "signatures.py")
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


#: Generated file -> line -> the user's line it was made from. Filled by graphc.trace.convert.
SOURCE_MAPS: dict[str, dict[int, Loc]] = {}
#: Generated file -> the code of the user's function that it was made from. Filled by graphc.trace.convert.
ORIGINALS: dict[str, CodeType] = {}
#: Folders of libraries whose frames are passed over. Filled by graphc.trace.convert and graphc.api.
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


#: A message has so many lines at most, and a line so many characters.
MOST_LINES, MOST_CHARACTERS = 15, 400


class GraphcError(Exception):
    """Base of all errors that graphc raises on purpose.

    message: the cause in one sentence. loc: the user's line. details: lines that name the values involved.
    help: one concrete suggestion. nodes: ids of IR nodes. Attributes of the same names; `code` is stable.
    """

    __module__ = "graphc"
    default_code = "GC100"
    #: The module that the class stands in.
    _home = __name__

    def __init_subclass__(cls, *, shown_as: str | None = None) -> None:
        """Tracebacks show graphc's own classes as those of `graphc`, wherever they stand. `shown_as` is what
        `type(error).__name__` says: scripts made for MindSpore that look at it find the builtin's name; tracebacks show the
        qualified name.
        """
        super().__init_subclass__()
        cls._home = cls.__module__
        if cls.__module__.startswith("graphc."):
            cls.__module__ = "graphc"
        if shown_as is not None:
            cls.__name__ = shown_as

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        loc: Loc | None = None,
        details: Iterable[str] = (),
        help: str | Callable[[], str | None] | None = None,
        nodes: Iterable[int] = (),
    ) -> None:
        self.message = message
        self.code = code or self.default_code
        self.loc = loc
        self.details = tuple(details)
        self._help = help
        self.nodes = tuple(nodes)
        super().__init__(message)

    @property
    def help(self) -> str | None:
        """One concrete suggestion, made when it is asked for: code that only looks whether something is there does not."""
        return self._help() if callable(self._help) else self._help

    @help.setter
    def help(self, value: str | None) -> None:
        self._help = value

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.loc is not None:
            lines += excerpt(self.loc)
        details = [f"  {line}" for line in self.details]
        help = [f"  help: {self.help}"] if self.help else []
        room = MOST_LINES - len(lines) - len(help)
        if len(details) > room:
            details[room - 1 :] = [f"  ... and {len(details) - room + 1} more: see the error's `details`"]
        return "\n".join(_short(printable(line)) for line in (*lines, *details, *help))

    def __reduce__(self) -> tuple[Any, ...]:
        kind, (made, args, *state) = type(self), cast("tuple[Any, ...]", super().__reduce__())
        return (
            (_again, (kind._home, kind.__qualname__, args), *state)
            if kind.__module__ == "graphc"
            else (made, args, *state)
        )

    def add_note(self, note: str) -> None:
        """A line that tracebacks show behind the message."""
        super().add_note(printable(note))

    def to_json(self) -> dict[str, object]:
        """The error as plain data."""
        return {
            "error": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "file": self.loc.file if self.loc else None,
            "line": self.loc.line if self.loc else None,
            "details": list(self.details),
            "help": self.help,
            "nodes": list(self.nodes),
        }


def _again(home: str, name: str, args: tuple[Any, ...]) -> GraphcError:
    """An error that was pickled."""
    made: GraphcError = operator.attrgetter(name)(importlib.import_module(home))(*args)
    return made


def in_words(size: int) -> str:
    """A number of bytes: "12.0 TiB"."""
    power = min(int(math.log(max(size, 1), 1024)), 4)
    return f"{size / 1024**power:.{1 if power else 0}f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def printable(text: str) -> str:
    """A line with everything escaped that a terminal would obey, or not show: names and the text of files may hold it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def _short(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 4]} ..."


class ShapeError(GraphcError, ValueError):
    """Shapes that do not fit."""

    default_code = "GC101"


class DTypeError(GraphcError, TypeError, shown_as="TypeError"):
    """A dtype that an op does not accept."""

    default_code = "GC110"


class ArgumentTypeError(GraphcError, TypeError, shown_as="TypeError"):
    """An argument of the wrong kind."""


class ArgumentValueError(GraphcError, ValueError, shown_as="ValueError"):
    """An argument of the right kind with a value that is not accepted."""


class AssertFailedError(ArgumentValueError, RuntimeError, shown_as="RuntimeError"):
    """A condition that a program asserts does not hold."""


class KindError(ArgumentTypeError, ValueError, shown_as="ValueError"):
    """An argument of the wrong kind where MindSpore raises a ValueError: a reduction that is no string, a name that is none."""


class CountError(ArgumentValueError, TypeError, shown_as="TypeError"):
    """A tuple of another number of elements than there are axes: a TypeError in MindSpore's convolutions."""


class NoFormulaError(ArgumentValueError, NotImplementedError, shown_as="NotImplementedError"):
    """A number of a distribution that does not exist, or that there is no formula for."""


class TraceError(GraphcError, RuntimeError):
    """Python that cannot be traced."""

    default_code = "GC130"


class TraceTypeError(TraceError, TypeError, shown_as="TypeError"):
    """Python that cannot be traced because a traced tensor stands where a Python value is needed."""


class TraceValueError(TraceError, ValueError, shown_as="ValueError"):
    """Python that cannot be traced because a tensor has several elements where one is needed."""


class NestingError(TraceError, RecursionError):
    """Calls inside construct that nest too deeply."""

    default_code = "GC125"


class TraceAttributeError(GraphcError, AttributeError):
    """An attribute that a Cell, a tensor or a module of graphc's does not have."""

    default_code = "GC140"


class GradientError(GraphcError, RuntimeError):
    """A gradient that cannot be made."""

    default_code = "GC150"


class TransformError(GraphcError, RuntimeError):
    """A function transform that cannot be applied to a function, or to what it is called with."""

    default_code = "GC156"


class ParseError(GraphcError, ValueError):
    """Text that is no graph."""

    default_code = "GC162"


class VerifyError(GraphcError, RuntimeError):
    """A graph that breaks the rules of the IR."""

    default_code = "GC163"


class LoweringError(GraphcError, RuntimeError):
    """An op for which there is no kernel."""

    default_code = "GC182"


class CompileError(GraphcError, RuntimeError):
    """The code generator failed."""

    default_code = "GC180"


class KernelError(GraphcError, RuntimeError):
    """A kernel of the user's own that cannot be compiled, or has failed."""

    default_code = "GC183"


class StepMemoryError(GraphcError, MemoryError):
    """More memory is needed than can be had."""

    default_code = "GC184"


class InternalError(GraphcError, RuntimeError):
    """Something in graphc failed that is not expected to; `__context__` is what was raised there.

    Each is also of the builtin class of that exception, so that `except ValueError` goes on working.
    """

    default_code = "GC185"


class SignatureError(GraphcError, TypeError, shown_as="TypeError"):
    """A compiled step called with inputs it was not compiled for."""

    default_code = "GC170"


class PaddingError(GraphcError, ValueError):
    """Inputs cannot be padded to the sizes of a bucket, since results would change."""

    default_code = "GC172"


class CheckpointError(GraphcError, ValueError, RuntimeError):
    """A checkpoint that does not match. MindSpore raises RuntimeError for parameters that do not fit, else ValueError."""

    default_code = "GC190"


class DisagreementError(GraphcError, RuntimeError):
    """Processes that train together but are not about to do the same."""

    default_code = "GC191"


class StateDictError(CheckpointError):
    """A state dict that does not fit a Cell, or a hook of one that does what it must not."""


class RecordError(GraphcError, ValueError):
    """A record of a training run that `graphc report` cannot read."""

    default_code = "GC192"


class ExportError(GraphcError, RuntimeError):
    """A step that cannot be exported in the form asked for."""

    default_code = "GC193"


class LossScaleError(GraphcError, RuntimeError):
    """A loss scale that has been at its floor for too long."""

    default_code = "GC154"


class NonFiniteError(GraphcError, FloatingPointError):
    """A step with a result or a parameter that is infinite or NaN, found by `find_nan`; `report` says all that is known."""

    default_code = "GC213"
    report: object = None


class GraphcWarning(UserWarning):
    """What is probably a mistake, though nothing forbids it. Base of graphc's warnings."""

    __module__ = "graphc"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__module__ = "graphc"


class DataError(GraphcError, RuntimeError):
    """A data set that cannot give what was asked for. `sample`: which sample, where one is to blame."""

    default_code = "GC204"
    sample: str | None = None


class DataKindError(DataError, TypeError):
    """A value of a kind that a transform does not take, as a text for an image: a TypeError in MindSpore where the transform is
    called, a RuntimeError in a pipeline.
    """


class MissingPackageError(GraphcError, ImportError):
    """A package that is needed here only, and is not installed."""

    default_code = "GC207"


class RecompileWarning(GraphcWarning):
    """A Cell that is compiled again and again; see `graphc explain GC171`."""


class OpByOpWarning(GraphcWarning):
    """A Cell of a program for MindSpore that cannot be compiled, and runs op by op; docs/debugging.md, "Op by op"."""


class LossScaleWarning(GraphcWarning):
    """A loss scale that is at its floor while gradients overflow; see `graphc explain GC154`."""


class NonFiniteWarning(GraphcWarning):
    """An overflow that `find_nan` has found in a step that was skipped; see `graphc explain GC213`."""


class UntrainedWarning(GraphcWarning):
    """Parameters that are to be trained and cannot be; see `graphc explain GC155`."""


def stacklevel() -> int:
    """For warnings.warn: how many frames, from the caller's, lie below the user's."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and (is_hidden(name := frame.f_code.co_filename) or is_pythons(name)):
        frame, level = frame.f_back, level + 1
    return level
