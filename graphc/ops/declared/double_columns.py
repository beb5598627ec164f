"""Convolutions in float64 as matrix products: what a tap sees of the pixels is a row of columns, for some images at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle, Operand, Walk
from graphc.ir.op import Attrs
from graphc.ir.types import TensorType, contiguous_strides

#: Fewer channels of a result, or products for one number, do not fill a product's tiles.
_LEAST_CHANNELS, _LEAST_TERMS = 8, 16
#: Elements of the columns of some images: 16 MiB.
_SOME = 1 << 21
#: Taps of a window whose columns are added up: there is code for each.
_MOST_TAPS = 100


class Windows(NamedTuple):
    """From images [n, groups * seen, h, w] to [n, groups * each, oh, ow] by windows of kh x kw: a convolution's sizes."""

    n: int
    groups: int
    seen: int
    each: int
    image: tuple[int, int]
    plane: tuple[int, int]
    kernel: tuple[int, int]
    pad: tuple[int, int, int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]

    @staticmethod
    def of(image: Sequence[int], weight: Sequence[int], out: Sequence[int], attrs: Attrs) -> Windows:
        """Of the shapes of images, weights and result."""
        groups, (co, seen, kh, kw) = int(attrs.get("groups", 1)), weight
        (n, _, h, w), (oh, ow) = image, out[2:]
        dilation = attrs.get("dilation", (1, 1))
        return Windows(
            n, groups, seen, co // groups, (h, w), (oh, ow), (kh, kw), attrs["pad"], attrs["stride"], dilation
        )

    @property
    def terms(self) -> int:
        return self.seen * self.kernel[0] * self.kernel[1]

    @property
    def pixels(self) -> int:
        return self.plane[0] * self.plane[1]

    @property
    def is_plain(self) -> bool:
        """Whether columns are the images themselves."""
        return self.kernel == self.stride == (1, 1) and not any(self.pad)

    def pays(self) -> bool:
        """Whether a product takes less time than a loop over the sums."""
        return min(self.each, self.terms) >= _LEAST_CHANNELS and max(self.each, self.terms) >= _LEAST_TERMS

    @property
    def is_apart(self) -> bool:
        """Whether no pixel is in two windows."""
        axes = zip(self.stride, self.dilation, self.kernel, strict=True)
        return all(step > apart * (size - 1) for step, apart, size in axes)

    def pays_back(self) -> bool:
        """The same for the gradient with respect to the images."""
        back = self.back()
        if back is not None:
            return back.pays()
        return self.pays() and (self.is_apart or math.prod(self.kernel) <= _MOST_TAPS)

    def padded(self) -> tuple[int, int]:
        top, bottom, left, right = self.pad
        return self.image[0] + top + bottom, self.image[1] + left + right

    def parts(self) -> Iterator[tuple[int, int]]:
        """The first of some images and the one behind them."""
        count = max(1, min(self.n, -(-self.n * self.groups * self.terms * self.pixels // _SOME)))
        for p in range(count):
            yield p * self.n // count, (p + 1) * self.n // count

    def weights(self) -> tuple[int, ...]:
        """Where a product finds the weights of a group, for every image the same."""
        return self.groups * self.each * self.terms, 0, self.terms, 0, self.each * self.terms

    def result(self, x: Operand, first: int) -> tuple[int, ...]:
        """Where it finds the channels of a result, or of its gradient, of images from number `first` on."""
        group = self.each * self.pixels
        return x.type.size, first * self.groups * group, self.pixels, self.groups * group, group

    def tap(self, i: int, j: int) -> int:
        """Where in a padded image the first window has a tap."""
        return i * self.dilation[0] * self.padded()[1] + j * self.dilation[1]

    def back(self) -> Windows | None:
        """The convolution of a result's gradient with turned weights that makes that of the images: with a stride of 1, and
        none where it would begin inside of that gradient.
        """
        (oh, ow), (h, w), (top, _, left, _) = self.plane, self.image, self.pad
        down, right = (d * (k - 1) for d, k in zip(self.dilation, self.kernel, strict=True))
        pad = (down - top, h - oh + top, right - left, w - ow + left)
        if self.stride != (1, 1) or min(pad) < 0:
            return None
        return self._replace(seen=self.each, each=self.seen, image=self.plane, plane=self.image, pad=pad)


def convolve(k: CallBuilder, x: Operand, weight: Operand, out: Operand, of: Windows) -> None:
    """out = weight [each, terms] times columns [terms, pixels], for every image and group."""
    image = _padded(k, x, of)
    for first, end in [(0, of.n)] if of.is_plain else of.parts():
        columns = image if of.is_plain else _columns(k, image, of, first, end)
        sizes = {"m": of.each, "n": of.pixels, "k": of.terms, "axes": (end - first, of.groups)}
        _multiply(k, (weight, columns), out, sizes | {"a": of.weights(), "c": of.result(out, first)})


def convolve_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, of: Windows) -> None:
    """The gradient for the images: a convolution with the turned weights, or columns, added to the pixels of their taps."""
    back = of.back()
    if back is not None:
        convolve(k, dy, _turned(k, weight, of), dx, back)
        return
    height, width = of.padded()
    whole = k.temp(TensorType("float64", (of.n, of.groups * of.seen, height, width)))
    k.fill(whole, 0.0)
    (oh, ow), (kh, kw), channels = of.plane, of.kernel, of.groups * of.seen
    for first, end in of.parts():
        columns = k.temp(TensorType("float64", (end - first, channels, kh, kw, oh, ow)))
        sizes = {"m": of.terms, "n": of.pixels, "k": of.each, "axes": (end - first, of.groups)}
        _multiply(k, (weight, dy), columns, sizes | {"a": of.weights(), "b": of.result(dy, first)}, ta=True)
        images, channel, down, across, row, _ = contiguous_strides(columns.type.shape)
        into = (channels * height * width, height * width, of.stride[0] * width, of.stride[1])
        if of.is_apart:
            taps = (*into[:2], of.tap(1, 0), of.tap(0, 1), *into[2:])
            k.copy(columns, whole, columns.type.shape, 0, contiguous_strides(columns.type.shape), first * into[0], taps)
            continue
        for i in range(kh):
            for j in range(kw):
                here = Walk(whole, first * into[0] + of.tap(i, j), into)
                there = Walk(columns, i * down + j * across, (images, channel, row, 1))
                k.loop(_sum, (here, there), here, (end - first, channels, oh, ow))
    (h, w), (top, _, left, _) = of.image, of.pad
    k.copy(
        whole,
        dx,
        dx.type.shape,
        top * width + left,
        contiguous_strides(whole.type.shape),
        0,
        (channels * h * w, h * w, w, 1),
    )


def weight_gradient(k: CallBuilder, dy: Operand, x: Operand, dw: Operand, of: Windows) -> None:
    """dw = dy [each, images and pixels] times the transposed columns, for every group; images are summed up some at a time."""
    image = _padded(k, x, of)
    out, pixels = of.groups * of.each, of.pixels
    for first, end in of.parts():
        count = end - first
        columns = _columns(k, image, of, first, end, side_by_side=True)
        rows = k.temp(TensorType("float64", (out, count, pixels)))
        steps = (pixels, out * pixels, 1)
        k.copy(dy, rows, rows.type.shape, first * out * pixels, steps, 0, contiguous_strides(rows.type.shape))
        sizes = {"m": of.each, "n": of.terms, "k": count * pixels, "axes": (of.groups,)}
        _multiply(k, (rows, columns), dw, sizes, tb=True, accumulate=first > 0)


def _multiply(
    k: CallBuilder,
    factors: tuple[Operand, Operand],
    out: Operand,
    sizes: dict[str, Any],
    *,
    ta: bool = False,
    tb: bool = False,
    accumulate: bool = False,
) -> None:
    told = {"ta": ta, "tb": tb, "accumulate": accumulate, "batch": math.prod(sizes["axes"]), "dtype": "float64"}
    k.call("gemm", factors, (out,), **sizes, **told)


def _sum(e: ExpressionBuilder, x: Handle, y: Handle) -> Handle:
    return e.add(x, y)


def _padded(k: CallBuilder, x: Operand, of: Windows) -> Operand:
    """The images with zeros around them; without padding the operand itself."""
    if not any(of.pad):
        return x
    height, width = of.padded()
    made = k.temp(TensorType("float64", (*x.type.shape[:2], height, width)))
    k.fill(made, 0.0)
    start = of.pad[0] * width + of.pad[2]
    k.copy(x, made, x.type.shape, 0, contiguous_strides(x.type.shape), start, contiguous_strides(made.type.shape))
    return made


def _columns(
    k: CallBuilder, image: Operand, of: Windows, first: int, end: int, *, side_by_side: bool = False
) -> Operand:
    """[images, channels, kh, kw, oh, ow] of padded images: the pixel that a tap meets for an output; or with the images next to
    the pixels.
    """
    (height, width), (oh, ow), channels = of.padded(), of.plane, of.groups * of.seen
    sizes, steps = (
        [channels, *of.kernel, oh, ow],
        [height * width, of.tap(1, 0), of.tap(0, 1), of.stride[0] * width, of.stride[1]],
    )
    at = 3 if side_by_side else 0
    sizes.insert(at, end - first)
    steps.insert(at, channels * height * width)
    made = k.temp(TensorType("float64", tuple(sizes)))
    k.copy(image, made, sizes, first * channels * height * width, steps, 0, contiguous_strides(made.type.shape))
    return made


def _turned(k: CallBuilder, weight: Operand, of: Windows) -> Operand:
    """Weights [groups * each, seen, kh, kw] as [groups * seen, each, kh, kw], with their taps from the last on."""
    kh, kw = of.kernel
    taps = kh * kw
    made = k.temp(TensorType("float64", (of.groups * of.seen, of.each, kh, kw)))
    shape = (of.groups, of.seen, of.each, taps)
    k.copy(
        weight,
        made,
        shape,
        taps - 1,
        (of.each * of.terms, taps, of.terms, -1),
        0,
        contiguous_strides(shape),
    )
    return made


__all__ = ["Windows", "convolve", "convolve_input", "weight_gradient"]
