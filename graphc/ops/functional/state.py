"""Parameters, order, float status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import Operand, call, cast_to, is_number, number
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import map_tensors


def assign_parameter(variable: Parameter, value: Operand) -> Tensor:
    """Write `value` into a parameter, as `as_held` makes it; returns the new value.

    What `depend` made of a parameter is still that parameter: it is written after what it depends on.
    """
    wait = ()
    if not isinstance(variable, Parameter) and isinstance(held := getattr(variable, "parameter", None), Parameter):
        variable, wait = held, variable.after
    if not isinstance(variable, Parameter):
        raise ArgumentTypeError(f"assign needs a Parameter, got {type(variable).__name__}", loc=user_loc())
    tensor = as_held(variable, value)
    active = dispatch.recorder.get()
    if active is not None:
        return active.assign(variable, active.depend_on(tensor, wait))
    if tensor.shape != variable.shape:
        raise ShapeError(
            f"assign: the value is {tensor.tensor_type}, parameter {variable.name!r} is {variable.tensor_type}",
            loc=user_loc(),
        )
    return variable.set_data(tensor).value()


def as_held(variable: Tensor, value: Operand) -> Tensor:
    """A value as a parameter or tensor can hold it: cast to its dtype, a single element in its shape. DTypeError for float64,
    and for floats that would become integers.
    """
    tensor = number(value, variable.tensor_type.dtype) if is_number(value) else as_tensor(value)
    if not _fits(tensor.tensor_type.dtype, variable.tensor_type.dtype):
        name = f"parameter {variable.name!r}" if isinstance(variable, Parameter) else "a tensor"
        raise DTypeError(
            f"assign: a {tensor.tensor_type.dtype} value cannot go into {name}, which is {variable.tensor_type}",
            loc=user_loc(),
            help="cast it first",
        )
    if tensor.shape != variable.shape and tensor.size == variable.size == 1:
        tensor = reshape(tensor, variable.shape)
    return cast_to(tensor, variable.tensor_type.dtype)


def _fits(dtype: str, wanted: str) -> bool:
    """Whether a value of one dtype is cast to another when it is assigned: not float64, no float to an integer or bool, and
    no integer to a bool.
    """
    kinds = {"bool": 0, "float64": 3, **dict.fromkeys(("float16", "bfloat16", "float32"), 2)}
    return kinds.get(dtype, 1) <= kinds.get(wanted, 1)


def depend(value: Any, expr: Any) -> Any:
    """`value`, but not before everything in `expr` has been computed."""
    active = dispatch.recorder.get()
    return value if active is None else active.depend(value, expr)


def stop_gradient(value: Any) -> Any:
    """A tensor, or the tensors of a nest, as constants of differentiation; numbers, texts and None are constants already."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, (tuple, list, dict, Sparse)):
        return map_tensors(stop_gradient, value)
    return call("StopGradient", as_tensor(value))


def clear_float_status(after: Any = ()) -> Tensor:
    """A cleared float status (int32[8]), made after everything in `after`."""
    active = dispatch.recorder.get()
    if active is None:
        return call("ClearFloatStatus")
    return active.record("ClearFloatStatus", (), {}, after=after)[0]


def get_float_status(status: Tensor, outputs: Sequence[Tensor]) -> Tensor:
    """bool: the status is set or any element of `outputs` is infinite or NaN."""
    return call("GetFloatStatus", status, *outputs)


def all_finite(inputs: Sequence[Tensor]) -> Tensor:
    """bool: every element of every tensor is finite."""
    return call("AllFinite", *inputs)


__all__ = [
    "all_finite",
    "clear_float_status",
    "depend",
    "get_float_status",
    "stop_gradient",
]
