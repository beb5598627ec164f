"""The pass that takes complex values apart, in subgraphs, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import LoweringError
from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value, inline
from graphc.ops.declared.python_call import ByReference
from graphc.passes.complex_parts.called import by_parts
from graphc.passes.complex_parts.ends import TRANSFORMS, joined
from graphc.passes.complex_parts.parts import Parts, broadcast, imaginary
from graphc.passes.complex_parts.rules import rule_of
from graphc.passes.tools import in_subgraphs, is_entry

#: Their operands are values of any number and kind, of which the parts count as well.
_TESTS = frozenset({"GetFloatStatus", "AllFinite"})
_HELP = "graphc.set_context(mode=graphc.PYNATIVE_MODE) runs Cells and gradients op by op"


def split_complex(graph: Graph) -> Graph:
    """Let two real values stand for each complex one.

    before:  %0 z: c64[3] = Input()   %1: c64[3] = Mul(%0, %0)                      %2: f32[3] = Abs(%1)
    after:   %0 z: c64[3] = Input()   %3: f32[3] = Real(%0)   %4: f32[3] = Imag(%0)  %5 = Mul(%3, %3)   ...

    What a step takes, holds and gives remains complex: memory whose parts are read where it lies, and written by `Complex`.
    Imaginary parts that are known to be zero are not computed. Raises LoweringError GC181, with the user's line, for an op that
    has no rule.
    """
    if not any(t.is_complex for node in graph.nodes() for t in node.types) and not graph.owners():
        return graph
    graph = _opened(graph)
    graph = in_subgraphs(graph, split_complex)
    todo = [id for id in graph.order() if _is_to_split(graph, graph.node(id))]
    return joined(_Splitting(graph).run(todo)) if todo else graph


def _has_complex(graph: Graph, node: Node) -> bool:
    return any(t.is_complex for t in (*node.types, *map(graph.type, node.inputs)))


def _is_to_split(graph: Graph, node: Node) -> bool:
    """Whether a node has to do with complex values and does more than to read, or to make, what the step shares with others."""
    if not _has_complex(graph, node) or node.op.name in ("Input", "Param"):
        return False
    if node.op.name == "Assign":
        return graph.node(node.inputs[1].node).op.name not in ("Complex", *TRANSFORMS)
    if node.op.name not in ("Real", "Imag", "Complex", *TRANSFORMS):
        return True
    read = all(is_entry(graph, v) for v in node.inputs if graph.type(v).is_complex)
    given = not node.types[0].is_complex or all(graph.node(u).op.name == "Assign" for u in graph.users(node.id))
    return not (read and given)


class _Splitting:
    """A graph while its complex values are taken apart."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph.copy()
        self.parts: dict[Value, Parts] = {}
        #: The nodes in the place of others.
        self.made: dict[int, int] = {}

    def run(self, todo: Sequence[int]) -> Graph:
        """Take the nodes apart, in their order."""
        for id in todo:
            node = self.graph.node(id)
            if node.op.name == "Assign":
                self._assign(node)
            else:
                self._node(node)
        results = [(name, self._whole(v)) for name, v in self.graph.results]
        self.graph.set_results(results, [(p, self._whole(v)) for p, v in self.graph.updates])
        self.graph.prune()
        return self.graph

    def builder(self, node: Node) -> Builder:
        """For what stands for a node."""
        fwd = None if node.fwd is None else self.made.get(node.fwd, node.fwd)
        origin = Origin("split_complex", node.op.name, (node.id,))
        return Builder(self.graph, node.region, node.scope, node.loc, fwd, origin)

    def of(self, value: Value) -> Parts:
        """The parts of a value. Those of what comes from outside are read there."""
        if not self.graph.type(value).is_complex:
            return Parts(value)
        if value not in self.parts:
            maker = self.graph.node(value.node)
            if maker.op.name == "Assign":
                return self.of(maker.inputs[1])
            g = self.builder(maker)
            if maker.op.name == "Complex":
                shape = maker.type.shape
                self.parts[value] = Parts(*(broadcast(g, x, shape) for x in maker.inputs))
            else:
                self.parts[value] = Parts(g.Real(value), g.Imag(value))
        return self.parts[value]

    def _node(self, node: Node) -> None:
        g = self.builder(node)
        if node.op.name in _TESTS:
            parts = [p for x in node.inputs for p in self.of(x) if p is not None]
            self._replace(node, g.node(node.op.name, *parts, attrs=node.attrs, after=node.after).outputs)
            return
        if isinstance(node.op.lower, ByReference):
            self._replace(node, by_parts(g, node, [self.of(x) for x in node.inputs]))
            return
        rule = rule_of(node)
        if rule is None or len(node.types) != 1:
            raise _no_kernel(self.graph, node)
        made = rule(g, node, *map(self.of, node.inputs))
        self.made[node.id] = made.re.node
        if not node.type.is_complex:
            self._replace(node, (made.re,))
            return
        self.parts[node.outputs[0]] = made
        self.graph.note(node.op.name, (node.id,), tuple(p.node for p in made if p is not None))
        for user in self.graph.users(node.id):
            waiting = self.graph.node(user)
            if node.id in waiting.after:
                after = [made.re.node if i == node.id else i for i in waiting.after]
                self.graph.set_node(user, after=tuple(dict.fromkeys(after)))

    def _replace(self, node: Node, values: Sequence[Value]) -> None:
        self.graph.replace_node(node.id, values, node.op.name)

    def _assign(self, node: Node) -> None:
        variable, value = node.inputs
        self.graph.set_node(node.id, inputs=[variable, self._whole(value)])

    def _whole(self, value: Value) -> Value:
        """A complex value that something outside reads, in memory."""
        if not self.graph.type(value).is_complex or is_entry(self.graph, value):
            return value
        maker = self.graph.node(value.node)
        if maker.op.name == "Assign" or (maker.op.name in ("Complex", *TRANSFORMS) and value not in self.parts):
            return value
        g, parts = self.builder(maker), self.of(value)
        made: Value = g.Complex(parts.re, imaginary(g, parts))
        return made


