"""Errors as users see them, and where in the user's code they come from.

Format (docs/errors.md): the cause on line 1, then the user's line with a caret, then every value by the user's own
name, then one suggestion. Every class also derives from the builtin that MindSpore raises in the same situation.
"""

from __future__ import annotations

import importlib
import math
import operator
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, cast

from graphc.errors.locations import Loc, is_hidden
from graphc.errors.source_lines import excerpt, is_pythons

#: A message has so many lines at most, and a line so many characters.
MOST_LINES, MOST_CHARACTERS = 15, 400


class GraphcError(Exception):
    """Base of all errors that graphc raises on purpose.

    message: the cause in one sentence. loc: the user's line. details: lines that name the values involved.
    help: one concrete suggestion. nodes: ids of IR nodes. Attributes of the same names; `code` is stable.
    on_sizes: whether the shapes that do not fit are those which a trace has in place of what only values tell.
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
        self.on_sizes = False
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
