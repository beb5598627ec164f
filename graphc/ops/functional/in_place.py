"""Methods of Tensor that change it: the tensor holds afterwards what a function makes of it.

In a compiled Cell the name stands for the new tensor, and a Parameter is assigned. A tensor keeps its dtype and its shape.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

from graphc.errors import ShapeError, user_loc
from graphc.ops.functional.arithmetic import added, div, floor_div, subtract
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.core import Number, Operand
from graphc.ops.functional.create import full_like, zeros_like
from graphc.ops.functional.element_updates import (
    fill_diagonal,
    index_copy,
    index_put,
    masked_scatter,
    put,
    scatter_reduced,
)
from graphc.ops.functional.elementwise import add, exp, floor, floor_mod, log, mul, sigmoid, sign, sub, tanh
from graphc.ops.functional.index import index_add, index_fill, write
from graphc.ops.functional.logic import masked_fill
from graphc.ops.functional.products import addmm
from graphc.ops.functional.shapes import broadcast_to
from graphc.ops.functional.special import erfinv
from graphc.ops.functional.state import as_held, assign_parameter, stop_gradient
from graphc.ops.tensor.methods import install, method
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean


def _in_place(name: str, function: Callable[..., Any]) -> Any:
    """A function, and the method of its name, that lets its first operand hold what another function makes of it."""

    @functools.wraps(function)
    def changed(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        write(input, ..., function(input, *args, **kwargs))
        return input

    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    changed.__signature__ = signature.replace(parameters=[first.replace(name="input"), *rest])  # type: ignore[attr-defined]
    changed.__name__ = changed.__qualname__ = name
    changed.__module__ = __name__
    changed.__doc__ = f"The tensor, holding what {function.__name__} makes of what it held."
    install(name, changed)
    return changed


add_, sub_, mul_, div_ = (
    _in_place(n, f) for n, f in (("add_", added), ("sub_", subtract), ("mul_", mul), ("div_", div))
)
floor_divide_, remainder_ = _in_place("floor_divide_", floor_div), _in_place("remainder_", floor_mod)
exp_, log_, floor_ = _in_place("exp_", exp), _in_place("log_", log), _in_place("floor_", floor)
sign_, sigmoid_, tanh_ = _in_place("sign_", sign), _in_place("sigmoid_", sigmoid), _in_place("tanh_", tanh)
clamp_, erfinv_ = _in_place("clamp_", clamp), _in_place("erfinv_", erfinv)
masked_fill_, fill_ = _in_place("masked_fill_", masked_fill), _in_place("fill_", full_like)
zero_, addmm_ = _in_place("zero_", zeros_like), _in_place("addmm_", addmm)
index_put_, masked_scatter_ = _in_place("index_put_", index_put), _in_place("masked_scatter_", masked_scatter)
put_, fill_diagonal_ = _in_place("put_", put), _in_place("fill_diagonal_", fill_diagonal)
index_copy_, scatter_ = _in_place("index_copy_", index_copy), _in_place("scatter_", scatter_reduced)
stop_gradient_ = _in_place("stop_gradient_", stop_gradient)
inplace_sigmoid = sigmoid_


@method("index_fill_")
def index_fill_(input: Tensor, dim: int, index: Any, value: Operand) -> Tensor:
    """The tensor, with entries of an axis filled with a number (MindSpore: Tensor.index_fill_)."""
    write(input, ..., index_fill(input, dim, index, value))
    return input


@method("index_add_")
def index_add_(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """The tensor, with entries of `source`, times alpha, added to those of an axis (MindSpore: Tensor.index_add_)."""
    write(input, ..., index_add(add(input, 0), index, source if alpha == 1 else mul(source, alpha), dim))
    return input


def inplace_index_add(var: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """A parameter, or a tensor in place, with `updates` added to entries of an axis (MindSpore: ops.inplace_index_add)."""
    return index_add_(var, axis, indices, updates).value()


@method("scatter_add_")
def scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """The tensor, with src added to the elements at places along an axis (MindSpore: Tensor.scatter_add_)."""
    write(input, ..., scatter_reduced(input, dim, index, src, "add", name="scatter_add_"))
    return input


@method("copy_")
def copy_(input: Tensor, src: Operand, non_blocking: bool = False) -> Tensor:
    """The tensor, holding another's elements, cast to its dtype and broadcast to its shape (MindSpore: Tensor.copy_).

    non_blocking says how, not what: the elements are there when this returns. Raises ArgumentTypeError, ShapeError.
    """
    boolean("copy_", "non_blocking", non_blocking)
    new = as_tensor(src, "copy_: src")
    lead = new.ndim - input.ndim
    if lead > 0 or any(d not in (1, s) for d, s in zip(new.shape[::-1], input.shape[::-1], strict=False)):
        raise ShapeError(f"copy_: {new.tensor_type} cannot be broadcast to {input.tensor_type}", loc=user_loc())
    write(input, ..., broadcast_to(new, input.shape))
    return input


def assign(variable: Tensor, value: Operand) -> Tensor:
    """Write `value` into a parameter, or a tensor in place, cast to its dtype; returns the new value.

    DTypeError for float64, and for floats that would become integers; ShapeError for another shape.
    """
    if (
        not isinstance(variable, Tensor)
        or variable.is_parameter
        or isinstance(getattr(variable, "parameter", None), Parameter)
    ):
        return assign_parameter(cast("Parameter", variable), value)
    made = as_held(variable, value)
    if made.shape != variable.shape:
        raise ShapeError(f"assign: the value is {made.tensor_type}, the tensor {variable.tensor_type}", loc=user_loc())
    write(variable, ..., made)
    return variable


def assign_add(variable: Tensor, value: Operand) -> Tensor:
    """variable += value."""
    return assign(variable, add(variable, value))


def assign_sub(variable: Tensor, value: Operand) -> Tensor:
    """variable -= value."""
    return assign(variable, sub(variable, value))


__all__ = [
    "assign",
    "assign_add",
    "assign_sub",
    "clamp_",
    "erfinv_",
    "inplace_index_add",
    "inplace_sigmoid",
    "put_",
    "stop_gradient_",
    "tanh_",
    "zero_",
]
