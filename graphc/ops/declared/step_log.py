"""The op that appends to the log of a step, which prints and exceptions are made from when it has run."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared.rules import Array, booleans, floats, integers

#: Words of a log, and how many elements of a tensor are recorded before only the corners are.
CAPACITY, SUMMARY = 1 << 16, 1000

#: Words 0 and 1: words in use, entries that did not fit.
FIRST = 2


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    log = types[0]
    need = FIRST + 1 + sum(t.size for t in types[1:])
    if log.dtype != "int64" or log.rank != 1 or log.size < need:
        raise ShapeError(f"Log: the log is {log}, expected int64 with at least {need} words")
    return (log,)


def _bits(x: Array) -> Array:
    x = np.ascontiguousarray(x)
    return (x.view(f"u{x.dtype.itemsize}") if x.dtype.kind not in "iub" else x).astype(np.int64)


def _ref(log: Array, *xs: Array, site: int, doubles: tuple[int, ...]) -> Array:
    out = log.copy()
    # The reference in float64 logs what the step would: float32 bits.
    narrow = [x.astype(np.float32) if x.dtype == np.float64 and k not in doubles else x for k, x in enumerate(xs)]
    entry = np.concatenate([np.array([site], np.int64), *(_bits(x).reshape(-1) for x in narrow)])
    used = int(log[0])
    if used + entry.size > log.size:
        out[1] += 1
    else:
        out[used : used + entry.size] = entry
        out[0] = used + entry.size
    return out


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    arrays = [x for x in inputs[1:] if x.type.size]
    types = [x.type for x in arrays]
    k.call(
        "log",
        (inputs[0], *arrays),
        outputs,
        capacity=inputs[0].type.size,
        site=attrs["site"],
        dtypes=tuple(t.dtype for t in types),
        sizes=tuple(t.size for t in types),
    )


def _samples() -> list[Sample]:
    log = np.zeros(40, np.int64)
    log[0] = FIRST
    full = log.copy()
    full[0] = 38
    return [
        Sample((log, floats(3), integers(2, 2), booleans(), integers(2, dtype="int64")), {"site": 3}),
        Sample((full, floats(7)), {"site": 1}),
        Sample((log,), {"site": 2}),
        Sample((log, floats(3).astype(np.float64), floats(2)), {"site": 4, "doubles": (0,)}),
    ]


op(
    "AppendLog",
    "log *xs",
    attrs={"site": REQUIRED, "doubles": ()},
    infer=_infer,
    ref=_ref,
    grad=NO_GRAD,
    lower=Kernel(_lower, ("int64",)),
    samples=_samples,
    doc="the log with an entry more: the number `site`, then the elements of xs, one word each. Word 0 counts the words in"
    " use, word 1 the entries that did not fit. doubles: which of xs are float64",
)
