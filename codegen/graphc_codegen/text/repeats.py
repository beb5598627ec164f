"""Finds runs of calls that occur several times, as those of equal layers do: they become one function of step.py.

The time to compile step.py grows with the number of its calls, so a network of twice the depth need not take twice as long.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import count, pairwise

#: A function costs as much to compile as so many calls, each use of it as one more.
_FUNCTION, _USE = 10, 1
#: Runs that save fewer calls than this are left alone.
_LEAST_SAVED = 10
#: Longer common runs are not looked for; a longer one is found in pieces.
_LONGEST = 600

#: Where the occurrences of a run begin, and its length.
Run = tuple[tuple[int, ...], int]


def repeated(items: Sequence[Hashable | None]) -> list[Run]:
    """Runs of equal items that occur more than once, none overlapping another. None is equal to nothing.

    Greedy: the run that saves most comes first, then the best one of what is left.
    """
    # A character for each item, by its number: Python sorts, compares and counts pieces of nothing faster than of strings.
    numbers = {item: k for k, item in enumerate(dict.fromkeys(item for item in items if item is not None))}
    unequal = count(len(numbers))
    text = "".join(chr(next(unequal) if item is None else numbers[item]) for item in items)
    runs: list[Run] = []
    while True:
        saved, run = _best(text)
        if saved < _LEAST_SAVED:
            return runs
        starts = _occurrences(text, run)
        runs.append((starts, len(run)))
        for start in starts:
            gone = "".join(chr(next(unequal)) for _ in run)
            text = text[:start] + gone + text[start + len(run) :]


def _best(text: str) -> tuple[int, str]:
    """The run that saves most calls when its occurrences become uses of one function."""
    order = sorted(range(len(text)), key=lambda k: text[k : k + _LONGEST])
    candidates: set[str] = set()
    for a, b in pairwise(order):
        if text[a : a + _FUNCTION + 1] != text[b : b + _FUNCTION + 1]:
            continue  # Too short to be worth a function.
        common = _common(text[a : a + _LONGEST], text[b : b + _LONGEST])
        # Where the two overlap, the distance between them is a period.
        for length in {common, min(common, abs(a - b))}:
            if length > _FUNCTION:
                candidates.add(text[a : a + length])
    best = (0, "")
    for run in candidates:
        if (len(text) // len(run)) * len(run) > best[0]:  # Else it cannot be better.
            uses = text.count(run)
            best = max(best, ((uses - 1) * len(run) - _FUNCTION - _USE * uses, run))
    return best


def _common(a: str, b: str) -> int:
    """The length of the common beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def _occurrences(text: str, run: str) -> tuple[int, ...]:
    found = []
    at = text.find(run)
    while at >= 0:
        found.append(at)
        at = text.find(run, at + len(run))
    return tuple(found)
