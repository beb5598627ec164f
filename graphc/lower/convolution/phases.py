"""Images split by phase, which is how convolutions with a stride read them: see `graphc_codegen.kernels.conv.forward`.

And how one with a dilation becomes one without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.types import contiguous_strides
from graphc.lower.convolution.sizes import Pair


@dataclass(frozen=True, slots=True)
class _Run:
    """Phases of one axis whose pixels one loop can copy: `count` from `first` on, of `length` pixels each.

    Pixel `start` of the image is the first of the first phase and goes to `place`; both differ by a step from phase to
    phase.
    """

    first: int
    count: int
    length: int
    start: int
    place: int
    start_step: int = 0
    place_step: int = 0


def _runs(size: int, before: int, stride: int, phases: int) -> list[_Run]:
    """The pixels of an axis by phase, the remainder of (pixel + before) by the stride."""
    runs: list[_Run] = []
    for phase in range(phases):
        start = (phase - before) % stride
        place, length = (start + before) // stride, len(range(start, size, stride))
        if runs and runs[-1].length == length:
            last = runs[-1]
            if last.count == 1:
                last = replace(last, start_step=start - last.start, place_step=place - last.place)
            steps = last.start_step, last.place_step
            if (start, place) == (last.start + last.count * steps[0], last.place + last.count * steps[1]):
                runs[-1] = replace(last, count=last.count + 1)
                continue
        runs.append(_Run(phase, 1, length, start, place))
    return [run for run in runs if run.length]


def split(k: CallBuilder, x: Operand, pad: tuple[int, ...], stride: Pair, kernel: Pair) -> tuple[Operand, Pair, Pair]:
    """The padded input split by phase, [N, C, sh, sw, H/sh, W/sw], with (sh, sw) and the size of one phase plane.

    A strided convolution over it walks unit strides. Without padding and stride it is x itself; a kernel of one row sees
    one phase of rows only, whatever the stride, and sh is 1, and one of one column likewise.
    """
    n, c, h, w = x.type.shape
    top, bottom, left, right = pad
    if stride == (1, 1) and not any(pad):
        return x, stride, (h, w)
    (sh, sw), count = stride, (1 if kernel[0] == 1 else stride[0], 1 if kernel[1] == 1 else stride[1])
    hs, ws = -(-(h + top + bottom) // sh), -(-(w + left + right) // sw)
    shape = (n, c, *count, hs, ws)
    made = k.temp(TensorType(x.type.dtype, shape))
    runs = _runs(h, top, sh, count[0]), _runs(w, left, sw, count[1])
    _copy(k, x, made, (0, 1, 2, 3, 4, 5), shape, runs, stride)
    return made, count, (hs, ws)


def split_images(k: CallBuilder, x: Operand, before: Pair, steps: Pair) -> Operand:
    """Every phase of x, after so many rows and columns of zeros, as an image: [N sh sw, C, H/sh, W/sw].

    A convolution with these dilations is one without over them. Pixels behind the image's end are zero.
    """
    (n, c, h, w), (sh, sw) = x.type.shape, steps
    hs, ws = -(-(h + before[0]) // sh), -(-(w + before[1]) // sw)
    made = k.temp(TensorType(x.type.dtype, (n * sh * sw, c, hs, ws)))
    runs = _runs(h, before[0], sh, sh), _runs(w, before[1], sw, sw)
    _copy(k, x, made, _IMAGES, (n, sh, sw, c, hs, ws), runs, steps)
    return made


def join_images(k: CallBuilder, made: Operand, out: Operand, steps: Pair) -> None:
    """The way back of `split_images`, without zeros before."""
    (n, c, h, w), (sh, sw) = out.type.shape, steps
    runs = _runs(h, 0, sh, sh), _runs(w, 0, sw, sw)
    _copy(k, out, made, _IMAGES, (n, sh, sw, c, *made.type.shape[2:]), runs, steps, back=True)


#: Where images, channels, phases and pixels stand among the axes if phases are images.
_IMAGES = (0, 3, 1, 2, 4, 5)


def _copy(
    k: CallBuilder,
    x: Operand,
    phases: Operand,
    axes: Sequence[int],
    shape: tuple[int, ...],
    runs: tuple[list[_Run], list[_Run]],
    steps: Pair,
    *,
    back: bool = False,
) -> None:
    """x [N, C, H, W] to its phases, or `back`. These have `shape`, in which [N, C, sh, sw, H/sh, W/sw] stand at `axes`."""
    (n, c, h, w), (down, across) = x.type.shape, runs
    found = math.prod(sum(run.count * run.length for run in axis) for axis in runs)
    if not back and n * c * found < math.prod(shape):
        k.fill(phases, 0.0)
    strides = contiguous_strides(shape)
    image, channel, plane_y, plane_x, row, _ = (strides[a] for a in axes)
    for y in down:
        for z in across:
            domain = (n, c, y.count, z.count, y.length, z.length)
            start = y.start * w + z.start
            pixels = (c * h * w, h * w, y.start_step * w, z.start_step, steps[0] * w, steps[1])
            first = y.first * plane_y + z.first * plane_x + y.place * row + z.place
            places = (image, channel, plane_y + y.place_step * row, plane_x + z.place_step, row, 1)
            if back:
                k.copy(phases, x, domain, first, places, start, pixels)
            else:
                k.copy(x, phases, domain, start, pixels, first, places)
