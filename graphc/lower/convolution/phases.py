"""Images split by phase, which is how convolutions with a stride read them: see `graphc_codegen.kernels.conv.forward`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.types import contiguous_strides

#: Along rows of an image, and along columns.
Pair = tuple[int, int]


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
    down, across = _runs(h, top, sh, count[0]), _runs(w, left, sw, count[1])
    found = [sum(run.count * run.length for run in runs) for runs in (down, across)]
    if math.prod(found) < math.prod(shape[2:]):
        k.fill(made, 0.0)
    image, channel, plane_y, plane_x, row, _ = contiguous_strides(shape)
    for y in down:
        for z in across:
            k.copy(
                x,
                made,
                (n, c, y.count, z.count, y.length, z.length),
                y.start * w + z.start,
                (c * h * w, h * w, y.start_step * w, z.start_step, sh * w, sw),
                y.first * plane_y + z.first * plane_x + y.place * row + z.place,
                (image, channel, plane_y + y.place_step * row, plane_x + z.place_step, row, 1),
            )
    return made, count, (hs, ws)
