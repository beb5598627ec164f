"""Indices that must lie in range: they are copied, and the step does nothing more where one does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.errors import OutOfRange
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params, note_failure
from graphc_codegen.kernels.vectors import along
from graphc_codegen.writer import Writer


def bounds_operands(p: Params) -> tuple[Operand, ...]:
    """indices [count] of `dtype`, size [1] of `dtype` -> the indices [count]."""
    dtype = p["dtype"]
    return Operand(dtype, p["count"], "in"), Operand(dtype, 1, "in"), Operand(dtype, p["count"], "out")


def bounds_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Copies the indices, with `negative` those below zero plus the size. A step fails where one is not in [0, size) then; not
    of those that are `ignored`, if that is a number.
    """
    indices, size, out = pointers
    type, ignored = REGISTER[p["dtype"]], p["ignored"]
    end = w.load(size, type)
    ends, zeros = w.splat(end, type), w.constant(0, type)

    def look(at: str | int, active: int, values: list[str]) -> list[str]:
        given = w.vload(w.at(indices, at, type), active, type)
        place = given
        if p["negative"]:
            below = w.binary("icmp slt", given, zeros, type)
            place = w.select(below, w.binary("add", given, ends, type), given, type)
        bad = w.binary("icmp uge", place, ends, type)
        if ignored is not None:
            place = w.select(w.binary("icmp eq", given, w.constant(ignored, type), type), given, place, type)
            bad = w.binary("and", bad, w.binary("icmp ne", given, w.constant(ignored, type), type), "i1")
        w.vstore(place, w.at(out, at, type), active, type)
        if active < w.lanes:  # What a tail reads beside its elements are zeros, which an empty axis does not have.
            lanes = ", ".join(f"i1 {str(lane < active).lower()}" for lane in range(w.lanes))
            bad = w.binary("and", bad, f"<{lanes}>", "i1")
        return [w.binary("or", values[0], bad, "i1")]

    (bad,) = along(w, p["count"], [(f"<{w.lanes} x i1>", "zeroinitializer")], look)
    bits = w.op(f"bitcast <{w.lanes} x i1> {bad} to i{w.lanes}")
    note_failure(w, w.op(f"icmp ne i{w.lanes} {bits}, 0"))


def bounds_twin(p: Params, indices: Array, size: Array, out: Array) -> None:
    """Raises OutOfRange."""
    out[:] = np.where(indices < 0, indices + size, indices) if p["negative"] else indices
    kept = np.zeros(indices.shape, bool) if p["ignored"] is None else indices == p["ignored"]
    out[kept] = indices[kept]
    bad = ((out < 0) | (out >= size)) & ~kept
    if bad.any():
        raise OutOfRange(int(indices[bad][0]), int(size[0]))


IN_BOUNDS = Emitter(bounds_operands, bounds_emit, bounds_twin)
