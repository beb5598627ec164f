"""The calls that make a convolution and its two gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from graphc.errors import LoweringError
from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.ir.types import contiguous_strides
from graphc.lower.convolution import choice
from graphc.lower.convolution.phases import split
from graphc.lower.convolution.sizes import Sizes


def convolve(k: CallBuilder, x: Operand, weight: Operand, out: Operand, geometry: Geometry) -> None:
    """out = the convolution of x. Raises LoweringError where steps down and across differ, as the others do."""
    stride, dilation = _steps("Conv2D", geometry)
    z = Sizes.forward(x.type, weight.type, out.type, geometry)
    if stride == dilation == 1 and (name := choice.kernel(z, transposed=False)) != "conv2d":
        scratch, params = _scratch(k, choice.params(name, z, transposed=False))
        k.call(name, (x, weight), (scratch, out), **z.params(), **params, transposed=False)
        return
    image, z, h, w, stride = _image(k, x, z, geometry)
    sizes = z.padded_params(h, w)
    k.call("conv2d", (image, weight), (out,), **sizes, stride=stride, dilation=dilation, transposed=False)


def weight_gradient(k: CallBuilder, dy: Operand, x: Operand, dw: Operand, geometry: Geometry) -> None:
    """dw = the gradient for the weights."""
    stride, dilation = _steps("Conv2DBackpropFilter", geometry)
    z = Sizes.forward(x.type, dw.type, dy.type, geometry)
    if stride == dilation == 1 and (name := choice.gradient_kernel(z)) != "conv2d_filter_grad":
        scratch, params = _scratch(k, choice.gradient_params(name, z))
        k.call(name, (x, dy), (scratch, dw), **z.params(), **params)
        return
    image, z, h, w, stride = _image(k, x, z, geometry)
    k.call("conv2d_filter_grad", (image, dy), (dw,), **z.padded_params(h, w), stride=stride, dilation=dilation)


def convolve_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """dx is a convolution of dy, inside a zero border, with the flipped weight; with a stride, one for each phase of dx."""
    stride, dilation = _steps("Conv2DBackpropInput", geometry)
    if _patches(weight.type, geometry) and not any(geometry.pad):
        _patches_input(k, dy, weight, dx, geometry)
        return
    if stride > 1 and dilation == 1:
        _by_phase(k, dy, weight, dx, geometry)
        return
    z = Sizes.backward(dy.type, weight.type, dx.type, geometry)
    if dilation == 1 and (name := choice.kernel(z, transposed=True)) != "conv2d":
        source = _spread(k, dy, stride)
        scratch, params = _scratch(k, choice.params(name, z, transposed=True))
        k.call(name, (source, weight), (scratch, dx), **z.params(), **params, transposed=True)
        return
    h, w = z.oh + (z.kh - 1) * dilation, z.ow + (z.kw - 1) * dilation
    source = _bordered(k, dy, (h, w), z, stride)
    # Rows of the border that hold zeros only, which the kernel may skip.
    border = (max(0, z.top), max(0, h - z.top - z.h)) if (stride, dilation) == (1, 1) else (0, 0)
    sizes = z.padded_params(h, w)
    k.call("conv2d", (source, weight), (dx,), **sizes, stride=1, dilation=dilation, transposed=True, border=border)


def _patches(weight: TensorType, geometry: Geometry) -> bool:
    """Whether every pixel is in one window at most: the windows stand side by side, as in the first layer of a transformer."""
    return geometry.stride == weight.shape[2:] != (1, 1) and geometry.dilation == (1, 1)


def _image(k: CallBuilder, x: Operand, z: Sizes, geometry: Geometry) -> tuple[Operand, Sizes, int, int, int]:
    """What the direct kernel reads: x padded and split by phase, the sizes, rows and columns of a phase, and the stride.

    The phases of windows side by side are channels, and the kernel has one pixel: one product, and no code for each tap.
    """
    (stride, _), kernel = geometry.stride, (z.kh, z.kw)
    image, count, h, w = split(k, x, geometry.pad, stride, kernel)
    if kernel == (stride, stride) and geometry.dilation == (1, 1):
        return image, replace(z, ci=z.ci * count * count, kh=1, kw=1), h, w, 1
    return image, z, h, w, count


def _patches_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """dx of windows side by side without padding: a product for each window, which is then put in its place."""
    (n, channels, h, w), (stride, _) = dx.type.shape, geometry.stride
    (_, co, oh, ow), (_, c, _, _) = dy.type.shape, weight.type.shape
    if (oh * stride, ow * stride) != (h, w):
        k.fill(dx, 0.0)
    # Taps become channels.
    flat = weight._replace(type=TensorType("float32", (co, c * stride * stride, 1, 1)))
    part = k.temp(TensorType("float32", (n, channels * stride * stride, oh, ow)))
    convolve_input(k, dy, flat, part, Geometry((0, 0, 0, 0), (1, 1), (1, 1), geometry.groups))
    shape = (n, channels, stride, stride, oh, ow)
    to_image = (channels * h * w, h * w, w, 1, stride * w, stride)
    k.copy(part, dx, shape, 0, contiguous_strides(shape), 0, to_image)


def _by_phase(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """Pixels of dx that are a stride apart meet the same taps of the weight: they are a convolution of dy with these.

    So nothing is multiplied by the zeros that a stride would set between the pixels of dy.
    """
    (stride, _), (top, _, left, _) = geometry.stride, geometry.pad
    (n, channels, h, w), (co, c, kh, kw) = dx.type.shape, weight.type.shape
    down, across = _phases(h, kh, top, stride), _phases(w, kw, left, stride)
    if sum(p.pixels for p in down) * sum(p.pixels for p in across) < h * w:
        k.fill(dx, 0.0)
    for y in down:
        for x in across:
            taps = k.temp(TensorType("float32", (co, c, y.taps, x.taps)))
            from_weight = (c * kh * kw, kh * kw, stride * kw, stride)
            k.copy(
                weight, taps, taps.type.shape, y.tap * kw + x.tap, from_weight, 0, contiguous_strides(taps.type.shape)
            )
            part = k.temp(TensorType("float32", (n, channels, y.pixels, x.pixels)))
            convolve_input(k, dy, taps, part, Geometry((y.before, 0, x.before, 0), (1, 1), (1, 1), geometry.groups))
            to_image = (channels * h * w, h * w, stride * w, stride)
            k.copy(part, dx, part.type.shape, 0, contiguous_strides(part.type.shape), y.first * w + x.first, to_image)


class _Phase(NamedTuple):
    """Every so many pixels of an axis of dx: `pixels` from pixel `first` on; they meet `taps` taps of the weight, from `tap` on,
    after `before` pixels of padding.
    """

    first: int
    pixels: int
    tap: int
    taps: int
    before: int


def _phases(size: int, kernel: int, pad: int, stride: int) -> list[_Phase]:
    """The phases of an axis that meet a tap: pixel `first + i * stride` is that of dy's `before + i`, and of those before it."""
    found = []
    for tap in range(min(stride, kernel)):
        before = max(0, -((tap - pad) // stride))
        first = before * stride + tap - pad
        if first < size:
            found.append(_Phase(first, -(-(size - first) // stride), tap, -(-(kernel - tap) // stride), before))
    return found


def _steps(op: str, geometry: Geometry) -> tuple[int, int]:
    """Stride and dilation."""
    (sh, sw), (dh, dw) = geometry.stride, geometry.dilation
    if sh != sw or dh != dw:
        raise LoweringError(f"{op}: there is a kernel for equal vertical and horizontal stride and dilation only")
    return sh, dh


def _scratch(k: CallBuilder, params: dict[str, int]) -> tuple[Operand, dict[str, int]]:
    """The memory that a kernel with such parameters wants, and they."""
    return k.temp(TensorType("float32", (params["scratch"],))), params


def _spread(k: CallBuilder, x: Operand, stride: int) -> Operand:
    """x with stride - 1 zeros between neighbours."""
    if stride == 1:
        return x
    n, c, h, w = x.type.shape
    shape = (n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    strides = contiguous_strides(shape)
    wide = k.temp(TensorType("float32", shape))
    k.fill(wide, 0.0)
    k.copy(x, wide, (n, c, h, w), 0, contiguous_strides((n, c, h, w)), 0, (*strides[:2], strides[2] * stride, stride))
    return wide


def _bordered(k: CallBuilder, dy: Operand, plane: tuple[int, int], z: Sizes, stride: int) -> Operand:
    """dy spread out by the stride, `z.top` rows and `z.left` columns from the corner of a plane of zeros."""
    (n, co, oh, ow), (h, w) = dy.type.shape, plane
    if (stride, z.top, z.left, oh, ow) == (1, 0, 0, h, w):
        return dy
    source = k.temp(TensorType("float32", (n, co, h, w)))
    k.fill(source, 0.0)
    # Rows of dy whose place lies inside the border.
    y0, x0 = max(0, -(z.top // stride)), max(0, -(z.left // stride))
    rows = min(oh, (h - 1 - z.top) // stride + 1) - y0
    columns = min(ow, (w - 1 - z.left) // stride + 1) - x0
    if rows > 0 and columns > 0:
        k.copy(
            dy,
            source,
            (n, co, rows, columns),
            y0 * ow + x0,
            (co * oh * ow, oh * ow, ow, 1),
            (y0 * stride + z.top) * w + x0 * stride + z.left,
            (co * h * w, h * w, stride * w, stride),
        )
    return source
