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
from graphc.ops.functional.complex import imag, real
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.arrays import value_text
from graphc.ops.tensor.dtype import BY_NAME, DType
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array

#: The log of each step that is being traced.
_logs: WeakKeyDictionary[Any, PrintLog] = WeakKeyDictionary()


def print_(*input_x: Any) -> None:
    """Print texts, numbers, dtypes, tensors and nests of them, one per line, at every run (MindSpore: ops.print_).

    In a compiled step tensors are recorded where the call stands, in order with other prints, in branches and loops too, and
    printed when the step has run. Raises ArgumentTypeError for what is none of these.
    """
    active: Any = dispatch.recorder.get()
    if active is None or getattr(active, "immediate", False):
        _write("".join(f"{_text(x)}\n" for x in input_x))
        return
    if active.plain:
        print_line(input_x, lambda items: "".join(f"{_text(x)}\n" for x in items))
        return
    parts: list[Part] = []
    tensors: list[Tensor] = []
    for x in input_x:
        _record(x, parts, tensors)
    _append(active, parts, tensors)


def print_line(items: Sequence[Any], text: Callable[[Sequence[Any]], str]) -> None:
    """While a step is traced: print at every run what a function makes of items, in which tensors have their values then."""
    active: Any = dispatch.recorder.get()
    tensors: list[Tensor] = []
    _append(active, [Line(tuple(_noted(x, tensors) for x in items), text)], tensors)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


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
    doubles = tuple(k for k, x in enumerate(tensors) if x.tensor_type.dtype == "float64")
    active.assign(log, call("AppendLog", log, *tensors, site=log.add_site(parts), doubles=doubles))


def _text(x: Any) -> str:
    if isinstance(x, Tensor):
        array = require_array(x)
        return f"Tensor(shape={list(array.shape)}, dtype={x.dtype}, value={value_text(array)})"
    if isinstance(x, (tuple, list)):
        inside = ", ".join(_text(i) for i in x)
        return f"[{inside}]" if isinstance(x, list) else f"({inside}{',' if len(x) == 1 else ''})"
    _check(x)
    return str(x)


def _check(x: Any) -> None:
    if x is not None and not isinstance(x, (str, bool, int, float, dict, DType)):
        raise ArgumentTypeError(
            f"print_ takes texts, numbers, tensors and tuples, got {type(x).__name__}", loc=user_loc()
        )


def _record(x: Any, parts: list[Part], tensors: list[Tensor]) -> None:
    if isinstance(x, Tensor):
        parts.append(_logged(x, tensors))
    elif isinstance(x, (tuple, list)) and any(isinstance(i, (Tensor, tuple, list)) for i in x):
        for item in x:
            _record(item, parts, tensors)
    else:
        if not isinstance(x, (tuple, list)):
            _check(x)
        parts.append(str(int(x)) if isinstance(x, bool) else str(x))


def _noted(x: Any, tensors: list[Tensor]) -> Any:
    """An item of a line, with Logged for the tensors in it."""
    if isinstance(x, Tensor):
        return _logged(x, tensors)
    if isinstance(x, (tuple, list)):
        made = [_noted(item, tensors) for item in x]
        return made if isinstance(x, list) else tuple(made)
    _check(x)
    return x


def _logged(x: Tensor, tensors: list[Tensor]) -> Logged:
    shown = x
    for axis in corner_axes(x.shape):
        before = (slice(None),) * axis
        shown = concat((getitem(shown, (*before, slice(3))), getitem(shown, (*before, slice(-3, None)))), axis)
    if shown.tensor_type.is_complex:
        shown = stack((real(shown), imag(shown)), -1)
    shown = cast_to(shown, "float32") if shown.tensor_type.dtype in HALVES else shown
    tensors.append(shown)
    return Logged(x.tensor_type, shown.tensor_type)


class Logged(NamedTuple):
    """A tensor among what is printed: `own` is its type, `recorded` that of what is logged.

    Of a large tensor only the corners are logged; halves are logged as float32, complex numbers as pairs.
    """

    own: TensorType
    recorded: TensorType


