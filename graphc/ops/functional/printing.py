"""Printing and raising from a compiled step: values are written to a log while it runs, and printed when it has run."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, user_loc
from graphc.ir import TensorType
from graphc.ir.types import HALVES
from graphc.ops.declared.python_call import PLACE, PythonFunction
from graphc.ops.declared.rules import Array
from graphc.ops.declared.step_log import CAPACITY, FIRST, SUMMARY
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.joining import concat
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.dtype import BY_NAME
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array

#: The log of each step that is being traced.
_logs: WeakKeyDictionary[Any, PrintLog] = WeakKeyDictionary()


def print_(*input_x: Any) -> None:
    """Print texts, numbers, tensors and nests of them, one per line, at every run (MindSpore: ops.print_).

    In a compiled step tensors are recorded where the call stands, in order with other prints, in branches and loops too, and
    printed when the step has run. Raises ArgumentTypeError for what is none of these.
    """
    active: Any = dispatch.recorder.get()
    if active is None or getattr(active, "immediate", False):
        sys.stdout.write("\n".join(_text(x) for x in input_x) + "\n")
        sys.stdout.flush()
        return
    parts: list[Part] = []
    tensors: list[Tensor] = []
    for x in input_x:
        _record(x, parts, tensors)
    _append(active, parts, tensors)


def raise_later(error: Exception) -> None:
    """While a step is traced: raise an exception at the end of every run that comes to this place."""
    _append(dispatch.recorder.get(), [error], [])


def in_order(op: str, *operands: Tensor, **attrs: Any) -> Any:
    """Apply an op behind all that the step has printed and done in order so far, whether its results are used or not."""
    active: Any = dispatch.recorder.get()
    if active is None or getattr(active, "immediate", False):
        return call(op, *operands, **attrs)
    log = _log_of(active)
    made = active.record(op, operands, attrs, after=(log,))
    active.assign(log, active.depend(active.wrap(active.read(log)), made))
    return made[0] if len(made) == 1 else made


def expect_later(active: Any) -> None:
    """Let the step that is traced have a log: gradients of it may print."""
    _append(active, [], [])


def _log_of(active: Any) -> PrintLog:
    """The log of the step that is traced."""
    log = _logs.get(active.root)
    if log is None:
        log = _logs[active.root] = PrintLog()
    return log


def _append(active: Any, parts: list[Part], tensors: list[Tensor]) -> None:
    """Log an entry; in a gradient that a user writes, which changes no parameters, let Python note it when the step runs."""
    log = _log_of(active)
    shown = [part for part in parts if not isinstance(part, Exception)]
    if active.printed is not None and len(shown) == len(parts):
        dtypes = [x.tensor_type.dtype for x in tensors]
        note = PythonFunction("print", log.noted(shown), [PLACE] * len(tensors), dtypes, [TensorType("int64", ())])
        active.printed[:] = active.record("PythonCall", tensors, {"function": note}, after=tuple(active.printed))
        return
    active.assign(log, call("AppendLog", log, *tensors, site=log.add_site(parts)))


def _text(x: Any) -> str:
    if isinstance(x, Tensor):
        return tensor_text(require_array(x))
    if isinstance(x, (tuple, list)):
        inside = ", ".join(_text(i) for i in x)
        return f"[{inside}]" if isinstance(x, list) else f"({inside}{',' if len(x) == 1 else ''})"
    _check(x)
    return str(x)


def _check(x: Any) -> None:
    if x is not None and not isinstance(x, (str, bool, int, float, dict)):
        raise ArgumentTypeError(
            f"print_ takes texts, numbers, tensors and tuples, got {type(x).__name__}", loc=user_loc()
        )


def _record(x: Any, parts: list[Part], tensors: list[Tensor]) -> None:
    if isinstance(x, Tensor):
        shown = x
        for axis in corner_axes(x.shape):
            before = (slice(None),) * axis
            shown = concat((getitem(shown, (*before, slice(3))), getitem(shown, (*before, slice(-3, None)))), axis)
        shown = cast_to(shown, "float32") if shown.tensor_type.dtype in HALVES else shown
        parts.append(Logged(x.tensor_type, shown.tensor_type))
        tensors.append(shown)
    elif isinstance(x, (tuple, list)) and any(isinstance(i, (Tensor, tuple, list)) for i in x):
        for item in x:
            _record(item, parts, tensors)
    else:
        if not isinstance(x, (tuple, list)):
            _check(x)
        parts.append(str(int(x)) if isinstance(x, bool) else str(x))


class Logged(NamedTuple):
    """A tensor among what is printed: `own` is its type, `recorded` that of what is logged.

    Of a large tensor only the corners are logged, and halves are logged as float32.
    """

    own: TensorType
    recorded: TensorType


Part = str | Logged | Exception


class PrintLog(Parameter):
    """The log of one compiled step."""

    def __init__(self) -> None:
        words = np.zeros(CAPACITY, np.int64)
        words[0] = FIRST
        super().__init__(words, name="print.log", requires_grad=False)
        self.sites: list[tuple[Part, ...]] = []
        #: What gradients have printed in this run, which is behind all else.
        self._later: list[str] = []

    def noted(self, parts: Sequence[str | Logged]) -> Callable[..., int]:
        """A function of the recorded tensors among the parts that notes them for the end of the run."""
        fixed = tuple(parts)

        def note(*recorded: Array) -> int:
            arrays = iter(recorded)
            self._later += [part if isinstance(part, str) else _text_of(next(arrays), part) for part in fixed]
            return 0

        return note

    def add_site(self, parts: Sequence[Part]) -> int:
        """A new site; returns its number."""
        self.sites.append(tuple(parts))
        return len(self.sites) - 1

    def flush(self) -> None:
        """Print the entries to standard output, each part on its line, and begin anew. The first that is an exception is raised
        when all is printed.
        """
        words = self.storage
        used, lost, at = int(words[0]), int(words[1]), FIRST
        lines: list[str] = []
        raised: Exception | None = None
        while at < used:
            parts = self.sites[int(words[at])]
            at += 1
            for part in parts:
                if isinstance(part, str):
                    lines.append(part)
                    continue
                if isinstance(part, Exception):
                    raised = raised or part
                    continue
                lines.append(_text_of(_from_words(words[at : at + part.recorded.size], part.recorded), part))
                at += part.recorded.size
        words[:FIRST] = FIRST, 0
        if lost:
            lines.append(f"... {lost} more prints of this step: its log holds {CAPACITY} numbers")
        lines += self._later
        self._later.clear()
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
        if raised is not None:
            raise _again(raised)  # The next run may raise it again.


def _again(error: Exception) -> Exception:
    """A copy of an exception. Its class may have a constructor that takes something else than `args`, and is not called."""
    if not isinstance(type(error).__init__, FunctionType):
        made = copy.copy(error)
    else:
        made = type(error).__new__(type(error), *error.args)
        made.__dict__.update(error.__dict__)
    made.__cause__, made.__suppress_context__ = error.__cause__, error.__suppress_context__
    return made


def _from_words(words: Array, type: TensorType) -> Array:
    dtype = type.numpy
    if dtype.kind in "iub":
        return words.astype(dtype).reshape(type.shape)
    return words.astype(f"u{dtype.itemsize}").view(dtype).reshape(type.shape)


def corner_axes(shape: Sequence[int]) -> list[int]:
    """The axes of a large tensor of which only the first and last three entries are printed."""
    if int(np.prod(shape)) <= SUMMARY:
        return []
    return [i for i, d in enumerate(shape) if d > 6]


def _text_of(recorded: Array, part: Logged) -> str:
    return tensor_text(_whole(recorded.astype(part.own.numpy), part.own.shape), " ")


def _whole(corners: Array, shape: tuple[int, ...]) -> Array:
    """An array of the full shape that prints as the tensor does."""
    if corners.shape == shape:
        return corners
    made = np.zeros(shape, corners.dtype)
    axes = corner_axes(shape)
    where = [[0, 1, 2, d - 3, d - 2, d - 1] if i in axes else list(range(d)) for i, d in enumerate(shape)]
    made[np.ix_(*where)] = corners
    return made


def tensor_text(array: Array, separator: str = ", ") -> str:
    """A tensor as MindSpore prints it: shape, dtype and value; a compiled step prints a number without axes plainly."""
    digits = 4 if array.dtype.itemsize == 2 else 8
    forms: Any = {"float_kind": lambda x: f"{x: .{digits}e}" if np.isfinite(x) else f"{x:>{digits + 7}}"}
    if separator == " " and not array.shape:
        return str(array)
    body = np.array2string(
        array,
        separator=separator,
        formatter=forms if array.dtype.kind == "f" else None,
        threshold=SUMMARY,
        max_line_width=200,
    )
    dtype = BY_NAME[array.dtype.name]
    gap = "" if separator == " " and array.ndim else " "
    value = f"\n{body}" if array.ndim > 1 else f"{gap}{body}"
    return f"Tensor(shape={list(array.shape)}, dtype={dtype}, value={value})"


__all__ = [
    "print_",
]
