"""Tracing gradients that users write: a Cell's `bprop`, InsertGradientOf, HookBackward, backward hooks. Each becomes CustomGrad
nodes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from typing import Any, cast

import numpy as np

from graphc.errors import GradientError, TraceError, user_loc
from graphc.ir import TensorType, Value
from graphc.nn.cell.cell import Cell
from graphc.ops import functional as F
from graphc.ops.functional.printing import PrintLog, expect_later
from graphc.ops.gradients.custom import HostFunction
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, unflatten
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
    outputs, structure = flatten(result)
    if not flatten(args)[0] or not outputs:
        return result
    operands, attrs = _boundary(recorder, name, args, result, bprop)
    return unflatten(structure, recorder.record("CustomGrad", operands, attrs))


def _boundary(
    recorder: GraphRecorder, name: str, args: tuple[Any, ...], result: Any, bprop: Callable[..., Any]
) -> tuple[list[Tensor], dict[str, Any]]:
    """The operands and attributes of the node, see `custom_gradient`."""
    inputs, input_structure = flatten(args)
    outputs, output_structure = flatten(result)

    def rule(xs: list[Tensor], ys: list[Tensor], dys: list[Tensor]) -> list[Tensor | None]:
        of_results = (unflatten(output_structure, group) for group in (ys, dys))
        return _per_tensor(name, args, bprop(*unflatten(input_structure, xs), *of_results))

    try:
        # What is printed before a value is asked for is printed when there is one.
        with redirect_stdout(StringIO()) if recorder.immediate else nullcontext() as said:
            branch, gradients = _traced(recorder, inputs, outputs, rule, recorder.immediate)
        if said is not None:
            sys.stdout.write(said.getvalue())
    except TraceError as error:
        if not recorder.immediate or error.code not in ("GC120", "GC130"):
            raise
        # It asks for values, which are there when the gradient is computed.
        branch, gradients = _traced(recorder, inputs, outputs, _with_values(name, rule))
    if branch.written:
        names = [repr(p.name) for p in map(branch.known.__getitem__, branch.written) if not isinstance(p, PrintLog)]
        done = f"assigns {', '.join(names)}" if names else "prints or raises under a condition on tensors"
        raise GradientError(
            f"the bprop of {name} {done}: a gradient writes no parameters", code="GC153", loc=user_loc()
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
    attrs = {"outs": len(outputs), "ins": len(inputs), "wrt": wrt, "bprop": branch.graph.freeze()}
    return [*outputs, *inputs, *captures], attrs


#: Gradients for inputs, given these, the outputs and the gradients of those.
Rule = Callable[[list[Tensor], list[Tensor], list[Tensor]], list[Tensor | None]]


def _traced(
    recorder: GraphRecorder, inputs: list[Tensor], outputs: list[Tensor], rule: Rule, calls_again: bool = False
) -> tuple[GraphRecorder, list[Tensor | None]]:
    """A subgraph of the gradient, and the gradients in it."""
    branch = recorder.branch("bprop")
    branch.printed, branch.calls_again = [], calls_again
    xs, ys, dys = ([cast(Tensor, branch.carry(t)) for t in group] for group in (inputs, outputs, outputs))
    with branch.active(), branch.region("backward"):
        made = rule(xs, ys, dys)
        if branch.printed:
            made = branch.depend(made, tuple(branch.printed))
    if branch.printed:
        expect_later(recorder)
    return branch, made


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


class Gate:
    """A cell's arguments, whose gradients are what a function makes of them and of the gradients of the cell's results.

    before:  %3 = CustomGrad(%1, %1)   ...   %7 = Relu(%3)
    after:   %3, %3:1 = CustomGrad(%1, %8, %1, %8)   ...   %7 = Relu(%3)   %8 = Fill()   %9 = CustomGrad(%7, %7, %3:1)

    The gradient of the result goes on to two: to the result itself, and to zeros of its size beside the arguments, so that the
    rule there sees both. What the results are is known when the cell has run.
    """

    def __init__(self, recorder: GraphRecorder, name: str, args: tuple[Any, ...]) -> None:
        self._recorder, self._name = recorder, name
        self._given = args
        #: What the cell is called with.
        self.args: tuple[Any, ...] = custom_gradient(recorder, name, (args,), args, lambda x, out, dout: (dout,))
        self._leaves: list[Any] = flatten(self.args)[0]

    def closed(self, output: Any, rule: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
        """The output of the cell. rule(gradients of the arguments, those of the results, in a tuple): new gradients of the
        arguments. GradientError GC153 where it uses what the cell computes.
        """
        results, structure = flatten(output)
        if not results:
            return output
        recorder, name = self._recorder, self._name
        zeros = [F.zeros(x.tensor_type.shape, x.tensor_type.dtype) for x in results]

        def at_input(x: Any, zeros: Any, out: Any, dout: Any) -> Any:
            gradients, arrived = dout
            came = unflatten(structure, arrived)
            return rule(gradients, came if isinstance(came, tuple) else (came,)), None

        gate: Value = self._leaves[0].handle[1]
        operands, attrs = _boundary(recorder, name, (self._given, zeros), (self._given, zeros), at_input)
        values = [recorder.resolve(x) for x in operands]
        self._require_before(gate.node, values)
        types = tuple(x.tensor_type for x in (*self._leaves, *zeros))
        node = recorder.graph.set_node(gate.node, inputs=values, attrs=attrs, types=types)
        carriers = [recorder.wrap(v) for v in node.outputs[len(self._leaves) :]]
        made = custom_gradient(
            recorder, name, (output, carriers), output, lambda x, c, out, dout: (dout, _leaves(dout))
        )
        return made

    def _require_before(self, gate: int, values: list[Value]) -> None:
        """GradientError GC153 if one of the values is computed from what the gate lets through."""
        graph = self._recorder.graph
        seen: set[int] = set()
        stack = [v.node for v in values]
        while stack:
            id = stack.pop()
            if id == gate:
                raise GradientError(
                    f"{self._name} uses what the cell computes",
                    code="GC153",
                    loc=user_loc(),
                    help="compute it of the gradients, or write a bprop",
                )
            if id not in seen and id > gate:
                seen.add(id)
                stack += graph.node(id).predecessors()


def _leaves(tree: Any) -> list[Tensor]:
    return flatten(tree)[0]


def host_call(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """What function(*given) returns (None: the same tensors), when the values are there. PYNATIVE_MODE only."""
    made = call_op("HostCall", *given, function=HostFunction(function))
    return made if isinstance(made, tuple) else (made,)
