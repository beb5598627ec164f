"""Transforms of sequences: cut off, joined, with a token more, and texts as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer, truth
from graphc.dataset.core.rows import to_array
from graphc.dataset.text.base import TextTransform, texts
from graphc.dataset.transforms.base import Transform
from graphc.errors import ArgumentValueError, DataError, user_loc
from graphc.validation.checks import string

Array = np.ndarray[Any, np.dtype[Any]]


def _tight(values: Array) -> Array:
    """Text no wider than its longest one; other arrays as they are."""
    return texts(values.tolist()).reshape(values.shape) if values.dtype.kind == "U" else values


class Truncate(TextTransform):
    """The first max_seq_len elements of texts or numbers [n], or of each row of [m, n]."""

    axes, numbers = (1, 2), True

    def __init__(self, max_seq_len: int) -> None:
        self.max_seq_len = integer("Truncate", "max_seq_len", max_seq_len, 1, INT32_MAX)

    def apply(self, value: Array) -> Array:
        if value.dtype.kind not in "biufU":
            raise DataError(f"Truncate: the value must be numbers or text, got {value.dtype}", code="GC201")
        return _tight(value[..., : self.max_seq_len])


class TruncateSequencePair(Transform):
    """Two sequences [m] and [n] cut off to max_length elements together: the longer one, or of equal ones the second, loses
    its last.
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = integer("TruncateSequencePair", "max_length", max_length, 0)

    def __call__(self, *inputs: Any) -> tuple[Array, Array]:
        arrays = [to_array(value) for value in inputs]
        if len(arrays) != 2 or any(a.ndim != 1 for a in arrays):
            shapes = ", ".join(str(list(a.shape)) for a in arrays)
            raise DataError(f"TruncateSequencePair takes two values of one axis, got {shapes or 'none'}", code="GC201")
        first, second = arrays
        over = max(len(first) + len(second) - self.max_length, 0)
        # The longer one is cut to the length of the other one, then both in turns.
        ahead = min(max(len(first) - len(second), 0), over)
        behind = min(max(len(second) - len(first), 0), over)
        both = over - ahead - behind
        return (
            _tight(first[: len(first) - ahead - both // 2]),
            _tight(second[: len(second) - behind - (both - both // 2)]),
        )


class AddToken(TextTransform):
    """Texts [n], or each row of [m, n], with a token more, at the beginning or at the end."""

    axes = (1, 2)

    def __init__(self, token: str, begin: bool = True) -> None:
        self.token, self.begin = string("AddToken", "token", token), truth("AddToken", "begin", begin)

    def apply(self, value: Array) -> Array:
        if not self.token:
            raise DataError("AddToken: the token is empty", code="GC201")
        more = np.full((*value.shape[:-1], 1), self.token)
        return _tight(np.concatenate([more, value] if self.begin else [value, more], axis=-1))


class SlidingWindow(TextTransform):
    """Texts or numbers [n] as their parts of `width` one after the other, [n - width + 1, width]; [0] where there are fewer."""

    axes, numbers = (1,), True

    def __init__(self, width: int, axis: int = 0) -> None:
        self.width = integer("SlidingWindow", "width", width, 1, INT32_MAX)
        self.axis = integer("SlidingWindow", "axis", axis)

    def apply(self, value: Array) -> Array:
        if self.axis not in (0, -1):
            raise DataError(f"SlidingWindow: axis must be 0 or -1, got {self.axis}", code="GC201")
        if self.width > len(value):
            return _tight(value[:0])
        return np.lib.stride_tricks.sliding_window_view(value, self.width).copy()


class Ngram(TextTransform):
    """Words [k] joined by n with a separator, for each n in turn; "" where there are fewer words than n.

    left_pad, right_pad: (word, count): so many of it, n - 1 at most, stand before and after the words.
    """

    axes = (1,)

    def __init__(
        self,
        n: int | list[int],
        left_pad: tuple[str, int] = ("", 0),
        right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ) -> None:
        given = [n] if isinstance(n, int) else n
        if not isinstance(given, list) or not given:
            raise ArgumentValueError(f"Ngram: n must be an int or a list of ints, got {n!r}", loc=user_loc())
        self.n = [integer("Ngram", "n", k, 1) for k in given]
        self.left_pad, self.right_pad = _pad("left_pad", left_pad), _pad("right_pad", right_pad)
        self.separator = string("Ngram", "separator", separator)

    def apply(self, value: Array) -> Array:
        words, made = value.tolist(), []
        for n in self.n:
            left, right = min(self.left_pad[1], n - 1), min(self.right_pad[1], n - 1)
            padded = [self.left_pad[0]] * left + words + [self.right_pad[0]] * right
            parts = [self.separator.join(padded[k : k + n]) for k in range(len(padded) - n + 1)]
            made += parts or [""]
        return texts(made)


def _pad(name: str, value: Any) -> tuple[str, int]:
    if (
        not isinstance(value, tuple)
        or len(value) != 2
        or not isinstance(value[0], str)
        or not isinstance(value[1], int)
        or value[1] < 0
    ):
        raise ArgumentValueError(f"Ngram: {name} must be (text, how many), got {value!r}", loc=user_loc())
    return value
