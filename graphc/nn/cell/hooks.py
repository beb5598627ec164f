"""Hooks: functions that see, and may change, what goes into a Cell and what comes out of it, values and gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn.cell.structure import Child, Structure
from graphc.ops.gradients.custom import Hook, HookHandle
from graphc.ops.tensor.parameter import Parameter
from graphc.validation.checks import boolean


class Registered(NamedTuple):
    """A hook of a cell and how it is called."""

    hook: Hook
    with_kwargs: bool = False
    always_call: bool = False


class Hooks(Structure[Child]):
    """The part of Cell that registers hooks. They run in the order they are registered; None as their result changes nothing."""

    def _register(
        self, kind: str, hook: Hook, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        if not callable(hook):
            raise ArgumentTypeError(f"{kind}: the hook must be a function, got {type(hook).__name__}", loc=user_loc())
        for name, value in (("prepend", prepend), ("with_kwargs", with_kwargs), ("always_call", always_call)):
            boolean(kind, name, value)
        held = self.__dict__.setdefault("_hooks", {}).setdefault(kind, [])
        return HookHandle(held, Registered(hook, with_kwargs, always_call), self._hooks_changed, prepend)

    def _hooks_changed(self) -> None:
        # An attribute that is a number: compiled steps compare it.
        self.__dict__["_hook_changes"] = self.__dict__.get("_hook_changes", 0) + 1
        dispatch.touch()

    def hooks(self, kind: str) -> list[Registered]:
        """The hooks that were registered by the method of this name."""
        return list(self.__dict__.get("_hooks", {}).get(kind, ()))

    @property
    def enable_backward_hook(self) -> bool:
        """Whether a hook of the cell sees gradients."""
        return any(self.hooks(f"register_backward_{kind}") for kind in ("hook", "pre_hook"))

    def register_forward_pre_hook(
        self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """hook_fn(cell, inputs) before `construct`: what it returns, a tuple or a single value, takes the inputs' place.

        prepend: before the hooks there are. with_kwargs: hook_fn(cell, args, kwargs), which returns (args, kwargs) or None.
        """
        return self._register("register_forward_pre_hook", hook_fn, prepend, with_kwargs)

    def register_forward_hook(
        self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """hook_fn(cell, inputs, output) after `construct`: what it returns takes the output's place.

        prepend: before the hooks there are. with_kwargs: hook_fn(cell, args, kwargs, output). always_call: also when the
        cell or a hook before it raises; what the hook then raises itself is a warning.
        """
        return self._register("register_forward_hook", hook_fn, prepend, with_kwargs, always_call)

    def register_backward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """hook_fn(cell, grad_output) on the way back, before the cell: what it returns takes the gradient's place."""
        return self._register("register_backward_pre_hook", hook_fn)

    def register_backward_hook(self, hook_fn: Hook) -> HookHandle:
        """hook_fn(cell, grad_input, grad_output) on the way back, behind the cell: what it returns takes the place of the
        inputs' gradients. Both are tuples. A compiled step refuses a hook that uses what the cell computes (GC153).
        """
        return self._register("register_backward_hook", hook_fn)

    def register_parameter_forward_hook(self, hook: Hook | list[dict[str, Any]]) -> None:
        """hook(parameter) gives what `construct` of the cell that holds the parameter sees in its place; the gradient goes
        through it (MindSpore: Cell.register_parameter_forward_hook).

        hook: a function, for all parameters of this cell and those below, or a list of {"params": [...], "hook": function}.
        A later hook of a parameter is given what the earlier ones have made. In both modes. Raises ArgumentTypeError for
        other things, ArgumentValueError for other keys, or parameters that are not the network's.
        """
        owner = "register_parameter_forward_hook"
        places = [(cell, name, p) for _, cell in self.cells_and_names() for name, p in cell._params.items()]
        groups: Any = [{"params": [p for *_, p in places], "hook": hook}] if callable(hook) else hook
        if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
            raise ArgumentTypeError(f"{owner}: hook must be a function or a list of dicts", loc=user_loc())
        found: list[tuple[Any, str, Hook]] = []
        for group in groups:
            if set(group) != {"params", "hook"}:
                raise ArgumentValueError(f'{owner}: a dict has the keys "params" and "hook"', loc=user_loc())
            if not callable(group["hook"]):
                raise ArgumentTypeError(f"{owner}: a hook must be a function", loc=user_loc())
            for p in group["params"]:
                if not isinstance(p, Parameter):
                    raise ArgumentTypeError(f'{owner}: "params" has a {type(p).__name__}', loc=user_loc())
                here = [(cell, name, group["hook"]) for cell, name, held in places if held is p]
                if not here:
                    raise ArgumentValueError(f"{owner}: {p.name!r} is not a parameter of this cell", loc=user_loc())
                found += here
        for cell, name, function in found:
            cell.__dict__.setdefault("_parameter_hooks", {}).setdefault(name, []).append(function)
        self._hooks_changed()


__all__ = [
    "Hooks",
    "Registered",
]
