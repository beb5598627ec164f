"""Tensors of which each process of a group has its part: flat, cut into parts of one length, see `graphc.processes.Cut`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc import processes
from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Alias, Attrs, ByAttributes, Kernel, KernelRule, Operands, Types
from graphc.ir.types import HALVES
from graphc.ops.declared.collective import (
    REQUEST,
    WORLD,
    check_collective,
    collective_call,
    sum_of_halves,
    sum_of_halves_reference,
)
from graphc.ops.declared.rules import MOVED, Array, floats, integers
from graphc.processes import Cut, part_length

_SUMMED = ("float32", "float64")


def _part(name: str) -> Any:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        x = types[0]
        check_collective(name, x, attrs)
        return (TensorType(x.dtype, (part_length(x.size, attrs["size"]),)),)

    return infer


def _by_size(rule: KernelRule, dtypes: tuple[str, ...]) -> ByAttributes:
    several = Kernel(rule, dtypes, waits=True)
    return ByAttributes(lambda attrs: Alias() if attrs["size"] == 1 else several, several)


def _cut(shape: tuple[int, ...], attrs: Mapping[str, Any]) -> Cut:
    return Cut(shape, attrs["size"], processes.rank(attrs["group"]) if attrs["size"] > 1 else 0)


# ---- TakePart


def _take(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (x,), (out,), length = inputs, outputs, outputs[0].type.size
    begin = processes.rank(attrs["group"]) * length
    own = max(0, min(length, x.type.size - begin))
    if own < length:
        k.fill(out, 0)
    k.copy(x, out, (own,), begin if own else 0, (1,), 0, (1,))


op(
    "TakePart",
    "x",
    attrs={"group": WORLD, "size": 1},
    infer=_part("TakePart"),
    ref=lambda x, **attrs: _cut(x.shape, attrs).part(x),
    grad=NO_GRAD,
    lower=_by_size(_take, (*MOVED, *HALVES)),
    samples=lambda: [Sample((floats(3, 5),)), Sample((integers(4),)), Sample((floats(),))],
    doc="this process's part of x, flat",
)

# ---- SumPart


def _padded(k: CallBuilder, x: Operand, size: int) -> Operand:
    """x, flat, with zeros behind its end, so that it has that many elements."""
    if x.type.size == size:
        return x
    longer = k.temp(TensorType(x.type.dtype, (size,)))
    k.fill(longer, 0)
    k.copy(x, longer, (x.type.size,), 0, (1,), 0, (1,))
    return longer


def _sum(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    if attrs["wire"] is not None:
        sum_of_halves(k, inputs[0], outputs[0], attrs)
        return
    (out,), request, length = outputs, k.temp(REQUEST), outputs[0].type.size
    x = _padded(k, inputs[0], length * attrs["size"])
    sizes = {"dtype": x.type.dtype, "count": x.type.size, "received": length}
    k.call("collective_start", (x,), (out, request), **collective_call("reduce_scatter", attrs), **sizes)
    k.call("collective_wait", (request, x), (out,), **sizes, in_place=True)


def _sum_ref(x: Array, **attrs: Any) -> Array:
    if attrs["wire"] is not None and attrs["size"] > 1:
        return sum_of_halves_reference(x, attrs).astype(x.dtype)
    if attrs["size"] > 1:
        total = np.empty(x.size, x.dtype)
        processes.exchange(collective_call("all_reduce", attrs, alone=True), np.ascontiguousarray(x).reshape(-1), total)
        x = total
    return _cut(x.shape, attrs).part(x)


op(
    "SumPart",
    "x",
    attrs={"group": WORLD, "size": 1, "wire": None},
    infer=_part("SumPart"),
    ref=_sum_ref,
    grad=NO_GRAD,
    lower=_by_size(_sum, _SUMMED),
    effect=True,
    samples=lambda: [Sample((floats(3, 5),)), Sample((floats(),))],
    doc="this process's part of the sum of x over the processes of a group: TakePart(AllReduce(x)) for half the"
    " traffic. With a `wire` bfloat16 what travels is rounded, and added up in float32",
)

# ---- JoinParts


def _joined(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, whole = types[0], TensorType(types[0].dtype, tuple(attrs["shape"]))
    check_collective("JoinParts", x, attrs)
    if x.shape != (part_length(whole.size, attrs["size"]),):
        raise ShapeError(f"JoinParts: x is {x}, which is no part of {whole} in {attrs['size']} processes")
    return (whole,)


def _join(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (x,), (out,), request = inputs, outputs, k.temp(REQUEST)
    held = x.type.size * attrs["size"]
    whole = out if out.type.size == held else k.temp(TensorType(x.type.dtype, (held,)))
    sizes = {"dtype": x.type.dtype, "count": x.type.size, "received": held}
    k.call("collective_start", (x,), (whole, request), **collective_call("all_gather", attrs), **sizes)
    k.call("collective_wait", (request, x), (whole,), **sizes, in_place=True)
    if whole is not out:
        k.copy(whole, out, (out.type.size,), 0, (1,), 0, (1,))


def _join_ref(x: Array, *, shape: tuple[int, ...], **attrs: Any) -> Array:
    whole = x
    if attrs["size"] > 1:
        whole = np.empty(x.size * attrs["size"], x.dtype)
        processes.exchange(collective_call("all_gather", attrs, alone=True), np.ascontiguousarray(x), whole)
    return whole[: math.prod(shape)].reshape(shape)


op(
    "JoinParts",
    "part",
    attrs={"shape": REQUIRED, "group": WORLD, "size": 1},
    infer=_joined,
    ref=_join_ref,
    grad=NO_GRAD,
    lower=_by_size(_join, (*MOVED, *HALVES)),
    effect=True,
    samples=lambda: [Sample((floats(15),), {"shape": (3, 5)}), Sample((integers(4),), {"shape": (4,)})],
    doc="the tensor of `shape` whose parts all processes of a group have",
)
