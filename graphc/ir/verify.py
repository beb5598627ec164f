"""The verifier. It knows no ops: it re-runs each op's own type rule and check, and reports every problem at once."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from graphc.errors import GraphcError, VerifyError
from graphc.ir.graph import Graph, Node, Value
from graphc.ir.text import node_text
from graphc.ir.types import TensorType

Problem = tuple[Node | None, str | GraphcError]

#: Records that agreed with their op's declaration, by id, with the types their operands had. See `verify`.
Proven = dict[int, tuple[Node, list[TensorType]]]


def verify(graph: Graph, *, ordered_writes: bool = False, proven: Proven | None = None) -> None:
    """Raise VerifyError listing everything that is wrong with a graph and its subgraphs.

    Where all that is wrong is a user's doing, such as an overflow check out of order, the error is the one made for users.

    Checked: networkx holds the nodes' records and nothing else; edges equal operands and order predecessors; no cycle;
    operands, results and updates exist; subgraphs are frozen and their signature fits; every type is what the op's rule
    says; every op's own check; ids are used once. With `ordered_writes` also: every reader of a parameter's old value
    runs before the node that writes it.

    Records are immutable, and a type rule sees nothing but the record and its operands' types. So for graphs verified one
    after the other, as between passes, `proven` remembers what has agreed, and the rules run only for what is new. All else
    is checked anew.
    """
    proven = {} if proven is None else proven
    problems: list[Problem] = []
    seen: set[int] = set()
    graphs = [graph]
    for owner in graphs:  # Grows by the subgraphs found.
        stored = list(_storage_problems(owner))
        problems += stored
        if stored:
            continue  # Nothing else can be read.
        problems += _graph_problems(owner, ordered_writes, proven)
        twice = sorted(seen.intersection(owner.nx))
        problems += ((owner.node(id), "its id is used twice in the program") for id in twice)
        seen.update(owner.nx)
        for node in sorted(owner.owners(), key=lambda node: node.id):
            for name, sub in node.graphs():
                if not sub.frozen:
                    problems.append((node, f"its subgraph {name} is not frozen"))
                graphs.append(sub)
    if problems:
        raise _error(graph, problems)


def _error(graph: Graph, problems: list[Problem]) -> VerifyError:
    users = [p for _, p in problems if isinstance(p, GraphcError)]
    if len(users) == len(problems):
        # The graph is as its user wrote it: no bug of a pass.
        e = users[0]
        nodes = [n.id for n, _ in problems if n is not None]
        return VerifyError(e.message, code=e.code, loc=e.loc, details=e.details, help=e.help, nodes=nodes)
    details = []
    for node, problem in problems[:8]:
        message = problem.message if isinstance(problem, GraphcError) else problem
        details.append(f"%{node.id} {node.op.name}: {message}" if node else message)
        if node is not None:
            details.append(f"    {node_text(node)[:160]}")
    if len(problems) > 8:
        details.append(f"... and {len(problems) - 8} more")
    located = next((n for n, _ in problems if n is not None), None)
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return VerifyError(
        f"graph @{graph.name} is not valid: {count}",
        loc=located.loc if located else None,
        details=details,
        nodes=[n.id for n, _ in problems if n is not None],
    )


def _storage_problems(graph: Graph) -> Iterator[Problem]:
    for id, data in graph.nx.nodes(data=True):
        record = data.get("node")
        if data.keys() != {"node"} or not isinstance(record, Node) or record.id != id:
            yield None, f"graph @{graph.name}: networkx node {id} does not hold the record of %{id} and that alone"


def _graph_problems(graph: Graph, ordered_writes: bool, proven: Proven) -> Iterator[Problem]:
    # Where every edge goes forward in the graph's order there is no cycle.
    acyclic = _is_ordered(graph) or nx.is_directed_acyclic_graph(graph.nx)
    if not acyclic:
        cycle = " -> ".join(f"%{u}" for u, _ in nx.find_cycle(graph.nx))
        yield None, f"graph @{graph.name} has a cycle: {cycle}"
    edges = _edges(graph)
    for id in sorted(graph.nx):
        node = graph.node(id)
        problems: list[str | GraphcError] = list(_node_problems(graph, node, edges[id], proven))
        if acyclic and not problems and node.op.check is not None:
            problems += node.op.check(graph, node)
        yield from ((node, p) for p in problems)
    yield from ((None, p) for p in _signature_problems(graph))
    if ordered_writes and acyclic:
        yield from _write_problems(graph)


def _exists(graph: Graph, value: Value) -> bool:
    return value.node in graph and value.slot < len(graph.node(value.node).types)


def _is_ordered(graph: Graph) -> bool:
    try:
        place = {id: i for i, id in enumerate(graph.order())}
    except VerifyError:
        return False
    return place.keys() == set(graph.nx) and all(place[u] < place[v] for u, v in graph.nx.edges)


def _edges(graph: Graph) -> dict[int, dict[int, object]]:
    """What networkx holds: by node the kinds of its incoming edges, None for an edge with other attributes."""
    edges: dict[int, dict[int, object]] = {id: {} for id in graph.nx}
    for u, v, data in graph.nx.edges(data=True):
        edges[v][u] = data.get("kind") if len(data) == 1 else None
    return edges


def _node_problems(graph: Graph, node: Node, edges: dict[int, object], proven: Proven) -> Iterator[str]:
    if edges != node.predecessors():
        yield "its edges differ from its operands"
    if node.op.name in ("Input", "Param") and node.after:
        yield "it comes from outside and cannot wait for a node"
    if node.fwd is not None and node.fwd not in graph:
        yield f"it is the gradient of %{node.fwd}, which does not exist"
    try:
        types = [graph.type(v) for v in node.inputs]
    except LookupError:
        yield f"operand {next(v for v in node.inputs if not _exists(graph, v))} does not exist"
        return
    before = proven.get(node.id)
    if before is not None and before[0] is node and before[1] == types:
        return
    problem = _declaration_problem(node, types)
    if problem is not None:
        yield problem
    elif not node.graphs():  # What a rule finds in a subgraph is not in the record.
        proven[node.id] = node, types


def _declaration_problem(node: Node, operands: list[TensorType]) -> str | None:
    """What is wrong with a record by the declaration of its op: attributes, number of operands, types."""
    if node.attrs.keys() != node.op.attrs.keys():
        return f"its attributes are {sorted(node.attrs)}, declared are {sorted(node.op.attrs)}"
    if node.op.infer is None:
        return None
    try:
        node.op.check_arity(len(operands))
        types = tuple(node.op.infer(operands, node.attrs))
    except GraphcError as error:
        return error.message
    except Exception as error:  # A type rule that meets attributes of another kind than it was written for.
        return f"its type rule fails: {type(error).__name__}: {error}"
    if types != node.types:
        return f"its types are {', '.join(map(str, node.types))}, the type rule says {', '.join(map(str, types))}"
    return None


def _signature_problems(graph: Graph) -> Iterator[str]:
    declared = {id for id in graph.nx if graph.node(id).op.name in ("Input", "Param")}
    if set(graph.inputs) != declared or len(graph.inputs) != len(declared):
        yield f"graph @{graph.name}: the signature differs from its Input and Param nodes"
    for name, value in graph.results:
        if not _exists(graph, value):
            yield f"graph @{graph.name}: result {name} is {value}, which does not exist"
    written: set[int] = set()
    for param, value in graph.updates:
        if param not in graph or graph.node(param).op.name != "Param":
            yield f"graph @{graph.name}: update of %{param}, which is no Param"
        elif not _exists(graph, value):
            yield f"graph @{graph.name}: update of %{param} to {value}, which does not exist"
        elif graph.type(value) != graph.node(param).type:
            yield f"graph @{graph.name}: update of %{param} to {value} changes its type"
        elif param in written:
            yield f"graph @{graph.name}: %{param} is updated twice"
        written.add(param)


def _write_problems(graph: Graph) -> Iterator[Problem]:
    """Readers of a parameter's entry value that are not ordered before its writer."""
    for param, value in graph.updates:
        if param not in graph or value.node not in graph:
            continue
        writer = graph.node(value.node)
        if writer.op.name in ("Input", "Param"):
            continue  # Nothing is computed: the step copies it at its end.
        before = nx.ancestors(graph.nx, writer.id)
        for reader in graph.users(param):
            if reader != writer.id and reader not in before and graph.nx.edges[param, reader]["kind"] == "data":
                yield writer, f"it writes parameter %{param} but is not ordered after its reader %{reader}"
