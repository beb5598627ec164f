"""Gradients of functions, asked for as functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.tracebacks import clean
from graphc.validation.checks import boolean


class GradFunction:
    """What a gradient transformation returns: called with the arguments of `fn`, gives what `options` ask for.

    Two of the same function, weights and options are equal.
    """

    def __init__(self, fn: Callable[..., Any], weights: Any, options: Any) -> None:
        self.fn, self.weights, self.options = fn, weights, options

    def _key(self) -> tuple[Any, ...]:
        many = isinstance(self.weights, (tuple, list))
        return (self.fn, tuple(map(id, self.weights)) if many else id(self.weights), self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFunction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        active = dispatch.recorder.get()
        try:
            if kwargs:
                args = _positional(self.fn, args, kwargs)
            if active is not None:
                return active.gradient(self.fn, self.weights, args, self.options)
            assert dispatch.execute_gradient is not None
            return dispatch.execute_gradient(self.fn, self.weights, args, self.options)
        except BaseException as error:
            if active is None:
                clean(error)
            raise

    def __repr__(self) -> str:
        return f"<{getattr(self.options, 'noun', 'gradient')} of {name_of(self.fn)}>"


def _positional(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments by position; ArgumentTypeError for those that only have a name."""
    try:
        bound = inspect.signature(getattr(fn, "construct", fn)).bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(f"the gradient of {name_of(fn)}: {error}", loc=user_loc()) from None
    if bound.kwargs:
        raise ArgumentTypeError(
            f"the gradient of {name_of(fn)} cannot take {', '.join(bound.kwargs)} by name only",
            loc=user_loc(),
            help="differentiate a function that sets these arguments",
        )
    return bound.args


def name_of(fn: Any) -> str:
    """A function or Cell as errors name it."""
    return getattr(fn, "__qualname__", None) or type(fn).__name__


def function(owner: str, fn: Any) -> Callable[..., Any]:
    """fn; ArgumentTypeError unless it can be called."""
    if not callable(fn):
        raise ArgumentTypeError(f"{owner}: fn must be a Cell or a function, got {type(fn).__name__}", loc=user_loc())
    made: Callable[..., Any] = fn
    return made


@dataclass(frozen=True)
class GradOperation:
    """`GradOperation(get_all, get_by_list, sens_param)(fn, weights)(*inputs[, sens])`: the gradient of fn.

    Without flags the gradient for the first input; `get_all` a tuple over the inputs; `get_by_list` a tuple over `weights`
    (for a single Parameter its gradient alone); both: (inputs, weights). With `sens_param` the last argument weights the
    outputs, in their structure; otherwise every output is weighted with ones. Gradients have their input's shape and dtype,
    for integers too; bool inputs and what has no part in the outputs get zeros. Python values, and tuples, lists and dicts that
    are not `mutable`, are constants: `get_all` passes them over, and () is the gradient for a first input of that kind.
    Raises ArgumentTypeError for flags that are not bool and, when called, for arguments that do not fit fn or sens that does
    not fit its outputs (GC152). Source: MindSpore's ops.GradOperation.
    """

    get_all: bool = False
    get_by_list: bool = False
    sens_param: bool = False

    def __post_init__(self) -> None:
        for name in ("get_all", "get_by_list", "sens_param"):
            boolean("GradOperation", name, getattr(self, name))

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> GradFunction:
        return GradFunction(function("GradOperation", fn), weights, self)


@dataclass(frozen=True)
class ValueAndGrad:
    """Options of `grad`, `value_and_grad` and nn.ForwardValueAndGrad.

    with_value: return (outputs, gradients). Either `positions` says which inputs are differentiated for (None: none), or
    `selection` is the GradOperation whose flags say it. has_aux: only the first output is differentiated.
    """

    positions: int | tuple[int, ...] | None = None
    has_aux: bool = False
    return_ids: bool = False
    sens_param: bool = False
    with_value: bool = False
    selection: GradOperation | None = None

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> GradFunction:
        return GradFunction(fn, weights, self)


def _options(owner: str, grad_position: Any, weights: Any, with_value: bool, **flags: Any) -> ValueAndGrad:
    for name, value in flags.items():
        boolean(owner, name, value)
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    if grad_position is None:
        if weights is None:
            raise ArgumentValueError(
                f"{owner}: grad_position and weights cannot both be None", loc=user_loc(), help="give one of them"
            )
        return ValueAndGrad(None, with_value=with_value, **flags)
    for p in positions:
        if isinstance(p, bool) or not isinstance(p, int):
            raise ArgumentTypeError(
                f"{owner}: grad_position must be an int or a tuple of ints, got {type(p).__name__}",
                loc=user_loc(),
                help="parameters are named by weights: weights=net.trainable_params()",
            )
        if p < 0:
            raise ArgumentValueError(f"{owner}: grad_position must be at least 0, got {p}", loc=user_loc())
    if len(set(positions)) != len(positions):
        raise ArgumentValueError(f"{owner}: grad_position {grad_position} names a position twice", loc=user_loc())
    return ValueAndGrad(grad_position, with_value=with_value, **flags)


def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> GradFunction:
    """A function of fn's arguments that returns gradients of fn (MindSpore: mindspore.grad).

    grad_position: the input, or tuple of inputs, to differentiate for; one gives its gradient, several a tuple. weights: a
    Parameter, or tuple or list of them; with both, (inputs, weights). has_aux: only fn's first output is differentiated, and
    (gradients, the other outputs) is returned. return_ids: each gradient as (position or parameter name, gradient).
    sens_param: the last argument weights the outputs.
    Raises ArgumentTypeError or ArgumentValueError for such arguments; when called, ArgumentValueError (an IndexError too) for a
    position beyond the inputs, TraceError if has_aux finds a single output.
    """
    owner = "grad"
    flags = {"has_aux": has_aux, "return_ids": return_ids, "sens_param": sens_param}
    return _options(owner, grad_position, weights, False, **flags)(function(owner, fn), weights)


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> GradFunction:
    """As `grad`, but returns (all outputs of fn, gradients), with fn run once (MindSpore: mindspore.value_and_grad)."""
    owner = "value_and_grad"
    flags = {"has_aux": has_aux, "return_ids": return_ids, "sens_param": sens_param}
    return _options(owner, grad_position, weights, True, **flags)(function(owner, fn), weights)


def get_grad(gradients: Any, identifier: int | Parameter) -> Tensor:
    """From what `grad(..., return_ids=True)` gave: the gradient for a position or a Parameter (MindSpore: ops.get_grad).

    Raises ArgumentTypeError for another identifier, TraceError if there is none.
    """
    if isinstance(identifier, bool) or not isinstance(identifier, (int, Parameter)):
        raise ArgumentTypeError(
            f"get_grad: identifier must be an int or a Parameter, got {type(identifier).__name__}", loc=user_loc()
        )
    wanted = identifier.name if isinstance(identifier, Parameter) else identifier
    stack = [gradients]
    while stack:
        item = stack.pop()
        if not isinstance(item, (tuple, list)):
            continue
        if len(item) == 2 and isinstance(item[0], (int, str)) and isinstance(item[1], Tensor):
            if item[0] == wanted:
                return item[1]
        else:
            stack += reversed(item)
    raise TraceError(
        f"get_grad: there is no gradient for {wanted!r}",
        code="GC100",
        loc=user_loc(),
        help="take the gradients with return_ids=True, and for this position or Parameter",
    )


__all__ = [
    "GradOperation",
    "get_grad",
    "grad",
    "value_and_grad",
]
