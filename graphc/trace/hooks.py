"""Calls of cells with hooks, see `graphc.nn.cell.hooks`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import TraceTypeError, stacklevel, user_loc
from graphc.nn.cell.cell import Cell
from graphc.nn.cell.hooks import Registered
from graphc.ops.tensor.tree import tensors
from graphc.trace.function_transforms.custom_gradients import Gate, host_call
from graphc.trace.recorder import GraphRecorder


def hooked(recorder: GraphRecorder, cell: Cell, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, a cell's construct, between the cell's hooks; `run` itself where there are none."""
    if not any(cell.__dict__.get("_hooks", {}).values()):
        return run
    back = cell.hooks("register_backward_hook")

    def call(*args: Any, **kwargs: Any) -> Any:
        output, called = None, []
        try:
            args, kwargs = _before(recorder, cell, args, kwargs)
            arrived: list[Any] = []
            gate = None
            if back and not recorder.immediate and tensors(args):
                gate = Gate(recorder, f"the backward hook of {type(cell).__name__}", args)
                args = gate.args
            elif back:
                args = _at_input(cell, args, arrived)
            output = run(*args, **kwargs)
            for entry in cell.hooks("register_forward_hook"):
                called.append(entry)
                output = _after(recorder, cell, entry, args, kwargs, output)
            if gate is not None:
                output = gate.closed(output, lambda given, came: _through(recorder, cell, given, came))
            if (back and gate is None) or cell.hooks("register_backward_pre_hook"):
                output = _at_output(recorder, cell, output, arrived)
        except Exception:
            _after_failure(recorder, cell, called, args, kwargs, output)
            raise
        return output

    return call


def _before(
    recorder: GraphRecorder, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the hooks before the cell make of its arguments."""
    for entry in cell.hooks("register_forward_pre_hook"):
        hook = recorder.prepared(entry.hook)
        made = hook(cell, args, kwargs) if entry.with_kwargs else hook(cell, args)
        if made is None:
            continue
        if not entry.with_kwargs:
            args = made if isinstance(made, tuple) else (made,)
        elif isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], dict):
            args = made[0] if isinstance(made[0], tuple) else (made[0],)
            kwargs = made[1]
        else:
            raise TraceTypeError(
                "a forward pre hook with kwargs must return None or (args, kwargs), a tuple and a dict",
                code="GC100",
                loc=user_loc(),
                details=[
                    f"it returned {'a tuple of other things' if isinstance(made, tuple) else type(made).__name__}"
                ],
            )
    return args, kwargs


def _after(
    recorder: GraphRecorder, cell: Cell, entry: Registered, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
) -> Any:
    """What a hook behind the cell makes of its output."""
    hook = recorder.prepared(entry.hook)
    made = hook(cell, args, kwargs, output) if entry.with_kwargs else hook(cell, args, output)
    return output if made is None else made


def _after_failure(
    recorder: GraphRecorder,
    cell: Cell,
    called: list[Registered],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Any,
) -> None:
    """Call the hooks behind a cell that has raised which are to be called always, and have not been."""
    for entry in cell.hooks("register_forward_hook"):
        if entry.always_call and not any(entry is other for other in called):
            try:
                output = _after(recorder, cell, entry, args, kwargs, output)
            except Exception as error:
                warnings.warn(f"a forward hook with always_call raised, too: {error}", stacklevel=stacklevel())


def _recorded(name: str, value: Any, rule: Callable[[Any], Any]) -> Any:
    """`value` with the gradient rule(gradient)."""
    active = dispatch.recorder.get()
    if active is None or not tensors(value):
        return value
    return active.custom_gradient(name, (value,), value, lambda x, out, dout: (rule(dout),))


def _at_output(recorder: GraphRecorder, cell: Cell, output: Any, arrived: list[Any]) -> Any:
    def rule(gradient: Any) -> Any:
        given = gradient if isinstance(gradient, tuple) else (gradient,)
        for entry in cell.hooks("register_backward_pre_hook"):
            made = called(recorder, entry.hook, cell, given)
            if made is not None:
                given = made if isinstance(made, tuple) else (made,)
        if cell.hooks("register_backward_hook") and recorder.immediate:
            given = called(recorder, lambda _, g: _note(arrived, g), cell, given)
        return given if isinstance(gradient, tuple) else given[0]

    return _recorded("a backward hook", output, rule)


def _note(arrived: list[Any], gradient: Any) -> Any:
    arrived[:] = gradient
    return gradient


def _at_input(cell: Cell, args: tuple[Any, ...], arrived: list[Any]) -> tuple[Any, ...]:
    def rule(gradient: tuple[Any, ...]) -> Any:
        return called(None, lambda _, given: _through(None, cell, given, tuple(arrived)), cell, gradient)

    made: tuple[Any, ...] = _recorded("a backward hook", args, rule)
    return made


def _through(
    recorder: GraphRecorder | None, cell: Cell, given: tuple[Any, ...], arrived: tuple[Any, ...]
) -> tuple[Any, ...]:
    """What the backward hooks make of the gradients of a cell's arguments; arrived: those of its results."""
    for entry in cell.hooks("register_backward_hook"):
        hook = entry.hook if recorder is None else recorder.prepared(entry.hook)
        made = hook(cell, given, arrived)
        if made is not None:
            given = made if isinstance(made, tuple) else (made,)
    return given


def called(recorder: GraphRecorder | None, hook: Callable[..., Any], cell: Cell, given: tuple[Any, ...]) -> Any:
    """hook(cell, given): traced into a compiled step, called with values in PYNATIVE_MODE."""
    if recorder is not None and not recorder.immediate:
        return recorder.prepared(hook)(cell, given)
    return host_call(lambda *values: hook(cell, values), given)
