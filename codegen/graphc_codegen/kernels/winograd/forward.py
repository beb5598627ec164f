"""Winograd convolution F(4x4, 3x3) or F(4x4, 2x2) over NCHW images, forward and input gradient (the same kernel, transposed).

A tile of 4 x 4 outputs takes 36 multiply-adds for a pair of channels instead of 144, with 2 x 2 taps 25 instead of 64. The steps,
see `transforms`:

- all threads transform the weights, U[points][channel pairs], once per call;
- a block of tiles is some rows of tiles of one image or several, so many that V and M stay in the second-level cache. Its
  patches are transformed to V[points][ci][tiles], see `images`;
- 36 or 25 matrix products M = U V;
- the way back: horizontally into S, then vertically into y.

A pixel that is not finite makes the outputs so that it is multiplied for, as it does in the direct kernel, and often the others
of the tiles whose patches have it; infinity may become NaN. Other tiles do not change. Tests for overflow see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import Kind, Segment, block_kinds, contiguous, splat_tile, strip_kinds
from graphc_codegen.kernels.winograd.images import Image, prefetch, transform_image
from graphc_codegen.kernels.winograd.plan import Blocks, Memory, Plan, Rows, register_tile, runs
from graphc_codegen.kernels.winograd.transforms import (
    OUT,
    clear,
    transform_weights,
    transpose_quads,
)
from graphc_codegen.writer import Writer


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w], weight [co, ci, kh, kw] ([ci, co, kh, kw] if `transposed`) -> scratch, y [n, co, oh, ow].

    y[n, o, oy, ox] = sum of x[n, i, oy - top + ky, ox - left + kx] * weight[o, i, ky, kx], where x is zero outside, with the
    taps of the kernel flipped if `transposed`. Windows are of 3 x 3 or 2 x 2. With `views`, pairs (row, column), and a `stride`,
    x has ci / views channels: channel i of view v sees pixel (row + sh (oy + ky), column + sw (ox + kx)), and `top` and `left`
    do not count. The stride of columns is 1 or 2.

    At most `parts` threads share the work; `scratch` is the size of their memory, with which blocks grow: 36 ci co for the
    weights (25 for 2 x 2), and for each thread 36 (ci + co) for each tile of a block, and some more. May have an epilogue, whose
    further inputs come before scratch memory.
    """
    z, extras = Plan.of(p), len(p.get("extras", ()))
    rest = epilogue.operands(p, _domain(z))
    return (
        Operand("float32", z.n * z.channels_in * z.h * z.w, "in"),
        Operand("float32", z.co * z.ci * z.taps * z.taps, "in"),
        *rest[:extras],
        Operand("float32", z.scratch, "out"),
        *rest[extras:],
    )


