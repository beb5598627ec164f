"""Tracing gradients that users write: a Cell's `bprop`, InsertGradientOf, HookBackward. Each becomes a CustomGrad node."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from graphc.errors import GradientError, TraceError, user_loc
from graphc.ir import TensorType
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, unflatten
from graphc.trace.hooks import host_call
from graphc.trace.recorder import GraphRecorder


def bprop_of(cell: Cell) -> Callable[..., Any] | None:
    """The gradient a Cell defines for itself."""
    return getattr(cell, "bprop", None) if hasattr(type(cell), "bprop") else None


def custom_gradient(
    recorder: GraphRecorder, name: str, args: tuple[Any, ...], result: Any, bprop: Callable[..., Any]
) -> Any:
    """`result` of a call with `args`, whose gradient for the args is what bprop(*args, out, dout) returns.

    bprop returns one gradient per argument, in a tuple (a single one may stand alone); those of Python values are not used.
    In PYNATIVE_MODE one that asks for values, as by `asnumpy`, is called when the gradient is computed, else it is traced here.
    Parameters that the call read get no gradient through it, as in MindSpore. GradientError GC153 for anything else.
    """
    inputs, input_structure = flatten(args)
    outputs, output_structure = flatten(result)
    if not inputs or not outputs:
        return result

    def rule(xs: list[Tensor], ys: list[Tensor], dys: list[Tensor]) -> list[Tensor | None]:
        of_results = (unflatten(output_structure, group) for group in (ys, dys))
        return _per_tensor(name, args, bprop(*unflatten(input_structure, xs), *of_results))

    try:
        branch, gradients = _traced(recorder, inputs, outputs, rule)
    except TraceError as error:
        if not recorder.immediate or error.code not in ("GC120", "GC130"):
            raise
        # It asks for values, which are there when the gradient is computed.
        branch, gradients = _traced(recorder, inputs, outputs, _with_values(name, rule))
    if branch.written:
        written = ", ".join(repr(branch.known[k].name) for k in branch.written)
        raise GradientError(
            f"the bprop of {name} assigns {written}: a gradient writes no parameters", code="GC153", loc=user_loc()
        )
    given = [(i, g) for i, g in enumerate(gradients) if g is not None]
    wrt = tuple(i for i, _ in given)
    values = [(str(i), branch.resolve(g)) for i, g in given]
    for i, (_, value) in zip(wrt, values, strict=True):
        if branch.graph.type(value) != inputs[i].tensor_type:
            raise _unlike(name, branch.graph.type(value), inputs[i].tensor_type)
    branch.graph.set_results(values)
    branch.graph.inputs = (
        *branch.graph.inputs[: len(inputs) + 2 * len(outputs)],
        *(v.node for v in branch.captures.values()),
    )
    captures = [recorder.wrap(outer) for outer in branch.captures]
    attrs = {"outs": len(outputs), "ins": len(inputs), "wrt": wrt, "bprop": branch.graph}
    results = recorder.record("CustomGrad", [*outputs, *inputs, *captures], attrs)
    return unflatten(output_structure, results)


#: Gradients for inputs, given these, the outputs and the gradients of those.
Rule = Callable[[list[Tensor], list[Tensor], list[Tensor]], list[Tensor | None]]


def _traced(
    recorder: GraphRecorder, inputs: list[Tensor], outputs: list[Tensor], rule: Rule
) -> tuple[GraphRecorder, list[Tensor | None]]:
    """A subgraph of the gradient, and the gradients in it."""
    branch = recorder.branch("bprop")
    xs, ys, dys = ([cast(Tensor, branch.carry(t)) for t in group] for group in (inputs, outputs, outputs))
    with branch.active(), branch.region("backward"):
        return branch, rule(xs, ys, dys)


def _with_values(name: str, rule: Rule) -> Rule:
    """The rule as a call of Python on tensors that have values, for PYNATIVE_MODE."""

    def run(xs: list[Tensor], ys: list[Tensor], dys: list[Tensor]) -> list[Tensor | None]:
        def call(*values: Tensor) -> tuple[Tensor, ...]:
            made = rule(list(values[: len(xs)]), list(values[len(xs) : -len(dys)]), list(values[-len(dys) :]))
            for x, g in zip(xs, made, strict=True):
                if g is not None and g.tensor_type != x.tensor_type:
                    raise _unlike(name, g.tensor_type, x.tensor_type)
            filled = (
                Tensor(np.zeros_like(x.asnumpy())) if g is None else g for x, g in zip(values, made, strict=False)
            )
            return (*filled, *values[len(xs) :])

        # A call in Python gives what is like its operands: those behind the inputs are given back.
        made = host_call(call, (*xs, *ys, *dys))[: len(xs)]
        return [g if x.is_floating_point() or x.is_complex() else None for x, g in zip(xs, made, strict=True)]

    return run


def _unlike(name: str, given: TensorType, wanted: TensorType) -> GradientError:
    return GradientError(
        f"the bprop of {name} gives {given} as the gradient of an input that is {wanted}",
        code="GC153",
        loc=user_loc(),
        help="a gradient has the shape and dtype of its input",
    )


def _per_tensor(name: str, args: tuple[Any, ...], made: Any) -> list[Tensor | None]:
    """The gradient of each tensor among the arguments; None where bprop gives None or a Python value."""
    if len(args) == 1 and not isinstance(made, tuple):
        made = (made,)
    if not isinstance(made, tuple) or len(made) != len(args):
        held = f"{len(made)} gradients" if isinstance(made, tuple) else type(made).__name__
        raise GradientError(
            f"the bprop of {name} returns {held} for {len(args)} inputs",
            code="GC153",
            loc=user_loc(),
            help="return a tuple with one gradient per input of construct",
        )
    gradients: list[Tensor | None] = []
    for x, g in zip(args, made, strict=True):
        leaves = flatten(x)[0]
        given = flatten(g)[0]
        if len(leaves) == len(given):
            gradients += given
        elif not given:
            gradients += [None] * len(leaves)
        else:
            raise GradientError(
                f"the bprop of {name} gives {len(given)} gradients for an input of {len(leaves)} tensors",
                code="GC153",
                loc=user_loc(),
            )
    return gradients


def by_position(construct: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call by position, with defaults, as bprop takes them. TraceError for those only named."""
    try:
        bound = inspect.signature(construct).bind(*args, **kwargs)
    except TypeError:
        return args  # The call itself will say what does not fit.
    bound.apply_defaults()
    if bound.kwargs:
        raise TraceError(
            f"a Cell with a bprop cannot take {', '.join(bound.kwargs)} by name only", code="GC153", loc=user_loc()
        )
    return bound.args
