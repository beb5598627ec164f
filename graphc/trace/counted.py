"""Places that a compiled step counts: results whose size only values tell.

In the graph such an axis has room for all there can be. The sizes of these rooms come from whoever traces: a second trace with
others shows which axes have to do with them (`graphc/passes/padding.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphc.errors import TraceError, user_loc
from graphc.ir import Graph, Node, Value
from graphc.ops.tensor.tensor import Tensor

if TYPE_CHECKING:
    from graphc.trace.recorder import GraphRecorder

#: The size that a trace gives to what is counted: of which one, from 0 on, among how many elements.
RoomOf = Callable[[int, int], int]


def found(recorder: GraphRecorder, mask: Tensor, name: str) -> Tensor:
    """The places of what is true of a vector: int32[room]. Masks that are the same have the same places.

    Raises TraceError GC120 inside of a loop or branch, and where the step has no way to count.
    """
    root = recorder.root
    if root.room is None or recorder is not root:
        why, help = _why_not(recorder)
        raise TraceError(
            f"the size of what {name} returns depends on the values of {mask.tensor_type}",
            code="GC120",
            loc=user_loc(),
            details=[why],
            help=help,
        )
    node = _counted(recorder, recorder.resolve(mask))
    if node is None:
        size = root.room(len(root.counted), mask.size)
        node = recorder.add_node("Nonzero", [mask], {"size": size})
        root.counted.append(node)
    return recorder.wrap(node.outputs[0])


def ranks(recorder: GraphRecorder, mask: Tensor, size: int) -> Tensor | None:
    """Of a mask whose places have been found, with room of this size: how many true elements stand before each; else None."""
    node = _counted(recorder, recorder.resolve(mask)) if recorder is recorder.root else None
    return recorder.wrap(node.outputs[2]) if node is not None and node.attrs["size"] == size else None


def _why_not(recorder: GraphRecorder) -> tuple[str, str]:
    """Why places cannot be counted here, and what to do about it."""
    if recorder is not recorder.root:
        why = "inside of a loop, a branch or a function under vmap sizes are fixed"
        return why, "take it in front of these, or keep the shape: ops.where(mask, x, 0).sum() for a sum"
    why = "steps that PYNATIVE_MODE makes of functions, and exported networks, have fixed sizes"
    return why, "keep the shape: ops.where(mask, x + 1, x) for x[mask] += 1, ops.where(mask, x, 0).sum() for a sum"


def _counted(recorder: GraphRecorder, mask: Value) -> Node | None:
    return next((n for n in recorder.root.counted if _same(recorder.graph, n.inputs[0], mask)), None)


def _same(graph: Graph, a: Value, b: Value) -> bool:
    """Whether two values are made in the same way."""
    left, known = [(a, b)], set()
    while left:
        pair = x, y = left.pop()
        if x == y or pair in known:
            continue
        known.add(pair)
        one, other = graph.node(x.node), graph.node(y.node)
        alike = one.op is other.op and x.slot == y.slot and one.attrs == other.attrs and one.after == other.after
        if not alike or one.op.effect or one.op.name in ("Input", "Param") or len(one.inputs) != len(other.inputs):
            return False
        left += zip(one.inputs, other.inputs, strict=True)
    return True
