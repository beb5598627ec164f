"""mutable: Python numbers and containers that vary from call to call without a new compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor, as_tensor


class MutableBool(int):
    """A bool whose value is no part of a compiled step."""

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


class MutableInt(int):
    """An int whose value is no part of a compiled step."""


class MutableFloat(float):
    """A float whose value is no part of a compiled step."""


class MutableTuple(tuple[Any, ...]):
    """A tuple that is differentiated item by item, and whose numbers are variables."""


class MutableList(list[Any]):
    """A list that is differentiated item by item, and whose numbers are variables."""


class MutableDict(dict[Any, Any]):
    """A dict that is differentiated item by item, and whose numbers are variables."""


#: What a compiled step takes as a variable number, with the Python type it stands for.
NUMBERS: dict[type, Callable[[Any], bool | int | float]] = {MutableBool: bool, MutableInt: int, MutableFloat: float}

NESTS = (MutableTuple, MutableList, MutableDict)


def host_number(x: Any) -> Tensor:
    """A marked number as a compiled step takes it: a tensor without axes that stands for a Python number."""
    return as_tensor(NUMBERS[type(x)](x))


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """The data, marked: a compiled step takes them as variables (MindSpore: mindspore.mutable).

    input_data: bool, int, float, a Tensor, a sparse one too, or a tuple, list or dict of such. Plain numbers are constants of a
    compiled step, which is compiled again when they change, and plain containers are skipped by `GradOperation(get_all=True)`;
    marked ones are neither. dynamic_len: accepted for a tuple or list; graphc compiles once per length.
    Raises ArgumentTypeError for other data (strings, None, arrays), or for dynamic_len without a tuple or list.
    """
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise ArgumentTypeError(
            f"mutable: dynamic_len needs a tuple or list, got {type(input_data).__name__}", loc=user_loc()
        )
    return _marked(input_data)


def _marked(x: Any) -> Any:
    if isinstance(x, (Tensor, Sparse)) or type(x) in NUMBERS:
        return x
    if isinstance(x, bool):
        return MutableBool(x)
    if isinstance(x, int):
        return MutableInt(x)
    if isinstance(x, float):
        return MutableFloat(x)
    if isinstance(x, tuple):
        return MutableTuple(map(_marked, x))
    if isinstance(x, list):
        return MutableList(map(_marked, x))
    if isinstance(x, dict):
        return MutableDict((k, _marked(v)) for k, v in x.items())
    raise ArgumentTypeError(
        f"mutable: the data must be bool, int, float, Tensor, or a tuple, list or dict of them, got {type(x).__name__}",
        loc=user_loc(),
    )
