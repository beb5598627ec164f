"""`ToNumber`: what C's strtoll and strtod read at the beginning of a text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from graphc.dataset.schema import numpy_dtype
from graphc.dataset.text.base import TextTransform
from graphc.errors import ArgumentTypeError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_SPACE = r"[ \t-\r]*"
_WHOLE = re.compile(rf"{_SPACE}([+-]?[0-9]+)")
_NUMBER = re.compile(
    rf"{_SPACE}(?P<sign>[+-]?)(?:0[xX](?P<hex>(?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)"
    r"|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<word>[iI][nN][fF]|[nN][aA][nN]))"
)


class ToNumber(TextTransform):
    """Texts as the numbers at their beginnings, of the same shape, in data_type, one of integers or floats.

    DataError, a RuntimeError, for a text that begins with none and for what lies out of the dtype's range.
    """

    def __init__(self, data_type: Any) -> None:
        self.dtype = numpy_dtype("ToNumber", data_type)
        if self.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                f"ToNumber: data_type must be a dtype of integers or floats, got {data_type!r}", loc=user_loc()
            )

    def apply(self, value: Array) -> Array:
        read = self._real if self.dtype.kind == "f" else self._whole
        return np.array([read(text) for text in value.ravel().tolist()], self.dtype).reshape(value.shape)

    def _whole(self, text: str) -> int:
        found = _WHOLE.match(text)
        if not found:
            raise self._none(text)
        info, number = np.iinfo(self.dtype), int(found[1])
        if not info.min <= number <= info.max or (self.dtype.kind == "u" and "-" in text):
            raise self._outside(text)
        return number

    def _real(self, text: str) -> Any:
        found = _NUMBER.match(text)
        if not found:
            raise self._none(text)
        if found["word"] and found["word"].lower() == "nan":
            return self.dtype.type(-np.nan if found["sign"] == "-" else np.nan)
        if found["word"]:
            raise self._outside(text)
        exact = _exact(found)
        # Halves are rounded twice: they are read as float32.
        made = _rounded(exact, np.float64 if self.dtype == np.float64 else np.float32)
        info = np.finfo(made.dtype)
        if np.isinf(made) or (0 < abs(exact) < Fraction(float(info.tiny)) and Fraction(float(made)) != exact):
            raise self._outside(text)
        if self.dtype == np.float16 and abs(made) > np.finfo(np.float16).max:
            raise self._outside(text)
        return self.dtype.type(-made if found["sign"] == "-" else made)

    def _none(self, text: str) -> DataError:
        return DataError(f"ToNumber: {text!r} does not begin with a number", code="GC201")

    def _outside(self, text: str) -> DataError:
        return DataError(f"ToNumber: {text!r} lies out of the range of {self.dtype}", code="GC201")


def atof(text: str) -> float:
    """The number that a text begins with, as C reads it; 0 if there is none."""
    found = _NUMBER.match(text)
    if not found:
        return 0.0
    number = float(found["word"]) if found["word"] else float(_rounded(_exact(found), np.float64))
    return -number if found["sign"] == "-" else number


def _exact(found: re.Match[str]) -> Fraction:
    """The number that was read, without its sign."""
    digits, mark, base = (found["hex"], "p", 2) if found["hex"] else (found["decimal"], "e", 10)
    mantissa, _, exponent = digits.lower().partition(mark)
    whole, _, part = mantissa.partition(".")
    radix = 16 if found["hex"] else 10
    # Exponents beyond any float's are as good as the last one that decides.
    power = max(min(int(exponent or 0), 10**4 + 8 * len(part)), -(10**4) - 8 * len(whole))
    return Fraction(int((whole + part) or "0", radix), radix ** len(part)) * Fraction(base) ** power


def _rounded(exact: Fraction, dtype: Any) -> Any:
    """The nearest float; of two the even one. Infinity for what lies beyond all."""
    try:
        near = float(exact)
    except OverflowError:
        return dtype(np.inf)
    with np.errstate(over="ignore"):
        made = dtype(near)
    if dtype is np.float64 or np.isinf(made) or Fraction(near) == exact:
        return made
    # `near` may have been rounded to the middle between two floats, which rounds to the even one.
    with np.errstate(over="ignore"):
        other = np.nextafter(made, dtype(np.inf if exact > Fraction(float(made)) else -np.inf))
    if np.isfinite(other) and abs(Fraction(float(other)) - exact) < abs(Fraction(float(made)) - exact):
        return other
    return made
