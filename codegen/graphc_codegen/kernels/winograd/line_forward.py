"""Winograd convolution F(4, 2), F(4, 3) or F(4, 5) along one axis, forward and input gradient (the same kernel, transposed); see
`lines`.

Four outputs take six multiply-adds for a pair of channels instead of twelve, with two taps five instead of eight, with five taps
eight instead of twenty. All threads transform the weights, U[points][channel pairs], once per call; a block of tiles is
transformed to V[points][ci][tiles], then a matrix product for each point, M = U V, then back. A pixel that is not finite makes
the outputs so that it is multiplied for, and often the others of its tiles, as in `forward`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.winograd.forward import products
from graphc_codegen.kernels.winograd.lines import OUT, Lines, Place, Stretch, each_vector, to_points
from graphc_codegen.kernels.winograd.transforms import every_nth
from graphc_codegen.writer import Writer


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w], weight [co, ci, taps] ([ci, co, taps] if `transposed`) -> scratch, y [n, co, h, ow].

    y[n, o, l, q] = sum of x[n, i, l, q - left + k * step] * weight[o, i, k], where x is zero outside, with the taps flipped if
    `transposed`. With `views`, which are pixels, x has ci / views channels, channel i of view v sees
    x[n, i, l, v + q + k * step], and `left` does not count. Other sizes are those of a window of one row, without padding above.

    At most `parts` threads share the work; `scratch` is the size of their memory, with which blocks grow: 6 ci co for the
    weights, and for each thread 6 (ci + co) for each tile of a block, and some more. With two taps it is 5 instead of 6, with
    five 8. May have an epilogue, whose further inputs come before scratch memory.
    """
    z, extras = Lines.of_lines(p), len(p.get("extras", ()))
    rest = epilogue.operands(p, _domain(z))
    return (
        Operand("float32", z.n * z.channels_in * z.h * z.w, "in"),
        Operand("float32", z.co * z.ci * z.taps, "in"),
        *rest[:extras],
        Operand("float32", z.scratch, "out"),
        *rest[extras:],
    )


def _domain(z: Lines) -> tuple[int, int, int]:
    """The axes of the result as an epilogue sees them."""
    return z.n, z.co, z.h * z.ow


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The weights; then blocks, an equal part of them for each thread."""
    z = Lines.of_lines(p, w.threads, w.lanes)
    x, weight, *rest = pointers
    scratch = rest.pop(len(p.get("extras", ())))
    finish = epilogue.Finish(w, p, _domain(z), rest)

    transposed, vectors = bool(p["transposed"]), -(-z.ci * z.co // w.lanes)

    # Stages are shared by kernels that differ in what they do with results, or in dilation.
    def weights(r: str | int) -> None:
        def part(w: Writer, pointers: Sequence[str], numbers: Sequence[str | int]) -> None:
            (weight, u), (r,) = pointers, numbers
            w.part(r, z.regions, vectors, partial(_weights, w, z, weight, u, transposed))

        w.stage([weight, scratch], [r], part)

    def lines(r: str | int) -> None:
        w.part(r, z.regions, z.blocks, partial(block, w.at(scratch, w.linear((r, z.region), (z.common, 1)))))

    def block(v: str, b: str | int) -> None:
        m = w.at(v, z.products * z.v)
        w.stage([x, v], [b], lambda w, at, n: to_points(w, z, n[0], *at, gradient=False, distance=z.v))
        w.stage([scratch, v, m], [], lambda w, at, _: products(w, z, *at, transposed=transposed))
        each_vector(w, z, b, z.co, partial(_store, w, z, m, finish))

    w.share(z.regions, weights)
    w.meet()
    w.share(z.regions, lines)


def _weights(w: Writer, z: Lines, weight: str, u: str, flipped: bool, j: str | int) -> None:
    """U of a vector of channel pairs."""
    lanes, pairs = w.lanes, z.ci * z.co
    first = w.mul(j, lanes)
    # The last vector may do pairs of the one before again.
    if pairs > lanes and pairs % lanes:
        first = w.smaller(first, pairs - lanes)
    source, width = w.at(weight, w.mul(first, z.taps)), min(lanes, pairs)
    left = [max(0, min(lanes, z.taps * width - k * lanes)) for k in range(z.taps)]
    loaded = [w.vload(w.at(source, k * lanes), n) if n else "zeroinitializer" for k, n in enumerate(left)]
    taps = every_nth(w, loaded)
    target = w.at(u, first)
    for e, value in enumerate(z.points.weights(w, taps[::-1] if flipped else taps)):
        w.vstore(value, w.at(target, e * z.u), width)


def _store(
    w: Writer, z: Lines, m: str, finish: epilogue.Finish, i: str | int, place: Place, channel: str | int
) -> None:
    """The outputs of a vector of tiles, of one channel."""
    source = w.at(m, w.linear((channel, z.tiles), (i, z.lanes)))
    rows = z.points.output(w, [w.vload(w.at(source, e * z.m)) for e in range(z.products)], OUT)
    line = w.mul(place.line, z.ow)

    def store(value: str, pixel: str | int, mask: str) -> None:
        finish.store(value, (place.image, channel, w.add(line, pixel)), mask)

    Stretch(w, z, place, 0, z.ow, OUT).store(rows, store)


def line_windows(z: Lines, x: Array, k: int) -> Array:
    """The pixels that tap k multiplies: [n, ci, h, ow]."""
    image, made = x.reshape(z.n, z.channels_in, z.h, z.w), []
    for first in z.firsts:
        places = np.arange(z.ow) + first + k * z.step
        inside = (places >= 0) & (places < z.w)
        made.append(np.where(inside, image[..., np.where(inside, places, 0)], np.float32(0)))
    return np.concatenate(made, 1)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, weight: Array, *rest: Array) -> None:
    z = Lines.of_lines(p)
    if p["transposed"]:
        kernel = weight.reshape(z.ci, z.co, z.taps)[:, :, ::-1].transpose(1, 0, 2)
    else:
        kernel = weight.reshape(z.co, z.ci, z.taps)
    out = np.zeros((z.n, z.co, z.h, z.ow), np.float32)
    for k in range(z.taps):
        out += np.einsum("nihw,oi->nohw", line_windows(z, x, k), kernel[:, :, k], optimize=True)
    extras = len(p.get("extras", ()))
    epilogue.twin(p, _domain(z), out.reshape(-1), *rest[:extras], *rest[extras + 1 :])


CONV2D_LINE_WINOGRAD = Emitter(operands, emit, twin)
