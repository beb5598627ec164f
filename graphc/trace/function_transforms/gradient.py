"""Tracing a gradient: a Grad node over a call that was recorded, or is traced now."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.ir import Node, Value
from graphc.nn.cell.cell import Cell
from graphc.ops import functional as F
from graphc.ops.functional.collective import accumulate
from graphc.ops.functional.table_rows import merged_rows
from graphc.ops.gradients.custom import hooked_gradient
from graphc.ops.gradients.reverse import GradOperation, ValueAndGrad, name_of
from graphc.ops.tensor.mutable import NESTS, NUMBERS, host_number
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.ops.tensor.tree import flatten, map_values, tensors
from graphc.trace.function_transforms import untrained
from graphc.trace.function_transforms.separate_arguments import separated
from graphc.trace.recorder import CallRecord, GraphRecorder
from graphc.validation.wrong_arguments import without_annotations


class PositionError(ArgumentValueError, IndexError):
    """A gradient is asked for an input that the call does not have."""


@dataclass(frozen=True)
class _Request:
    """What to differentiate for: inputs (tensors, or mutable nests of them) and parameters."""

    inputs: tuple[Any, ...]
    parameters: tuple[Parameter, ...]

    def tensors(self) -> list[Tensor]:
        return [*tensors(self.inputs), *self.parameters]


def gradient(
    recorder: GraphRecorder,
    fn: Callable[..., Any],
    weights: Any,
    args: tuple[Any, ...],
    options: GradOperation | ValueAndGrad,
) -> Any:
    """What `GradOperation(...)(fn, weights)(*args)` or `grad(fn, ...)(*args)` returns; see there."""
    if isinstance(options, GradOperation):
        options = ValueAndGrad(sens_param=options.sens_param, selection=options)
    args, sens, given = _split_sens(fn, args, options.sens_param)
    places = frozenset(i for i, x in enumerate(args) if _is_differentiable(recorder, x))
    # Marked numbers become variables once, so that the call and the request mean the same ones.
    args = separated(recorder, fn, tuple(_variables(x) for x in args))
    record = forward(recorder, fn, args)
    request = _request(fn, weights, args, places, options)
    outputs = first_output(fn, record.result) if options.has_aux else record.result
    if outputs is None:
        raise ArgumentTypeError(
            f"the gradient of {name_of(fn)}: it returns None", code="GC151", loc=user_loc(), help="return the loss"
        )
    if request.parameters and not recorder.immediate:
        ys = [recorder.resolve(y) for y in tensors(outputs)]
        recorder.root.requests.append(untrained.request(recorder.graph, ys, request.parameters, record.entry))
    grads = grad_node(recorder, record, request.tensors(), outputs, sens, given, fn)
    accumulate(request.parameters, grads[len(grads) - len(request.parameters) :])
    made = _arranged(request, grads, weights, options)
    if options.with_value:
        return record.result, made
    if options.has_aux:
        return made, record.result[1:]
    return made


def _split_sens(fn: Callable[..., Any], args: tuple[Any, ...], sens_param: bool) -> tuple[tuple[Any, ...], Any, bool]:
    """The arguments of fn, and sens where there is one."""
    if not sens_param:
        _check_arguments(fn, args, None)
        return args, None, False
    help = "the last argument is sens: give one tensor per output of the function"
    if not args:
        raise ArgumentTypeError(
            f"the gradient of {name_of(fn)} with sens_param=True needs sens", code="GC152", loc=user_loc(), help=help
        )
    _check_arguments(fn, args[:-1], help)
    return args[:-1], args[-1], True


def _check_arguments(fn: Callable[..., Any], args: tuple[Any, ...], help: str | None) -> None:
    try:
        signature = inspect.signature(fn.construct if isinstance(fn, Cell) else fn)
    except (TypeError, ValueError):
        return  # A builtin: it will say itself what it misses.
    try:
        signature.bind(*args)
    except TypeError as error:
        raise ArgumentTypeError(
            f"the gradient of {name_of(fn)}: {error}",
            code="GC152" if help else None,
            loc=user_loc(),
            details=[
                f"its signature is {name_of(fn)}{without_annotations(signature)}, given are {len(args)} arguments"
            ],
            help=help,
        ) from None


def _variables(x: Any) -> Any:
    """Numbers marked by `mutable` as tensors; the rest as it is."""
    if type(x) in NUMBERS:
        return host_number(x)
    if isinstance(x, dict):
        return type(x)((k, _variables(v)) for k, v in x.items())
    return type(x)(map(_variables, x)) if isinstance(x, NESTS) else x


# ---- what is asked for


def _request(
    fn: Callable[..., Any], weights: Any, args: tuple[Any, ...], places: Container[int], options: ValueAndGrad
) -> _Request:
    """places: of the arguments that there are gradients for."""
    selection = options.selection
    if selection is not None:
        everything = selection.get_all or not selection.get_by_list
        chosen = args if selection.get_all else args[:1]
        return _Request(
            tuple(x for i, x in enumerate(chosen) if everything and i in places),
            _parameters(weights) if selection.get_by_list else (),
        )
    positions = options.positions
    wanted = () if positions is None else positions if isinstance(positions, tuple) else (positions,)
    for p in wanted:
        if p >= len(args):
            raise PositionError(
                f"grad_position {p} of {name_of(fn)}, which is called with {len(args)} argument{'s' * (len(args) != 1)}",
                loc=user_loc(),
                help="positions count from 0",
            )
    inside = [p % len(args) for p in wanted]
    return _Request(tuple(args[p] for p in inside if p in places), _parameters(weights))


def _is_differentiable(recorder: GraphRecorder, x: Any) -> bool:
    """Tensors, sparse ones too, marked nests, and in a graph nests that hold what it computes; other Python values are constants.

    As in MindSpore, a nest that is not marked is a constant where it is an argument of the whole graph, or nothing is compiled.
    """
    if isinstance(x, (Tensor, Sparse, *NESTS)):
        return True
    if recorder.immediate or not isinstance(x, (tuple, list, dict)):
        return False
    computed = any(isinstance(t, (TracedTensor, Parameter)) for t in tensors(x))
    return computed and not any(x is nest for nest in _nests(recorder.root.given))


def _nests(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (tuple, list, dict)):
        yield tree
        for x in tree.values() if isinstance(tree, dict) else tree:
            yield from _nests(x)


def _parameters(weights: Any) -> tuple[Parameter, ...]:
    if not isinstance(weights, (Parameter, tuple, list, type(None))):
        raise ArgumentTypeError(
            f"weights must be a Parameter, or a tuple or list of them, got {type(weights).__name__}", loc=user_loc()
        )
    made = (weights,) if isinstance(weights, Parameter) else tuple(weights or ())
    for p in made:
        if not isinstance(p, Parameter):
            raise ArgumentTypeError(f"weights must be Parameters, got {type(p).__name__}", loc=user_loc())
    return made


def first_output(fn: Callable[..., Any], result: Any) -> Any:
    """The first of several outputs; TraceError GC151 if there is one only."""
    if not isinstance(result, tuple) or len(result) < 2:
        raise TraceError(
            f"has_aux needs a function that returns several outputs, {name_of(fn)} returns one",
            code="GC151",
            loc=user_loc(),
            help="leave out has_aux",
        )
    return result[0]


def _arranged(request: _Request, grads: list[Tensor], weights: Any, options: ValueAndGrad) -> Any:
    """The gradients in the structure that the options ask for."""
    rest = iter(grads)
    inputs = tuple(_without_numbers(map_values(lambda _: next(rest), x)) for x in request.inputs)
    by_list: Any = tuple(rest)
    selection = options.selection
    if selection is not None:
        single = isinstance(weights, Parameter)
        if not selection.get_by_list:
            return inputs if selection.get_all or not inputs else inputs[0]
        by_list = by_list[0] if single else by_list
        return (inputs, by_list) if selection.get_all else by_list
    if options.return_ids:
        places = options.positions if isinstance(options.positions, tuple) else (options.positions,)
        inputs = tuple(zip(places, inputs, strict=False))
        by_list = tuple((p.name, g) for p, g in zip(request.parameters, by_list, strict=True))
    by_list = by_list[0] if isinstance(weights, Parameter) else by_list
    if options.positions is None:
        return by_list
    for_inputs = inputs[0] if len(inputs) == 1 else inputs
    return for_inputs if weights is None else (for_inputs, by_list)


def _without_numbers(tree: Any) -> Any:
    """The nest with zeros for its numbers, which are constants."""
    if type(tree) in (int, float):
        return type(tree)(0)
    if type(tree) is dict:
        return {k: _without_numbers(v) for k, v in tree.items()}
    return type(tree)(map(_without_numbers, tree)) if type(tree) in (tuple, list) else tree


# ---- the call that is differentiated


def forward(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...]) -> CallRecord:
    """The record of `fn(*args)`: an earlier call if nothing has changed since, else a new one."""
    key = recorder.argument_key((args, {}), fn)
    found = {id(x): recorder.resolve(x) for x in flatten(args)[0] if not isinstance(x, Parameter)}
    for record in reversed(recorder.calls):
        if record.fn == fn and record.arguments == key and _is_current(recorder, record):
            recorder.touch_again(record)
            break
    else:
        if isinstance(fn, Cell):
            fn(*args)
        else:
            recorder.recorded_call(fn, recorder.prepared(fn), args, {})
        record = recorder.calls[-1]
    record.found.update(found)
    return record


def _is_current(recorder: GraphRecorder, record: CallRecord) -> bool:
    """Written states still hold what the call left, states only read what the call found."""
    expected = {**record.entry, **record.exit}
    return all(recorder.state.get(key) == version for key, version in expected.items())


def grad_node(
    recorder: GraphRecorder,
    record: CallRecord,
    wanted: Sequence[Tensor],
    outputs: Any,
    sens: Any,
    sens_given: bool,
    fn: Callable[..., Any],
) -> list[Tensor]:
    """One gradient per wanted tensor; zeros for what has no part in the outputs."""
    ys, ss = _outputs(recorder, outputs, sens, sens_given, fn)
    cut = cut_of(record)
    begin = frozenset(cut)
    wrt: list[int] = []
    names: list[str] = []
    made: list[Callable[[Sequence[Tensor]], Tensor]] = []

    def asked(value: Value, name: str) -> int:
        wrt.append(cut.setdefault(value, len(cut)))
        names.append(name)
        return len(wrt) - 1

    for x in wanted:
        value = record.entry.get(id(x)) if isinstance(x, Parameter) else record.found.get(id(x)) or recorder.resolve(x)
        if value is None or recorder.graph.type(value).dtype == "bool" or not ys:
            made.append(lambda _, x=x: F.zeros_like(x))  # type: ignore[misc]  # It had no part in the call.
            continue
        name, reads = _name(recorder, value), row_reads(recorder, value, ys, begin) if isinstance(x, Parameter) else []
        if reads:
            places = [asked(read.outputs[0], name) for read in reads]
            made.append(lambda g, x=x, r=reads, at=places: _by_rows(recorder, x, r, [g[i] for i in at]))  # type: ignore[misc]
        else:
            made.append(operator.itemgetter(asked(value, name)))
    grads: tuple[Tensor, ...] = ()
    if wrt:
        with recorder.region("backward"):
            attrs = {"ys": len(ys), "wrt": tuple(wrt), "names": tuple(names)}
            operands = [*ys, *ss, *(recorder.wrap(v) for v in cut)]
            grads = recorder.record("Grad", operands, attrs)
    found = [one(grads) for one in made]
    for g, x in zip(found, wanted, strict=True):
        g.is_number = x.is_number
    return [hooked_gradient(x, g) for g, x in zip(found, wanted, strict=True)]


def row_reads(recorder: GraphRecorder, table: Value, ys: Sequence[Tensor], cut: Container[Value]) -> list[Node]:
    """The Gathers of a table's rows between `cut` and `ys`, if all that reads the table there are such as keep to the rows."""
    graph = recorder.graph
    reads = [graph.node(v.node) for v in recorder.row_reads if v.node in graph.users(table.node)]
    if not reads:
        return []
    before: set[int] = set()
    stack = [recorder.resolve(y) for y in ys]
    while stack:
        value = stack.pop()
        if value not in cut and value.node not in before:
            before.add(value.node)
            stack += graph.node(value.node).inputs
    users = {id for id in graph.users(table.node) if id in before and table in graph.node(id).inputs}
    found = sorted((n for n in reads if n.id in users), key=lambda n: n.id)
    return found if len(found) == len(users) and all(n.inputs[0] == table != n.inputs[1] for n in found) else []


