"""Arrays of text as arrays of bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def to_bytes(array: Array, encoding: str = "utf8") -> Array:
    """An array of str as one of bytes."""
    if not isinstance(array, np.ndarray):
        raise ArgumentValueError(f"to_bytes: array must be an array, got {type(array).__name__}", loc=user_loc())
    if array.dtype.kind != "U":
        raise ArgumentTypeError(f"to_bytes: array must be text, got {array.dtype}", loc=user_loc())
    try:
        return np.char.encode(array, encoding)
    except (LookupError, UnicodeError) as error:
        raise ArgumentValueError(f"to_bytes: {error}", loc=user_loc()) from None


def to_str(array: Array, encoding: str = "utf8") -> Array:
    """An array of bytes as one of str."""
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(f"to_str: array must be an array, got {type(array).__name__}", loc=user_loc())
    if array.dtype.kind != "S":
        raise ArgumentTypeError(f"to_str: array must be bytes, got {array.dtype}", loc=user_loc())
    try:
        return np.char.decode(array, encoding)
    except (LookupError, UnicodeError) as error:
        raise ArgumentValueError(f"to_str: {error}", loc=user_loc()) from None
