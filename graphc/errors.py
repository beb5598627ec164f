"""Errors as users see them, and where in the user's code they come from. Imports nothing of graphc.

Format (docs/errors.md): the cause on line 1, then the user's line with a caret, then every value by the user's own
name, then one suggestion. Every class also derives from the builtin that MindSpore raises in the same situation.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: Folders of the package whose lines count as the user's: they are written like user code.
_USER_CODE = (os.path.join(_PACKAGE, "examples") + os.sep,)


@dataclass(frozen=True, slots=True)
class Loc:
    """A line of the user's: file as displayed, line number; columns and function where known.

    Only file and line take part in comparisons and in the text IR.
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
#: Folders of libraries whose frames are passed over. Filled by graphc.trace.convert.
SKIPPED: set[str] = set()


def user_loc(frame: FrameType | None = None) -> Loc | None:
    """The innermost frame outside graphc, from `frame` (default: the caller) outwards."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not _INTERNAL.get(filename):  # Most frames are graphc's own: no more calls for them.
            mapped = SOURCE_MAPS.get(filename)
            if mapped is not None and frame.f_lineno in mapped:
                return mapped[frame.f_lineno]
            if mapped is None and not _passed_over(filename):
                break
        frame = frame.f_back
    else:
        return None
    code = frame.f_code
    # Code objects that differ in these only are equal.
    where = (code.co_filename, code.co_linetable, _working_directory())
    return _loc(code, frame.f_lasti, frame.f_lineno, where)


@lru_cache(maxsize=4096)
def _loc(code: CodeType, instruction: int, current: int, where: tuple[str, bytes, str]) -> Loc:
    """The place of an instruction in line `current`; `where` is all else that it depends on."""
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
        launcher = filename.startswith("<frozen") or os.path.basename(filename) == "graphc"
        found = _INTERNAL[filename] = launcher or is_library(filename)
    return found


def _working_directory() -> str:
    """The working directory; a name that no path begins with where it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "<deleted>"


def display_path(filename: str) -> str:
    """The path as shown: relative inside the working directory or the package, else its last two parts."""
    if filename.startswith("<"):
        return filename
    for base in (_working_directory() + os.sep, os.path.dirname(_PACKAGE.rstrip(os.sep)) + os.sep):
        if filename.startswith(base):
            return filename[len(base) :]
    return os.path.join(*filename.split(os.sep)[-2:])


def source_line(loc: Loc) -> str:
    """The text of the user's line, or ""."""
    return linecache.getline(_find(loc.file), loc.line).rstrip("\n")


def _find(path: str) -> str:
    if os.path.exists(path) or path.startswith("<"):
        return path
    in_package = os.path.join(os.path.dirname(_PACKAGE.rstrip(os.sep)), path)
    if os.path.exists(in_package):
        return in_package
    for known in sys.modules.values():
        file = getattr(known, "__file__", None)
        if file and file.endswith(os.sep + path):
            return str(file)
    return path


#: Stable codes: what each means, for `graphc explain` and docs/errors.md.
CODES: dict[str, str] = {
    "GC100": "A value, attribute or argument that an op or cell does not accept.",
    "GC101": "Shapes of operands do not fit each other.",
    "GC102": "Two shapes cannot be broadcast together.",
    "GC103": "A reshape changes the number of elements.",
    "GC104": "A convolution or pooling window does not fit its input.",
    "GC110": "A dtype that the op does not accept, or two dtypes that do not go together.",
    "GC111": "Labels of a cross entropy have the wrong dtype or shape.",
    "GC112": "A value of an argument that means something in MindSpore, but is not implemented here.",
    "GC120": "The truth value of a traced tensor was asked for (`if`, `while`, `and`, `not`).",
    "GC122": "The branches of a conditional return different structures, shapes or dtypes.",
    "GC121": "A name is set in one branch of a conditional only.",
    "GC124": "Python that cannot be converted: a `return` inside a loop over tensors, `yield`, `match`, no source code.",
    "GC123": "A value that a loop carries changes its shape or dtype from one turn to the next.",
    "GC130": "A Python value of a traced tensor was asked for; it is not known while tracing.",
    "GC131": "A NumPy function was applied to a traced tensor.",
    "GC132": "A traced tensor was used outside the trace that made it.",
    "GC133": "A Cell's attributes were changed while it was traced: such a change happens once, at compile time.",
    "GC140": "A Cell has no such attribute.",
    "GC141": "Two parameters have the same name, or a Parameter was made inside construct.",
    "GC142": "A parameter that should be trained does not belong to the network or cannot be trained.",
    "GC150": "An op on the way to a gradient has no gradient.",
    "GC151": "The network of a training cell must return one tensor.",
    "GC152": "`sens` or `scale_sense` has the wrong type or shape.",
    "GC153": "A gradient that a user wrote (`bprop`, InsertGradientOf, HookBackward) does not fit what it is the gradient of.",
    "GC161": "The overflow check is not ordered around the computation it checks.",
    "GC162": "The text of a graph does not parse.",
    "GC163": "A graph breaks a rule of the IR.",
    "GC170": "A compiled step was called with other shapes, dtypes or constants than it was compiled for.",
    "GC171": "A Cell is compiled again and again, because something that it is compiled for keeps changing.",
    "GC180": "The code generator failed: a bug in graphc.",
    "GC181": "An op has no kernel for a dtype.",
    "GC182": "An op, attribute or dtype has no lowering.",
    "GC183": "A user's own kernel cannot be compiled, gives something else than its type rule says, or raised an exception.",
    "GC190": "A checkpoint does not match.",
    "GC200": "A data set's source or transform, a function of the user's, raised an exception.",
    "GC201": "A data set's source or transform gave something that is no row of its columns.",
    "GC202": "A worker process of a data set died, or could not be started.",
    "GC203": "Samples of different shapes or dtypes cannot be one batch.",
    "GC204": "A data set has no such samples or columns: it is empty, an index lies outside, names do not match.",
    "GC205": "A data set's file is missing, cut off or not what its name says.",
    "GC206": "A data set was read beyond its last epoch, or its state does not belong to it.",
    "GC207": "A package that an image needs is not installed.",
}


