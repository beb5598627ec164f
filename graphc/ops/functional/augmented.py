"""Python's operators as functions, as MindSpore's graphs of many types have them (mindspore.ops.augassign_add)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops.tensor.tensor import Tensor


def _augmented(name: str, symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def augassign(x: Any, y: Any) -> Any:
        return function(x, y)

    augassign.__name__ = augassign.__qualname__ = f"augassign_{name}"
    augassign.__doc__ = f"x {symbol} y of tensors, numbers or other values of Python's: a new one, x stays as it is."
    return augassign


augassign_add = _augmented("add", "+", operator.add)
augassign_sub = _augmented("sub", "-", operator.sub)
augassign_mul = _augmented("mul", "*", operator.mul)
augassign_div = _augmented("div", "/", operator.truediv)
augassign_floordiv = _augmented("floordiv", "//", operator.floordiv)
augassign_mod = _augmented("mod", "%", operator.mod)


def deepcopy(input_x: Tensor) -> Tensor:
    """A tensor of its own with the contents of another; gradients pass. ArgumentTypeError for what is no tensor."""
    if not isinstance(input_x, Tensor):
        raise ArgumentTypeError(f"deepcopy: input_x must be a Tensor, got {type(input_x).__name__}", loc=user_loc())
    return input_x.twin()


__all__ = [
    "augassign_add",
    "augassign_div",
    "augassign_floordiv",
    "augassign_mod",
    "augassign_mul",
    "augassign_sub",
    "deepcopy",
]
