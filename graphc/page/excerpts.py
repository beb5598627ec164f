"""The lines of source that a page shows: those that nodes and Cells come from, and a few around each."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

#: Lines before and after the one that is meant.
AROUND = 3
#: Characters of one line, and lines of one file, at most.
WIDTH, MOST = 200, 4000
#: A page may be made of a record that somebody else has written: nothing but source is read for it.
_SOURCES = (".py", ".pyi")


def excerpts(files: Sequence[str], lines: Iterable[tuple[int, int]]) -> list[list[tuple[int, list[str]]]]:
    """For each file its pieces: (number of the first line, lines). lines: (index of the file, line).

    A file that is no Python source, or is not there any more, has none.
    """
    wanted: list[set[int]] = [set() for _ in files]
    for file, line in lines:
        wanted[file] |= set(range(max(line - AROUND, 1), line + AROUND + 1))
    return [_pieces(name, sorted(numbers)[:MOST]) for name, numbers in zip(files, wanted, strict=True)]


def _text(name: str) -> list[str]:
    """The lines of a file, of a notebook's cell too. A name may be relative to where its module has been found."""
    if not name.endswith(_SOURCES):
        return linecache.getlines(name) if name in linecache.cache else []
    if not Path(name).is_absolute() and not Path(name).is_file():
        ending = f"{os.sep}{name}"
        places = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        name = next((place for place in places if place is not None and place.endswith(ending)), name)
    return linecache.getlines(name)


def _pieces(name: str, numbers: Sequence[int]) -> list[tuple[int, list[str]]]:
    text = _text(name)
    present = [n for n in numbers if n <= len(text)]
    pieces = []
    for _, group in groupby(enumerate(present), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        pieces.append((run[0], [text[number - 1].rstrip("\r\n")[:WIDTH] for number in run]))
    return pieces
