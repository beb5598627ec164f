"""Convolutions in float64 as matrix products: what a tap sees of the pixels is a row of columns, for some images at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle, Operand, Walk
from graphc.ir.op import Attrs
from graphc.ir.types import TensorType, contiguous_strides
from graphc.ops.declared.float64_windows import Windows, padded

#: Fewer channels of a result, or products for one number, do not fill a product's tiles.
_LEAST_CHANNELS, _LEAST_TERMS = 8, 16
#: Elements of the columns of some images: 16 MiB.
_SOME = 1 << 21
#: Taps of a window whose columns are added up: there is code for each.
_MOST_TAPS = 100


class Sizes(NamedTuple):
    """From images of groups of `seen` channels to groups of `each`, by windows."""

    windows: Windows
    groups: int
    seen: int
    each: int

    @staticmethod
    def of(image: Sequence[int], weight: Sequence[int], out: Sequence[int], attrs: Attrs) -> Sizes:
        """Of the shapes of images, weights and result."""
        groups = int(attrs.get("groups", 1))
        return Sizes(Windows.of(image, out, weight, attrs), groups, weight[1], weight[0] // groups)

    @property
    def channels(self) -> int:
        return self.groups * self.seen

    @property
    def terms(self) -> int:
        return self.seen * math.prod(self.windows.kernel)

    @property
    def pixels(self) -> int:
        return math.prod(self.windows.plane)

    @property
    def is_plain(self) -> bool:
        """Whether columns are the images themselves."""
        return self.windows.kernel == self.windows.stride == (1, 1) and not any(self.windows.pad)

    @property
    def is_apart(self) -> bool:
        """Whether no pixel is in two windows."""
        of = self.windows
        axes = zip(of.stride, of.dilation, of.kernel, strict=True)
        return all(step > apart * (size - 1) for step, apart, size in axes)

    def pays(self) -> bool:
        """Whether a product takes less time than a loop over the sums."""
        return min(self.each, self.terms) >= _LEAST_CHANNELS and max(self.each, self.terms) >= _LEAST_TERMS

    def pays_back(self) -> bool:
        """The same for the gradient with respect to the images."""
        back = self.back()
        if back is not None:
            return back.pays()
        return self.pays() and (self.is_apart or math.prod(self.windows.kernel) <= _MOST_TAPS)

    def parts(self) -> Iterator[tuple[int, int]]:
        """The first of some images and the one behind them."""
        n = self.windows.image[0]
        count = max(1, min(n, -(-n * self.groups * self.terms * self.pixels // _SOME)))
        for p in range(count):
            yield p * n // count, (p + 1) * n // count

    def weights(self) -> tuple[int, ...]:
        """Where a product finds the weights of a group, for every image the same."""
        return self.groups * self.each * self.terms, 0, self.terms, 0, self.each * self.terms

    def result(self, x: Operand, first: int) -> tuple[int, ...]:
        """Where it finds the channels of a result, or of its gradient, of images from number `first` on."""
        group = self.each * self.pixels
        return x.type.size, first * self.groups * group, self.pixels, self.groups * group, group

    def back(self) -> Sizes | None:
        """The convolution of a result's gradient with turned weights that makes that of the images: with a stride of 1, and
        none where it would begin inside of that gradient.
        """
        of = self.windows
        (oh, ow), (n, _, h, w), (top, _, left, _) = of.plane, of.image, of.pad
        down, right = (d * (k - 1) for d, k in zip(of.dilation, of.kernel, strict=True))
        pad = (down - top, h - oh + top, right - left, w - ow + left)
        if of.stride != (1, 1) or min(pad) < 0:
            return None
        windows = of._replace(image=(n, self.groups * self.each, oh, ow), plane=(h, w), pad=pad)
        return Sizes(windows, self.groups, self.each, self.seen)


def convolve(k: CallBuilder, x: Operand, weight: Operand, out: Operand, of: Sizes) -> None:
    """out = weight [each, terms] times columns [terms, pixels], for every image and group."""
    image = padded(k, x, of.windows, 0.0)
    for first, end in [(0, of.windows.image[0])] if of.is_plain else of.parts():
        columns = image if of.is_plain else _columns(k, image, of, first, end)
        sizes = {"m": of.each, "n": of.pixels, "k": of.terms, "axes": (end - first, of.groups)}
        _multiply(k, (weight, columns), out, sizes | {"a": of.weights(), "c": of.result(out, first)})


def convolve_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, of: Sizes) -> None:
    """The gradient for the images: a convolution with the turned weights, or columns, added to the pixels of their taps."""
    back = of.back()
    if back is not None:
        convolve(k, dy, _turned(k, weight, of), dx, back)
        return
    windows, (kh, kw) = of.windows, of.windows.kernel
    whole = k.temp(TensorType("float64", (windows.image[0], of.channels, *windows.padded())))
    k.fill(whole, 0.0)
    pixels, taps = contiguous_strides(whole.type.shape), windows.taps()
    into = (*pixels[:2], *windows.steps())
    for first, end in of.parts():
        columns = k.temp(TensorType("float64", (end - first, of.channels, kh, kw, *windows.plane)))
        sizes = {"m": of.terms, "n": of.pixels, "k": of.each, "axes": (end - first, of.groups)}
        _multiply(k, (weight, dy), columns, sizes | {"a": of.weights(), "b": of.result(dy, first)}, ta=True)
        steps, start = contiguous_strides(columns.type.shape), first * pixels[0]
        if of.is_apart:
            k.copy(columns, whole, columns.type.shape, 0, steps, start, (*into[:2], *taps, *into[2:]))
            continue
        images, channel, down, across, row, column = steps
        for i in range(kh):
            for j in range(kw):
                here = Walk(whole, start + i * taps[0] + j * taps[1], into)
                there = Walk(columns, i * down + j * across, (images, channel, row, column))
                k.loop(_sum, (here, there), here, (end - first, of.channels, *windows.plane))
    k.copy(whole, dx, dx.type.shape, windows.start(), pixels, 0, contiguous_strides(dx.type.shape))


def weight_gradient(k: CallBuilder, dy: Operand, x: Operand, dw: Operand, of: Sizes) -> None:
    """dw = dy [each, images and pixels] times the transposed columns, for every group; images are summed up some at a time."""
    image = padded(k, x, of.windows, 0.0)
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


def _columns(k: CallBuilder, image: Operand, of: Sizes, first: int, end: int, *, side_by_side: bool = False) -> Operand:
    """[images, channels, kh, kw, oh, ow] of padded images: the pixel that a tap meets for an output; or with the images next to
    the pixels.
    """
    windows = of.windows
    images, channels, _, _ = contiguous_strides(image.type.shape)
    sizes, steps = [of.channels, *windows.kernel, *windows.plane], [channels, *windows.taps(), *windows.steps()]
    at = 3 if side_by_side else 0
    sizes.insert(at, end - first)
    steps.insert(at, images)
    made = k.temp(TensorType("float64", tuple(sizes)))
    k.copy(image, made, sizes, first * images, steps, 0, contiguous_strides(made.type.shape))
    return made


def _turned(k: CallBuilder, weight: Operand, of: Sizes) -> Operand:
    """Weights [groups * each, seen, kh, kw] as [groups * seen, each, kh, kw], with their taps from the last on."""
    kh, kw = of.windows.kernel
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


__all__ = ["Sizes", "convolve", "convolve_input", "weight_gradient"]
