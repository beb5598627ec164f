"""Sizes of a convolution, for the choice of its kernel and as the kernel's parameters.

The size of a result follows from type rules (`graphc.ops.declared.windows`) and is read off its type here. Kernels have plans of
their own, from the parameters that they get: the code generator imports nothing of graphc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

from graphc.ir import TensorType
from graphc.ir.lowering import Geometry

#: Along rows of an image, and along columns.
Pair = tuple[int, int]
#: Rows and columns of what max pooling takes the maximum of.
Window = tuple[int, int]

#: Cycles of the direct kernel for each vector of multiply-adds, and of that of the weights' gradient.
DIRECT, GRADIENT = 1.2, 1.5
#: Cycles of the latter for each weight and chunk of images, for a vector of one lane, if weights are so many; a chunk's elements;
#: how many times as long an input gradient takes with so many weights.
_SUM, _FAR, _CHUNK, _FAR_INPUT = 150, 128 * 1024, 96 * 1024, 2
#: The same of the direct kernel where it multiplies pairs, and to move a pixel or a weight to its pair, for a vector of one lane.
_DIRECT_PAIRS, _PAIRED, _PAIRED_WEIGHT = 1.15, 4, 25
#: Lanes of a vector, and what each piece beyond two adds to the time it takes.
_LANES, _PIECE = 16, 0.25


@dataclass(frozen=True, slots=True)
class Sizes:
    """From [n, ci, h, w], after `top` rows and `left` columns of zeros, to [n, co, oh, ow]; stride and dilation are 1.

    Where they are not, only the parameters are of use. With `groups` of channels ci and co are those of one group.
    """

    n: int
    ci: int
    co: int
    h: int
    w: int
    kh: int
    kw: int
    oh: int
    ow: int
    top: int
    left: int
    groups: int = 1
    #: Whether products of images and weights multiply pairs of bfloat16.
    pairs: bool = False

    @classmethod
    def forward(cls, x: TensorType, weight: TensorType, out: TensorType, geometry: Geometry) -> Sizes:
        """Of a convolution of x with weight, and of its gradient for the weights."""
        (n, ci, h, w), (co, _, kh, kw), (_, _, oh, ow) = x.shape, weight.shape, out.shape
        top, _, left, _ = geometry.pad
        parts = geometry.groups
        return cls(n, ci // parts, co // parts, h, w, kh, kw, oh, ow, top, left, parts)

    @classmethod
    def backward(cls, dy: TensorType, weight: TensorType, dx: TensorType, geometry: Geometry) -> Sizes:
        """Of the convolution of dy with the flipped weight that makes dx, of stride 1.

        A negative `top` or `left` cuts off so many rows or columns.
        """
        (n, co, oh, ow), (_, ci, kh, kw), (_, _, h, w) = dy.shape, weight.shape, dx.shape
        top, left = (kh - 1) * geometry.dilation[0] - geometry.pad[0], (kw - 1) * geometry.dilation[1] - geometry.pad[2]
        parts = geometry.groups
        return cls(n, co // parts, ci, oh, ow, kh, kw, h, w, top, left, parts)

    def phases(self, dilation: Pair) -> Sizes:
        """Of the convolution without dilation that has every phase of these images as an image."""
        (dh, dw), (top, left) = dilation, self.before(dilation)
        return replace(
            self,
            n=self.n * dh * dw,
            h=-(-(self.h + top) // dh),
            w=-(-(self.w + left) // dw),
            oh=-(-self.oh // dh),
            ow=-(-self.ow // dw),
            top=self.top // dh,
            left=self.left // dw,
        )

    def before(self, dilation: Pair) -> Pair:
        """Rows and columns of zeros before such images: those of the padding that are no whole step."""
        return self.top % dilation[0], self.left % dilation[1]

    @classmethod
    def of_kernel(cls, params: Mapping[str, Any]) -> Sizes:
        """From a kernel's parameters; the direct kernel's images are padded already."""
        return cls(**{f.name: params.get(f.name, f.default if f.default is not MISSING else 0) for f in fields(cls)})

    def params(self) -> dict[str, int]:
        """For a kernel; of groups only those that know them are told."""
        made = asdict(self)
        del made["pairs"]
        if self.groups == 1:
            del made["groups"]
        return made

    def padded_params(self, h: int, w: int) -> dict[str, int]:
        """For a kernel that reads images of h rows and w columns, padded already."""
        return {k: v for k, v in {**self.params(), "h": h, "w": w}.items() if k not in ("top", "left")}

    def pooled(self, window: Window) -> tuple[int, int]:
        """Rows and columns of the result after pooling."""
        return self.oh // window[0], self.ow // window[1]

    def direct(self, *, step: int = 0, transposed: bool = False) -> float:
        """Cycles of the direct kernel, for a vector of one lane; with a `step`, that of its rows, it skips those that only meet
        zeros.

        Of an input gradient if `transposed`, which reads many weights in an unlucky order.
        """
        rows = meetings(self.h, self.oh, self.kh, self.top, step) if step else self.oh * self.kh
        far = _FAR_INPUT if transposed and self.far else 1
        products = self._packing() * self.n * self.words * self.co * rows * self.ow * self.kw
        if self.pairs:
            return (
                _DIRECT_PAIRS * products + _PAIRED * self.n * self.ci * self.h * self.w + _PAIRED_WEIGHT * self.weights
            )
        return far * DIRECT * products

    def direct_gradient(self) -> float:
        """The same for the gradient with respect to the weights, with full vectors."""
        return GRADIENT * self.n * self.ci * self.co * self.oh * self.kh * self.ow * self.kw

    def few_gradient(self) -> float:
        """The same with vectors as they are; many weights are read and written again for every chunk of images."""
        chunk = max(1, _CHUNK // (self.ci * self.h * self.w + self.co * self.oh * self.ow))
        again = _SUM * self.weights * -(-self.n // chunk) if self.far else 0
        return self._packing() * self.direct_gradient() + again

    @property
    def words(self) -> int:
        """Input channels, or pairs of them where these are multiplied."""
        return -(-self.ci // 2) if self.pairs else self.ci

    @property
    def weights(self) -> int:
        return self.ci * self.co * self.kh * self.kw

    @property
    def far(self) -> bool:
        """Whether the weights have no place in the second-level cache."""
        return self.weights > _FAR

    def _packing(self) -> float:
        """How many times as long it takes as with full vectors: lanes for each pixel, loaded in pieces of short rows."""
        pixels = max(1, self.oh * self.ow)
        pieces = 1 if self.kh == self.kw == 1 else max(1, min(self.oh, _LANES // max(1, self.ow)))
        return -(-pixels // _LANES) * _LANES / pixels * (1 + _PIECE * max(0, pieces - 2))


def meetings(size: int, out: int, kernel: int, before: int, step: int = 1) -> int:
    """How many taps of all `out` outputs along an axis meet one of its `size` pixels; they are a step apart."""
    firsts = ((o, max(0, -((o - before) // step))) for o in range(out))
    return sum(max(0, min(kernel, -((o - before - size) // step)) - first) for o, first in firsts)
