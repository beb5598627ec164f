"""The gradient of a convolution with respect to its weights, summed over images and pixels.

Images are taken in chunks, large ones in strips of rows: every tile of weights reads all of a chunk. What a block of output
channels reads of dy stays in the first-level cache while it meets one input channel after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.conv.pixels import IN_FLIGHT, Group, Sizes, loads, packings, total
from graphc_codegen.kernels.microkernel import (
    Blocks,
    Kind,
    Level,
    Pieces,
    Segment,
    block_kinds,
    blocks,
    dot_tile,
    each_tile,
    tallest,
    total_places,
)
from graphc_codegen.writer import Writer, vec


@dataclass(frozen=True, slots=True)
class _Columns:
    """One copy of the code: `count` turns over the taps at `offsets` of x, which go to `place` and on in dw.

    Each turn moves x by `x_step` and dw by `w_step`.
    """

    count: int
    offsets: tuple[int, ...]
    place: int
    x_step: int
    w_step: int


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, sh, sw, h, w] (padded, in phases, see `CONV2D`), dy [n, co, oh, ow] -> dw [co, ci, kh, kw].

    With a `block` accumulators take about so many terms, and dw is float64. With `groups` see `CONV2D`.
    """
    z = Sizes.of(p)
    return (
        Operand("float32", z.n * z.groups * z.ci * z.image, "in"),
        Operand("float32", z.n * z.groups * z.co * z.pixels, "in"),
        Operand("float64" if "block" in p else "float32", z.groups * z.co * z.ci * z.taps, "out"),
    )


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """For each chunk of images, tiles: output channels by taps of a kernel row, or by input channels if there is one tap."""
    z = Sizes.of(p)
    x, dy, dw = pointers
    limit = 5 if w.lanes >= 16 else 3
    wide = _Wide(p["block"], total_places(w)) if "block" in p else None

    def tiles(chunk: _Chunk) -> None:
        images = (
            w.linear((chunk.image, z.groups * z.ci * z.image), (chunk.row, z.w)),
            w.linear((chunk.image, z.groups * z.co * z.pixels), (chunk.row, z.ow)),
        )
        at = (w.at(x, images[0]), w.at(dy, images[1]), dw)
        if z.taps == 1:
            for start, count, step, size in block_kinds(z.ci, limit):
                one = _Columns(1, tuple(j * z.image for j in range(size)), 0, 0, 0)
                _tiles(w, z, chunk, at, one, (start, count, step, (z.image, 1)), wide)
            return
        for columns in _columns(z, limit, joined=wide is None):
            _tiles(w, z, chunk, at, columns, (0, z.ci, 1, (z.image, z.taps)), wide)

    # A thread has the same tiles in every chunk, so that nobody waits.
    rows = _strip(z)
    if rows < z.oh:
        w.repeat(z.n, lambda i: w.repeat(z.oh // rows, lambda s: tiles(_Chunk.strip(w, z, i, s, rows))))
        return
    size = min(z.n, max(1, _NEAR // (z.ci * z.image + z.co * z.pixels)))
    if wide is not None:
        # An image is so many terms of an accumulator at most: rows have vectors of their own.
        size = min(size, max(1, 2 * wide.terms // (z.oh * -(-z.ow // w.lanes))))
    w.repeat(-(-z.n // size), lambda i: tiles(_Chunk.images(w, z, i, size)))


#: Elements of images and their gradients that stay in the second-level cache: all tiles read them again.
_NEAR = 96 * 1024
#: Pixels of a plane some of which stay in the first-level cache, and the fewest of a strip: its tiles are added to memory.
_PLANE, _LEAST_STRIP = 1280, 512


def _strip(z: Sizes) -> int:
    """Rows of the results in a strip: an equal part of a large plane, all of another."""
    fit = [r for r in range(1, z.oh) if z.oh % r == 0 and _LEAST_STRIP <= r * z.ow <= _PLANE]
    return max(fit) if fit and z.pixels > _PLANE else z.oh


@dataclass(frozen=True, slots=True)
class _Chunk:
    """`rows` rows of the results of `count` images, from `image` and `row` on; `number` counts chunks."""

    number: str | int
    image: str | int
    count: str | int
    row: str | int
    rows: int

    @classmethod
    def images(cls, w: Writer, z: Sizes, i: str | int, size: int) -> _Chunk:
        """So many whole images, or what is left."""
        first = w.mul(i, size)
        if z.n % size == 0:
            return cls(first, first, size, 0, z.oh)
        left = w.op(f"sub nsw i64 {z.n}, {first}")
        return cls(first, first, w.call("llvm.smin.i64", "i64", [("i64", left), ("i64", str(size))]), 0, z.oh)

    @classmethod
    def strip(cls, w: Writer, z: Sizes, i: str | int, s: str | int, rows: int) -> _Chunk:
        """A strip of an image."""
        return cls(w.linear((i, z.oh // rows), (s, 1)), i, 1, w.mul(s, rows), rows)

    def add(self, w: Writer, value: str, place: str, active: int, type: str) -> None:
        """Add sums to those of the chunks before, which are of a `type`."""
        if type == "double":
            value = w.convert("fpext", value, "float", type)
        if not isinstance(self.number, int):
            begins = w.op(f"icmp eq i64 {self.number}, 0")
            v = vec(type, w.lanes)
            before = w.op(f"select i1 {begins}, {v} zeroinitializer, {v} {w.vload(place, active, type)}")
            value = w.binary("fadd", value, before, type)
        w.vstore(value, place, active, type)


class _Wide(NamedTuple):
    """Terms of an accumulator, and memory for float64 ones. Chunks of no more than twice as many need none."""

    terms: int
    totals: str

    def blocks(self, z: Sizes, levels: Sequence[Level], segments: Sequence[Segment]) -> Blocks | None:
        """Where accumulators of a large image are cut: in the loops within a row, or over rows."""
        longest, row = max(len(s.taps) for s in segments), sum(int(s.count) * len(s.taps) for s in segments)
        if row > self.terms:
            return Blocks(len(levels), max(1, self.terms // longest), self.totals)
        image = row * z.oh if len(levels) > 1 else row
        return Blocks(1, self.terms // row, self.totals) if image > 2 * self.terms else None


def _columns(z: Sizes, limit: int, *, joined: bool) -> list[_Columns]:
    """The taps of an input channel: a part of a kernel row each, looped over rows of a phase; `joined` several short rows."""
    cut = []
    # Sums in blocks count on the groups of pixels that narrower tiles have.
    if joined and 2 * z.kw <= limit:
        for start, number, size in blocks(z.taps, limit):
            for tap in range(start, start + number * size, size):
                offsets = tuple(z.tap(*divmod(tap + j, z.kw)) for j in range(size))
                cut.append(_Columns(1, offsets, tap, 0, 0))
        return cut
    for first, count in z.kernel_rows():
        for start, number, size in blocks(z.kw, limit):
            for kx in range(start, start + number * size, size):
                offsets = tuple(z.tap(first, kx + j) for j in range(size))
                cut.append(_Columns(count, offsets, first * z.kw + kx, z.row_step, z.period * z.kw))
    return cut


def _tiles(
    w: Writer,
    z: Sizes,
    chunk: _Chunk,
    at: tuple[str, str, str],
    columns: _Columns,
    channels: Kind,
    wide: _Wide | None,
) -> None:
    """All output channels by `columns` of the input channels `channels`, which lie (in x, in dw) apart."""
    x, dy, dw = at
    width = len(columns.offsets)
    rows = blocks(z.co, min(8, tallest(w.lanes, width)))[0][2]
    images = z.groups * z.co * z.pixels, z.groups * z.ci * z.image
    part = replace(z, oh=chunk.rows)
    levels, segments = _walk_pixels(part, chunk.count, images, w.lanes, rows, width)
    cut, type = (wide.blocks(part, levels, segments), "double") if wide is not None else (None, "float")

    def tile(part: str | int, c: str | int, apart: tuple[int, int], q: str | int, o: str | int, size: int) -> None:
        source = w.at(x, w.linear((part, z.ci * z.image), (c, apart[0]), (q, columns.x_step)))
        row = w.linear((part, z.co), (o, 1))
        place = w.linear((c, apart[1]), (q, columns.w_step), (row, z.ci * z.taps), (columns.place, 1))
        starts = [r * z.pixels for r in range(size)]
        sums = dot_tile(w, w.at(dy, w.mul(row, z.pixels)), source, starts, columns.offsets, levels, segments, cut)
        for r, value in enumerate(sums):
            chunk.add(w, value, w.at(dw, w.add(place, r * z.ci * z.taps), type), width, type)

    start, count, step, what = channels

    def turn(o: str | int, size: int, u: str | int, _: None) -> None:
        u, q = (u, 0) if columns.count == 1 else w.divided(u, columns.count)
        part, c = (0, u) if z.groups == 1 else w.divided(u, count)
        tile(part, w.linear((c, step), (start, 1)), what, q, o, size)

    each_tile(w, block_kinds(z.co, rows), [(0, z.groups * count * columns.count, 1, None)], turn)


def _walk_pixels(
    z: Sizes, count: str | int, apart: tuple[int, int], lanes: int, rows: int, width: int
) -> tuple[tuple[Level, ...], tuple[Segment, ...]]:
    """Loops over images (dy and x of which lie `apart`) and groups of output pixels (rows, then strips, if rows are long)."""
    images: Level = (count, *apart)

    def cost(g: Group) -> float:
        loaded = rows * loads(g.result, lanes) + width * loads(g.image, lanes)
        return max(rows * width * len(g.image), loaded, IN_FLIGHT) + 1

    # About 50 multiply-adds unrolled; tiles of short vectors are smaller and rows need more of them.
    vectors = max(1, (50 if lanes >= 16 else 100) // (rows * width))
    groups = min(packings(z, lanes, vectors), key=lambda choice: total(choice, cost))
    if groups[0].width < z.ow:
        strips = tuple(Segment(g.across, g.width, g.width, _taps(g, g.column, g.column)) for g in groups)
        return (images, (z.oh, z.ow, z.w)), strips
    return (images,), tuple(
        Segment(g.count, g.rows * z.ow, g.rows * z.w, _taps(g, g.start * z.ow, g.start * z.w)) for g in groups
    )


def _taps(g: Group, result: int, image: int) -> tuple[tuple[Pieces, Pieces], ...]:
    """The vectors of a group in dy and in x, moved to where the group starts."""

    def moved(pieces: Pieces, shift: int) -> Pieces:
        return tuple((offset + shift, lane, count) for offset, lane, count in pieces)

    return tuple((moved(r, result), moved(i, image)) for r, i in zip(g.result, g.image, strict=True))


@np.errstate(all="ignore")
def twin(p: Params, x: Array, dy: Array, dw: Array) -> None:
    z = Sizes.of(p)
    out = dw.reshape(z.groups, z.co, z.ci, z.kh, z.kw)
    gradient = dy.reshape(z.n, z.groups, z.co, z.oh, z.ow)
    for ky in range(z.kh):
        for kx in range(z.kw):
            out[..., ky, kx] = np.einsum("ngihw,ngohw->goi", z.window(x, ky, kx), gradient, optimize=True)


CONV2D_FILTER_GRAD = Emitter(operands, emit, twin)
