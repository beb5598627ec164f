"""Padding: a traced graph whose sizes are those of a bucket becomes one in which nothing real depends on what is padding.

    before:  %3: f32[] = ReduceMean(%2) {axis=(0,)}                    of f32[16], of which `rows` are real
    after:   %6: f32[16] = Select(%5, %2, 0)                           %5: place < rows
             %7: f32[] = ReduceSum(%6) {axis=(0,)}
             %9: f32[] = Div(%7, rows)

The padding rules of the ops do the work (`graphc/ops/declared/padding.py`). A second trace, with other sizes, tells which axes
vary and shows what Python has made of the sizes: whatever differs besides shapes is either a constant that is looked up for each
length, or the graph is refused. The pass comes before autodiff, so that gradients are those of the masked graph.

Lengths that a call brings are inputs. Those that the graph counts itself, with `Nonzero`, follow as results: who runs it cuts
what it returns. Of these nothing can be looked up; but a constant may be the length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphc.errors import PaddingError
from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value, walk
from graphc.ops.declared.padding import (
    Axes,
    Axis,
    Factor,
    harmless,
    is_easy,
    is_padded,
    length,
    loosened,
    looseness,
    normal,
    plain,
    plains,
    rule_of,
)
from graphc.passes.padded_arrays import Array, real_part
from graphc.passes.padded_view import View, refusal

#: Attributes that may differ between sizes; their rules look at them. `begin` is that of slices.
_SHAPES = frozenset({"shape", "size", "begin"})


@dataclass(frozen=True)
class Sizes:
    """The sizes of each symbol: room in the graph, in the second trace, and the least length that the graph is for."""

    room: tuple[int, ...] = ()
    probe: tuple[int, ...] = ()
    low: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def more(self, room: int, probe: int) -> Sizes:
        """With a symbol that is counted: there may be none."""
        name = f"count{len(self.names)}"
        return Sizes((*self.room, room), (*self.probe, probe), (*self.low, 0), (*self.names, name))


@dataclass
class Masked:
    """A graph that is right for every length.

    Inputs follow those of the traced graph: a length for each symbol that comes with the call, then the constants. Results
    follow, too: a length for each symbol that is counted.

    traced     the graph as it was
    results    axes of what it returns
    constants  those that depend on the lengths: the id of the node in any trace, and its axes
    axes       of all nodes of the trace
    names      of the symbols
    derived    of the last symbols, the axes whose lengths they add up
    least      by symbol, what its length must be, and the error where it is not
    numbers    constants that are a length: its symbol
    moving     the axes along which slices begin as far from the end for every length
    """

    graph: Graph
    traced: Graph
    results: tuple[Axes, ...] = ()
    constants: list[tuple[int, Axes]] = field(default_factory=list)
    axes: dict[int, list[Axes]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    derived: list[Sequence[Axis]] = field(default_factory=list)
    least: dict[int, tuple[int, Exception]] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    moving: dict[int, list[int]] = field(default_factory=dict)

    def check(self, graph: Graph, lengths: Sequence[int]) -> None:
        """PaddingError where a trace with these lengths is not what the graph was made for: two sizes have not shown it."""
        lengths = [*lengths]
        lengths += [sum(length(a, lengths) for a in axes) for axes in self.derived]
        others = {n.id: n for _, n in walk(graph)}
        nodes = [n for _, n in walk(self.traced)]
        _compare(nodes, others, self.names, lengths)
        if self.traced.results != graph.results or self.traced.updates != graph.updates:
            raise refusal(nodes[-1], f"construct returns or assigns something else for {_said(self.names, lengths)}")
        looked_up = {id for id, _ in self.constants}
        for node in nodes:
            other, each = others[node.id], self.axes.get(node.id) or [plains(t) for t in node.types]
            for type, seen, axes in zip(node.types, other.types, each, strict=True):
                if tuple(length(a, lengths) for a in axes) != seen.shape:
                    raise refusal(node, f"its result is {seen} for {_said(self.names, lengths)}, here {type}")
            if node.op.name == "Slice" and other.type.size and self._begin(node, lengths) != other.attrs["begin"]:
                raise refusal(node, f"it begins at {other.attrs['begin']} for {_said(self.names, lengths)}")
            if node.op.name != "Constant" or node.id in looked_up:
                continue
            mine = node.attrs["value"].array
            if node.id in self.numbers:
                mine = np.full_like(mine, lengths[self.numbers[node.id]])
            if not _equal(real_part(mine, each[0], lengths), other.attrs["value"].array):
                raise refusal(node, f"it is another number for {_said(self.names, lengths)}")

    def _begin(self, node: Node, lengths: Sequence[int]) -> tuple[int, ...]:
        """Where a slice is to begin for these lengths."""
        begin = list(node.attrs["begin"])
        for k in self.moving.get(node.id, ()):
            id, slot = node.inputs[0]
            axis = self.axes[id][slot][k]
            begin[k] = max(begin[k] - math.prod(f.size for f in axis) + length(axis, lengths), 0)
        return tuple(begin)


def masked(graph: Graph, probe: Graph, inputs: Mapping[int, Axes], sizes: Sizes) -> Masked:
    """The traced graph made right for every length. inputs: axes of its padded Input nodes; probe: a trace with `sizes.probe`.

    Raises PaddingError, with the user's line, for what cannot be exact.
    """
    return Masking(graph, probe, sizes).run(inputs)


def _said(names: Sequence[str], lengths: Sequence[int]) -> str:
    return " and ".join(f"{n} {a}" for n, a in zip(names, lengths, strict=True))


def _equal(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def _compare(nodes: Sequence[Node], others: Mapping[int, Node], names: Sequence[str], lengths: Sequence[int]) -> None:
    """PaddingError where Python has gone another way for another size. others: nodes of that trace, by their ids."""

    def other_way(node: Node) -> PaddingError:
        return refusal(
            node,
            f"construct does something else for {_said(names, lengths)} than here: Python decides by the size, or it has changed",
        )

    for node in nodes:
        other = others.get(node.id)
        if other is None or other.op is not node.op or other.inputs != node.inputs:
            raise other_way(node)
        for name, value in node.attrs.items():
            if name in _SHAPES or isinstance(value, Graph) or node.op.name == "Constant":
                continue
            if value != other.attrs[name]:
                raise refusal(
                    node, f"its attribute {name} is {other.attrs[name]!r} for {_said(names, lengths)}, here {value!r}"
                )
    if len(others) != len(nodes):
        raise other_way(nodes[-1])


class Masking:
    def __init__(self, graph: Graph, probe: Graph, sizes: Sizes) -> None:
        self.probes = {n.id: n for _, n in walk(probe)}
        given, self.counted = len(sizes.names), {}
        for node in graph:
            if node.op.name == "Nonzero" and node.id in self.probes:
                self.counted[node.id] = len(sizes.names)
                sizes = sizes.more(node.attrs["size"], self.probes[node.id].attrs["size"])
        self.sizes = sizes
        self.made = Masked(graph.copy(), graph, names=sizes.names)
        self.graph = graph = self.made.graph
        self.axes: dict[Value, Axes] = {}
        self.zeroed: set[Value] = set()  # What depends on gradients for padded values: these are zero where padding is.
        type, names = TensorType("int32", ()), sizes.names[:given]
        self.lengths = [graph.add("Input", types=(type,), name=n).outputs[0] for n in names]
        self.own = {v.node for v in self.lengths}
        self.lengths += [Value(id, 1) for id in self.counted]
        self.among: dict[int, Axis] = {}  # Of nodes that find places: those of which axis.
        self.tainted: dict[Value, frozenset[Factor]] = {}  # Without meaning where there is nothing of these.
        self.sure: dict[frozenset[Factor], Value] = {}
        self.masks: dict[Any, Value] = {}
        self.filled: dict[Value, Value] = {}

    def run(self, inputs: Mapping[int, Axes]) -> Masked:
        nodes = [n for n in self.graph if n.id not in self.own]
        _compare([n for _, n in walk(self.made.traced)], self.probes, self.sizes.names, self.sizes.probe)
        for node in nodes:
            if node.op.name == "Input":
                self.axes[Value(node.id)] = inputs.get(node.id) or plains(node.type)
                self.made.axes[node.id] = [self.axes[Value(node.id)]]
            else:
                self.visit(self.graph.node(node.id), self.graph, self.axes, False)
        self.made.results = tuple(
            self.axes.get(r.value) or plains(self.graph.type(r.value)) for r in self.graph.results
        )
        counts = [(self.sizes.names[s], Value(id, 1)) for id, s in self.counted.items()]
        self.graph.set_results([*self.graph.results, *counts], self.graph.updates)
        self.graph.prune()
        return self.made

    # ---- node by node

    def visit(self, node: Node, graph: Graph, axes: dict[Value, Axes], pure: bool) -> None:
        operands = [axes.get(v) or plains(graph.type(v)) for v in node.inputs]
        probe = self.probes[node.id]
        padded = any(is_padded(a) for each in operands for a in each)
        made = node.outputs
        zeroed = node.op.name == "Grad" or not self.zeroed.isdisjoint(node.inputs)
        if padded and node.op.name == "Grad" and not self.zeroed.isdisjoint(node.inputs[: node.attrs["ys"]]):
            raise refusal(node, "it differentiates what depends on the gradient for a padded value")
        if not padded and node.id not in self.counted:
            if node.op.name == "Slice" and node.attrs["begin"] != probe.attrs["begin"]:
                raise refusal(node, "where it begins depends on the size")
            for _, inner in node.graphs():
                self._same(inner)
            found = [self._guess(a, b, node) for a, b in zip(node.types, probe.types, strict=True)]
            if node.op.name == "Constant":
                found = [self._constant(node, probe, found[0], pure)]
            elif not node.op.effect and node.op.name != "BroadcastTo":
                found = [tuple(loosened(a, 2) for a in each) for each in found]
        else:
            if node.op.name in ("Nonzero", "Argsort"):
                self.among[node.id] = operands[0][-1]
            view = View(self, graph, node, probe, operands, pure)
            if not harmless(node.op, operands):
                view.fill()
            if self.counted and not pure:
                view.guard()
            found = list(rule_of(node.op)(view))
            self._require(node, probe, found)
            made = view.made
        self.made.axes[node.id] = found
        if self.counted and not pure:
            self._taint(node, operands, made, found)
        for value, each in zip(made, found, strict=True):
            axes[value] = each
            if zeroed and any(map(is_padded, each)):
                self.zeroed.add(value)

    def _taint(self, node: Node, operands: Sequence[Axes], made: Sequence[Value], found: Sequence[Axes]) -> None:
        """Note which results come of something that there may be none of, and are NaN or infinite then."""
        before = frozenset().union(*map(self.parts, operands))
        old = frozenset().union(*(self.tainted.get(v, frozenset()) for v in node.inputs))
        for value, each in zip(made, found, strict=True):
            own = self.parts(each)
            taint = (before - own) | (old if is_easy(node.op) or not own else frozenset())
            if taint:
                self.tainted[value] = taint

    def parts(self, axes: Axes) -> frozenset[Factor]:
        """The factors of axes of which there may be none."""
        symbols = self.counted.values()
        return frozenset(Factor(0, f.symbol, max(f.less, 0)) for axis in axes for f in axis if f.symbol in symbols)

    def some(self, b: Builder, parts: frozenset[Factor]) -> Value:
        """bool[]: whether there is something of each of these."""
        if parts not in self.sure:
            zero = b.constant(0, "int32")
            made = [b.Greater(self.real(b, f), zero) for f in sorted(parts)]
            self.sure[parts] = made[0]
            for part in made[1:]:
                self.sure[parts] = b.LogicalAnd(self.sure[parts], part)
        return self.sure[parts]

    def _same(self, graph: Graph) -> None:
        """PaddingError where a number or size inside of a loop or branch that sees nothing padded is another one."""
        for _, node in walk(graph):
            probe = self.probes[node.id]
            values = [n.attrs["value"].array for n in (node, probe) if n.op.name == "Constant"]
            if node.types != probe.types or (values and not _equal(*values)):
                raise refusal(node, "a number inside of a loop or branch depends on the size")

    def _require(self, node: Node, probe: Node, found: Sequence[Axes]) -> None:
        """PaddingError where the second trace has other sizes than the axes say."""
        for type, other, axes in zip(node.types, probe.types, found, strict=True):
            room = tuple(math.prod(f.size for f in a) for a in axes)
            seen = tuple(length(a, self.sizes.probe) for a in axes)
            if (room, seen) != (type.shape, other.shape):
                raise refusal(node, f"its result is {other} for another size, here {type}: Python decides by the size")

    def _guess(self, type: TensorType, probe: TensorType, node: Node) -> Axes:
        """The axes of what depends on nothing padded, from its sizes."""
        made: list[Axis] = []
        for size, other in zip(type.shape, probe.shape, strict=True):
            if size == other:
                made.append(plain(size))
                continue
            fits = list(self._fitting(size, other))
            if not fits:
                raise refusal(
                    node, f"its result is {probe} for another size, here {type}: which part varies is not clear"
                )
            made.append(normal(fits[0]))
        return tuple(made)

    def _fitting(self, size: int, other: int) -> Iterator[Axis]:
        """Axes of such a size, and of the other one in the second trace: a symbol's, or that of two, times a fixed one."""
        symbols = list(enumerate(zip(self.sizes.room, self.sizes.probe, strict=True)))
        for s, (room, seen) in symbols:
            if not size % room and size // room * seen == other:
                yield Factor(room, s), *plain(size // room)
        for s, (room, seen) in symbols:
            for t, (more, beside) in symbols[s + 1 :]:
                if not size % (room * more) and size // (room * more) * seen * beside == other:
                    yield Factor(room, s), Factor(more, t), *plain(size // (room * more))
        for s, (room, seen) in symbols:
            if room - size == seen - other and room != size:
                yield (Factor(size, s, room - size),)

    def _constant(self, node: Node, probe: Node, axes: Axes, pure: bool) -> Axes:
        """A constant whose real part is the other trace's is right as it is; another one becomes an input."""
        mine, other = node.attrs["value"].array, probe.attrs["value"].array
        for turned in _orders(axes):
            if _equal(real_part(mine, turned, self.sizes.probe), other):
                # What stands behind the real part goes on, unless all is the same.
                same = mine.size == 0 or _equal(mine, np.broadcast_to(mine.ravel()[0], mine.shape))
                return turned if same else tuple(loosened(a, 2) for a in turned)
        if pure:
            raise refusal(node, "a number inside of a loop or branch depends on the size")
        if self.counted:
            return self._number(node, probe, axes)
        given = self.graph.add("Input", types=node.types, name=f"constant{node.id}", loc=node.loc)
        self.graph.replace_node(node.id, given.outputs, "padding")
        self.made.constants.append((node.id, axes))
        self.axes[given.outputs[0]] = axes
        return axes

    def _number(self, node: Node, probe: Node, axes: Axes) -> Axes:
        """A constant that is a length becomes that."""
        mine, other = node.attrs["value"].array, probe.attrs["value"].array
        for symbol in range(len(self.sizes.room)):
            if mine.size == 1 and (mine == self.sizes.room[symbol]).all() and (other == self.sizes.probe[symbol]).all():
                b = Builder(self.graph, node.region, node.scope, node.loc, origin=Origin("padding"))
                made = b.Reshape(b.Cast(self.lengths[symbol], dtype=node.type.dtype), shape=node.type.shape)
                self.graph.replace_node(node.id, [made], "padding")
                self.made.numbers[node.id] = symbol
                self.axes[made] = axes
                return axes
        raise refusal(node, "it depends on how many elements there are, which only the run tells")

    def derive(self, found: Node, parts: Sequence[Axis]) -> int:
        """A symbol for what a new node counts."""
        symbol, seen = len(self.sizes.names), sum(length(a, self.sizes.probe) for a in parts)
        self.sizes = self.sizes.more(found.attrs["size"], seen)
        self.counted[found.id] = symbol
        self.lengths.append(found.outputs[1])
        self.made.derived.append(parts)
        self.made.names = self.sizes.names
        return symbol

    def fill(self, b: Builder, value: Value, type: TensorType, axes: Axes) -> Value:
        """The value with copies of the last real places as padding."""
        if value not in self.filled:
            made = value
            for k, axis in enumerate(axes):
                if looseness(axis):
                    made = b.Gather(made, self._sources(b, type.shape[k], axis), axis=k)
            self.filled[value] = made
        return self.filled[value]

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
        if key not in self.masks:
            at = (np.arange(size) // stride % f.size).astype(np.int32).reshape(size, *(1,) * (rank - k - 1))
            self.masks[key] = b.Less(b.matrix(at), self.real(b, f))
        return self.masks[key]

    def real(self, b: Builder, f: Factor) -> Value:
        """How many places of a padded factor are real: int32[]."""
        n = self.lengths[f.symbol]
        made: Value = n if not f.less else b.Sub(n, b.constant(f.less, "int32"))
        counted = f.less > 0 and f.symbol in self.counted.values()
        return b.Maximum(made, b.constant(0, "int32")) if counted else made


def _orders(axes: Axes) -> Iterator[Axes]:
    """The axes, and with factors the other way round."""
    yield axes
    if any(len(a) > 1 for a in axes):
        yield tuple(a[::-1] for a in axes)