def _by_rows(recorder: GraphRecorder, table: Parameter, reads: Sequence[Node], grads: Sequence[Tensor]) -> Tensor:
    """The gradient of a table from those of the rows that were read."""
    with recorder.region("backward"):
        return merged_rows(_read_rows(recorder, table, reads, grads))


def _read_rows(recorder: GraphRecorder, table: Parameter, reads: Sequence[Node], grads: Sequence[Tensor]) -> RowTensor:
    """One row for each that was read."""
    dtype = "int64" if any(recorder.graph.type(n.inputs[1]).dtype == "int64" for n in reads) else "int32"
    indices = [F.cast(F.reshape(recorder.wrap(n.inputs[1]), (-1,)), dtype) for n in reads]
    rows = [F.reshape(g, (-1, *table.shape[1:])) if g.size else F.zeros((0, *table.shape[1:]), g.dtype) for g in grads]
    index, values = (F.concat(tuple(x)) if len(x) > 1 else x[0] for x in (indices, rows))
    return RowTensor(index, values, table.shape)


def cut_of(record: CallRecord) -> dict[Value, int]:
    """The values at which a call begins: its arguments and the states that it read; with their numbers."""
    values = [v for v in record.arguments if isinstance(v, Value)] + list(record.entry.values())
    return {v: i for i, v in enumerate(dict.fromkeys(values))}


