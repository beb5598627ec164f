"""Tensors that share memory, in PYNATIVE_MODE.

An eager tensor is a value of a graph, which nobody writes. So what has another's memory (a slice, a reshaped or transposed
tensor) remembers what it was made of, and how: when that has been written since, it is made again, whenever somebody asks. A
write to it is a write to elements of the tensor at the other end, of which gradients are taken as of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from graphc import dispatch
from graphc.ir import TensorType, Value, get_op
from graphc.ops.declared.rules import Array
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor, require_array
from graphc.trace.recorder import GraphRecorder


class EagerTensor(TracedTensor):
    """A value of a recorded graph that is known already."""

    def __init__(self, type: TensorType, handle: tuple[GraphRecorder, Value], array: Array) -> None:
        super().__init__(type, handle)
        self._array = array

    __hash__ = Tensor.__hash__


class EagerView(EagerTensor):
    """What an op that only rearranges made of another tensor, whose memory it has.

    seen: the value which that one had. `handle` and `_array` are those of its elements as they are now.
    """

    view_of: Tensor

    def __init__(self, made: EagerTensor, of: Tensor, seen: Value, op: str, attrs: Mapping[str, Any]) -> None:
        self.view_of, self._op, self._attrs = of, op, attrs
        self._type = made.tensor_type
        self._own = made.handle, made._array, seen
        self._memory = of.array

    def twin(self) -> Tensor:
        return EagerTensor(self._type, self.handle, cast("Array", self._array))

    @property
    def handle(self) -> Any:
        return self._now()[0]

    @handle.setter
    def handle(self, value: Any) -> None:
        self._own = value, self._own[1], self._own[2]

    @property
    def _array(self) -> Array | None:
        return self._now()[1]

    @_array.setter
    def _array(self, value: Array | None) -> None:
        self._own = self._own[0], value, self._own[2]

    def _now(self) -> tuple[Any, Array | None, Value]:
        of = self.view_of
        active: Any = dispatch.recorder.get()
        if active is None or self._own[0][0].root.over:
            memory = of.array
            if memory is not self._memory:  # Kept behind its call, as what it was made of.
                self._own, self._memory = (self._own[0], self._rearranged(require_array(of)), self._own[2]), memory
            return self._own
        seen = standing(active, of)
        if seen != self._own[2]:
            (made,) = active.record(self._op, (of,), dict(self._attrs))
            self._own, self._memory = (made.handle, made.array, seen), of.array
        return self._own

    def places(self) -> tuple[Tensor, Array]:
        """The tensor at the other end, and where each element stands among those."""
        root: Tensor = self.view_of
        chain: list[Callable[[Array], Array]] = [self._rearranged]
        while isinstance(root, EagerView):
            chain.append(root._rearranged)
            root = root.view_of
        found = np.arange(root.size, dtype=np.int32 if root.size < 2**31 else np.int64).reshape(root.shape)
        for rearranged in reversed(chain):
            found = rearranged(found)
        return root, found

    def _rearranged(self, array: Array) -> Array:
        ref: Any = get_op(self._op).ref
        made: Array = ref(array, **self._attrs)
        return made

    __hash__ = Tensor.__hash__


def standing(recorder: Any, x: Tensor) -> Value:
    """The value that a tensor has now, where a view of it was made."""
    if isinstance(x, Parameter):
        now: Value | None = recorder.state.get(id(x))
        return recorder.read(x) if now is None else now
    value: Value = x.handle[1] if isinstance(x, TracedTensor) else recorder.constant(x)
    return value


__all__ = ["EagerTensor", "EagerView", "standing"]
