"""The NumPy interpreter: runs any graph node by node with each op's reference. The oracle, in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import LoweringError, SignatureError
from graphc.ir import Graph, Node, OpDef, TensorType, Value
from graphc.ir.types import HALVES
from graphc.ops.declared.rules import Array

_NONE: Mapping[Value, Array] = MappingProxyType({})


class Outcome(NamedTuple):
    """What a graph returned: results by position, final parameter values by Param node id, every value if kept."""

    results: list[Array]
    updates: dict[int, Array]
    values: dict[Value, Array]


def evaluation_dtype(type: TensorType, exact: bool) -> np.dtype[Any]:
    """float64 for every float of the oracle, complex128 for every complex number, else the type's own dtype."""
    if exact and type.is_complex:
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if exact and type.is_float else type.numpy


def apply(
    op: OpDef, types: Sequence[TensorType], arrays: Sequence[Array], attrs: Mapping[str, Any], exact: bool
) -> list[Array]:
    """One op's reference; results have the dtype and shape that the type rule says."""
    if op.ref is None:
        raise LoweringError(f"{op.name} has no NumPy reference")
    # Halves are computed in float32 and rounded once per op, as kernels do; what only moves stays where it is.
    wide = arrays if op.view else [a.astype(np.float32) if a.dtype.name in HALVES else a for a in arrays]
    with np.errstate(all="ignore"):
        result = op.ref(*wide, **attrs)
    results = result if isinstance(result, tuple) else (result,)
    made = []
    for array, type in zip(results, types, strict=True):
        array = np.asarray(array)
        if array.shape != type.shape:
            raise AssertionError(f"{op.name}: the reference gives shape {array.shape}, the type rule {type}")
        with np.errstate(over="ignore"):
            made.append(array.astype(evaluation_dtype(type, exact), copy=False))
    return made


def run(
    graph: Graph,
    inputs: Mapping[int, Any],
    *,
    exact: bool = True,
    keep: bool = False,
    known: Mapping[Value, Array] = _NONE,
) -> Outcome:
    """Evaluate a graph. `inputs` maps every Input and Param node id to an array.

    With `exact` every float is computed in float64; with `keep` all intermediate values are returned. known: values that need
    not be computed.
    """
    values: dict[Value, Array] = {}
    for id in graph.inputs:
        if id not in inputs:
            raise SignatureError(f"no value is given for %{id} {graph.node(id).name}")
        type = graph.node(id).type
        array = np.asarray(inputs[id])
        if array.shape != type.shape:
            raise SignatureError(f"%{id} {graph.node(id).name} is {type}, got shape {array.shape}")
        values[Value(id)] = array.astype(evaluation_dtype(type, exact))
    last_use = {} if keep else last_uses(graph)
    for node in graph:
        if node.op.name in ("Input", "Param"):
            continue
        if known and all(v in known for v in node.outputs):
            values.update((v, known[v]) for v in node.outputs)
        else:
            operands = [values[v] for v in node.inputs]
            values.update(zip(node.outputs, _evaluate(node, operands, exact), strict=True))
        for value in last_use.get(node.id, ()):
            del values[value]
    return Outcome(
        [values[r.value] for r in graph.results],
        {u.param: values[u.value] for u in graph.updates},
        values if keep else {},
    )


def _evaluate(node: Node, operands: list[Array], exact: bool) -> list[Array]:
    if node.op.name == "While":
        return _loop(node, operands, exact)
    if node.op.name == "Scan":
        return _scan(node, operands, exact)
    if node.op.name != "If":
        return apply(node.op, node.types, operands, node.attrs, exact)
    branch: Graph = node.attrs["then" if operands[0] else "else"]
    return run(branch, dict(zip(branch.inputs, operands[1:], strict=True)), exact=exact).results


def _loop(node: Node, operands: list[Array], exact: bool) -> list[Array]:
    count = node.attrs["carried"]
    carried, captures = operands[:count], operands[count:]
    test, body = node.attrs["cond"], node.attrs["body"]
    while run(test, dict(zip(test.inputs, [*carried, *captures], strict=True)), exact=exact).results[0]:
        carried = run(body, dict(zip(body.inputs, [*carried, *captures], strict=True)), exact=exact).results
    return carried


def _scan(node: Node, operands: list[Array], exact: bool) -> list[Array]:
    attrs, body = node.attrs, node.attrs["body"]
    c, s, turns, reverse = attrs["carried"], attrs["scanned"], attrs["length"], attrs["reverse"]
    carried, scanned, captures = operands[:c], operands[c : c + s], operands[c + s :]
    stacks = [np.empty(t.shape, evaluation_dtype(t, exact)) for t in node.types[c:]]
    for k, stack in zip(attrs["stacks"], stacks, strict=True):
        if k < c:
            stack[-1 if reverse else 0] = carried[k]
    for at in reversed(range(turns)) if reverse else range(turns):
        taken = [*carried, *(x[at] for x in scanned), *captures]
        made = run(body, dict(zip(body.inputs, taken, strict=True)), exact=exact).results
        carried = made[:c]
        for k, stack in zip(attrs["stacks"], stacks, strict=True):
            stack[at + 1 if k < c and not reverse else at] = made[k]
    return [*carried, *stacks]


def last_uses(graph: Graph) -> dict[int, list[Value]]:
    """For each node the values that nobody needs after it."""
    last: dict[Value, int] = {}
    for node in graph:
        for value in node.outputs:
            last[value] = node.id
        for value in node.inputs:
            last[value] = node.id
    for value in [r.value for r in graph.results] + [u.value for u in graph.updates]:
        last.pop(value, None)
    by_node: dict[int, list[Value]] = {}
    for value, id in last.items():
        if graph.node(value.node).op.name not in ("Input", "Param"):
            by_node.setdefault(id, []).append(value)
    return by_node
