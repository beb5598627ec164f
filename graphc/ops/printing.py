"""Printing from a compiled step: values are written to a log while it runs, and printed when it has run. An exception that
a step raises is such an entry, too.

The log is a Parameter of 64-bit words, so the order of prints is the order of its versions, in branches and loops too. What
an entry means, its texts and the types of its tensors, is kept by the log in Python: a site per print in the program.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Sample, TensorType, op
from graphc.ir.op import Attrs, Kernel, Types
from graphc.ops.dtype import BY_NAME
from graphc.ops.rules import Array, booleans, floats, integers
from graphc.ops.tensor import Parameter

#: Words of a log, and how many elements of a tensor are recorded before only the corners are.
CAPACITY, SUMMARY = 1 << 16, 1000
#: Words 0 and 1: words in use, entries that did not fit.
_FIRST = 2


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    log = types[0]
    need = _FIRST + 1 + sum(t.size for t in types[1:])
    if log.dtype != "int64" or log.rank != 1 or log.size < need:
        raise ShapeError(f"Log: the log is {log}, expected int64 with at least {need} words")
    return (log,)


def _bits(x: Array) -> Array:
    x = np.ascontiguousarray(x)
    return (x.view(f"u{x.dtype.itemsize}") if x.dtype.kind not in "iub" else x).astype(np.int64)


def _ref(log: Array, *xs: Array, site: int) -> Array:
    out = log.copy()
    # The reference in float64 logs what the step would: float32 bits.
    narrow = [x.astype(np.float32) if x.dtype == np.float64 else x for x in xs]
    entry = np.concatenate([np.array([site], np.int64), *(_bits(x).reshape(-1) for x in narrow)])
    used = int(log[0])
    if used + entry.size > log.size:
        out[1] += 1
    else:
        out[used : used + entry.size] = entry
        out[0] = used + entry.size
    return out


def _lower(k: Any, inputs: Any, outputs: Any, attrs: Attrs) -> None:
    arrays = [x for x in inputs[1:] if k.type(x).size]
    types = [k.type(x) for x in arrays]
    k.call(
        "log",
        (inputs[0], *arrays),
        outputs,
        capacity=k.type(inputs[0]).size,
        site=attrs["site"],
        dtypes=tuple(t.dtype for t in types),
        sizes=tuple(t.size for t in types),
    )


def _samples() -> list[Sample]:
    log = np.zeros(40, np.int64)
    log[0] = _FIRST
    full = log.copy()
    full[0] = 38
    return [
        Sample((log, floats(3), integers(2, 2), booleans(), integers(2, dtype="int64")), {"site": 3}),
        Sample((full, floats(7)), {"site": 1}),
        Sample((log,), {"site": 2}),
    ]


op(
    "AppendLog",
    "log *xs",
    attrs={"site": REQUIRED},
    infer=_infer,
    ref=_ref,
    grad=NO_GRAD,
    lower=Kernel(_lower, ("int64",)),
    samples=_samples,
    doc="the log with an entry more: the number `site`, then the elements of xs, one word each. Word 0 counts the words in"
    " use, word 1 the entries that did not fit",
)


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
        words[0] = _FIRST
        super().__init__(words, name="print.log", requires_grad=False)
        self.sites: list[tuple[Part, ...]] = []

    def add(self, parts: Sequence[Part]) -> int:
        """A new site; returns its number."""
        self.sites.append(tuple(parts))
        return len(self.sites) - 1

    def flush(self) -> None:
        """Print the entries to standard output, each part on its line, and begin anew. The first that is an exception is raised
        when all is printed.
        """
        words = self.storage
        used, lost, at = int(words[0]), int(words[1]), _FIRST
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
                logged = _from_words(words[at : at + part.recorded.size], part.recorded)
                lines.append(tensor_text(_whole(logged.astype(part.own.numpy), part.own.shape), " "))
                at += part.recorded.size
        words[:_FIRST] = _FIRST, 0
        if lost:
            lines.append(f"... {lost} more prints of this step: its log holds {CAPACITY} numbers")
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
        if raised is not None:
            raise copy.copy(raised)  # The next run may raise it again.


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
