"""Operands that a kernel reads or writes where they lie, though something rearranges them in between.

    %2: f32[4,8,3] = Reshape(%1)
    %3: f32[8,4,3] = Transpose(%2) {perm=(1, 0, 2)}
    %4: f32[8,4,5] = BatchMatMul(%3, ...)

The product reads %1's memory with the strides of %3, and %3 never exists; a Concat copies out of it what is sliced. In the same
way a product that is only transposed is written with the strides of the transposed tensor, and one that goes into a Concat right
into its place there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.lowering import View
from graphc.ir.op import Alias, Strided
from graphc.ir.types import HALVES, contiguous_strides

#: Ops of which these operands, and so many first results, may lie anywhere, as long as the last axis is contiguous; of products
#: the last but one will do.
_TAKERS = {
    "MatMul": ((0, 1), 1), "BatchMatMul": ((0, 1), 1), "Attention": ((0, 1, 2), 1), "AttentionGrad": ((0, 1, 2, 3, 6), 3),
}  # fmt: skip


class Views:
    """Which nodes of a graph need no code of their own, as their only users, or the maker of their operand, take views.

    `leaving` are the values that must exist because something outside the graph reads them.
    """

    def __init__(self, graph: Graph, leaving: set[Value]) -> None:
        self.graph = graph
        self._made: dict[Value, View] = {}
        #: Results that are written into a part of another value, a Concat's.
        self.parts: dict[Value, Value] = {}
        self._rearranging = self._written(leaving)
        #: The values that they are parts of.
        self.wholes = set(self.parts.values())
        self.nodes = set(self._rearranging)
        read = {n.id for n in graph if self._may_be_read(n)}
        self.nodes |= read
        while read:
            # Without one of them others may begin somewhere else.
            lost = {id for id in read if not self._is_read_in_place(id, leaving)}
            if not lost:
                break
            read -= lost
            self.nodes -= lost

    def _may_be_read(self, node: Node) -> bool:
        """Whether a node rearranges floats, and no parts of complex numbers."""
        if not isinstance(node.lower, Strided) or node.id in self.nodes:
            return False
        return _plain(node.type) and not self.graph.type(node.inputs[0]).is_complex

    def read(self, value: Value) -> View | None:
        """How an operand lies in the memory of the value behind it; None: as it is, contiguous."""
        view = self._view(value)
        return None if view is None or view == _whole(self.graph.type(value)) else view

    def written(self, value: Value) -> View | None:
        """How a result is to be written; None: contiguous."""
        view = self._made.get(value)
        return None if view == _whole(self.graph.type(value)) else view

    # ---- results

    def _written(self, leaving: set[Value]) -> set[int]:
        """Nodes that only rearrange the result of a taker, which writes it as they want it."""
        found: set[int] = set()
        for node in self.graph:
            taken = _TAKERS.get(node.op.name)
            for value in node.outputs[: taken[1]] if taken is not None else ():
                if _plain(self.graph.type(value)):
                    found |= self._written_as(value, node, self._followers(value, leaving))
        return found

    def _written_as(self, value: Value, maker: Node, chain: list[Node]) -> set[int]:
        """The nodes of a chain behind a result that its maker does without them."""
        while chain:
            view = self._written_for(value, chain)
            if view is not None and chain[-1].op.name != "Reshape" and _may_lie(view, self.graph.type(value), maker):
                self._made[value] = view
                if chain[-1].op.name == "Concat":
                    self.parts[value] = chain.pop().outputs[0]
                return {n.id for n in chain if isinstance(n.lower, Strided)}
            chain.pop()
        return set()

    def _followers(self, value: Value, leaving: set[Value]) -> list[Node]:
        """The nodes that rearrange a value one after the other, each result read by nobody but the next; or a Concat last."""
        chain: list[Node] = []
        while value not in leaving:
            users = [self.graph.node(id) for id in self.graph.users(value.node)]
            uses = [node for node in users for v in node.inputs if v == value]
            if not chain:
                # It reads results as they were written.
                uses = [node for node in uses if node.op.name != "AttentionGrad"]
            if len(uses) != 1:
                break
            if uses[0].op.name == "Concat":
                return [*chain, *uses]
            if not isinstance(uses[0].lower, Strided) and uses[0].op.name != "Reshape":
                break
            chain += uses
            value = uses[0].outputs[0]
        return chain

    def _written_for(self, value: Value, chain: Sequence[Node]) -> View | None:
        """A value as a view of the last result of a chain that begins with it."""
        view: View | None = _whole(chain[-1].type)
        for node, operand in zip(reversed(chain), reversed([value, *(n.outputs[0] for n in chain[:-1])]), strict=True):
            type = self.graph.type(operand)
            if view is None:
                return None
            if node.op.name == "Concat":
                view = _part(
                    view, [self.graph.type(v) for v in node.inputs], node.inputs.index(operand), node.attrs["axis"]
                )
            elif isinstance(node.lower, Strided):
                view = _inverse(type, node, view)
            else:
                view = _reshaped(view, node.type.shape, type.shape)
        return view

    # ---- operands

    def _is_read_in_place(self, id: int, leaving: set[Value]) -> bool:
        """Whether every user of a node's result takes its view or is another view of it."""
        stack = [self.graph.node(id).outputs[0]]
        while stack:
            value = stack.pop()
            if value in leaving:
                return False
            for user in map(self.graph.node, self.graph.users(value.node)):
                if value not in user.inputs:
                    continue
                if isinstance(user.lower, Alias):
                    stack.append(user.outputs[0])
                elif user.id in self.nodes:
                    pass
                elif user.op.name == "Scan":
                    if not self._is_scanned(value, user):
                        return False
                elif not self._is_taken(value, user):
                    return False
        return True

    def _is_scanned(self, value: Value, user: Node) -> bool:
        """Whether a loop only scans a value, whose rows each lie together."""
        view, shape = self._view(value), self.graph.type(value).shape
        carried, scanned = user.attrs["carried"], user.attrs["scanned"]
        if view is None or value in user.inputs[:carried] or value in user.inputs[carried + scanned :]:
            return False
        return view.strides[1:] == _without_ones(shape[1:], contiguous_strides(shape[1:]))

    def _is_taken(self, value: Value, user: Node) -> bool:
        if user.op.name == "Concat":
            return self._view(value) is not None
        taken, _ = _TAKERS.get(user.op.name, ((), 0))
        if any(v == value and k not in taken for k, v in enumerate(user.inputs)):
            return False
        view = self._view(value)
        return view is not None and _may_lie(view, self.graph.type(value), user)

    def _view(self, value: Value) -> View | None:
        """A value as a view of the memory behind it; None when it cannot be told by strides."""
        chain: list[Node] = []
        while True:
            node = self.graph.node(value.node)
            rearranged = node.id in self.nodes and node.id not in self._rearranging
            if not rearranged and not isinstance(node.lower, Alias):
                break
            chain.append(node)
            value = node.inputs[0]
        type = self.graph.type(value)
        view: View | None = self._made.get(value, _whole(type)) if not chain else _whole(type)
        for node in reversed(chain):
            before, type = type, node.type
            if view == _whole(before) and isinstance(node.lower, Alias):
                view = _whole(type)
            elif view is not None and isinstance(node.lower, Strided):
                view = _rebased(node.lower.access(before, node.attrs), type, before, view)
            elif view is not None:
                view = _reshaped(view, before.shape, type.shape)
        return view


