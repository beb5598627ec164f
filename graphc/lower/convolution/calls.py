"""The calls that make a convolution and its two gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.ir.types import contiguous_strides
from graphc.lower.convolution import choice, columns, pairs
from graphc.lower.convolution.blocks import PLAIN, Blocks
from graphc.lower.convolution.lines import Lines
from graphc.lower.convolution.phases import Spread, join_images, split, split_images
from graphc.lower.convolution.simpler import Convolution, is_wide, simpler, turn, turned
from graphc.lower.convolution.sizes import Pair, Sizes

#: Floats in a line of the cache.
_LINE = 16


def convolve(k: CallBuilder, x: Operand, weight: Operand, out: Operand, geometry: Geometry) -> None:
    """out = the convolution of x."""
    given = simpler(Convolution(x, weight, out, geometry))
    if is_wide(given):
        wide = turned(k, given)
        turn(k, given.x, wide.x)
        turn(k, given.weight, wide.weight)
        convolve(k, *wide)
        return
    x, weight, out, geometry = given
    if columns.is_product(x.type, weight.type, out.type, geometry):
        columns.multiply(k, x, weight, out)
        return
    if _patches(weight.type, geometry) and _is_whole(x.type, geometry):
        if choice.patches_in_columns(Sizes.forward(x.type, weight.type, out.type, geometry), geometry):
            columns.convolve(k, x, weight, out, geometry)
            return
        image, _, _ = split(k, x, geometry.pad, geometry.stride, geometry.stride)
        (n, _, oh, ow), (flat, taps) = out.type.shape, _flat(weight)
        pixels = image._replace(type=TensorType("float32", (n, x.type.shape[1] * taps, oh, ow)))
        convolve(k, pixels, flat, out, PLAIN._replace(groups=geometry.groups))
        return
    z = replace(Sizes.forward(x.type, weight.type, out.type, geometry), pairs=k.pairs(x, weight))
    if (spread := Spread.of(z, geometry)) and choice.spreads(spread, geometry, transposed=False):
        convolve(k, spread.images(k, x), spread.weights(k, weight), out, PLAIN)
        return
    if (blocks := Blocks.of(z, geometry)) and choice.in_blocks(blocks, z, geometry, transposed=False):
        _in_blocks(k, x, blocks.weights(k, weight, transposed=False), out, blocks)
        return
    if _few(k, (x, weight), out, z, geometry, transposed=False):
        return
    if geometry.stride == (1, 1) and _winograd(k, (x, weight), out, z, geometry.dilation, transposed=False):
        return
    if choice.by_pairs(z, geometry):
        pairs.convolve(k, x, weight, out, z, geometry)
        return
    image, params = _image(k, x, z, geometry)
    border = {"border": geometry.pad[:2]} if geometry.stride == (1, 1) and any(geometry.pad[:2]) else {}
    k.call("conv2d", (image, weight), (out,), **params, transposed=False, **border)


def weight_gradient(k: CallBuilder, dy: Operand, x: Operand, dw: Operand, geometry: Geometry) -> None:
    """dw = the gradient for the weights."""
    given = simpler(Convolution(x, dw, dy, geometry))
    if is_wide(given):
        wide = turned(k, given)
        turn(k, given.x, wide.x)
        weight_gradient(k, wide.y, wide.x, wide.weight, wide.geometry)
        turn(k, wide.weight, given.weight)
        return
    x, dw, dy, geometry = given
    if columns.is_product(x.type, dw.type, dy.type, geometry):
        columns.multiply_gradient(k, dy, x, dw)
        return
    z = replace(Sizes.forward(x.type, dw.type, dy.type, geometry), pairs=k.pairs(x, dy))
    dilation = geometry.dilation
    if (spread := Spread.of(z, geometry)) and choice.gradient_spreads(spread, geometry):
        made = spread.empty_weights(k)
        weight_gradient(k, dy, spread.images(k, x), made, PLAIN)
        spread.take_weights(k, made, dw)
        return
    if (blocks := Blocks.of(z, geometry)) and choice.gradient_in_blocks(blocks, geometry):
        name = "conv2d_filter_grad_winograd"
        params = {**choice.gradient_params(name, blocks.sizes), **blocks.views()}
        _weights_by(k, name, (x, dy), dw, params, blocks)
        return
    if choice.gradient_columns(z, geometry):
        columns.weight_gradient(k, dy, x, dw, geometry)
        return
    if geometry.stride == (1, 1):
        if name := choice.gradient_phases(z, dilation):
            x, dy = split_images(k, x, z.before(dilation), dilation), split_images(k, dy, (0, 0), dilation)
            z, dilation = z.phases(dilation), (1, 1)
        else:
            name = choice.gradient_kernel(z, dilation)
        if name != "conv2d_filter_grad":
            params = choice.gradient_params(name, z, dilation)
            line = Lines.of(z, dilation, gradient=True) if name == "conv2d_filter_grad_line_winograd" else None
            _weights_by(k, name, (x, dy), dw, params, line.blocks if line and not line.whole else None)
            return
    image, params = _image(k, x, z, geometry)
    k.call("conv2d_filter_grad", (image, dy), (dw,), **params)


def convolve_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """dx is a convolution of dy, inside a zero border, with the flipped weight; with a stride, one for each phase of dx."""
    given = simpler(Convolution(dx, weight, dy, geometry))
    if is_wide(given):
        wide = turned(k, given)
        turn(k, given.weight, wide.weight)
        convolve_input(k, wide.y, wide.weight, wide.x, wide.geometry)
        turn(k, wide.x, given.x)
        return
    dx, weight, dy, geometry = given
    if columns.is_product(dx.type, weight.type, dy.type, geometry):
        columns.multiply_back(k, dy, weight, dx)
        return
    if _patches(weight.type, geometry) and not any(geometry.pad):
        _patches_input(k, dy, weight, dx, geometry)
        return
    z = replace(Sizes.forward(dx.type, weight.type, dy.type, geometry), pairs=k.pairs(dy, weight))
    if (spread := Spread.of(z, geometry)) and choice.spreads(spread, geometry, transposed=True):
        made = spread.empty_images(k)
        convolve_input(k, dy, spread.weights(k, weight), made, PLAIN)
        spread.take_images(k, made, dx)
        return
    back, plain = Sizes.backward(dy.type, weight.type, dx.type, geometry), geometry.stride == (1, 1)
    back = replace(back, pairs=z.pairs)
    if plain and (blocks := Blocks.of(back, geometry)) and choice.in_blocks(blocks, z, geometry, transposed=True):
        _in_blocks(k, dy, blocks.weights(k, weight, transposed=True), dx, blocks)
        return
    if _few(k, (dy, weight), dx, z, geometry, transposed=True):
        return
    if not plain:
        _by_phase(k, dy, weight, dx, geometry)
        return
    z, dilation = back, geometry.dilation
    if _winograd(k, (dy, weight), dx, z, dilation, transposed=True):
        return
    if choice.by_pairs(z, PLAIN):
        pairs.convolve_input(k, dy, weight, dx, z, dilation)
        return
    h, w = z.oh + (z.kh - 1) * dilation[0], z.ow + (z.kw - 1) * dilation[1]
    source = _bordered(k, dy, (h, w), z)
    # Rows of the border that hold zeros only, which the kernel may skip.
    border = (max(0, z.top), max(0, h - z.top - z.h))
    sizes = z.padded_params(h, w)
    k.call("conv2d", (source, weight), (dx,), **sizes, stride=(1, 1), dilation=dilation, transposed=True, border=border)


def _in_blocks(k: CallBuilder, x: Operand, weights: Operand, out: Operand, blocks: Blocks) -> None:
    """The convolution of x with the weights of blocks."""
    scratch, params = _scratch(k, choice.params("conv2d_winograd", blocks.sizes, transposed=False))
    k.call("conv2d_winograd", (x, weights), (scratch, out), **params, **blocks.views(), transposed=False)


def _few(
    k: CallBuilder, operands: tuple[Operand, Operand], out: Operand, z: Sizes, geometry: Geometry, *, transposed: bool
) -> bool:
    """Make the convolution z, or its input gradient, in a way for windows or images of few pixels; False, and nothing, if none is
    worth it.
    """
    if choice.pixels(z, geometry):
        columns.multiply_pixels(k, *operands, out, transposed=transposed)
        return True
    few = choice.few(z, geometry, transposed=transposed)
    if few == "columns":
        (columns.convolve_input if transposed else columns.convolve)(k, *operands, out, geometry)
    elif few:
        (_input_by_channels if transposed else _by_channels)(k, *operands, out, geometry)
    return bool(few)


def _by_channels(k: CallBuilder, x: Operand, weight: Operand, out: Operand, geometry: Geometry) -> None:
    """With output channels as lanes: weights become [in, kh, kw, out]."""
    (co, ci, kh, kw), z = weight.type.shape, Sizes.forward(x.type, weight.type, out.type, geometry)
    from_weight = 0, (kh * kw, kw, 1, ci * kh * kw)
    _along_channels(k, x, _packed(k, weight, (ci, kh, kw, co), from_weight), out, z, geometry)


def _input_by_channels(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """The same for the gradient of a convolution of stride 1: weights become [out, kh, kw, in], with taps from the last on."""
    (co, ci, kh, kw), z = weight.type.shape, Sizes.backward(dy.type, weight.type, dx.type, geometry)
    from_weight = kh * kw - 1, (ci * kh * kw, -kw, -1, kh * kw)
    _along_channels(k, dy, _packed(k, weight, (co, kh, kw, ci), from_weight), dx, z, geometry)


def _packed(k: CallBuilder, weight: Operand, shape: tuple[int, ...], walk: tuple[int, tuple[int, ...]]) -> Operand:
    """The weight with its axes in another order; the last one is longer where its rows would share a few sets of the cache."""
    *before, channels = shape
    lead = channels + _LINE if channels % (4 * _LINE) == 0 else channels
    made = k.temp(TensorType("float32", (*before, lead)))
    k.copy(weight, made, shape, *walk, 0, contiguous_strides(made.type.shape))
    return made


def _along_channels(k: CallBuilder, x: Operand, packed: Operand, out: Operand, z: Sizes, geometry: Geometry) -> None:
    """The convolution z of x with weights that are packed so."""
    (sh, sw), (dh, dw) = geometry.stride, geometry.dilation
    plane = (z.oh - 1) * sh + (z.kh - 1) * dh + 1, (z.ow - 1) * sw + (z.kw - 1) * dw + 1
    sizes = {**z.padded_params(*plane), "stride": (sh, sw), "dilation": (dh, dw), "lead": packed.type.shape[-1]}
    k.call("conv2d_channels", (_bordered(k, x, plane, z), packed), (out,), **sizes)


def _winograd(
    k: CallBuilder, operands: tuple[Operand, Operand], out: Operand, z: Sizes, dilation: Pair, *, transposed: bool
) -> bool:
    """Make a convolution of stride 1 by one of Winograd's kernels, with a dilation perhaps from images of its phases; False, and
    nothing, if none is worth it.
    """
    x, weight = operands
    name, made = choice.phases(z, dilation, transposed=transposed), out
    if name:
        x, phases = split_images(k, x, z.before(dilation), dilation), z.phases(dilation)
        made = k.temp(TensorType("float32", (phases.n, phases.co, phases.oh, phases.ow)))
        params = choice.params(name, phases, transposed=transposed)
    else:
        name = choice.kernel(z, dilation, transposed=transposed)
        if name == "conv2d":
            return False
        params = choice.params(name, z, dilation, transposed=transposed)
        if name == "conv2d_line_winograd" and (line := Lines.of(z, dilation)) and not line.whole:
            weight, transposed = line.blocks.weights(k, weight, transposed=transposed), False
    scratch, params = _scratch(k, params)
    k.call(name, (x, weight), (scratch, made), **params, transposed=transposed)
    if made is not out:
        join_images(k, made, out, dilation)
    return True


def _weights_by(
    k: CallBuilder,
    name: str,
    images: tuple[Operand, Operand],
    dw: Operand,
    params: dict[str, Any],
    blocks: Blocks | None,
) -> None:
    """dw by one of Winograd's kernels, perhaps that of blocks of taps."""
    scratch, params = _scratch(k, params)
    if blocks is None:
        k.call(name, images, (scratch, dw), **params)
        return
    sizes = blocks.sizes
    made = k.temp(TensorType("float32", (sizes.co, sizes.ci, sizes.kh, sizes.kw)))
    k.call(name, images, (scratch, made), **params)
    blocks.take_weights(k, made, dw)


