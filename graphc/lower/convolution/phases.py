"""Images split by phase, which is how convolutions with a stride read them: see `graphc_codegen.kernels.conv.forward`.

And how one with a dilation becomes one without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.ir.types import contiguous_strides
from graphc.lower.convolution.sizes import Pair, Sizes


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


@dataclass(frozen=True, slots=True)
class Spread:
    """A convolution with a stride as one without: of images that have each phase as a channel, with windows of the taps of a
    phase. `phases` are those that windows see.
    """

    z: Sizes
    stride: Pair
    phases: Pair

    @classmethod
    def of(cls, z: Sizes, geometry: Geometry) -> Self | None:
        """None without a stride, for groups, and with a dilation."""
        if z.groups > 1 or geometry.dilation != (1, 1) or geometry.stride == (1, 1):
            return None
        (sh, sw) = geometry.stride
        return cls(z, geometry.stride, (min(sh, z.kh), min(sw, z.kw)))

    @property
    def sizes(self) -> Sizes:
        """Of the convolution without a stride."""
        z, (sh, sw) = self.z, self.stride
        kh, kw, ci = -(-z.kh // sh), -(-z.kw // sw), z.ci * math.prod(self.phases)
        return replace(z, ci=ci, kh=kh, kw=kw, h=z.oh + kh - 1, w=z.ow + kw - 1, top=0, left=0)

    def images(self, k: CallBuilder, x: Operand) -> Operand:
        """Images with their phases as channels; what no window sees is left out."""
        made = self.empty_images(k)
        self._copy(k, x, made, self._pixels())
        return made

    def empty_images(self, k: CallBuilder) -> Operand:
        """Memory for them."""
        made = self.sizes
        return k.temp(TensorType("float32", (made.n, made.ci, made.h, made.w)))

    def take_images(self, k: CallBuilder, made: Operand, dx: Operand) -> None:
        """The way back; pixels that no window sees are zero."""
        pixels = self._pixels()
        if math.prod(sum(run.count * run.length for run in axis) for axis in pixels) < self.z.h * self.z.w:
            k.fill(dx, 0.0)
        self._copy(k, dx, made, pixels, back=True)

    def weights(self, k: CallBuilder, weight: Operand) -> Operand:
        """Windows with the taps of a phase as those of a channel; taps that there are not are zero."""
        made = self.empty_weights(k)
        self._copy(k, weight, made, self._taps())
        return made

    def empty_weights(self, k: CallBuilder) -> Operand:
        """Memory for them."""
        made = self.sizes
        return k.temp(TensorType("float32", (made.co, made.ci, made.kh, made.kw)))

    def take_weights(self, k: CallBuilder, made: Operand, dw: Operand) -> None:
        """The way back."""
        self._copy(k, dw, made, self._taps(), back=True)

    def _pixels(self) -> tuple[list[_Run], list[_Run]]:
        z, made, (sh, sw), (down, across) = self.z, self.sizes, self.stride, self.phases
        rows, columns = min(z.h, made.h * sh - z.top), min(z.w, made.w * sw - z.left)
        return _runs(rows, z.top, sh, down), _runs(columns, z.left, sw, across)

    def _taps(self) -> tuple[list[_Run], list[_Run]]:
        (sh, sw), (down, across) = self.stride, self.phases
        return _runs(self.z.kh, 0, sh, down), _runs(self.z.kw, 0, sw, across)

    def _copy(
        self, k: CallBuilder, x: Operand, made: Operand, runs: tuple[list[_Run], list[_Run]], *, back: bool = False
    ) -> None:
        n, channels, *plane = made.type.shape
        shape = (n, channels // math.prod(self.phases), *self.phases, *plane)
        _copy(k, x, made, (0, 1, 2, 3, 4, 5), shape, runs, self.stride, back=back)


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
