"""The register tile that GEMM and every convolution share.

A tile keeps its accumulators in registers while it walks nested loops over k. In *splat* mode one operand
is a scalar broadcast to all lanes and the other a vector: C[row, lanes] += A[row] * B[lanes]. In *dot* mode
both are vectors along k, and lanes are summed at the end: C[row, column] = sum(A[row, :] * B[column, :]).

The loops over k are `levels`, outermost first, then `segments` that run one after another inside the
innermost level: a segment is a loop over unrolled taps. All offsets and strides are static and count
elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from graphc_codegen.kernels.vectors import fma_pairs, splat_pair
from graphc_codegen.writer import Writer, constant_mask, vec

#: A vector gathered from contiguous runs: (offset, first lane, number of lanes); other lanes are zero.
Pieces = tuple[tuple[int, int, int], ...]
#: (count, stride of A, stride of B); an SSA value may be the count, at least 1
Level = tuple[int | str, int, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """Turns `first` to `count` - 1 over `taps`; turn i moves A by i * `a_step` and B by i * `b_step`.

    An SSA value may bound the turns; at least one must remain. In splat mode a tap is (offset of A, offset
    added to every vector of B), in dot mode (pieces of A, pieces of B). `beside`, if given, writes what else each turn
    does; it is told its number.
    """

    count: int | str
    a_step: int
    b_step: int
    taps: tuple[tuple[int, int], ...] | tuple[tuple[Pieces, Pieces], ...]
    first: int | str = 0
    beside: Callable[[int | str], None] | None = None


@dataclass(frozen=True, slots=True)
class Blocks:
    """How accumulators are kept short: after `turns` of the loop number `level` (the segments' own is behind those of the levels)
    they are added to float64 ones at the address `totals`, and start anew.
    """

    level: int
    turns: int
    totals: str


def registers(lanes: int) -> int:
    """Accumulators a tile may hold, of 32 vector registers with 16 lanes, of 16 with 8."""
    return 28 if lanes >= 16 else 12


def total_places(w: Writer) -> str:
    """Memory for the float64 accumulators of a tile. To be asked for outside of all loops: it is on the stack."""
    return w.op(f"alloca [{(32 if w.lanes >= 16 else 16) * w.lanes} x double], align 64")


def widest(lanes: int, rows: int) -> int:
    """Most vectors in a splat tile of `rows` rows; each also takes a register for B, and the scalar one."""
    return max(1, ((32 if lanes >= 16 else 16) - 1) // (rows + 1))


def tallest(lanes: int, columns: int) -> int:
    """Most rows in a dot tile of so many columns, each of which takes a register, as does the row that meets them."""
    return max(1, ((32 if lanes >= 16 else 16) - 1 - columns) // columns)


def blocks(total: int, limit: int) -> list[tuple[int, int, int]]:
    """Cut `total` into nearly equal blocks of at most `limit`: (start, number, size), larger ones first.

    A size that leaves no second kind of block is preferred, as each kind is a copy of the code.

    >>> blocks(32, 14)
    [(0, 2, 11), (22, 1, 10)]
    >>> blocks(120, 14)
    [(0, 10, 12)]
    """
    even = next((size for size in range(limit, 3 * limit // 4, -1) if total % size == 0), None)
    number = total // even if even else math.ceil(total / limit)
    size, larger = divmod(total, number)
    cut = [(0, larger, size + 1), (larger * (size + 1), number - larger, size)]
    return [b for b in cut if b[1]]


def strips(total: int, lanes: int, vectors: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Cut a contiguous axis into strips of `vectors` vectors: (start, number, active lanes per vector)."""
    wide = lanes * vectors
    full, rest = divmod(total, wide)
    cut: list[tuple[int, int, tuple[int, ...]]] = []
    if full:
        cut.append((0, full, (lanes,) * vectors))
    if rest:
        widths = tuple(min(lanes, rest - start) for start in range(0, rest, lanes))
        cut.append((full * wide, 1, widths))
    return cut


def each_strip(w: Writer, total: int, vectors: int, body: Callable[[str | int, tuple[int, ...]], None]) -> None:
    """`body(first index, active lanes per vector)` for every strip of `strips(total, lanes, vectors)`."""
    for start, count, widths in strips(total, w.lanes, vectors):
        w.repeat(count, partial(_shifted, w, start, w.lanes * vectors, widths, body))


#: One kind of tile along an axis: first index, number, distance, and what is told to the body (size or widths).
Kind = tuple[int, int, int, Any]


def block_kinds(total: int, limit: int) -> list[Kind]:
    """The kinds of `blocks(total, limit)`."""
    return [(start, count, size, size) for start, count, size in blocks(total, limit)]


def strip_kinds(total: int, lanes: int, vectors: int) -> list[Kind]:
    """The kinds of `strips(total, lanes, vectors)`."""
    return [(start, count, lanes * vectors, widths) for start, count, widths in strips(total, lanes, vectors)]


def each_tile(
    w: Writer, outer: Sequence[Kind], inner: Sequence[Kind], body: Callable[..., None], *, own_inner: bool = False
) -> None:
    """`body(i, what_i, j, what_j)` for every pair of tiles of two axes, shared among the threads.

    A thread's own tiles are those of some i, or with `own_inner` of some j, if they are many.
    """

    def tile(a: Kind, b: Kind, i: str | int, j: str | int) -> None:
        body(w.linear((i, a[2]), (a[0], 1)), a[3], w.linear((j, b[2]), (b[0], 1)), b[3])

    def row(a: Kind, i: str | int) -> None:
        for b in inner:
            w.repeat(b[1], partial(tile, a, b, i))

    if not w.divides:
        for a in outer:
            w.repeat(a[1], partial(row, a))
        return
    turned = False
    # What there is most of comes last: its turns are handed out, which evens out how far the threads are apart.
    outer_sorted, inner_sorted = (sorted(kinds, key=lambda kind: kind[1]) for kinds in (outer, inner))
    for a in outer_sorted:
        last = a is outer_sorted[-1]
        many = w.can_hand_out(a[1] * inner_sorted[-1][1])
        if (a[1] % w.threads == 0 and not many) or (w.can_hand_out(a[1]) and not own_inner):
            w.share(a[1], partial(row, a), hand_out=last)
            continue
        for b in inner_sorted:
            # The threads with the longer part of one kind get the shorter part of the next.
            hand_out = last and b is inner_sorted[-1]
            if hand_out and many and own_inner:
                w.hand_out_inner(a[1], b[1], partial(tile, a, b))
                continue
            w.share_pairs(a[1], b[1], partial(tile, a, b), last_first=turned, hand_out=hand_out)
            turned = not turned


def _shifted(w: Writer, start: int, step: int, what: Any, body: Callable[[str | int, Any], None], i: str | int) -> None:
    body(w.linear((i, step), (start, 1)), what)


def contiguous(widths: Sequence[int], lanes: int) -> list[Pieces]:
    """Vectors that follow each other in memory."""
    return [((lanes * v, 0, width),) for v, width in enumerate(widths)]


def load_pieces(w: Writer, pointer: str, pieces: Pieces, shift: int = 0) -> str:
    """Load a vector; memory outside its pieces is not touched."""
    offset, lane, count = pieces[0]
    if len(pieces) == 1 and lane == 0:
        return w.vload(w.at(pointer, offset + shift), count)
    value = "zeroinitializer"
    for offset, lane, count in pieces:
        on = constant_mask(lane <= i < lane + count for i in range(w.lanes))
        # The address of lane 0 may lie before the array: not `inbounds`.
        address = w.at(pointer, offset + shift - lane, inside=False)
        value = w.masked_load(address, on, value)
    return value


def splat_tile(
    w: Writer,
    a: str,
    b: str,
    rows: Sequence[int],
    vectors: Sequence[Pieces],
    levels: Sequence[Level],
    segments: Sequence[Segment],
    start: Sequence[str] | None = None,
    ahead: int = 0,
    blocks: Blocks | None = None,
    *,
    pairs: bool = False,
    anew: bool = False,
) -> list[str]:
    """Accumulators of C[row, vector], row-major; row i reads A at `rows[i]`.

    `start` are initial accumulators (zero by default); `ahead` prefetches B that many turns of a segment
    ahead. With `pairs` the elements of A and B are pairs of bfloat16. With `anew` what several turns of a segment read of A is
    loaded in each: kept, it would take the accumulators' registers.
    """

    def tap(pa: str, pb: str, at: tuple[int, int], step: int, acc: list[str]) -> list[str]:
        columns = [load_pieces(w, pb, pieces, at[1]) for pieces in vectors]
        if ahead:
            for pieces in vectors:
                prefetch(w, pb, pieces[0][0] + at[1] + ahead * step)
        out = list(acc)
        if anew:
            pa = w.unknown(pa)
        for i, row in enumerate(rows):
            place = w.at(pa, row + at[0])
            scalar = splat_pair(w, place) if pairs else w.load_splat(place)
            for v, column in enumerate(columns):
                n = i * len(columns) + v
                out[n] = fma_pairs(w, scalar, column, out[n]) if pairs else w.fma(scalar, column, out[n])
        return out

    initial = list(start) if start is not None else ["zeroinitializer"] * (len(rows) * len(vectors))
    return _walk(w, a, b, levels, segments, initial, tap, blocks)


def dot_tile(
    w: Writer,
    a: str,
    b: str,
    rows: Sequence[int],
    columns: Sequence[int],
    levels: Sequence[Level],
    segments: Sequence[Segment],
    blocks: Blocks | None = None,
) -> list[str]:
    """One vector per row with C[row, column j] in lane j; at most `lanes` columns, other lanes undefined."""

    def tap(pa: str, pb: str, at: tuple[Pieces, Pieces], _step: int, acc: list[str]) -> list[str]:
        right = [load_pieces(w, pb, at[1], column) for column in columns]
        out = list(acc)
        for i, row in enumerate(rows):
            left = load_pieces(w, pa, at[0], row)
            for j, value in enumerate(right):
                out[i * len(right) + j] = w.fma(left, value, out[i * len(right) + j])
        return out

    zero = ["zeroinitializer"] * (len(rows) * len(columns))
    acc = _walk(w, a, b, levels, segments, zero, tap, blocks)
    n = len(columns)
    return [sum_each(w, acc[i * n : (i + 1) * n]) for i in range(len(rows))]


def sum_each(w: Writer, values: Sequence[str]) -> str:
    """A vector whose lane j is the sum of the lanes of `values[j]`; lanes beyond are undefined.

    A tree of two-operand shuffles that halves the vectors each time: first within 128-bit blocks, then
    among them.
    """
    lanes = w.lanes
    blocks = range(0, lanes, 4)
    steps = [
        ([i for b in blocks for i in (b, lanes + b, b + 1, lanes + b + 1)], 2),
        ([i for b in blocks for i in (b, b + 1, lanes + b, lanes + b + 1)], 2),
    ]
    groups = lanes // 4
    while groups > 1:
        kept = [i for i in range(lanes) if i // 4 % groups < groups // 2]
        groups //= 2
        steps.append((kept + [lanes + i for i in kept], 4 * groups))
    level = list(values)
    for indices, distance in steps:
        pairs = [(level[i], level[i + 1] if i + 1 < len(level) else None) for i in range(0, len(level), 2)]
        level = [_fold(w, x, y, indices, distance) for x, y in pairs]
    return level[0]


def _fold(w: Writer, x: str, y: str | None, indices: Sequence[int], distance: int) -> str:
    """Lanes `indices` of x and y plus the lanes `distance` further."""
    other = y if y is not None else "poison"
    v, choice = vec(w.element, w.lanes), vec("i32", w.lanes)

    def pick(shift: int) -> str:
        text = ", ".join(f"i32 {i + shift}" for i in indices)
        return w.op(f"shufflevector {v} {x}, {v} {other}, {choice} <{text}>")

    return w.binary("fadd", pick(0), pick(distance))


def prefetch(w: Writer, pointer: str, offset: int | str, *, write: bool = False, cache: int = 1) -> None:
    """Ask for the line of an element that will be read, or written, in the first cache or the second."""
    # Not `inbounds`: the last turns name addresses beyond the array, which a prefetch never faults on.
    address = w.at(pointer, offset, inside=False)
    w.call_void("llvm.prefetch.p0", [("ptr", address), ("i32", str(int(write))), ("i32", str(4 - cache)), ("i32", "1")])


def _walk(
    w: Writer,
    a: str,
    b: str,
    levels: Sequence[Level],
    segments: Sequence[Segment],
    acc: list[str],
    tap: Callable[..., list[str]],
    blocks: Blocks | None,
) -> list[str]:
    """Run the loops over k with the accumulators as carried values, or in blocks."""
    totals = _Totals(w, len(acc), blocks) if blocks is not None else None

    def turns(
        number: int,
        bounds: tuple[int | str, int | str],
        steps: tuple[int, int],
        at: tuple[str, str],
        acc: list[str],
        body: Callable[[str, str, list[str]], list[str]],
        beside: Callable[[int | str], None] | None = None,
    ) -> list[str]:
        first, count = bounds

        def turn(i: int | str, values: list[str]) -> list[str]:
            if beside is not None:
                beside(i)
            if isinstance(i, int):
                return body(*at, values)
            return body(w.at(at[0], w.mul(i, steps[0])), w.at(at[1], w.mul(i, steps[1])), values)

        if totals is not None and number == totals.blocks.level:
            return totals.loop(bounds, turn)
        if (first, count) == (0, 1):
            return turn(0, acc)
        return w.loop(count, turn, [(vec(w.element, w.lanes), x) for x in acc], start=first)

    def segment(s: Segment, pa: str, pb: str, acc: list[str]) -> list[str]:
        def once(qa: str, qb: str, values: list[str]) -> list[str]:
            for at in s.taps:
                values = tap(qa, qb, at, s.b_step, values)
            return values

        return turns(len(levels), (s.first, s.count), (s.a_step, s.b_step), (pa, pb), acc, once, s.beside)

    def level(number: int, pa: str, pb: str, acc: list[str]) -> list[str]:
        if number < len(levels):
            count, *steps = levels[number]
            return turns(
                number,
                (0, count),
                (steps[0], steps[1]),
                (pa, pb),
                acc,
                lambda x, y, values: level(number + 1, x, y, values),
            )
        for s in segments:
            acc = segment(s, pa, pb, acc)
        return acc

    if totals is None:
        return level(0, a, b, acc)
    totals.begin(acc)
    level(0, a, b, [])
    return totals.rounded()


class _Totals:
    """The float64 accumulators of a tile, in memory. Loops around blocks carry nothing."""

    def __init__(self, w: Writer, count: int, blocks: Blocks) -> None:
        self.w, self.blocks, self.count = w, blocks, count
        self.places = [w.at(blocks.totals, k * w.lanes, "double") for k in range(count)]

    def begin(self, acc: Sequence[str]) -> None:
        for value, place in zip(acc, self.places, strict=True):
            self.w.vstore(self.w.convert("fpext", value, "float", "double"), place, type="double")

    def loop(self, bounds: tuple[int | str, int | str], turn: Callable[[int | str, list[str]], list[str]]) -> list[str]:
        """All turns of the loop that is cut into blocks."""
        w, (first, count) = self.w, bounds
        zeros = ["zeroinitializer"] * self.count

        def block(i: str, _: list[str]) -> None:
            stop = w.smaller(w.add(i, self.blocks.turns), count)
            self._add(w.loop(stop, turn, [(vec("float", w.lanes), zero) for zero in zeros], start=i))

        if (first, count) == (0, 1):
            self._add(turn(0, zeros))
        elif self.blocks.turns == 1:
            w.loop(count, lambda i, _: self._add(turn(i, zeros)), start=first)
        else:
            w.loop(count, block, step=self.blocks.turns, start=first)
        return []

    def _add(self, acc: Sequence[str]) -> None:
        w = self.w
        for value, place in zip(acc, self.places, strict=True):
            wide = w.convert("fpext", value, "float", "double")
            w.vstore(w.binary("fadd", w.vload(place, type="double"), wide, "double"), place, type="double")

    def rounded(self) -> list[str]:
        w = self.w
        return [w.convert("fptrunc", w.vload(place, type="double"), "double", "float") for place in self.places]
