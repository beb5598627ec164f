"""Gradients that users write themselves: hooks of tensors, InsertGradientOf and HookBackward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, GradientError, user_loc
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, TracedTensor

# ---- functions that use it

Hook = Callable[..., Any]


class HookHandle:
    """Of a registered hook: `remove()` takes it away. `changed` is called whenever the list of hooks has changed."""

    def __init__(
        self, held: list[Any], hook: Any, changed: Callable[[], None] = lambda: None, prepend: bool = False
    ) -> None:
        self._held, self._changed, self._entry = held, changed, hook
        self._removed = False
        held.insert(0 if prepend else len(held), hook)
        changed()

    def remove(self) -> None:
        """Take the hook away; nothing if it is gone already."""
        if self._removed:
            return
        self._removed = True
        # One of those that are the same: which of them makes no difference to what is called.
        self._held.remove(self._entry)
        self._changed()


@method()
def register_hook(x: Any, hook: Hook) -> HookHandle:
    """hook(gradient) for the gradient of a tensor: what it returns takes the gradient's place, None leaves it.

    x: a Parameter, for the gradient that a gradient function gives for it; or a tensor inside a Cell or a function that is
    differentiated, for the gradient that flows on from it. ArgumentTypeError if hook is no function.
    """
    if not callable(hook):
        raise ArgumentTypeError(f"register_hook: hook must be a function, got {type(hook).__name__}", loc=user_loc())
    held: list[Hook] = x.__dict__.setdefault("grad_hooks", [])
    handle = HookHandle(held, hook, dispatch.touch)
    if isinstance(x, TracedTensor) and len(held) == 1:
        # The name goes on to mean the value behind the hooks.
        x.handle = HookBackward(lambda given: hooked_gradient(x, given[0]))(x).handle
    return handle


def hooked_gradient(x: Any, gradient: Tensor) -> Tensor:
    """A gradient after the hooks that are registered on x."""
    active = dispatch.recorder.get()
    for hook in x.__dict__.get("grad_hooks", ()):
        made = (hook if active is None else active.prepared(hook))(gradient)
        gradient = gradient if made is None else made
    return gradient


def _backward(x: Tensor, rule: Callable[[Tensor], Tensor]) -> Tensor:
    """x, with the gradient rule(dx)."""
    active = dispatch.recorder.get()
    if active is None:
        return x
    made: Tensor = active.custom_gradient(
        "the backward function", (x,), x, lambda x, out, dout: (active.prepared(rule)(dout),)
    )
    return made


class InsertGradientOf:
    """y = InsertGradientOf(f)(x): y is x, the gradient of x is f(gradient of y) (MindSpore: ops.InsertGradientOf).

    f takes a tensor and returns one of the same shape and dtype. ArgumentTypeError if f is no function; when compiled,
    GradientError GC153 for another result. Outside a compiled Cell x is returned.
    """

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        if not callable(f):
            raise ArgumentTypeError(f"InsertGradientOf: f must be a function, got {type(f).__name__}", loc=user_loc())
        self.f = f

    def __call__(self, x: Tensor) -> Tensor:
        return _backward(x, self.f)


def _one(gradient: Tensor, made: Any) -> Tensor:
    """What a hook has made of a gradient: a tensor, a tuple of one, or None for the gradient itself."""
    if isinstance(made, tuple) and len(made) == 1:
        made = made[0]
    return gradient if made is None else made


class HookBackward:
    """y = HookBackward(hook)(x): y is x; hook sees the gradient of y, as a tuple of one (MindSpore: ops.HookBackward).

    What hook returns, a tensor or a tuple of one, takes the gradient's place; None leaves it. MindSpore ignores the hook in
    graph mode; here it is traced into the step. ArgumentTypeError if hook_fn is no function.
    """

    def __init__(self, hook_fn: Callable[[tuple[Tensor, ...]], Any], cell_id: str = "") -> None:
        if not callable(hook_fn):
            raise ArgumentTypeError(
                f"HookBackward: hook_fn must be a function, got {type(hook_fn).__name__}", loc=user_loc()
            )
        self.hook = hook_fn
        self.cell_id = cell_id

    def __call__(self, x: Tensor) -> Tensor:
        active = dispatch.recorder.get()

        def rule(gradient: Tensor) -> Tensor:
            if active is not None and active.immediate:
                made: Tensor = call_op("HostCall", gradient, function=HostFunction(lambda g: self.hook((g,))))
                return made
            return _one(gradient, active.prepared(self.hook)((gradient,)) if active is not None else None)

        return _backward(x, rule)


class HostFunction:
    """A Python function on tensors that have values; its results have the types of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The results as arrays; the arguments themselves where the function returns None."""
        token = dispatch.recorder.set(None)
        try:
            made = self.function(*map(Tensor, arrays))
        finally:
            dispatch.recorder.reset(token)
        if made is None:
            return arrays
        results = made if isinstance(made, tuple) else (made,)
        if [r.shape for r in results] != [a.shape for a in arrays]:
            raise GradientError(
                f"a hook returns {', '.join(str(r.tensor_type) for r in results)} for gradients of shapes "
                + ", ".join(str(a.shape) for a in arrays),
                code="GC153",
            )
        return tuple(r.asnumpy() for r in results)


__all__ = ["HookBackward", "InsertGradientOf"]
