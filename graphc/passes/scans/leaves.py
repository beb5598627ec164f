"""What differs from turn to turn without a loop: numbers known at compile time, and windows that move along a tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc.ir import Builder, Graph, Node, TensorType, Value
from graphc.ir.data import Data
from graphc.ops.declared import reference

#: Values of so many elements are computed at compile time, and so many of all turns are kept.
_KNOWN, _KEPT = 1 << 16, 1 << 22


class Window(NamedTuple):
    """A Slice of a value, seen as `type`."""

    source: Value
    begin: tuple[int, ...]
    size: tuple[int, ...]
    step: tuple[int, ...]
    type: TensorType


class Leaves:
    """Values of a graph that need no place in a turn.

    `known` ids are of values that are known at compile time. `windows` ids are of Slices of which there are `least` alike but
    for where they begin, of what is not itself made `least` times (`count`: how often there is a node like that), and Reshapes
    of these.
    """

    def __init__(self, nodes: Sequence[Node], alike: dict[int, int], least: int) -> None:
        self.known: set[int] = set()
        self.windows: set[int] = set()
        slices = Counter(_place(n) for n in nodes if n.op.name == "Slice")
        for n in nodes:
            if _is_known(n, self.known):
                self.known.add(n.id)
            elif n.op.name == "Slice":
                if slices[_place(n)] >= least and alike.get(n.inputs[0].node, 0) < least and not n.after:
                    self.windows.add(n.id)
            elif n.op.name == "Reshape" and n.inputs[0].node in self.windows and not n.after:
                self.windows.add(n.id)

    def __contains__(self, id: int) -> bool:
        return id in self.known or id in self.windows


def _place(slice: Node) -> tuple[Any, ...]:
    return slice.inputs[0], slice.attrs["size"], slice.attrs["step"]


def _is_known(node: Node, known: set[int]) -> bool:
    if node.op.name == "Constant":
        return node.attrs["value"].array is not None
    if node.op.name == "Fill":
        return True
    if not node.inputs or node.inputs[0].node not in known:
        return False
    return (
        all(v.node in known for v in node.inputs)
        and not (node.op.effect or node.after or node.op.ref is None or node.graphs() or node.op.name == "TakePart")
        and len(node.types) == 1
        and node.type.size <= _KNOWN
    )


def window_of(graph: Graph, value: Value) -> Window:
    """Of a Slice's result, or a Reshape's of that."""
    node = graph.node(value.node)
    while node.op.name == "Reshape":
        node = graph.node(node.inputs[0].node)
    at = node.attrs
    return Window(node.inputs[0], at["begin"], at["size"], at["step"], graph.type(value))


def array_of(graph: Graph, value: Value, made: dict[Value, Any]) -> Any:
    """What a known value is."""
    if value not in made:
        node = graph.node(value.node)
        if node.op.name == "Constant":
            made[value] = node.attrs["value"].array
        else:
            operands = [array_of(graph, v, made) for v in node.inputs]
            (made[value],) = reference.apply(node.op, node.types, operands, node.attrs, exact=False)
    return made[value]


# ---- of all turns


def stacked_known(graph: Graph, b: Builder, values: Sequence[Value], reverse: bool) -> Value | None:
    """A constant with what each turn sees; None where all see the same."""
    made: dict[Value, Any] = {}
    arrays = [array_of(graph, v, made) for v in values]
    first = arrays[0]
    if all(a is first or a.tobytes() == first.tobytes() for a in arrays):
        return None
    array = np.stack(arrays[::-1] if reverse else arrays)
    type = graph.type(values[0])
    whole = TensorType(type.dtype, array.shape)
    stack: Value = b.graph.add(
        "Constant", attrs={"value": Data(array, type=whole)}, types=(whole,), scope=b.scope, loc=b.loc, region=b.region,
        origin=b.origin,
    ).outputs[0]  # fmt: skip
    return stack


def can_stack(graph: Graph, values: Sequence[Value]) -> bool:
    """Whether known values of all turns are few enough to be kept."""
    return graph.type(values[0]).size * len(values) <= _KEPT


class Path(NamedTuple):
    """How a window moves: along an axis, by so many places a turn."""

    axis: int
    by: int


def path_of(windows: Sequence[Window], whole: Sequence[int]) -> Path | None:
    """How windows on a tensor of this shape move; `by` is 0 where they do not. None where they are no rows, or parts, of it."""
    first = windows[0]
    moves = np.diff(np.array([w.begin for w in windows]), axis=0)
    if any(w._replace(begin=first.begin) != first for w in windows) or (moves != moves[0]).any():
        return None
    axes = np.flatnonzero(moves[0])
    if not len(axes):
        return Path(0, 0)
    axis, by = int(axes[0]), int(moves[0][axes[0]])
    size = first.size[axis]
    if len(axes) > 1 or (size > 1 and first.step[axis] != 1) or abs(by) < size:
        return None
    low = min(w.begin[axis] for w in windows)
    return Path(axis, by) if size == 1 or low + len(windows) * abs(by) <= whole[axis] else None


def stacked_windows(b: Builder, windows: Sequence[Window], path: Path, reverse: bool) -> Value:
    """What windows show, along a first axis, of which turn t, or, `reverse`, the t-th from the end, has row t."""
    first, turns, (axis, by) = windows[0], len(windows), path
    size, far = first.size[axis], abs(by)
    low = min(w.begin[axis] for w in windows)
    begin = [low if a == axis else k for a, k in enumerate(first.begin)]
    count = list(first.size)
    step = list(first.step)
    if size == 1:
        count[axis], step[axis] = turns, far
    else:
        count[axis] = turns * far
    if (by < 0) != reverse and size == 1:
        begin[axis], step[axis] = low + (turns - 1) * far, -far
    x = first.source
    whole = (tuple(begin), tuple(count), tuple(step))
    if whole != ((0,) * len(begin), b.type(x).shape, (1,) * len(begin)):
        x = b.Slice(x, begin=whole[0], size=whole[1], step=whole[2])
    shape = b.type(x).shape
    if size > 1:
        x = b.Reshape(x, shape=(*shape[:axis], turns, far, *shape[axis + 1 :]))
        shape = b.type(x).shape
    if axis:
        x = b.Transpose(x, perm=(axis, *(a for a in range(len(shape)) if a != axis)))
    if size > 1:
        shape = b.type(x).shape
        cut, forwards = list(shape), (by < 0) == reverse
        cut[axis + 1] = size
        if tuple(cut) != shape or not forwards:
            x = b.Slice(
                x, begin=(0 if forwards else turns - 1, *(0,) * (len(shape) - 1)), size=tuple(cut),
                step=(1 if forwards else -1, *(1,) * (len(shape) - 1)),
            )  # fmt: skip
    rows: Value = x
    return rows
