"""Values that are known while a Cell is compiled although nodes make them: what a step would compute of constants alone.

They are computed where they are asked for, as an axis or a size, by the ops' references. The nodes stay, and are removed if
nothing else needs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import GraphcError
from graphc.ir import Value
from graphc.ops.declared import reference
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.trace.counted import outermost
from graphc.trace.recorder import GraphRecorder

Array = np.ndarray[Any, Any]
#: Numbers, sizes and axes are no more elements than this, and made by no more nodes.
_ELEMENTS, _NODES = 64, 64


def value_of(x: Tensor) -> Array | None:
    """The contents of a traced tensor that are the same in every run; None where they are not, or where there are many."""
    if not isinstance(x, TracedTensor):
        return None
    maker, value = x.handle
    found: dict[tuple[int, Value], Array] = {}
    return _computed(maker, value, found)


def _computed(recorder: GraphRecorder, value: Value, found: dict[tuple[int, Value], Array]) -> Array | None:
    recorder, value = outermost(recorder, value)
    key = id(recorder), value
    if key in found:
        return found[key]
    if value.node not in recorder.graph:
        return None
    node = recorder.graph.node(value.node)
    if len(found) > _NODES or any(type.size > _ELEMENTS for type in node.types):
        return None
    if node.op.name == "Constant":
        array: Array = node.attrs["value"].array
        found[key] = array
        return array
    if node.op.ref is None or node.op.effect or not node.inputs or node.op.name in ("Input", "Param"):
        return None
    inputs = []
    for each in node.inputs:
        array_of = _computed(recorder, each, found)
        if array_of is None:
            return None
        inputs.append(array_of)
    try:
        made = reference.apply(node.op, node.types, inputs, node.attrs, exact=False)
    except GraphcError:
        return None  # The step raises it.
    found.update({(id(recorder), v): array for v, array in zip(node.outputs, made, strict=True)})
    return found[key]