def _plain(type: TensorType) -> bool:
    return type.dtype in ("float32", *HALVES) and type.size > 0


@lru_cache(maxsize=4096)
def _whole(type: TensorType) -> View:
    return View(type.size, 0, _without_ones(type.shape, contiguous_strides(type.shape)))


def _without_ones(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    return tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True))


def _may_lie(view: View, type: TensorType, taker: Node) -> bool:
    """Whether nothing runs backwards and the last axis is contiguous, of products one of the last two."""
    axes = 2 if taker.op.name.endswith("MatMul") else 1
    last = zip(type.shape[-axes:], view.strides[-axes:], strict=True)
    return min(view.strides) >= 0 and any(n == 1 or s == 1 for n, s in last)


def _part(view: View, types: Sequence[TensorType], index: int, axis: int) -> View:
    """Operand number `index` of a Concat, whose result is a view."""
    start = sum(t.shape[axis] for t in types[:index])
    size = types[index].shape[axis]
    strides = tuple(0 if i == axis and size == 1 else s for i, s in enumerate(view.strides))
    return View(view.size, view.offset + start * view.strides[axis], strides)


def _inverse(type: TensorType, node: Node, view: View) -> View | None:
    """The operand of `node`, of `type`, as a view of what its result is one of; None unless that has all elements once."""
    assert isinstance(node.lower, Strided)
    offset, strides = node.lower.access(type, node.attrs)
    at = {s: t for n, s, t in zip(node.type.shape, strides, view.strides, strict=True) if n > 1}
    own = _whole(type).strides
    if offset or node.type.size != type.size or set(at) != {s for s in own if s}:
        return None
    return View(view.size, view.offset, tuple(at[s] if s else 0 for s in own))


def _rebased(access: tuple[int, Sequence[int]], type: TensorType, operand: TensorType, inner: View) -> View | None:
    """An access to a contiguous operand, when the operand is itself a view; None if it walks across its axes."""
    offset, strides = access
    steps, begin = contiguous_strides(operand.shape), offset
    first: list[int] = []
    for step in steps:
        first.append(begin // step)
        begin %= step
    low, high, found = list(first), list(first), []
    for n, stride in zip(type.shape, strides, strict=True):
        if n == 1 or stride == 0:
            found.append(0)
            continue
        axis = next(a for a, step in enumerate(steps) if operand.shape[a] > 1 and step <= abs(stride))
        times, rest = divmod(stride, steps[axis])
        if rest:
            return None
        low[axis] += min(times, 0) * (n - 1)
        high[axis] += max(times, 0) * (n - 1)
        found.append(times * inner.strides[axis])
    if min(low, default=0) < 0 or any(h >= n for h, n in zip(high, operand.shape, strict=True)):
        return None
    start = sum(i * s for i, s in zip(first, inner.strides, strict=True))
    return View(inner.size, inner.offset + start, tuple(found))


def _reshaped(view: View, shape: Sequence[int], wanted: Sequence[int]) -> View | None:
    """A view in another shape, if strides can still tell it."""
    runs: list[tuple[int, int]] = []
    for n, stride in zip(shape, view.strides, strict=True):
        if runs and runs[-1][1] == n * stride:
            runs[-1] = (runs[-1][0] * n, stride)
        elif n > 1:
            runs.append((n, stride))
    strides: list[int] = []
    for n in reversed(wanted):
        if n == 1:
            strides.append(0)
            continue
        count, stride = runs.pop()
        if count % n:
            return None
        strides.append(stride)
        if count > n:
            runs.append((count // n, stride * n))
    return View(view.size, view.offset, tuple(reversed(strides)))
