"""Values that are known while a Cell is compiled although nodes make them: what a step would compute of constants alone.

They are computed where they are asked for, as an axis or a size, by the ops' references. The nodes stay, and are removed if
nothing else needs them. Where one is made of few integers that the step is called with, whoever compiles may tell the step these:
it is that of their values.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import numpy as np

from graphc.errors import GraphcError
from graphc.ir import TensorType, Value
from graphc.ops.declared import reference
from graphc.ops.tensor.tensor import Tensor, TracedTensor, require_array
from graphc.trace.dynamic.counted_places import outermost
from graphc.trace.recorder import GraphRecorder

Array = np.ndarray[Any, Any]
#: Numbers, sizes and axes are no more elements than this, and made by no more nodes.
_ELEMENTS, _NODES = 64, 64
#: Who compiles is told here of which inputs that was made which was asked for last, and is not known; None where nobody asks.
asked: ContextVar[set[int] | None] = ContextVar("graphc_asked", default=None)
#: Something else than inputs that can be told.
_OTHER = -1


class Told(Tensor):
    """A tensor among the arguments whose contents a step is compiled for."""

    @staticmethod
    def of(x: Tensor) -> Told:
        """With the contents of another one."""
        made = Told.__new__(Told)
        made._array, made.is_number = require_array(x).copy(), x.is_number
        return made

    @property
    def contents(self) -> Array:
        """What it holds."""
        array: Array = require_array(self)
        return array

    __hash__ = Tensor.__hash__


def can_be_told(type: TensorType) -> bool:
    """Whether a step may be compiled for the contents of an input: few integers, of which sizes and axes are made."""
    return type.size <= _ELEMENTS and type.numpy.kind in "iub"


def value_of(x: Tensor) -> Array | None:
    """The contents of a traced tensor that are the same in every run; None where they are not, or where there are many."""
    if not isinstance(x, TracedTensor):
        return None
    maker, value = x.handle
    found: dict[tuple[int, Value], Array | None] = {}
    sources: set[int] = set()
    made = _computed(maker, value, found, sources)
    seen = asked.get()
    if made is None and seen is not None:
        seen.clear()
        seen.update(sources if _OTHER not in sources else ())
    return made


def _computed(
    recorder: GraphRecorder, value: Value, found: dict[tuple[int, Value], Array | None], sources: set[int]
) -> Array | None:
    """sources: grows by the inputs that a value is made of."""
    recorder, value = outermost(recorder, value)
    key = id(recorder), value
    if key in found:
        return found[key]
    found[key] = None
    node = recorder.graph.node(value.node) if value.node in recorder.graph else None
    if node is None or len(found) > _NODES or any(type.size > _ELEMENTS for type in node.types):
        sources.add(_OTHER)
        return None
    if node.op.name == "Constant":
        array: Array = node.attrs["value"].array
        found[key] = array
        return array
    if node.op.name == "Input":
        sources.add(recorder.places.get(node.id, _OTHER) if can_be_told(node.types[0]) else _OTHER)
        return None
    if node.op.ref is None or node.op.effect or not node.inputs or node.op.name == "Param":
        sources.add(_OTHER)
        return None
    made_of = [_computed(recorder, each, found, sources) for each in node.inputs if _OTHER not in sources]
    inputs = [x for x in made_of if x is not None]
    if len(inputs) < len(node.inputs):
        return None
    try:
        made = reference.apply(node.op, node.types, inputs, node.attrs, exact=False)
    except GraphcError:
        return None  # The step raises it.
    arrays = dict(zip(node.outputs, made, strict=True))
    found.update({(id(recorder), v): array for v, array in arrays.items()})
    return arrays[value]
