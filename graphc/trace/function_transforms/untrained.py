"""Parameters that a step writes by gradients that are zero, because nothing that is differentiated leads to them from the loss.

So it is with the optimizer of another network, and with a loss that passes through an op such as argmax. And layers that a step
uses, but that a plain list hides from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphc.errors import GraphcError, Loc, UntrainedWarning, stacklevel, user_loc
from graphc.ir import Graph, Node, Value
from graphc.ir.op import NoGrad
from graphc.nn.cell.cell import Cell
from graphc.nn.optim.base import Optimizer
from graphc.ops.gradients.reverse import GradFunction
from graphc.ops.tensor.parameter import Parameter
from graphc.trace.cells import CellCall
from graphc.trace.mutation.containers import iter_of


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
    seen: set[tuple[int, bool]] = set()
    while stack:
        value = stack.pop()
        if value in reached:
            continue
        reached.add(value)
        node = graph.node(value.node)
        # Results are alike but for bools, which end the way.
        if (node.id, graph.type(value).dtype == "bool") in seen:
            continue
        seen.add((node.id, graph.type(value).dtype == "bool"))
        if isinstance(node.op.grad, NoGrad) or graph.type(value).dtype == "bool":
            if any(graph.type(v).is_inexact for v in node.inputs):
                stops[node.id] = node
        else:
            stack += node.inputs[:1] if node.op.name == "Assign" else node.inputs
    return reached, list(stops.values())


def _before(graph: Graph, node: Node) -> set[Value]:
    found = set(node.inputs)
    stack = list({v.node for v in found})
    seen = set(stack)
    while stack:
        inputs = graph.node(stack.pop()).inputs
        found.update(inputs)
        fresh = {v.node for v in inputs} - seen
        seen |= fresh
        stack += fresh
    return found


def warn(cell: Cell, requests: Sequence[Request], written: set[int]) -> None:
    """UntrainedWarning GC155 for parameters that are written, of requests that reach none of theirs, and for those that are
    kept from their gradients by an op without one that is no stop_gradient. A gradient that is called by itself is for somebody
    else to write by. GC142 for parameters that are trained though somebody has frozen them.
    """
    alone = isinstance(cell.__dict__.get("gradient_of"), GradFunction)
    trained = {parameter for r in requests for parameter in r.trained}
    for r in requests:
        lacking = [p for p in r.parameters if id(p) in r.lacking and (alone or id(p) in written - trained)]
        if r.trained:
            lacking = [p for p in lacking if (n := r.lacking[id(p)]) is not None and n.op.name != "StopGradient"]
        if lacking:
            warnings.warn(str(_text(r, lacking)), UntrainedWarning, stacklevel=stacklevel())
        frozen = [p for p in r.parameters if not (p.requires_grad or p.is_state) and id(p) in written & r.trained]
        if frozen:
            warnings.warn(str(_frozen(r, frozen)), UntrainedWarning, stacklevel=stacklevel())


def _frozen(r: Request, frozen: list[Parameter]) -> GraphcError:
    return GraphcError(
        "parameters with requires_grad=False are trained, because the optimizer holds them",
        code="GC142",
        loc=r.loc,
        details=[_names(frozen)],
        help="make the optimizer of net.trainable_params() after they are frozen",
    )


def warn_of_optimizers(cell: Cell, calls: Iterable[CellCall], written: set[int]) -> None:
    """UntrainedWarning GC155 for an optimizer of a user's that is called and writes none of its parameters."""
    called = {c.path: c for c in calls if issubclass(c.kind, Optimizer) and not c.kind.__module__.startswith("graphc.")}
    for path, each in cell.cells_and_names() if called else ():
        if path in called and isinstance(each, Optimizer) and not any(id(p) in written for p in each.parameters):
            text = GraphcError(
                f"{type(each).__name__}: construct writes none of the parameters that it is to train",
                code="GC155",
                loc=called[path].caller,
                details=[_names(each.parameters)],
                help="ops.assign(p, p - rate * gradient) writes one; p = p - ... gives a name to a tensor",
            )
            warnings.warn(str(text), UntrainedWarning, stacklevel=stacklevel())


def warn_of_lists(cell: Cell, requests: Sequence[Request], read: Iterable[Parameter]) -> None:
    """UntrainedWarning GC142 for layers that a plain list, tuple or dict holds, in a step that trains: their parameters are used,
    but belong to no cell.
    """
    asked = {id(p) for r in requests for p in r.parameters}
    loose = {id(p): p for p in read if p.requires_grad and id(p) not in asked} if asked else {}
    if not loose:
        return
    for path, each in cell.cells_and_names():
        for attribute, value in vars(each).items():
            if attribute in ("_params", "_cells") or not isinstance(value, (list, tuple, dict)):
                continue
            held = [p for c in _cells_in(value) for p in c.get_parameters() if id(p) in loose]
            if held:
                where = ".".join(["self", *([path] if path else []), attribute])
                text = GraphcError(
                    f"{where} holds layers in a plain {type(value).__name__}: their parameters are not trained, nor saved",
                    code="GC142",
                    loc=user_loc(),
                    details=[_names(held)],
                    help="hold them in nn.CellList or nn.SequentialCell; for what shall not be trained set requires_grad=False",
                )
                warnings.warn(str(text), UntrainedWarning, stacklevel=stacklevel())


def _cells_in(container: Any) -> Iterator[Cell]:
    """The cells in a container, and in containers in it."""
    for x in container.values() if isinstance(container, dict) else iter_of(container):
        if isinstance(x, Cell):
            yield x
        elif isinstance(x, (list, tuple, dict)):
            yield from _cells_in(x)


def _names(parameters: Sequence[Parameter]) -> str:
    shown = [f"{p.name} {p.tensor_type}" for p in parameters[:5]]
    return ", ".join(shown) + (f", ... and {len(parameters) - 5} more" if len(parameters) > 5 else "")


def _text(r: Request, lacking: list[Parameter]) -> GraphcError:
    ends = {n.id: n for p in lacking if (n := r.lacking[id(p)]) is not None}
    first = next(iter(ends.values()), None)
    details = [f"{n.op.name}{f' at {n.loc}' if n.loc else ''} has no gradient" for n in list(ends.values())[:3]]
    whole = "all" if not r.trained else f"{len(lacking)} of {len(r.parameters)}"
    return GraphcError(
        f"{whole} parameters to be trained have gradients of zero: nothing differentiable leads to them from the loss",
        code="GC155",
        loc=(first.loc if first is not None else None) or r.loc,
        details=[_names(lacking), *details],
        help="compute the loss by ops that have gradients"
        if ends
        else "the network does not use them: give the optimizer the parameters of the network that is trained",
    )
