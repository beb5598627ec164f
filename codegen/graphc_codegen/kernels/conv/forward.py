"""Direct convolution over NCHW images, forward and input gradient (the same kernel, transposed).

Input images are padded beforehand and split into phases: pixel (iy, ix) stands in plane (iy % sh, ix % sw) at
(iy // sh, ix // sw), where (sh, sw) is the stride. Every tap then reads pixels one apart, whatever the stride.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.conv.pairing import unpaired
from graphc_codegen.kernels.conv.pixels import IN_FLIGHT, Group, Sizes, loads, packings
from graphc_codegen.kernels.microkernel import (
    Blocks,
    Level,
    Segment,
    block_kinds,
    blocks,
    each_tile,
    splat_tile,
    total_places,
    widest,
)
from graphc_codegen.writer import Writer


@dataclass(frozen=True, slots=True)
class _Problem:
    """Sizes and options of one convolution; `border` are rows of zeros at top and bottom to skip."""

    z: Sizes
    transposed: bool
    border: tuple[int, int]
    pairs: bool

    @classmethod
    def of(cls, p: Params) -> _Problem:
        z = Sizes.of(p)
        top, bottom = p.get("border", (0, 0))
        if z.stride != (1, 1):
            top = bottom = 0
        return cls(z, p["transposed"], (top, bottom), p.get("pairs", False))

    @property
    def per_output(self) -> int:
        """Distance of the weights of two output channels."""
        return self.z.taps if self.transposed else self.z.ci * self.z.taps

    @property
    def per_input(self) -> int:
        return self.z.co * self.z.taps if self.transposed else self.z.taps

    def kernel_rows(self, first: int, rows: int) -> int:
        """How many kernel rows meet a nonzero pixel from output rows `first` and on."""
        (top, bottom), step = self.border, self.z.dilation[0]
        low = max(0, -(-(top - first - rows + 1) // step))
        return max(1, min(self.z.kh, -(-(self.z.h - bottom - first) // step)) - low)


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, sh, sw, h, w], weight [co, ci, kh, kw] ([ci, co, kh, kw] if `transposed`) -> y [n, co, oh, ow].

    y[n, o, oy, ox] = sum of x_padded[n, i, oy * sh + ky * dh, ox * sw + kx * dw] * weight[o, i, ky, kx], with the
    taps of the kernel flipped if `transposed`. `border` = (top, bottom), optional, promises that so many
    first and last rows of x are zero; taps there are left out (at stride 1). May have an epilogue. With a `block`
    accumulators take about so many terms: those of whole input channels. With `groups` the channels of x and y, and the first
    axis of the weight, are divided into so many, and each group of y sees that of x only; ci and co are those of a group.
    With `pairs` the elements of x and weight are pairs of input channels in bfloat16, as `pair_channels` makes them: ci counts
    pairs, and the processor must multiply them.
    """
    z = Sizes.of(p)
    return (
        Operand("float32", z.n * z.groups * z.ci * z.image, "in"),
        Operand("float32", z.groups * z.co * z.ci * z.taps, "in"),
        *epilogue.operands(p, (z.n, z.groups * z.co, z.pixels)),
    )


#: Each multiply-add in the code weighs as much as this share of the run time: compiling takes time too.
_SIZE_PENALTY = 2e-4
_MOST_CHANNELS = 14


def plan(problem: _Problem, lanes: int) -> tuple[int, list[Group]]:
    """Output channels per tile and groups of pixels: least estimated cycles, and a little less code."""
    z = problem.z
    choices: list[tuple[float, int, list[Group]]] = []
    for limit in range(1, min(z.co, _MOST_CHANNELS) + 1):
        sizes = blocks(z.co, limit)
        if sizes[0][2] != limit:
            continue
        for groups in packings(z, lanes, widest(lanes, limit)):
            cycles = sum(number * _cycles(problem, groups, size, lanes) for _, number, size in sizes)
            code = z.kw * sum(size * len(g.image) for _, _, size in sizes for g in groups)
            choices.append((cycles * (1 + _SIZE_PENALTY * code), limit, groups))
    _, channels, best = min(choices, key=lambda choice: choice[:2])
    return channels, best


