"""Reductions of gradients of which each process needs its own part alone, because it makes only that part's updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphc.ir import Builder, Graph, Node, Origin, Value
from graphc.ir.op import Scalar

#: Of zeros they make zeros, so that what lies behind the end of a tensor adds nothing to a sum of its parts.
_KEEP_ZEROS = frozenset({"Mul", "Cast", "Square", "Abs", "Neg", "Sqrt", "Depend"})
#: Tests of tensors, by the reduction that makes one of all processes' of them.
_TESTS = {"GetFloatStatus": "max", "AllFinite": "min"}
_FLOATS = ("float32", "float64")


def scatter_reductions(graph: Graph) -> Graph:
    """Let an AllReduce give each process its part where nothing else is used of it.

    before:  %3 = AllReduce(%1)   %4 = Mul(%3, %2)   %5 = TakePart(%4)   %6 = GetFloatStatus(%0, %4)
    after:   %7 = SumPart(%1)     %8 = Mul(%7, %2)   %9 = GetFloatStatus(%0, %8)   %6 = AllReduce(%9) {reduction="max"}

    What is computed element by element from it is computed from the parts, in branches, too. Sums over all elements (of a
    global norm), and tests for infinities and NaNs, are made of parts and reduced. Where anything else uses such a value, whole
    gradients are reduced, and parts taken of them.
    """
    if "TakePart" not in graph.ops():
        return graph
    found = _Cuttable(graph)
    return _Cutting(found.sums, found.terms).cut(graph) if found.sums else graph


class _Cuttable:
    """Which AllReduces of a graph, `sums`, need only give parts: their terms, group and size, by id."""

    def __init__(self, graph: Graph) -> None:
        self.terms = _terms(graph)
        self._known: dict[tuple[int, Value], tuple[bool, bool]] = {}
        self.sums = frozenset(
            n.id for n in graph if self.terms and _is_sum(n, self.terms) and all(self._uses(graph, n.outputs[0], True))
        )

    def _uses(self, graph: Graph, value: Value, zeros: bool) -> tuple[bool, bool]:
        """(whether every use of a value can do with parts, whether there is one that takes them).

        zeros: whether behind the value's end there are zeros.
        """
        if any(r.value == value for r in graph.results) or any(u.value == value for u in graph.updates):
            return False, False
        can, takes = True, False
        for user in graph.users(value.node):
            node = graph.node(user)
            if value in node.inputs:
                one, other = self._use(graph, node, value, zeros)
                can, takes = can and one, takes or other
        return can, takes

    def _use(self, graph: Graph, node: Node, value: Value, zeros: bool) -> tuple[bool, bool]:
        if node.op.name == "TakePart":
            return node.attrs == self.terms, True
        if node.op.name in _TESTS or _is_total(graph, node):
            return zeros or graph.type(value).size % self.terms["size"] == 0, False
        if _by_element(graph, node, value):
            return self._uses(graph, node.outputs[0], zeros and node.op.name in _KEEP_ZEROS)
        if node.op.name == "If" and node.inputs[0] != value:
            places = [k for k, v in enumerate(node.inputs[1:]) if v == value]
            ways = [self._uses(sub, Value(sub.inputs[k]), zeros) for _, sub in node.graphs() for k in places]
            return all(can for can, _ in ways), any(takes for _, takes in ways)
        return False, False


class _Cutting:
    """Puts parts in the place of whole tensors: of `sums` and of what is made of them."""

    def __init__(self, sums: Iterable[int], terms: Mapping[str, Any]) -> None:
        self._sums = set(sums)
        self._terms = dict(terms)

    def cut(self, graph: Graph) -> Graph:
        graph = graph.copy()
        whole = {graph.node(id).outputs[0] for id in self._sums}
        self._rewrite(graph, whole, {})
        return graph

    def _rewrite(self, graph: Graph, whole: set[Value], parts: dict[Value, Value]) -> None:
        """Make every use of the values `whole`, and of what is computed from them element by element, one of their parts."""
        gone: list[int] = sorted({v.node for v in whole if graph.node(v.node).op.name != "Input"})
        for id in graph.order():
            node = graph.node(id)
            own = [v for v in node.inputs if v in whole]
            if not own:
                continue
            if node.op.name == "TakePart":
                graph.replace_node(id, [self._part(graph, own[0], whole, parts)])
                gone.append(id)
            elif node.op.name in (*_TESTS, "ReduceSum"):
                self._reduced(graph, node, whole, parts)
            elif node.op.name == "If":
                self._branches(graph, node, whole, parts)
            else:
                whole.add(node.outputs[0])
                gone.append(id)
        for id in filter(graph.__contains__, gone):
            _wait_for(graph, id, parts)
        graph.drop(gone)

    def _part(self, graph: Graph, value: Value, whole: set[Value], parts: dict[Value, Value]) -> Value:
        """This process's part of a value: of a sum, of what is made of it, or of what all have whole."""
        if value not in parts:
            node = graph.node(value.node)
            g = _builder(graph, node)
            if node.id in self._sums and value in whole:
                parts[value] = g.SumPart(node.inputs[0], **self._terms, wire=node.attrs["wire"])
            elif value in whole or any(_by_element(graph, node, v) for v in node.inputs):
                parts[value] = self._made(graph, node, whole, parts)
            else:
                parts[value] = g.TakePart(value, **self._terms)
        return parts[value]

    def _made(self, graph: Graph, node: Node, whole: set[Value], parts: dict[Value, Value]) -> Value:
        """What is computed element by element, of the parts of the operands."""
        g, operands = _builder(graph, node), []
        for v in node.inputs:
            type = graph.type(v)
            if v in whole or type.shape == node.type.shape:
                operands.append(self._part(graph, v, whole, parts))
            else:
                operands.append(g.Reshape(v, shape=()) if type.rank else v)
        made = g.node(node.op.name, *operands, attrs=dict(node.attrs), after=node.after)
        return made.outputs[0]

    def _reduced(self, graph: Graph, node: Node, whole: set[Value], parts: dict[Value, Value]) -> None:
        """A test or a sum of parts, of all processes'."""
        g = _builder(graph, node)
        given = [self._part(graph, v, whole, parts) if v in whole else v for v in node.inputs]
        if node.op.name in _TESTS:
            own = g.node(node.op.name, *given, attrs=dict(node.attrs), after=node.after).outputs[0]
            found = g.AllReduce(g.Cast(own, dtype="int32"), reduction=_TESTS[node.op.name], **self._terms)
            made = g.Cast(found, dtype="bool")
        else:
            own = g.ReduceSum(*given, **{**node.attrs, "axis": (0,), "keep_dims": False})
            made = g.Reshape(g.AllReduce(own, reduction="sum", **self._terms), shape=node.type.shape)
        graph.replace_node(node.id, [made])
        graph.drop([node.id])

    def _branches(self, graph: Graph, node: Node, whole: set[Value], parts: dict[Value, Value]) -> None:
        """An If whose branches get parts."""
        places = [k for k, v in enumerate(node.inputs[1:]) if v in whole]
        inputs = [self._part(graph, v, whole, parts) if v in whole else v for v in node.inputs]
        made = {}
        for name, sub in node.graphs():
            branch = sub.copy()
            for k in places:
                branch.set_node(branch.inputs[k], types=(graph.type(inputs[k + 1]),))
            held = {Value(branch.inputs[k]) for k in places}
            self._rewrite(branch, held, {v: v for v in held})
            made[name] = branch.freeze()
        graph.set_node(node.id, inputs=inputs, attrs={**node.attrs, **made})


