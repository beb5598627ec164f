"""What a matrix product fetches beside the turns of a tile: a few lines in each.

A core waits for two dozen lines or so at a time. Asked for more at once, it has no room for what it multiplies; so requests
are spread over all turns. A line that is asked for again meanwhile costs next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import LINE
from graphc_codegen.kernels.microkernel import prefetch
from graphc_codegen.writer import Writer

#: Bytes of a result or operand of an epilogue that may not be near.
FAR_AWAY = 1 << 17
#: Columns of a row that every turn may ask for: two lines.
_SHORT = 2 * LINE


class Rows(NamedTuple):
    """Rows of a matrix: row r is the `columns` elements from number `first` + r * `lead` on."""

    pointer: str
    first: str | int
    lead: int
    columns: int


class Strip(NamedTuple):
    """Some columns of a matrix, of which each tile fetches its share: element (row, column) is number
    `first` + row * `deep` + column * `along`, and `deep` or `along` is 1.

    A tile asks for rows or lines from the share `start` on to `start` + `share`, of `all` shares, in this `cache`.
    """

    pointer: str
    first: str | int
    rows: int
    columns: int
    deep: int
    along: int
    start: str | int
    share: int
    all: int
    cache: int = 1


class Lines(NamedTuple):
    """Rows of `lines` lines of `line` elements, `lead` elements apart, line after line as they lie, so that the core goes ahead
    by itself: a tile asks for them from number `start` on, `each` in a turn, in the second cache.
    """

    pointer: str
    first: str | int
    lines: int
    line: int
    lead: int
    start: str | int
    each: int


def beside(
    w: Writer, wanted: Sequence[Rows], rows: int, turns: int, strip: Strip | Lines | None = None
) -> Callable[[str | int], None] | None:
    """What one of `turns` writes, told its number, to fetch `rows` rows of each wanted matrix and the share of a strip.

    None if there is nothing to fetch. Turns that are left over ask for rows that follow.
    """
    if not wanted and strip is None:
        return None
    together, often = math.ceil(rows / turns), max(turns // rows, 1)

    def turn(number: str | int) -> None:
        row, part = w.divided(number, often)
        for k in range(together):
            for x in wanted:
                start = w.linear((x.first, 1), (row, together * x.lead), (k, x.lead))
                for line in _lines(x) if often == 1 or x.columns <= _SHORT else _share(w, x, part, often):
                    prefetch(w, x.pointer, w.add(start, line))
        if isinstance(strip, Lines):
            _some_lines(w, strip, number)
        elif strip is not None:
            _strip(w, strip, number, turns)

    return turn


def _lines(x: Rows) -> list[int]:
    """An element of each line of a row; rows that begin inside a line reach one more."""
    last = [x.columns - 1] if x.lead % LINE else []
    return sorted({*range(0, x.columns, LINE), *last})


def _share(w: Writer, x: Rows, part: str | int, parts: int) -> list[str | int]:
    """An element of each line of a part of a row."""
    lines = len(_lines(x))
    first = w.divided(w.mul(part, lines), parts)[0]
    return [w.smaller(w.mul(w.add(first, k), LINE), x.columns - 1) for k in range(math.ceil(lines / parts))]


def _strip(w: Writer, x: Strip, number: str | int, turns: int) -> None:
    """Ask for what falls to one turn: whole rows if they are contiguous, else lines of columns."""
    pieces = x.rows if x.along == 1 else x.columns * math.ceil(x.rows / LINE)
    # The turn is the share start + number * share / turns.
    done = w.linear((x.start, turns * pieces), (number, x.share * pieces))
    first = w.divided(done, turns * x.all)[0]
    for k in range(math.ceil(x.share * pieces / (turns * x.all))):
        piece = w.add(first, k)
        if x.along == 1:
            for column in range(0, x.columns, LINE):
                prefetch(w, x.pointer, w.linear((x.first, 1), (piece, x.deep), (column, 1)), cache=x.cache)
        else:
            line, row = w.divided(piece, x.columns)
            prefetch(w, x.pointer, w.linear((x.first, 1), (line, LINE), (row, x.along)), cache=x.cache)


def _some_lines(w: Writer, x: Lines, number: str | int) -> None:
    """Ask for the lines of one turn."""
    for k in range(x.each):
        row, line = w.divided(w.linear((x.start, 1), (number, x.each), (k, 1)), x.lines)
        prefetch(w, x.pointer, w.linear((x.first, 1), (row, x.lead), (line, x.line)), cache=2)


def far_extras(finish: epilogue.Finish | None) -> list[tuple[str, tuple[int, ...]]]:
    """Operands of an epilogue that may not be near, with their strides."""
    if finish is None:
        return []

    def size(strides: Sequence[int]) -> int:
        return math.prod(n for n, s in zip(finish.domain, strides, strict=True) if s)

    operands = zip(finish.pointers, finish.p.get("extras", ()), strict=False)
    return [(pointer, strides) for pointer, strides in operands if 4 * size(strides) >= FAR_AWAY]
