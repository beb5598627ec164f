"""Properties of characters as ICU has them in MindSpore 2.10, which knows Unicode 15.1; Python 3.11 knows 14.0."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

Ranges = list[tuple[int, int]]

#: White space.
SPACES = "9-d 20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000"
#: What has come since Unicode 14.0 to 15.1: category -> first and last of each range.
_LATER = {
    "Ll": "1df25-1df2a",
    "Lm": "1e030-1e06d 1e4eb",
    "Lo": "1123f-11240 11f02 11f04-11f10 11f12-11f33 1342f 13441-13446 1b132 1b155 1e4d0-1e4ea 2b739 2ebf0-2ee5d 31350-323af",
    "Mc": "cf3 11f03 11f34-11f35 11f3e-11f3f 11f41",
    "Mn": "ece 10efd-10eff 11241 11f00-11f01 11f36-11f3a 11f40 11f42 13440 13447-13455 1e08f 1e4ec-1e4ef",
    "Nd": "11f50-11f59 1e4f0-1e4f9",
    "No": "1d2c0-1d2d3",
    "Po": "11b00-11b09 11f43-11f4f",
    "Cf": "13439-1343f",
    "So": "2ffc-2fff 31ef 1f6dc 1f774-1f776 1f77b-1f77f 1f7d9 1fa75-1fa77 1fa87-1fa88 1faad-1faaf 1fabb-1fabd 1fabf"
    " 1face-1facf 1fada-1fadb 1fae8 1faf7-1faf8",
}
#: Letters with a compatibility decomposition among them: U+1E030 and on.
_MODIFIERS = "абвгдежзиклмопрстуфхцчшыэюꚉәіјөүӏабвгдежзиклопсуфхцчшъыґіѕџҫꙑұ"
_FORMS = str.maketrans({0x1E030 + k: c for k, c in enumerate(_MODIFIERS)})
#: Default_Ignorable_Code_Point, what a case fold leaves out.
_IGNORED = (
    "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8 1bca0-1bca3"
    " 1d173-1d17a e0000-e0fff"
)


def ranges_of(text: str) -> Ranges:
    """Ranges that are written in hexadecimal, as "41-5a 5f"."""
    ends = (part.partition("-") for part in text.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in ends]


def category(code: int) -> str:
    """The general category of a character."""
    known = unicodedata.category(chr(code))
    return _later().get(code, known) if known == "Cn" else known


@lru_cache(maxsize=1)
def _later() -> dict[int, str]:
    return {code: kind for kind, text in _LATER.items() for a, b in ranges_of(text) for code in range(a, b + 1)}


@lru_cache(maxsize=64)
def of_categories(*kinds: str) -> Ranges:
    """The characters of categories, given by two letters or by the first one."""
    return merged((code, code) for code in range(0x110000) if category(code).startswith(kinds))


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same characters in ranges that are in order and do not touch."""
    made: Ranges = []
    for first, last in sorted(ranges):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return made


def others(ranges: Ranges) -> Ranges:
    """All characters but these."""
    made, at = [], 0
    for first, last in merged(ranges):
        if first > at:
            made.append((at, first - 1))
        at = last + 1
    return [*made, (at, 0x10FFFF)] if at <= 0x10FFFF else made


def in_brackets(ranges: Ranges) -> str:
    """A set of characters as a regular expression of Python's."""
    inner = "".join(f"\\U{a:08x}" if a == b else f"\\U{a:08x}-\\U{b:08x}" for a, b in merged(ranges))
    # Nothing at all: what can never match.
    return f"[{inner}]" if inner else "(?!)"


class Changed(dict[int, str]):
    """A table for str.translate that asks a function of characters, each once."""

    def __init__(self, change: Callable[[int], str]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str:
        made = self[code] = self._change(code)
        return made


def normalized(form: str, text: str) -> str:
    """A text in the form NFC, NFD, NFKC or NFKD."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, text.translate(_FORMS) if "K" in form else text)  # type: ignore[arg-type]


def folded(text: str) -> str:
    """Unicode's NFKC_Casefold."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.translate(_FOLDED))


def _fold(code: int) -> str:
    if any(first <= code <= last for first, last in _IGNORE):
        return ""
    folded_once = normalized("NFKC", unicodedata.normalize("NFD", chr(code)).casefold())
    return normalized("NFKC", folded_once.casefold())


_IGNORE = ranges_of(_IGNORED)
_FOLDED = Changed(_fold)
