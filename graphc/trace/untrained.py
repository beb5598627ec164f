"""Parameters that a step writes by gradients that are zero, because nothing that is differentiated leads to them from the loss.

So it is with the optimizer of another network, and with a loss that passes through an op such as argmax.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from graphc.errors import GraphcError, Loc, UntrainedWarning, stacklevel, user_loc
from graphc.ir import Graph, Node, Value
from graphc.ir.op import NoGrad
from graphc.ops.tensor.tensor import Parameter


@dataclass(frozen=True)
class Request:
    """One gradient for parameters: where it is asked for, which have a part in it, and what keeps the others from it."""

    loc: Loc | None
    parameters: tuple[Parameter, ...]
    trained: frozenset[int]
    #: By id of the parameter, the node that has no gradient; None where the parameter is not used at all.
    lacking: dict[int, Node | None]


def request(graph: Graph, ys: Sequence[Value], parameters: Sequence[Parameter], entry: dict[int, Value]) -> Request:
    """What the gradient of `ys` finds; `entry`: the values of parameters, by id, that the call has read."""
    reached, stops = _reached(graph, ys)
    trained = frozenset(id(p) for p in parameters if entry.get(id(p)) in reached)
    lacking: dict[int, Node | None] = {}
    if len(trained) < len(parameters):
        # Deliberate stops come last: another one explains more.
        behind = [(n, _before(graph, n)) for n in sorted(stops, key=lambda n: n.op.name == "StopGradient")]
        for p in parameters:
            if id(p) not in trained:
                value = entry.get(id(p))
                lacking[id(p)] = next((n for n, before in behind if value in before), None)
    return Request(user_loc(), tuple(parameters), trained, lacking)


def _reached(graph: Graph, ys: Sequence[Value]) -> tuple[set[Value], list[Node]]:
    """The values that a gradient reaches from `ys`, and the nodes that end it though they are computed from floats."""
    reached: set[Value] = set()
    stops: dict[int, Node] = {}
    stack = list(ys)
    while stack:
        value = stack.pop()
        if value in reached:
            continue
        reached.add(value)
        node = graph.node(value.node)
        if isinstance(node.op.grad, NoGrad) or graph.type(value).dtype == "bool":
            if any(graph.type(v).is_float for v in node.inputs):
                stops[node.id] = node
        else:
            stack += node.inputs[1:] if node.op.name == "Assign" else node.inputs
    return reached, list(stops.values())


def _before(graph: Graph, node: Node) -> set[Value]:
    found: set[Value] = set()
    stack = list(node.inputs)
    while stack:
        value = stack.pop()
        if value not in found:
            found.add(value)
            stack += graph.node(value.node).inputs
    return found


def warn(requests: Sequence[Request], written: set[int]) -> None:
    """UntrainedWarning GC155 for parameters that are written, of requests that reach none of theirs, and for those that are
    kept from their gradients by an op without one that is no stop_gradient.
    """
    trained = {id for r in requests for id in r.trained}
    for r in requests:
        lacking = [p for p in r.parameters if id(p) in r.lacking and id(p) in written - trained]
        if r.trained:
            lacking = [p for p in lacking if (n := r.lacking[id(p)]) is not None and n.op.name != "StopGradient"]
        if lacking:
            warnings.warn(str(_text(r, lacking)), UntrainedWarning, stacklevel=stacklevel())


def _text(r: Request, lacking: list[Parameter]) -> GraphcError:
    ends = {n.id: n for p in lacking if (n := r.lacking[id(p)]) is not None}
    first = next(iter(ends.values()), None)
    names = [f"{p.name} {p.type}" for p in lacking[:5]] + (
        [f"... and {len(lacking) - 5} more"] if len(lacking) > 5 else []
    )
    details = [f"{n.op.name}{f' at {n.loc}' if n.loc else ''} has no gradient" for n in list(ends.values())[:3]]
    whole = "all" if not r.trained else f"{len(lacking)} of {len(r.parameters)}"
    return GraphcError(
        f"{whole} parameters to be trained have gradients of zero: nothing differentiable leads to them from the loss",
        code="GC155",
        loc=(first.loc if first is not None else None) or r.loc,
        details=[", ".join(names), *details],
        help="compute the loss by ops that have gradients"
        if ends
        else "the network does not use them: give the optimizer the parameters of the network that is trained",
    )
