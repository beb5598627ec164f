"""Where an op call goes: to the recorder that is tracing, else to the NumPy reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.dispatch import Recorder, detached, recorder
from graphc.errors import TraceError
from graphc.internal_errors import failing
from graphc.ir import get_op
from graphc.ops.declared import reference
from graphc.ops.declared.rules import Array
from graphc.ops.tensor.arrays import in_order, note_write
from graphc.ops.tensor.row_tensor import by_rows
from graphc.ops.tensor.tensor import Tensor, require_array


def call(op: str, *operands: Tensor, **attrs: Any) -> Any:
    """Apply an op to tensors; returns a Tensor, or a tuple when the op has several results."""
    if any([x.is_rows for x in operands]):
        return by_rows(op, operands, attrs, call)
    active = recorder.get()
    if active is None:
        results = at_once(op, operands, attrs)
    else:
        results = active.record(op, operands, attrs)
        if detached.get():
            results = constants(active, results)
    return results[0] if len(results) == 1 else results


def constants(active: Recorder, results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """What was recorded, as constants of differentiation."""
    return tuple(_constant(active, x) for x in results)


def _constant(active: Recorder, x: Tensor) -> Tensor:
    return active.record("StopGradient", (x,), {})[0] if x.tensor_type.is_inexact else x


def at_once(op: str, operands: Sequence[Tensor], attrs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The op's results by its NumPy reference. TraceError for an op without one, or for traced operands."""
    definition = get_op(op)
    with failing(op, outermost=True, tracing=True):
        definition.check_arity(len(operands))
        full = definition.complete(attrs)
        arrays = [require_array(x) for x in operands]
        if definition.infer is None:
            raise TraceError(f"{op} has no meaning outside a compiled Cell")
        types = definition.inferred([x.tensor_type for x in operands], full)
        if (
            definition.view and not arrays[0].flags.writeable
        ):  # Elements that stand for several: parts of it have memory of it.
            arrays[0] = operands[0]._array = arrays[0].copy()
        made = reference.apply(definition, types, arrays, full, exact=False)
    if definition.view:
        if operands[0].is_parameter:
            note_write(arrays[0], by_others=True)  # Steps write it, too.
        return tuple(map(Tensor.wrap, made))
    return tuple(Tensor.wrap(_own(a, arrays)) for a in made)


def _own(array: Array, operands: Sequence[Array]) -> Array:
    """A result as memory of its own, in row-major order; elements that stand for several are copied when they are written."""
    if not array.flags.writeable:
        return array
    return array.copy() if any(np.may_share_memory(array, x) for x in operands) else in_order(array)
