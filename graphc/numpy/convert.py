"""What the functions share: array-likes as tensors, dtypes by name, promotion.

As in MindSpore, and unlike in NumPy, Python's integers are int32 here and its floats float32, also in lists; a number counts
in promotion as a tensor does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, user_loc
from graphc.ops.functional.core import cast_to, number
from graphc.ops.tensor.dtype import promote, to_name
from graphc.ops.tensor.tensor import Tensor, to_array
from graphc.validation.checks import integer

_WIDE = {"float64": "float32", "int64": "int32"}
_PYTHON = {int: "int32", float: "float32", bool: "bool"}
_WORDS = {"int": "int32", "float": "float32", "bool": "bool"}


def name_of(dtype: Any) -> str:
    """The IR's name of a dtype, a Python type or a text: int is int32, float is float32. DTypeError for anything else."""
    if dtype is None:
        raise DTypeError("None is no dtype", loc=user_loc())
    if isinstance(dtype, str):
        return to_name(_WORDS.get(dtype.lower(), dtype.lower()))
    return _PYTHON[dtype] if isinstance(dtype, type) and dtype in _PYTHON else to_name(dtype)


def tensor(owner: str, x: Any, name: str = "x") -> Tensor:
    """A tensor, number, or nest of lists and tuples of them as a tensor. ArgumentTypeError for anything else."""
    if isinstance(x, Tensor):
        # What stands for a Python number is one of these dtypes, too.
        return ops.cast(x, _WIDE.get(x.tensor_type.dtype, x.dtype)) if x.is_number else x
    if isinstance(x, bool):
        return Tensor.wrap(np.asarray(x))
    if isinstance(x, (int, float)):  # NumPy's float64 is a float.
        made = number(x, "int32" if isinstance(x, int) else "float32").array
        assert made is not None
        return Tensor.wrap(made)
    if not isinstance(x, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a Tensor, a number, or a list or tuple of them, got {type(x).__name__}",
            loc=user_loc(),
            help="Tensor(array) makes a tensor of a NumPy array" if isinstance(x, np.ndarray) else None,
        )
    if _holds_tensors(x):
        return narrowed(ops.stack(promoted(*(tensor(owner, item, name) for item in x))))
    array = to_array(x)
    return Tensor.wrap(array.astype(_WIDE.get(array.dtype.name, array.dtype)))


def narrowed(x: Tensor) -> Tensor:
    """x without the 64 bits that lists do not keep."""
    return cast_to(x, _WIDE.get(x.tensor_type.dtype, x.tensor_type.dtype))


def _holds_tensors(x: Any) -> bool:
    return isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and any(_holds_tensors(item) for item in x))


def tensors(owner: str, *given: Any) -> tuple[Tensor, ...]:
    """Several array-likes as tensors."""
    return tuple(tensor(owner, x) for x in given)


def common(*given: str) -> str:
    """The dtype that two or more are promoted to; bools stay bools."""
    made = given[0]
    for other in given[1:]:
        made = made if made == other else promote("promotion", made, other)
    return made


def promoted(*given: Tensor) -> tuple[Tensor, ...]:
    """Tensors in their common dtype."""
    wanted = common(*(x.tensor_type.dtype for x in given))
    return tuple(cast_to(x, wanted) for x in given)


def result(x: Tensor, dtype: Any) -> Tensor:
    """x in the dtype that was asked for, if one was."""
    return x if dtype is None else ops.cast(x, name_of(dtype))


def floats(x: Tensor) -> Tensor:
    """x itself if it is a float tensor, else in float32."""
    return x if x.tensor_type.is_float else cast_to(x, "float32")


def sizes(owner: str, shape: Any) -> tuple[int, ...]:
    """A shape given as number, tuple, list or tensor. ArgumentTypeError for other things, ArgumentValueError below 0."""
    if isinstance(shape, Tensor):
        shape = shape.asnumpy().tolist()
    given: Sequence[Any] = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(count(owner, "each size of the shape", d) for d in given)


def count(owner: str, name: str, value: Any, least: int = 0) -> int:
    """A number of things; ArgumentTypeError unless it is an int, ArgumentValueError if it is less than `least`."""
    whole = integer(owner, name, value)
    if whole < least:
        raise ArgumentValueError(f"{owner}: {name} must be at least {least}, got {whole}", loc=user_loc())
    return whole


def elements(x: Tensor, axes: Sequence[int]) -> int:
    """How many elements lie along axes."""
    return math.prod(x.shape[a] for a in axes)
