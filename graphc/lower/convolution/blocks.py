"""Windows as blocks of taps, of as many as there are points for in Winograd's algorithm: channels are views of the images.

A tap is number t a + i of its phase by the stride: block a of a phase has t x t taps, on pixels that are a stride apart, or t in
windows along one axis. Windows of 5 x 5 are four blocks of 3 x 3, with 9 products for an output instead of 25; those of 4 x 4
with a stride of 2 are four phases of one block of 2 x 2 each, with 6.25 instead of 16. The kernels read what a block sees from
the images as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.lower.convolution.sizes import Pair, Sizes

#: Of the convolution that a block is.
PLAIN = Geometry((0, 0, 0, 0), (1, 1), (1, 1), 1)
#: Taps of a block along an axis that there are points for, and the largest stride along rows that kernels read.
_TAPS, _STEP = (3, 2), 2


@dataclass(frozen=True, slots=True)
class Blocks:
    """A convolution with a stride, of `phases` by `count` blocks of `taps` along each axis."""

    z: Sizes
    stride: Pair
    taps: Pair
    phases: Pair
    count: Pair

    @classmethod
    def of(cls, z: Sizes, geometry: Geometry) -> Self | None:
        """The blocks of least products; None for windows that are a single one or along one axis, with groups or a dilation, or
        with a stride along rows that kernels do not read.
        """
        kernel, stride = (z.kh, z.kw), geometry.stride
        if z.groups > 1 or geometry.dilation != (1, 1) or min(kernel) < 2 or stride[1] > _STEP:
            return None
        phases, found = (min(stride[0], z.kh), min(stride[1], z.kw)), []
        for taps in _TAPS:
            down, across = (math.ceil(math.ceil(k / s) / taps) for k, s in zip(kernel, stride, strict=True))
            found.append(cls(z, stride, (taps, taps), phases, (down, across)))
        least = min(found, key=lambda b: b.number * (b.taps[0] + 3) ** 2)
        return None if stride == (1, 1) and kernel == least.taps else least

    @classmethod
    def of_line(cls, z: Sizes, taps: int) -> Self:
        """Of a window of one row, with so many taps a block."""
        return cls(z, (1, 1), (1, taps), (1, 1), (1, math.ceil(z.kw / taps)))

    @property
    def number(self) -> int:
        """Of blocks, phases included."""
        return self.phases[0] * self.phases[1] * self.count[0] * self.count[1]

    @property
    def sizes(self) -> Sizes:
        """Of the convolution with windows of a block, whose channels are what all blocks see."""
        return replace(self.z, ci=self.z.ci * self.number, kh=self.taps[0], kw=self.taps[1], top=0, left=0)

    def views(self) -> dict[str, Any]:
        """What kernels for both axes are told: the first pixel that each block sees, and the stride."""
        return {"stride": self.stride, "views": tuple((i - self.z.top, j - self.z.left) for i, j in self._firsts())}

    def _firsts(self) -> Iterator[Pair]:
        """The first tap of each block."""
        (sh, sw), (down, across) = self.stride, self.count
        for i in (self.taps[0] * a * sh + r for r in range(self.phases[0]) for a in range(down)):
            for j in (self.taps[1] * b * sw + s for s in range(self.phases[1]) for b in range(across)):
                yield i, j

    def weights(self, k: CallBuilder, weight: Operand, *, transposed: bool) -> Operand:
        """[out, blocks, in, *taps] of a weight as [out, blocks * in, *taps]; taps that there are not are zero.

        If `transposed`, of a weight [in, out, kh, kw] with its last tap first.
        """
        z, number = self.z, self.number
        made = k.temp(TensorType("float32", (z.co, number * z.ci, *self.taps)))
        window, last = z.kh * z.kw, z.kh * z.kw - 1
        axes, sign = ((window, z.co * window), -1) if transposed else ((z.ci * window, window), 1)
        k.fill(made, 0.0)
        for tap, steps, place, counts in self._taps():
            start, strides = (last - tap if transposed else tap), (*axes, sign * steps[0], sign * steps[1])
            k.copy(weight, made, (z.co, z.ci, *counts), start, strides, place, self._strides)
        return made

    def take_weights(self, k: CallBuilder, made: Operand, dw: Operand) -> None:
        """The gradient of the weight from that of `weights`."""
        z, window = self.z, self.z.kh * self.z.kw
        for tap, steps, place, counts in self._taps():
            k.copy(made, dw, (z.co, z.ci, *counts), place, self._strides, tap, (z.ci * window, window, *steps))

    @property
    def _strides(self) -> tuple[int, ...]:
        """Of out, in and the taps of a block in `weights`."""
        each = math.prod(self.taps)
        return self.number * self.z.ci * each, each, self.taps[1], 1

    def _taps(self) -> Iterator[tuple[int, Pair, int, Pair]]:
        """Of each block that has taps: the first one in the window, the steps to the next, the place in `weights`, how many."""
        z, (sh, sw), each = self.z, self.stride, self.z.ci * math.prod(self.taps)
        for block, (i, j) in enumerate(self._firsts()):
            counts = min(self.taps[0], -(-(z.kh - i) // sh)), min(self.taps[1], -(-(z.kw - j) // sw))
            if min(counts) > 0:
                yield i * z.kw + j, (sh * z.kw, sw), block * each, counts


__all__ = ["PLAIN", "Blocks"]
