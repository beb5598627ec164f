"""Convolutions along one axis as lines of pixels: how fast Winograd's kernel makes them, and what memory it takes.

F(4, 3): six products for four outputs that are a step apart, for a pair of channels, instead of twelve; F(4, 5): eight instead of
twenty. A dilation of a window of one row is such a step; the columns of an image under a window of one column are a line whose
step is its row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from graphc.debug import threads
from graphc.lower.convolution.sizes import DIRECT, GRADIENT, Sizes

#: Multiply-adds that take as long as the transforms of a tile of one channel, the same for a gradient of weights, and as those of
#: the weights of one pair of channels: for each product of a tile.
_TILE, _GRADIENT_TILE, _WEIGHTS = 7.5, 10, 13
#: By taps: sums of fewer channels have errors of more than three times the direct kernel's.
_LEAST_CHANNELS = {3: 4, 5: 32}
#: Outputs of a tile.
_OUT = 4
_LANES = 16
#: Transformed lines of a thread stay below so many elements, but for so many tiles there is room anyway.
_CACHE, _LEAST_TILES = 128 * 1024, 64


@dataclass(frozen=True, slots=True)
class Lines:
    """A convolution along rows, whose windows have one row, with neighbouring taps `step` pixels apart."""

    z: Sizes
    step: int

    @property
    def products(self) -> int:
        """Of a tile, for a pair of channels."""
        return _OUT + self.z.kw - 1

    @classmethod
    def of(cls, z: Sizes, dilation: tuple[int, int]) -> Self | None:
        """None if the convolution is along both axes or has not three or five taps, or there are zeros around the other axis."""
        taps = z.kh * z.kw
        if z.groups > 1 or z.ci < _LEAST_CHANNELS.get(taps, z.ci + 1):
            return None
        if z.kh == 1 and z.top == 0 and z.oh == z.h:
            return cls(z, dilation[1])
        if z.kw == 1 and z.left == 0 and z.ow == z.w:
            line = replace(z, h=1, w=z.h * z.w, kh=1, kw=taps, oh=1, ow=z.oh * z.w, top=0, left=z.top * z.w)
            return cls(line, dilation[0] * z.w)
        return None

    def tiles(self) -> int:
        """Of all images, with those that only fill vectors."""
        down = -(-self.z.ow // (_OUT * self.step))
        return self.z.n * self.z.h * -(-down // max(1, _LANES // self.step)) * _full(max(self.step, _LANES))

    def cost(self) -> float:
        """Cycles of the convolution, for a vector of one lane."""
        return DIRECT * self._products(self.z.ci, _TILE)

    def gradient_cost(self) -> float:
        """The same for the gradient with respect to the weights, whose lanes are input channels."""
        return GRADIENT * self._products(_full(self.z.ci), _GRADIENT_TILE)

    def _products(self, ci: int, transform: float) -> float:
        each = self.tiles() * (ci * self.z.co + transform * (ci + self.z.co)) + _WEIGHTS * ci * self.z.co
        return self.products * each

    def params(self) -> dict[str, int]:
        """All that the kernel is told."""
        return self._params(self.products * (self.z.ci * self.z.co + 32), 0, 0)

    def gradient_params(self) -> dict[str, int]:
        """The same for the gradient with respect to the weights."""
        channels = _full(self.z.ci)
        return self._params(0, channels, self.products * (self.z.co * channels + 16))

    def _params(self, common: int, per_tile: int, fixed: int) -> dict[str, int]:
        """The last two say what a thread wants per tile and besides."""
        each = self.products * (self.z.ci + self.z.co) + per_tile
        parts = min(threads(), -(-self.tiles() // _LANES))
        tiles = _full(min(max(_CACHE // each, _LEAST_TILES), -(-self.tiles() // parts)))
        scratch = common + parts * (tiles * each + fixed + 2 * self.products * _LANES)
        return {**self.z.params(), "step": self.step, "parts": parts, "scratch": scratch}


def _full(count: int) -> int:
    return -(-count // _LANES) * _LANES
