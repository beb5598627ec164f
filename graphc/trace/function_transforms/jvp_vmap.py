"""Tracing function transforms: a Vmap node over a function that is traced into a subgraph, Jvp nodes over a recorded call,
Jacobians, which are Vmap nodes over gradients or tangents, and Taylor series, which are tangents of tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops import functional as F
from graphc.ops.gradients.derivatives import derivatives_along
from graphc.ops.gradients.reverse import name_of
from graphc.ops.gradients.transforms import Jacobian, Mapping, Series, Tangents, Transform
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, unflatten
from graphc.trace.function_transforms import vmap
from graphc.trace.function_transforms.gradient import PositionError, cut_of, first_output, forward, grad_node
from graphc.trace.function_transforms.separate_arguments import apart
from graphc.trace.recorder import CallRecord, GraphRecorder


def transformed(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...], options: Transform) -> Any:
    """What the transformed function returns; see the functions in `graphc.ops.gradients.derivatives`."""
    if isinstance(options, Mapping):
        return vmap.vmap(recorder, fn, args, options)
    if isinstance(options, Tangents):
        return _jvp(recorder, fn, args, options)
    if isinstance(options, Jacobian):
        return _jacobian(recorder, fn, args, options)
    assert isinstance(options, Series)
    return derivatives_along(fn, args[: options.count], args[options.count :])


def rest_of(results: tuple[Any, ...]) -> Any:
    """The auxiliary outputs: one alone, several in a tuple."""
    return results[1] if len(results) == 2 else results[1:]


# ---- forward mode


def _jvp(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...], options: Tangents) -> Any:
    inputs, tangents = args[: options.count], args[options.count :]
    inputs = tuple(apart(x) for x in inputs)
    record = forward(recorder, fn, inputs)
    outputs = first_output(fn, record.result) if options.has_aux else record.result
    leaves, structure = flatten(outputs)
    made = unflatten(structure, _tangents(recorder, record, inputs, tangents, leaves))
    return (outputs, made, rest_of(record.result)) if options.has_aux else (outputs, made)


def _tangents(
    recorder: GraphRecorder,
    record: CallRecord,
    inputs: Sequence[Tensor],
    tangents: Sequence[Tensor],
    outputs: Sequence[Tensor],
) -> list[Tensor]:
    """The tangent of each output of a call; zeros for bools, and for what does not depend on the inputs."""
    cut = cut_of(record)
    wrt = [cut[record.found[id(x)]] for x in inputs]
    ys = [y for y in outputs if y.tensor_type.dtype != "bool"]
    attrs = {"ys": len(ys), "wrt": tuple(wrt)}
    operands = [*(recorder.wrap(recorder.resolve(y)) for y in ys), *tangents, *(recorder.wrap(v) for v in cut)]
    made = iter(recorder.record("Jvp", operands, attrs) if ys else ())
    return [F.zeros_like(y) if y.tensor_type.dtype == "bool" else next(made) for y in outputs]


# ---- Jacobians


def _jacobian(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...], options: Jacobian) -> Any:
    for p in options.positions:
        if p >= len(args):
            raise PositionError(
                f"grad_position {p} of {name_of(fn)}, which is called with {len(args)} argument{'s' * (len(args) != 1)}",
                loc=user_loc(),
                help="positions count from 0",
            )
        if not isinstance(args[p], Tensor) or args[p].tensor_type.dtype == "bool":
            held = type(args[p]).__name__ if not isinstance(args[p], Tensor) else str(args[p].tensor_type)
            raise ArgumentTypeError(
                f"the Jacobian of {name_of(fn)}: argument {p} must be a tensor of numbers, got {held}", loc=user_loc()
            )
    # What is called again is given what was found: the call may write into its arguments.
    found = tuple(apart(x) if i in options.positions else x for i, x in enumerate(args))
    record = forward(recorder, fn, args)
    outputs = first_output(fn, record.result) if options.has_aux else record.result
    ys = flatten(outputs)[0]
    if not ys or any(y.tensor_type.dtype == "bool" for y in ys):
        raise ArgumentTypeError(f"the Jacobian of {name_of(fn)}: it must return tensors of numbers", loc=user_loc())
    build = _columns if options.forward else _rows
    jacobian = build(recorder, fn, found, options, record, ys)
    if len(ys) == 1:
        made: Any = tuple(jacobian[0])
    elif len(options.positions) == 1:
        made = tuple(row[0] for row in jacobian)
    else:
        made = tuple(map(tuple, jacobian))
    made = made[0] if len(made) == 1 else made
    return (made, rest_of(record.result)) if options.has_aux else made


def _again(
    branch: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...], options: Jacobian
) -> tuple[CallRecord, list[Tensor], list[Tensor]]:
    """The call of fn once more inside a branch: its record, the inputs to differentiate for, the outputs."""
    inputs = [apart(x) if i in options.positions else x for i, x in enumerate(args)]
    record = forward(branch, fn, tuple(inputs))
    outputs = first_output(fn, record.result) if options.has_aux else record.result
    return record, [inputs[p] for p in options.positions], flatten(outputs)[0]


def _rows(
    recorder: GraphRecorder,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    options: Jacobian,
    record: CallRecord,
    ys: list[Tensor],
) -> list[list[Tensor]]:
    """By output and input: one gradient for each element of the output, all at once."""
    made = []
    for k, y in enumerate(ys):

        def pull(branch: GraphRecorder, row: Tensor, k: int = k) -> list[Tensor]:
            inner, inputs, outputs = _again(branch, fn, args, options)
            return grad_node(branch, inner, inputs, outputs[k], row, True, fn)

        rows = vmap.over(recorder, pull, _basis(y), record.entry)
        made.append([F.reshape(r, (*y.shape, *args[p].shape)) for r, p in zip(rows, options.positions, strict=True)])
    return made


def _columns(
    recorder: GraphRecorder,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    options: Jacobian,
    record: CallRecord,
    ys: list[Tensor],
) -> list[list[Tensor]]:
    """By output and input: one tangent for each element of the input, all at once."""
    made: list[list[Tensor]] = [[] for _ in ys]
    for k, p in enumerate(options.positions):

        def push(branch: GraphRecorder, column: Tensor, k: int = k) -> list[Tensor]:
            inner, inputs, outputs = _again(branch, fn, args, options)
            return _tangents(branch, inner, [inputs[k]], [column], outputs)

        columns = vmap.over(recorder, push, _basis(args[p]), record.entry)
        for results, column, y in zip(made, columns, ys, strict=True):
            last = F.transpose(column, (*range(1, len(y.shape) + 1), 0))
            results.append(F.reshape(last, (*y.shape, *args[p].shape)))
    return made


def _basis(x: Tensor) -> Tensor:
    """The unit tensors of x's shape, one behind the other."""
    return Tensor(np.eye(x.size, dtype=x.tensor_type.numpy).reshape(x.size, *x.shape))
