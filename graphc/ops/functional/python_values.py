"""Functions of numbers, tuples, lists and dicts that MindSpore's graphs know as ops."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError, user_loc
from graphc.ops.declared.bounds import IndexRangeError
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.wrong_arguments import refuse_call

P = ParamSpec("P")
R = TypeVar("R")


class MissingItemError(IndexRangeError, KeyError, shown_as="IndexError"):
    """A key or place that a tuple, list or dict has not."""


class ZeroError(ArgumentValueError, ZeroDivisionError, shown_as="ZeroDivisionError"):
    """A division of numbers by zero."""


def _python(function: Callable[P, R]) -> Callable[P, R]:
    """A function over Python's values. What Python says of those that do not fit is an ArgumentTypeError, of a key or place that
    is not there a MissingItemError, of a division by zero a ZeroError.
    """
    name = function.__name__

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except GraphcError:
            raise
        except LookupError as error:
            raise MissingItemError(f"{name}: there is no such item: {error}", loc=user_loc()) from None
        except ZeroDivisionError as error:
            raise ZeroError(f"{name}: {error}", loc=user_loc()) from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, TypeError):
                refuse_call(function, error)
            raise ArgumentTypeError(f"{name}: {error}", loc=user_loc()) from None

    return checked


def _of_two(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Python's operator, with parameters that can be given by name."""

    def function(x: Any, y: Any) -> Any:
        return operation(x, y)

    _name(function, name, operation)
    return _python(function)


def _of_one(name: str, operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Python's operator, with a parameter that can be given by name."""

    def function(x: Any) -> Any:
        return operation(x)

    _name(function, name, operation)
    return _python(function)


def _name(function: Any, name: str, operation: Any) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = operation.__doc__


scalar_add, scalar_sub = _of_two("scalar_add", operator.add), _of_two("scalar_sub", operator.sub)
scalar_mul, scalar_div = _of_two("scalar_mul", operator.mul), _of_two("scalar_div", operator.truediv)
scalar_floordiv, scalar_mod = _of_two("scalar_floordiv", operator.floordiv), _of_two("scalar_mod", operator.mod)
scalar_pow, scalar_eq = _of_two("scalar_pow", operator.pow), _of_two("scalar_eq", operator.eq)
scalar_ne, scalar_lt = _of_two("scalar_ne", operator.ne), _of_two("scalar_lt", operator.lt)
scalar_le, scalar_gt = _of_two("scalar_le", operator.le), _of_two("scalar_gt", operator.gt)
scalar_ge = _of_two("scalar_ge", operator.ge)
scalar_uadd, scalar_usub = _of_one("scalar_uadd", operator.pos), _of_one("scalar_usub", operator.neg)

tuple_getitem, list_getitem = _of_two("tuple_getitem", operator.getitem), _of_two("list_getitem", operator.getitem)
dict_getitem = _of_two("dict_getitem", operator.getitem)
tuple_len, list_len = _of_one("tuple_len", operator.length_hint), _of_one("list_len", operator.length_hint)
string_eq, tuple_equal = _of_two("string_eq", operator.eq), _of_two("tuple_equal", operator.eq)
list_equal, bool_eq = _of_two("list_equal", operator.eq), _of_two("bool_eq", operator.eq)
string_concat = _of_two("string_concat", operator.add)

is_, is_not = operator.is_, operator.is_not


@_python
def scalar_log(x: Any) -> float:
    """The natural logarithm of a Python number: minus infinity for 0, NaN for negative ones."""
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


@_python
def bool_not(x: Any) -> bool:
    """not x."""
    return not x


@_python
def bool_and(x: Any, y: Any) -> Any:
    """x and y."""
    return x and y


@_python
def bool_or(x: Any, y: Any) -> Any:
    """x or y."""
    return x or y


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """The items as a tuple."""
    return items


@_python
def tuple_div(x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items of one tuple divided by those of another; quotients of integers are rounded down (MindSpore: ops.tuple_div)."""
    return tuple(a // b if isinstance(a, int) and isinstance(b, int) else a / b for a, b in zip(x, y, strict=True))


def make_list(*items: Any) -> list[Any]:
    """The items as a list."""
    return list(items)


@_python
def make_dict(keys: Any, values: Any) -> dict[Any, Any]:
    """A dict of keys and values."""
    return dict(zip(keys, values, strict=True))


@_python
def make_slice(*bounds: Any) -> slice:
    """A slice."""
    return slice(*bounds)


@_python
def make_range(*bounds: int) -> tuple[int, ...]:
    """The integers of a range as a tuple."""
    return tuple(range(*bounds))


@_python
def tuple_setitem(data: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    """A tuple with one item replaced."""
    items = list(data)
    items[index] = value
    return tuple(items)


@_python
def list_setitem(data: list[Any], index: int, value: Any) -> list[Any]:
    """A list with one item replaced."""
    return [*tuple_setitem(tuple(data), index, value)]


@_python
def dict_setitem(data: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """A dict with one item replaced or added."""
    return {**data, key: value}


@_python
def tuple_reversed(data: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items from the last to the first."""
    return tuple(reversed(data))


@_python
def in_dict(key: Any, data: dict[Any, Any]) -> bool:
    """Whether the dict has the key."""
    return key in data


@_python
def not_in_dict(key: Any, data: dict[Any, Any]) -> bool:
    """Whether the dict lacks the key."""
    return key not in data


@_python
def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A number as int, float or bool, by a dtype."""
    name = to_name(input_y)
    if "float" not in name and not math.isfinite(input_x):
        raise ArgumentValueError(f"scalar_cast: {input_x} is no {name}", loc=user_loc())
    return bool(input_x) if name == "bool" else float(input_x) if "float" in name else int(input_x)


def array_to_scalar(x: Tensor) -> Any:
    """The single element of a tensor, as a Python number where it is known."""
    return x.item() if x.array is not None else x.value()


def typeof(x: Any) -> Any:
    """The dtype of a tensor, the type of anything else."""
    return x.dtype if isinstance(x, Tensor) else type(x)


def isconstant(x: Any) -> bool:
    """Whether the value is known when a Cell is compiled."""
    return not (isinstance(x, Tensor) and x.array is None)


@_python
def tail(sequence: Sequence[Any]) -> tuple[Any, ...]:
    """All items but the first."""
    return tuple(sequence[1:])


@_python
def zip_operation(*sequences: Any) -> tuple[Any, ...]:
    """The items of sequences in groups: the first of each, the second of each, ... up to the shortest."""
    return tuple(zip(*sequences, strict=False))


__all__ = [
    "array_to_scalar",
    "bool_and",
    "bool_eq",
    "bool_not",
    "bool_or",
    "dict_getitem",
    "dict_setitem",
    "in_dict",
    "is_",
    "is_not",
    "isconstant",
    "list_equal",
    "list_getitem",
    "list_len",
    "list_setitem",
    "make_dict",
    "make_list",
    "make_range",
    "make_slice",
    "make_tuple",
    "not_in_dict",
    "scalar_add",
    "scalar_cast",
    "scalar_div",
    "scalar_eq",
    "scalar_floordiv",
    "scalar_ge",
    "scalar_gt",
    "scalar_le",
    "scalar_log",
    "scalar_lt",
    "scalar_mod",
    "scalar_mul",
    "scalar_ne",
    "scalar_pow",
    "scalar_sub",
    "scalar_uadd",
    "scalar_usub",
    "string_concat",
    "string_eq",
    "tail",
    "tuple_div",
    "tuple_equal",
    "tuple_getitem",
    "tuple_len",
    "tuple_reversed",
    "tuple_setitem",
    "typeof",
    "zip_operation",
]
