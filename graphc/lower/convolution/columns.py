"""Convolutions of few pixels, and patches, as matrix products: what a tap sees of all images, side by side, is a row of columns.

Lanes are then pixels of all images; the direct kernel's are those of one, which a few do not fill.
"""

from __future__ import annotations

import math

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand, Walk
from graphc.ir.types import contiguous_strides
from graphc.lower.convolution.sizes import Pair

#: Elements of the columns of some images that stay in the cache while they are added up.
_NEAR = 1 << 18
#: Pixels of a window's row that move together at least as fast as those of outputs side by side, which are a stride apart.
_LONG = 4


def convolve(k: CallBuilder, x: Operand, weight: Operand, out: Operand, geometry: Geometry) -> None:
    """out = weight [out, in kh kw] times columns [in kh kw, images and pixels]."""
    (n, co, *plane), (_, ci, kh, kw) = out.type.shape, weight.type.shape
    columns, turned = _columns(k, x, (kh, kw), (plane[0], plane[1]), geometry)
    pixels = math.prod(plane)
    made = out if n == 1 else k.temp_like(out, (co, n, pixels))
    sizes = {"m": co, "n": n * pixels, "k": ci * kh * kw}
    k.call("gemm", (weight, columns), (made,), **sizes, ta=False, tb=turned, accumulate=False)
    if made is not out:
        k.copy(made, out, (n, co, pixels), 0, (pixels, n * pixels, 1), 0, (co * pixels, pixels, 1))


def is_product(x: TensorType, weight: TensorType, y: TensorType, geometry: Geometry) -> bool:
    """Whether images, windows, and what they make are single pixels: a dense layer."""
    single = all(each.shape[2:] == (1, 1) for each in (x, weight, y))
    return single and geometry.groups == 1 and not any(geometry.pad)


def multiply(k: CallBuilder, x: Operand, weight: Operand, out: Operand) -> None:
    """out [N, out, 1, 1] = x [N, in, 1, 1] times the transposed weight."""
    (n, seen), co = x.type.shape[:2], weight.type.shape[0]
    k.call("gemm", (x, weight), (out,), m=n, n=co, k=seen, ta=False, tb=True, accumulate=False)


def multiply_back(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand) -> None:
    """dx = dy times weight."""
    (n, co), seen = dy.type.shape[:2], weight.type.shape[1]
    k.call("gemm", (dy, weight), (dx,), m=n, n=seen, k=co, ta=False, tb=False, accumulate=False)


def multiply_gradient(k: CallBuilder, dy: Operand, x: Operand, dw: Operand) -> None:
    """dw = the transposed dy times x."""
    (n, co), seen = dy.type.shape[:2], x.type.shape[1]
    k.call("gemm", (dy, x), (dw,), m=co, n=seen, k=n, ta=True, tb=False, accumulate=False)


def multiply_pixels(k: CallBuilder, x: Operand, weight: Operand, out: Operand, *, transposed: bool) -> None:
    """A convolution whose window is one pixel: for every image out = weight, or the transposed one, times x [in, pixels]."""
    (n, seen, *plane), (rows, columns, _, _) = x.type.shape, weight.type.shape
    sizes = {"m": out.type.shape[1], "n": math.prod(plane), "k": seen}
    shared = {"batch": n, "axes": (n,), "a": (rows * columns, 0, columns, 0)} if n > 1 else {}
    k.call("gemm", (weight, x), (out,), **sizes, ta=transposed, tb=False, accumulate=False, **shared)


def weight_gradient(k: CallBuilder, dy: Operand, x: Operand, dw: Operand, geometry: Geometry) -> None:
    """dw = dy [out, images and pixels] times the transposed columns."""
    (n, co, *plane), (_, ci, kh, kw) = dy.type.shape, dw.type.shape
    columns, turned = _columns(k, x, (kh, kw), (plane[0], plane[1]), geometry)
    sizes = {"m": co, "n": ci * kh * kw, "k": n * math.prod(plane)}
    k.call("gemm", (_rows(k, dy), columns), (dw,), **sizes, ta=False, tb=not turned, accumulate=False)