def _name(recorder: GraphRecorder, value: Value) -> str:
    node = recorder.graph.node(value.node)
    return f"grad.{node.name}" if node.name else ""


def _outputs(
    recorder: GraphRecorder, outputs: Any, sens: Any, sens_given: bool, fn: Callable[..., Any]
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs that are differentiated, with their weights (ones by default)."""
    results = flatten(outputs)[0]
    if not sens_given:
        weights: list[Any] = [F.ones_like(y) for y in results if y.tensor_type.dtype != "bool"]
        results = [y for y in results if y.tensor_type.dtype != "bool"]
    else:
        weights = _weights_of(outputs, results, sens, fn)
    pairs = [(y, s) for y, s in zip(results, weights, strict=True) if y.tensor_type.dtype != "bool"]
    return [recorder.wrap(recorder.resolve(y)) for y, _ in pairs], [s for _, s in pairs]


def _weights_of(outputs: Any, results: list[Tensor], sens: Any, fn: Callable[..., Any]) -> list[Any]:
    """The tensors of sens, checked against the outputs."""
    weights = flatten(sens)[0]
    several = not isinstance(outputs, Tensor)
    if len(weights) != len(results) or several != isinstance(sens, (tuple, list, dict, Sparse)):
        held = (
            f"a {type(sens).__name__} of {len(weights)} tensors"
            if not isinstance(sens, Tensor)
            else f"{sens.tensor_type}"
        )
        made = f"a {type(outputs).__name__} of {len(results)} tensors" if several else f"{results[0].tensor_type}"
        raise ArgumentTypeError(
            f"sens is {held}, {name_of(fn)} returns {made}",
            code="GC152",
            loc=user_loc(),
            help="give one sens per output, in the same structure",
        )
    return [_like(s, y) for s, y in zip(weights, results, strict=True)]


def _like(sens: Any, output: Tensor) -> Any:
    """A single element in the output's shape: a loss scale of shape (1,) weights a loss without axes, too."""
    if isinstance(sens, Tensor) and sens.shape != output.shape and sens.size == output.size == 1:
        return F.reshape(sens, output.shape)
    return sens
