"""The verifier. It knows no ops: it re-runs each op's own type rule and check, and reports every problem at once."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from graphc.errors import GraphcError, VerifyError
from graphc.ir.graph import Graph, Node, walk
from graphc.ir.text import node_text


def verify(graph: Graph, *, ordered_writes: bool = False) -> None:
    """Raise VerifyError listing everything that is wrong with a graph and its subgraphs.

    Checked: edges equal operands and order predecessors; no cycle; operands, results and updates exist; subgraphs are
    frozen and their signature fits; every type is what the op's rule says; every op's own check. With `ordered_writes` also:
    every reader of a parameter's old value runs before the node that writes it.
    """
    problems: list[tuple[Node | None, str]] = []
    seen: set[int] = set()
    graphs: dict[int, Graph] = {id(graph): graph}
    if not nx.is_directed_acyclic_graph(graph.nx):
        cycle = " -> ".join(f"%{u}" for u, _ in nx.find_cycle(graph.nx))
        raise VerifyError(f"graph @{graph.name} has a cycle: {cycle}")
    for owner, node in walk(graph):
        graphs[id(owner)] = owner
        for problem in _node_problems(owner, node):
            problems.append((node, problem))
        if node.id in seen:
            problems.append((node, "its id is used twice in the program"))
        seen.add(node.id)
        for name, sub in node.graphs():
            if not sub.frozen:
                problems.append((node, f"its subgraph {name} is not frozen"))
            graphs[id(sub)] = sub
    for owner in graphs.values():
        problems += ((None, p) for p in _signature_problems(owner))
        if ordered_writes:
            problems += ((n, p) for n, p in _write_problems(owner))
    if problems:
        raise _error(graph, problems)


def _error(graph: Graph, problems: list[tuple[Node | None, str]]) -> VerifyError:
    details = []
    for node, message in problems[:8]:
        details.append(f"%{node.id} {node.op.name}: {message}" if node else message)
        if node is not None:
            details.append(f"    {node_text(node)[:160]}")
    if len(problems) > 8:
        details.append(f"... and {len(problems) - 8} more")
    first = next((n for n, _ in problems if n is not None), None)
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return VerifyError(
        f"graph @{graph.name} is not valid: {count}",
        loc=first.loc if first else None,
        details=details,
        nodes=[n.id for n, _ in problems if n is not None],
    )


def _node_problems(graph: Graph, node: Node) -> Iterator[str]:
    stored = {p: d["kind"] for p, d in graph.nx.pred[node.id].items()}
    if stored != node.predecessors():
        yield "its edges differ from its operands"
    dangling = [v for v in node.inputs if v.node not in graph or v.slot >= len(graph.node(v.node).types)]
    if dangling:
        yield f"operand {dangling[0]} does not exist"
        return
    if node.op.infer is not None:
        try:
            node.op.check_arity(len(node.inputs))
            types = tuple(node.op.infer([graph.type(v) for v in node.inputs], node.attrs))
        except GraphcError as error:
            yield error.message
            return
        if types != node.types:
            yield f"its types are {', '.join(map(str, node.types))}, the type rule says {', '.join(map(str, types))}"
    if node.attrs.keys() != node.op.attrs.keys():
        yield f"its attributes are {sorted(node.attrs)}, declared are {sorted(node.op.attrs)}"
    if node.op.check is not None:
        yield from node.op.check(graph, node)


def _signature_problems(graph: Graph) -> Iterator[str]:
    declared = {n.id for n in graph if n.op.name in ("Input", "Param")}
    if set(graph.inputs) != declared or len(graph.inputs) != len(declared):
        yield f"graph @{graph.name}: the signature differs from its Input and Param nodes"
    for name, value in graph.results:
        if value.node not in graph or value.slot >= len(graph.node(value.node).types):
            yield f"graph @{graph.name}: result {name} is {value}, which does not exist"
    written: set[int] = set()
    for param, value in graph.updates:
        if param not in graph or graph.node(param).op.name != "Param":
            yield f"graph @{graph.name}: update of %{param}, which is no Param"
        elif value.node not in graph:
            yield f"graph @{graph.name}: update of %{param} to {value}, which does not exist"
        elif graph.type(value) != graph.node(param).type:
            yield f"graph @{graph.name}: update of %{param} to {value} changes its type"
        elif param in written:
            yield f"graph @{graph.name}: %{param} is updated twice"
        written.add(param)


def _write_problems(graph: Graph) -> Iterator[tuple[Node, str]]:
    """Readers of a parameter's entry value that are not ordered before its writer."""
    for param, value in graph.updates:
        writer = graph.node(value.node)
        if writer.id == param:
            continue
        before = nx.ancestors(graph.nx, writer.id)
        for reader in graph.users(param):
            if reader != writer.id and reader not in before and graph.nx.edges[param, reader]["kind"] == "data":
                yield writer, f"it writes parameter %{param} but is not ordered after its reader %{reader}"