def _wait_for(graph: Graph, id: int, parts: Mapping[Value, Value]) -> None:
    """Let what runs after a node that goes run after what its part is made by."""
    part = parts.get(Value(id))
    for user in graph.users(id):
        after = graph.node(user).after
        if id in after:
            kept = [part.node if part and p == id else p for p in after if part or p != id]
            graph.set_node(user, after=[p for p in kept if p != user])


def _builder(graph: Graph, node: Node) -> Builder:
    origin = Origin("scatter_reductions", "part", (node.id,))
    return Builder(graph, scope=node.scope, loc=node.loc, region=node.region, fwd=node.fwd, origin=origin)


def _terms(graph: Graph) -> dict[str, Any]:
    """Group and size of the parts that are taken in a graph and its branches; empty if there are none."""
    for node in graph.nodes():
        if node.op.name == "TakePart" and node.attrs["size"] > 1:
            return dict(node.attrs)
        for _, sub in node.graphs():
            if terms := _terms(sub):
                return terms
    return {}


def _is_sum(node: Node, terms: Mapping[str, Any]) -> bool:
    if node.op.name != "AllReduce" or node.type.dtype not in _FLOATS:
        return False
    return node.attrs == {"reduction": "sum", "wire": node.attrs["wire"], "whole": False, **terms}


def _is_total(graph: Graph, node: Node) -> bool:
    """Whether a node adds up all elements of its operand."""
    if node.op.name != "ReduceSum":
        return False
    axis = node.attrs["axis"]
    rank = graph.type(node.inputs[0]).rank
    return node.type.dtype in _FLOATS and (axis is None or len(axis) == rank) and rank > 0


def _by_element(graph: Graph, node: Node, value: Value) -> bool:
    """Whether a node computes every element from the same one of `value`, of its like, and of numbers."""
    if node.op.name not in ("Depend", "Cast") and (not isinstance(node.lower, Scalar) or node.attrs):
        return False
    shape = graph.type(value).shape
    if len(node.types) != 1 or node.type.shape != shape:
        return False
    return all(t.shape == shape or t.size == 1 for t in map(graph.type, node.inputs))
