"""Regular expressions of ICU's, which are MindSpore's, as Python's: the same matches, or an error that names what differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from graphc.dataset.text.unicode import SPACES, Ranges, category, in_brackets, merged, of_categories, others, ranges_of
from graphc.errors import DataError

_LINE_ENDS = "a-d 85 2028-2029"
#: Letters beside those of the categories: joiners, and letters in circles and squares.
_WORDS = "200c-200d 24b6-24e9 1f130-1f149 1f150-1f169 1f170-1f189"
_KINDS = re.compile(r"L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfon]?")
#: The end of a text, or the last end of a line in it.
_END = r"(?=\Z|\r\n\Z|(?<!\r)\n\Z|[\x0b-\r\x85\u2028\u2029]\Z)"
_CONTROLS = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})[+?]?")
_OPENING = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|<(?P<name>[A-Za-z][A-Za-z0-9]*)>))?")
_CODES = (
    re.compile(r"x\{([0-9a-fA-F]{1,6})\}"),
    re.compile(r"[xX]([0-9a-fA-F]{2})"),
    re.compile(r"u([0-9a-fA-F]{4})"),
    re.compile(r"U([0-9a-fA-F]{8})"),
)
_PROPERTY = re.compile(r"[pP]\{(\^?)([A-Za-z]{1,2})\}")


@lru_cache(maxsize=64)
def _named(letter: str) -> Ranges:
    """The characters of \\d, \\s, \\w, \\h or \\v."""
    if letter == "d":
        return of_categories("Nd")
    if letter == "w":
        return merged(of_categories("L", "M", "Nd", "Nl", "Pc") + ranges_of(_WORDS))
    spaces, ends = ranges_of(SPACES), ranges_of(_LINE_ENDS)
    if letter == "h":
        return [(9, 9), *others(others(spaces) + ends)]
    return spaces if letter == "s" else ends


class Pattern:
    """A regular expression of ICU's. `python`: the one of Python's that finds the same."""

    def __init__(self, owner: str, text: str) -> None:
        self.owner, self._text, self._at = owner, text, 0
        #: Whether it asks for the ends of words: marks are parts of the letter before them there.
        self.words = False
        self.groups = 0
        made = []
        while self._at < len(text):
            made.append(self._piece())
        try:
            self.python = re.compile("".join(made))
        except (re.error, OverflowError) as error:
            raise DataError(
                f"{owner}: {text!r} is no regular expression, or none of Python's: {error}", code="GC201"
            ) from None

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """The matches in a text, from left to right. DataError where the ends of words depend on marks."""
        if self.words and not text.isascii() and any(_is_mark(c) for c in text):
            raise self._refused("\\b or \\B, for a text with combining marks or invisible characters", "lookarounds")
        at = 0
        while at <= len(text) and (match := self.python.search(text, at)):
            yield match
            # After an empty match ICU goes on one character later, where Python tries the same place again.
            at = match.end() + (match.end() == match.start())

    def _refused(self, what: str, use: str) -> DataError:
        return DataError(
            f"{self.owner}: {self._text!r} has {what}: ICU and Python differ there", code="GC201", help=f"use {use}"
        )

    def _wrong(self) -> DataError:
        return DataError(f"{self.owner}: {self._text!r} is no regular expression, at place {self._at}", code="GC201")

    def _piece(self) -> str:
        """The next piece, as Python writes it."""
        char = self._text[self._at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._set()
        if char == "(":
            return self._group()
        if quantifier := _QUANTIFIER.match(self._text, self._at):
            self._at = quantifier.end()
            return quantifier[0]
        if char in "{}":
            raise self._wrong()
        self._at += 1
        if char == ".":
            return in_brackets(others(ranges_of(_LINE_ENDS)))
        return {"^": r"\A", "$": _END}.get(char, char if char in ")|" else re.escape(char))

    def _group(self) -> str:
        opening = _OPENING.match(self._text, self._at)
        assert opening is not None
        if opening[0] == "(" and self._text.startswith("(?", self._at):
            raise self._refused("flags or a comment in (?...)", "sets such as [aA], or a pattern without")
        self._at = opening.end()
        self.groups += opening[0] == "(" or opening["name"] is not None
        return f"(?P<{opening['name']}>" if opening["name"] else opening[0]

    def _escape(self) -> str:
        """What begins with a backslash, outside of a set."""
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in {"A", "z", "Z", "b", "B"}:
            self._at += 2
            self.words |= letter in "bB"
            word = in_brackets(_named("w")) if letter in "bB" else ""
            edges = f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
            inside = f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"
            return {"A": r"\A", "z": r"\Z", "Z": _END, "b": edges, "B": inside}[letter]
        if letter and letter in "123456789":
            if int(letter) > self.groups:
                raise self._wrong()
            self._at += 2
            return f"(?:\\{letter})"
        return in_brackets(self._escaped())

    def _escaped(self) -> Ranges:
        """The characters that a backslash and what follows stand for."""
        rest = self._text[self._at + 1 :]
        if not rest:
            raise self._wrong()
        if found := _PROPERTY.match(rest):
            if not _KINDS.fullmatch(found[2]):
                raise self._refused(f"\\{found[0]}", "a general category such as \\p{Lu}")
            self._at += 1 + found.end()
            ranges = of_categories(found[2])
            return others(ranges) if (rest[0] == "P") != (found[1] == "^") else ranges
        for code in _CODES:
            if found := code.match(rest):
                self._at += 1 + found.end()
                return [(int(found[1], 16), int(found[1], 16))]
        letter = rest[0]
        if letter.lower() in set("dswhv"):
            self._at += 2
            return others(_named(letter.lower())) if letter.isupper() else _named(letter)
        if letter in _CONTROLS:
            self._at += 2
            return [(_CONTROLS[letter], _CONTROLS[letter])]
        if letter.isascii() and letter.isalnum():
            shown = re.match(r"[pP]\{[^}]*\}?|.", rest)
            raise self._refused(f"\\{shown[0] if shown else ''}", "what it stands for, written out")
        self._at += 2
        return [(ord(letter), ord(letter))]

    def _set(self) -> str:
        """A set in brackets."""
        if self._text.startswith("[:", self._at):
            raise self._refused("a class in [:...:]", "a general category such as \\p{L}")
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges: Ranges = []
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._text.startswith(("[", "&&", "--"), self._at):
                raise self._refused("a set inside of a set, && or --", "one plain set")
            low = self._member()
            if self._text.startswith("-", self._at) and not self._text.startswith(("-]", "--"), self._at):
                self._at += 1
                low = self._range(low, self._member())
            ranges += low
            first = False
        self._at += 1
        return in_brackets(others(ranges) if negated else ranges)

    def _member(self) -> Ranges:
        if self._at >= len(self._text):
            raise self._wrong()
        char = self._text[self._at]
        if char == "\\":
            return self._escaped()
        self._at += 1
        return [(ord(char), ord(char))]

    def _range(self, low: Ranges, high: Ranges) -> Ranges:
        single = all(len(r) == 1 and r[0][0] == r[0][1] for r in (low, high))
        if not single or low[0][0] > high[0][0]:
            raise self._wrong()
        return [(low[0][0], high[0][0])]


def _is_mark(char: str) -> bool:
    return char in "\uff9e\uff9f" or category(ord(char)).startswith(("M", "Cf"))


_PART = re.compile(
    r"\\(?:u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<char>.))?|\$(?:\{(?P<name>[A-Za-z][A-Za-z0-9]*)\}|(?P<digits>[0-9]+))?",
    re.DOTALL,
)


def replacement(owner: str, text: str, pattern: Pattern) -> Callable[[re.Match[str]], str]:
    """What stands for a match, of $1, ${name} and \\: a function of it. DataError for a group that there is not."""
    parts: list[str | int] = []
    at = 0
    for found in _PART.finditer(text):
        parts.append(text[at : found.start()])
        at = found.end()
        if found[0].startswith("\\"):
            code = found["u"] or found["U"]
            parts.append(chr(int(code, 16)) if code else found["char"] or "")
        elif found["name"]:
            parts.append(_group_of(owner, pattern.python.groupindex.get(found["name"]), found[0]))
        else:
            digits = found["digits"] or ""
            # As many digits as make the number of a group.
            known = next((k for k in range(len(digits), 0, -1) if int(digits[:k]) <= pattern.groups), 0)
            parts.append(_group_of(owner, int(digits[:known]) if known else None, found[0]))
            parts.append(digits[known:])
    parts.append(text[at:])
    return lambda match: "".join(p if isinstance(p, str) else match[p] or "" for p in parts)


def _group_of(owner: str, number: int | None, text: str) -> int:
    if number is None:
        raise DataError(f"{owner}: {text!r} in the replacement is no group of the pattern", code="GC201")
    return number