class GraphcError(Exception):
    """Base of all errors that graphc raises on purpose.

    message: the cause in one sentence. loc: the user's line. details: lines that name the values involved.
    help: one concrete suggestion. nodes: ids of IR nodes. Attributes of the same names; `code` is stable.
    """

    __module__ = "graphc"
    default_code = "GC100"

    def __init_subclass__(cls, *, shown_as: str | None = None) -> None:
        """The classes below belong to `graphc`, where users find them. `shown_as` is what `type(error).__name__` says: scripts
        made for MindSpore that look at it find the builtin's name; tracebacks show the qualified name.
        """
        super().__init_subclass__()
        if cls.__module__ == __name__:
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
        help: str | None = None,
        nodes: Iterable[int] = (),
    ) -> None:
        self.message = message
        self.code = code or self.default_code
        self.loc = loc
        self.details = tuple(details)
        self.help = help
        self.nodes = tuple(nodes)
        super().__init__(message)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.loc is not None:
            lines += _excerpt(self.loc)
        lines += [f"  {line}" for line in self.details]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(map(printable, lines))

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


def printable(text: str) -> str:
    """A line with everything escaped that a terminal would obey, or not show: names and the text of files may hold it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def _excerpt(loc: Loc) -> list[str]:
    text = source_line(loc)
    head = f"  {loc}  "
    stripped = text.strip()
    if not stripped:
        return [head.rstrip()]
    lines = [head + stripped]
    if loc.col is not None and loc.end_col is not None and loc.end_col > loc.col:
        # co_positions counts UTF-8 bytes.
        before = len(text.encode()[: loc.col].decode(errors="replace")) - (len(text) - len(text.lstrip()))
        width = len(text.encode()[loc.col : loc.end_col].decode(errors="replace"))
        if before >= 0 and width < len(stripped):
            lines.append(" " * (len(head) + before) + "^" * width)
    return lines


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


class TraceError(GraphcError, RuntimeError):
    """Python that cannot be traced."""

    default_code = "GC130"


class TraceTypeError(TraceError, TypeError, shown_as="TypeError"):
    """Python that cannot be traced because a traced tensor stands where a Python value is needed."""


class TraceAttributeError(GraphcError, AttributeError):
    """An attribute that a Cell does not have."""

    default_code = "GC140"


class GradientError(GraphcError, RuntimeError):
    """A gradient that cannot be made."""

    default_code = "GC150"


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


class SignatureError(GraphcError, TypeError, shown_as="TypeError"):
    """A compiled step called with inputs it was not compiled for."""

    default_code = "GC170"


class CheckpointError(GraphcError, ValueError):
    """A checkpoint that does not match."""

    default_code = "GC190"


class DataError(GraphcError, RuntimeError):
    """A data set that cannot give what was asked for. `sample`: which sample, where one is to blame."""

    default_code = "GC204"
    sample: str | None = None


class MissingPackageError(GraphcError, ImportError):
    """A package that is needed here only, and is not installed."""

    default_code = "GC207"


class RecompileWarning(UserWarning):
    """A Cell that is compiled again and again; see `graphc explain GC171`."""


RecompileWarning.__module__ = "graphc"