def _patches(weight: TensorType, geometry: Geometry) -> bool:
    """Whether every pixel is in one window at most: the windows stand side by side, as in the first layer of a transformer."""
    return geometry.stride == weight.shape[2:] != (1, 1) and geometry.dilation == (1, 1)


def _is_whole(x: TensorType, geometry: Geometry) -> bool:
    """Whether windows side by side leave nothing of an image over."""
    (top, bottom, left, right), (h, w) = geometry.pad, x.shape[2:]
    return (h + top + bottom) % geometry.stride[0] == (w + left + right) % geometry.stride[1] == 0


def _flat(weight: Operand) -> tuple[Operand, int]:
    """The weight with its taps as channels, and how many these are."""
    co, c, kh, kw = weight.type.shape
    return weight._replace(type=TensorType("float32", (co, c * kh * kw, 1, 1))), kh * kw


def _image(k: CallBuilder, x: Operand, z: Sizes, geometry: Geometry) -> tuple[Operand, dict[str, Any]]:
    """What the direct kernel reads, x padded and split by phase, and what it is told.

    The phases of windows side by side are channels, and the kernel has one pixel: one product, and no code for each tap.
    """
    kernel, dilation = (z.kh, z.kw), geometry.dilation
    image, steps, (h, w) = split(k, x, geometry.pad, geometry.stride, kernel)
    if kernel == geometry.stride and dilation == (1, 1):
        z, steps = replace(z, ci=z.ci * math.prod(steps), kh=1, kw=1), (1, 1)
    return image, {**z.padded_params(h, w), "stride": steps, "dilation": dilation}


