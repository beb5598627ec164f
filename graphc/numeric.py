"""Tensors that are given where a function takes numbers only: found when they have made it fail."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from graphc.errors import GraphcError, TraceError, TraceTypeError, user_loc
from graphc.frames import place

#: What annotations of numbers are made of.
_INTEGERS = {
    "int",
    "Axis",
    "Shape",
    "Offsets",
    "Sequence[int]",
    "tuple[int, ...]",
    "tuple[int, int]",
    "list[int]",
    "None",
}
_NUMBERS = {*_INTEGERS, "float", "Number", "Sequence[float]"}
#: The codes of what is said of a traced tensor whose value is asked for.
_ASKED = ("GC120", "GC130", "GC131")
#: What is said of a tensor that is given for something else.
_GIVEN = re.compile(r"got (<traced|a tensor|Tensor\b|TracedTensor|EagerTensor)")
_HELP = "give a Python number: one that the Cell holds, or an int or float that it is called with; it is compiled for each value"


def with_numbers(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call that an exception ended, with numbers for the tensors without axes that hold some where the
    function takes numbers only, of which there is no gradient; None if there are none.
    """
    bound = _bound(function, error, args, kwargs)
    if bound is None:
        return None
    changed = False
    anything = dict.fromkeys(_anything(function), False) if _of_tensors(error) else {}
    for name, integer in {**anything, **_numeric(function)}.items():
        value = bound.arguments.get(name)
        items = [*_within(value)]
        made = [_number(x, integer) for x in items]
        if any(a is not b for a, b in zip(made, items, strict=True)):
            bound.arguments[name] = made if type(value) is list else tuple(made) if type(value) is tuple else made[0]
            changed = True
    return (bound.args, bound.kwargs) if changed else None


def refuse_unknown(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise TraceTypeError, by the name of the argument, in place of an exception that a tensor whose value only the run tells
    has caused where the function takes numbers only.
    """
    bound = _bound(function, error, args, kwargs)
    if bound is None or not _asks(error) or place(error.__traceback__) is not None:
        return
    numeric = _numeric(function)
    anything = _anything(function) if _of_tensors(error) else set()
    for name, value in bound.arguments.items():
        unknown = next((x for x in _within(value) if _is_unknown(x)), None)
        # What may be anything is a number too, if its value was asked for.
        if unknown is not None and (name in numeric or (name in anything and not unknown.shape)):
            raise TraceTypeError(
                f"{function.__name__.strip('_')}: {name} must be known while the Cell is compiled;"
                f" it is a tensor {unknown.tensor_type}, whose value only the run tells",
                code=error.code if isinstance(error, TraceError) else "GC120",
                loc=user_loc(),
                help=_HELP,
            ) from None


def _bound(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """The arguments by name, where the exception may be one of a tensor in the place of a number."""
    if not isinstance(error, (TypeError, ValueError, TraceError)):
        return None
    try:
        return inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None


@functools.cache
def _numeric(function: Callable[..., Any]) -> dict[str, bool]:
    """By the names of parameters that are numbers by their annotation or default: whether they are integers."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kinds = _kinds(function, name)
        if kinds <= _NUMBERS and kinds != {"None"}:
            found[name] = kinds <= _INTEGERS
        elif kinds == {"Any"} and type(parameter.default) in (int, float):
            found[name] = False
    return found


@functools.cache
def _anything(function: Callable[..., Any]) -> set[str]:
    """The names of parameters that may be anything by their annotation."""
    return {name for name in inspect.signature(function).parameters if _kinds(function, name) == {"Any"}}


def _kinds(function: Callable[..., Any], name: str) -> set[str]:
    """What the annotation of a parameter allows."""
    return set(str(inspect.signature(function).parameters[name].annotation).split(" | "))


def _number(x: Any, integer: bool) -> Any:
    """The number that a tensor holds; anything else as it is."""
    if not _is_tensor(x) or _is_unknown(x) or x.shape != ():
        return x
    kind = x.tensor_type
    return x.item() if kind.numpy.kind in "iu" or (kind.is_float and not integer) else x


def _asks(error: Exception) -> bool:
    """Whether an exception may be one of a tensor that is no number."""
    return not isinstance(error, GraphcError) or _of_tensors(error) or "ensor" in error.message


def _of_tensors(error: Exception) -> bool:
    """Whether an exception says that it is one of a tensor that is no number."""
    return isinstance(error, GraphcError) and (error.code in _ASKED or _GIVEN.search(error.message) is not None)


def _within(value: Any) -> Iterator[Any]:
    yield from value if type(value) in (tuple, list) else (value,)


def _is_tensor(x: Any) -> bool:
    return hasattr(type(x), "tensor_type") and hasattr(type(x), "_is_traced")


def _is_unknown(x: Any) -> bool:
    return _is_tensor(x) and (x._array is None or x._is_state())
