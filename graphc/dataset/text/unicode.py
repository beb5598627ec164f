"""Properties of characters as ICU has them in MindSpore 2.10, which knows Unicode 15.1; Python 3.11 knows 14.0, 3.14 16.0."""

from __future__ import annotations

import re
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
#: What Unicode 16.0 added, and what it took for another category.
_NEWER = (
    "897 1b4e-1b4f 1b7f 1c89-1c8a 2427-2429 31e4-31e5 a7cb-a7cd a7da-a7dc 105c0-105f3 10d40-10d65 10d69-10d85"
    " 10d8e-10d8f 10ec2-10ec4 10efc 11380-11389 1138b 1138e 11390-113b5 113b7-113c0 113c2 113c5 113c7-113ca"
    " 113cc-113d5 113d7-113d8 113e1-113e2 116d0-116e3 11bc0-11be1 11bf0-11bf9 11f5a 13460-143fa 16100-16139"
    " 16d40-16d79 18cff 1cc00-1ccf9 1cd00-1ceb3 1e5d0-1e5fa 1e5ff 1f8b2-1f8bb 1f8c0-1f8c1 1fa89 1fa8f 1fabe 1fac6"
    " 1fadc 1fadf 1fae9 1fbcb-1fbef"
)
_BEFORE = {0x1171E: "Mn"}
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
    kind = _others_than_pythons().get(code)
    return unicodedata.category(chr(code)) if kind is None else kind


@lru_cache(maxsize=1)
def _others_than_pythons() -> dict[int, str]:
    """What some Python has another category for, or none: that of Unicode 15.1."""
    kinds = {**_LATER, "Cn": _NEWER}
    return _BEFORE | {
        code: kind for kind, text in kinds.items() for a, b in ranges_of(text) for code in range(a, b + 1)
    }


@lru_cache(maxsize=1)
def _unknown() -> re.Pattern[str]:
    return re.compile(f"({in_brackets(ranges_of(_NEWER))}+)")


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
    """A text in the form NFC, NFD, NFKC or NFKD. Characters that Unicode 15.1 does not know stay, and nothing goes past them."""
    if text.isascii():
        return text
    # Every second part is of such characters.
    parts = _unknown().split(text)
    parts[::2] = [unicodedata.normalize(form, x.translate(_FORMS) if "K" in form else x) for x in parts[::2]]  # type: ignore[arg-type]
    return "".join(parts)


def folded(text: str) -> str:
    """Unicode's NFKC_Casefold."""
    if text.isascii():
        return text.lower()
    return normalized("NFC", text.translate(_FOLDED))


def _fold(code: int) -> str:
    if any(first <= code <= last for first, last in _IGNORE):
        return ""
    if category(code) == "Cn":
        return chr(code)
    folded_once = normalized("NFKC", unicodedata.normalize("NFD", chr(code)).casefold())
    return normalized("NFKC", folded_once.casefold())


_IGNORE = ranges_of(_IGNORED)
_FOLDED = Changed(_fold)