def _patches_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """dx of windows side by side without padding: a product for each window, which is then put in its place."""
    (n, channels, h, w), (sh, sw) = dx.type.shape, geometry.stride
    oh, ow = dy.type.shape[2:]
    if (oh * sh, ow * sw) != (h, w):
        k.fill(dx, 0.0)
    flat, taps = _flat(weight)
    part = k.temp(TensorType("float32", (n, channels * taps, oh, ow)))
    convolve_input(k, dy, flat, part, PLAIN._replace(groups=geometry.groups))
    shape = (n, channels, sh, sw, oh, ow)
    to_image = (channels * h * w, h * w, w, 1, sh * w, sw)
    k.copy(part, dx, shape, 0, contiguous_strides(shape), 0, to_image)


def _by_phase(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """Pixels of dx that are a stride apart meet the same taps of the weight: they are a convolution of dy with these.

    So nothing is multiplied by the zeros that a stride would set between the pixels of dy.
    """
    (sh, sw), (top, _, left, _) = geometry.stride, geometry.pad
    (n, channels, h, w), (co, c, kh, kw) = dx.type.shape, weight.type.shape
    down, across = _phases(h, kh, top, sh, geometry.dilation[0]), _phases(w, kw, left, sw, geometry.dilation[1])
    if sum(p.pixels for p in down) * sum(p.pixels for p in across) < h * w:
        k.fill(dx, 0.0)
    for y in down:
        for x in across:
            taps = k.temp_like(weight, (co, c, y.taps, x.taps))
            from_weight = (c * kh * kw, kh * kw, y.period * kw, x.period)
            k.copy(
                weight, taps, taps.type.shape, y.tap * kw + x.tap, from_weight, 0, contiguous_strides(taps.type.shape)
            )
            part = k.temp_like(dx, (n, channels, y.pixels, x.pixels))
            within = Geometry((y.before, 0, x.before, 0), (1, 1), (y.dilation, x.dilation), geometry.groups)
            convolve_input(k, dy, taps, part, within)
            to_image = (channels * h * w, h * w, sh * w, sw)
            k.copy(part, dx, part.type.shape, 0, contiguous_strides(part.type.shape), y.first * w + x.first, to_image)


class _Phase(NamedTuple):
    """Every so many pixels of an axis of dx: `pixels` from pixel `first` on; they meet `taps` taps of the weight, every `period`
    from `tap` on, which are `dilation` pixels of dy apart, after `before` pixels of padding.
    """

    first: int
    pixels: int
    tap: int
    taps: int
    period: int
    dilation: int
    before: int


def _phases(size: int, kernel: int, pad: int, stride: int, dilation: int) -> list[_Phase]:
    """The phases of an axis that meet a tap: pixel `first + i * stride` is that of dy's `before + i`, and of those before it."""
    common = math.gcd(stride, dilation)
    found, period = [], stride // common
    for tap in range(min(period, kernel)):
        shift = tap * dilation - pad
        before = max(0, -(shift // stride))
        first = before * stride + shift
        if first < size:
            taps, pixels = -(-(kernel - tap) // period), -(-(size - first) // stride)
            found.append(_Phase(first, pixels, tap, taps, period, dilation // common, before))
    return found


def _scratch(k: CallBuilder, params: dict[str, Any]) -> tuple[Operand, dict[str, Any]]:
    """The memory that a kernel with such parameters wants, and they."""
    return k.temp(TensorType("float32", (params["scratch"],))), params


def _bordered(k: CallBuilder, dy: Operand, plane: tuple[int, int], z: Sizes) -> Operand:
    """dy, `z.top` rows and `z.left` columns from the corner of a plane of zeros."""
    (n, co, oh, ow), (h, w) = dy.type.shape, plane
    if (z.top, z.left, oh, ow) == (0, 0, h, w):
        return dy
    source = k.temp(TensorType("float32", (n, co, h, w)))
    k.fill(source, 0.0)
    # Rows of dy whose place lies inside the border.
    y0, x0 = max(0, -z.top), max(0, -z.left)
    rows, columns = min(oh, h - z.top) - y0, min(ow, w - z.left) - x0
    if rows > 0 and columns > 0:
        k.copy(
            dy,
            source,
            (n, co, rows, columns),
            y0 * ow + x0,
            (co * oh * ow, oh * ow, ow, 1),
            (y0 + z.top) * w + x0 + z.left,
            (co * h * w, h * w, w, 1),
        )
    return source
