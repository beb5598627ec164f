"""`JiebaTokenizer`: the words of Chinese texts, by a dictionary, by a hidden Markov model, or by both, as cppjieba finds them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from typing import Any

from graphc.dataset.checks import INT32_MAX, integer, truth
from graphc.dataset.text.base import Token, Tokenizer, lines_of, places
from graphc.dataset.text.kinds import JiebaMode
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.validation.checks import member, string

#: The logarithm of a probability of 0.
_NEVER = -3.14e100
#: Parts of words: begin, end, middle; a word of one character.
_STATES = 4
#: What stands between sentences.
_SEPARATORS = re.compile("([ \t\n，。])")
#: What a hidden Markov model leaves whole: letters with digits behind, numbers, any other character of ASCII.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*|[0-9][0-9.]*|[\x00-\x7f]")
#: Characters of the longest word.
_LONGEST = 512

Span = tuple[int, int]


class JiebaTokenizer(Tokenizer):
    """The words of a text [], [n]; with_offsets with the bytes of UTF-8 at which they begin and end.

    hmm_path, mp_path: files of cppjieba's: hmm_model.utf8, of a hidden Markov model, and jieba.dict.utf8, whose lines are a word,
    how often it occurs and a tag. mode: how words are found, by the dictionary alone (JiebaMode.MP), by the model alone (HMM), or
    by the dictionary, and by the model where that has left single characters (MIX). DataError for files that are no such ones.
    """

    def __init__(
        self, hmm_path: str, mp_path: str, mode: JiebaMode = JiebaMode.MIX, with_offsets: bool = False
    ) -> None:
        owner = "JiebaTokenizer"
        member(owner, "mode", mode, JiebaMode)
        for name, path in (("hmm_path", hmm_path), ("mp_path", mp_path)):
            if not os.path.exists(string(owner, name, path)):
                raise ArgumentValueError(f"{owner}: {name}: there is no file {path}", loc=user_loc())
        self.mode, self.with_offsets = mode, truth(owner, "with_offsets", with_offsets)
        self._words, self._model = _Words(mp_path), _Model(hmm_path)

    def add_word(self, word: str, freq: int | None = None) -> None:
        """Let a word be in the dictionary that occurs freq times; by default, or with 0, as often as one in the middle does."""
        string("add_word", "word", word)
        if not word:
            raise ArgumentValueError("add_word: word is empty", loc=user_loc())
        self.made_with = None  # It is no longer what its arguments say.
        self._words.add(word, 0 if freq is None else integer("add_word", "freq", freq, 0, INT32_MAX))

    def add_dict(self, user_dict: str | dict[str, int]) -> None:
        """add_word of each word of a dict of numbers, or of a file, whose lines are a word and perhaps a number; other lines are
        left out. DataError if the file cannot be read.
        """
        if isinstance(user_dict, dict):
            for each, freq in user_dict.items():
                self.add_word(each, freq)
            return
        if not isinstance(user_dict, str):
            raise ArgumentTypeError(
                f"add_dict: user_dict must be a str or a dict, got {type(user_dict).__name__}", loc=user_loc()
            )
        self.made_with = None
        if not os.path.exists(user_dict):
            raise ArgumentValueError(f"add_dict: there is no file {user_dict}", loc=user_loc())
        for line in lines_of("add_dict", user_dict):
            found = re.fullmatch(r"([^\s*]+?)\s*([0-9]+)?", line.strip())
            if found:
                self.add_word(found[1], int(found[2] or 0))

    def tokens(self, text: str) -> list[Token]:
        byte, made, at = places(text), [], 0
        for part in _SEPARATORS.split(text):
            for first, last in self._cut(part):
                made.append((part[first:last], byte[at + first], byte[at + last]))
            at += len(part)
        return made

    def _cut(self, text: str) -> Iterator[Span]:
        if self.mode is JiebaMode.HMM:
            yield from self._model.cut(text)
            return
        single = None
        for first, last in self._words.cut(text):
            if self.mode is JiebaMode.MIX and last - first == 1:
                single = first if single is None else single
                continue
            if single is not None:
                yield from _moved(self._model.cut(text[single:first]), single)
                single = None
            yield first, last
        if single is not None:
            yield from _moved(self._model.cut(text[single:]), single)


def _moved(spans: Iterator[Span], by: int) -> Iterator[Span]:
    return ((first + by, last + by) for first, last in spans)


class _Words:
    """A dictionary: the logarithm of each word's share of all occurrences."""

    def __init__(self, path: str) -> None:
        counts: list[tuple[str, float]] = []
        for number, line in enumerate(lines_of("JiebaTokenizer", path), 1):
            parts = line.rstrip("\r").split(" ")
            if len(parts) != 3 or not parts[0] or not _is_number(parts[1]):
                raise DataError(
                    f"JiebaTokenizer: {path}, line {number}: must be a word, a number and a tag, got {line!r}",
                    code="GC204",
                    loc=user_loc(),
                )
            counts.append((parts[0], float(parts[1])))
        self._sum = sum(count for _, count in counts)
        if not self._sum > 0:
            raise DataError(f"JiebaTokenizer: {path} has no words", code="GC204", loc=user_loc())
        weights = sorted(self._weight(count) for _, count in counts)
        self._least, self._middle = weights[0], weights[len(weights) // 2]
        self._weights: dict[str, float] = {}
        #: Beginnings of words, words among them.
        self._beginnings: set[str] = set()
        for each, count in counts:
            self._put(each, self._weight(count))

    def _weight(self, count: float) -> float:
        return math.log(count / self._sum) if count > 0 else -math.inf

    def _put(self, word: str, weight: float) -> None:
        self._weights[word] = weight
        self._beginnings.update(word[:k] for k in range(1, len(word) + 1))

    def add(self, word: str, count: int) -> None:
        """One more word; with 0 as likely as one in the middle."""
        self._put(word, self._weight(count) if count else self._middle)

    def cut(self, text: str) -> Iterator[Span]:
        """The most likely words of a text; characters that begin none are words of the least likelihood."""
        size = len(text)
        best = [_NEVER] * size + [0.0]
        ends = list(range(1, size + 1))
        for first in range(size - 1, -1, -1):
            for last in range(first + 1, min(size, first + _LONGEST) + 1):
                piece = text[first:last]
                weight = self._weights.get(piece, self._least if last == first + 1 else None)
                if weight is not None and weight + best[last] > best[first]:
                    best[first], ends[first] = weight + best[last], last
                if piece not in self._beginnings:
                    break
        first = 0
        while first < size:
            yield first, ends[first]
            first = ends[first]


class _Model:
    """A hidden Markov model of which part of a word each character is: logarithms of probabilities."""

    def __init__(self, path: str) -> None:
        lines = [line.strip() for line in lines_of("JiebaTokenizer", path)]
        lines = [line for line in lines if line and not line.startswith("#")]
        try:
            numbers = [[float(x) for x in line.split(" ")] for line in lines[: _STATES + 1]]
            self._given = [_probabilities(line) for line in lines[_STATES + 1 : 2 * _STATES + 1]]
            if [len(row) for row in numbers] != [_STATES] * (_STATES + 1) or len(self._given) != _STATES:
                raise ValueError(f"{len(lines)} lines, or lines of other lengths than {_STATES} numbers")
        except (ValueError, TypeError) as error:
            raise DataError(
                f"JiebaTokenizer: {path} is no hidden Markov model of cppjieba's: {error}", code="GC204", loc=user_loc()
            ) from None
        self._start, self._next = numbers[0], numbers[1:]

    def cut(self, text: str) -> Iterator[Span]:
        """The words of a text; what is ASCII is no part of Chinese ones."""
        at = 0
        for found in _PLAIN.finditer(text):
            yield from _moved(self._words(text[at : found.start()]), at)
            yield found.span()
            at = found.end()
        yield from _moved(self._words(text[at:]), at)

    def _words(self, text: str) -> Iterator[Span]:
        first = 0
        for last, state in enumerate(self._states(text), 1):
            if state in (1, 3):
                yield first, last
                first = last

    def _states(self, text: str) -> list[int]:
        """The most likely parts of words, which end with a word (Viterbi)."""
        if not text:
            return []
        before: list[list[int]] = []
        likely = [self._start[k] + self._given[k].get(text[0], _NEVER) for k in range(_STATES)]
        for char in text[1:]:
            given = [self._given[k].get(char, _NEVER) for k in range(_STATES)]
            came, now = [1] * _STATES, [_NEVER] * _STATES
            for k in range(_STATES):
                for old in range(_STATES):
                    value = likely[old] + self._next[old][k] + given[k]
                    if value > now[k]:
                        now[k], came[k] = value, old
            likely = now
            before.append(came)
        states = [1 if likely[1] >= likely[3] else 3]
        for came in reversed(before):
            states.append(came[states[-1]])
        return states[::-1]


def _probabilities(line: str) -> dict[str, float]:
    pairs = (item.split(":") for item in line.split(",") if item)
    return {char: float(value) for char, value in pairs}


def _is_number(text: Any) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
