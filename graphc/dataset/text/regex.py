"""Transforms by regular expressions, which are written as for ICU (patterns.py)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from graphc.dataset.checks import truth
from graphc.dataset.text.base import EachText, Token, Tokenizer, between
from graphc.dataset.text.patterns import Pattern, replacement
from graphc.errors import ArgumentValueError, user_loc
from graphc.validation.checks import string


class RegexReplace(EachText):
    """Each text with what matches the pattern replaced, or with replace_all=False the first match alone.

    pattern: as ICU has it; $1 and ${name} in `replace` are its groups. DataError for what ICU and Python take differently. Of an
    array of texts each one is changed by itself, where MindSpore 2.10 puts all of them into the first.
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self.pattern, self.replace = (
            string("RegexReplace", "pattern", pattern),
            string("RegexReplace", "replace", replace),
        )
        self.replace_all = truth("RegexReplace", "replace_all", replace_all)
        self._made: tuple[Pattern, Callable[[re.Match[str]], str]] | None = None

    def of_text(self, text: str) -> str:
        if self._made is None:
            pattern = Pattern("RegexReplace", self.pattern)
            self._made = pattern, replacement("RegexReplace", self.replace, pattern)
        pattern, replaced = self._made
        parts, last = [], 0
        for match in islice(pattern.found(text), None if self.replace_all else 1):
            parts += [text[last : match.start()], replaced(match)]
            last = match.end()
        return "".join([*parts, text[last:]])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}


class RegexTokenizer(Tokenizer):
    """What lies between the matches of delim_pattern in a text [], and the matches that keep_delim_pattern matches as a whole.

    Patterns are those of ICU. DataError for what ICU and Python take differently.
    """

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False) -> None:
        if delim_pattern is None:
            raise ArgumentValueError("RegexTokenizer: delim_pattern is None", loc=user_loc())
        self.delim_pattern = string("RegexTokenizer", "delim_pattern", delim_pattern)
        self.keep_delim_pattern = string("RegexTokenizer", "keep_delim_pattern", keep_delim_pattern)
        self.with_offsets = truth("RegexTokenizer", "with_offsets", with_offsets)
        self._made: tuple[Pattern, Pattern] | None = None

    def tokens(self, text: str) -> list[Token]:
        if self._made is None:
            self._made = (
                Pattern("RegexTokenizer", self.delim_pattern),
                Pattern("RegexTokenizer", self.keep_delim_pattern),
            )
        delimiter, keep = self._made
        found = [m.span() for m in delimiter.found(text)]
        return between(text, found, lambda part: keep.python.fullmatch(part) is not None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}
