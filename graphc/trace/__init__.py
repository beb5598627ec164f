"""Tracing: a Cell and example inputs become a graph. Knows Cells and ops; knows no passes and no code generation."""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from graphc.context import leaves_to_python
from graphc.errors import GraphcError
from graphc.ir import Graph
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, flatten, unflatten
from graphc.trace.cells import CellCall, bound_arguments, own_signature
from graphc.trace.conversion.code_names import definition
from graphc.trace.dynamic.counted_places import Counting
from graphc.trace.dynamic.known_values import Told
from graphc.trace.dynamic.size_numbers import measured
from graphc.trace.function_transforms import untrained
from graphc.trace.mutation import outliving
from graphc.trace.mutation.attributes import Again, Attributes
from graphc.trace.mutation.cell_state import Kept
from graphc.trace.mutation.inplace import opened, refuse_leaks
from graphc.trace.standins import Joined
from graphc.trace.tracer import Tracer

__all__ = ["Counting", "Traced", "input_names", "trace"]


@dataclass(frozen=True)
class Traced:
    """A traced cell: its graph, its parameters by Param node id, names of its tensor arguments, structure of its results,
    which of these are Python numbers, and which Cells were called."""

    graph: Graph
    params: dict[int, Parameter]
    names: tuple[str, ...]
    structure: Structure
    numbers: tuple[bool, ...]
    calls: tuple[CellCall, ...]
    #: Whether rows are read from tables whose gradients may be RowTensors.
    by_rows: bool = False
    #: The attributes of Cells that it sets.
    kept: tuple[Kept, ...] = ()


def trace(
    cell: Cell,
    leaves: list[Tensor],
    structure: Structure,
    counting: Counting | None = None,
    apart: bool = False,
    attributes: Callable[[], Attributes] | None = None,
) -> Traced:
    """Run `cell.construct` on symbolic tensors. `leaves` and `structure` are the flattened (args, kwargs).

    counting: how much room there is for what is counted; None: that is refused. apart: traces for several sizes are compared, so
    that equal numbers must not be one constant. attributes: made for each trace, of those that a step may set; None: that is
    refused. Raises what ops and users' code raise, with the user's line. The cell is not changed.
    """
    while True:
        try:
            return _traced(cell, leaves, structure, counting, apart, attributes and attributes())
        except Again:  # Each time an attribute more is known.
            continue


def _traced(
    cell: Cell,
    leaves: list[Tensor],
    structure: Structure,
    counting: Counting | None,
    apart: bool,
    attributes: Attributes | None,
) -> Traced:
    tracer = Tracer(type(cell).__name__)
    tracer.counting, tracer.apart, tracer.attributes = counting, apart, attributes
    tracer.plain = leaves_to_python() and not cell.always_compiles
    names = input_names(cell, structure, leaves)
    symbols: list[Any] = []
    inputs: dict[int, int] = {}
    for name, x in zip(names, leaves, strict=True):
        if isinstance(x, Parameter):
            symbols.append(x)  # A reference: the cell may write it.
            continue
        node = tracer.graph.add("Input", types=(x.tensor_type,), name=name)
        inputs[len(symbols)] = node.id
        tracer.places[node.id] = len(symbols)
        if isinstance(x, Told):  # The step is that of these integers.
            symbols.append(x.item() if x.is_number else tracer.wrap(tracer.constant(Tensor.wrap(x.contents))))
        else:
            symbols.append(tracer.wrap(node.outputs[0], x.is_number))
    args, kwargs = tracer.given = unflatten(structure, symbols)
    containers = outliving.containers(bound_arguments(cell, args, kwargs).arguments)
    tracer.unnamed = {node for place, node in inputs.items() if names[place] not in _parameters(cell)}
    try:
        with tracer.active(), nullcontext() if attributes is None else attributes.traced(tracer):
            returned = tracer.run(cell, args, kwargs)
            results, out_structure = flatten(measured(returned), opened=opened(tracer))
            for x in results:
                if isinstance(x, Joined):
                    raise x.error(returned=True)
            # A returned Parameter is a reference: what it holds when the step ends.
            values = [tracer.resolve(x) for x in results]
            written = set(tracer.written)
            kept = () if attributes is None else attributes.end(opened(tracer))
        outliving.tell_of_arguments(containers, returned, cell.__dict__.get("_function", cell.construct))
        refuse_leaks(cell, tracer, attributes)
        untrained.warn(cell, tracer.requests, written)
        untrained.warn_of_lists(cell, tracer.requests, tracer.params.values())
        untrained.warn_of_optimizers(cell, tracer.cell_calls or (), written)
    except Exception as error:
        outliving.let_go(tracer)
        if isinstance(error, GraphcError) and counting is not None:
            counting.explain(error)
        raise
    finally:
        # What it made refers to it in circles, which would keep the cell for a while.
        tracer.cells.clear()
        tracer.calls.clear()
        tracer.names.clear()
        tracer.given = ()
        if attributes is not None:
            attributes.forget()
    updates = [(node_id, tracer.state[id(p)]) for node_id, p in tracer.params.items() if id(p) in tracer.written]
    names = [tracer.graph.node(inputs[i]).name if i in inputs else name for i, name in enumerate(names)]
    tracer.graph.set_results(zip(_result_names(cell, len(values)), values, strict=True), updates)
    numbers = tuple(x.is_number for x in results)
    if tracer.call is not None:
        tracer.call.end = tracer.graph.ids.next
    calls = tuple(tracer.cell_calls or ())
    return Traced(
        tracer.graph, tracer.params, tuple(names), out_structure, numbers, calls, bool(tracer.row_reads), tuple(kept)
    )


def input_names(cell: Cell, structure: Structure, leaves: list[Tensor]) -> list[str]:
    """One name per tensor: the parameter of `construct` that receives it, numbered where it receives several."""
    placeholders = unflatten(structure, [_Place(i) for i in range(len(leaves))])
    args, kwargs = placeholders
    bound = bound_arguments(cell, args, kwargs)
    names: list[str] = [""] * len(leaves)
    for name, value in bound.arguments.items():
        places = list(_places(value))
        for k, place in enumerate(places):
            names[place.number] = name if value is place else f"{name}{k}"
    return names


def _parameters(cell: Cell) -> set[str]:
    """The names of a construct's parameters that receive one argument each."""
    parameters = own_signature(cell).parameters.values()
    return {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


@dataclass(frozen=True)
class _Place:
    """Stands for tensor `number` among the arguments."""

    number: int


def _places(tree: Any) -> Iterator[_Place]:
    if isinstance(tree, _Place):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for x in tree:
            yield from _places(x)
    elif isinstance(tree, dict):
        yield from _places(tuple(tree.values()))


def _result_names(cell: Cell, count: int) -> list[str]:
    """The names in the last `return a, b` of construct where it has that form, else result0, result1, ..."""
    code = getattr(inspect.unwrap(cell.construct), "__code__", None)
    try:
        tree = definition(code) if code is not None else None
    except (SyntaxError, tokenize.TokenError):
        tree = None
    returns = [n.value for n in ast.walk(tree or ast.Module([], [])) if isinstance(n, ast.Return)]
    if returns:
        last = returns[-1]
        parts = last.elts if isinstance(last, ast.Tuple) else [last]
        names = [p.id if isinstance(p, ast.Name) else p.attr if isinstance(p, ast.Attribute) else "" for p in parts]
        if len(names) == count and all(names) and len(set(names)) == count:
            return names
    return ["result"] if count == 1 else [f"result{i}" for i in range(count)]
