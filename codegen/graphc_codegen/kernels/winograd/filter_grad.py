"""The gradient of a 3 x 3 or 2 x 2 convolution with respect to its weights by the transposed form of Winograd's F(4x4, taps).

The forward kernel is linear in each operand, so its gradient has the same transforms, transposed: dW = G^T [sum over tiles of
(A dy A^T) * (B^T x B)] G. A block of tiles at a time, a matrix product for each point over its tiles adds to the bracket; the
threads' brackets are added up at the end. Pixels that are not finite make the same elements of dW so as in the direct kernel, and
some others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from graphc_codegen.kernels.base import LINE, Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import Segment, block_kinds, contiguous, splat_tile
from graphc_codegen.kernels.winograd.images import Image, transform_image
from graphc_codegen.kernels.winograd.plan import Memory, Plan, Rows, Sums, register_tile
from graphc_codegen.kernels.winograd.transforms import clear, load_columns, nth_of
from graphc_codegen.writer import Writer, vec

#: Tiles that are summed up before the sum goes to the block's: longer sums have larger rounding errors.
_SHORT = 16


@dataclass(frozen=True, kw_only=True)
class _Plan(Sums, Plan):
    """V and dy's tiles (in the place of M) of a block; besides, V of one point with channels as lanes, and the bracket."""

    @cached_property
    def per_tile(self) -> int:
        return super().per_tile + self.channels

    @cached_property
    def fixed(self) -> int:
        return super().fixed + self.products * self.u

    def cycles(self, vectors: int) -> float:
        return self.sum_cycles(vectors) + self.transform_cycles(vectors)


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w], dy [n, co, oh, ow] -> scratch, dw [co, ci, kh, kw]. See `CONV2D_WINOGRAD` for other parameters.

    dw[o, i, ky, kx] = sum of x[n, i, oy - top + ky, ox - left + kx] * dy[n, o, oy, ox], where x is zero outside.
    """
    z = _Plan.of(p)
    return (
        Operand("float32", z.n * z.channels_in * z.h * z.w, "in"),
        Operand("float32", z.n * z.co * z.oh * z.ow, "in"),
        Operand("float32", z.scratch, "out"),
        Operand("float32", z.co * z.ci * z.taps * z.taps, "out"),
    )


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Each thread sums over its blocks; then each transforms its part of the sums."""
    z = _Plan.of(p, w.threads)
    x, dy, scratch, dw = pointers

    def images(r: str | int) -> None:
        memory = Memory.of(w, z, scratch, r)
        bracket = w.at(memory.end, z.tiles * z.channels)
        clear(w, memory.zeros, z.zeros)
        # Products are summed over all the tiles of a block: those that are none must be zeros.
        clear(w, w.at(memory.s, -LINE), z.side * z.s)
        clear(w, bracket, z.products * z.u)
        w.part(r, z.regions, z.blocks, partial(block, memory, bracket))

    def block(memory: Memory, bracket: str, b: str | int) -> None:
        rows = Rows.of(w, z, b)
        if not isinstance(rows.count, int):
            clear(w, w.at(memory.s, -LINE), z.side * z.s)
        for image in Image.inputs(z):
            transform_image(w, z, image, x, memory, rows, memory.v)
        transform_image(w, z, Image.gradient(z), dy, memory, rows, memory.m)
        add_products(w, z, memory.m, memory.v, memory.end, bracket)

    def results(r: str | int) -> None:
        temporary = Memory.of(w, z, scratch, r).v
        brackets = w.at(scratch, z.region - z.products * z.u)
        w.part(
            r,
            z.regions,
            z.co,
            lambda o: _results(w, z, brackets, temporary, w.at(dw, w.mul(o, z.taps * z.taps * z.ci)), o),
        )

    w.share(z.regions, images)
    w.meet()
    w.share(z.regions, results)


def add_products(w: Writer, z: Sums, dy: str, v: str, temporary: str, bracket: str) -> None:
    """bracket[e, o, i] += sum over tiles t of dy[e, o, t] * V[e, i, t], for every point e.

    V is transposed into `temporary`, so that lanes are channels. A block has whole lines of tiles.
    """

    def product(e: str | int) -> None:
        at = w.at(dy, w.mul(e, z.m)), w.at(v, w.mul(e, z.v)), w.at(bracket, w.mul(e, z.u))
        _product(w, z, *at, temporary)

    w.repeat(z.products, product)


