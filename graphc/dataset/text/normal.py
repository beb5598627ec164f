"""Texts in one form: of Unicode's, in small letters, without the marks of Wikipedia's files."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

from graphc.dataset.text.base import EachText
from graphc.dataset.text.unicode import folded, normalized
from graphc.validation.checks import member


class NormalizeForm(IntEnum):
    """Unicode's forms of texts: characters composed (C) or decomposed (D), with a K those alike made one."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


def form_of(owner: str, name: str, value: Any) -> NormalizeForm:
    """One of NormalizeForm; ArgumentTypeError for anything else."""
    return member(owner, name, value, NormalizeForm)


def in_form(form: NormalizeForm, text: str) -> str:
    """A text in that form."""
    return text if form is NormalizeForm.NONE else normalized(form.name, text)


class NormalizeUTF8(EachText):
    """Each text in a form of Unicode's, NFKC by default."""

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        self.normalize_form = form_of("NormalizeUTF8", "normalize_form", normalize_form)

    def of_text(self, text: str) -> str:
        return in_form(self.normalize_form, text)


class CaseFold(EachText):
    """Each text in small letters, as texts are compared without case: Unicode's NFKC_Casefold."""

    def of_text(self, text: str) -> str:
        return folded(text)


_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGITS = str.maketrans({str(k): f" {name} " for k, name in enumerate(_NAMES)})


class FilterWikipediaXML(EachText):
    """The words of each text of a dump of Wikipedia's: small letters a to z with single spaces between, digits as words.

    Entities and tags are left out, and texts that redirect are empty. As documented of MindSpore; release 2.10 itself drops
    the letter R, writes an n for lines that are empty, and puts an array of texts into its first one.
    """

    def of_text(self, text: str) -> str:
        if "#redirect" in text or "#REDIRECT" in text:
            return ""
        text = re.sub(r"<[^>]*>", "", re.sub(r"<[^\n-\r\x85\u2028\u2029]*>", "", re.sub(r"&[^;]*;", " ", text)))
        letters = re.sub(r"[^a-z\n]+", " ", re.sub(r"[A-Z]", lambda m: m[0].lower(), text).translate(_DIGITS))
        return " ".join(letters.replace("\n ", "").split())
