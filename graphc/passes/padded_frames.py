"""The graphs that are being masked: the traced one, and branches and bodies of loops in it, each with the lengths it knows.

A length that a branch needs is brought to it like any other value from outside. What a branch counts itself stays in it; that
it has counted so many, which may be wrong, is told to the graph around it, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value
from graphc.ops.declared.bounds import leave_unchecked
from graphc.ops.declared.padding import Axes, Axis, Factor, looseness

_COUNT = TensorType("int32", ())


class Frame:
    """A graph that is being masked. entered: the node that it is a branch or body of; origin: what it is a copy of.

    axes     of the values
    lengths  of the symbols that it knows: int32[] each
    counts   of those that are counted in it or in graphs of its nodes: what the graph around it is told
    mosts    symbols of as many as a factor has, but at most so many
    """

    def __init__(self, graph: Graph, origin: Graph, entered: Entered | None = None) -> None:
        self.graph, self.origin, self.entered = graph, origin, entered
        self.axes: dict[Value, Axes] = {}
        self.lengths: dict[int, Value] = {}
        self.counts: dict[int, Value] = {}
        self.mosts: dict[tuple[Factor, int], int] = {}
        self._masks: dict[Any, Value] = {}
        self._filled: dict[Value, Value] = {}
        self._some: dict[frozenset[Factor], Value] = {}

    @property
    def turns(self) -> bool:
        """Whether it may be run several times in a step: it is the body of a loop, or stands in one."""
        return self.entered is not None and (self.entered.node.op.name != "If" or self.entered.frame.turns)

    def counts_itself(self, symbol: int) -> bool:
        """Whether a symbol is counted in this graph, so that it is counted whenever this is run."""
        return symbol in self.lengths and self.lengths[symbol] == self.counts.get(symbol)

    def knows(self, symbol: int) -> bool:
        """Whether the length of a symbol can be had here: it is counted in this graph, or outside of it."""
        return symbol in self.lengths or (self.entered is not None and self.entered.frame.knows(symbol))

    def length(self, symbol: int) -> Value:
        if symbol not in self.lengths:
            assert self.entered is not None
            self.entered.bring(symbol)
        return self.lengths[symbol]

    def most(self, f: Factor, most: int) -> int | None:
        """The symbol of at most so many of a factor, if there is one, here or in a graph around."""
        own = self.mosts.get((f._replace(loose=0), most))
        return own if own is not None or self.entered is None else self.entered.frame.most(f, most)

    def maker(self, value: Value) -> tuple[Frame, Value]:
        """Where a value comes from outside that is the same in every turn of a loop: as what it is known there."""
        if self.entered is not None and self.graph.node(value.node).op.name == "Input":
            outer = self.entered.brought(self.graph, value)
            if outer is not None:
                return self.entered.frame.maker(outer)
        return self, value

    # ---- what rules need

    def real(self, b: Builder, f: Factor) -> Value:
        """How many places of a padded factor are real: int32[]."""
        n = self.length(f.symbol)
        if not f.less:
            return n
        made: Value = b.Sub(n, b.constant(f.less, "int32"))
        return b.Maximum(made, b.constant(0, "int32")) if f.less > 0 else made

    def some(self, b: Builder, parts: frozenset[Factor]) -> Value:
        """bool[]: whether there is something of each of these."""
        if parts not in self._some:
            zero = b.constant(0, "int32")
            made = [b.Greater(self.real(b, f), zero) for f in sorted(parts)]
            self._some[parts] = made[0]
            for part in made[1:]:
                self._some[parts] = b.LogicalAnd(self._some[parts], part)
        return self._some[parts]

    def fill(self, b: Builder, value: Value, type: TensorType, axes: Axes) -> Value:
        """The value with copies of the last real places as padding."""
        if value not in self._filled:
            made = value
            for k, axis in enumerate(axes):
                if looseness(axis):
                    made = b.Gather(made, self._sources(b, type.shape[k], axis), axis=k)
            self._filled[value] = made
        return self._filled[value]

    def _sources(self, b: Builder, size: int, axis: Axis) -> Value:
        """For each place of an axis the real one that it is, or is to copy: int32[size]."""
        stride, parts = size, []
        for f in axis:
            stride //= f.size
            at: Value = b.matrix((np.arange(size) // stride % f.size).astype(np.int32))
            if f.symbol >= 0:
                last = b.Sub(self.real(b, f), b.constant(1, "int32"))
                at = b.Minimum(at, b.Maximum(last, b.constant(0, "int32")))
            parts.append(b.Mul(at, b.constant(stride, "int32")) if stride > 1 else at)
        made = parts[0]
        for part in parts[1:]:
            made = b.Add(made, part)
        return made

    def mask(self, b: Builder, type: TensorType, axes: Axes, over: Sequence[int]) -> Value:
        """bool, which broadcasts against the value: whether an element is real along these axes."""
        parts = []
        for k in over:
            stride = type.shape[k]
            for f in axes[k]:
                stride //= f.size
                if f.symbol >= 0:
                    parts.append(self._digits(b, type, k, stride, f))
        made = parts[0]
        for part in parts[1:]:
            made = b.LogicalAnd(made, part)
        return made

    def _digits(self, b: Builder, type: TensorType, k: int, stride: int, f: Factor) -> Value:
        size, rank = type.shape[k], type.rank
        key = size, rank - k, stride, f._replace(loose=0)
        if key not in self._masks:
            at = (np.arange(size) // stride % f.size).astype(np.int32).reshape(size, *(1,) * (rank - k - 1))
            self._masks[key] = b.Less(b.matrix(at), self.real(b, f))
        return self._masks[key]


class Entered:
    """A node whose graphs are being masked, in copies. frame: of the graph that it stands in; frames: of its own."""

    def __init__(self, frame: Frame, node: Node) -> None:
        self.frame, self.id = frame, node.id
        self.given = node.inputs  # Before any of it has been filled.
        self.frames = [Frame(graph.copy(), graph, self) for _, graph in node.graphs()]
        copies = {name: f.graph for (name, _), f in zip(node.graphs(), self.frames, strict=True)}
        frame.graph.set_node(node.id, attrs={**node.attrs, **copies})
        attrs = node.attrs
        #: From which operand on all is the same for every turn, and how the graphs' inputs lie: If has its condition before.
        self._same = attrs.get("carried", 0) + attrs.get("scanned", 0)
        self._shift = 1 if node.op.name == "If" else 0

    @property
    def node(self) -> Node:
        return self.frame.graph.node(self.id)

    def of(self, graph: Graph) -> Frame:
        return next(f for f in self.frames if f.graph is graph)

    def bring(self, symbol: int) -> None:
        """Let the graphs know the length of a symbol."""
        outer = self.frame.length(symbol)
        self.frame.graph.set_node(self.id, inputs=[*self.node.inputs, outer])
        for f in self.frames:
            f.lengths[symbol] = f.graph.add("Input", types=(_COUNT,), region="state").outputs[0]

    def brought(self, graph: Graph, value: Value) -> Value | None:
        """What a value that comes from outside is there."""
        place = graph.inputs.index(value.node)
        return self.given[place + self._shift] if place >= self._same else None

    def hold(self, graph: Graph, real: Value) -> None:
        """Let the body of a Scan leave what is carried as it is in turns that are not real."""
        node, attrs = self.node, self.node.attrs
        leave_unchecked(graph)
        count, end = attrs["carried"], attrs["carried"] + attrs["scanned"]
        before = graph.inputs
        flag = graph.add("Input", types=(TensorType("bool", ()),), region="state").outputs[0]
        graph.inputs = (*before[:end], flag.node, *before[end:])
        b = Builder(graph, node.region, node.scope, node.loc, origin=Origin("padding"))
        held = [
            (r.name, b.Select(flag, r.value, Value(i))) for r, i in zip(graph.results, before[:count], strict=False)
        ]
        graph.set_results([*held, *graph.results[count:]])
        inputs = [*node.inputs[:end], real, *node.inputs[end:]]
        self.frame.graph.set_node(self.id, inputs=inputs, attrs={**attrs, "scanned": attrs["scanned"] + 1})

    def leave(self, rooms: Mapping[int, int]) -> None:
        """Tell the graph around what has been counted, where anything has: the least of all turns, `rooms` of no turn."""
        symbols = sorted({s for f in self.frames for s in f.counts})
        node = self.node
        b = Builder(self.frame.graph, node.region, node.scope, node.loc, origin=Origin("padding"))
        tell = {"If": self._tell_branches, "While": self._tell_turns, "Scan": self._tell_stacks}.get(node.op.name)
        if symbols and tell is not None:
            tell(b, symbols, rooms)
        for f in self.frames:
            f.graph.prune()
            f.graph.freeze()

    def _tell_branches(self, b: Builder, symbols: Sequence[int], rooms: Mapping[int, int]) -> None:
        for f in self.frames:
            inner = Builder(f.graph, b.region, b.scope, b.loc, origin=b.origin)
            self._return(f, [f.counts.get(s) or inner.constant(rooms[s], "int32") for s in symbols])
        self._tells(symbols, _COUNT)

    def _tell_turns(self, b: Builder, symbols: Sequence[int], rooms: Mapping[int, int]) -> None:
        node = self.node
        count = node.attrs["carried"]
        first = [b.constant(rooms[s], "int32") for s in symbols]
        inputs = [*node.inputs[:count], *first, *node.inputs[count:]]
        for f in self.frames:
            before = f.graph.inputs
            least = [f.graph.add("Input", types=(_COUNT,), region="state").outputs[0] for _ in symbols]
            f.graph.inputs = (*before[:count], *(v.node for v in least), *before[count:])
            if f.counts:
                inner = Builder(f.graph, b.region, b.scope, b.loc, origin=b.origin)
                self._return(f, [inner.Minimum(v, f.counts[s]) for s, v in zip(symbols, least, strict=True)])
        self.frame.graph.set_node(self.id, inputs=inputs, attrs={**node.attrs, "carried": count + len(symbols)})
        self._tells(symbols, _COUNT)

    def _tell_stacks(self, b: Builder, symbols: Sequence[int], rooms: Mapping[int, int]) -> None:
        (f,), attrs = self.frames, self.node.attrs
        self._return(f, [f.counts[s] for s in symbols])
        made = range(len(f.graph.results) - len(symbols), len(f.graph.results))
        self.frame.graph.set_node(self.id, attrs={**attrs, "stacks": (*attrs["stacks"], *made)})
        self._tells(symbols, TensorType("int32", (attrs["length"],)))
        for s in symbols:
            self.frame.counts[s] = b.ReduceMin(self.frame.counts[s], axis=(0,))

    @staticmethod
    def _return(f: Frame, counts: Sequence[Value]) -> None:
        f.graph.set_results([*f.graph.results, *(("", v) for v in counts)])

    def _tells(self, symbols: Sequence[int], type: TensorType) -> None:
        """Results of the node for these symbols, behind the others."""
        types = self.node.types
        self.frame.graph.set_node(self.id, types=(*types, *[type] * len(symbols)))
        self.frame.counts.update((s, Value(self.id, len(types) + k)) for k, s in enumerate(symbols))
