"""What the searches are given: functions with their gradients, as tensors; and how they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch, nn, ops
from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import cast_to
from graphc.ops.gradients.reverse import value_and_grad
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: The value of a function at a point, and its gradient.
At = Callable[[Tensor], tuple[Tensor, Tensor]]


def vector(owner: str, name: str, x: Any) -> Tensor:
    """A vector of float32 or float64. ArgumentTypeError, DTypeError, ShapeError."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{owner}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
    if x.tensor_type.dtype not in ("float32", "float64"):
        raise DTypeError(f"{owner}: {name} is {x.tensor_type}, expected dtype float32 or float64", loc=user_loc())
    if x.ndim != 1 or not x.size:
        raise ShapeError(f"{owner}: {name} is {x.tensor_type}, expected a vector", loc=user_loc())
    return x


def called(owner: str, name: str, given: Any) -> None:
    """ArgumentTypeError for what cannot be called."""
    if not callable(given):
        raise ArgumentTypeError(f"{owner}: {name} must be a function, got {type(given).__name__}", loc=user_loc())


def number(owner: str, x: Any, dtype: str) -> Tensor:
    """What a function gives: one number, as a tensor without axes. ShapeError for more."""
    made = as_tensor(x)
    if made.size != 1:
        raise ShapeError(f"{owner}: the function gives {made.tensor_type}, expected one number", loc=user_loc())
    return ops.reshape(cast_to(made, dtype), ())


def evaluated(
    owner: str, function: Callable[..., Any], gradient: Callable[..., Any] | None, args: tuple[Any, ...]
) -> At:
    """The function with its own gradient, or the one that is given for it."""

    def value(x: Tensor) -> Tensor:
        return number(owner, function(x, *args), x.tensor_type.dtype)

    both = value_and_grad(value)

    def at(x: Tensor) -> tuple[Tensor, Tensor]:
        if gradient is None:
            made: tuple[Tensor, Tensor] = both(x)
            return made
        slope = cast_to(as_tensor(gradient(x, *args)), x.tensor_type.dtype)
        if slope.shape != x.shape:
            raise ShapeError(f"{owner}: jac gives {slope.tensor_type} for x {x.tensor_type}", loc=user_loc())
        return value(x), slope

    return at


class _Run(nn.Cell):
    """A function of tensors as a Cell: it is compiled, or runs op by op, as the mode says."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def construct(self, *given: Any) -> Any:
        return self.function(*given)


def run(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function; outside of a trace as a Cell, and numbers that it gives become Python's."""
    if dispatch.recorder.get() is not None:
        return function(*given)
    return tuple(x.item() if isinstance(x, Tensor) and not x.ndim else x for x in _Run(function)(*given))
