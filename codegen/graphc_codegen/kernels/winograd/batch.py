"""Winograd convolution F(m, kh) of columns with images as lanes, forward and input gradient; for few channels and many images.

With 6 or 8 points, m = points + 1 - kh output rows take so many products as there are points, for a pair of channels and a column
of the kernel, instead of m kh. There is no transform along rows, so that there are fewer transforms, and smaller rounding errors,
than `CONV2D_WINOGRAD` has. For each block of images:

- images go into lanes, see `batch_plan`;
- a row of tiles at a time, patches of as many rows as points are transformed to V[column][ci][point];
- sums of products with U[column of the kernel][ci][co][point] stay in registers and are transformed back at once;
- results go out of lanes, perhaps pooled, see `batch_pool`.

The input gradient is the transpose of this: tiles are m rows of the output's gradient, and results are patches that overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import LINE, Array, Emitter, Operand, Params
from graphc_codegen.kernels.conv import forward as direct
from graphc_codegen.kernels.microkernel import Kind, block_kinds, registers
from graphc_codegen.kernels.winograd.batch_plan import Batch, into_lanes, out_of_lanes, planes, whole_quads
from graphc_codegen.kernels.winograd.batch_pool import (
    index_of,
    index_operand,
    pool_lanes,
    pool_twin,
    unpool_twin,
    unpooled,
    windows,
)
from graphc_codegen.kernels.winograd.plan import whole_lines
from graphc_codegen.kernels.winograd.transforms import clear
from graphc_codegen.literals import float_literal
from graphc_codegen.writer import Writer, vec


@dataclass(frozen=True)
class Plan(Batch):
    """`source`, `transformed` and `result` are the parts of a thread's memory."""

    @cached_property
    def down(self) -> int:
        """Tiles in a column."""
        return -(-(self.h if self.transposed else self.oh) // self.out)

    @cached_property
    def above(self) -> int:
        """Rows of zeros above the source."""
        return 0 if self.transposed else self.top

    @cached_property
    def cut(self) -> int:
        """Rows of results above those that are wanted."""
        return self.kh - 1 - self.top if self.transposed else 0

    @cached_property
    def source_rows(self) -> int:
        reach = self.out * self.down + (0 if self.transposed else self.kh - 1)
        return max(reach, self.above + self.h)

    @cached_property
    def result_rows(self) -> int:
        reach = self.out * self.down + (self.kh - 1 if self.transposed else 0)
        return max(reach, self.cut + self.oh)

    @cached_property
    def source(self) -> int:
        return self.ci * self.source_rows * self.w

    @cached_property
    def transformed(self) -> int:
        """Also has room for a channel of results on its way out of lanes."""
        return max(self.points * self.ci * self.w, whole_quads(self.oh * self.ow))

    @cached_property
    def result(self) -> int:
        """With room to read three pixels beyond the end."""
        return self.co * self.result_rows * self.ow + 3

    @cached_property
    def fixed(self) -> int:
        return whole_lines(self.points * self.kw * self.ci * self.co) + LINE

    @cached_property
    def region(self) -> int:
        return self.lanes * (self.source + self.transformed + self.result)

    @cached_property
    def pixels(self) -> int:
        """Of a channel of the result, pooled."""
        return windows(self.oh, self.ow, self.pool)

    def windows_done(self, w: Writer, tiles: str | int) -> str | int:
        """Rows of windows whose pixels are all in the first so many rows of tiles."""
        done, most = w.divided(w.mul(tiles, self.out), self.pool[0])[0], self.oh // self.pool[0]
        if isinstance(done, int):
            return min(done, most)
        return w.call("llvm.smin.i64", "i64", [("i64", done), ("i64", str(most))])

    @cached_property
    def given(self) -> int:
        """Pixels of a channel of x, pooled."""
        return windows(self.h, self.w, self.unpool)

    @cached_property
    def channels(self) -> list[Kind]:
        """Output channels of a register tile; rather fewer than a second kind of tile, which is a copy of the code."""
        most = registers(self.lanes) // self.points
        return block_kinds(self.co, next((size for size in range(most, most // 2, -1) if self.co % size == 0), most))


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w], weight [co, ci, kh, kw] ([ci, co, kh, kw] if `transposed`) -> scratch, y [n, co, oh, ow].

    `points` are 6 or 8, 2 <= kh < points. y[n, o, oy, ox] = sum of x[n, i, oy - top + ky, ox - left + kx] * weight[o, i, ky, kx],
    where x is zero outside, with the taps of the kernel flipped if `transposed`; then top < kh. At most `parts` threads share the
    work. May have an epilogue, whose further inputs come before scratch memory. `CodegenError` if that is too small.

    With `pool` y is pooled, with `bias` a number for each output channel follows the weight, and with `indexed` the index stands
    before y; with `unpool` x is the gradient of a pooled image, and its index follows it: see `batch_pool`.
    """
    z, extras = Plan.of(p), len(p.get("extras", ()))
    rest = epilogue.operands(p, _domain(z))
    return (
        Operand("float32", z.n * z.ci * z.given, "in"),
        *([index_operand(z.n, z.ci, z.given, "in")] if "unpool" in p else ()),
        Operand("float32", z.co * z.ci * z.kh * z.kw, "in"),
        *([Operand("float32", z.co, "in")] if p.get("bias") else ()),
        *rest[:extras],
        Operand("float32", z.scratch, "out"),
        *([index_operand(z.n, z.co, z.pixels, "out")] if p.get("indexed") else ()),
        *rest[extras:],
    )


def _domain(z: Plan) -> tuple[int, int, int]:
    """The axes of the result as an epilogue sees them."""
    return z.n, z.co, z.pixels


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The weights; then blocks of images, an equal part of them for each thread."""
    z = Plan.of(p, w)
    x, *rest = pointers
    winners = rest.pop(0) if "unpool" in p else ""
    weight = rest.pop(0)
    bias = rest.pop(0) if p.get("bias") else ""
    extras = len(p.get("extras", ()))
    scratch = rest.pop(extras)
    index = rest.pop(extras) if p.get("indexed") else ""
    finish = epilogue.Finish(w, p, _domain(z), rest)

    def region(r: str | int) -> None:
        source = w.at(scratch, w.linear((r, z.region), (z.fixed, 1)))
        points = w.at(source, z.lanes * z.source)
        result = w.at(points, z.lanes * z.transformed)
        clear(w, source, z.lanes * z.source)
        w.part(r, z.regions, z.blocks, partial(block, source, points, result))

    def block(source: str, points: str, result: str, b: str | int) -> None:
        inner, plane = w.at(source, z.lanes * z.above * z.w), z.source_rows * z.w
        put = planes(w, inner, plane)
        if winners:
            put = unpooled(w, inner, plane, z.w, z.unpool, index_of(w, winners, z.ci, z.given, b))
        into_lanes(w, partial(z.pointers, w, x, z.ci * z.given, b), z.ci, z.given, put)
        if z.transposed:
            clear(w, result, z.lanes * z.result)

        places = index_of(w, index, z.co, z.pixels, b) if index else None

        def pool(rows: tuple[str | int, str | int], o: str | int) -> None:
            image = w.at(result, w.mul(o, z.lanes * z.result_rows * z.ow))
            number, winners = w.at(bias, o) if bias else "", places(o) if places else ""
            pool_lanes(w, image, z.ow, z.pool, rows, number, winners)

        def tiles(t: str | int) -> None:
            _transform(w, z, source, points, t)
            w.repeat(z.ow, lambda column: _column(w, z, scratch, points, result, t, column))
            if "pool" in p:
                rows = z.windows_done(w, t), z.windows_done(w, w.add(t, 1))
                w.repeat(z.co, partial(pool, rows))

        w.repeat(z.down, tiles)
        w.repeat(z.co, lambda o: _store(w, z, result, points, finish, b, o))

    _weights(w, z, weight, scratch)
    w.meet()
    w.share(z.regions, region)


def _weights(w: Writer, z: Plan, weight: str, u: str) -> None:
    """U[block of output channels][kx][ci][output channel][point] = G applied to the columns of the kernel; lanes are points."""
    lanes, taps = w.lanes, z.kh * z.kw
    matrix = z.axis.matrix(z.kh)

    def column(first: str | int, size: int, c: str | int, o: str | int, kx: str | int) -> None:
        pair = w.linear((c, z.co), (first, 1), (o, 1)) if z.transposed else w.linear((first, z.ci), (o, z.ci), (c, 1))
        there = w.linear((kx, -1), (z.kw - 1, 1)) if z.transposed else kx
        source = w.at(weight, w.linear((pair, taps), (there, 1)))
        loaded = [w.load_splat(w.at(source, ky * z.kw)) for ky in range(z.kh)]
        place = w.linear(
            (first, z.points * z.kw * z.ci), (kx, z.points * size * z.ci), (c, z.points * size), (o, z.points)
        )
        for start in range(0, z.points, lanes):
            value = "zeroinitializer"
            for ky, tap in enumerate(loaded):
                column = [row[ky] for row in matrix[start : start + lanes]]
                factors = ", ".join(f"float {float_literal(f)}" for f in column + [0.0] * (lanes - len(column)))
                value = w.fma(tap, f"<{factors}>", value)
            w.vstore(value, w.at(u, w.add(place, start)), min(lanes, z.points - start))

    for start, count, step, size in z.channels:

        def pair(q: str | int, start: int = start, step: int = step, size: int = size) -> None:
            k, c = w.divided(q, z.ci)
            first = w.linear((k, step), (start, 1))
            w.repeat(size, lambda o: w.repeat(z.kw, lambda kx: column(first, size, c, o, kx)))

        w.share(count * z.ci, pair)


def _transform(w: Writer, z: Plan, source: str, points: str, t: str | int) -> None:
    """V of a row of tiles."""
    rows, axis = (z.out, z.axis.gradient) if z.transposed else (z.points, z.axis.input)

    def pixel(c: str | int, column: str | int) -> None:
        at = w.linear((c, z.source_rows * z.w), (t, z.out * z.w), (column, 1))
        place = w.at(source, w.mul(at, z.lanes))
        made = axis(w, [w.vload(w.at(place, r * z.w * z.lanes)) for r in range(rows)])
        target = w.at(points, w.linear((column, z.ci * z.points * z.lanes), (c, z.points * z.lanes)))
        for k, value in enumerate(made):
            w.vstore(value, w.at(target, k * z.lanes))

    w.repeat(z.ci, lambda c: w.repeat(z.w, lambda column: pixel(c, column)))


def _column(w: Writer, z: Plan, u: str, points: str, result: str, t: str | int, column: str | int) -> None:
    """The results of a column of a row of tiles, all channels: sums over the columns of the kernel that meet pixels."""

    def clamp(which: str, a: str | int, b: int) -> str:
        return w.call(f"llvm.{which}.i64", "i64", [("i64", str(a)), ("i64", str(b))])

    from_left = w.linear((column, -1), (z.left, 1))
    first = clamp("smax", from_left, 0)
    end = clamp("smin", w.add(from_left, z.w), z.kw)
    count = w.mul(w.op(f"sub nsw i64 {end}, {first}"), z.ci)
    pixel = w.op(f"sub nsw i64 {first}, {from_left}")
    b = w.at(points, w.mul(pixel, z.ci * z.points * z.lanes), inside=False)

    def tile(start: int, step: int, size: int, i: str | int) -> None:
        o = w.linear((i, step), (start, 1))
        a = w.at(u, w.linear((o, z.points * z.kw * z.ci), (first, z.points * size * z.ci)))
        made = _products(w, z, a, b, size, count)
        plane = z.lanes * z.result_rows * z.ow
        place = w.at(result, w.linear((o, plane), (t, z.lanes * z.out * z.ow), (column, z.lanes)))
        for k in range(size):
            _put(w, z, made[z.points * k : z.points * (k + 1)], w.at(place, k * plane))

    for start, number, step, size in z.channels:
        w.repeat(number, partial(tile, start, step, size))


def _products(w: Writer, z: Plan, a: str, b: str, channels: int, count: str | int) -> list[str]:
    """Sums of products of A [count][channels][points], scalars, and B [count][points], vectors."""
    lanes, size = w.lanes, z.points * channels

    def turn(k: str, values: list[str]) -> list[str]:
        here, there = w.at(a, w.mul(k, size)), w.at(b, w.mul(k, z.points * lanes))
        vectors = [w.vload(w.at(there, i * lanes)) for i in range(z.points)]
        return [w.fma(w.load_splat(w.at(here, i)), vectors[i % z.points], values[i]) for i in range(size)]

    return w.turns((0, count), turn, [(vec("float", lanes), "zeroinitializer")] * size)


def _put(w: Writer, z: Plan, values: Sequence[str], place: str) -> None:
    """A column of a tile, back from its points."""
    made = z.axis.patch(w, values) if z.transposed else z.axis.output(w, values, z.out)
    for r, value in enumerate(made):
        target = w.at(place, r * z.ow * z.lanes)
        w.vstore(w.binary("fadd", w.vload(target), value) if z.transposed else value, target)


def _store(
    w: Writer, z: Plan, result: str, temporary: str, finish: epilogue.Finish, b: str | int, o: str | int
) -> None:
    """A channel of a block of images."""
    plane = w.at(result, w.linear((o, z.lanes * z.result_rows * z.ow), (z.cut * z.ow * z.lanes, 1)))
    out_of_lanes(w, plane, z.pixels, temporary)
    full, rest = divmod(z.pixels, z.lanes)

    def image(lane: str | int) -> None:
        number, row = z.image(w, b, lane), w.at(temporary, w.mul(lane, whole_quads(z.pixels)))

        def pixels(at: str | int, active: int) -> None:
            finish.store(w.vload(w.at(row, at), active), (number, o, at), active)

        w.repeat(full, lambda k: pixels(w.mul(k, z.lanes), z.lanes))
        if rest:
            pixels(full * z.lanes, rest)

    w.repeat(z.lanes, image)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, *operands: Array) -> None:
    z, extras = Plan.of(p), len(p.get("extras", ()))
    rest = list(operands)
    if "unpool" in p:
        x = unpool_twin(x, rest.pop(0), (z.n, z.ci, z.h, z.w), z.unpool)
    weight, y = rest.pop(0), np.empty((z.n, z.co, z.oh, z.ow), np.float32)
    bias = rest.pop(0)[:, None, None] if p.get("bias") else np.float32(0)
    rest.pop(extras)
    padded = z.padded(x)
    sizes = dict(h=padded.shape[2], w=padded.shape[3], stride=(1, 1), dilation=(1, 1), transposed=z.transposed)
    plain = {k: v for k, v in p.items() if k not in ("epilogue", "extras", "stores")}
    direct.twin(plain | sizes, padded.reshape(-1), weight, y.reshape(-1))
    if "pool" in p:
        y, index = pool_twin(y + bias, z.pool)
        if p.get("indexed"):
            rest.pop(extras)[:] = index
    epilogue.twin(p, _domain(z), y.reshape(-1), *rest)


CONV2D_BATCH_WINOGRAD = Emitter(operands, emit, twin)
