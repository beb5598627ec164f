"""A node as its padding rule sees it: what masks, counts and guards become in the graph."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Never

from graphc.errors import PaddingError
from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value
from graphc.ir.op import Scalar
from graphc.ops.declared.padding import Axes, Axis, is_easy, is_padded, length, loosened, looseness, tight

if TYPE_CHECKING:
    from graphc.passes.padded_frames import Entered, Frame
    from graphc.passes.padding import Masking

#: What to do about a PaddingError.
HELP = "compile it for each size, without buckets, or mask the padding in construct"


#: Ops whose first operand is the result but for what the others bring: it goes somewhere where these are nothing.
_PASSED_ON = frozenset({"Scatter", "ScatterElements"})


class Looser(Exception):
    """Turns leave looser padding in what loops carry than these begin with. places: loops, by their id, and what of each."""

    def __init__(self, places: Collection[tuple[int, int]]) -> None:
        super().__init__(places)
        self.places = places


class View:
    """Implements `graphc.ops.declared.padding.Padded`."""

    def __init__(
        self,
        masking: Masking,
        frame: Frame,
        node: Node,
        probe: Node,
        operands: Sequence[Axes],
        entered: Entered | None = None,
    ) -> None:
        self._masking, self._frame, self._graph, self._entered = masking, frame, frame.graph, entered
        graph = frame.graph
        self.made = node.outputs
        self.node, self.probe, self.axes = node, probe, operands
        self.types: Sequence[TensorType] = [graph.type(v) for v in node.inputs]
        self.b = Builder(graph, node.region, node.scope, node.loc, origin=Origin("padding"))

    def mask(self, index: int, over: Sequence[int], value: float | int | bool) -> None:
        type = self.types[index]
        real = self._frame.mask(self.b, type, self.axes[index], over)
        self.use(index, self.b.Select(real, self.input(index), self.b.constant(value, type.dtype)))

    def use(self, index: int, value: Value) -> None:
        inputs = list(self._graph.node(self.node.id).inputs)
        inputs[index] = value
        self._graph.set_node(self.node.id, inputs=inputs)

    def fill(self) -> None:
        """Fill the padding of all operands. Where there is nothing to copy, which may be NaN, with a number."""
        inputs = list(self._graph.node(self.node.id).inputs)
        for i, (type, axes) in enumerate(zip(self.types, self.axes, strict=True)):
            loose, parts = max(map(looseness, axes), default=0), self._masking.parts(axes)
            if loose:
                inputs[i] = self._frame.fill(self.b, inputs[i], type, axes)
            if loose > 2 and parts and type.is_float:
                some = self._frame.some(self.b, parts)
                inputs[i] = self.b.Select(some, inputs[i], self.b.constant(0.5, type.dtype))
        self._graph.set_node(self.node.id, inputs=inputs)
        self.axes = [tuple(map(tight, axes)) for axes in self.axes]

    def guard(self) -> None:
        """Put a number in place of operands that have no meaning where nothing has been counted.

        What stands there goes nowhere; but its gradients are zero times what it is, which infinity and NaN would make NaN.
        """
        masking, op = self._masking, self.node.op
        own = [masking.parts(axes) for axes in self.axes]
        every = frozenset().union(*own)
        if is_easy(op) or not every:
            return
        inputs = list(self._graph.node(self.node.id).inputs)
        for i, (type, parts) in enumerate(zip(self.types, own, strict=True)):
            if i == 0 and op.name in _PASSED_ON:
                continue
            doubtful = self.node.inputs[i] in masking.tainted or (parts and isinstance(op.lower, Scalar))
            if type.is_float and doubtful:
                some = self._frame.some(self.b, every)
                inputs[i] = self.b.Select(some, inputs[i], self.b.constant(0.5, type.dtype))
        self._graph.set_node(self.node.id, inputs=inputs)

    def count(self, axes: Sequence[Axis], dtype: str) -> Value:
        factors = [f for axis in axes for f in axis]
        made = self.b.constant(float(math.prod(f.size for f in factors if f.symbol < 0)), dtype)
        for f in factors:
            if f.symbol >= 0:
                made = self.b.Mul(made, self.b.Cast(self._frame.real(self.b, f), dtype=dtype))
        return made

    def input(self, index: int) -> Value:
        return self._graph.node(self.node.id).inputs[index]

    def real(self, axis: Axis, size: int) -> Value:
        if not is_padded(axis):
            return self.b.Fill(dtype="bool", shape=(size,), value=1)  # type: ignore[no-any-return]
        return self._frame.mask(self.b, TensorType("bool", (size,)), (axis,), [0])

    def some(self, axis: Axis) -> Value | None:
        parts = self._masking.parts((axis,))
        return self._frame.some(self.b, parts) if parts else None

    def carries(self, count: int) -> list[Axes]:
        loose = self._masking.loose
        return [
            tuple(loosened(a, 3) for a in axes) if (self.node.id, k) in loose else axes
            for k, axes in enumerate(self.axes[:count])
        ]

    def carry_loosely(self, places: Sequence[int]) -> Never:
        raise Looser({(self.node.id, k) for k in places})

    def counts(self) -> int:
        return self._masking.counted[self.node.id]

    def counts_parts(self, found: Node, parts: Sequence[Axis]) -> int:
        return self._masking.derive(self._frame, found.outputs[1], found.attrs["size"], parts)

    def capped(self, axis: Axis, most: int) -> int | None:
        return self.first_of(axis, most) if self.node.id in self._masking.made.known.capped else None

    def first_of(self, axis: Axis, most: int) -> int:
        (f,) = axis
        known = self._frame.most(f, most)
        if known is not None:
            return known
        fewer = self.b.Minimum(self._frame.real(self.b, f), self.b.constant(most, "int32"))
        symbol = self._masking.derive(self._frame, fewer, most, [axis])
        self._frame.mosts[f._replace(loose=0), most] = symbol
        return symbol

    def takes_all(self, axis: int) -> bool:
        attrs = self.probe.attrs
        end: int = attrs["begin"][axis] + attrs["size"][axis]
        return attrs["step"][axis] == 1 and end == length(self.axes[0][axis], self._masking.sizes.probe)

    def means(self, index: int, axis: Axis) -> bool:
        # As it was before it has been filled.
        frame, (id, slot) = self._frame.maker(self.node.inputs[index])
        while (maker := frame.graph.node(id)).op.name == "Cast":
            frame, (id, slot) = frame.maker(maker.inputs[0])
        among = self._masking.among.get(id)
        if among is not None and maker.op.name == "Nonzero" and slot == 2:
            among = self._masking.made.axes[id][0][0]
        return among is not None and tight(among) == tight(axis)

    def only_means(self) -> bool:
        users = [self._graph.node(id) for id in self._graph.users(self.node.id)]
        count = Value(self.node.id, 1)  # The same for whatever stands between the real elements.
        return all(n.op.name == "Gather" or {v for v in n.inputs if v.node == self.node.id} == {count} for n in users)

    def moves(self, axis: int) -> None:
        self._masking.made.moving.setdefault(self.node.id, []).append(axis)

    def need(self, symbol: int, least: int, why: str) -> None:
        if least <= self._masking.sizes.low[symbol]:
            return
        error = self.refuse(why)
        if symbol >= self._masking.given and symbol not in self._masking.counted.values():
            raise error
        counted = symbol >= self._masking.given
        if counted and self._frame.entered is not None and not self._frame.counts_itself(symbol):
            symbol = self._masking.sees(self._frame, symbol)
        self._masking.made.needs.append((self.node.id, symbol, least, error))

    def become(self, value: Value) -> None:
        self._graph.replace_node(self.node.id, [value], "padding")
        self.made = (value,)

    def hold(self, graph: Graph, real: Value) -> None:
        assert self._entered is not None
        self._entered.hold(graph, real)

    def inside(self, graph: Graph, axes: Sequence[Axes]) -> list[Axes]:
        assert self._entered is not None
        return self._masking.inside(self._entered, graph, axes)

    def refuse(self, why: str) -> PaddingError:
        return refusal(self.node, why)


def refusal(node: Node, why: str) -> PaddingError:
    return PaddingError(
        f"padding would change what %{node.id} {node.op.name} gives: {why}",
        loc=node.loc,
        details=[f"its result is {node.type}" + (f", in {node.scope}" if node.scope else "")] if node.types else (),
        nodes=[node.id],
        help=HELP,
    )
