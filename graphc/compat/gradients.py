"""`mindspore._no_grad` and `mindspore.common._Function`: parts of a program without gradients, and functions with their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

from graphc import dispatch
from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


class _no_grad:
    """What is computed inside is constant to gradients: `with _no_grad():`, or a decorator. In compiled Cells, too."""

    def __init__(self) -> None:
        self._tokens: list[Any] = []

    def __enter__(self) -> Self:
        self._tokens.append(dispatch.detached.set(True))
        return self

    def __exit__(self, *exc: object) -> None:
        dispatch.detached.reset(self._tokens.pop())

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, without gradients."""

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            active = dispatch.recorder.get()
            with _no_grad():
                made: R = (function if active is None else active.prepared(function))(*args, **kwargs)
            return made

        return run


class _Function:
    """A function with a gradient of its own: a class with static methods `forward(ctx, *args)` and `backward(ctx, *douts)`, or
    `forward(*args)`, `setup_context(ctx, inputs, output)` and `backward`. It is called by `apply`.

    backward returns a gradient for each argument of forward, None for those that have none; each has its argument's shape and
    dtype (GradientError). In MindSpore it is for PYNATIVE_MODE alone.
    """

    saved_tensors: tuple[Any, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    #: Gradients of results that nothing depends on are zeros in any case.
    materialize_grads = True

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """What the function returns."""
        raise NotImplementedError("forward function should be customized.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the results."""
        raise NotImplementedError("backward function should be customized.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep in ctx what `backward` needs, where `forward` is not given it."""
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """The function of these arguments, with its gradient."""
        ctx = cls()
        apart = cls.setup_context is not _Function.setup_context
        bound = inspect.signature(cls.forward).bind(*(() if apart else (ctx,)), *args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise ArgumentTypeError(
                f"{cls.__name__}.apply: arguments by name alone ({', '.join(bound.kwargs)}) have no gradients",
                loc=user_loc(),
                help="let forward take them by position",
            )
        given = bound.args if apart else bound.args[1:]
        active = dispatch.recorder.get()

        def prepared(function: Callable[..., Any]) -> Callable[..., Any]:
            return function if active is None else active.prepared(function)

        result = prepared(cls.forward)(*bound.args)
        if apart:
            prepared(cls.setup_context)(ctx, given, result)
        if active is None:
            return result

        def bprop(*values: Any) -> Any:
            *_, douts = values
            made = prepared(cls.backward)(ctx, *(douts if isinstance(douts, (tuple, list)) else (douts,)))
            return tuple(made) if isinstance(made, (tuple, list)) else (made,)

        constant = {id(x) for x in ctx.non_differentiable}
        made = active.custom_gradient(cls.__name__, given, result, bprop)
        if not constant:
            return made
        if isinstance(result, Tensor):
            return stop_gradient(made)
        return type(made)(stop_gradient(m) if id(r) in constant else m for r, m in zip(result, made, strict=True))

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors as `saved_tensors`."""
        self.saved_tensors = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which arguments `forward` writes in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which results have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Accepted: `backward` is given zeros, never None, for results that nothing depends on."""


__all__: list[str] = []  # What it has is private.
