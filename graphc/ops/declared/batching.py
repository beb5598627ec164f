"""Batching rules: what an op becomes under vmap, when some of its operands have one axis more, in front.

A rule makes all its results with that axis in front. An op without a rule of its own has that of its class: elementwise ops
and reductions keep their form; whatever is left is a loop over the axis. Methods as in JAX's vmap (Bradbury et al., 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import Builder, Data, Graph, Node, OpDef, TensorType, Value, numpy_dtype
from graphc.ir.op import BatchRule, Reduce, Scalar
from graphc.ops.declared.rules import Shape

Vectorize = Callable[[Builder, Graph, Sequence[Value], Sequence[bool], Sequence[bool]], list[Value]]
Reached = Callable[[Graph, Sequence[bool]], list[bool]]


class Mapped:
    """A node under vmap, as its batching rule sees it.

    node      the node as it was, without the batch axis
    inputs    its operands now; those that are `mapped` have the batch axis in front
    types     the operands' types without it
    size      the length of the batch axis
    after     the nodes that it waits for, now

    vectorize(g, source, inputs, mapped, fronts) puts the nodes of a subgraph into g's graph and gives its results, those of
    `fronts` with the batch axis; reached(source, mapped) says which results depend on mapped inputs.
    """

    def __init__(
        self,
        g: Builder,
        node: Node,
        types: Sequence[TensorType],
        inputs: Sequence[Value],
        mapped: Sequence[bool],
        size: int,
        after: tuple[int, ...],
        vectorize: Vectorize,
        reached: Reached,
    ) -> None:
        self.g, self.node, self.size, self.after = g, node, size, after
        self.types, self.inputs, self.mapped = tuple(types), tuple(inputs), tuple(mapped)
        self.vectorize, self.reached = vectorize, reached

    def __getattr__(self, name: str) -> Any:
        if name in self.node.attrs:
            return self.node.attrs[name]
        raise AttributeError(f"{self.node.op.name} has no attribute {name!r}")

    def again(self, *inputs: Value, **attrs: Any) -> tuple[Value, ...]:
        """The results of the same op on other operands, with some attributes changed."""
        return self.g.node(self.node.op.name, *inputs, attrs={**self.node.attrs, **attrs}).outputs

    def front(self, index: int) -> Value:
        """Operand `index` with the batch axis in front; repeated along it if it has none."""
        value = self.inputs[index]
        return value if self.mapped[index] else self.repeated(value)

    def fronts(self) -> list[Value]:
        """Every operand with the batch axis in front."""
        return [self.front(i) for i in range(len(self.inputs))]

    def subgraph(self, source: Graph, mapped: Sequence[bool], fronts: Sequence[bool]) -> Graph:
        """A subgraph of the node, whose inputs are `mapped`, as a new graph; `fronts`: the results that have the batch axis."""
        graph = Graph(source.name, self.g.graph.ids)
        inputs: list[Value] = []
        for id, has in zip(source.inputs, mapped, strict=True):
            node = source.node(id)
            type = TensorType(node.type.dtype, (self.size, *node.type.shape)) if has else node.type
            inputs += graph.add("Input", types=(type,), name=node.name, region="state").outputs
        made = self.vectorize(Builder(graph, self.g.region, self.g.scope, self.g.loc), source, inputs, mapped, fronts)
        graph.set_results((r.name, v) for r, v in zip(source.results, made, strict=True))
        return graph

    def repeated(self, value: Value) -> Value:
        made: Value = self.g.BroadcastTo(value, shape=(self.size, *self.g.type(value).shape))
        return made

    def reshaped(self, value: Value, shape: Shape) -> Value:
        """The value under another shape; itself if it has that."""
        if self.g.type(value).shape == shape:
            return value
        made: Value = self.g.Reshape(value, shape=shape)
        return made

    def lined(self, index: int, rank: int) -> Value:
        """Operand `index` as it is broadcast with others of so many axes, which have the batch axis in front of these."""
        shape = self.types[index].shape
        if not self.mapped[index]:
            return self.inputs[index]
        return self.reshaped(self.inputs[index], (self.size, *(1,) * (rank - len(shape)), *shape))

    def folded(self, value: Value, axis: int) -> Value:
        """The batch axis of a value, in front, made part of another axis (counted without it), as its slower part."""
        _, *shape = self.g.type(value).shape
        if axis:
            order = (*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1))
            value = self.g.Transpose(value, perm=order)
        return self.reshaped(value, (*shape[:axis], self.size * shape[axis], *shape[axis + 1 :]))

    def unfolded(self, value: Value, axis: int) -> Value:
        """The inverse of `folded`."""
        shape = self.g.type(value).shape
        value = self.reshaped(value, (*shape[:axis], self.size, *_divided(shape, axis, self.size)))
        if axis:
            order = (axis, *range(axis), *range(axis + 1, len(shape) + 1))
            value = self.g.Transpose(value, perm=order)
        return value


def _divided(shape: Shape, axis: int, size: int) -> Shape:
    return (shape[axis] // size if size else 0, *shape[axis + 1 :])


def rule_of(op: OpDef) -> BatchRule:
    """The batching rule of an op: its own, that of its class, or the loop."""
    if op.batch is not None:
        return op.batch
    if isinstance(op.lower, Scalar) and op.lower.align is None:
        return elementwise
    return reduction if isinstance(op.lower, Reduce) else loop


# ---- rules of classes


def elementwise(g: Builder, m: Mapped) -> tuple[Value, ...]:
    """The op itself: axes of size 1 behind the batch axis bring operands of fewer axes in line.

    One that wants operands of one shape gets those that are not mapped repeated.
    """
    rank = m.node.type.rank
    try:
        return m.again(*(m.lined(i, rank) for i in range(len(m.inputs))))
    except ShapeError:
        if any(t.rank != rank for t in m.types):
            raise
        return leading(g, m)


def reduction(g: Builder, m: Mapped) -> tuple[Value, ...]:
    """The op over axes that count one more."""
    return m.again(m.inputs[0], axis=tuple(a + 1 for a in m.axis))


def leading(g: Builder, m: Mapped) -> tuple[Value, ...]:
    """An op that treats each index of its leading axes alike: one leading axis more."""
    return m.again(*m.fronts())


def along(*names: str) -> BatchRule:
    """An op whose attributes of these names are an axis: it counts one more; every operand has the batch axis."""

    def rule(g: Builder, m: Mapped) -> tuple[Value, ...]:
        return m.again(*m.fronts(), **{name: m.node.attrs[name] + 1 for name in names})

    return rule


def folding(*axes: int, shape: bool = False) -> BatchRule:
    """An op that treats each index of its operands' first axis alike: that axis gets longer.

    Operands whose place in `axes` (all by default) is left out have no such axis and must not be mapped: else a loop.
    `shape`: the attribute of this name counts along.
    """

    def rule(g: Builder, m: Mapped) -> Sequence[Value]:
        places = axes or tuple(range(len(m.inputs)))
        if any(mapped and i not in places for i, mapped in enumerate(m.mapped)):
            return loop(g, m)
        inputs = [m.folded(m.front(i), 0) if i in places else x for i, x in enumerate(m.inputs)]
        changed = {"shape": (m.size * m.shape[0], *m.shape[1:])} if shape else {}
        return [m.unfolded(y, 0) for y in m.again(*inputs, **changed)]

    return rule


def loop(g: Builder, m: Mapped) -> list[Value]:
    """The op once for each index of the batch axis."""
    if m.size == 0:
        return [g.Fill(dtype=t.dtype, shape=(0, *t.shape), value=0) for t in m.node.types]
    turns = [m.again(*(_row(m, i, k) if m.mapped[i] else x for i, x in enumerate(m.inputs))) for k in range(m.size)]
    return [
        g.Concat(*(g.Reshape(turn[slot], shape=(1, *type.shape)) for turn in turns), axis=0)
        for slot, type in enumerate(m.node.types)
    ]


def _row(m: Mapped, index: int, k: int) -> Value:
    """Operand `index` of turn k."""
    shape = m.types[index].shape
    part = m.g.Slice(m.inputs[index], begin=(k, *(0,) * len(shape)), size=(1, *shape), step=(1,) * (len(shape) + 1))
    return m.reshaped(part, shape)


# ---- what several declarations need


def prefixed(**fronts: Any) -> BatchRule:
    """An op of one operand whose attributes of these names have an entry for each axis: the batch axis gets the given one."""

    def rule(g: Builder, m: Mapped) -> tuple[Value, ...]:
        def entry(front: Any) -> Any:
            return m.size if front is SIZE else front

        return m.again(*m.inputs, **{name: (entry(front), *m.node.attrs[name]) for name, front in fronts.items()})

    return rule


#: For `prefixed`: the length of the batch axis.
SIZE = object()


def rows_in_one(g: Builder, m: Mapped, indices: int, count: int) -> Value:
    """Indices into one table of all rows, in which those of batch k begin at k * count; -1 stays out of range."""
    dtype = g.type(m.inputs[indices]).dtype
    shape = m.types[indices].shape
    start = g.Reshape(_counted(g, m.size, dtype), shape=(m.size, *(1,) * len(shape)))
    own = m.front(indices)
    inside = g.LogicalAnd(g.GreaterEqual(own, g.constant(0, dtype)), g.Less(own, g.constant(count, dtype)))
    moved = g.Add(own, g.Mul(start, g.constant(count, dtype)))
    made: Value = g.Select(inside, moved, g.constant(-1, dtype))
    return made


def _counted(g: Builder, size: int, dtype: str) -> Value:
    """0, 1, ..., size - 1."""
    type = TensorType(dtype, (size,))
    node = g.graph.add(
        "Constant", attrs={"value": Data(np.arange(size).astype(numpy_dtype(dtype)), type=type)}, types=(type,)
    )
    return node.outputs[0]
