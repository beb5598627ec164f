"""Tokenizers without a vocabulary: the user's own, of characters, of what stands between white space."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from graphc.dataset.checks import truth
from graphc.dataset.text.base import Token, Tokenizer, between, places, texts
from graphc.dataset.text.scripts import script_of
from graphc.dataset.text.unicode import SPACES, in_brackets, ranges_of
from graphc.errors import ArgumentTypeError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_WHITE = re.compile(f"{in_brackets(ranges_of(SPACES))}+")


@cache
def _kind(char: str) -> tuple[str, bool]:
    """The script of a character, and whether it is white space."""
    return script_of(ord(char)), _WHITE.match(char) is not None


class PythonTokenizer:
    """A function of a str that returns its tokens, of an array of texts: [n] of one, [..., n] of many, which have as many each.

    What the function raises is a DataError, a RuntimeError. MindSpore 2.10 cuts tokens of many texts off at the length of the
    first one's.
    """

    def __init__(self, tokenizer: Callable[[str], Any]) -> None:
        if not callable(tokenizer):
            raise ArgumentTypeError(
                f"PythonTokenizer: tokenizer must be callable, got {type(tokenizer).__name__}", loc=user_loc()
            )
        self.tokenizer = tokenizer

    def __call__(self, in_array: Array) -> Array:
        if not isinstance(in_array, np.ndarray):
            raise ArgumentTypeError(
                f"PythonTokenizer: the value must be an array, got {type(in_array).__name__}", loc=user_loc()
            )
        if in_array.dtype.kind not in "US":
            raise DataError(f"PythonTokenizer: the value must be text, got {in_array.dtype}", code="GC201")
        given = np.char.decode(in_array, "utf-8") if in_array.dtype.kind == "S" else in_array
        rows = [self._tokens(text) for text in given.ravel().tolist()]
        if len({len(row) for row in rows}) > 1:
            raise DataError("PythonTokenizer: texts of one array have different numbers of tokens", code="GC201")
        return texts(rows).reshape(*given.shape, len(rows[0]) if rows else 0)

    def _tokens(self, text: str) -> list[str]:
        try:
            made = np.array(self.tokenizer(text), np.str_)
        except Exception as error:
            name = getattr(self.tokenizer, "__name__", type(self.tokenizer).__name__)
            raise DataError(f"PythonTokenizer: {name} raised {type(error).__name__}: {error}", code="GC200") from error
        if made.ndim != 1:
            raise DataError("PythonTokenizer: the tokenizer must return a list of str", code="GC201")
        return made.tolist()  # type: ignore[no-any-return]


class UnicodeCharTokenizer(Tokenizer):
    """The characters of a text [], [n]; with_offsets with their places in bytes of UTF-8."""

    def __init__(self, with_offsets: bool = False) -> None:
        self.with_offsets = truth("UnicodeCharTokenizer", "with_offsets", with_offsets)

    def tokens(self, text: str) -> list[Token]:
        byte = places(text)
        return [(char, byte[k], byte[k + 1]) for k, char in enumerate(text)]


class WhitespaceTokenizer(Tokenizer):
    """What stands between white space, as Unicode has it, in a text [], [n]; with_offsets with the places."""

    def __init__(self, with_offsets: bool = False) -> None:
        self.with_offsets = truth("WhitespaceTokenizer", "with_offsets", with_offsets)

    def tokens(self, text: str) -> list[Token]:
        return between(text, [m.span() for m in _WHITE.finditer(text)], lambda part: False)


class UnicodeScriptTokenizer(Tokenizer):
    """The parts of a text [] in one script each, [n]: letters of a writing, marks, digits; with_offsets with their places.

    White space stands by itself, and is left out without keep_whitespace.
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False) -> None:
        self.keep = truth("UnicodeScriptTokenizer", "keep_whitespace", keep_whitespace)
        self.with_offsets = truth("UnicodeScriptTokenizer", "with_offsets", with_offsets)

    def tokens(self, text: str) -> list[Token]:
        byte, made, at = places(text), [], 0
        for (_, white), chars in groupby(map(_kind, text)):
            first, at = at, at + sum(1 for _ in chars)
            if self.keep or not white:
                made.append((text[first:at], byte[first], byte[at]))
        return made