def _no_kernel(graph: Graph, node: Node) -> LoweringError:
    types = (*node.types, *map(graph.type, node.inputs))
    dtype = next(t.dtype for t in types if t.is_complex)
    return LoweringError(
        f"{node.op.name} has no kernel for {dtype}: it is computed by eager calls only",
        code="GC181",
        loc=node.loc,
        nodes=[node.id],
        help=_HELP if node.op.ref else None,
    )


# ---- what subgraphs take and give


def _opened(graph: Graph) -> Graph:
    """The graph whose subgraphs take and give parts of complex values, not these."""
    copy: Graph | None = None
    for node in [n for n in graph.owners() if _has_complex(graph, n)]:
        copy = copy or graph.copy()
        _open(copy, copy.node(node.id))
    if copy is not None:
        copy.prune()
    return copy or graph


def _open(graph: Graph, node: Node) -> None:
    g = Builder(graph, node.region, node.scope, node.loc, node.fwd, Origin("split_complex", "open", (node.id,)))
    inputs: list[Value] = []
    for x in node.inputs:
        inputs += [g.Real(x), g.Imag(x)] if graph.type(x).is_complex else [x]
    attrs: dict[str, Any] = {name: _parted(sub) if isinstance(sub, Graph) else sub for name, sub in node.attrs.items()}
    kinds = [graph.type(x).is_complex for x in node.inputs]
    for name, start in (("carried", 0), ("scanned", node.attrs.get("carried", 0))):
        if name in node.attrs:
            attrs[name] += sum(kinds[start : start + node.attrs[name]])
    if node.attrs.get("stacks"):
        attrs["stacks"] = _stacked(node)
    made = g.node(node.op.name, *inputs, attrs=attrs, after=node.after)
    outputs, results = iter(made.outputs), []
    for type in node.types:
        results.append(g.Complex(next(outputs), next(outputs)) if type.is_complex else next(outputs))
    graph.replace_node(node.id, results, "open")


def _stacked(node: Node) -> tuple[int, ...]:
    """Which results of the body a Scan stacks: of complex ones both parts."""
    body: Graph = node.attrs["body"]
    kinds = [body.type(r.value).is_complex for r in body.results]
    places = [k + sum(kinds[:k]) for k in range(len(kinds))]
    return tuple(place for k in node.attrs["stacks"] for place in range(places[k], places[k] + 1 + kinds[k]))


def _parted(sub: Graph) -> Graph:
    """A subgraph that takes and gives parts in the place of complex values."""
    made = Graph(sub.name, sub.ids)
    arguments = []
    for node in map(sub.node, sub.inputs):
        g = Builder(made, node.region, node.scope, node.loc)
        type = TensorType(node.type.part, node.type.shape)
        taken = [
            made.add(
                "Input", types=(type,), name=node.name, region=node.region, scope=node.scope, loc=node.loc
            ).outputs[0]
            for _ in range(1 + node.type.is_complex)
        ]
        arguments.append(g.Complex(*taken) if node.type.is_complex else taken[0])
    results: list[tuple[str, Value]] = []
    for result, value in zip(sub.results, inline(made, sub, arguments), strict=True):
        maker = made.node(value.node)
        g = Builder(made, maker.region, maker.scope, maker.loc)
        parts = [g.Real(value), g.Imag(value)] if made.type(value).is_complex else [value]
        results += [(result.name, part) for part in parts]
    made.set_results(results)
    return made.freeze()
