"""Where the operands of a matrix product lie, and which way to compute it."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.kernels.base import Params
from graphc_codegen.kernels.microkernel import blocks, registers, strip_kinds

#: Vectors in a tile next to each other.
VECTORS = 2
#: Most elements of a panel: 64 KiB of stack.
_PANEL = 1 << 14
#: The fewest rows and pairs of bfloat16 of a product that multiplies these.
_LEAST_ROWS, _LEAST_PAIRS = 8, 8
#: The fewest bytes between vectors whose multiples fall into few sets of the first cache, and how many have room in a set.
_ALIAS, _ROOM = 512, 8
#: The most rows, or columns, with which a matrix of so many bytes is swept over.
SWEPT_ROWS, _SWEPT = 4, 1 << 20
#: Bytes of a result that does not stay near, in the second cache.
LARGE = 1 << 20
#: With long vectors, the most rows of a product whose matrices are not copied part by part, and its fewest and most terms.
_FEW_ROWS, _SOME, _ONE_SUM = 64, 128, 1024
#: Parameters with which something is to be done with vectors as they are stored.
FINISHES = {"epilogue", "marks"}


class View(NamedTuple):
    """Where the matrices of an operand lie: element (i, j) of the one at batch index t is number
    offset + sum(t * strides) + i * lead + j of `size`.
    """

    size: int
    offset: int
    lead: int
    strides: tuple[int, ...]


class Side(NamedTuple):
    """A factor of one product: its address, its size along m or n, and its strides there and along k."""

    pointer: str
    size: int
    along: int
    deep: int


class Way(NamedTuple):
    """How to compute a product: vectors are B's, or A's if it `swaps`; it `packs` them; or its lanes run along k; or it `sweeps`
    over the rows of a large matrix. `pairs` of bfloat16 are multiplied at once, if they are packed.
    """

    swaps: bool = False
    packs: bool = False
    dots: bool = False
    sweeps: bool = False
    pairs: bool = False


def views(p: Params) -> tuple[View, ...]:
    """Where a, b and c lie."""
    axes = axes_of(p)

    def view(name: str, rows: int, columns: int) -> View:
        if name in p:
            size, offset, lead, *strides = p[name]
            return View(size, offset, lead, tuple(strides))
        strides = [rows * columns * math.prod(axes[i + 1 :]) for i in range(len(axes))]
        return View(rows * columns * math.prod(axes), 0, columns, tuple(strides))

    return tuple(view(name, *shape) for name, shape in zip("abc", shapes(p), strict=True))


def dtype_of(p: Params) -> str:
    """The dtype of everything."""
    return str(p.get("dtype", "float32"))


def item_size(p: Params) -> int:
    """Bytes of an element."""
    return ITEMSIZE[dtype_of(p)]


def axes_of(p: Params) -> tuple[int, ...]:
    """The sizes whose product is the batch."""
    axes: tuple[int, ...] = p.get("axes", (p.get("batch", 1),))
    return axes


def domain(p: Params) -> tuple[int, int, int]:
    """The axes of all products: batch, m, n."""
    return (math.prod(axes_of(p)), p["m"], p["n"])


def shapes(p: Params) -> tuple[tuple[int, int], ...]:
    """Rows and columns of a, b and c as they are stored."""
    m, n, k = p["m"], p["n"], p["k"]
    return ((k, m) if p["ta"] else (m, k)), ((n, k) if p["tb"] else (k, n)), (m, n)


def steps(p: Params) -> tuple[tuple[int, int], tuple[int, int]]:
    """The strides of a along m and k, and of b along n and k."""
    a, b, _ = views(p)
    return ((1, a.lead) if p["ta"] else (a.lead, 1)), ((b.lead, 1) if p["tb"] else (1, b.lead))


# ---- which way


class _Costs(NamedTuple):
    """In cycles with one multiply-add of vectors each: how many run at once at the least, to begin and store a tile, to
    sum up the lanes of a vector, to transpose one on its way to a panel or to C, to fetch and copy one; and the factor for
    vectors that alias.
    """

    latency: int
    tile: float
    total: float
    move: float
    turn: float
    copy: float
    alias: float


#: For vectors of 16 floats, of 8 doubles, and for shorter ones.
_WIDE, _NARROW = _Costs(8, 30, 1.3, 4, 7, 30, 1.0), _Costs(8, 30, 10, 4, 12, 4, 1.2)
_WIDE_DOUBLES = _WIDE._replace(move=7)


def choose(p: Params, lanes: int, *, pairs: bool = False) -> Way:
    """The way that takes the fewest cycles, roughly. A panel must not be too large for the stack. `pairs` says whether those of
    bfloat16 can be multiplied: that is done where it gains.
    """
    if pairs and _gains_by_pairs(p, lanes):
        return Way(packs=True, pairs=True)
    swept = _swept(p, lanes)
    if swept is not None:
        return swept
    if whole_lead(p, lanes):
        return Way(packs=True)
    fits = p["k"] * VECTORS * lanes <= _PANEL
    ways = [Way(packs=packs) for packs in (False, True) if (fits if packs else not p["tb"])]
    if p["ta"] and not p.keys() & FINISHES:
        ways.append(Way(swaps=True))
    elif p["tb"] and lanes >= 4:
        ways.append(Way(dots=True))
    return min(ways, key=partial(_cycles, p, lanes))


def whole_lead(p: Params, lanes: int) -> int:
    """What lies between the rows of a panel with all columns of B, where these are few terms each and not contiguous; else 0.

    Then rows of a large C are written from one end to the other, as memory is fastest.
    """
    wide = VECTORS * lanes
    lead = -(-int(p["n"]) // wide) * wide
    few = p["tb"] and p["k"] <= _ROOM and p["k"] * lead <= _PANEL
    return lead if few and p["n"] >= lanes and item_size(p) * p["m"] * p["n"] >= LARGE else 0


def _gains_by_pairs(p: Params, lanes: int) -> bool:
    """Whether a product has so many rows, columns and terms that pairs are sooner multiplied than copied, and these fit."""
    m, n, pairs = int(p["m"]), int(p["n"]), -(-int(p["k"]) // 2)
    if "block" in p or m < _LEAST_ROWS or n < lanes or pairs < _LEAST_PAIRS:
        return False
    return pairs * VECTORS * lanes <= _PANEL and (pairs_lie(p) or pairs * (m + lanes) <= _PANEL)


def pairs_lie(p: Params) -> bool:
    """Whether the rows of A hold pairs of terms, each a word from the first one on."""
    return not p["ta"] and p["k"] % 2 == 0 and views(p)[0].lead % 2 == 0


def _swept(p: Params, lanes: int) -> Way | None:
    """The way to multiply a few rows by a matrix from memory whose rows are contiguous, or such a matrix by a column."""
    m, n, k = int(p["m"]), int(p["n"]), int(p["k"])
    if "triangle" in p or item_size(p) * k * max(m, n) < _SWEPT:
        return None
    if m <= SWEPT_ROWS and not p["tb"] and n >= lanes:
        return Way(sweeps=True)
    one = n == 1 and p["ta"] and m >= lanes and views(p)[2].lead == 1 and not p.keys() & FINISHES
    return Way(swaps=True, sweeps=True) if one else None


def _cycles(p: Params, lanes: int, way: Way) -> float:
    """Estimated cycles of one product."""
    m, n, k = int(p["m"]), int(p["n"]), int(p["k"])
    costs = (_WIDE if item_size(p) == 4 else _WIDE_DOUBLES) if lanes * item_size(p) >= 64 else _NARROW
    after = len(p.get("epilogue", ()))
    if way.dots:
        tall, broad = dot_sizes(lanes, item_size(p))
        turns, total = math.ceil(k / lanes), costs.total * m * n
        for _, across, columns in blocks(n, broad):
            total += across * m * after
            for _, down, rows in blocks(m, tall):
                total += down * across * turns * max(rows * columns, costs.latency)
        return total
    rows, columns = (n, m) if way.swaps else (m, n)
    along, deep = steps(p)[0 if way.swaps else 1]
    into_panel = costs.copy if along == 1 else costs.move
    slower = costs.alias if aliases(deep * item_size(p), k) and not way.packs else 1.0
    total = 0.0
    for _, count, _, widths in strip_kinds(columns, lanes, VECTORS):
        wide = len(widths)
        for _, times, size in blocks(rows, registers(lanes * item_size(p) // 4) // wide):
            tile = slower * k * max(size * wide, costs.latency) + costs.tile + after * size * wide
            total += count * times * (tile + (costs.turn * size * wide if way.swaps else 0))
        total += count * k * wide * into_panel if way.packs else 0
    return total


def few_rows(p: Params, floats: int) -> bool:
    """Whether vectors of so many floats multiply a product of so few rows sooner without its panels: what is copied is read a few
    times only. Its terms must be few enough for one sum; halves are better converted once.
    """
    few = p["m"] <= _FEW_ROWS and _SOME < p["k"] <= _ONE_SUM
    return floats >= 16 and few and not p.keys() & {"block", "halves", "rounds"}


def aliases(step: int, count: int) -> bool:
    """Whether so many vectors, so many bytes apart, push each other out of the first cache."""
    return count > _ROOM and step >= _ALIAS and step % _ALIAS == 0


def dot_sizes(lanes: int, item: int) -> tuple[int, int]:
    """Most rows and columns of a tile whose lanes run along k; a row's results are the lanes of one vector."""
    return (4, min(6, lanes)) if lanes * item >= 64 else (4, 3)
