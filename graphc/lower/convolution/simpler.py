"""The same convolution of other images: along one axis, or of single pixels, where one along two is not needed.

A window that covers an axis has one place there, so that its taps are channels: sentences, whose windows are as wide as a word's
vector, are lines with a channel for each of its numbers. Else a gradient with respect to the images would meet a wide border of
zeros.
"""

from __future__ import annotations

from typing import NamedTuple

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.ir.types import contiguous_strides


class Convolution(NamedTuple):
    """From images x, or their gradient, with windows of weights to y, whichever of them is made."""

    x: Operand
    weight: Operand
    y: Operand
    geometry: Geometry

    def reshaped(
        self, x: tuple[int, ...], weight: tuple[int, ...], y: tuple[int, ...], geometry: Geometry
    ) -> Convolution:
        """The same memory in other shapes."""
        shapes = zip(self[:3], (x, weight, y), strict=True)
        made = [each._replace(type=TensorType(each.type.dtype, shape)) for each, shape in shapes]
        return Convolution(made[0], made[1], made[2], geometry)


def simpler(c: Convolution) -> Convolution:
    """The same convolution with a dilation of 1 along an axis along which the window has one tap; with the rows of a window that
    covers them as channels; and with the rows of an image as one row where windows have one column: neighbouring taps are a row
    apart, and vectors of pixels are full.
    """
    (n, channels, h, w), (co, ci, kh, kw), (_, _, oh, ow) = c.x.type.shape, c.weight.type.shape, c.y.type.shape
    (top, bottom, left, _), (down, across), (_, sw) = c.geometry.pad, c.geometry.dilation, c.geometry.stride
    geometry = c.geometry._replace(dilation=(1 if kh == 1 else down, 1 if kw == 1 else across))
    if h == kh > 1 == oh and (top, bottom) == (0, 0):
        flat = geometry._replace(stride=(1, sw), dilation=(1, geometry.dilation[1]))
        return simpler(c.reshaped((n, channels * h, 1, w), (co, ci * kh, 1, kw), (n, co, 1, ow), flat))
    if h == kh == oh == 1 and w == kw > 1 == ow and not any(geometry.pad):
        flat = geometry._replace(stride=(1, 1), dilation=(1, 1))
        return c.reshaped((n, channels * w, 1, 1), (co, ci * kw, 1, 1), (n, co, 1, 1), flat)
    if kw > 1 or kh == 1 or left != 0 or ow != w or geometry.stride != (1, 1):
        return c._replace(geometry=geometry)
    geometry = geometry._replace(pad=(0, 0, top * w, bottom * w), dilation=(1, down * w))
    return c.reshaped((n, channels, 1, h * w), (co, ci, 1, kh), (n, co, 1, oh * ow), geometry)


def is_wide(c: Convolution) -> bool:
    """Whether a window covers the columns of images that have several rows."""
    (_, _, h, w), (_, _, _, kw), (_, _, _, ow) = c.x.type.shape, c.weight.type.shape, c.y.type.shape
    return w == kw > 1 == ow and h > 1 and c.geometry.pad[2:] == (0, 0)


def turned(k: CallBuilder, c: Convolution) -> Convolution:
    """The same with rows as columns, in memory of its own but for y, which has one column. Of `is_wide`."""
    (n, co, oh, _), (top, bottom, left, right) = c.y.type.shape, c.geometry.pad
    geometry = c.geometry._replace(
        pad=(left, right, top, bottom), stride=c.geometry.stride[::-1], dilation=c.geometry.dilation[::-1]
    )
    x, weight = (_turned(k, each) for each in (c.x, c.weight))
    return Convolution(x, weight, c.y._replace(type=TensorType("float32", (n, co, 1, oh))), geometry)


def turn(k: CallBuilder, source: Operand, target: Operand) -> None:
    """target [.., W, H] = source [.., H, W]."""
    (a, b, h, w) = source.type.shape
    steps = contiguous_strides((a, b, h, w))
    k.copy(source, target, (a, b, w, h), 0, (*steps[:2], 1, w), 0, contiguous_strides((a, b, w, h)))


def _turned(k: CallBuilder, x: Operand) -> Operand:
    """Memory for the same with rows as columns."""
    (a, b, h, w) = x.type.shape
    return k.temp(TensorType("float32", (a, b, w, h)))