def _product(w: Writer, z: Sums, a: str, b: str, c: str, temporary: str) -> None:
    lanes = w.lanes

    def transpose(channel: str | int, count: int, t: str | int) -> None:
        """Four tiles of a vector of channels."""
        source = w.at(b, w.linear((channel, z.tiles), (t, 4)))
        target = w.at(temporary, w.linear((t, 4 * z.channels), (channel, 1)))
        for k, value in enumerate(load_columns(w, [w.at(source, k * z.tiles) for k in range(count)])):
            w.vstore(value, w.at(target, k * z.channels))

    full, rest = divmod(z.ci, lanes)
    w.repeat(full, lambda k: w.repeat(z.tiles // 4, partial(transpose, w.mul(k, lanes), lanes)))
    if rest:
        w.repeat(z.tiles // 4, partial(transpose, full * lanes, rest))

    vectors = -(-z.ci // lanes)
    # Their totals are in registers, too, or in memory: one more addition for each short sum.
    near, far = (register_tile(z.co, vectors, lanes, sums) for sums in (2, 1))
    in_memory = far[0] + z.co * vectors / _SHORT < near[0]
    _, size, wide = far if in_memory else near
    segment = Segment(_SHORT, 1, z.channels, ((0, 0),))
    columns = contiguous((lanes,) * wide, lanes)
    float_vector = vec("float", lanes)

    def tile(first: int, count: int, j: str | int, k: str | int) -> None:
        i = w.linear((k, count), (first, 1))
        target = w.at(c, w.linear((i, z.channels), (j, wide * lanes)))
        places = [w.at(target, r * z.channels + v * lanes) for r in range(count) for v in range(wide)]
        at_a, at_b = w.at(a, w.mul(i, z.tiles)), w.at(temporary, w.mul(j, wide * lanes))

        def short(t: str) -> list[str]:
            at = w.at(at_a, t), w.at(at_b, w.mul(t, z.channels))
            return splat_tile(w, *at, [r * z.tiles for r in range(count)], columns, (), (segment,))

        def kept(t: str, totals: list[str]) -> list[str]:
            return [w.binary("fadd", x, y) for x, y in zip(totals, short(t), strict=True)]

        def added(t: str, _: object) -> None:
            for value, place in zip(short(t), places, strict=True):
                w.vstore(w.binary("fadd", w.vload(place), value), place)

        if in_memory:
            w.loop(z.tiles, added, step=_SHORT)
            return
        totals = w.loop(z.tiles, kept, [(float_vector, w.vload(place)) for place in places], step=_SHORT)
        for value, place in zip(totals, places, strict=True):
            w.vstore(value, place)

    def strip(j: str | int) -> None:
        for first, number, _, count in block_kinds(z.co, size):
            w.repeat(number, partial(tile, first, count, j))

    w.repeat(vectors // wide, strip)


def _results(w: Writer, z: _Plan, brackets: str, temporary: str, target: str, o: str | int) -> None:
    """dW of one output channel from the brackets of all threads, lanes being input channels."""
    lanes, width, taps, side = w.lanes, min(w.lanes, z.ci), z.taps, z.side

    def points(source: str, c: str | int) -> None:
        def one(r: int) -> str:
            place = w.at(source, w.linear((c, z.u), (side * r * z.u, 1)))
            value = w.vload(place)
            for k in range(1, z.regions):
                value = w.binary("fadd", value, w.vload(w.at(place, k * z.region)))
            return value

        for ky, value in enumerate(z.points.weight_gradient(w, [one(r) for r in range(side)], taps)):
            w.vstore(value, w.at(temporary, w.linear((c, lanes), (side * ky * lanes, 1))))

    def rows(ky: str | int) -> None:
        loaded = [w.vload(w.at(temporary, w.linear((ky, side * lanes), (c * lanes, 1)))) for c in range(side)]
        for kx, value in enumerate(z.points.weight_gradient(w, loaded, taps)):
            w.vstore(value, w.at(temporary, w.linear((ky, lanes), ((side + kx) * taps * lanes, 1))))

    def columns(kx: str | int) -> None:
        source = w.at(temporary, w.linear((kx, taps * lanes), (side * taps * lanes, 1)))
        for k, value in enumerate(nth_of(w, [w.vload(w.at(source, ky * lanes)) for ky in range(taps)])):
            w.vstore(value, w.at(temporary, w.linear((kx, lanes), (taps * k * lanes, 1))))

    def together(place: str, k: str | int) -> None:
        source = w.at(temporary, w.mul(k, taps * lanes))
        made = nth_of(w, [w.vload(w.at(source, kx * lanes)) for kx in range(taps)])
        for i, value in enumerate(made):
            partly = width < lanes and isinstance(k, int)
            left = taps * taps * width - (taps * int(k) + i) * lanes if partly else lanes
            if left > 0:
                w.vstore(value, w.at(place, w.linear((k, taps * lanes), (i * lanes, 1))), min(lanes, left))

    def strip(j: str | int) -> None:
        # The last strip may do channels of the one before again.
        first = w.mul(j, lanes)
        if z.ci % lanes and not isinstance(first, int):
            first = w.call("llvm.smin.i64", "i64", [("i64", first), ("i64", str(z.ci - lanes))])
        w.repeat(side, partial(points, w.at(brackets, w.linear((o, z.channels), (first, 1)))))
        w.repeat(taps, rows)
        w.repeat(taps, columns)
        place = w.at(target, w.mul(first, taps * taps))
        if width == lanes:
            w.repeat(taps, partial(together, place))
        else:
            for k in range(taps):
                together(place, k)

    w.repeat(-(-z.ci // lanes), strip)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, dy: Array, scratch: Array, dw: Array) -> None:
    z = _Plan.of(p)
    gradient, out = dy.reshape(z.n, z.co, z.oh, z.ow), dw.reshape(z.co, z.ci, z.taps, z.taps)
    for ky, kx in np.ndindex(z.taps, z.taps):
        out[:, :, ky, kx] = np.einsum("nihw,nohw->oi", z.seen(x, (ky, kx)), gradient, optimize=True)


CONV2D_FILTER_GRAD_WINOGRAD = Emitter(operands, emit, twin)
