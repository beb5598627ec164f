"""Images to points: the transform of a block of tiles, and its rows in scratch memory.

Each row of tiles is transformed vertically, lanes being the columns of the image, into S[6][tiles * 4], a channel at a time, so
that S stays small; then horizontally, lanes being tiles, into V[36][channels][tiles].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from graphc_codegen.kernels.base import LINE
from graphc_codegen.kernels.microkernel import load_pieces
from graphc_codegen.kernels.vectors import shuffle
from graphc_codegen.kernels.winograd.plan import Memory, Plan, Rows, Run, runs
from graphc_codegen.kernels.winograd.points import SIX
from graphc_codegen.kernels.winograd.transforms import OUT, POINTS, transpose_quads
from graphc_codegen.writer import Writer, vec


@dataclass(frozen=True, slots=True)
class Image:
    """What is transformed: `rows` rows of the image from `top` on make a row of tiles, one tile 4 rows further than the last.

    `column` is that of the image at the first of a tile's 4 columns; with `neighbours` the columns beside them count too.
    """

    channels: int
    height: int
    width: int
    rows: int
    top: int
    column: int
    axis: Callable[[Writer, Sequence[str]], list[str]]
    neighbours: bool

    @classmethod
    def input(cls, z: Plan) -> Image:
        """Patches of 6 x 6 pixels: B^T d B."""
        return cls(z.ci, z.h, z.w, POINTS, -z.top, z.column, SIX.input, True)

    @classmethod
    def gradient(cls, z: Plan) -> Image:
        """Tiles of 4 x 4 outputs: A dy A^T."""
        return cls(z.co, z.oh, z.ow, OUT, 0, -z.shift, SIX.gradient, False)

    @property
    def plane(self) -> int:
        return self.height * self.width


def transform_image(w: Writer, z: Plan, image: Image, pixels: str, memory: Memory, rows: Rows, target: str) -> None:
    """V of a block at `target`, channel by channel."""
    distance = image.channels * z.tiles + LINE

    def channel(c: str | int) -> None:
        def row(i: str | int, n: str | int, ty: str | int) -> None:
            _vertically(
                w, z, image, w.at(pixels, w.linear((n, image.channels * image.plane), (c, image.plane))), memory, i, ty
            )

        rows.each(w, z, row)
        place = w.at(target, w.mul(c, z.tiles))
        w.repeat(z.tiles // w.lanes, lambda g: _horizontally(w, z, image, memory, place, distance, g))

    w.repeat(image.channels, channel)


def _vertically(w: Writer, z: Plan, image: Image, plane: str, memory: Memory, i: str | int, ty: str | int) -> None:
    """A row of tiles into S; rows of the image outside of it are zeros."""
    sources = []
    for r in range(image.rows):
        y = w.linear((ty, OUT), (r + image.top, 1))
        if isinstance(y, int):
            sources.append(w.at(plane, y * image.width) if 0 <= y < image.height else memory.zeros)
            continue
        inside = w.op(f"icmp ult i64 {y}, {image.height}")
        address = w.at(plane, w.mul(y, image.width), inside=False)
        sources.append(w.chosen(inside, address, memory.zeros))
    prefetch(w, plane, w.linear((ty, OUT * image.width), (image.plane, 1)), OUT * image.width)
    target = w.at(memory.s, w.mul(i, OUT * z.across))

    def vectors(run: Run, k: str | int) -> None:
        start, _, lane, count, width = run
        at = w.linear((k, w.lanes), (start, 1))
        pieces = ((image.column + lane, lane, count),)
        loaded = [load_pieces(w, w.at(a, at), pieces) if count else "zeroinitializer" for a in sources]
        for r, value in enumerate(image.axis(w, loaded)):
            w.vstore(value, w.at(target, w.add(at, r * z.s)), width)

    for run in runs(OUT * z.across, w.lanes, -image.column, image.width - image.column):
        w.repeat(run[1], partial(vectors, run))


def prefetch(w: Writer, pointer: str, offset: str | int, count: int, *, write: bool = False) -> None:
    """Fetch `count` elements into the caches ahead of their use."""
    # Not `inbounds`: addresses beyond the array are named too, on which a prefetch never faults.
    address = w.at(pointer, offset, inside=False)
    for k in range(0, count, LINE):
        line = w.at(address, k, inside=False)
        w.call_void("llvm.prefetch.p0", [("ptr", line), ("i32", str(int(write))), ("i32", "3"), ("i32", "1")])


def _horizontally(w: Writer, z: Plan, image: Image, memory: Memory, target: str, distance: int, g: str | int) -> None:
    """A vector of tiles from S to the 36 points of one channel, `distance` apart."""
    lanes, quads = w.lanes, w.lanes // 4
    numbers = [quads * (i % 4) + i // 4 for i in range(lanes)]  # the tile in each lane after `transpose_quads`
    ends = _row_ends(w, z, g, numbers) if image.neighbours else ()

    def row(r: str | int) -> None:
        source = w.at(memory.s, w.linear((r, z.s), (g, OUT * lanes)))
        columns = transpose_quads(w, [w.vload(w.at(source, j * lanes)) for j in range(OUT)])
        if image.neighbours:
            columns = _with_neighbours(w, z, source, columns, numbers, ends)
        place = w.at(target, w.linear((r, POINTS * distance), (g, lanes)))
        for c, value in enumerate(image.axis(w, columns)):
            w.vstore(value, w.at(place, c * distance))

    w.repeat(POINTS, row)


def _with_neighbours(
    w: Writer, z: Plan, source: str, columns: list[str], numbers: Sequence[int], ends: Sequence[str]
) -> list[str]:
    """The last column of the tile before, the columns, the first of the tile after: zero beyond a row of tiles."""
    lanes, v = w.lanes, vec("float", w.lanes)
    lane_of = [numbers.index(t) for t in range(lanes)]
    left = shuffle(w, columns[-1], "poison", [lane_of[max(0, t - 1)] for t in numbers])
    right = shuffle(w, columns[0], "poison", [lane_of[min(t + 1, lanes - 1)] for t in numbers])
    if lanes % z.across:
        # The neighbours of the first and the last tile are in other vectors.
        before = w.load(w.at(source, -1, inside=False))
        after = w.load(w.at(source, OUT * lanes))
        left = w.op(f"insertelement {v} {left}, float {before}, i64 0")
        right = w.op(f"insertelement {v} {right}, float {after}, i64 {lanes - 1}")
    zero = "zeroinitializer"
    return [w.select(ends[0], zero, left), *columns, w.select(ends[1], zero, right)]


def _row_ends(w: Writer, z: Plan, g: str | int, numbers: Sequence[int]) -> tuple[str, ...]:
    """Which lanes hold the first tile of a row of tiles, and which the last."""
    edges = (0, z.across - 1)
    if w.lanes % z.across == 0:
        return tuple(
            "<" + ", ".join(f"i1 {'true' if t % z.across == edge else 'false'}" for t in numbers) + ">"
            for edge in edges
        )
    integers = vec("i32", w.lanes)
    start = w.op(f"trunc i64 {w.mul(g, w.lanes)} to i32")
    tile = w.binary("add", w.splat(start, "i32"), "<" + ", ".join(f"i32 {t}" for t in numbers) + ">", "i32")
    place = w.op(f"urem {integers} {tile}, splat (i32 {z.across})")
    return tuple(w.op(f"icmp eq {integers} {place}, splat (i32 {edge})") for edge in edges)
