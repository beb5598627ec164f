"""Tracing `ops.scan`: one turn becomes the body of a Scan node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.errors import user_loc
from graphc.ir import TensorType
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, flatten, unflatten
from graphc.trace.flow.merging import same_structure
from graphc.trace.recorder import GraphRecorder

#: A traced turn: its recorder, what it carries on and what it makes, each with its structure.
Turn = tuple[GraphRecorder, list[Tensor], Structure, list[Tensor], Structure]


def scan(
    recorder: GraphRecorder, turn: Callable[[Any, Any], Any], carried: Any, rows: Any, turns: int, reverse: bool
) -> tuple[Any, Any] | None:
    """`carried, made = turn(carried, row)` for all rows as one Scan node; the last carried values, and what is made stacked.

    Parameters that a turn writes are carried too. None where the turns cannot be one body: what is carried has another
    structure or other types behind a turn than before it.
    """
    leaves, structure = flatten(carried)
    slices, slice_structure = flatten(rows)
    rooms = (leaves, structure, slices, slice_structure)
    # A first look tells which parameters a turn writes, so that it can carry them.
    probe, after, after_structure, _, _ = _trace(recorder.branch("probe"), turn, rooms, [])
    if not same_structure(after_structure, structure) or [x.tensor_type for x in after] != [
        x.tensor_type for x in leaves
    ]:
        return None
    written = [probe.known[k] for k in probe.known if k in probe.written]
    body, after, _, made, made_structure = _trace(recorder.branch("body"), turn, rooms, written)
    results = [*(body.resolve(x) for x in after), *(body.read(p) for p in written), *(body.resolve(x) for x in made)]
    body.graph.set_results((str(k), v) for k, v in enumerate(results))
    initial = [recorder.resolve(x) for x in leaves] + [recorder.read(p) for p in written]
    operands = [*initial, *(recorder.resolve(x) for x in slices), *body.captures]
    count = len(initial)
    body.graph.inputs = (
        *body.graph.inputs[: count + len(slices)], *(body.captures[outer].node for outer in body.captures)
    )  # fmt: skip
    body.prune()
    node = recorder.graph.add(
        "Scan",
        operands,
        {
            "length": turns, "carried": count, "scanned": len(slices), "stacks": tuple(range(count, len(results))),
            "reverse": reverse, "body": body.graph,
        },
        scope=recorder.scopes[-1],
        loc=user_loc(),
        region=recorder.regions[-1],
    )  # fmt: skip
    outputs = [recorder.wrap(v) for v in node.outputs]
    for x, before in zip(outputs, leaves, strict=False):
        x.is_number = before.is_number
    for p, new in zip(written, outputs[len(leaves) :], strict=False):
        recorder.write(p, new.handle[1])
    return unflatten(structure, outputs[: len(leaves)]), unflatten(made_structure, outputs[count:])


def _trace(
    inner: GraphRecorder,
    turn: Callable[[Any, Any], Any],
    rooms: tuple[list[Tensor], Structure, list[Tensor], Structure],
    written: list[Parameter],
) -> Turn:
    """Trace a turn with Input nodes for the carried tensors, the parameters that it writes and its rows, in this order."""
    leaves, structure, slices, slice_structure = rooms
    inner.in_scan = True
    carried = [inner.carry(x) for x in leaves]
    for p in written:
        inner.carry_parameter(p)
    rows = [_row(inner, x) for x in slices]
    with inner.active(), inner.unshared():
        after, made = turn(unflatten(structure, carried), unflatten(slice_structure, rows))
    after_leaves, after_structure = flatten(after)
    made_leaves, made_structure = flatten(made)
    return inner, after_leaves, after_structure, made_leaves, made_structure


def _row(inner: GraphRecorder, x: Tensor) -> Tensor:
    """A row of a tensor, inside a turn."""
    type = TensorType(x.tensor_type.dtype, x.tensor_type.shape[1:])
    node = inner.graph.add("Input", types=(type,), region="state")
    return inner.wrap(node.outputs[0])
