"""The tracer: what calls of cells, control flow on tensors and gradients become in the graph that is recorded."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphc.errors import Loc, user_loc
from graphc.errors.locations import is_same_code
from graphc.nn.cell.cell import Cell
from graphc.ops.gradients.reverse import GradOperation, ValueAndGrad
from graphc.ops.gradients.transforms import Transform
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.trace import hooks, mixed, stages
from graphc.trace.cells import CellCall, CellNames, refuse_arguments
from graphc.trace.conversion.code_names import is_users
from graphc.trace.conversion.convert import converted
from graphc.trace.conversion.generators import refuse_suspended
from graphc.trace.dynamic import counted_places, known_values
from graphc.trace.flow import conditions, scans
from graphc.trace.function_transforms import custom_gradients, gradient, jvp_vmap
from graphc.trace.mutation import inplace
from graphc.trace.recorder import GraphRecorder


class Tracer(GraphRecorder):
    """Implements `graphc.dispatch.Recorder` for graph mode."""

    def __init__(self, name: str, parent: Tracer | None = None) -> None:
        super().__init__(name, parent)
        self.cells: list[Cell] = parent.cells[-1:] if parent else []
        #: Of the outermost tracer: Input nodes whose name says little, until a cell of the user's is given them.
        self.unnamed: set[int] = set()
        #: The calls of Cells, in the order in which they began; None where nobody asks.
        self.cell_calls: list[CellCall] | None = parent.cell_calls if parent else []
        #: The innermost one that is going on.
        self.call: CellCall | None = parent.call if parent else None
        self.names: CellNames = parent.names if parent else CellNames()

    def branch(self, name: str) -> Tracer:
        # In PYNATIVE_MODE, too: what stands in a subgraph is recorded, and evaluated where its results are asked for.
        return Tracer(name, self)

    # ---- control flow and gradients

    def cond(
        self, pred: Tensor, then: Callable[..., Any], orelse: Callable[..., Any], operands: tuple[Any, ...]
    ) -> Any:
        return conditions.cond(self, pred, inplace.unchanged(then), inplace.unchanged(orelse), operands)

    def while_loop(
        self, test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        return conditions.while_loop(self, inplace.unchanged(test), inplace.unchanged(body), carried)

    def scan(
        self, turn: Callable[[Any, Any], Any], carried: Any, rows: Any, turns: int, reverse: bool
    ) -> tuple[Any, Any] | None:
        return scans.scan(self, turn, carried, rows, turns, reverse)

    def gradient(
        self,
        fn: Callable[..., Any],
        weights: Any,
        args: tuple[Any, ...],
        options: GradOperation | ValueAndGrad | Transform,
    ) -> Any:
        if isinstance(options, Transform):
            return jvp_vmap.transformed(self, fn, args, options)
        return gradient.gradient(self, fn, weights, args, options)

    def is_place(self, x: Tensor) -> bool:
        return counted_places.is_place(self, x)

    def forgives(self, error: Exception, refused: bool = False) -> bool:
        return self.root.counting is not None and self.root.counting.forgives(self, error, refused)

    def found(self, mask: Tensor, name: str) -> Tensor:
        return counted_places.found(self, mask, name)

    @property
    def has_fixed_sizes(self) -> bool:
        counting = self.root.counting
        return counting is None or counting.fixed

    def size_of(self, x: Tensor) -> int | None:
        return counted_places.size_of(self, x)

    def value_of(self, x: Tensor) -> Any:
        return known_values.value_of(x)

    def places_before(self, size: Deferred) -> Tensor:
        return counted_places.places_before(self, size)

    def note_room(self, size: Deferred) -> None:
        counted_places.note_room(self, size)

    def ranks(self, mask: Tensor, size: int) -> Tensor | None:
        return counted_places.ranks(self, mask, size)

    def custom_gradient(self, name: str, args: tuple[Any, ...], result: Any, bprop: Callable[..., Any]) -> Any:
        return custom_gradients.custom_gradient(self, name, args, result, bprop)

    # ---- calls

    def run(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the outermost cell's construct; what it returns."""
        self.cells.append(cell)
        with self._calling(cell, ""), self.region(cell.region or "forward"):
            try:
                return self._construct_of(cell)(*args, **kwargs)
            except Exception as error:
                refuse_arguments(cell, args, kwargs, error)
                raise

    def call_cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace a Cell inside another; leaves a record for `gradient`."""
        self._name_inputs(cell, args, kwargs)
        region = cell.region or self.regions[-1]
        path = self._path(cell)
        self.scopes.append(path)
        self.cells.append(cell)
        try:
            with self._calling(cell, path), self.region(region):
                return self.recorded_call(cell, self._construct_of(cell), args, kwargs)
        except Exception as error:
            refuse_arguments(cell, args, kwargs, error)
            raise
        finally:
            self.scopes.pop()
            self.cells.pop()

    def call_function(
        self, fn: Callable[..., Any], cell: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a function that is compiled where it is called alone: `cell()` then gives its Cell, and the arguments of
        that. Here it is a part of what is traced.
        """
        return self.prepared(fn, (*args, *kwargs.values()))(*args, **kwargs)

    @contextmanager
    def _calling(self, cell: Cell, path: str) -> Iterator[None]:
        """Note that a cell is called, where somebody asks."""
        if self.cell_calls is None:
            yield
            return
        around = self.call
        if self.names.holders:
            self.cell_calls += self.names.take_holders()
        self.call = CellCall.begin(cell, path, user_loc(sys._getframe(3)), around, self.graph.ids.next)
        self.cell_calls.append(self.call)
        try:
            yield
        finally:
            self.call.end = self.graph.ids.next
            # What is made when the outermost one has returned is its, too.
            self.call = around or self.call

    def line(self, executed: Loc | None) -> Loc | None:
        """Where no code of the user's stands between a Cell and its nodes, the line that made the Cell if it is the library's
        that calls it, such as the loss or the optimizer.
        """
        call = self.call
        return call.own if call is not None and is_same_code(executed, call.caller) else executed

    def _construct_of(self, cell: Cell) -> Callable[..., Any]:
        """The cell's construct, ready to run: in the dtype of `to_float`, with the gradient of the cell's own `bprop`, and
        between its hooks.
        """
        return stages.entering(self, cell, hooks.hooked(self, cell, self._own_construct(cell)))

    def _own_construct(self, cell: Cell) -> Callable[..., Any]:
        refuse_suspended(cell)

        def construct(*args: Any, **kwargs: Any) -> Any:
            return self.prepared(cell.construct, (*args, *kwargs.values()))(*args, **kwargs)

        if mixed.sees_others(cell):
            construct = mixed.construct_of(cell, self.prepared)
        bprop = custom_gradients.bprop_of(cell)
        if bprop is None:
            return construct

        def run(*args: Any, **kwargs: Any) -> Any:
            args = custom_gradients.by_position(cell.construct, args, kwargs)
            return self.custom_gradient(type(cell).__name__, args, construct(*args), self.prepared(bprop))

        return run

    def prepared(self, fn: Callable[..., Any], given: tuple[Any, ...] = ()) -> Callable[..., Any]:
        """A user's function as it is to be run: with its control flow on tensors converted. given: its arguments, if known."""
        return converted(fn, given)

    def _name_inputs(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Inputs that the outermost cell takes as `*inputs` are called what the cell behind it calls them, at best the user's."""
        root = self.root
        assert isinstance(root, Tracer)
        if not root.unnamed:
            return
        try:
            bound = inspect.signature(cell.construct).bind(*args, **kwargs)
        except (TypeError, ValueError):
            return  # The call itself says what is wrong.
        kinds = bound.signature.parameters
        construct: Any = cell.construct
        final = is_users(getattr(construct, "__func__", construct))
        for name, value in bound.arguments.items():
            if not isinstance(value, TracedTensor) or kinds[name].kind is inspect.Parameter.VAR_POSITIONAL:
                continue
            recorder, handle = value.handle
            taken = {root.graph.node(i).name for i in root.graph.inputs}
            if recorder is root and handle.node in root.unnamed and name not in taken:
                root.graph.set_node(handle.node, name=name)
                if final:
                    root.unnamed.discard(handle.node)

    def _path(self, cell: Cell) -> str:
        """The cell's path: its name in the cell that calls it, as that one's cells_and_names() has it, or its class name."""
        parent = self.cells[-1] if self.cells else None
        name = (self.names.of(parent, cell) if parent is not None else None) or type(cell).__name__
        if parent is not None and "." in name:
            self.names.note_holders(parent, name, self.scopes[-1])
        return f"{self.scopes[-1]}.{name}" if self.scopes[-1] else name
