"""Windows of more than 3 x 3 as blocks of 3 x 3 taps, for which there is Winograd's algorithm: channels that see shifted images.

A tap is number 3 a + i of its phase by the stride: block a of a phase has 3 x 3 taps on pixels that are a stride apart, from 3 a
pixels on. Windows of 5 x 5 are four blocks, with 9 products for an output instead of 25; those of 4 x 4 with a stride of 2 are
four phases of one block each, 9 instead of 16.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.lower.convolution.columns import add_copies, met
from graphc.lower.convolution.sizes import Pair, Sizes

#: Along both axes.
_TAPS = 3
#: Of the convolution that a block is.
PLAIN = Geometry((0, 0, 0, 0), (1, 1), (1, 1), 1)


@dataclass(frozen=True, slots=True)
class Blocks:
    """A convolution of `phases` by `count` blocks along each axis; its images are of `plane` pixels then."""

    z: Sizes
    geometry: Geometry
    phases: Pair
    count: Pair

    @classmethod
    def of(cls, z: Sizes, geometry: Geometry) -> Self | None:
        """None for windows of no more taps, or of groups, and for such as have room in a block alone or a dilation."""
        kernel, stride = (z.kh, z.kw), geometry.stride
        if z.groups > 1 or geometry.dilation != (1, 1) or min(kernel) < _TAPS or kernel == (_TAPS, _TAPS):
            return None
        phases = (min(stride[0], z.kh), min(stride[1], z.kw))
        down, across = (math.ceil(math.ceil(k / s) / _TAPS) for k, s in zip(kernel, stride, strict=True))
        return cls(z, geometry, phases, (down, across))

    @property
    def number(self) -> int:
        """Of blocks, phases included."""
        return self.phases[0] * self.phases[1] * self.count[0] * self.count[1]

    @property
    def plane(self) -> Pair:
        return self.z.oh + _TAPS - 1, self.z.ow + _TAPS - 1

    @property
    def sizes(self) -> Sizes:
        """Of the convolution with windows of 3 x 3."""
        (h, w), ci = self.plane, self.z.ci * self.number
        return replace(self.z, ci=ci, h=h, w=w, kh=_TAPS, kw=_TAPS, top=0, left=0)

    def _each(self) -> Iterator[tuple[int, Pair, int]]:
        """Number of a block, its first tap along each axis, and how many blocks its phase has before it."""
        ranges = (range(self.phases[0]), range(self.count[0]), range(self.phases[1]), range(self.count[1]))
        sh, sw = self.geometry.stride
        for n, (r, a, s, b) in enumerate(itertools.product(*ranges)):
            yield n, (_TAPS * a * sh + r, _TAPS * b * sw + s), a * self.count[1] + b

    def images(self, k: CallBuilder, x: Operand) -> Operand:
        """[N, blocks, in, *plane] of x, as [N, blocks * in, *plane]."""
        n, ci = x.type.shape[:2]
        made = k.temp(TensorType("float32", (n, self.number * ci, *self.plane)))
        k.fill(made, 0.0)
        for shape, start, strides, place, steps, _ in self._pixels(x.type):
            k.copy(x, made, shape, start, strides, place, steps)
        return made

    def add_images(self, k: CallBuilder, made: Operand, dx: Operand) -> None:
        """The gradient of x from that of `images`: phases are different pixels, blocks of a phase are added up."""
        copies = self.count[0] * self.count[1]
        target = dx if copies == 1 else k.temp(TensorType("float32", (copies, *dx.type.shape)))
        k.fill(target, 0.0)
        for shape, start, strides, place, steps, before in self._pixels(dx.type):
            k.copy(made, target, shape, place, steps, before * dx.type.size + start, strides)
        if copies > 1:
            add_copies(k, target, copies, dx)

    def _pixels(
        self, x: TensorType
    ) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...], int, tuple[int, ...], int]]:
        """Of each block that sees any: the shape of what it sees, the first one's place in x, strides there, the same in its own
        images, and how many blocks its phase has before it.
        """
        (n, ci, h, w), (rows, columns), (sh, sw) = x.shape, self.plane, self.geometry.stride
        channel = rows * columns
        for block, tap, before in self._each():
            (y, high, y0), (z, wide, x0) = met((h, w), self.plane, tap, self.geometry)
            if high and wide:
                place, steps = block * ci * channel + y * columns + z, (self.number * ci * channel, channel, columns, 1)
                yield (n, ci, high, wide), y0 * w + x0, (ci * h * w, h * w, sh * w, sw), place, steps, before

    def weights(self, k: CallBuilder, weight: Operand) -> Operand:
        """[out, blocks, in, 3, 3] of a weight, as [out, blocks * in, 3, 3]; taps that there are not are zero."""
        (co, ci, _, _), number = weight.type.shape, self.number
        made = k.temp(TensorType("float32", (co, number * ci, _TAPS, _TAPS)))
        k.fill(made, 0.0)
        for start, strides, place, counts in self._taps(ci):
            k.copy(weight, made, (co, ci, *counts), start, strides, place, (number * ci * 9, 9, _TAPS, 1))
        return made

    def take_weights(self, k: CallBuilder, made: Operand, dw: Operand) -> None:
        """The gradient of the weight from that of `weights`."""
        (co, ci, _, _), number = dw.type.shape, self.number
        for start, strides, place, counts in self._taps(ci):
            k.copy(made, dw, (co, ci, *counts), place, (number * ci * 9, 9, _TAPS, 1), start, strides)

    def _taps(self, ci: int) -> Iterator[tuple[int, tuple[int, ...], int, Pair]]:
        """Of each block that has taps: the first one's place in the weight, strides there, the place in the block, how many."""
        z, (sh, sw) = self.z, self.geometry.stride
        for block, (i, j), _ in self._each():
            counts = min(_TAPS, -(-(z.kh - i) // sh)), min(_TAPS, -(-(z.kw - j) // sw))
            if min(counts) > 0:
                strides = (ci * z.kh * z.kw, z.kh * z.kw, sh * z.kw, sw)
                yield i * z.kw + j, strides, block * ci * 9, counts


__all__ = ["PLAIN", "Blocks"]
