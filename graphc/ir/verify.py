"""The verifier. It knows no ops: it re-runs each op's own type rule and check, and reports every problem at once."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from graphc.errors import GraphcError, VerifyError
from graphc.ir.graph import Edges, Graph, Node, Value
from graphc.ir.parts import DATA, ORDER
from graphc.ir.text import node_text
from graphc.ir.types import TensorType

Problem = tuple[Node | None, str | GraphcError]


def verify(graph: Graph, *, ordered_writes: bool = False) -> None:
    """Raise VerifyError listing everything that is wrong with a graph and its subgraphs.

    Where all that is wrong is a user's doing, such as an overflow check out of order, the error is the one made for users.

    Checked: networkx holds the nodes' records and nothing else; edges equal operands and order predecessors; no cycle;
    operands, results and updates exist; subgraphs are frozen and their signature fits; every type is what the op's rule
    says; every op's own check; ids are used once. With `ordered_writes` also: every reader of a parameter's old value
    runs before the node that writes it.

    Records are immutable, and a type rule sees nothing but the record and its operands' types. So rules run only where the record
    does not say that one has given its types for those of its operands. All else is checked anew.
    """
    problems: list[Problem] = []
    seen: set[int] = set()
    graphs = [graph]
    for owner in graphs:  # Grows by the subgraphs found.
        nodes, misplaced = _stored(owner)
        problems += misplaced
        if misplaced:
            continue  # Nothing else can be read.
        problems += _graph_problems(owner, nodes, ordered_writes)
        problems += ((nodes[id], "its id is used twice in the program") for id in sorted(seen & nodes.keys()))
        seen.update(nodes)
        # A rule that has seen a subgraph is none that is remembered.
        for node in sorted([n for n in nodes.values() if n.attrs and n.ruled is None], key=lambda n: n.id):
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


def _stored(graph: Graph) -> tuple[dict[int, Node], list[Problem]]:
    """The records by id, and what networkx holds beside them or in their place."""
    nodes: dict[int, Node] = {}
    problems: list[Problem] = []
    for id, data in graph.nx.nodes(data=True):
        record = data.get("node")
        if len(data) == 1 and isinstance(record, Node) and record.id == id:
            nodes[id] = record
        else:
            said = f"graph @{graph.name}: networkx node {id} does not hold the record of %{id} and that alone"
            problems.append((None, said))
    return nodes, problems


def _graph_problems(graph: Graph, nodes: dict[int, Node], ordered_writes: bool) -> Iterator[Problem]:
    acyclic = True
    if not _is_sound(graph, nodes):
        # Where every edge goes forward in the graph's order there is no cycle.
        acyclic = _is_ordered(graph) or nx.is_directed_acyclic_graph(graph.nx)
        if not acyclic:
            cycle = " -> ".join(f"%{u}" for u, _ in nx.find_cycle(graph.nx))
            yield None, f"graph @{graph.name} has a cycle: {cycle}"
        for id in sorted(nodes):
            node = nodes[id]
            problems = _node_problems(node, graph.edges_into(id), nodes)
            if acyclic and not problems and node.op.check is not None:
                problems = list(node.op.check(graph, node))
            yield from [(node, problem) for problem in problems]
    yield from ((None, p) for p in _signature_problems(graph, nodes))
    if ordered_writes and acyclic:
        yield from _write_problems(graph)


def _is_sound(graph: Graph, nodes: dict[int, Node]) -> bool:
    """Whether all is well with nodes and edges: found in one walk in the graph's order, or else not told."""
    done: dict[int, tuple[TensorType, ...]] = {}
    try:
        for id in graph.order():
            node, edges = nodes[id], graph.edges_into(id)
            asked = dict.fromkeys(node.after, ORDER) if node.after else {}
            operands = []
            for producer, slot in node.inputs:
                asked[producer] = DATA
                operands.append(done[producer][slot])
            known = node.ruled == tuple(operands) and edges == asked and (node.fwd is None or node.fwd in nodes)
            if not known and _node_problems(node, edges, nodes):
                return False
            if node.after and (node.op.name in ("Input", "Param") or not done.keys() >= {*node.after}):
                return False
            if node.op.check is not None and any(True for _ in node.op.check(graph, node)):
                return False
            done[id] = node.types
    except (LookupError, VerifyError):  # Of what is not there, or not yet; or the order has a cycle.
        return False
    return len(done) == len(nodes) == len(graph)


def _exists(graph: Graph, value: Value) -> bool:
    return value.node in graph and value.slot < len(graph.node(value.node).types)


def _is_ordered(graph: Graph) -> bool:
    try:
        order = graph.order()
    except VerifyError:
        return False
    if len(order) != len(graph) or set(order) != set(graph.nx):
        return False
    done: set[int] = set()
    for id in order:
        if not done.issuperset(graph.edges_into(id)):
            return False
        done.add(id)
    return True


def _node_problems(node: Node, edges: Edges, nodes: dict[int, Node]) -> list[str | GraphcError]:
    """What is wrong with one of a graph's `nodes`, the edges into which are `edges`."""
    problems: list[str | GraphcError] = []
    if edges != node.edges():
        problems.append("its edges differ from its operands")
    if node.after and node.op.name in ("Input", "Param"):
        problems.append("it comes from outside and cannot wait for a node")
    if node.fwd is not None and node.fwd not in nodes:
        problems.append(f"it is the gradient of %{node.fwd}, which does not exist")
    try:
        operands = tuple([nodes[id].types[slot] for id, slot in node.inputs])
    except LookupError:
        missing = next(v for v in node.inputs if v.node not in nodes or v.slot >= len(nodes[v.node].types))
        return [*problems, f"operand {missing} does not exist"]
    problem = _declaration_problem(node, operands)
    if problem is not None:
        problems.append(problem)
    return problems


def _declaration_problem(node: Node, operands: tuple[TensorType, ...]) -> str | None:
    """What is wrong with a record by the declaration of its op: attributes, number of operands, types."""
    if (node.attrs or node.op.attrs) and node.attrs.keys() != node.op.attrs.keys():
        return f"its attributes are {sorted(node.attrs)}, declared are {sorted(node.op.attrs)}"
    if node.op.infer is None:
        return None
    try:
        node.op.check_arity(len(operands))
        types = node.op.result_types(operands, node.attrs)
    except GraphcError as error:
        return error.message
    except Exception as error:  # A type rule that meets attributes of another kind than it was written for.
        return f"its type rule fails: {type(error).__name__}: {error}"
    if types != node.types:
        return f"its types are {', '.join(map(str, node.types))}, the type rule says {', '.join(map(str, types))}"
    return None


def _signature_problems(graph: Graph, nodes: dict[int, Node]) -> Iterator[str]:
    declared = {id for id, node in nodes.items() if node.op.name in ("Input", "Param")}
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
