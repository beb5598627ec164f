"""The first bad value of a step: goes through a graph node by node, in its own dtypes, and follows what is not finite from
where it does harm back to where it came from.

A value is bad when it holds an infinity or NaN. An infinity that a constant, an input or a parameter that is not trained brings
in, such as a mask's, is meant until it makes a NaN; so is what only passes it on. The origin of a bad value is the first node, in
the order of the graph, that leads to it and has a bad result without a bad operand (or a NaN from infinities that were meant).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graphc.ir import Graph, Node, TensorType, Value, walk
from graphc.ir.types import Array
from graphc.ops.declared.reference import apply, evaluation_dtype, last_uses

#: Ops that ask whether values are finite: what they see is known to the program.
CHECKS = ("GetFloatStatus", "AllFinite", "IsFinite", "IsNan", "IsInf")
#: Ops whose infinities are the program's own.
_WRITTEN = ("Constant", "Fill")
#: Of so many origins the ranges are kept; the first is shown.
_RANGES = 64
#: Regions in which values above a bound are looked for: a loss scale is large on purpose.
_BOUNDED = ("forward", "backward")


class Range(NamedTuple):
    """The smallest and the largest finite element of an array, None if there is none; how many are infinite, how many NaN."""

    type: TensorType
    low: float | None
    high: float | None
    infinities: int
    nans: int

    @classmethod
    def of(cls, array: Array) -> Range:
        wide = np.asarray(array, np.float64 if array.dtype.kind not in "fc" else None)
        wide = np.abs(wide) if wide.dtype.kind == "c" else wide
        held = np.isfinite(wide)
        finite = wide if held.all() else wide[held]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
        nans = 0 if finite is wide else int(np.isnan(wide).sum())
        return cls(TensorType.of(array), low, high, wide.size - finite.size - nans, nans)

    def __str__(self) -> str:
        if self.type.size == 1 and self.low is not None:
            return f"{self.type} {self.low:.6g}"
        held = [] if self.low is None else [f"{self.low:.4g} .. {self.high:.4g}"]
        held += [f"{n} {what}" for n, what in ((self.infinities, "inf"), (self.nans, "NaN")) if n]
        return f"{self.type} {', '.join(held) or 'empty'}"

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "type": str(self.type)}


class Place(NamedTuple):
    """Where in loops and branches a node has run: (the If, While or Scan, "then", "else", "cond" or "body", turn from 1)."""

    node: int
    part: str
    turn: int

    def __str__(self) -> str:
        return f"%{self.node} {self.part}" + (f", turn {self.turn}" if self.part in ("cond", "body") else "")


@dataclass(frozen=True)
class Found:
    """A node with a result that is out of range although its operands are not.

    places: the branches and turns of loops it ran in, outermost first. operands, results: what they are called, and their
    ranges. through: the nodes that pass the value on, up to where it does harm.
    """

    node: Node
    places: tuple[Place, ...]
    operands: tuple[tuple[str, Range], ...]
    results: tuple[tuple[str, Range], ...]
    through: tuple[Node, ...] = ()

    @property
    def is_nan(self) -> bool:
        return any(r.nans for _, r in self.results)


class Root(NamedTuple):
    """Where a bad value does harm: kind "result", "parameter" or "check", its name, and whether it was meant."""

    kind: str
    name: str
    meant: bool
    event: int


@dataclass(frozen=True)
class Search:
    """What a run has shown. first: the origin of what its roots hold; above: the first value above the bound."""

    first: Found | None
    above: Found | None
    roots: tuple[Root, ...]


class _Event(NamedTuple):
    """A node, or an input, with a bad result. sources: events of its bad operands."""

    node: Node
    places: tuple[Place, ...]
    sources: tuple[int, ...]
    meant: bool
    found: Found | None
    origin: bool


class _Held(NamedTuple):
    """A value while the graph runs. event: the one it is bad by, or None. above: whether it is above the bound."""

    array: Array
    event: int | None
    above: bool


def search(
    graph: Graph,
    given: Mapping[int, Array],
    bound: float | None = None,
    made: Mapping[Value, Array] = MappingProxyType({}),
) -> Search:
    """Run a graph on the arrays of its Input and Param nodes, by id, which are left as they are.

    bound: also look for the first float of the forward or backward region whose magnitude is above it. made: values of the
    outer graph that are known already; the others are computed in NumPy.
    Raises LoweringError for an op without a NumPy reference.
    """
    run = _Run(graph, bound, made)
    held = {Value(id): run.source(graph.node(id), given[id]) for id in graph.inputs}
    values = run.graph(graph, held, ())
    roots = [run.root("result", r.name or str(r.value), v) for r, v in zip(graph.results, values, strict=True)]
    roots += [run.root("parameter", graph.node(u.param).name, held[u.value]) for u in graph.updates]
    return run.outcome([r for r in (*roots, *run.checks) if r is not None])


class _Run:
    def __init__(self, graph: Graph, bound: float | None, made: Mapping[Value, Array]) -> None:
        self.bound = bound
        self._made = made
        self._graph = graph  # The one that is running.
        self.events: list[_Event] = []
        self.checks: list[Root] = []
        self.above: Found | None = None
        self.origins = 0

    # ---- running

    def source(self, node: Node, array: Array) -> _Held:
        """An input or a parameter. NaN is never meant, nor is an infinity in what is trained."""
        made = np.asarray(array).astype(evaluation_dtype(node.type, False), copy=False).reshape(node.type.shape)
        if not node.type.is_float:
            return _Held(made, None, False)
        worst = _worst(made)
        event = None
        if not np.isfinite(worst):
            meant = not (node.op.name == "Param" and node.attrs["trainable"]) and not np.isnan(worst)
            event = self._event(node, (), (), meant, not meant, [], [made])
        # A loss scale is large on purpose: what is made of it is looked at.
        return _Held(made, event, made.size > 1 and self._is_above(worst))

    def graph(self, graph: Graph, held: dict[Value, _Held], places: tuple[Place, ...]) -> list[_Held]:
        """The results of a graph or subgraph, whose inputs are in `held`."""
        uses = last_uses(graph)
        for node in graph:
            if node.op.name in ("Input", "Param"):
                continue
            operands = [held[v] for v in node.inputs]
            self._graph = graph
            held |= dict(zip(node.outputs, self._node(node, operands, places), strict=True))
            for value in uses.get(node.id, ()):
                del held[value]
        return [held[r.value] for r in graph.results]

    def _node(self, node: Node, operands: list[_Held], places: tuple[Place, ...]) -> list[_Held]:
        known = [] if places else [self._made[v] for v in node.outputs if v in self._made]
        if node.graphs() and not self._is_told(node, operands, known):
            return self._holder(node, operands, known, places)
        arrays = known or apply(node.op, node.types, [o.array for o in operands], node.attrs, False)
        sources = tuple(dict.fromkeys(o.event for o in operands if o.event is not None))
        if sources and node.op.name in CHECKS:
            meant = all(self.events[s].meant for s in sources)
            self.checks += [Root("check", f"%{node.id} {node.op.name}", meant, s) for s in sources]
        worst = [_worst(a) if t.is_float else 0.0 for a, t in zip(arrays, node.types, strict=True)]
        event = None
        if not np.isfinite(worst).all():
            event = self._bad(node, operands, arrays, sources, places, any(map(np.isnan, worst)))
        bounded = node.region in _BOUNDED or any(o.above for o in operands)
        above = [bounded and self._is_above(w) for w in worst]
        if self.above is None and any(above) and node.op.name not in _WRITTEN and not any(o.above for o in operands):
            self.above = self._found(node, places, operands, arrays)
        return [_Held(a, None if np.isfinite(w) else event, k) for a, w, k in zip(arrays, worst, above, strict=True)]

    def _is_told(self, node: Node, operands: Sequence[_Held], known: Sequence[Array]) -> bool:
        """Whether what is in a branch or loop need not be looked at, as its results are known: nothing bad comes of it; or
        something bad goes into a loop.
        """
        if not known:
            return False
        if node.op.name != "If" and any(o.event is not None and not self.events[o.event].meant for o in operands):
            return True
        inside = [n for _, sub in node.graphs() for _, n in walk(sub)]
        looked_at = any(n.op.name in CHECKS or (self.bound is not None and n.region in _BOUNDED) for n in inside)
        quiet = not looked_at and not any(o.event is not None or o.above for o in operands)
        return quiet and not any(_is_bad(a) for a, t in zip(known, node.types, strict=True) if t.is_float)

    def _holder(
        self, node: Node, operands: list[_Held], known: Sequence[Array], places: tuple[Place, ...]
    ) -> list[_Held]:
        if node.op.name == "While":
            return self._loop(node, operands, known, places)
        if node.op.name == "Scan":
            return self._scan(node, operands, known, places)
        part = "then" if operands[0].array else "else"
        return self._part(node, part, operands[1:], (*places, Place(node.id, part, 1)))

    def _part(self, node: Node, part: str, given: Sequence[_Held], places: tuple[Place, ...]) -> list[_Held]:
        graph: Graph = node.attrs[part]
        return self.graph(graph, {Value(i): v for i, v in zip(graph.inputs, given, strict=True)}, places)

    def _loop(
        self, node: Node, operands: list[_Held], known: Sequence[Array], places: tuple[Place, ...]
    ) -> list[_Held]:
        count, turn, begin = node.attrs["carried"], 1, len(self.events)
        carried, captures = operands[:count], operands[count:]
        while self._part(node, "cond", [*carried, *captures], (*places, Place(node.id, "cond", turn)))[0].array:
            carried = self._part(node, "body", [*carried, *captures], (*places, Place(node.id, "body", turn)))
            if (found := self._since(begin, known)) is not None:
                return self._ended(node, operands, known, places, found)
            turn += 1
        return carried

    def _scan(
        self, node: Node, operands: list[_Held], known: Sequence[Array], places: tuple[Place, ...]
    ) -> list[_Held]:
        c, s, length, reverse = (node.attrs[name] for name in ("carried", "scanned", "length", "reverse"))
        carried, scanned, captures = operands[:c], operands[c : c + s], operands[c + s :]
        stacks: list[list[_Held]] = [[carried[k]] if k < c else [] for k in node.attrs["stacks"]]
        begin = len(self.events)
        for turn, at in enumerate(reversed(range(length)) if reverse else range(length), 1):
            taken = [*carried, *(_Held(x.array[at], x.event, x.above) for x in scanned), *captures]
            made = self._part(node, "body", taken, (*places, Place(node.id, "body", turn)))
            if (found := self._since(begin, known)) is not None:
                return self._ended(node, operands, known, places, found)
            carried = made[:c]
            for k, stack in zip(node.attrs["stacks"], stacks, strict=True):
                stack.append(made[k])
        return [*carried, *(_stacked(s, t, reverse) for s, t in zip(stacks, node.types[c:], strict=True))]

    def _since(self, begin: int, known: Sequence[Array]) -> int | None:
        """The first origin among the events from `begin` on, if the turns that follow need not be made for the results."""
        return next((k for k in range(begin, len(self.events)) if self.events[k].origin), None) if known else None

    def _ended(
        self, node: Node, operands: list[_Held], known: Sequence[Array], places: tuple[Place, ...], found: int
    ) -> list[_Held]:
        """The results of a loop in which something bad has begun."""
        event = self._event(node, places, (found,), False, False, operands, known)
        bad = [t.is_float and _is_bad(a) for a, t in zip(known, node.types, strict=True)]
        return [_Held(a, event if is_bad else None, False) for a, is_bad in zip(known, bad, strict=True)]

    # ---- what was bad

    def _bad(
        self, node: Node, operands: list[_Held], arrays: list[Array], sources: tuple[int, ...],
        places: tuple[Place, ...], nan: bool,
    ) -> int:  # fmt: skip
        innocent = all(self.events[s].meant for s in sources)
        meant = not nan and innocent and (bool(sources) or node.op.name in _WRITTEN)
        return self._event(node, places, sources, meant, innocent and not meant, operands, arrays)

    def _event(
        self, node: Node, places: tuple[Place, ...], sources: tuple[int, ...], meant: bool, origin: bool,
        operands: Sequence[_Held], arrays: Sequence[Array],
    ) -> int:  # fmt: skip
        found = None
        if origin and self.origins < _RANGES:
            self.origins += 1
            found = self._found(node, places, operands, arrays)
        self.events.append(_Event(node, places, sources, meant, found, origin))
        return len(self.events) - 1

    def _found(
        self, node: Node, places: tuple[Place, ...], operands: Sequence[_Held], arrays: Sequence[Array]
    ) -> Found:
        producers = (self._graph.node(v.node) for v in node.inputs)
        labels = [f"{v} {p.name or p.op.name}" for v, p in zip(node.inputs, producers, strict=True)]
        return Found(
            node,
            places,
            tuple((label, Range.of(o.array)) for label, o in zip(labels, operands, strict=False)),
            tuple((str(v), Range.of(a)) for v, a in zip(node.outputs, arrays, strict=True)),
        )

    def _is_above(self, worst: float) -> bool:
        return self.bound is not None and worst > self.bound

    def root(self, kind: str, name: str, value: _Held) -> Root | None:
        return None if value.event is None else Root(kind, name, self.events[value.event].meant, value.event)

    def outcome(self, roots: list[Root]) -> Search:
        """The earliest origin of what does harm, with the way from there."""
        before: dict[int, int] = {}  # Each event that leads to a root, and the next one on the way there.
        stack = [r.event for r in roots if not r.meant]
        before.update(dict.fromkeys(stack, -1))
        while stack:
            event = stack.pop(0)
            for source in self.events[event].sources:
                if source not in before and not self.events[source].meant:
                    before[source] = event
                    stack.append(source)
        origins = [e for e in before if self.events[e].origin]
        if not origins:
            return Search(None, self.above, tuple(roots))
        first = min(origins)
        found = self.events[first].found
        way = tuple(self.events[e].node for e in self._way(before, first))
        whole = None if found is None else Found(found.node, found.places, found.operands, found.results, way)
        return Search(whole, self.above, tuple(roots))

    def _way(self, before: Mapping[int, int], event: int) -> Iterator[int]:
        while (event := before[event]) >= 0:
            yield event


def _stacked(turns: Sequence[_Held], type: TensorType, reverse: bool) -> _Held:
    """What a Scan has made turn by turn as one array, which is bad by the first that is."""
    array = np.empty(type.shape, evaluation_dtype(type, False))
    for at, held in enumerate(reversed(turns) if reverse else turns):
        array[at] = held.array
    return _Held(array, next((t.event for t in turns if t.event is not None), None), any(t.above for t in turns))


def _is_bad(array: Array) -> bool:
    return not np.isfinite(_worst(array))


def _worst(array: Array) -> float:
    """The largest magnitude; NaN if there is one."""
    if not array.size:
        return 0.0
    wide = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    return float(np.maximum(wide.max(), -wide.min()))