def _cycles(problem: _Problem, groups: list[Group], channels: int, lanes: int) -> float:
    """Estimated cycles per image and input channel, for one block of channels."""
    total = 0.0
    for g in groups:
        each = max(channels * len(g.image), loads(g.image, lanes) + channels, IN_FLIGHT) + 1
        turns = sum(problem.kernel_rows(g.start + q * g.rows, g.rows) for q in range(g.count))
        total += turns * g.across * each
    return total


#: Bytes of an image that is read from the second cache for every block of output channels, and those of a band of it that the
#: first one keeps. A band more costs little: its weights are read once more. Bytes of an element.
_NEAR_IMAGE, _BAND, _ITEM = 1 << 18, 1 << 15, 4
#: So much longer than the others a thread may work before there are more bands.
_UNEVEN = 1.1


def _bands(problem: _Problem, groups: list[Group], channels: int, threads: int) -> int:
    """Parts of the rows of an image, for which all its output channels are computed one after the other: so many that a part's
    pixels stay near, and that there is about as much to do for each thread.
    """
    z, most = problem.z, max(g.count for g in groups)
    row = _ITEM * z.ci * z.image // z.h
    bands = 1
    if channels < z.co and row * z.h > _NEAR_IMAGE:
        bands = min(most, -(-z.oh // max(1, _BAND // row - (z.h - z.oh))))
    tiles = z.n * z.groups * sum(number for _, number, _ in blocks(z.co, channels))

    def longest(bands: int) -> float:
        return -(-tiles * bands // threads) * threads / (tiles * bands)

    choices = range(bands, min(most, max(bands, 2 * threads)) + 1)
    return next((b for b in choices if longest(b) <= _UNEVEN), min(choices, key=longest))


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Bands of images (and groups), blocks of channels, groups of pixels; in it input channels, kernel rows, unrolled columns."""
    problem = _Problem.of(p)
    z = problem.z
    if problem.pairs and not w.bfloat16:
        raise CodegenError("a convolution multiplies pairs of bfloat16, for which this processor has no instructions")
    x, weight, *rest = pointers
    channels, groups = plan(problem, w.lanes)
    finish = epilogue.Finish(w, p, (z.n, z.groups * z.co, z.pixels), rest)
    cut = (
        Blocks(0, max(1, p["block"] // (z.taps * (2 if problem.pairs else 1))), total_places(w))
        if "block" in p
        else None
    )
    bands = _bands(problem, groups, channels, w.threads)

    def block(unit: str | int, _: None, o: str | int, size: int) -> None:
        u, band = (unit, 0) if bands == 1 else w.divided(unit, bands)
        i, part = (u, 0) if z.groups == 1 else w.divided(u, z.groups)
        weights = w.linear((part, z.co * z.ci * z.taps), (o, problem.per_output))
        at = (w.at(x, w.mul(u, z.ci * z.image)), w.at(weight, weights))
        first = w.linear((part, z.co), (o, 1))
        for g in groups:
            _group(
                w,
                problem,
                at,
                g,
                (band, bands),
                size,
                cut,
                lambda value, r, pixel, n: finish.store(value, (i, w.add(first, r), pixel), n),
            )

    each_tile(w, [(0, z.n * z.groups * bands, 1, None)], block_kinds(z.co, channels), block)


def _group(
    w: Writer,
    problem: _Problem,
    at: tuple[str, str],
    g: Group,
    band: tuple[str | int, int],
    channels: int,
    cut: Blocks | None,
    store: Callable[[str, int, str | int, int], None],
) -> None:
    """The tiles of a group that are in a band, one of so many. `store` gets the vectors of results with channel, first pixel and
    number of pixels.
    """
    z = problem.z
    x, weight = at
    levels: tuple[Level, ...] = ((z.ci, problem.per_input, z.image),)
    segments = _segments(z, problem.transposed)
    rows = [r * problem.per_output for r in range(channels)]

    def tile(q: str | int, k: str | int) -> None:
        row = w.linear((q, g.rows), (g.start, 1))
        column = w.linear((k, g.width), (g.column, 1))
        source = w.at(x, w.linear((row, z.w), (column, 1)))
        first = w.linear((row, z.ow), (column, 1))
        bounded = _bounded(w, problem, segments, row, g.rows)
        acc = splat_tile(w, weight, source, rows, g.image, levels, bounded, blocks=cut, pairs=problem.pairs)
        for index, value in enumerate(acc):
            r, v = divmod(index, len(g.result))
            ((offset, _, count),) = g.result[v]
            store(value, r, w.add(first, offset), count)

    w.part(*band, g.count, lambda q: w.repeat(g.across, lambda k: tile(q, k)))


def _segments(z: Sizes, flipped: bool) -> tuple[Segment, ...]:
    """Loops over kernel rows of equal phase; the taps of a row are unrolled."""
    last, sign = (z.taps - 1, -1) if flipped else (0, 1)
    segments = []
    for first, count in z.kernel_rows():
        taps = tuple((last + sign * (first * z.kw + kx), z.tap(first, kx)) for kx in range(z.kw))
        segments.append(Segment(count, sign * z.period * z.kw, z.row_step, taps))
    return tuple(segments)


def _bounded(
    w: Writer, problem: _Problem, segments: tuple[Segment, ...], row: str | int, rows: int
) -> tuple[Segment, ...]:
    """Restrict the kernel rows to those that meet pixels inside the border; at least one remains."""
    (top, bottom), z = problem.border, problem.z
    if not (top or bottom):
        return segments
    (segment,) = segments

    def clamp(which: str, a: str | int, b: str | int) -> str:
        return w.call(f"llvm.{which}.i64", "i64", [("i64", str(a)), ("i64", str(b))])

    def taps(pixels: int) -> str | int:
        """How many taps are before pixel `pixels - row`."""
        left = clamp("smax", w.op(f"sub nsw i64 {pixels}, {row}"), 0)
        return left if z.dilation[0] == 1 else w.divided(w.add(left, z.dilation[0] - 1), z.dilation[0])[0]

    first = clamp("smin", taps(top - rows + 1), z.kh - 1)
    # Where there is none, one that meets zeros.
    last = clamp("smax", clamp("smin", taps(z.h - bottom), z.kh), w.add(first, 1))
    return (replace(segment, first=first, count=last),)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, weight: Array, *rest: Array) -> None:
    z = Sizes.of(p)
    if p.get("pairs"):
        z = replace(z, ci=2 * z.ci)
        x = unpaired(x, z.n * z.groups * z.ci // 2)
        weight = unpaired(weight, z.groups * z.ci // 2 if p["transposed"] else z.groups * z.co * z.ci // 2)
    if p["transposed"]:
        kernel = weight.reshape(z.groups, z.ci, z.co, z.kh, z.kw)[..., ::-1, ::-1].transpose(0, 2, 1, 3, 4)
    else:
        kernel = weight.reshape(z.groups, z.co, z.ci, z.kh, z.kw)
    out = np.zeros((z.n, z.groups, z.co, z.oh, z.ow), np.float32)
    for ky in range(z.kh):
        for kx in range(z.kw):
            out += np.einsum("ngihw,goi->ngohw", z.window(x, ky, kx), kernel[..., ky, kx], optimize=True)
    epilogue.twin(p, (z.n, z.groups * z.co, z.pixels), out.reshape(-1), *rest)


CONV2D = Emitter(operands, emit, twin)
