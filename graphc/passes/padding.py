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
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

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
    normal,
    plain,
    plains,
    rule_of,
    tight,
)
from graphc.passes.padded_arrays import real_part
from graphc.passes.padded_frames import Entered, Frame
from graphc.passes.padded_graph import Known, Masked, Sizes, compare, counting_nodes, equal
from graphc.passes.padded_view import Looser, View, refusal


def masked(graph: Graph, probe: Graph, inputs: Mapping[int, Axes], sizes: Sizes, known: Known | None = None) -> Masked:
    """The traced graph made right for every length. inputs: axes of Input nodes but for lengths; probe: one with `sizes.probe`;
    known: what further traces have shown.

    Raises PaddingError, with the user's line, for what cannot be exact.
    """
    loose: set[tuple[int, int]] = set()
    while True:
        try:
            return Masking(graph, probe, sizes, known or Known(), loose).run(inputs)
        except Looser as found:
            loose.update(found.places)


class Masking:
    """loose: loops, by their id, and what of each of them is carried with padding that may be anything."""

    def __init__(
        self, graph: Graph, probe: Graph, sizes: Sizes, known: Known, loose: Collection[tuple[int, int]] = ()
    ) -> None:
        self.loose = loose
        self.probes = {n.id: n for _, n in walk(probe)}
        self.given, self.counted = len(sizes.names), {}
        for node in counting_nodes(graph):
            if node.id in self.probes and self.probes[node.id].op is node.op:  # Another op is refused below.
                self.counted[node.id] = len(sizes.names)
                sizes = sizes.more(node.attrs["size"], self.probes[node.id].attrs["size"])
        self.sizes = sizes
        self.made = Masked(graph.copy(), graph, known, names=sizes.names, seen=[*known.seen], floors=dict(known.floors))
        self.frame = self._entered(Frame(self.made.graph, graph))
        self.zeroed: set[Value] = set()  # What depends on gradients for padded values: these are zero where padding is.
        self.among: dict[int, Axis] = {}  # Of nodes that find places: those of which axis.
        self.tainted: dict[Value, frozenset[Factor]] = {}  # Without meaning where there is nothing of these.

    def run(self, inputs: Mapping[int, Axes]) -> Masked:
        frame, graph = self.frame, self.made.graph
        own = self._give_lengths(inputs)
        nodes = [n for n in graph if n.id not in own]
        compare([n for _, n in walk(self.made.traced)], self.probes, self.sizes.names, self.sizes.probe)
        for node in nodes:
            if node.op.name == "Input":
                frame.axes[Value(node.id)] = inputs.get(node.id) or plains(node.type)
                self.made.axes[node.id] = [frame.axes[Value(node.id)]]
            else:
                self.visit(graph.node(node.id), frame)
        self.made.results = tuple(frame.axes.get(r.value) or plains(graph.type(r.value)) for r in graph.results)
        counts = {self._place(s): value for s, value in frame.counts.items()}
        results = [(f"count{s}", counts[s]) for s in sorted(counts)]
        graph.set_results([*graph.results, *results], graph.updates)
        graph.prune()
        self.made.needs = [(id, self._place(s), least, error) for id, s, least, error in self.made.needs]
        self.made.turning = set(map(self._place, self.made.turning))
        return self.made

    def _give_lengths(self, inputs: Mapping[int, Axes]) -> set[int]:
        """The inputs for lengths that come with the call: the trace has them already where it computes with them."""
        frame, graph, type = self.frame, self.made.graph, TensorType("int32", ())
        found = [i for i in graph.inputs if graph.node(i).op.name == "Input" and i not in inputs] if self.given else []
        found += [graph.add("Input", types=(type,), name=name).id for name in self.sizes.names[len(found) : self.given]]
        frame.lengths.update((symbol, Value(id)) for symbol, id in enumerate(found))
        return set(found)

    def _place(self, symbol: int) -> int:
        """Where the length of a symbol, or of one that a branch sees, stands."""
        return symbol if symbol >= 0 else len(self.sizes.names) - 1 - symbol

    def sees(self, frame: Frame, symbol: int) -> int:
        """A symbol, below 0, for how many a branch sees of what is counted outside of it."""
        each = frame.origin, symbol
        if each not in self.made.seen:
            self.made.seen.append(each)
        return -1 - self.made.seen.index(each)

    def _entered(self, frame: Frame) -> Frame:
        """The frame, which knows what its graph counts."""
        for node in frame.graph:
            if node.id in self.counted:
                self._count(frame, self.counted[node.id], Value(node.id, 1))
        return frame

    def _count(self, frame: Frame, symbol: int, value: Value) -> None:
        frame.counts[symbol] = value
        if symbol >= 0:
            frame.lengths[symbol] = value
        if frame.turns:
            self.made.turning.add(symbol)

    # ---- node by node

    def visit(self, node: Node, frame: Frame) -> None:
        axes = frame.axes
        operands = [axes.get(v) or plains(frame.graph.type(v)) for v in node.inputs]
        probe = self.probes[node.id]
        padded = any(is_padded(a) for each in operands for a in each)
        made = node.outputs
        zeroed = node.op.name == "Grad" or not self.zeroed.isdisjoint(node.inputs)
        if padded and node.op.name == "Grad" and not self.zeroed.isdisjoint(node.inputs[: node.attrs["ys"]]):
            raise refusal(node, "it differentiates what depends on the gradient for a padded value")
        inside = padded or self._counts_inside(node) or self._is_asked(node) or self._varies_inside(node)
        entered = self._enter(node, frame) if inside else None
        if not padded and node.id not in self.counted and entered is None:
            found = self._unpadded(node, probe, frame)
        else:
            if node.op.name in ("Nonzero", "Argsort"):
                self.among[node.id] = operands[0][-1]
            view = View(self, frame, frame.graph.node(node.id), probe, operands, entered)
            if not harmless(node.op, operands):
                view.fill()
            if self.counted and entered is None:
                view.guard()
            found = list(rule_of(node.op)(view))
            self._require(node, probe, found)
            made = view.made
        if entered is not None and not all(frame.knows(f.symbol) for a in found for x in a for f in x if f.symbol >= 0):
            raise refusal(node, "what it makes has a size that is counted inside of it, in each turn or branch anew")
        self.made.axes[node.id] = found
        if self.counted:
            self._taint(node, operands, made, found, entered)
        if entered is not None:
            entered.leave(self._rooms())
        for value, each in zip(made, found, strict=True):
            axes[value] = each
            if zeroed and any(map(is_padded, each)):
                self.zeroed.add(value)

    def _unpadded(self, node: Node, probe: Node, frame: Frame) -> list[Axes]:
        """The axes of what a node makes that sees nothing padded."""
        for op, name, what in (("Slice", "begin", "where it begins"), ("Scan", "length", "how often it turns")):
            if node.op.name == op and node.attrs[name] != probe.attrs[name]:
                raise refusal(node, f"{what} depends on the size")
        for _, inner in node.graphs():
            for _, differing in self._differing(inner):
                raise refusal(differing, "a number inside of a loop or branch depends on the size")
        found = [self._guess(a, b, node, frame) for a, b in zip(node.types, probe.types, strict=True)]
        if node.op.name == "Constant":
            return [self._constant(node, probe, found[0], frame)]
        if not node.op.effect and node.op.name != "BroadcastTo":
            return [tuple(loosened(a, 2) for a in each) for each in found]
        return found

    # ---- graphs of nodes

    def _rooms(self) -> dict[int, int]:
        """The room of each symbol, and of each that a branch sees."""
        room = self.sizes.room
        return {**dict(enumerate(room)), **{-1 - k: room[s] for k, (_, s) in enumerate(self.made.seen)}}

    def _counts_inside(self, node: Node) -> bool:
        return any(n.id in self.counted for _, graph in node.graphs() for _, n in walk(graph))

    def _is_asked(self, node: Node) -> bool:
        """Whether a branch in this node is to tell how many it sees of something."""
        inner = [g for _, graph in node.graphs() for g in (graph, *(h for _, n in walk(graph) for _, h in n.graphs()))]
        return any(branch is g for branch, _ in self.made.seen for g in inner)

    def _enter(self, node: Node, frame: Frame) -> Entered | None:
        """What a node with graphs becomes while these are visited."""
        if not node.graphs():
            return None
        entered = Entered(frame, node)
        for inner in entered.frames:
            self._entered(inner)
        return entered

    def inside(self, entered: Entered, graph: Graph, axes: Sequence[Axes]) -> list[Axes]:
        """Visit a graph whose inputs have these axes; those of its results."""
        frame = entered.of(graph)
        inputs = [Value(i) for i in graph.inputs]
        for value, each in zip(inputs, axes, strict=False):
            frame.axes[value] = each
            self.made.axes[value.node] = [each]
        if self.counted:
            self._taint_inputs(entered, frame, inputs[: len(axes)])
        known = {v.node for v in frame.lengths.values()} - self.counted.keys() | set(graph.inputs)
        for node in [n for n in graph if n.id not in known]:
            self.visit(graph.node(node.id), frame)
        for k, (branch, symbol) in enumerate(self.made.seen):
            if branch is frame.origin:
                self._count(frame, -1 - k, frame.length(symbol))
        return [frame.axes.get(r.value) or plains(graph.type(r.value)) for r in graph.results]

    # ---- what there may be none of

    def _taint(
        self,
        node: Node,
        operands: Sequence[Axes],
        made: Sequence[Value],
        found: Sequence[Axes],
        entered: Entered | None,
    ) -> None:
        """Note which results come of something that there may be none of, and are NaN or infinite then."""
        before = frozenset().union(*map(self.parts, operands))
        old = frozenset().union(*(self.tainted.get(v, frozenset()) for v in node.inputs))
        if entered is not None:
            results = [r.value for f in entered.frames for r in f.graph.results]
            old = old.union(*(self.tainted.get(v, frozenset()) for v in results))
        for value, each in zip(made, found, strict=True):
            own = self.parts(each)
            taint = (before - own) | (old if is_easy(node.op) or entered or not own else frozenset())
            if taint:
                self.tainted[value] = taint

    def _taint_inputs(self, entered: Entered, frame: Frame, inputs: Sequence[Value]) -> None:
        """What a branch sees may have no meaning; nor what a loop carries, whatever it has been at first."""
        turns = entered.node.op.name != "If" and any(f.counts for f in entered.frames)
        every = frozenset(Factor(0, s) for s in self.counted.values()) if turns else frozenset()
        outer = entered.given[len(entered.given) - len(inputs) :]
        for value, source in zip(inputs, outer, strict=True):
            taint = self.tainted.get(source, frozenset()) | every
            if taint:
                self.tainted[value] = taint

    def parts(self, axes: Axes) -> frozenset[Factor]:
        """The factors of axes of which there may be none."""
        symbols = self.counted.values()
        return frozenset(
            Factor(0, f.symbol, f.less) for axis in axes for f in axis if f.symbol in symbols and f.less >= 0
        )

    # ---- what both traces show

    def _differing(self, graph: Graph) -> Iterator[tuple[Graph, Node]]:
        """The numbers and sizes inside of a loop or branch that are others in the second trace."""
        for owner, node in walk(graph):
            probe = self.probes[node.id]
            values = [n.attrs["value"].array for n in (node, probe) if n.op.name == "Constant"]
            if node.types != probe.types or (values and not equal(*values)):
                yield owner, node

    def _varies_inside(self, node: Node) -> bool:
        """Whether something in a loop or branch is as large as what is counted, though it is given nothing that is."""
        return bool(self.counted) and any(True for _, graph in node.graphs() for _ in self._differing(graph))

    def _require(self, node: Node, probe: Node, found: Sequence[Axes]) -> None:
        """PaddingError where the second trace has other sizes than the axes say."""
        for type, other, axes in zip(node.types, probe.types, found, strict=True):
            room = tuple(math.prod(f.size for f in a) for a in axes)
            seen = tuple(length(a, self.sizes.probe) for a in axes)
            if (room, seen) != (type.shape, other.shape):
                raise refusal(node, f"its result is {other} for another size, here {type}: Python decides by the size")

    def _guess(self, type: TensorType, probe: TensorType, node: Node, frame: Frame) -> Axes:
        """The axes of what depends on nothing padded, from its sizes."""
        made: list[Axis] = []
        for size, other in zip(type.shape, probe.shape, strict=True):
            if size == other:
                made.append(plain(size))
                continue
            fits = [normal(axis) for axis in self._fitting(size, other, frame)]
            if not fits:
                raise refusal(
                    node, f"its result is {probe} for another size, here {type}: which part varies is not clear"
                )
            # What is as large as a value that there is is mostly made for it.
            seen = {tight(axis) for axes in frame.axes.values() for axis in axes}
            made.append(next((axis for axis in fits if axis in seen), fits[0]))
        return tuple(made)

    def _fitting(self, size: int, other: int, frame: Frame) -> Iterator[Axis]:
        """Axes of such a size, and of the other one in the second trace: a symbol's, or that of two, times a fixed one."""
        symbols = [
            (s, sizes) for s, sizes in enumerate(zip(self.sizes.room, self.sizes.probe, strict=True)) if frame.knows(s)
        ]
        for s, (room, seen) in symbols:
            if not size % room and size // room * seen == other:
                yield Factor(room, s), *plain(size // room)
                yield *plain(size // room), Factor(room, s)
        for k, (s, (room, seen)) in enumerate(symbols):
            for t, (more, beside) in symbols[k + 1 :]:
                if not size % (room * more) and size // (room * more) * seen * beside == other:
                    yield Factor(room, s), Factor(more, t), *plain(size // (room * more))
        for s, (room, seen) in symbols:
            times = (size - other) // (room - seen) if room != seen else 0
            part = size // times if times > 0 else 0
            if part and part != room and (part * times, (part - room + seen) * times) == (size, other):
                yield Factor(part, s, room - part), *plain(times)
                yield *plain(times), Factor(part, s, room - part)

    def _constant(self, node: Node, probe: Node, axes: Axes, frame: Frame) -> Axes:
        """A constant whose real part is the other trace's is right as it is; another one becomes an input."""
        mine, other = node.attrs["value"].array, probe.attrs["value"].array
        for turned in _orders(axes):
            if equal(real_part(mine, turned, self.sizes.probe), other):
                # What stands behind the real part goes on, unless all is the same.
                same = mine.size == 0 or equal(mine, np.broadcast_to(mine.ravel()[0], mine.shape))
                return turned if same else tuple(loosened(a, 2) for a in turned)
        if self.counted:
            return self._number(node, probe, axes, frame)
        if frame.entered is not None:
            raise refusal(node, "a number inside of a loop or branch depends on the size")
        given = frame.graph.add("Input", types=node.types, name=f"constant{node.id}", loc=node.loc)
        frame.graph.replace_node(node.id, given.outputs, "padding")
        self.made.constants.append((node.id, axes))
        frame.axes[given.outputs[0]] = axes
        return axes

    def _number(self, node: Node, probe: Node, axes: Axes, frame: Frame) -> Axes:
        """A constant that is a length becomes that."""
        mine, other = node.attrs["value"].array, probe.attrs["value"].array
        for symbol in filter(frame.knows, range(len(self.sizes.room))):
            if mine.size == 1 and (mine == self.sizes.room[symbol]).all() and (other == self.sizes.probe[symbol]).all():
                b = Builder(frame.graph, node.region, node.scope, node.loc, origin=Origin("padding"))
                number = b.Cast(frame.length(symbol), dtype=node.type.dtype)
                if node.id in self.made.floors:
                    number = b.Maximum(number, b.constant(self.made.floors[node.id], node.type.dtype))
                made = b.Reshape(number, shape=node.type.shape)
                frame.graph.replace_node(node.id, [made], "padding")
                self.made.numbers[node.id] = symbol
                frame.axes[made] = axes
                return axes
        raise refusal(node, "it depends on how many elements there are, which only the run tells")

    def derive(self, frame: Frame, count: Value, room: int, parts: Sequence[Axis]) -> int:
        """A symbol for how many there are of parts together, at most as there is room for. The same parts have the same one."""
        parts, symbol = [tight(a) for a in parts], len(self.sizes.names)
        for k, known in enumerate(self.made.derived, symbol - len(self.made.derived)):
            if known == (parts, room) and frame.knows(k):
                return k
        seen, low = (min(sum(length(a, each) for a in parts), room) for each in (self.sizes.probe, self.sizes.low))
        self.sizes = self.sizes.more(room, seen, low)
        self._count(frame, symbol, count)
        if self.counted:
            self.counted[count.node] = symbol
        self.made.derived.append((parts, room))
        self.made.names = self.sizes.names
        return symbol


def _orders(axes: Axes) -> Iterator[Axes]:
    """The axes, and with factors the other way round."""
    yield axes
    if any(len(a) > 1 for a in axes):
        yield tuple(a[::-1] for a in axes)