def convolve_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, geometry: Geometry) -> None:
    """The columns' gradient is the transposed weight times dy; each pixel sums over the taps that see it.

    Of so many images at a time that their columns stay in the cache.
    """
    n, pixels, seen = dy.type.shape[0], math.prod(dy.type.shape[2:]), math.prod(weight.type.shape[1:])
    parts = min(n, -(-n * pixels * seen // _NEAR))
    if _one_share(weight.type, dy.type, geometry):
        k.fill(dx, 0.0)
    for p in range(parts):
        first, end = p * n // parts, (p + 1) * n // parts
        columns = k.temp(TensorType("float32", (*weight.type.shape[1:], end - first, *dy.type.shape[2:])))
        sizes = {"m": seen, "n": (end - first) * pixels, "k": dy.type.shape[1]}
        given = _rows(k, dy, first, end)
        k.call("gemm", (weight, given), (columns,), **sizes, ta=True, tb=False, accumulate=False)
        _add_up(k, columns, dx, first, geometry)


def _add_up(k: CallBuilder, columns: Operand, dx: Operand, first: int, geometry: Geometry) -> None:
    """Images of dx from number `first` on are the sums of their columns.

    Taps that see different pixels, as those closer than a stride do, share a copy of the images; copies are added up.
    """
    (ci, kh, kw, n, oh, ow), (h, w) = columns.type.shape, dx.type.shape[2:]
    down, across = shares((kh, kw), (oh, ow), geometry)
    count = (1 + max(down), 1 + max(across))
    made = dx if count == (1, 1) else k.temp(TensorType("float32", (*count, n, ci, h, w)))
    start = first * ci * h * w if made is dx else 0
    if made is not dx:
        k.fill(made, 0.0)
    from_columns, to_made = _strides(columns), contiguous_strides((*count, n, ci, h, w))
    tap, image, pixel = from_columns[1:3], from_columns[3], from_columns[4:]
    sh, sw = geometry.stride
    for i in range(kh):
        for j in range(kw):
            (y, rows, y0), (z, wide, x0) = _met((h, w), (oh, ow), (i, j), geometry)
            k.copy(
                columns,
                made,
                (n, ci, rows, wide),
                i * tap[0] + j * tap[1] + y * pixel[0] + z,
                (image, from_columns[0], *pixel),
                start + down[i] * to_made[0] + across[j] * to_made[1] + y0 * w + x0,
                (*to_made[2:4], sh * w, sw),
            )
    if made is not dx:
        _add_copies(k, made, math.prod(count), dx, first * ci * h * w)


def _add_copies(k: CallBuilder, copies: Operand, count: int, dx: Operand, start: int) -> None:
    """dx from an element on is the sum of so many copies, one after the other."""
    size = copies.type.size // count
    walks = (Walk(copies, 0, (size, 1)),), Walk(dx, start, (0, 1))
    k.loop(lambda e, v: v, *walks, (count, size), combine="sum", axes=(0,))


def shares(kernel: Pair, plane: Pair, geometry: Geometry) -> tuple[list[int], list[int]]:
    """Along each axis the number of the copy of the images that a tap adds to: taps of one copy never see the same pixel.

    Taps of the same phase by the stride see some of each other's pixels if they are nearer than there are outputs.
    """
    found = []
    for size, outputs, stride, dilation in zip(kernel, plane, geometry.stride, geometry.dilation, strict=True):
        apart = dilation // math.gcd(stride, dilation)  # Outputs between a tap and the next one of its phase.
        count = max(1, -(-outputs // apart))
        met = [i * dilation % stride for i in range(size)]
        found.append([met[:i].count(m) % count for i, m in enumerate(met)])
    return found[0], found[1]


def _one_share(weight: TensorType, dy: TensorType, geometry: Geometry) -> bool:
    kernel, plane = ((each.shape[2], each.shape[3]) for each in (weight, dy))
    return not any(map(any, shares(kernel, plane, geometry)))


def _rows(k: CallBuilder, dy: Operand, first: int = 0, end: int | None = None) -> Operand:
    """Images of [N, out, OH, OW], all by default, as [out, images, OH, OW]."""
    n, co, oh, ow = dy.type.shape
    if n == 1:
        return dy
    count = (n if end is None else end) - first
    pixels, made = oh * ow, k.temp_like(dy, (co, count, oh, ow))
    k.copy(dy, made, (co, count, pixels), first * co * pixels, (pixels, co * pixels, 1), 0, (count * pixels, pixels, 1))
    return made


def _columns(k: CallBuilder, x: Operand, kernel: Pair, plane: Pair, geometry: Geometry) -> tuple[Operand, bool]:
    """[in, kh, kw, N, OH, OW]: the pixel that a tap meets for an output, or zero; and False. Or [N, OH, OW, in, kh, kw] and True,
    if these are moved in rows.
    """
    (n, ci, h, w), (top, bottom, left, right) = x.type.shape, geometry.pad
    (sh, sw), (dh, dw) = geometry.stride, geometry.dilation
    height, width = h + top + bottom, w + left + right
    image = x
    if any(geometry.pad):
        image = k.temp_like(x, (n, ci, height, width))
        k.fill(image, 0.0)
        k.copy(x, image, x.type.shape, 0, _strides(x), top * width + left, _strides(image))
    turned = in_rows(kernel, geometry)
    window, pixels = (ci, *kernel), (n, *plane)
    in_window, between = (height * width, dh * width, dw), (ci * height * width, sh * width, sw)
    shape, steps = (pixels + window, between + in_window) if turned else (window + pixels, in_window + between)
    made = k.temp_like(x, shape)
    k.copy(image, made, shape, 0, steps, 0, _strides(made))
    return made, turned


def in_rows(kernel: Pair, geometry: Geometry) -> bool:
    """Whether columns are moved a window's row at a time, as these are long and do not overlap."""
    return geometry.stride[1] >= kernel[1] >= _LONG and geometry.dilation[1] == 1


def _strides(x: Operand) -> tuple[int, ...]:
    return contiguous_strides(x.type.shape)


def _met(size: Pair, plane: Pair, tap: Pair, geometry: Geometry) -> list[tuple[int, int, int]]:
    """Along each axis the first output whose tap meets a pixel, how many do, and the first pixel."""
    found = []
    for n, out, k, d, s, before in zip(
        size, plane, tap, geometry.dilation, geometry.stride, geometry.pad[::2], strict=True
    ):
        shift = k * d - before
        first = min(out, max(0, -(shift // s)))
        end = max(first, min(out, (n - 1 - shift) // s + 1))
        found.append((first, end - first, first * s + shift))
    return found
