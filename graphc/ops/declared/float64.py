"""float64 where float32 has kernels of its own: convolutions, pools and softmax as plain loops over their sums.

Convolutions of many channels are products: see `float64_convolutions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle, Operand, ScalarRule, Walk
from graphc.ir.op import Attrs, Operands
from graphc.ir.types import TensorType, contiguous_strides
from graphc.ops.declared import float64_convolutions as products
from graphc.ops.declared.float64_windows import Windows, padded


def _whole(x: Operand, shape: Sequence[int] | None = None) -> Walk:
    """All of a contiguous operand, axis by axis of a shape with as many elements; its own by default."""
    return Walk(x, 0, contiguous_strides(x.type.shape if shape is None else tuple(shape)))


def _product(e: ExpressionBuilder, x: Handle, y: Handle) -> Handle:
    return e.mul(x, y)


def _same(e: ExpressionBuilder, x: Handle) -> Handle:
    return x


# ---- windows


def _apart(k: CallBuilder, dy: Operand, of: Windows, value: float) -> Walk:
    """dy [n, c, oh, ow] in a plane in which pixel (h, w) finds the window that reads it at tap (i, j) by going back.

    Gives the walk over (n, c, h, i, j, w); where no window is, there is `value`.
    """
    (height, width), (kh, kw), (dh, dw) = of.padded(), of.kernel, of.dilation
    down, right = (kh - 1) * dh, (kw - 1) * dw
    n, c, oh, ow = dy.type.shape
    shape = (n, c, height + down, width + right)
    made = k.temp(TensorType(dy.type.dtype, shape))
    k.fill(made, value)
    images, channels, row, _ = contiguous_strides(shape)
    target = Walk(made, down * row + right, (images, channels, of.stride[0] * row, of.stride[1]))
    k.loop(_same, (_whole(dy),), target, (n, c, oh, ow))
    start = (of.pad[0] + down) * row + of.pad[2] + right
    return Walk(made, start, (images, channels, row, -dh * row, -dw, 1))


# ---- convolutions


def convolve(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """out[n, g o, y, x] = the sum over c, i, j of image[n, g c, y sh + i dh, x sw + j dw] weight[g o, c, i, j]."""
    x, weight = inputs
    sizes = products.Sizes.of(x.type.shape, weight.type.shape, outputs[0].type.shape, attrs)
    if sizes.pays():
        products.convolve(k, x, weight, outputs[0], sizes)
        return
    of = Windows.of(x.type.shape, outputs[0].type.shape, weight.type.shape, attrs)
    image = padded(k, x, of, 0.0)
    (kh, kw), (oh, ow), ((ih, iw), (sh, sw)) = of.kernel, of.plane, (of.taps(), of.steps())
    images, channels, _, _ = contiguous_strides((*x.type.shape[:2], *of.padded()))
    o, c, i, j = contiguous_strides(weight.type.shape)
    n, out, rows, columns = contiguous_strides(outputs[0].type.shape)
    groups, (each, seen) = _groups(attrs), weight.type.shape[:2]
    each //= groups
    k.loop(
        _product,
        (
            Walk(image, 0, (images, seen * channels, 0, sh, channels, ih, iw, sw)),
            Walk(weight, 0, (0, each * o, o, 0, c, i, j, 0)),
        ),
        Walk(outputs[0], 0, (n, each * out, out, rows, 0, 0, 0, columns)),
        (x.type.shape[0], groups, each, oh, seen, kh, kw, ow),
        combine="sum",
        axes=(4, 5, 6),
    )


def _groups(attrs: Attrs) -> int:
    return int(attrs.get("groups", 1))


def convolve_input(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """The gradient for the images: each pixel sums over the windows that read it."""
    dy, weight = inputs
    sizes = products.Sizes.of(outputs[0].type.shape, weight.type.shape, dy.type.shape, attrs)
    if sizes.pays_back():
        products.convolve_input(k, dy, weight, outputs[0], sizes)
        return
    of = Windows.of(outputs[0].type.shape, dy.type.shape, weight.type.shape, attrs)
    plane = _apart(k, dy, of, 0.0)
    images, channels, row, up, back, column = plane.strides
    o, c, i, j = contiguous_strides(weight.type.shape)
    n, here, rows, columns = contiguous_strides(outputs[0].type.shape)
    groups, (each, seen) = _groups(attrs), weight.type.shape[:2]
    each //= groups
    k.loop(
        _product,
        (
            Walk(plane.operand, plane.offset, (images, each * channels, 0, row, channels, up, back, column)),
            Walk(weight, 0, (0, each * o, c, 0, o, i, j, 0)),
        ),
        Walk(outputs[0], 0, (n, seen * here, here, rows, 0, 0, 0, columns)),
        (of.image[0], groups, seen, of.image[2], each, *of.kernel, of.image[3]),
        combine="sum",
        axes=(4, 5, 6),
    )


def weight_gradient(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """The gradient for the weights: each sums over images and windows."""
    dy, x = inputs
    sizes = products.Sizes.of(x.type.shape, outputs[0].type.shape, dy.type.shape, attrs)
    if sizes.pays():
        products.weight_gradient(k, dy, x, outputs[0], sizes)
        return
    of = Windows.of(x.type.shape, dy.type.shape, outputs[0].type.shape, attrs)
    image = padded(k, x, of, 0.0)
    (ih, iw), (sh, sw) = of.taps(), of.steps()
    images, channels, _, _ = contiguous_strides((*x.type.shape[:2], *of.padded()))
    n, o, rows, columns = contiguous_strides(dy.type.shape)
    groups, (each, seen, kh, kw) = _groups(attrs), outputs[0].type.shape
    each //= groups
    out, c, i, j = contiguous_strides(outputs[0].type.shape)
    k.loop(
        _product,
        (
            Walk(dy, 0, (each * o, o, 0, 0, 0, n, rows, columns)),
            Walk(image, 0, (seen * channels, 0, channels, ih, iw, images, sh, sw)),
        ),
        Walk(outputs[0], 0, (each * out, out, c, i, j, 0, 0, 0)),
        (groups, each, seen, kh, kw, dy.type.shape[0], *of.plane),
        combine="sum",
        axes=(5, 6, 7),
    )


# ---- pools


def _seen(k: CallBuilder, image: Operand, of: Windows, target: Operand, combine: str) -> None:
    """target [n, c, oh, ow] = the sum or maximum of each window of padded images."""
    (ih, iw), (sh, sw) = of.taps(), of.steps()
    n, c = target.type.shape[:2]
    images, channels, _, _ = contiguous_strides((n, c, *of.padded()))
    a, b, rows, columns = contiguous_strides(target.type.shape)
    k.loop(
        _same,
        (Walk(image, 0, (images, channels, sh, ih, iw, sw)),),
        Walk(target, 0, (a, b, rows, 0, 0, columns)),
        (n, c, of.plane[0], *of.kernel, of.plane[1]),
        combine=combine,
        axes=(3, 4),
    )


def _averaged(k: CallBuilder, sums: Operand, target: Operand, of: Windows, attrs: Attrs) -> None:
    """target [n, c, oh, ow] = sums divided by the number of pixels that each window averages over."""
    if attrs["count_include_pad"]:
        count = math.prod(of.kernel)
        k.elementwise(lambda e, x: e.div(x, e.constant(count, x)), (sums,), target)
        return
    dtype = sums.type.dtype
    ones, counts = k.temp(TensorType(dtype, (1, 1, *of.image[2:]))), k.temp(TensorType(dtype, (1, 1, *of.plane)))
    k.fill(ones, 1)
    _seen(k, padded(k, ones, of, 0.0), of, counts, "sum")
    walk = Walk(counts, 0, (0, 0, of.plane[1], 1))
    k.loop(lambda e, x, y: e.div(x, y), (_whole(sums), walk), _whole(target), target.type.shape)


def max_pool(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """The largest of each window."""
    of = Windows.of(inputs[0].type.shape, outputs[0].type.shape, attrs["kernel"], attrs)
    _seen(k, padded(k, inputs[0], of, -math.inf), of, outputs[0], "max")


def avg_pool(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """The mean of each window."""
    of = Windows.of(inputs[0].type.shape, outputs[0].type.shape, attrs["kernel"], attrs)
    sums = k.temp(outputs[0].type)
    _seen(k, padded(k, inputs[0], of, 0.0), of, sums, "sum")
    _averaged(k, sums, outputs[0], of, attrs)


def _spread(k: CallBuilder, planes: Sequence[Walk], target: Operand, of: Windows, fn: ScalarRule) -> None:
    """target [n, c, h, w] = the sum over the taps (i, j), axes 3 and 4, of what `fn` makes of the windows there."""
    n, c, rows, columns = contiguous_strides(target.type.shape)
    domain = (*of.image[:3], *of.kernel, of.image[3])
    k.loop(fn, planes, Walk(target, 0, (n, c, rows, 0, 0, columns)), domain, combine="sum", axes=(3, 4))


def avg_pool_grad(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """dy divided by the number of pixels, added up at each of them."""
    of = Windows.of(outputs[0].type.shape, inputs[0].type.shape, attrs["kernel"], attrs)
    shares = k.temp(inputs[0].type)
    _averaged(k, inputs[0], shares, of, attrs)
    _spread(k, (_apart(k, shares, of, 0.0),), outputs[0], of, _same)


def max_pool_grad(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """dy at the first of the largest pixels of each window, or the first NaN."""
    x, dy = inputs
    of = Windows.of(x.type.shape, dy.type.shape, attrs["kernel"], attrs)
    image, most = padded(k, x, of, -math.inf), k.temp(dy.type)
    _seen(k, image, of, most, "max")
    inside = k.temp(TensorType(x.type.dtype, (1, 1, *of.image[2:])))
    k.fill(inside, 1)
    mask = padded(k, inside, of, 0.0)
    (ih, iw), (sh, sw) = of.taps(), of.steps()
    n, c, _, _ = x.type.shape
    images, channels, _, _ = contiguous_strides((n, c, *of.padded()))
    a, b, rows, columns = contiguous_strides(dy.type.shape)
    width = of.kernel[1]

    def tap(e: ExpressionBuilder, like: Handle) -> Handle:
        return e.add(e.mul(e.iota(3, like), e.constant(width, like)), e.iota(4, like))

    def place(e: ExpressionBuilder, pixel: Handle, largest: Handle, here: Handle) -> Handle:
        hit = e.logical_and(e.logical_or(e.eq(pixel, largest), e.ne(pixel, pixel)), e.ne(here, e.constant(0.0, here)))
        return e.select(hit, tap(e, pixel), e.constant(math.inf, pixel))

    first = k.temp(dy.type)
    k.loop(
        place,
        (
            Walk(image, 0, (images, channels, sh, ih, iw, sw)),
            Walk(most, 0, (a, b, rows, 0, 0, columns)),
            Walk(mask, 0, (0, 0, sh, ih, iw, sw)),
        ),
        Walk(first, 0, (a, b, rows, 0, 0, columns)),
        (n, c, of.plane[0], *of.kernel, of.plane[1]),
        combine="min",
        axes=(3, 4),
    )
    planes = (_apart(k, dy, of, 0.0), _apart(k, first, of, -1.0))
    _spread(k, planes, outputs[0], of, lambda e, g, at: e.select(e.eq(at, tap(e, at)), g, e.constant(0.0, g)))


# ---- softmax over rows


class _Rows:
    """Operands as rows [rows, cols]."""

    def __init__(self, k: CallBuilder, type: TensorType) -> None:
        self.k, self.dtype, self.cols = k, type.dtype, type.shape[-1]
        self.rows = math.prod(type.shape[:-1])

    def column(self) -> Operand:
        return self.k.temp(TensorType(self.dtype, (self.rows,)))

    def _walk(self, x: Operand) -> Walk:
        """All of it, or for each row its number."""
        return Walk(x, 0, (1, 0) if x.type.size == self.rows else (self.cols, 1))

    def each(self, fn: ScalarRule, inputs: Sequence[Operand], target: Operand) -> Operand:
        """target = fn(e, *inputs)."""
        self.k.loop(fn, [self._walk(x) for x in inputs], self._walk(target), (self.rows, self.cols))
        return target

    def fold(self, fn: ScalarRule, inputs: Sequence[Operand], combine: str) -> Operand:
        """A number for each row."""
        made = self.column()
        walks = [self._walk(x) for x in inputs]
        self.k.loop(fn, walks, Walk(made, 0, (1, 0)), (self.rows, self.cols), combine=combine, axes=(1,))
        return made

    def powers(self, x: Operand, target: Operand) -> tuple[Operand, Operand]:
        """target = e^(x - the row's maximum); each row's maximum, and the sum of its powers."""
        most = self.fold(_same, (x,), "max")
        self.each(lambda e, v, m: e.exp(e.sub(v, m)), (x, most), target)
        return most, self.fold(_same, (target,), "sum")

    def log_softmax(self, x: Operand, target: Operand) -> Operand:
        most = self.fold(_same, (x,), "max")
        total = self.fold(lambda e, v, m: e.exp(e.sub(v, m)), (x, most), "sum")
        return self.each(lambda e, v, m, s: e.sub(e.sub(v, m), e.log(s)), (x, most, total), target)


def softmax(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    rows = _Rows(k, inputs[0].type)
    made = k.temp(inputs[0].type)
    _, total = rows.powers(inputs[0], made)
    rows.each(lambda e, v, s: e.div(v, s), (made, total), outputs[0])


def log_softmax(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    _Rows(k, inputs[0].type).log_softmax(inputs[0], outputs[0])


def softmax_grad(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    rows = _Rows(k, inputs[0].type)
    total = rows.fold(_product, inputs, "sum")
    rows.each(lambda e, y, dy, s: e.mul(y, e.sub(dy, s)), (*inputs, total), outputs[0])


def log_softmax_grad(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    rows = _Rows(k, inputs[0].type)
    total = rows.fold(_same, inputs[1:], "sum")
    rows.each(lambda e, y, dy, s: e.sub(dy, e.mul(e.exp(y), s)), (*inputs, total), outputs[0])


def cross_entropy(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """Loss per row, and gradient, of probabilities."""
    x, shares = inputs
    rows = _Rows(k, x.type)
    made = k.temp(x.type)
    most, total = rows.powers(x, made)

    def share(e: ExpressionBuilder, v: Handle, p: Handle, m: Handle, s: Handle) -> Handle:
        return e.mul(e.sub(e.log(s), e.sub(v, m)), p)

    loss = rows.fold(share, (x, shares, most, total), "sum")
    k.elementwise(_same, (loss,), outputs[0])
    rows.each(lambda e, v, p, s: e.sub(e.div(v, s), p), (made, shares, total), outputs[1])


def sparse_cross_entropy(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """Loss per row, and gradient, of class numbers; NaN where there is no such class."""
    x, labels = inputs
    rows = _Rows(k, x.type)
    made = k.temp(x.type)
    most, total = rows.powers(x, made)

    def inside(e: ExpressionBuilder, label: Handle) -> Handle:
        return e.logical_and(e.ge(label, e.constant(0, label)), e.lt(label, e.constant(rows.cols, label)))

    def chosen(e: ExpressionBuilder, v: Handle, label: Handle) -> Handle:
        return e.select(e.eq(e.iota(1, label), label), v, e.constant(0.0, v))

    def loss(e: ExpressionBuilder, v: Handle, m: Handle, s: Handle, label: Handle) -> Handle:
        return e.select(inside(e, label), e.sub(e.log(s), e.sub(v, m)), e.constant(math.nan, v))

    def gradient(e: ExpressionBuilder, v: Handle, s: Handle, label: Handle) -> Handle:
        hit = e.cast(e.eq(e.iota(1, label), label), e.dtype(v))
        return e.select(inside(e, label), e.sub(e.div(v, s), hit), e.constant(math.nan, v))

    own = rows.fold(chosen, (x, labels), "sum")
    k.elementwise(loss, (own, most, total, labels), outputs[0])
    rows.each(gradient, (made, total, labels), outputs[1])
