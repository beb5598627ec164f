"""Direct convolution with output channels as lanes, for images too small to fill vectors with pixels.

A register tile is a part of a row of outputs, or some whole rows, by vectors of channels: pixels are read one by one, whatever
the stride, weights as vectors. Tiles are transposed before they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.conv.pixels import IN_FLIGHT, Sizes
from graphc_codegen.kernels.microkernel import (
    Blocks,
    Kind,
    Segment,
    blocks,
    contiguous,
    each_tile,
    splat_tile,
    strip_kinds,
    total_places,
    widest,
)
from graphc_codegen.kernels.transposition import transpose_into
from graphc_codegen.writer import Writer

#: The most vectors of channels in a tile.
_WIDE = 4
#: Rows and columns of outputs in a tile.
Shape = tuple[int, int]
#: First row or column, number and size of tiles of a kind.
_Cut = tuple[int, int, int]


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w] (padded), weight [ci, kh, kw, `lead`] of which co count -> y [n, co, oh, ow].

    y[n, o, oy, ox] = sum of x[n, i, oy * sh + ky * dh, ox * sw + kx * dw] * weight[i, ky, kx, o]. May have an epilogue. With a
    `block` accumulators take about so many terms: those of whole input channels.
    """
    z = Sizes.of(p)
    return (
        Operand("float32", z.n * z.ci * z.plane, "in"),
        Operand("float32", p["lead"] * z.ci * z.taps, "in"),
        *epilogue.operands(p, (z.n, z.co, z.pixels)),
    )


def plan(z: Sizes, lanes: int) -> tuple[int, Shape]:
    """Vectors of channels and outputs of a tile: least estimated cycles, of a kind of tile rather than several."""
    return min(
        ((vectors, shape) for vectors in range(1, _WIDE + 1) for shape in _shapes(z, lanes, vectors)),
        key=lambda tile: _cycles(z, lanes, *tile),
    )


def _shapes(z: Sizes, lanes: int, vectors: int) -> Iterator[Shape]:
    """Outputs of the largest tiles: a part of a row, or whole rows. One vector holds them when they are transposed."""
    most = next((r for r in range(lanes, 0, -1) if widest(lanes, r) >= vectors), 1)
    for columns in {size for limit in range(1, min(z.ow, most) + 1) for _, _, size in blocks(z.ow, limit)[:1]}:
        yield (min(z.oh, most // columns) if columns == z.ow else 1, columns)


def _cycles(z: Sizes, lanes: int, vectors: int, shape: Shape) -> float:
    """Estimated cycles per image and weight."""
    strips = [(number, len(widths)) for _, number, _, widths in strip_kinds(z.co, lanes, vectors)]
    down, across = _cuts(z, shape)
    kinds = [(a * b, rows * columns) for _, a, rows in down for _, b, columns in across]
    each = sum(n * k * (max(size * v, size + v, IN_FLIGHT) + 1) for n, v in strips for k, size in kinds)
    return each * (1 + 0.02 * (len(kinds) * len(strips) - 1))


def _cuts(z: Sizes, shape: Shape) -> tuple[list[_Cut], list[_Cut]]:
    """Along rows and along columns the kinds of tiles."""
    full, rest = divmod(z.oh, shape[0])
    return [k for k in ((0, full, shape[0]), (full * shape[0], 1, rest)) if k[1] * k[2]], blocks(z.ow, shape[1])


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Strips of channels, whose weights stay near; for each of them images and rows of tiles."""
    z = Sizes.of(p)
    x, weight, *rest = pointers
    vectors, shape = plan(z, w.lanes)
    finish = epilogue.Finish(w, p, (z.n, z.co, z.pixels), rest)
    cut = Blocks(0, max(1, p["block"] // z.taps), total_places(w)) if "block" in p else None
    memory = [w.op(f"alloca [{w.lanes * vectors * w.lanes} x float], align 64") for _ in range(2)]
    tile = partial(_tile, w, z, p["lead"], (x, weight), finish, cut, memory)

    down, across = _cuts(z, shape)

    def strip(j: str | int, widths: tuple[int, ...], u: str | int, cut: _Cut) -> None:
        start, number, size = cut
        image, q = w.divided(u, number)
        row = w.linear((q, size), (start, 1))
        for columns in across:
            w.repeat(columns[1], partial(tile, (j, widths), (image, row), size, columns))

    rows: list[Kind] = [(0, z.n * cut[1], 1, cut) for cut in down]
    each_tile(w, strip_kinds(z.co, w.lanes, vectors), rows, strip)


def _tile(
    w: Writer,
    z: Sizes,
    lead: int,
    at: tuple[str, str],
    finish: epilogue.Finish,
    cut: Blocks | None,
    memory: Sequence[str],
    channels: tuple[str | int, tuple[int, ...]],
    place: tuple[str | int, str | int],
    rows: int,
    columns: _Cut,
    number: str | int,
) -> None:
    """So many rows of outputs from (image, row) `place` on, tile `number` of those `columns`, of a strip of channels."""
    (x, weight), (j, widths), (image, row), (sh, sw), (dh, dw) = at, channels, place, z.stride, z.dilation
    first, _, across = columns
    column = w.linear((number, across), (first, 1))
    count, lanes = rows * across, w.lanes
    source = w.at(x, w.linear((image, z.ci * z.plane), (row, sh * z.w), (column, sw)))
    pixels = [r * sh * z.w + c * sw for r in range(rows) for c in range(across)]
    segment = Segment(z.kh, dh * z.w, z.kw * lead, tuple((k * dw, k * lead) for k in range(z.kw)))
    levels = ((z.ci, z.plane, z.taps * lead),)
    acc = splat_tile(
        w, source, w.at(weight, j), pixels, contiguous(widths, lanes), levels, (segment,), blocks=cut, anew=True
    )
    # Rows of a tile that are no pixels are turned, too, which is faster: nothing reads what comes of them.
    wide = len(widths) * lanes
    for k, value in enumerate(acc):
        w.vstore(value, w.at(memory[0], k * lanes))
    transpose_into(w, memory[0], wide, lanes, wide, memory[1], lanes)
    pixel = w.linear((row, z.ow), (column, 1))

    def store(c: str | int) -> None:
        value = w.vload(w.at(memory[1], w.mul(c, lanes)), count)
        finish.store(value, (image, w.add(j, c), pixel), count)

    w.repeat(sum(widths), store)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, weight: Array, *rest: Array) -> None:
    z = Sizes.of(p)
    (sh, sw), (dh, dw) = z.stride, z.dilation
    image, taps = x.reshape(z.n, z.ci, z.h, z.w), weight.reshape(z.ci, z.kh, z.kw, -1)[..., : z.co]
    out = np.zeros((z.n, z.co, z.oh, z.ow), np.float32)
    for ky in range(z.kh):
        for kx in range(z.kw):
            y, x0 = ky * dh, kx * dw
            seen = image[:, :, y : y + (z.oh - 1) * sh + 1 : sh, x0 : x0 + (z.ow - 1) * sw + 1 : sw]
            out += np.einsum("nihw,io->nohw", seen, taps[:, ky, kx], optimize=True)
    epilogue.twin(p, (z.n, z.co, z.pixels), out.reshape(-1), *rest)


CONV2D_CHANNELS = Emitter(operands, emit, twin)
