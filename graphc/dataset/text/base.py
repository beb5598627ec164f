"""What transforms of texts share: one value each, of text; tokens with the bytes that they stand at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from graphc.dataset.core.rows import to_array
from graphc.dataset.transforms.base import Transform
from graphc.errors import DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]
#: A token, and the bytes of UTF-8 from and up to which it stands in its text.
Token = tuple[str, int, int]


def lines_of(owner: str, path: str) -> list[str]:
    """The lines of a file, without "\\n" at their ends: other ends of lines belong to them."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{owner}: {path} cannot be read: {error}", loc=user_loc()) from None
    return text.removesuffix("\n").split("\n") if text else []


def texts(values: Any) -> Array:
    """Nested lists of str as an array of text that is no wider than its longest one."""
    return np.array(values, dtype=np.str_)


def size(text: str) -> int:
    """How many bytes of UTF-8 a text has."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def places(text: str) -> Sequence[int]:
    """[len(text) + 1]: the byte of UTF-8 at which each character begins, and where the text ends."""
    if text.isascii():
        return range(len(text) + 1)
    return [0, *accumulate(map(size, text))]


def placed(tokens: Sequence[Token], with_offsets: bool) -> Any:
    """Tokens as an array, with_offsets with where they begin and end, uint32; of none, "" at 0."""
    found = tokens or [("", 0, 0)]
    words = texts([t[0] for t in found])
    if not with_offsets:
        return words
    return words, np.array([t[1] for t in found], np.uint32), np.array([t[2] for t in found], np.uint32)


class TextTransform(Transform):
    """Base of graphc's transforms of texts: `apply` is called with one array of text."""

    #: Axes that the value may have; None for any number.
    axes: tuple[int, ...] | None = None
    #: Whether values that are no text are taken, too.
    numbers = False

    def __call__(self, *inputs: Any) -> Any:
        owner = type(self).__name__
        if len(inputs) != 1:
            raise DataError(f"{owner} takes one value, got {len(inputs)}", code="GC201")
        value = to_array(inputs[0])
        if not self.numbers and value.dtype.kind != "U":
            raise DataError(f"{owner}: the value must be text, got {value.dtype}", code="GC201")
        if self.axes is not None and value.ndim not in self.axes:
            wanted = " or ".join(map(str, self.axes))
            raise DataError(f"{owner}: the value must have {wanted} axes, got {value.ndim}", code="GC201")
        return self.apply(value)


class EachText(TextTransform):
    """A transform of each text of the value by itself, whatever its shape."""

    def apply(self, value: Array) -> Any:
        return texts([self.of_text(v) for v in value.ravel().tolist()]).reshape(value.shape)

    def of_text(self, text: str) -> str:
        """One text, transformed."""
        raise NotImplementedError


class Tokenizer(TextTransform):
    """A transform of one text into tokens, [n]; with_offsets with where they begin and end in it, in bytes of UTF-8, uint32 [n].

    A text without tokens gives one that is empty.
    """

    axes = (0,)
    with_offsets = False

    def apply(self, value: Array) -> Any:
        return placed(self.tokens(value.item()), self.with_offsets)

    def tokens(self, text: str) -> list[Token]:
        """The tokens of a text, in order."""
        raise NotImplementedError


def between(text: str, delimiters: Sequence[tuple[int, int]], kept: Callable[[str], bool]) -> list[Token]:
    """What lies between parts of a text, given as (start, end), and those parts that are `kept`; nothing that is empty."""
    byte, last, spans = places(text), 0, []
    for start, end in delimiters:
        spans.append((last, start))
        if end > start and kept(text[start:end]):
            spans.append((start, end))
        last = end
    spans.append((last, len(text)))
    return [(text[a:b], byte[a], byte[b]) for a, b in spans if b > a]
