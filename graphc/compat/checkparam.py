"""`mindspore._checkparam`: the argument checks that wrappers outside MindSpore use. Each returns its argument."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

#: Relations between two values.
EQ, NE, LT, LE, GT, GE, IN, NOT_IN = "==", "!=", "<", "<=", ">", ">=", "in", "not in"
#: Which ends belong to an interval.
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = "()", "[)", "(]", "[]"

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    IN: lambda a, b: a in b,
    NOT_IN: lambda a, b: a not in b,
}


def _who(name: Any, owner: Any) -> str:
    return f"{owner}: {name or 'the argument'}" if owner else str(name or "the argument")


def _type_error(value: Any, wanted: str, name: Any, owner: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"{_who(name, owner)} must be {wanted}, got {type(value).__name__}", loc=user_loc())


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """ArgumentTypeError unless arg_value is of one of the types; a bool is no int here."""
    types = tuple(valid_types) if isinstance(valid_types, (list, tuple)) else (valid_types,)
    if (isinstance(arg_value, bool) and bool not in types) or not isinstance(arg_value, types):
        raise _type_error(arg_value, " or ".join(t.__name__ for t in types), arg_name, prim_name)
    return arg_value


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """ArgumentTypeError unless it is a bool."""
    if not isinstance(arg_value, bool):
        raise _type_error(arg_value, "a bool", arg_name, prim_name)
    return arg_value


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """ArgumentTypeError unless it is an instance."""
    if not isinstance(arg_value, classes):
        raise _type_error(arg_value, str(getattr(classes, "__name__", classes)), arg_name, None)
    return arg_value


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None) -> Any:
    """ArgumentTypeError unless the dtype, or type, is one of those."""
    types = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    if arg_type not in types:
        raise _none_of(arg_type, types, arg_name, prim_name)
    return arg_type


def check_subclass(
    arg_name: str, type_: Any, template_types: Any, prim_name: str | None, addition_error_info: str | None = None
) -> None:
    """ArgumentTypeError unless the dtype, or type, is one of those, or a class derived from one. addition_error_info: what the
    message says behind.
    """
    types = tuple(template_types) if isinstance(template_types, Iterable) else (template_types,)
    classes = tuple(t for t in types if isinstance(t, type))
    if type_ not in types and not (isinstance(type_, type) and issubclass(type_, classes)):
        raise _none_of(type_, types, arg_name, prim_name, addition_error_info)


def _none_of(
    value: Any, types: tuple[Any, ...], name: str, owner: str | None, behind: str | None = None
) -> ArgumentTypeError:
    shown = ", ".join(str(getattr(t, "__name__", t)) for t in types)
    told = f"{_who(name, owner)} must be {'one of ' if len(types) > 1 else ''}{shown}, got {value}"
    return ArgumentTypeError(f"{told} {behind}" if behind else told, loc=user_loc())


def _related(value: Any, other: Any, rel: str, name: Any, owner: Any, error: type[Exception] | None = None) -> Any:
    if not _RELATIONS[rel](value, other):
        message = f"{_who(name, owner)} must be {rel} {other}, got {value}"
        raise error(message) if error is not None else ArgumentValueError(message, loc=user_loc())
    return value


def _typed(value: Any, type: type, name: Any, owner: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, type):
        raise _type_error(value, f"of type {type.__name__}", name, owner)


def check(
    arg_name: str,
    arg_value: Any,
    value_name: str,
    value: Any,
    rel: str = EQ,
    prim_name: str | None = None,
    excp_cls: type[Exception] | None = None,
) -> Any:
    """An error, ArgumentValueError by default, unless `arg_value rel value`. value_name has no meaning here."""
    return _related(arg_value, value, rel, arg_name, prim_name, excp_cls)


def check_number(arg_name: Any, arg_value: Any, value: Any, rel: str, prim_name: Any) -> Any:
    """ArgumentValueError unless `arg_value rel value`."""
    return _related(arg_value, value, rel, arg_name, prim_name)


def _check_number(
    arg_value: Any, value: Any, rel: str, arg_type: type = int, arg_name: Any = None, prim_name: Any = None
) -> Any:
    """ArgumentTypeError for another type, ArgumentValueError unless `arg_value rel value`."""
    _typed(arg_value, arg_type, arg_name, prim_name)
    return _related(arg_value, value, rel, arg_name, prim_name)


def check_is_number(arg_value: Any, arg_type: type, arg_name: Any = None, prim_name: Any = None) -> Any:
    """A finite number of a type."""
    _typed(arg_value, arg_type, arg_name, prim_name)
    if not math.isfinite(arg_value):
        raise ArgumentValueError(f"{_who(arg_name, prim_name)} must be finite, got {arg_value}", loc=user_loc())
    return arg_value


def check_int(arg_value: Any, value: int, rel: str, arg_name: Any = None, prim_name: Any = None) -> int:
    """An int in a relation to another number."""
    made: int = _check_number(arg_value, value, rel, int, arg_name, prim_name)
    return made


def check_is_int(arg_value: Any, arg_name: str = "", prim_name: str = "") -> int:
    """ArgumentTypeError unless it is an int."""
    if isinstance(arg_value, bool) or not isinstance(arg_value, int):
        raise _type_error(arg_value, "an int", arg_name, prim_name)
    return arg_value


def check_is_float(arg_value: Any, arg_name: str = "", prim_name: str = "") -> float:
    """ArgumentTypeError unless it is a float."""
    if not isinstance(arg_value, float):
        raise _type_error(arg_value, "a float", arg_name, prim_name)
    return arg_value


def check_positive_int(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> int:
    """An int above 0."""
    return check_int(arg_value, 0, GT, arg_name, prim_name)


def check_non_negative_int(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> int:
    """An int of at least 0."""
    return check_int(arg_value, 0, GE, arg_name, prim_name)


def check_float(arg_value: Any, value: float, rel: str, arg_name: Any = None, prim_name: Any = None) -> float:
    """A float in a relation to another number."""
    made: float = _check_number(arg_value, value, rel, float, arg_name, prim_name)
    return made


def check_positive_float(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> float:
    """A float above 0."""
    return check_float(arg_value, 0, GT, arg_name, prim_name)


def check_non_negative_float(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> float:
    """A float of at least 0."""
    return check_float(arg_value, 0, GE, arg_name, prim_name)


def check_string(arg_value: Any, valid_values: Iterable[str], arg_name: Any = None, prim_name: Any = None) -> str:
    """One of the strings; ArgumentValueError otherwise."""
    values = list(valid_values)
    if arg_value not in values:
        raise ArgumentValueError(
            f"{_who(arg_name, prim_name)} must be one of {values}, got {arg_value!r}", loc=user_loc()
        )
    return str(arg_value)


def check_number_range(
    arg_value: Any,
    lower_limit: float,
    upper_limit: float,
    rel: str,
    value_type: type,
    arg_name: Any = None,
    prim_name: Any = None,
) -> Any:
    """A number of a type in an interval; `rel` says which ends belong to it."""
    if not isinstance(arg_value, np.generic):
        _typed(arg_value, value_type, arg_name, prim_name)
    low = arg_value >= lower_limit if rel[0] == "[" else arg_value > lower_limit
    high = arg_value <= upper_limit if rel[1] == "]" else arg_value < upper_limit
    if not (low and high):
        span = f"{rel[0]}{lower_limit}, {upper_limit}{rel[1]}"
        raise ArgumentValueError(f"{_who(arg_name, prim_name)} must lie in {span}, got {arg_value}", loc=user_loc())
    return arg_value


def check_int_range(
    arg_value: Any, lower_limit: int, upper_limit: int, rel: str, arg_name: Any = None, prim_name: Any = None
) -> int:
    """An int in an interval."""
    made: int = check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)
    return made


def check_float_range(
    arg_value: Any, lower_limit: float, upper_limit: float, rel: str, arg_name: Any = None, prim_name: Any = None
) -> float:
    """A float in an interval."""
    made: float = check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)
    return made


def args_type_check(*type_args: Any, **type_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that checks arguments by type, those in `**kwargs` by their own names."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        rest = [n for n, p in signature.parameters.items() if p.kind is inspect.Parameter.VAR_KEYWORD]

        def named(arguments: Mapping[str, Any]) -> dict[str, Any]:
            inner = arguments.get(rest[0], {}) if rest else {}
            return {**{k: v for k, v in arguments.items() if k not in rest}, **inner}

        wanted = named(signature.bind_partial(*type_args, **type_kwargs).arguments)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name, value in named(signature.bind(*args, **kwargs).arguments).items():
                if name in wanted and value is not None:
                    check_value_type(name, value, wanted[name], function.__qualname__)
            return function(*args, **kwargs)

        return checked

    return decorate


__all__ = [
    "EQ", "GE", "GT", "IN", "INC_BOTH", "INC_LEFT", "INC_NEITHER", "INC_RIGHT", "LE", "LT", "NE", "NOT_IN",
    "args_type_check", "check", "check_bool", "check_float", "check_float_range", "check_int", "check_int_range",
    "check_is_float", "check_is_int", "check_is_number", "check_isinstance", "check_non_negative_float",
    "check_non_negative_int", "check_number", "check_number_range", "check_positive_float", "check_positive_int",
    "check_string", "check_subclass", "check_type_name", "check_value_type",
]  # fmt: skip
