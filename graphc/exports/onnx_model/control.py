"""Rules of If, While and Scan, whose parts are subgraphs; and the walk over a graph that applies every rule."""

from __future__ import annotations

import numpy as np

from graphc.errors import ExportError
from graphc.exports.onnx_model import (
    arrays,
    cumulative,
    elementwise,
    fourier,
    lu,
    network,
    order,
    randomness,
    reductions,
    triangular,
)
from graphc.exports.onnx_model.table import RULES, Rule, rule
from graphc.exports.onnx_model.writer import Body, Scope, View, Writer, types_of
from graphc.ir import Graph, Node, TensorType, Value

#: The modules that declare rules.
ROOMS = (arrays, cumulative, elementwise, fourier, lu, network, order, randomness, reductions, triangular)


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


@rule("Scan")
def _scan(w: Writer, n: View, *operands: str) -> tuple[str, ...]:
    """ONNX's Scan goes over at least one operand, and stacks what turns make; what was there before them is put beside."""
    count, scanned, turns, reverse = n["carried"], n["scanned"], n["length"], n["reverse"]
    if not turns:
        raise n.refuse("a loop of no turns")
    body, stacks = n["body"], n["stacks"]
    begin, rows, captures = operands[:count], operands[count : count + scanned], operands[count + scanned :]
    inner = w.subgraph(body.name)
    names = tuple(inner.name(f"{body.name}_{k}") for k in range(count + scanned))
    types = [body.type(Value(id)) for id in body.inputs[: count + scanned]]
    inner.body.inputs = list(zip(names, types, strict=True))
    if not scanned:
        rows = (w.array(np.zeros(turns, np.int64)),)
        inner.body.inputs.append((inner.name(f"{body.name}_turn"), TensorType("int64", ())))
    made = translate(inner, body, _inner(body, (*names, *captures)))
    given = [body.type(r.value) for r in body.results]
    wanted = [*range(count), *stacks]
    _give(inner, [given[k] for k in wanted], [made[k] for k in wanted])
    sides = {
        "scan_input_directions": [int(reverse)] * len(rows),
        "scan_output_directions": [int(reverse)] * len(stacks),
    }
    sides = {name: value for name, value in sides.items() if value}
    results = [*w.nodes("Scan", [*begin, *rows], len(wanted), body=inner.body, num_scan_inputs=len(rows), **sides)]
    for place, k in enumerate(stacks, count):
        if k < count:
            before = w("Unsqueeze", begin[k], w.ints(0))
            pair = (results[place], before) if reverse else (before, results[place])
            results[place] = w("Concat", *pair, axis=0)
    return tuple(results)
