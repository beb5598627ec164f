"""Hooks: functions that see, and may change, what goes into a Cell and what comes out of it, values and gradients."""

from __future__ import annotations

from graphc import dispatch
from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops.gradients.custom import Hook, HookHandle


class Hooks:
    """The part of Cell that registers hooks. They run in the order they are registered; None as their result changes nothing."""

    def _register(self, kind: str, hook: Hook) -> HookHandle:
        if not callable(hook):
            raise ArgumentTypeError(f"{kind}: the hook must be a function, got {type(hook).__name__}", loc=user_loc())
        held = self.__dict__.setdefault("_hooks", {}).setdefault(kind, [])

        def changed() -> None:
            # An attribute that is a number: compiled steps compare it.
            self.__dict__["_hook_changes"] = self.__dict__.get("_hook_changes", 0) + 1
            dispatch.touch()

        return HookHandle(held, hook, changed)

    def hooks(self, kind: str) -> list[Hook]:
        """The hooks that were registered by the method of this name."""
        return list(self.__dict__.get("_hooks", {}).get(kind, ()))

    def register_forward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """hook_fn(cell, inputs) before `construct`: what it returns, a tuple or a single value, takes the inputs' place."""
        return self._register("register_forward_pre_hook", hook_fn)

    def register_forward_hook(self, hook_fn: Hook) -> HookHandle:
        """hook_fn(cell, inputs, output) after `construct`: what it returns takes the output's place."""
        return self._register("register_forward_hook", hook_fn)

    def register_backward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """hook_fn(cell, grad_output) on the way back, before the cell: what it returns takes the gradient's place."""
        return self._register("register_backward_pre_hook", hook_fn)

    def register_backward_hook(self, hook_fn: Hook) -> HookHandle:
        """hook_fn(cell, grad_input, grad_output) on the way back, behind the cell: what it returns takes the place of the
        inputs' gradients. Both are tuples. In PYNATIVE_MODE only: a compiled step refuses it (GC153).
        """
        return self._register("register_backward_hook", hook_fn)


__all__ = [
    "Hooks",
]
