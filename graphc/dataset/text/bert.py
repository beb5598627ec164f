"""Tokenizers of BERT's: words and marks, and the parts of words that a vocabulary has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from graphc.dataset.checks import integer, truth
from graphc.dataset.text.base import TextTransform, Token, Tokenizer, between, placed, size
from graphc.dataset.text.normal import NormalizeForm, form_of, in_form
from graphc.dataset.text.unicode import SPACES, Changed, category, folded, in_brackets, of_categories, ranges_of
from graphc.dataset.text.vocab import Vocab, ids_of
from graphc.errors import ArgumentValueError, user_loc
from graphc.validation.checks import string

Array = np.ndarray[Any, np.dtype[Any]]

#: What stands for itself, in letters of any size.
_UNUSED = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]"
#: ASCII's marks, and the blocks of Chinese characters.
_SINGLE = "21-2f 3a-40 5b-60 7b-7e 3400-4dbf 4e00-9fff f900-faff 20000-2a6df 2a700-2ceaf 2f800-2fa1f"
#: Controls and characters without a shape are spaces; marks above and below letters are left out.
_SPACED = Changed(lambda code: " " if category(code) in ("Cc", "Cf") else chr(code))
_BARE = Changed(lambda code: "" if category(code) == "Mn" else chr(code))


@lru_cache(maxsize=2)
def _delimiters(unused: bool) -> re.Pattern[str]:
    """White space, and what is a token of its own: marks, Chinese characters, and special tokens if `unused`."""
    single = in_brackets(ranges_of(_SINGLE) + of_categories("P"))
    special = f"{_UNUSED}|" if unused else ""
    return re.compile(f"{in_brackets(ranges_of(SPACES))}+|{special}{single}")


class BasicTokenizer(Tokenizer):
    """The words of a text [], its marks and its Chinese characters, [n]; with_offsets with their places in the normalized text.

    lower_case: small letters without accents, else normalization_form. keep_whitespace: white space is a token, too.
    preserve_unused_token: [CLS], [SEP], [UNK], [PAD], [MASK] and [unused1] stay whole. With lower_case what follows the last of
    them is given once; MindSpore 2.10 repeats the whole text there.
    """

    def __init__(
        self,
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ) -> None:
        owner = type(self).__name__
        self.lower_case = truth(owner, "lower_case", lower_case)
        self.keep_whitespace = truth(owner, "keep_whitespace", keep_whitespace)
        self.normalization_form = form_of(owner, "normalization_form", normalization_form)
        self.preserve_unused_token = truth(owner, "preserve_unused_token", preserve_unused_token)
        self.with_offsets = truth(owner, "with_offsets", with_offsets)

    def tokens(self, text: str) -> list[Token]:
        plain = (self._small(text) if self.lower_case else in_form(self.normalization_form, text)).translate(_SPACED)
        found = [m.span() for m in _delimiters(self.preserve_unused_token).finditer(plain)]
        return between(plain, found, lambda part: self.keep_whitespace or not part.isspace())

    def _small(self, text: str) -> str:
        parts = re.split(f"({_UNUSED})", text) if self.preserve_unused_token else [text]
        # Every second part is a special token.
        small = "".join(part if k % 2 else folded(part) for k, part in enumerate(parts))
        return small if small.isascii() else in_form(NormalizeForm.NFD, small).translate(_BARE)


class _Pieces:
    """Words as the longest parts, from the left, that a vocabulary has."""

    def __init__(
        self, owner: str, vocab: Any, suffix_indicator: Any, max_bytes_per_token: Any, unknown_token: Any
    ) -> None:
        if vocab is None:
            raise ArgumentValueError(f"{owner}: vocab is None", loc=user_loc())
        self.ids = ids_of(owner, vocab)
        self.suffix_indicator = string(owner, "suffix_indicator", suffix_indicator)
        self.most = integer(owner, "max_bytes_per_token", max_bytes_per_token, 0, 2**32 - 1)
        self.unknown_token = string(owner, "unknown_token", unknown_token)

    def of_words(self, words: Sequence[Token]) -> list[Token]:
        """The parts of words that stand at places: those of a text."""
        return [piece for token in words if token[0] for piece in self._of_word(*token)]

    def _of_word(self, text: str, start: int, end: int) -> list[Token]:
        unknown = [(self.unknown_token or text, start, end)]
        if end - start > self.most:
            return unknown
        pieces, first = [], 0
        while first < len(text):
            prefix = self.suffix_indicator if first else ""
            last = next((k for k in range(len(text), first, -1) if prefix + text[first:k] in self.ids), None)
            if last is None:
                return unknown
            after = start + size(text[first:last])
            pieces.append((prefix + text[first:last], start, after))
            start, first = after, last
        return pieces


class WordpieceTokenizer(TextTransform):
    """The longest parts, from the left, that the vocab has of a word [] or of each of words [k]: [n].

    Parts but a word's first begin with suffix_indicator in the vocab. Words without such parts, and those of more than
    max_bytes_per_token bytes, are unknown_token, or stay if it is "". with_offsets: each part's place in its word, of unknown
    words from 0 to its end; MindSpore 2.10 has places of parts besides there.
    """

    axes = (0, 1)

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        with_offsets: bool = False,
    ) -> None:
        self.pieces = _Pieces("WordpieceTokenizer", vocab, suffix_indicator, max_bytes_per_token, unknown_token)
        self.with_offsets = truth("WordpieceTokenizer", "with_offsets", with_offsets)

    def apply(self, value: Array) -> Any:
        words = [(text, 0, size(text)) for text in value.ravel().tolist()]
        return placed(self.pieces.of_words(words), self.with_offsets)


class BertTokenizer(BasicTokenizer):
    """WordpieceTokenizer of what BasicTokenizer gives, with the arguments of both; places are those in the normalized text."""

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ) -> None:
        self.pieces = _Pieces("BertTokenizer", vocab, suffix_indicator, max_bytes_per_token, unknown_token)
        super().__init__(lower_case, keep_whitespace, normalization_form, preserve_unused_token, with_offsets)

    def tokens(self, text: str) -> list[Token]:
        return self.pieces.of_words(super().tokens(text))
