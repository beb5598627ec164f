"""Tensors, and NumPy's numbers, that are given where a function takes Python's: looked at when a call has failed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import TraceError, TraceTypeError, user_loc
from graphc.tracebacks import place
from graphc.validation.annotations import is_numpys, is_tensor, kinds, within

#: By the widest number that is taken: of which kinds of NumPy's dtypes a tensor's may be. A bool is no axis, a float no size.
_DTYPES = {"bool": "b", "integer": "iu", "number": "iuf"}
_HELP = "give a Python number: one that the Cell holds, or an int or float that it is called with; it is compiled for each value"


def with_numbers(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call that an exception ended with Python's numbers for those of NumPy's, and, where the function takes
    nothing but numbers, for tensors of up to one axis whose values are known, without a gradient; None if there are none.
    """
    bound = _bound(function, error, args, kwargs)
    if bound is None:
        return None
    changed, found = False, kinds(function)
    for name, value in bound.arguments.items():
        made = _numbers(value, _DTYPES.get(found[name].number, ""), bool(found[name].words))
        if made is not value:
            bound.arguments[name] = made
            changed = True
    return (bound.args, bound.kwargs) if changed else None


def refuse_unknown(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = ""
) -> None:
    """Raise TraceTypeError, by the name of the argument, in place of an exception that has ended a call in which a tensor whose
    value only the run tells stands where the function takes nothing but numbers. `name` is what users know the function by, if
    not its own.
    """
    bound = _bound(function, error, args, kwargs)
    if bound is None or place(error.__traceback__) is not None:
        return
    found = kinds(function)
    for parameter, value in bound.arguments.items():
        unknown = next((x for x in within(value) if _is_unknown(x)), None) if found[parameter].number else None
        if unknown is not None:
            raise TraceTypeError(
                f"{name or function.__name__.strip('_')}: {parameter} must be known while the Cell is compiled;"
                f" it is a tensor {unknown.tensor_type}, whose value only the run tells",
                code=error.code if isinstance(error, TraceError) else "GC120",
                loc=user_loc(),
                help=_HELP,
            ) from None


def _bound(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """The arguments by name, where they may be to blame."""
    if isinstance(error, (RecursionError, MemoryError)):
        return None
    try:
        return inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None


def _numbers(value: Any, dtypes: str, arrays: bool) -> Any:
    """A value, or what a tuple or list holds, with numbers for tensors of these dtypes and for NumPy's numbers, with `arrays`
    for arrays without axes, too: where a function takes anything, as a Cell its inputs, they are tensors. The very same where
    nothing changes.
    """
    if type(value) not in (tuple, list):
        return _number(value, dtypes, arrays)
    made = [_numbers(x, dtypes, arrays) for x in value]
    return value if all(a is b for a, b in zip(made, value, strict=True)) else type(value)(made)


def _number(x: Any, dtypes: str, arrays: bool) -> Any:
    """The number that a tensor, or an object of NumPy's, holds, or a tuple of several; anything else as it is."""
    if is_numpys(x, "generic", "ndarray"):
        taken = arrays or is_numpys(x, "generic")
        return x.item() if taken and x.shape == () and x.dtype.kind in "biuf" else x
    if not dtypes or not _is_traceable(x) or len(x.shape) > 1:
        return x
    kind, array = x.tensor_type, dispatch.known_array(x)
    letter = "f" if kind.is_float else kind.numpy.kind
    if array is None or letter not in dtypes:
        return x
    return array.item() if array.size == 1 else tuple(array.tolist())


def _is_traceable(x: Any) -> bool:
    """Whether it is a tensor, and none of those that consist of several."""
    return is_tensor(x) and hasattr(type(x), "_is_traced")


def _is_unknown(x: Any) -> bool:
    return _is_traceable(x) and dispatch.known_array(x) is None
