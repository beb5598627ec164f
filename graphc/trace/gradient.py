"""Tracing a gradient: a Grad node over a call that was recorded, or is traced now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir import Value
from graphc.nn.cell import Cell
from graphc.ops import functional as F
from graphc.ops.composite import GradOperation
from graphc.ops.tensor import Parameter, Tensor
from graphc.ops.tree import flatten

if TYPE_CHECKING:
    from graphc.trace.recorder import CallRecord, GraphRecorder


def gradient(
    recorder: GraphRecorder,
    fn: Callable[..., Any],
    weights: Any,
    args: tuple[Any, ...],
    options: GradOperation,
) -> Any:
    """What `GradOperation(...)(fn, weights)(*args)` returns; see there."""
    args, sens = (args[:-1], args[-1]) if options.sens_param and args else (args, None)
    if options.sens_param and sens is None:
        raise ArgumentTypeError(
            "the gradient with sens_param=True needs sens as its last argument", code="GC152", loc=user_loc()
        )
    record = _forward(recorder, fn, args)
    inputs = [x for x in args if isinstance(x, Tensor)]
    wanted: list[Tensor] = []
    if options.get_all or not options.get_by_list:
        wanted += inputs if options.get_all else inputs[:1]
        if not inputs and not options.get_all:
            raise ArgumentValueError("there is no tensor input to differentiate for", loc=user_loc())
    parameters = _weights(weights) if options.get_by_list else []
    grads = _grad_node(recorder, record, [*wanted, *parameters], sens, fn)
    for_inputs, for_weights = tuple(grads[: len(wanted)]), tuple(grads[len(wanted) :])
    if not options.get_by_list:
        return for_inputs if options.get_all else for_inputs[0]
    by_list: Any = for_weights[0] if isinstance(weights, Parameter) else for_weights
    return (for_inputs, by_list) if options.get_all else by_list


def _weights(weights: Any) -> list[Tensor]:
    made = [weights] if isinstance(weights, Parameter) else list(weights or ())
    for p in made:
        if not isinstance(p, Parameter):
            raise ArgumentTypeError(f"weights must be Parameters, got {type(p).__name__}", loc=user_loc())
    return made


def _forward(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...]) -> CallRecord:
    """The record of `fn(*args)`: an earlier call if nothing has changed since, else a new one."""
    key = recorder.argument_key((args, {}), fn)
    for record in reversed(recorder.calls):
        if record.fn == fn and record.arguments == key and _is_current(recorder, record):
            return record
    if isinstance(fn, Cell):
        fn(*args)
    else:
        recorder.recorded_call(fn, recorder.prepared(fn), args, {})
    return recorder.calls[-1]


def _is_current(recorder: GraphRecorder, record: CallRecord) -> bool:
    """Written states still hold what the call left, states only read what the call found."""
    expected = {**record.entry, **record.exit}
    return all(recorder.state.get(key) == version for key, version in expected.items())


def _grad_node(
    recorder: GraphRecorder, record: CallRecord, wanted: Sequence[Tensor], sens: Any, fn: Any
) -> list[Tensor]:
    name = type(fn).__name__ if isinstance(fn, Cell) else getattr(fn, "__qualname__", "the function")
    ys, ss = _outputs(recorder, record, sens, name)
    cut: dict[Value, None] = dict.fromkeys(v for v in record.arguments if isinstance(v, Value))
    cut.update(dict.fromkeys(record.entry.values()))
    wrt: list[int] = []
    names: list[str] = []
    positions: list[int] = []
    for x in wanted:
        value = record.entry.get(id(x)) if isinstance(x, Parameter) else recorder.resolve(x)
        if value is not None and recorder.graph.type(value).is_float and ys:
            cut.setdefault(value)
            positions.append(len(wrt))
            wrt.append(list(cut).index(value))
            names.append(_name(recorder, value))
        else:
            positions.append(-1)  # It had no part in the call.
    grads: tuple[Tensor, ...] = ()
    if wrt:
        with recorder.region("backward"):
            attrs = {"ys": len(ys), "wrt": tuple(wrt), "names": tuple(names)}
            operands = [*ys, *ss, *(recorder.wrap(v) for v in cut)]
            grads = recorder.record("Grad", operands, attrs)
    return [grads[i] if i >= 0 else F.zeros_like(x) for i, x in zip(positions, wanted, strict=True)]


def _name(recorder: GraphRecorder, value: Value) -> str:
    node = recorder.graph.node(value.node)
    return f"grad.{node.name}" if node.name else ""


def _outputs(recorder: GraphRecorder, record: CallRecord, sens: Any, name: str) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs that are differentiated, with their weights (ones by default)."""
    outputs = flatten(record.result)[0]
    if sens is None:
        weights: list[Tensor] = [F.ones_like(y) for y in outputs]
    else:
        weights = flatten(sens)[0]
        if len(weights) != len(outputs):
            raise ArgumentTypeError(
                f"sens holds {len(weights)} tensors, {name} returns {len(outputs)}",
                code="GC152",
                loc=user_loc(),
                help="give one sens per output, in the same structure",
            )
    floats = [(y, s) for y, s in zip(outputs, weights, strict=True) if y.type.is_float]
    return [recorder.wrap(recorder.resolve(y)) for y, _ in floats], [s for _, s in floats]
