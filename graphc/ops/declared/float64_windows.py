"""Windows over images of float64, for convolutions and pools without kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs
from graphc.ir.types import TensorType, contiguous_strides


class Windows(NamedTuple):
    """Images [n, c, h, w], the windows over them, and the plane [oh, ow] that these give."""

    image: tuple[int, ...]
    plane: tuple[int, int]
    kernel: tuple[int, int]
    pad: tuple[int, int, int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]

    @staticmethod
    def of(image: Sequence[int], plane: Sequence[int], kernel: Sequence[int], attrs: Attrs) -> Windows:
        (oh, ow), (kh, kw) = plane[-2:], kernel[-2:]
        return Windows(tuple(image), (oh, ow), (kh, kw), attrs["pad"], attrs["stride"], attrs.get("dilation", (1, 1)))

    def padded(self) -> tuple[int, int]:
        """Rows and columns of a padded image."""
        top, bottom, left, right = self.pad
        return self.image[2] + top + bottom, self.image[3] + left + right

    def taps(self) -> tuple[int, int]:
        """Strides along rows and columns of a window, in a padded image."""
        return self.dilation[0] * self.padded()[1], self.dilation[1]

    def steps(self) -> tuple[int, int]:
        """Strides from window to window, in a padded image."""
        return self.stride[0] * self.padded()[1], self.stride[1]

    def start(self) -> int:
        """Where in a padded image the image itself begins."""
        return self.pad[0] * self.padded()[1] + self.pad[2]


def padded(k: CallBuilder, x: Operand, of: Windows, value: float) -> Operand:
    """The images [n, c, h, w] of an operand with a number around them; without padding the operand itself."""
    if not any(of.pad):
        return x
    made = k.temp(TensorType(x.type.dtype, (*x.type.shape[:2], *of.padded())))
    k.fill(made, value)
    steps, into = (contiguous_strides(each.type.shape) for each in (x, made))
    k.copy(x, made, x.type.shape, 0, steps, of.start(), into)
    return made


__all__ = ["Windows", "padded"]
