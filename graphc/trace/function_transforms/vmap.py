"""Tracing vmap: the function is traced once, for one index of the axis, into the body of a Vmap node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphc.errors import TransformError, user_loc
from graphc.ir import TensorType, Value
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.container import CellList
from graphc.ops import functional as F
from graphc.ops.functional.printing import PrintLog
from graphc.ops.gradients.reverse import name_of
from graphc.ops.gradients.transforms import Axes, Mapping
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, fixed_values, flatten, is_named, map_tensors, unflatten, without_values
from graphc.trace.recorder import GraphRecorder


def vmap(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...], options: Mapping) -> Any:
    """What `vmap(fn, in_axes, out_axes)(*args)` returns."""
    args = map_tensors(_whole, args)
    leaves, structure = flatten(args)
    axes = _input_axes(fn, args, options.in_axes)
    _require_dense(fn, any(axes[k] is not None for k in without_values(structure)))
    size = _size(fn, leaves, axes)
    moved = [x if a is None else F.moveaxis(x, a, 0) for x, a in zip(leaves, axes, strict=True)]
    if isinstance(fn, CellList):
        return _ensemble(fn, moved, structure, [a is not None for a in axes], size, options.out_axes)
    body = recorder.branch("vmap")
    symbols = [x if a is None else _symbol(body, x) for x, a in zip(moved, axes, strict=True)]
    with body.active(), body.unshared():
        inner = unflatten(structure, symbols)
        made_inside = fn(*inner) if isinstance(fn, Cell) else body.prepared(fn)(*inner)
        result = map_tensors(_whole, _as_tensors(made_inside))
    results, shape = flatten(result)
    _require_dense(fn, bool(without_values(shape)))
    states = _states(fn, body)
    mapped = [x for x, a in zip(moved, axes, strict=True) if a is not None]
    values = [body.resolve(y) for y in results]
    reached = _reached(body, len(mapped), values)
    out = _output_axes(fn, results, result, options.out_axes, reached)
    fronts = (*(a is not None for a in out), *(False for _ in states))
    made = _node(recorder, body, mapped, [*values, *(body.read(p) for p in states)], fronts, size)
    for p, new in zip(states, made[len(results) :], strict=True):
        recorder.read(p)
        recorder.write(p, recorder.resolve(new))
    placed = [y if not a else F.moveaxis(y, 0, a) for y, a in zip(made, out, strict=False)]
    return unflatten(shape, placed)


def _require_dense(fn: Any, sparse: bool) -> None:
    """TransformError for sparse tensors, whose parts have no axis that could be mapped: each index may hold another number."""
    if sparse:
        raise TransformError(
            f"vmap of {name_of(fn)}: a COOTensor or CSRTensor is mapped",
            loc=user_loc(),
            help="map its values: vmap(lambda v: f(CSRTensor(indptr, indices, v, shape)))(values)",
        )


def over(
    recorder: GraphRecorder,
    function: Callable[[GraphRecorder, Tensor], list[Tensor]],
    rows: Tensor,
    entry: dict[int, Value],
) -> list[Tensor]:
    """The results of function(branch, row) for each row of a tensor, along a first axis.

    Parameters are in the states of `entry`; what the function writes is forgotten.
    """
    body = recorder.branch("vmap")
    row = _symbol(body, rows)
    for key, version in entry.items():
        body.known[key] = recorder.known[key]
        body.state[key] = body.capture(recorder, version)
    with body.active():
        values = [body.resolve(y) for y in function(body, row)]
    return _node(recorder, body, [rows], values, (True,) * len(values), rows.shape[0])


# ---- the node


def _symbol(body: GraphRecorder, x: Tensor) -> Tensor:
    """An operand of the body: x without its first axis."""
    node = body.graph.add("Input", types=(TensorType(x.tensor_type.dtype, x.tensor_type.shape[1:]),), region="state")
    return body.wrap(node.outputs[0])


def _node(
    recorder: GraphRecorder,
    body: GraphRecorder,
    mapped: Sequence[Tensor],
    values: Sequence[Value],
    fronts: tuple[bool, ...],
    size: int,
) -> list[Tensor]:
    graph = body.graph
    graph.set_results((str(i), v) for i, v in enumerate(values))
    graph.inputs = (*graph.inputs[: len(mapped)], *(v.node for v in body.captures.values()))
    graph.prune()
    captures = [recorder.wrap(v) for v in body.captures]
    flags = (True,) * len(mapped) + (False,) * len(captures)
    attrs = {"body": graph, "size": size, "mapped": flags, "fronts": fronts}
    return list(recorder.record("Vmap", [*mapped, *captures], attrs))


def _reached(body: GraphRecorder, count: int, values: Sequence[Value]) -> list[bool]:
    """Which values depend on one of the first `count` inputs."""
    found = set(body.graph.inputs[:count])
    for node in body.graph:
        if any(v.node in found for v in node.inputs):
            found.add(node.id)
    return [v.node in found for v in values]


# ---- axes


def _input_axes(fn: Any, args: tuple[Any, ...], axes: Axes) -> list[int | None]:
    """The axis of each tensor among the arguments; non-negative."""
    if isinstance(axes, tuple) and len(axes) != len(args):
        raise TransformError(
            f"vmap of {name_of(fn)}: in_axes {axes} has {len(axes)} entries, the call {len(args)} arguments",
            loc=user_loc(),
            help="give one entry for each positional argument, or one axis for all of them",
        )
    if not isinstance(fn, CellList) and not _some(axes):
        raise TransformError(f"vmap of {name_of(fn)}: in_axes {axes} maps no argument", loc=user_loc())
    places = axes if isinstance(axes, tuple) else (axes,) * len(args)
    found: list[int | None] = []
    for i, (x, a) in enumerate(zip(args, places, strict=True)):
        found += _spread(f"vmap of {name_of(fn)}: argument {i}", "in_axes", x, a)
    return found


def _some(axes: Axes) -> bool:
    return any(map(_some, axes)) if isinstance(axes, tuple) else axes is not None


def _spread(what: str, option: str, tree: Any, axes: Axes) -> list[int | None]:
    """The axis of each tensor of a nest."""
    if isinstance(axes, tuple):
        if not isinstance(tree, (tuple, list)) or len(tree) != len(axes):
            held = f"a {type(tree).__name__} of {len(tree)}" if isinstance(tree, (tuple, list)) else type(tree).__name__
            raise TransformError(f"{what} is {held}, {option} says {axes} for it", loc=user_loc())
        return [a for x, each in zip(tree, axes, strict=True) for a in _spread(what, option, x, each)]
    leaves, structure = flatten(tree)
    if axes is not None and option == "in_axes" and (not leaves or any(_numbers(structure))):
        raise TransformError(
            f"{what} is no tensor, but in_axes says axis {axes} for it",
            loc=user_loc(),
            help="give None as its entry in in_axes: it is the same for every index",
        )
    return [None if axes is None else _axis(what, option, x, axes) for x in leaves]


def _axis(what: str, option: str, x: Tensor, axis: int) -> int:
    rank = len(x.shape) + (option == "out_axes")
    if not -rank <= axis < rank:
        raise TransformError(f"{what} has {rank} axes, {option} says axis {axis}", loc=user_loc())
    return axis % rank


def _numbers(structure: Structure) -> list[Any]:
    return [v for v in fixed_values(structure) if isinstance(v, (bool, int, float))]


def _size(fn: Any, leaves: Sequence[Tensor], axes: Sequence[int | None]) -> int:
    """The length of the mapped axes."""
    sizes = {x.shape[a]: f"{x.tensor_type} along axis {a}" for x, a in zip(leaves, axes, strict=True) if a is not None}
    if isinstance(fn, CellList):
        sizes.setdefault(len(fn), f"{len(fn)} cells")
    if len(sizes) != 1:
        raise TransformError(
            f"vmap of {name_of(fn)}: the mapped axes have different sizes"
            if sizes
            else f"vmap of {name_of(fn)}: no argument is mapped",
            loc=user_loc(),
            details=[f"{size}: {what}" for size, what in sizes.items()],
        )
    return next(iter(sizes))


def _output_axes(
    fn: Any, results: Sequence[Tensor], result: Any, axes: Axes, reached: Sequence[bool]
) -> list[int | None]:
    found = _spread(f"vmap of {name_of(fn)}: what it returns", "out_axes", result, axes)
    for k, (axis, depends) in enumerate(zip(found, reached, strict=True)):
        if axis is None and depends:
            raise TransformError(
                f"vmap of {name_of(fn)}: result {k}, {results[k].tensor_type}, differs from index to index,"
                f" out_axes says None for it",
                loc=user_loc(),
                help="give the axis along which it shall be stacked",
            )
    return found


def _as_tensors(result: Any) -> Any:
    """A nest with tensors in place of its numbers, which are the same for every index."""
    if isinstance(result, (tuple, list)):
        made = map(_as_tensors, result)
        return type(result)(*made) if is_named(result) else type(result)(made)
    if isinstance(result, dict):
        return type(result)((k, _as_tensors(v)) for k, v in result.items())
    return Tensor(result) if isinstance(result, (bool, int, float)) else result


def _whole(x: Tensor) -> Tensor:
    """For a RowTensor, whose axes are not those of its parts, the tensor that it stands for."""
    return x.dense() if isinstance(x, RowTensor) else x


# ---- state


def _states(fn: Any, body: GraphRecorder) -> list[Parameter]:
    """The random states that the function moves on, once for all indices; TransformError if it writes anything else."""
    written = [body.known[key] for key in body.known if key in body.written]
    for p in written:
        if isinstance(p, PrintLog):
            raise TransformError(
                f"vmap of {name_of(fn)}: it prints, or raises under a condition on tensors",
                loc=user_loc(),
                help="return what shall be seen, and print it outside",
            )
        if not p.is_random_state:
            raise TransformError(
                f"vmap of {name_of(fn)}: it writes parameter {p.name!r}, which is one for all indices",
                loc=user_loc(),
                help="return what shall be written, and write it outside; set_train(False) for layers with moving averages",
            )
    return written


# ---- several cells


def _ensemble(
    cells: CellList, leaves: Sequence[Tensor], structure: Structure, mapped: Sequence[bool], size: int, axes: Axes
) -> Any:
    """Cell k for index k: their weights differ, so each is called by itself."""
    turns = []
    for k, cell in enumerate(cells):
        inner = unflatten(structure, [x[k] if has else x for x, has in zip(leaves, mapped, strict=True)])
        turns.append(map_tensors(_whole, cell(*inner)))
    parts = [flatten(turn) for turn in turns]
    _require_dense(cells, bool(without_values(parts[0][1])))
    stacked = []
    for i, axis in enumerate(_spread("vmap of a CellList: what its cells return", "out_axes", turns[0], axes)):
        if axis is None:
            raise TransformError("vmap of a CellList: every result differs from cell to cell", loc=user_loc())
        stacked.append(F.stack([flat[i] for flat, _ in parts], axis))
    return unflatten(parts[0][1], stacked)