class Line(NamedTuple):
    """What is printed by a function of items, in which Logged stand for tensors."""

    items: tuple[Any, ...]
    text: Callable[[Sequence[Any]], str]


Part = str | Logged | Line | Exception


class PrintLog(Parameter):
    """The log of one compiled step."""

    def __init__(self) -> None:
        words = np.zeros(CAPACITY, np.int64)
        words[0] = FIRST
        super().__init__(words, name="print.log", requires_grad=False)
        self.sites: list[tuple[Part, ...]] = []
        #: What gradients have printed in this run, which is behind all else.
        self._later: list[str] = []

    def noted(self, parts: Sequence[str | Logged | Line]) -> Callable[..., int]:
        """A function of the recorded tensors among the parts that notes them for the end of the run."""
        fixed = tuple(parts)

        def note(*recorded: Array) -> int:
            arrays = iter(recorded)
            self._later += [_text_of(part, lambda _: next(arrays)) for part in fixed]
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
        texts: list[str] = []
        raised: Exception | None = None

        def take(logged: Logged) -> Array:
            nonlocal at
            begin, at = at, at + logged.recorded.size
            return _from_words(words[begin:at], logged.recorded)

        while at < used:
            parts = self.sites[int(words[at])]
            at += 1
            for part in parts:
                if isinstance(part, Exception):
                    raised = raised or part
                else:
                    texts.append(_text_of(part, take))
        words[:FIRST] = FIRST, 0
        if lost:
            texts.append(f"... {lost} more prints of this step: its log holds {CAPACITY} numbers\n")
        texts += self._later
        self._later.clear()
        if texts:
            _write("".join(texts))
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


def _text_of(part: str | Logged | Line, take: Callable[[Logged], Array]) -> str:
    """A part as it is printed; take: what was recorded of a tensor."""
    if isinstance(part, str):
        return f"{part}\n"
    if isinstance(part, Line):
        return part.text([_filled(item, take) for item in part.items])
    return f"{tensor_text(_of_log(take(part), part))}\n"


def _filled(item: Any, take: Callable[[Logged], Array]) -> Any:
    if isinstance(item, Logged):
        return Tensor.wrap(_of_log(take(item), item))
    if isinstance(item, (tuple, list)):
        made = [_filled(i, take) for i in item]
        return made if isinstance(item, list) else tuple(made)
    return item


def _of_log(recorded: Array, part: Logged) -> Array:
    own = part.own.numpy
    return _whole(
        (recorded[..., 0] + 1j * recorded[..., 1] if own.kind == "c" else recorded).astype(own), part.own.shape
    )


def _whole(corners: Array, shape: tuple[int, ...]) -> Array:
    """An array of the full shape that prints as the tensor does."""
    if corners.shape == shape:
        return corners
    made = np.zeros(shape, corners.dtype)
    axes = corner_axes(shape)
    where = [[0, 1, 2, d - 3, d - 2, d - 1] if i in axes else list(range(d)) for i, d in enumerate(shape)]
    made[np.ix_(*where)] = corners
    return made


def tensor_text(array: Array) -> str:
    """A tensor as MindSpore's graphs print it: shape, dtype and value; a number without axes plainly, as C++ does."""
    if not array.shape:
        return f"{array:g}" if array.dtype.kind == "f" else str(int(array) if array.dtype.kind == "b" else array)
    digits = 4 if array.dtype.itemsize == 2 else 8
    forms: Any = {"float_kind": lambda x: f"{x: .{digits}e}" if np.isfinite(x) else f"{x:>{digits + 7}}"}
    body = np.array2string(
        array,
        separator=" ",
        formatter=forms if array.dtype.kind == "f" else None,
        threshold=SUMMARY,
        max_line_width=200,
    )
    before = "\n" if array.ndim > 1 else ""
    return f"Tensor(shape={list(array.shape)}, dtype={BY_NAME[array.dtype.name]}, value={before}{body})"


__all__ = [
    "print_",
]
