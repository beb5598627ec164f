"""Lines of pixels to points of Winograd's F(4, 2), F(4, 3) or F(4, 5) along one axis, and back.

Output q of a line sums over the taps k of pixel q + k step + first, for each of the views of the images. A tile is four outputs
that are a step apart; so a dilation makes no difference, and the columns of an image are lines with the step of a row. Lanes are
tiles: with a step below the vector's lanes, those of `stacked` stretches of four steps, one after the other in memory; else
neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Self

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import LINE, Params
from graphc_codegen.kernels.vectors import below, both
from graphc_codegen.kernels.winograd.plan import Blocks, register_tile
from graphc_codegen.kernels.winograd.points import BY_COUNT, Points
from graphc_codegen.writer import Writer, constant_mask, mask

#: Outputs of a tile.
OUT = 4
#: Estimated cycles to transform a vector of tiles of one channel to six points.
_TRANSFORM = 25


@dataclass(frozen=True, kw_only=True)
class Lines(Blocks):
    """`h` lines of `w` pixels in an image, `ow` outputs each. A block is so many vectors of tiles, of any lines.

    Input channels are those of the image for each of `firsts`, the pixels of views of it that tap 0 of output 0 meets.
    """

    firsts: tuple[int, ...]
    step: int
    taps: int
    lanes: int = LINE

    @classmethod
    def of_lines(cls, p: Params, threads: int = 1, lanes: int = LINE) -> Self:
        names = ("n", "ci", "co", "h", "w", "oh", "ow", "parts", "scratch", "step")
        firsts = p["views"] if "views" in p else (-p["left"],)
        more = {"firsts": firsts, "taps": p["kh"] * p["kw"], "threads": threads, "lanes": lanes}
        return cls(**{name: p[name] for name in names}, **more)

    @cached_property
    def points(self) -> Points:
        return BY_COUNT[OUT + self.taps - 1]

    @property
    def products(self) -> int:
        return self.points.count

    @property
    def channels_in(self) -> int:
        """Of an image."""
        return self.ci // len(self.firsts)

    # ---- tiles

    @cached_property
    def narrow(self) -> bool:
        return self.step < self.lanes

    @cached_property
    def stacked(self) -> int:
        """Tiles of one line and one remainder by the step that are in a vector."""
        return max(1, self.lanes // self.step)

    @cached_property
    def strips(self) -> int:
        """Vectors beside each other."""
        return -(-self.step // self.lanes)

    @cached_property
    def per_line(self) -> int:
        """Vectors of a line."""
        down = -(-self.ow // (OUT * self.step))
        return -(-down // self.stacked) * self.strips

    @cached_property
    def total(self) -> int:
        """Vectors of all lines."""
        return self.n * self.h * self.per_line

    # ---- blocks

    @cached_property
    def vectors(self) -> int:
        """Vectors of a block, in whole lines of tiles, as many as scratch memory allows: least estimated cycles."""
        most = ((self.scratch - self.common) // self.parts - self.fixed) // self.per_tile // LINE
        each = LINE // self.lanes
        choices = range(1, min(most, -(-self.total // each)) + 1)
        if not choices:
            raise CodegenError(f"scratch memory of {self.scratch} elements has no room for a vector of Winograd tiles")

        def cost(lines: int) -> tuple[float, int]:
            turns = math.ceil(math.ceil(self.total / (each * lines)) / self.regions) * self.regions
            return turns * self.cycles(lines), -lines

        return each * min(choices, key=cost)

    def cycles(self, vectors: int) -> float:
        """Estimated cycles for a block of so many whole lines of tiles."""
        return self.products * self.ci * register_tile(self.co, vectors, LINE)[0] + self.transform_cycles(vectors)

    def transform_cycles(self, vectors: int) -> float:
        return _TRANSFORM * self.products / 6 * vectors * (self.ci + self.co)

    @cached_property
    def blocks(self) -> int:
        return -(-self.total // self.vectors)

    @cached_property
    def tiles(self) -> int:
        return self.vectors * self.lanes

    # ---- scratch memory, in elements

    @cached_property
    def per_tile(self) -> int:
        """What a tile of a block needs in V and M."""
        return self.products * (self.ci + self.co)

    @cached_property
    def fixed(self) -> int:
        """What a thread needs besides."""
        return 2 * self.products * LINE

    @cached_property
    def region(self) -> int:
        """Distance of the memory of two threads."""
        return self.tiles * self.per_tile + self.fixed


@dataclass(frozen=True, slots=True)
class Place:
    """A vector of tiles: image, line in the image, the output in the first lane, and which lanes are tiles, if not all."""

    image: str | int
    line: str | int
    output: str | int
    columns: str


def each_vector(
    w: Writer, z: Lines, b: str | int, channels: int, body: Callable[[str | int, Place, str | int], None]
) -> None:
    """`body(number in the block, place, channel)` for the vectors of block b, one channel's after the other: so its lines are
    read or written as they lie; those of all channels would fall on few places of the first cache.
    """
    first = w.mul(b, z.vectors)
    count = w.smaller(w.subtracted(z.total, first), z.vectors) if z.total % z.vectors else z.vectors

    def turn(c: str | int, i: str | int) -> None:
        line, j = w.divided(w.add(first, i), z.per_line)
        down, strip = (j, 0) if z.strips == 1 else w.divided(j, z.strips)
        column = w.mul(strip, z.lanes)
        output = w.linear((down, z.stacked * OUT * z.step), (column, 1))
        columns = "" if z.narrow or z.step % z.lanes == 0 else below(w, column, z.step)
        body(i, Place(*w.divided(line, z.h), output, columns), c)

    def channel(c: str | int) -> None:
        if isinstance(count, int):
            w.repeat(count, partial(turn, c))
        else:
            w.loop(count, lambda i, _: turn(c, i))

    w.repeat(channels, channel)


class Stretch:
    """Rows of a vector of tiles: row r has the pixels that are r steps behind the first. Masks keep to the line."""

    def __init__(self, w: Writer, z: Lines, place: Place, shift: str | int, size: int, count: int) -> None:
        """Of `count` rows from pixel `shift` behind the place's output, in a line of `size` pixels."""
        self.w, self.z, self.count, self.first = w, z, count, w.add(place.output, shift)
        self._groups = [list(range(min(OUT, count - r))) for r in range(0, count, OUT)]
        if z.narrow:
            self._offsets = [
                g * OUT * z.step + k * w.lanes
                for g, rows in enumerate(self._groups)
                for k in sorted({k for r in rows for k, _ in self._where(r)})
            ]
        else:
            self._offsets = [r * z.step for r in range(count)]
        masks = [below(w, w.add(self.first, offset), size) for offset in self._offsets]
        if place.columns:
            masks = [both(w, m, place.columns) for m in masks]
        self._masks = dict(zip(self._offsets, masks, strict=True))

    def _where(self, row: int) -> list[tuple[int, int]]:
        """Vector and lane of each tile's element in a stretch; lanes without a tile have the first one's."""
        z, tiles = self.z, self.z.stacked * self.z.step
        at = [(t // z.step * OUT + row) * z.step + t % z.step for t in (t if t < tiles else 0 for t in range(z.lanes))]
        return [divmod(a, z.lanes) for a in at]

    def load(self, line: str) -> list[str]:
        """The rows of the line at an address; zeros beyond its ends."""
        w, z = self.w, self.z
        loaded = {
            offset: w.vload(w.at(line, w.add(self.first, offset), inside=False), m) for offset, m in self._masks.items()
        }
        if not z.narrow:
            return list(loaded.values())
        made = []
        for g, rows in enumerate(self._groups):
            start = g * OUT * z.step
            sources = {k: loaded[start + k * w.lanes] for k in range(OUT) if start + k * w.lanes in loaded}
            made += _picked(w, sources, [self._where(r) for r in rows])
        return made

    def store(self, rows: Sequence[str], store: Callable[[str, str | int, str], None]) -> None:
        """`store(vector, its first pixel, mask)` for the pixels of OUT rows."""
        w, z, masks = self.w, self.z, list(self._masks.values())
        if z.narrow:
            places = {at: (r, lane) for r in range(OUT) for lane, at in reversed(list(enumerate(self._where(r))))}
            vectors = sorted({k for k, _ in places})
            back = [[places.get((k, e), (0, 0)) for e in range(w.lanes)] for k in vectors]
            values = _picked(w, dict(enumerate(rows)), back)
            masks = [
                self._of_tiles(m, [(k, e) in places for e in range(w.lanes)])
                for k, m in zip(vectors, masks, strict=True)
            ]
        else:
            values = list(rows)
        for value, offset, m in zip(values, self._masks, masks, strict=True):
            store(value, w.add(self.first, offset), m)

    def _of_tiles(self, m: str, inside: Sequence[bool]) -> str:
        return m if all(inside) else both(self.w, m, constant_mask(inside))


def _picked(w: Writer, sources: Mapping[int, str], places: Sequence[Sequence[tuple[int, int]]]) -> list[str]:
    """Vectors whose lanes are (source, lane) each, of four sources at most; two share their first shuffles if those fit."""
    made: list[str] = []
    for k in range(0, len(places), 2):
        pair = places[k : k + 2]
        used = sorted({s for vector in pair for s, _ in vector})
        halves = [sorted({at for vector in pair for at in vector if at[0] in used[i : i + 2]}) for i in (0, 2)]
        if max(len({s for s, _ in vector}) for vector in pair) <= 2:
            made += [_of_two(w, sources, vector) for vector in pair]
        elif max(map(len, halves)) <= w.lanes:
            first = [_of_two(w, sources, half + half[:1] * (w.lanes - len(half))) for half in halves]
            for vector in pair:
                lanes = [halves[0].index(at) if at in halves[0] else w.lanes + halves[1].index(at) for at in vector]
                made.append(w.shuffle(first[0], first[1], lanes))
        else:
            made += [_picked(w, sources, [vector])[0] for vector in pair]
    return made


def _of_two(w: Writer, sources: Mapping[int, str], vector: Sequence[tuple[int, int]]) -> str:
    """A vector of lanes of two sources at most."""
    used = sorted({s for s, _ in vector})
    indices = [used.index(s) * w.lanes + lane for s, lane in vector]
    if indices == list(range(w.lanes)):
        return sources[used[0]]
    return w.shuffle(sources[used[0]], sources[used[-1]] if len(used) > 1 else "poison", indices)


def to_points(w: Writer, z: Lines, b: str | int, pixels: str, target: str, *, gradient: bool, distance: int) -> None:
    """V [points][channels][tiles] of a block's lines of x, or with `gradient` of those of dy, whose tiles are OUT rows.

    `distance` is that of two points. Lanes of dy without a tile are zero.
    """
    channels, size, firsts = (z.co, z.ow, (0,)) if gradient else (z.channels_in, z.w, z.firsts)
    count, axis = (OUT, z.points.gradient) if gradient else (z.products, z.points.input)
    plane, tiles = z.h * size, z.stacked * z.step
    spare = gradient and z.narrow and tiles < z.lanes

    def vector(shift: str | int, view: str | int, i: str | int, place: Place, c: str | int) -> None:
        stretch = Stretch(w, z, place, shift, size, count)
        rows = stretch.load(w.at(pixels, w.linear((place.image, channels * plane), (c, plane), (place.line, size))))
        if spare:
            rows = [w.select(mask(tiles, z.lanes), row, "zeroinitializer") for row in rows]
        at = w.at(target, w.linear((c, z.tiles), (i, z.lanes), (view, channels * z.tiles)))
        for e, value in enumerate(axis(w, rows)):
            w.vstore(value, w.at(at, e * distance))

    def any_view(i: str | int, place: Place, number: str | int) -> None:
        # Not two loops, as in `transform_image`.
        view, c = w.divided(number, channels)
        vector(w.linear((view, firsts[1] - firsts[0]), (firsts[0], 1)), view, i, place, c)

    if len({b - a for a, b in pairwise(firsts)}) == 1:
        each_vector(w, z, b, len(firsts) * channels, any_view)
    else:
        for view, first in enumerate(firsts):
            each_vector(w, z, b, channels, partial(vector, first, view))
