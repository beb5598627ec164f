"""A graph that is masked, beside traces for other sizes: what must be the same in all of them, and what else they show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graphc.errors import PaddingError
from graphc.ir import Graph, Node, TensorType, walk
from graphc.ops.declared.padding import Axes, Axis, length, plains
from graphc.passes.padded_arrays import Array, real_part
from graphc.passes.padded_view import refusal

#: Attributes that may differ between sizes; their rules look at them. `begin` is that of slices, `length` of scans.
_SHAPES = frozenset({"shape", "size", "begin", "length"})


@dataclass(frozen=True)
class Sizes:
    """The sizes of each symbol: room in the graph, in the second trace, and the least length that the graph is for."""

    room: tuple[int, ...] = ()
    probe: tuple[int, ...] = ()
    low: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def beyond(self) -> Sizes:
        """With a second trace for more than there is room for."""
        return replace(self, probe=tuple(max(self.room) + 1 + s for s in range(len(self.room))))

    def more(self, room: int, probe: int, low: int = 0) -> Sizes:
        """With a symbol that is counted: there may be none, or are `low` at least."""
        name = f"count{len(self.names)}"
        return Sizes((*self.room, room), (*self.probe, probe), (*self.low, low), (*self.names, name))


@dataclass(frozen=True)
class Known:
    """What trials of a cell that counts have shown of its trace.

    seen    branches and, of each, a symbol that is counted outside, of which it is to be told how many the branch sees
    capped  ids of slices that take fewer where there are fewer
    floors  by id, what a constant that is a length is at least
    """

    seen: tuple[tuple[Graph, int], ...] = ()
    capped: frozenset[int] = frozenset()
    floors: Mapping[int, float] = field(default_factory=dict)


@dataclass
class Masked:
    """A graph that is right for every length.

    Inputs follow those of the traced graph: a length for each symbol that comes with the call, then the constants. Results
    follow, too: a length for each symbol that is counted.

    traced     the graph as it was
    known      what further traces had shown when it was made
    results    axes of what it returns
    constants  those that depend on the lengths: the id of the node in any trace, and its axes
    axes       of all nodes of the trace
    names      of the symbols
    derived    of the last symbols, the axes whose lengths they add up, and how many there are at most
    needs      nodes that take so many of a symbol: its id, the symbol, how many at least, and the error where it has fewer
    numbers    constants that are a length: its symbol
    floors     what such constants are at least, as far as traces have shown
    moving     the axes along which slices begin as far from the end for every length
    seen       branches of the traced graph and, of each, a symbol that is counted outside: behind the symbols come these, whose
               length is the symbol's where the branch is taken, and all there can be where it is not
    turning    symbols that are counted in each turn of a loop: their length is the least of all turns
    """

    graph: Graph
    traced: Graph
    known: Known
    results: tuple[Axes, ...] = ()
    constants: list[tuple[int, Axes]] = field(default_factory=list)
    axes: dict[int, list[Axes]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    derived: list[tuple[Sequence[Axis], int]] = field(default_factory=list)
    needs: list[tuple[int, int, int, Exception]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    floors: dict[int, float] = field(default_factory=dict)
    moving: dict[int, list[int]] = field(default_factory=dict)
    seen: list[tuple[Graph, int]] = field(default_factory=list)
    turning: set[int] = field(default_factory=set)
    _shown: dict[int, int] = field(default_factory=dict)  # The least length that such a constant has been.

    def source(self, symbol: int) -> tuple[Graph | None, int]:
        """Of a symbol, or of how many a branch sees of one: that branch, and the symbol."""
        return self.seen[symbol - len(self.names)] if symbol >= len(self.names) else (None, symbol)

    def types(self, node: Node, lengths: Sequence[int]) -> tuple[TensorType, ...]:
        """What a node of the trace makes for these lengths."""
        each = self.axes.get(node.id) or [plains(t) for t in node.types]
        return tuple(
            TensorType(t.dtype, tuple(length(a, lengths) for a in axes))
            for t, axes in zip(node.types, each, strict=True)
        )

    def all_lengths(self, lengths: Sequence[int]) -> list[int]:
        """With those that add up others."""
        made = [*lengths]
        for axes, most in self.derived:
            made.append(min(sum(length(a, made) for a in axes), most))
        return made

    def check(self, graph: Graph, lengths: Sequence[int]) -> None:
        """PaddingError where a trace with these lengths is not what the graph was made for: two sizes have not shown it."""
        others = {n.id: n for _, n in walk(graph)}
        nodes = [n for _, n in walk(self.traced)]
        if len(lengths) + len(self.derived) != len(self.names):
            raise refusal(nodes[-1], "construct counts something else for this size: Python decides by the size")
        lengths = self.all_lengths(lengths)
        compare(nodes, others, self.names, lengths)
        if self.traced.results != graph.results or self.traced.updates != graph.updates:
            raise refusal(nodes[-1], f"construct returns or assigns something else for {said_of(self.names, lengths)}")
        looked_up = {id for id, _ in self.constants}
        for node in nodes:
            other, each = others[node.id], self.axes.get(node.id) or [plains(t) for t in node.types]
            for type, wanted, seen in zip(node.types, self.types(node, lengths), other.types, strict=True):
                if wanted.shape != seen.shape:
                    raise refusal(node, f"its result is {seen} for {said_of(self.names, lengths)}, here {type}")
            if node.op.name == "Slice" and other.type.size and self._begin(node, lengths) != other.attrs["begin"]:
                raise refusal(node, f"it begins at {other.attrs['begin']} for {said_of(self.names, lengths)}")
            if node.op.name != "Constant" or node.id in looked_up:
                continue
            mine, value = node.attrs["value"].array, other.attrs["value"].array
            if node.id in self.numbers:
                right = self._is_number(node.id, lengths[self.numbers[node.id]], value.item())
            else:
                right = equal(real_part(mine, each[0], lengths), value)
            if not right:
                raise refusal(node, f"it is another number for {said_of(self.names, lengths)}")

    def _is_number(self, id: int, length: int, value: float) -> bool:
        """Whether a constant that is a length, or at least something, has this value for a length."""
        if id in self.floors:
            return value == max(length, self.floors[id])
        if length < value <= self._shown.get(id, value):
            self.floors[id] = value
            return True
        self._shown[id] = min(length, self._shown.get(id, length))
        return value == length

    def _begin(self, node: Node, lengths: Sequence[int]) -> tuple[int, ...]:
        """Where a slice is to begin for these lengths."""
        begin = list(node.attrs["begin"])
        for k in self.moving.get(node.id, ()):
            id, slot = node.inputs[0]
            axis = self.axes[id][slot][k]
            begin[k] = max(begin[k] - math.prod(f.size for f in axis) + length(axis, lengths), 0)
        return tuple(begin)


def counting_nodes(graph: Graph) -> list[Node]:
    """The nodes that count, in the order in which they were traced."""
    return sorted((n for _, n in walk(graph) if n.op.name == "Nonzero"), key=lambda n: n.id)


def said_of(names: Sequence[str], lengths: Sequence[int]) -> str:
    """Lengths, as errors say them."""
    return " and ".join(f"{n} {a}" for n, a in zip(names, lengths, strict=True))


def equal(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def compare(nodes: Sequence[Node], others: Mapping[int, Node], names: Sequence[str], lengths: Sequence[int]) -> None:
    """PaddingError where Python has gone another way for another size. others: nodes of that trace, by their ids."""

    def other_way(node: Node) -> PaddingError:
        said = said_of(names, lengths)
        return refusal(
            node, f"construct does something else for {said} than here: Python decides by the size, or it has changed"
        )

    for node in nodes:
        other = others.get(node.id)
        if other is None or other.op is not node.op or other.inputs != node.inputs:
            raise other_way(node)
        for name, value in node.attrs.items():
            if isinstance(value, Graph):
                if value.results != other.attrs[name].results:
                    raise other_way(node)
                continue
            if name in _SHAPES or node.op.name == "Constant":
                continue
            if value != other.attrs[name]:
                raise refusal(
                    node, f"its attribute {name} is {other.attrs[name]!r} for {said_of(names, lengths)}, here {value!r}"
                )
    if len(others) != len(nodes):
        raise other_way(nodes[-1])
