"""`mindspore._checkparam`: checks of axes, sizes, names and whole sequences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphc.compat.checkparam import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    check_float,
    check_int,
    check_subclass,
    check_value_type,
)
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis


def check_equal_int(arg_value: Any, value: int, arg_name: Any = None, prim_name: Any = None) -> int:
    """An int that is another."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def _compared(check: Callable[..., Any], rel: str, words: str) -> Callable[..., Any]:
    """The check of a number beside 0."""

    def checked(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
        return check(arg_value, 0, rel, arg_name, prim_name)

    checked.__doc__ = f"{words} 0."
    return checked


def _of_all(check: Callable[..., Any], rel: str, words: str) -> Callable[..., Any]:
    """The check of each number of a sequence beside 0."""

    def checked(sequence: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
        for place, value in enumerate(sequence):
            check(value, 0, rel, f"{arg_name or 'the argument'}[{place}]", prim_name)
        return sequence

    checked.__doc__ = f"{words} 0."
    return checked


check_negative_int = _compared(check_int, LT, "An int below")
check_non_positive_int = _compared(check_int, LE, "An int of at most")
check_negative_float = _compared(check_float, LT, "A float below")
check_non_positive_float = _compared(check_float, LE, "A float of at most")
check_positive_int_sequence = _of_all(check_int, GT, "Ints above")
check_non_negative_int_sequence = _of_all(check_int, GE, "Ints of at least")
check_positive_float_sequence = _of_all(check_float, GT, "Floats above")


def _times(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of `count` sizes of one; ArgumentTypeError for others."""

    def repeated(m: Any) -> tuple[Any, ...]:
        if isinstance(m, int) and not isinstance(m, bool):
            return (m,) * count
        if not isinstance(m, tuple) or len(m) != count:
            raise ArgumentTypeError(f"expected an int or a tuple of {count}, got {m!r}", loc=user_loc())
        return m

    return repeated


once, twice, triple = _times(1), _times(2), _times(3)


def _check_3d_int_or_tuple(
    arg_name: str,
    arg_value: Any,
    prim_name: str,
    allow_five: bool = False,
    ret_five: bool = False,
    greater_zero: bool = True,
    third_one: bool = False,
    three_input: bool = False,
    pad_value: int = 1,
) -> tuple[int, ...]:
    """Three sizes of an int or of a tuple of three; with allow_five of five, too, of which the first two do not count.

    ret_five: five sizes, (pad_value, pad_value) before them. greater_zero: they must be above 0, else at least 0. third_one: the
    first of the three must be 1. three_input: an int is refused. Raises ArgumentTypeError and ArgumentValueError.
    """
    check_value_type(arg_name, arg_value, (tuple,) if three_input else (int, tuple), prim_name)
    given = (arg_value,) * 3 if isinstance(arg_value, int) else arg_value
    sizes = given[2:] if allow_five and len(given) == 5 else given
    check = check_positive_int_sequence if greater_zero else check_non_negative_int_sequence
    if len(sizes) != 3:
        raise ArgumentValueError(
            f"{prim_name}: {arg_name} must be an int or a tuple of three, got {arg_value}", loc=user_loc()
        )
    check(sizes, arg_name, prim_name)
    if third_one and sizes[0] != 1:
        raise ArgumentValueError(f"{prim_name}: the depth of {arg_name} must be 1, got {sizes[0]}", loc=user_loc())
    return (pad_value, pad_value, *sizes) if ret_five else tuple(sizes)


def check_axis_in_range(axis: Any, ndim: int) -> int:
    """An axis, counted from the front."""
    return check_axis("axis", axis, ndim)


def check_and_canonicalize_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """One axis or a tuple of different ones, counted from the front, in their order."""
    made = tuple(check_axis("axis", axis, ndim) for axis in (axes if isinstance(axes, tuple) else (axes,)))
    if len(set(made)) != len(made):
        raise ArgumentValueError(f"an axis is given twice in {axes}", loc=user_loc())
    return made


def check_axis_valid(axes: Any, ndim: int) -> tuple[int, ...]:
    """As `check_and_canonicalize_axes`; None for all axes."""
    return normalize_axes("axis", None, ndim) if axes is None else check_and_canonicalize_axes(axes, ndim)


def check_swapaxes_axis(axes: Any, ndim: int) -> tuple[int, ...]:
    """Two axes, counted from the front."""
    return tuple(check_axis("swapaxes", axis, ndim) for axis in axes)


def check_transpose_axis(axes: Sequence[Any], ndim: int) -> tuple[int, ...]:
    """The arguments of a transposition as a tuple of axes: none for all of them reversed."""
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    return check_and_canonicalize_axes(tuple(given), ndim) if given else tuple(range(ndim))[::-1]


def check_reshape_shp(shp: Sequence[Any]) -> tuple[int, ...]:
    """The arguments of a reshape as a tuple of sizes."""
    return tuple(shp[0] if len(shp) == 1 and isinstance(shp[0], (tuple, list)) else shp)


def expanded_shape(ndim: int, axis_size: int, axis: int) -> tuple[int, ...]:
    """Ones but for one size at an axis."""
    return tuple(axis_size if i == axis else 1 for i in range(ndim))


def check_types_same_and_valid(args: Mapping[str, Any], valid_values: Iterable[Any], prim_name: str) -> None:
    """ArgumentTypeError unless all types, by name, are one and the same of those."""
    known = tuple(valid_values)
    first: tuple[str, Any] | None = None
    for name, type in args.items():
        check_subclass(name, type, known, prim_name)
        first = first or (name, type)
        if type != first[1]:
            raise ArgumentTypeError(f"{prim_name}: {name} must be {first[1]} as {first[0]}, got {type}", loc=user_loc())


def check_element_type_of_iterable(arg_name: str, arg_value: Any, valid_types: Any, prim_name: Any = None) -> None:
    """ArgumentTypeError unless all elements are of these types."""
    check_value_type(arg_name, arg_value, (list, tuple), prim_name)
    for place, element in enumerate(arg_value):
        check_value_type(f"{arg_name}[{place}]", element, valid_types, prim_name)


def check_element_type_of_dict(
    arg_name: str, arg_value: Any, key_types: Any, value_types: Any, prim_name: Any = None
) -> None:
    """ArgumentTypeError unless all keys and values are of these types."""
    check_value_type(arg_name, arg_value, (dict,), prim_name)
    for key, element in arg_value.items():
        check_value_type(f"a key of {arg_name}", key, key_types, prim_name)
        check_value_type(f"{arg_name}[{key!r}]", element, value_types, prim_name)


def check_hook_fn(hook_fn: Any) -> None:
    """ArgumentTypeError unless it can be called."""
    if not callable(hook_fn):
        raise ArgumentTypeError(f"a hook must be a function, got {type(hook_fn).__name__}", loc=user_loc())


def check_pad_value_by_mode(pad_mode: str, padding: Any, prim_name: str) -> Any:
    """A padding; ArgumentValueError unless it is 0 where the mode, other than "pad", says how much."""
    if pad_mode != "pad" and padding != 0:
        raise ArgumentValueError(
            f"{prim_name}: padding must be 0 with pad_mode {pad_mode!r}, got {padding}", loc=user_loc()
        )
    return padding


def _matching(pattern: str, what: str) -> Callable[..., bool]:
    """A check of texts by a pattern."""

    def checked(target: str, reg: Any = None, flag: int = re.ASCII, prim_name: Any = None) -> bool:
        wanted = reg or pattern
        if not re.match(wanted, target, flag):
            raise ArgumentValueError(
                f"{prim_name or what}: {target!r} does not match the pattern {wanted!r}", loc=user_loc()
            )
        return True

    checked.__doc__ = f"ArgumentValueError unless {what} matches a pattern."
    return checked


check_str_by_regular = _matching(r"^\w+[0-9a-zA-Z\_\.]*$", "a text")
check_file_name_by_regular = _matching(r"^[0-9a-zA-Z@\_\-\.\:\/\\]+$", "the name of a file")

__all__ = [
    "check_and_canonicalize_axes", "check_axis_in_range", "check_axis_valid", "check_element_type_of_dict",
    "check_element_type_of_iterable", "check_equal_int", "check_file_name_by_regular", "check_hook_fn",
    "check_negative_float", "check_negative_int", "check_non_negative_int_sequence", "check_non_positive_float",
    "check_non_positive_int", "check_pad_value_by_mode", "check_positive_float_sequence",
    "check_positive_int_sequence", "check_reshape_shp", "check_str_by_regular", "check_swapaxes_axis",
    "check_transpose_axis", "check_types_same_and_valid", "expanded_shape", "once", "triple", "twice",
]  # fmt: skip
