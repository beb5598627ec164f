"""Places whose number only values tell: room for all, and how many there are."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared import padding_places
from graphc.ops.declared.rules import Array, booleans, check_dtype


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (mask,) = types
    check_dtype("Nonzero", "mask", mask, ("bool",))
    if mask.rank != 1:
        raise ShapeError(f"Nonzero: mask is {mask}, expected one axis")
    return TensorType("int32", (attrs["size"],)), TensorType("int32", ()), TensorType("int32", mask.shape)


def _ref(mask: Array, size: int) -> tuple[Array, Array, Array]:
    found = np.flatnonzero(mask)[:size]
    last = found[-1] if found.size else -1
    places = np.concatenate([found, np.full(size - found.size, last)])
    ranks = np.cumsum(mask) - mask
    return places.astype(np.int32), np.asarray(found.size, np.int32), ranks.astype(np.int32)


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    if not inputs[0].type.size:
        for target, value in zip(outputs, (-1, 0, 0), strict=True):
            k.fill(target, value)
        return
    k.call("nonzero", inputs, outputs, size=inputs[0].type.size, room=attrs["size"])


def _masks(*sizes: int) -> list[Sample]:
    return [Sample((booleans(n, seed=n),), {"size": n + 2}) for n in sizes]


op(
    "Nonzero",
    "mask",
    attrs={"size": REQUIRED},
    infer=_infer,
    ref=_ref,
    grad=NO_GRAD,
    lower=Kernel(_lower, ("bool",)),
    pad=padding_places.counted,
    samples=lambda: [
        *_masks(1, 2, 7, 64, 131),
        Sample((np.zeros(5, np.bool_),), {"size": 7}),
        Sample((np.ones(5, np.bool_),), {"size": 5}),
        Sample((np.zeros(0, np.bool_),), {"size": 2}),
    ],
    doc="places int32[size] of the true elements of a vector, as many as `count` int32[] says; behind these the last one again,"
    " or -1. `ranks` int32: how many true elements stand before each",
)
