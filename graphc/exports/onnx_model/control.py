"""Rules of If and While, whose parts are subgraphs; and the walk over a graph that applies every rule."""

from __future__ import annotations

from graphc.errors import ExportError
from graphc.exports.onnx_model import arrays, elementwise, network, order, randomness, reductions
from graphc.exports.onnx_model.table import RULES, Rule, rule
from graphc.exports.onnx_model.writer import Body, Scope, View, Writer, types_of
from graphc.ir import Graph, Node, TensorType, Value

#: The modules that declare rules.
ROOMS = (arrays, elementwise, network, order, randomness, reductions)


def translate(w: Writer, graph: Graph, scope: Scope) -> list[str]:
    """Write all nodes of a graph, of which `scope` names the inputs; the names of its results. `scope` grows."""
    before = w.source
    for node in graph:
        if node.op.name not in ("Input", "Param"):
            w.source = node
            made = _rule_of(node)(w, View(node, types_of(graph, node)), *(scope[v] for v in node.inputs))
            scope.update(zip(node.outputs, (made,) if isinstance(made, str) else made, strict=True))
    w.source = before
    return [scope[r.value] for r in graph.results]


def _rule_of(node: Node) -> Rule:
    found = RULES.get(node.op.name)
    if found is None:
        raise ExportError(
            f"there is no ONNX for {node.op.name}",
            loc=node.loc,
            nodes=[node.id],
            details=[f"{node.op.doc}"] if node.op.doc else [],
            help="docs/exporting.md lists the ops that can be exported",
        )
    return found


def _inner(graph: Graph, names: tuple[str, ...]) -> Scope:
    return {Value(id): name for id, name in zip(graph.inputs, names, strict=True)}


@rule("If")
def _if(w: Writer, n: View, condition: str, *captures: str) -> tuple[str, ...]:
    """Branches see the captures by their names outside; a result is made inside, so that it is the branch's."""
    branches = {f"{name}_branch": _branch(w, sub, captures) for name, sub in n.node.graphs()}
    if not n.node.types:
        return ()
    return tuple(w.nodes("If", [condition], len(n.node.types), **branches))


def _branch(w: Writer, graph: Graph, captures: tuple[str, ...]) -> Body:
    inner = w.subgraph(graph.name)
    _give(inner, [graph.type(r.value) for r in graph.results], translate(inner, graph, _inner(graph, captures)))
    return inner.body


def _give(w: Writer, types: list[TensorType], values: list[str]) -> None:
    for type, value in zip(types, values, strict=True):
        w.body.outputs.append((w("Identity", value), type))


@rule("While")
def _while(w: Writer, n: View, *operands: str) -> tuple[str, ...]:
    """A Loop tests its condition at the end of a turn: for the first turn it is computed outside."""
    count, cond, body = n["carried"], n["cond"], n["body"]
    captures, flag = operands[count:], TensorType("bool", ())
    (first,) = translate(w, cond, _inner(cond, operands))
    inner = w.subgraph(body.name)
    inner.body.inputs = [(inner.name(f"{body.name}_turn"), TensorType("int64", ())), (inner.name("go_on"), flag)]
    types = list(n.types[:count])
    carried = tuple(inner.name(f"{body.name}_{k}") for k in range(count))
    inner.body.inputs += list(zip(carried, types, strict=True))
    made = tuple(translate(inner, body, _inner(body, (*carried, *captures))))
    more = translate(inner, cond, _inner(cond, (*made, *captures)))
    _give(inner, [flag, *types], [*more, *made])
    return tuple(w.nodes("Loop", ["", first, *operands[:count]], count, body=inner.body))
