"""The gradient of a convolution with respect to its weights by the transposed form of `CONV2D_BATCH_WINOGRAD`: images as lanes.

For each column kx of the kernel, dW = G^T [sum over images, tiles and columns x of (A dy)[x] * (B^T x)[x + kx]]. The lanes of the
bracket are added up for some rows of tiles at a time; the threads' brackets at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.conv import filter_grad as direct
from graphc_codegen.kernels.microkernel import Pieces, Segment, block_kinds, blocks, dot_tile
from graphc_codegen.kernels.vectors import first_lanes
from graphc_codegen.kernels.winograd.batch_plan import Batch, into_lanes, planes
from graphc_codegen.kernels.winograd.batch_pool import index_of, index_operand, unpool_twin, unpooled, windows
from graphc_codegen.kernels.winograd.plan import whole_lines
from graphc_codegen.kernels.winograd.transforms import clear
from graphc_codegen.writer import Writer


@dataclass(frozen=True)
class GradientPlan(Batch):
    """A thread's memory: `source`, `gradient`, the points of `rows` rows of tiles of both, and the bracket."""

    @cached_property
    def down(self) -> int:
        """Tiles in a column."""
        return -(-self.oh // self.out)

    @cached_property
    def source_rows(self) -> int:
        return max(self.out * self.down + self.kh - 1, self.top + self.h)

    @cached_property
    def gradient_rows(self) -> int:
        return self.out * self.down

    @cached_property
    def width(self) -> int:
        """Columns of the padded source that outputs read."""
        return self.ow + self.kw - 1

    @cached_property
    def source(self) -> int:
        return self.ci * self.source_rows * self.w

    @cached_property
    def gradient(self) -> int:
        return self.co * self.gradient_rows * self.ow

    @cached_property
    def given(self) -> int:
        """Pixels of a channel of the result's gradient, pooled."""
        return windows(self.oh, self.ow, self.unpool)

    @cached_property
    def bracket(self) -> int:
        """Elements of the bracket."""
        return whole_lines(self.points * self.co * self.ci * self.kw)

    def memory(self, rows: int) -> int:
        """Elements that a thread needs, given the rows of tiles that are transformed at a time."""
        points = self.points * rows * (self.ci * self.width + self.co * self.ow)
        return self.lanes * (self.source + self.gradient + points) + self.bracket

    @cached_property
    def rows(self) -> int:
        """As many as there is room for."""
        fit = [r for r in range(1, self.down + 1) if self.down % r == 0 and self.parts * self.memory(r) <= self.scratch]
        return max(fit, default=1)

    @cached_property
    def region(self) -> int:
        return self.memory(self.rows)


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w], dy [n, co, oh, ow] -> scratch, dw [co, ci, kh, kw]. See `CONV2D_BATCH_WINOGRAD`.

    dw[o, i, ky, kx] = sum of x[n, i, oy - top + ky, ox - left + kx] * dy[n, o, oy, ox], where x is zero outside.
    With `unpool` dy is the gradient of a pooled result, and the index of that follows it, see `batch_pool`.
    """
    z = GradientPlan.of(p)
    return (
        Operand("float32", z.n * z.ci * z.h * z.w, "in"),
        Operand("float32", z.n * z.co * z.given, "in"),
        *([index_operand(z.n, z.co, z.given, "in")] if "unpool" in p else ()),
        Operand("float32", z.scratch, "out"),
        Operand("float32", z.co * z.ci * z.kh * z.kw, "out"),
    )


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Each thread sums over its blocks of images; then each transforms its part of the sums."""
    z = GradientPlan.of(p, w)
    x, dy, *winners, scratch, dw = pointers

    def region(r: str | int) -> None:
        source = w.at(scratch, w.mul(r, z.region))
        gradient = w.at(source, z.lanes * z.source)
        v = w.at(gradient, z.lanes * z.gradient)
        y = w.at(v, z.lanes * z.points * z.rows * z.ci * z.width)
        clear(w, source, z.region)
        w.part(r, z.regions, z.blocks, partial(block, source, gradient, v, y))

    def block(source: str, gradient: str, v: str, y: str, b: str | int) -> None:
        on = _inside(w, z, b)
        inner = w.at(source, z.lanes * z.top * z.w)
        images, pixels = partial(z.pointers, w, x, z.ci * z.h * z.w, b), z.h * z.w
        into_lanes(w, images, z.ci, pixels, planes(w, inner, z.source_rows * z.w), on)
        plane = z.gradient_rows * z.ow
        put = planes(w, gradient, plane)
        if winners:
            put = unpooled(w, gradient, plane, z.ow, z.unpool, index_of(w, winners[0], z.co, z.given, b))
        into_lanes(w, partial(z.pointers, w, dy, z.co * z.given, b), z.co, z.given, put, on)

        def chunk(k: str | int) -> None:
            first = w.mul(k, z.rows)
            _transform(w, z, _Image.input(z), source, v, first)
            _transform(w, z, _Image.gradient_of(z), gradient, y, first)
            bracket = w.at(source, z.region - z.bracket)
            w.repeat(z.points, lambda e: _products(w, z, v, y, bracket, e))

        w.repeat(z.down // z.rows, chunk)

    w.share(z.regions, region)
    w.meet()
    w.share(z.co * z.ci, lambda pair: _results(w, z, w.at(scratch, z.region - z.bracket), dw, pair))


def _inside(w: Writer, z: GradientPlan, b: str | int) -> str | None:
    """The mask of lanes that have an image; None if all have."""
    if z.n % z.lanes == 0:
        return None
    return first_lanes(w, w.subtracted(z.n, w.mul(b, z.lanes)))


@dataclass(frozen=True, slots=True)
class _Image:
    """What is transformed: planes of `rows` by `width`, a tile reaching over `reach` rows, to points in rows of `wide` columns.

    The first column of the image becomes column `left` of the points.
    """

    channels: int
    rows: int
    width: int
    reach: int
    wide: int
    left: int
    axis: Callable[[Writer, Sequence[str]], list[str]]

    @classmethod
    def input(cls, z: GradientPlan) -> _Image:
        return cls(z.ci, z.source_rows, z.w, z.points, z.width, z.left, z.axis.input)

    @classmethod
    def gradient_of(cls, z: GradientPlan) -> _Image:
        return cls(z.co, z.gradient_rows, z.ow, z.out, z.ow, 0, z.axis.gradient)


def _transform(w: Writer, z: GradientPlan, image: _Image, source: str, target: str, first: str | int) -> None:
    """Points [point][channel][row of tiles][column] of some rows of tiles; columns outside the image stay as they are."""
    lanes = z.lanes

    def pixel(c: str | int, t: str | int, column: str | int) -> None:
        at = w.linear((c, image.rows * image.width), (w.add(first, t), z.out * image.width), (column, 1))
        place = w.at(source, w.mul(at, lanes))
        made = image.axis(w, [w.vload(w.at(place, r * image.width * lanes)) for r in range(image.reach)])
        there = w.linear((c, z.rows * image.wide), (t, image.wide), (column, 1), (image.left, 1))
        points = w.at(target, w.mul(there, lanes))
        for e, value in enumerate(made):
            w.vstore(value, w.at(points, e * image.channels * z.rows * image.wide * lanes))

    columns = min(image.width, image.wide - image.left)
    if columns > 0:
        w.repeat(
            image.channels,
            lambda c: w.repeat(z.rows, lambda t: w.repeat(columns, lambda column: pixel(c, t, column))),
        )


def _products(w: Writer, z: GradientPlan, v: str, y: str, bracket: str, e: str | int) -> None:
    """Bracket [point][co][ci][kw] of a point, from some rows of tiles."""
    lanes = z.lanes
    whole: Pieces = ((0, 0, lanes),)
    level = (z.rows, z.ow * lanes, z.width * lanes)
    segment = Segment(z.ow, lanes, lanes, ((whole, whole),))

    def tile(o: str | int, size: int, c: str | int, first: int, taps: int) -> None:
        a = w.at(y, w.mul(w.linear((e, z.co), (o, 1)), z.rows * z.ow * lanes))
        b = w.at(v, w.linear((w.linear((e, z.ci), (c, 1)), z.rows * z.width * lanes), (first, lanes)))
        rows = [i * z.rows * z.ow * lanes for i in range(size)]
        sums = dot_tile(w, a, b, rows, [kx * lanes for kx in range(taps)], (level,), (segment,))
        pair = w.linear((e, z.co * z.ci), (o, z.ci), (c, 1))
        at = w.at(bracket, w.linear((pair, z.kw), (first, 1)))
        for i, value in enumerate(sums):
            place = w.at(at, i * z.ci * z.kw)
            w.vstore(w.binary("fadd", w.vload(place, taps), value), place, taps)

    most = 31 if lanes >= 16 else 15
    for start, number, taps in blocks(z.kw, min(lanes, 5)):
        for first in range(start, start + number * taps, taps):
            for begin, count, step, size in block_kinds(z.co, max(1, (most - taps) // taps)):

                def strip(
                    k: str | int,
                    begin: int = begin,
                    step: int = step,
                    size: int = size,
                    first: int = first,
                    taps: int = taps,
                ) -> None:
                    o = w.linear((k, step), (begin, 1))
                    w.repeat(z.ci, lambda c: tile(o, size, c, first, taps))

                w.repeat(count, strip)


def _results(w: Writer, z: GradientPlan, brackets: str, dw: str, pair: str | int) -> None:
    """dW of a pair of channels from the brackets of all threads, lanes being columns of the kernel."""
    for kx in range(0, z.kw, z.lanes):
        active = min(z.lanes, z.kw - kx)

        def point(e: int, kx: int = kx, active: int = active) -> str:
            place = w.at(brackets, w.linear((pair, z.kw), (e * z.co * z.ci * z.kw + kx, 1)))
            value = w.vload(place, active)
            for r in range(1, z.regions):
                value = w.binary("fadd", value, w.vload(w.at(place, r * z.region), active))
            return value

        made = z.axis.weight_gradient(w, [point(e) for e in range(z.points)], z.kh)
        for ky, value in enumerate(made):
            w.vstore(value, w.at(dw, w.linear((pair, z.kh * z.kw), (ky * z.kw + kx, 1))), active)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, dy: Array, *rest: Array) -> None:
    z = GradientPlan.of(p)
    *winners, _, dw = rest
    if winners:
        dy = unpool_twin(dy, winners[0], (z.n, z.co, z.oh, z.ow), z.unpool)
    padded = z.padded(x)
    sizes = dict(h=padded.shape[2], w=padded.shape[3], stride=(1, 1), dilation=(1, 1))
    direct.twin({**p, **sizes}, padded.reshape(-1), dy, dw)


CONV2D_FILTER_GRAD_BATCH_WINOGRAD = Emitter(operands, emit, twin)
