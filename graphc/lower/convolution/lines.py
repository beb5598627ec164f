"""Convolutions along one axis as lines of pixels: how fast Winograd's kernel makes them, and what memory it takes.

F(4, 3): six products for four outputs that are a step apart, for a pair of channels, instead of twelve; F(4, 2): five instead of
eight; F(4, 5): eight instead of twenty. Windows of more taps are blocks of these. A dilation is such a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from graphc.debug import threads
from graphc.lower.convolution.blocks import Blocks
from graphc.lower.convolution.sizes import DIRECT, GRADIENT, Sizes

#: Multiply-adds that take as long as the transforms of a tile of one channel, the same for a gradient of weights, and as those of
#: the weights of one pair of channels: for each product of a tile. And as moving a weight to its block.
_TILE, _GRADIENT_TILE, _WEIGHTS, _MOVE = 7.5, 10, 13, 15
#: By taps of a block: sums of fewer channels have errors of more than three times the direct kernel's.
_LEAST_CHANNELS = {2: 6, 3: 4, 5: 32}
#: Products with blocks of five taps, which are less exact, count so many times.
_LESS_EXACT = 1.2
#: Outputs of a tile.
_OUT = 4
_LANES = 16
#: Transformed lines of a thread stay below so many elements, but for so many tiles there is room anyway.
_CACHE, _LEAST_TILES = 128 * 1024, 64


@dataclass(frozen=True, slots=True)
class Lines:
    """A convolution along rows, whose windows have one row, with neighbouring taps `step` pixels apart, as blocks of taps."""

    blocks: Blocks
    step: int

    @property
    def z(self) -> Sizes:
        """Of the convolution of one block, whose channels are what all blocks see."""
        return self.blocks.sizes

    @property
    def products(self) -> int:
        """Of a tile, for a pair of channels."""
        return _OUT + self.blocks.taps[1] - 1

    @classmethod
    def of(cls, z: Sizes, dilation: tuple[int, int], *, gradient: bool = False) -> Self | None:
        """None if the convolution is along both axes or of single pixels, or there are zeros around the other axis.

        Blocks of five taps are not for a `gradient` of weights: it would be off by up to ten times as much as the direct one.
        """
        if z.groups > 1 or z.kh > 1 or z.kw == 1 or z.top or z.oh != z.h:
            return None
        found = (cls(Blocks.of_line(z, taps), dilation[1]) for taps in ((2, 3) if gradient else (2, 3, 5)))
        return min((each for each in found if each.z.ci >= _LEAST_CHANNELS[each.z.kw]), key=cls._rank, default=None)

    def _rank(self) -> float:
        return self.products * self.blocks.number * (_LESS_EXACT if self.z.kw == 5 else 1)

    @property
    def whole(self) -> bool:
        """Whether the window is one block, so that weights stay as they are."""
        return self.blocks.taps[1] == self.blocks.z.kw

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
        z = self.z
        each = self.tiles() * (ci * z.co + transform * (ci + z.co)) + _WEIGHTS * ci * z.co
        return self.products * each + (0 if self.whole else _MOVE * z.weights)

    def params(self) -> dict[str, Any]:
        """All that the kernel is told."""
        return self._params(self.products * (self.z.ci * self.z.co + 32), 0, 0)

    def gradient_params(self) -> dict[str, Any]:
        """The same for the gradient with respect to the weights."""
        channels = _full(self.z.ci)
        return self._params(0, channels, self.products * (self.z.co * channels + 16))

    def _params(self, common: int, per_tile: int, fixed: int) -> dict[str, Any]:
        """The last two say what a thread wants per tile and besides."""
        each = self.products * (self.z.ci + self.z.co) + per_tile
        parts = min(threads(), -(-self.tiles() // _LANES))
        tiles = _full(min(max(_CACHE // each, _LEAST_TILES), -(-self.tiles() // parts)))
        scratch = common + parts * (tiles * each + fixed + 2 * self.products * _LANES)
        params = {**self.z.params(), "step": self.step, "parts": parts, "scratch": scratch}
        if self.whole:
            return params | {"left": self.blocks.z.left}
        firsts = range(0, self.blocks.number * self.z.kw, self.z.kw)
        return params | {"views": tuple(first * self.step - self.blocks.z.left for first in firsts)}


def _full(count: int) -> int:
    return -(-count // _LANES) * _LANES
