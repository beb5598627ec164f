"""What the verifier asks of an overflow check: that it tests something, that it tests all that an update is made of, and that
the update waits for it.

A test is a GetFloatStatus. It covers the values that its operands are computed from: an infinity or NaN in one of these reaches
an operand. A gradient is a result of Grad, or of what autodiff has put in its place. An update is behind a test if it is
computed from the result: by a conditional, or in another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import networkx as nx

from graphc.errors import GraphcError, VerifyError
from graphc.ir import Graph, Node, Value

_ASK = "to tell of overflows without skipping an update, use ops.all_finite(gradients) in place of the float status"


def problems(graph: Graph, test: Node) -> Iterator[str | GraphcError]:
    """What is wrong with a test, and, told with the first test of a graph, with the updates."""
    source = _behind_depend(graph, test.inputs[0])
    if source.op.name == "ClearFloatStatus":
        found = _tests_nothing(graph, source, test)
        if found is not None:
            yield found
            return
    elif source.op.name != "Input":  # An Input: cleared around this subgraph.
        yield f"its status is the result of {source.op.name}, not of ClearFloatStatus"
        return
    tests = [n for n in graph.nodes() if n.op.name == "GetFloatStatus"]
    if test.id == min(n.id for n in tests):
        yield from _update_problems(graph, tests)


def _behind_depend(graph: Graph, value: Value) -> Node:
    """The node a value comes from, behind Depend."""
    node = graph.node(value.node)
    while node.op.name == "Depend":
        node = graph.node(node.inputs[0].node)
    return node


def _tests_nothing(graph: Graph, source: Node, test: Node) -> VerifyError | None:
    after = nx.descendants(graph.nx, source.id)
    cleared = f"the clearing of the status (%{source.id}{_at(source)})"
    help = "compute the gradients from what start_overflow_check returns, or from ops.depend(value, status)"
    early = [v for v in test.inputs[1:] if v.node not in after]
    if early:
        return VerifyError(
            "the overflow check does not cover what it tests: nothing orders that after the clearing of the status",
            code="GC161",
            loc=test.loc,
            details=[
                f"{v} {graph.node(v.node).op.name}{_at(graph.node(v.node))} may run before {cleared}" for v in early[:4]
            ],
            help=help,
        )
    made = [_behind_depend(graph, v) for v in test.inputs[1:]]
    if any(node.id in after for node in made):
        return None
    return VerifyError(
        "the overflow check tests nothing: nothing that it is given is computed after the clearing of the status",
        code="GC161",
        loc=test.loc,
        details=[f"%{n.id} {n.op.name}{_at(n)} is computed before {cleared}" for n in made[:4]]
        or [f"it is given nothing but {cleared}"],
        help="clear the status before the gradients are computed, and "
        + ("give them to the check" if not made else help),
    )


# ---- updates


def _update_problems(graph: Graph, tests: list[Node]) -> Iterator[VerifyError]:
    """Updates of trained parameters by gradients that skip the test, or that are made whatever it says."""
    updates = [(graph.node(p), v) for p, v in graph.updates if p in graph and v.node in graph]
    updates = [(p, v) for p, v in updates if p.attrs.get("trainable")]
    if not updates:
        return
    behind = _tests_before(graph, tests)
    groups: dict[int, list[tuple[Node, Value]]] = {}
    for p, v in updates:
        groups.setdefault(behind.get(v.node, 0), []).append((p, v))
    for mask, group in groups.items():
        chosen = [t for k, t in enumerate(tests) if mask >> k & 1]
        if chosen:
            covered = _data_before(graph, [v for t in chosen for v in t.inputs[1:]])
            bypass = _gradients(graph, [v for _, v in group], covered)
            if bypass:
                yield _bypassed(graph, group, chosen[0], bypass)
        else:
            yield from _unguarded(graph, group, tests, alone=len(groups) == 1)


def _tests_before(graph: Graph, tests: list[Node]) -> dict[int, int]:
    """Of the nodes that are computed from the results of tests: of which, one bit per test."""
    bits: dict[int, int] = {}
    for k, test in enumerate(tests):
        stack = [test.id]
        while stack:
            for user in graph.users(stack.pop()):
                held = bits.get(user, 0)
                if not held >> k & 1 and _uses(graph, user, test, bits, k):
                    bits[user] = held | 1 << k
                    stack.append(user)
    return bits


def _uses(graph: Graph, user: int, test: Node, bits: dict[int, int], k: int) -> bool:
    """Whether a node has an operand that is computed from a test: waiting for it is not enough."""
    return any(v.node == test.id or bits.get(v.node, 0) >> k & 1 for v in graph.node(user).inputs)


def _data_before(graph: Graph, values: Iterable[Value], stop: set[Value] | None = None) -> set[Value]:
    """The values and all that they are computed from, `stop` and what is before it left out."""
    stop = stop or set()
    found = {v for v in values if v not in stop}
    stack = list({v.node for v in found})
    seen = set(stack)  # A conditional has as many results as there are parameters, and more operands.
    while stack:
        for v in graph.node(stack.pop()).inputs:
            if v not in found and v not in stop and v.node in graph:
                found.add(v)
                if v.node not in seen:
                    seen.add(v.node)
                    stack.append(v.node)
    return found


def _gradients(graph: Graph, values: Iterable[Value], covered: set[Value]) -> list[Node]:
    """The gradients that values are computed from but no test covers."""
    before = {v.node: graph.node(v.node) for v in _data_before(graph, values, covered)}
    # What is made of covered gradients, such as their sum over processes, is in the region of the gradients, too.
    handled: set[int] = set()
    stack = [v.node for v in covered if graph.node(v.node).region == "backward"]
    while stack:
        for user in graph.users(stack.pop()):
            if user in before and user not in handled and before[user].fwd is None and before[user].op.name != "Grad":
                handled.add(user)
                stack.append(user)
    return [before[id] for id in sorted(before) if id not in handled and _is_gradient(before[id])]


def _is_gradient(node: Node) -> bool:
    if node.op.name == "Grad" or any(_asks(sub) for _, sub in node.graphs()):
        return True
    return node.region == "backward" and bool(node.inputs)


def _asks(branch: Graph) -> bool:
    """Whether a branch computes a gradient of its own that it does not test."""
    names = {n.op.name for n in branch.nodes()}
    return "Grad" in names and "GetFloatStatus" not in names


def _bypassed(graph: Graph, group: list[tuple[Node, Value]], test: Node, gradients: list[Node]) -> VerifyError:
    shown = [f"%{n.id} {n.op.name}{_at(n)} is not among what is tested" for n in gradients[:3]]
    return VerifyError(
        f"gradients bypass the overflow check: the update of {_named(group)} uses gradients that it does not test",
        code="GC161",
        loc=gradients[0].loc or test.loc,
        details=[*shown, f"the check is %{test.id}{_at(test)}"],
        help="give all gradients that the optimizer uses to get_overflow_status, or ops.depend the status on them",
        nodes=[n.id for n in gradients],
    )


def _unguarded(graph: Graph, group: list[tuple[Node, Value]], tests: list[Node], alone: bool) -> Iterator[VerifyError]:
    """Updates that are behind no test; those of another network, which no test is about, may be."""
    sources = [_behind_depend(graph, t.inputs[0]) for t in tests]
    after = {id for s in sources if s.op.name == "ClearFloatStatus" for id in nx.descendants(graph.nx, s.id)}
    covered = _data_before(graph, [v for t in tests for v in t.inputs[1:]])

    def is_tested(values: list[Value]) -> bool:
        made = (x for x in _data_before(graph, values) if _is_gradient(graph.node(x.node)))
        return any(alone or x in covered or x.node in after for x in made)

    if not is_tested([v for _, v in group]):
        return
    p, v = next((p, v) for p, v in group if is_tested([v]))
    writer = graph.node(v.node)
    yield VerifyError(
        f"the update of {p.name!r} is not behind the overflow check: it is made whether gradients overflow or not",
        code="GC161",
        loc=writer.loc or tests[0].loc,
        details=[f"the check is %{tests[0].id}{_at(tests[0])}, the update %{writer.id} {writer.op.name}{_at(writer)}"],
        help=f"update under `if not overflow:` or by update_unless(overflow, loss, grads); {_ASK}",
        nodes=[writer.id],
    )


def _named(group: list[tuple[Node, Value]]) -> str:
    names = [repr(p.name) for p, _ in group]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _at(node: Node) -> str:
    return f" at {node.loc}" if node.loc else ""
