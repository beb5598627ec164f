"""Images to points: the transform of a block of tiles, and its rows in scratch memory.

Each row of tiles is transformed vertically, lanes being the columns of the image, into S[points][tiles * 4], a channel at a time,
so that S stays small; then horizontally, lanes being tiles, into V[points][channels][tiles].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, takewhile

from graphc_codegen.kernels.base import LINE
from graphc_codegen.kernels.microkernel import load_pieces
from graphc_codegen.kernels.vectors import deinterleave
from graphc_codegen.kernels.winograd.plan import Memory, Plan, Rows, Run, View, runs
from graphc_codegen.kernels.winograd.transforms import OUT, transpose_quads
from graphc_codegen.writer import Writer, constant_mask, vec


@dataclass(frozen=True, slots=True)
class Image:
    """What is transformed: `rows` rows of the image make a row of tiles, of which one has 4 rows more before it than the last.

    Rows and columns are `stride` pixels apart, the first ones `top` and `column`, that of a tile's first column. `before` columns
    beside its four and `behind` behind them count too. Channels go to V from `first` on, whose points are `distance` apart. With
    `views` views each is `down` rows further than the last, and its channels are `further` behind.
    """

    channels: int
    height: int
    width: int
    rows: int
    top: int
    column: int
    stride: tuple[int, int]
    axis: Callable[[Writer, Sequence[str]], list[str]]
    before: int
    behind: int
    first: int
    distance: int
    views: int = 1
    down: int = 0
    further: int = 0

    @classmethod
    def inputs(cls, z: Plan) -> list[Image]:
        """Patches of the views: B^T d B. Those that see the same columns are one, as long as their rows are as far apart."""
        made: list[Image] = []
        by_columns: dict[View, list[tuple[int, int]]] = {}
        for k, view in enumerate(z.views):
            by_columns.setdefault(replace(view, row=0), []).append((view.row, k * z.channels_in))
        for view, places in by_columns.items():
            while places:
                count, (down, further) = _regular(places)
                row, first = places[0]
                made.append(
                    cls(
                        channels=z.channels_in,
                        height=z.h,
                        width=z.w,
                        rows=z.side,
                        top=row,
                        column=view.column + z.stride[1] * view.before,
                        stride=z.stride,
                        axis=z.points.input,
                        before=view.before,
                        behind=z.taps - 1 - view.before,
                        first=first,
                        distance=z.v,
                        views=count,
                        down=down,
                        further=further,
                    )
                )
                places = places[count:]
        return made

    @classmethod
    def gradient(cls, z: Plan) -> Image:
        """Tiles of 4 x 4 outputs: A dy A^T."""
        return cls(z.co, z.oh, z.ow, OUT, 0, 0, (1, 1), z.points.gradient, 0, 0, 0, z.m)

    @property
    def plane(self) -> int:
        return self.height * self.width


def _regular(places: Sequence[tuple[int, int]]) -> tuple[int, tuple[int, int]]:
    """How many of the first pairs of numbers are as far apart as the first two, and how far."""
    if len(places) == 1:
        return 1, (0, 0)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(places)]
    return 1 + len(list(takewhile(steps[0].__eq__, steps))), steps[0]


def transform_image(w: Writer, z: Plan, image: Image, pixels: str, memory: Memory, rows: Rows, target: str) -> None:
    """V of a block at `target`, view by view and channel by channel."""

    def channel(number: str | int) -> None:
        # Not two loops: of code in a deeper one LLVM keeps more in registers, at the cost of the products.
        view, c = w.divided(number, image.channels) if image.views > 1 else (0, number)
        top = w.linear((view, image.down), (image.top, 1))

        def row(i: str | int, n: str | int, ty: str | int) -> None:
            plane = w.at(pixels, w.linear((n, image.channels * image.plane), (c, image.plane)))
            _vertically(w, z, image, plane, memory, i, ty, top)

        rows.each(w, z, row)
        first = w.linear((view, image.further), (image.first, 1), (c, 1))
        place = w.at(target, w.mul(first, z.tiles))
        w.repeat(z.tiles // w.lanes, lambda g: _horizontally(w, z, image, memory, place, g))

    w.repeat(image.views * image.channels, channel)


def _vertically(
    w: Writer, z: Plan, image: Image, plane: str, memory: Memory, i: str | int, ty: str | int, top: str | int
) -> None:
    """A row of tiles into S; rows of the image outside of it are zeros."""
    down, step = image.stride
    sources = []
    for r in range(image.rows):
        y = w.linear((ty, OUT * down), (top, 1), (r * down, 1))
        if isinstance(y, int):
            sources.append(w.at(plane, y * image.width) if 0 <= y < image.height else memory.zeros)
            continue
        inside = w.op(f"icmp ult i64 {y}, {image.height}")
        address = w.at(plane, w.mul(y, image.width), inside=False)
        sources.append(w.chosen(inside, address, memory.zeros))
    size = OUT * down * image.width
    prefetch(w, plane, w.linear((ty, size), (image.plane, 1)), size)
    target = w.at(memory.s, w.mul(i, OUT * z.across))

    def vectors(run: Run, k: str | int) -> None:
        start, _, lane, count, width = run
        at = w.linear((k, w.lanes), (start, 1))
        loaded = [_columns(w, image, w.at(a, w.mul(at, step), inside=False), lane, count) for a in sources]
        for r, value in enumerate(image.axis(w, loaded)):
            w.vstore(value, w.at(target, w.add(at, r * z.s)), width)

    # Columns of the image that are inside of it.
    low, high = -(image.column // step), -((image.column - image.width) // step)
    for run in runs(OUT * z.across, w.lanes, low, high):
        w.repeat(run[1], partial(vectors, run))


def _columns(w: Writer, image: Image, row: str, lane: int, count: int) -> str:
    """A vector of columns of a row, of which `count` from a lane on are in the image; memory of others is not touched."""
    if not count:
        return "zeroinitializer"
    if image.stride[1] == 1:
        return load_pieces(w, row, ((image.column + lane, lane, count),))
    halves = []
    for begin in (0, w.lanes):
        first, end = max(0, 2 * lane - begin), min(w.lanes, 2 * (lane + count) - 1 - begin)
        pieces = ((image.column + begin + first, first, end - first),)
        halves.append(load_pieces(w, row, pieces) if end > first else "zeroinitializer")
    return deinterleave(w, halves[0], halves[1], 0)


def prefetch(w: Writer, pointer: str, offset: str | int, count: int, *, write: bool = False) -> None:
    """Fetch `count` elements into the caches ahead of their use."""
    # Not `inbounds`: addresses beyond the array are named too, on which a prefetch never faults.
    address = w.at(pointer, offset, inside=False)
    for k in range(0, count, LINE):
        line = w.at(address, k, inside=False)
        w.call_void("llvm.prefetch.p0", [("ptr", line), ("i32", str(int(write))), ("i32", "3"), ("i32", "1")])


def _horizontally(w: Writer, z: Plan, image: Image, memory: Memory, target: str, g: str | int) -> None:
    """A vector of tiles from S to the points of one channel."""
    lanes, quads = w.lanes, w.lanes // 4
    numbers = [quads * (i % 4) + i // 4 for i in range(lanes)]  # the tile in each lane after `transpose_quads`
    ends = _row_ends(w, z, g, numbers) if image.before or image.behind else ()

    def row(r: str | int) -> None:
        source = w.at(memory.s, w.linear((r, z.s), (g, OUT * lanes)))
        columns = transpose_quads(w, [w.vload(w.at(source, j * lanes)) for j in range(OUT)])
        if ends:
            columns = _with_neighbours(w, z, image, source, columns, numbers, ends)
        place = w.at(target, w.linear((r, z.side * image.distance), (g, lanes)))
        for c, value in enumerate(image.axis(w, columns)):
            w.vstore(value, w.at(place, c * image.distance))

    w.repeat(z.side, row)


def _with_neighbours(
    w: Writer, z: Plan, image: Image, source: str, columns: list[str], numbers: Sequence[int], ends: Sequence[str]
) -> list[str]:
    """The last columns of the tile before, the columns, the first ones of the tile after: zero beyond a row of tiles."""
    lanes, v, zero = w.lanes, vec("float", w.lanes), "zeroinitializer"
    lane_of = [numbers.index(t) for t in range(lanes)]

    def beside(column: int, step: int) -> str:
        """A column of the tiles a step from these."""
        chosen = [lane_of[min(max(0, t + step), lanes - 1)] for t in numbers]
        value = w.shuffle(columns[column], "poison", chosen)
        if lanes % z.across:
            # The neighbour of the first or the last tile is in another vector.
            place = column - OUT if step < 0 else OUT * lanes + column
            element = w.load(w.at(source, place, inside=False))
            value = w.op(f"insertelement {v} {value}, float {element}, i64 {0 if step < 0 else lanes - 1}")
        return w.select(ends[step > 0], zero, value)

    before = [beside(OUT - image.before + k, -1) for k in range(image.before)]
    return [*before, *columns, *(beside(k, 1) for k in range(image.behind))]


def _row_ends(w: Writer, z: Plan, g: str | int, numbers: Sequence[int]) -> tuple[str, ...]:
    """Which lanes hold the first tile of a row of tiles, and which the last."""
    edges = (0, z.across - 1)
    if w.lanes % z.across == 0:
        return tuple(constant_mask(t % z.across == edge for t in numbers) for edge in edges)
    integers = vec("i32", w.lanes)
    start = w.op(f"trunc i64 {w.mul(g, w.lanes)} to i32")
    tile = w.binary("add", w.splat(start, "i32"), "<" + ", ".join(f"i32 {t}" for t in numbers) + ">", "i32")
    place = w.op(f"urem {integers} {tile}, splat (i32 {z.across})")
    return tuple(w.op(f"icmp eq {integers} {place}, splat (i32 {edge})") for edge in edges)