def _domain(z: Plan) -> tuple[int, int, int]:
    """The axes of the result as an epilogue sees them."""
    return z.n, z.co, z.oh * z.ow


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The weights; then blocks, an equal part of them for each thread."""
    z = Plan.of(p, w.threads)
    x, weight, *rest = pointers
    scratch = rest.pop(len(p.get("extras", ())))
    finish = epilogue.Finish(w, p, _domain(z), rest)

    def weights(r: str | int) -> None:
        temporary, run = Memory.of(w, z, scratch, r).v, partial(w.part, r, z.regions)
        to_points = partial(transform_weights, w, z.points, z.taps, weight, scratch, z.co * z.ci, z.u)
        to_points(flipped=p["transposed"], temporary=temporary, part=run)

    def images(r: str | int) -> None:
        memory = Memory.of(w, z, scratch, r)
        clear(w, memory.zeros, z.zeros)
        w.part(r, z.regions, z.blocks, partial(block, memory))

    def block(memory: Memory, b: str | int) -> None:
        rows = Rows.of(w, z, b)
        for image in Image.inputs(z):
            transform_image(w, z, image, x, memory, rows, memory.v)
        products(w, z, scratch, memory.v, memory.m, transposed=bool(p["transposed"]))
        _transform_output(w, z, memory, finish, rows)

    w.share(z.regions, weights)
    w.meet()
    w.share(z.regions, images)


def products(w: Writer, z: Blocks, u: str, v: str, m: str, *, transposed: bool) -> None:
    """M[e] = U[e] V[e], with U[e] [co, ci] ([ci, co] if `transposed`)."""
    row, step = (1, z.co) if transposed else (z.ci, 1)
    _, size, vectors = register_tile(z.co, z.tiles // w.lanes, w.lanes)
    segment = Segment(z.ci, step, z.tiles, ((0, 0),))

    def product(e: str | int) -> None:
        a, b, c = w.at(u, w.mul(e, z.u)), w.at(v, w.mul(e, z.v)), w.at(m, w.mul(e, z.m))

        def tile(j: str | int, widths: tuple[int, ...], i: str | int, count: int) -> None:
            rows = [r * row for r in range(count)]
            acc = splat_tile(w, w.at(a, w.mul(i, row)), w.at(b, j), rows, contiguous(widths, w.lanes), (), (segment,))
            target = w.at(c, w.linear((i, z.tiles), (j, 1)))
            for index, value in enumerate(acc):
                r, k = divmod(index, len(widths))
                w.vstore(value, w.at(target, r * z.tiles + k * w.lanes))

        for strip in strip_kinds(z.tiles, w.lanes, vectors):
            for kind in block_kinds(z.co, size):
                w.repeat(strip[1], partial(_pair, w, strip, kind, tile))

    w.repeat(z.products, product)


def _pair(w: Writer, strip: Kind, kind: Kind, tile: Callable[..., None], j: str | int) -> None:
    at = w.linear((j, strip[2]), (strip[0], 1))
    w.repeat(kind[1], lambda i: tile(at, strip[3], w.linear((i, kind[2]), (kind[0], 1)), kind[3]))


def _transform_output(w: Writer, z: Plan, memory: Memory, finish: epilogue.Finish, rows: Rows) -> None:
    """A block of y from M, channel by channel."""
    lanes = w.lanes

    def tiles(source: str, g: str | int) -> None:
        def row(r: str | int) -> None:
            place = w.at(source, w.linear((r, z.side * z.m), (g, lanes)))
            made = z.points.output(w, [w.vload(w.at(place, c * z.m)) for c in range(z.side)], OUT)
            target = w.at(memory.s, w.linear((r, z.s), (g, OUT * lanes)))
            for j, value in enumerate(transpose_quads(w, made)):
                w.vstore(value, w.at(target, j * lanes))

        w.repeat(z.side, row)

    def channel(o: str | int) -> None:
        source = w.at(memory.m, w.mul(o, z.tiles))
        w.repeat(z.tiles // lanes, partial(tiles, source))
        rows.each(w, z, lambda i, n, ty: _output_rows(w, z, memory, finish, o, i, n, ty))

    w.repeat(z.co, channel)


def _output_rows(
    w: Writer,
    z: Plan,
    memory: Memory,
    finish: epilogue.Finish,
    o: str | int,
    i: str | int,
    n: str | int,
    ty: str | int,
) -> None:
    """A row of tiles of channel o from S to image n, clipped."""
    source = w.at(memory.s, w.mul(i, OUT * z.across))
    pixels = z.oh * z.ow
    following = w.linear((n, z.co * pixels), (o, pixels), (ty, OUT * z.ow), (pixels, 1))
    prefetch(w, finish.pointers[len(finish.p.get("extras", ()))], following, OUT * z.ow, write=True)
    for start, number, _, _, width in runs(z.ow, w.lanes, 0, z.ow):

        def vector(k: str | int, start: int = start, width: int = width) -> None:
            at = w.linear((k, w.lanes), (start, 1))
            loaded = [w.vload(w.at(source, w.add(at, r * z.s)), width) for r in range(z.side)]
            made = z.points.output(w, loaded, OUT)
            for r, value in enumerate(made):
                place = (n, o, w.linear((ty, OUT * z.ow), (at, 1), (r * z.ow, 1)))
                store = partial(finish.store, value, place, width)
                if r < z.oh - OUT * (z.down - 1):
                    store()
                elif z.down > 1:
                    w.when(w.op(f"icmp slt i64 {ty}, {z.down - 1}"), store)

        w.repeat(number, vector)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, weight: Array, *rest: Array) -> None:
    z = Plan.of(p)
    if p["transposed"]:
        kernel = weight.reshape(z.ci, z.co, z.taps, z.taps)[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    else:
        kernel = weight.reshape(z.co, z.ci, z.taps, z.taps)
    out = np.zeros((z.n, z.co, z.oh, z.ow), np.float32)
    for ky, kx in np.ndindex(z.taps, z.taps):
        out += np.einsum("nihw,oi->nohw", z.seen(x, (ky, kx)), kernel[:, :, ky, kx], optimize=True)
    extras = len(p.get("extras", ()))
    epilogue.twin(p, _domain(z), out.reshape(-1), *rest[:extras], *rest[extras + 1 :])


CONV2D_WINOGRAD = Emitter(operands, emit, twin)
