"""Convolution and pooling over images [N, C, H, W].

`pad` is (top, bottom, left, right), `stride` and `dilation` are (vertical, horizontal). The layer works out "same" padding
(graphc.nn); here padding is always explicit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, LoweringError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.op import Attrs, Kernel, Types
from graphc.ir.types import FLOATS
from graphc.ops import phases, winograd
from graphc.ops.conv_sizes import Sizes
from graphc.ops.rules import Array, check_dtype, contiguous_strides, floats, same_dtype

Pair = tuple[int, int]


def _output_size(op_name: str, size: int, pad: int, kernel: int, stride: int, dilation: int, what: str) -> int:
    reach = dilation * (kernel - 1) + 1
    if size + pad < reach:
        raise ShapeError(
            f"{op_name}: the window does not fit: {what} is {size} + {pad} padding, the window reaches over {reach}",
            code="GC104",
            help="use a smaller kernel or dilation, more padding (pad_mode='same'), or a larger input",
        )
    return (size + pad - reach) // stride + 1


def _output_plane(op_name: str, plane: tuple[int, ...], kernel: Pair, attrs: Attrs) -> Pair:
    pad, stride, dilation = attrs["pad"], attrs["stride"], attrs.get("dilation", (1, 1))
    if min(stride) < 1 or min(dilation) < 1 or min(kernel) < 1 or min(pad) < 0:
        raise ArgumentValueError(
            f"{op_name}: kernel {kernel}, stride {stride} and dilation {dilation} must be positive, pad {pad} not negative"
        )
    return (
        _output_size(op_name, plane[0], pad[0] + pad[1], kernel[0], stride[0], dilation[0], "height"),
        _output_size(op_name, plane[1], pad[2] + pad[3], kernel[1], stride[1], dilation[1], "width"),
    )


# ---- convolution


def _conv_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, w = types
    dtype = same_dtype("Conv2D", types)
    check_dtype("Conv2D", "x", x, FLOATS)
    if x.rank != 4 or w.rank != 4:
        raise ShapeError(f"Conv2D: x is {x} and weight is {w}, expected [N,C,H,W] and [out,in,kh,kw]")
    if x.shape[1] != w.shape[1]:
        raise ShapeError(
            f"Conv2D: x has {x.shape[1]} channels, weight expects {w.shape[1]}",
            details=[f"x: {x}   weight: {w}"],
        )
    plane = _output_plane("Conv2D", x.shape[2:], (w.shape[2], w.shape[3]), attrs)
    return (TensorType(dtype, (x.shape[0], w.shape[0], *plane)),)


def _windows(x: Array, kernel: Pair, attrs: Attrs, value: float = 0.0) -> Array:
    """View [N, C, OH, OW, kh, kw] of the padded image."""
    top, bottom, left, right = attrs["pad"]
    (sh, sw), (dh, dw) = attrs["stride"], attrs.get("dilation", (1, 1))
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)
    reach = (dh * (kernel[0] - 1) + 1, dw * (kernel[1] - 1) + 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(2, 3))
    return windows[:, :, ::sh, ::sw, ::dh, ::dw]


def _conv_ref(x: Array, weight: Array, **attrs: Any) -> Array:
    windows = _windows(x, weight.shape[2:], attrs)
    return np.asarray(np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True))


def _conv_input_ref(dy: Array, weight: Array, shape: tuple[int, ...], **attrs: Any) -> Array:
    top, bottom, left, right = attrs["pad"]
    (sh, sw), (dh, dw) = attrs["stride"], attrs["dilation"]
    dx = np.zeros((shape[0], shape[1], shape[2] + top + bottom, shape[3] + left + right), dy.dtype)
    oh, ow = dy.shape[2:]
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            part = np.einsum("nohw,oc->nchw", dy, weight[:, :, i, j], optimize=True)
            dx[:, :, i * dh : i * dh + sh * oh : sh, j * dw : j * dw + sw * ow : sw][:, :, :oh, :ow] += part
    return dx[:, :, top : top + shape[2], left : left + shape[3]]


def _conv_filter_ref(dy: Array, x: Array, shape: tuple[int, ...], **attrs: Any) -> Array:
    windows = _windows(x, (shape[2], shape[3]), attrs)[:, :, : dy.shape[2], : dy.shape[3]]
    return np.asarray(np.einsum("nchwij,nohw->ocij", windows, dy, optimize=True))


def _conv_attrs(n: NodeView) -> dict[str, Any]:
    return {"pad": n.pad, "stride": n.stride, "dilation": n.dilation}


def _conv_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    attrs = _conv_attrs(n)
    return [
        g.Conv2DBackpropInput(dy, n.weight, shape=n.type(n.x).shape, **attrs),
        g.Conv2DBackpropFilter(dy, n.x, shape=n.type(n.weight).shape, **attrs),
    ]


def _square(name: str, attrs: Attrs) -> tuple[int, int]:
    (sh, sw), (dh, dw) = attrs["stride"], attrs["dilation"]
    if sh != sw or dh != dw:
        raise LoweringError(f"{name}: there is a kernel for equal vertical and horizontal stride and dilation only")
    return sh, dh


def _conv_lower(k: Any, inputs: Any, outputs: Any, attrs: Attrs) -> None:
    stride, dilation = _square("Conv2D", attrs)
    (n, ci, h, w), (co, _, kh, kw) = k.type(inputs[0]).shape, k.type(inputs[1]).shape
    _, _, oh, ow = k.type(outputs[0]).shape
    top, _, left, _ = attrs["pad"]
    z = Sizes(n, ci, co, h, w, kh, kw, oh, ow, top, left)
    if stride == dilation == 1 and (name := winograd.kernel(z, transposed=False)) != "conv2d":
        winograd.convolve(k, name, z, *inputs, *outputs, transposed=False)
        return
    x, stride, h, w = phases.split(k, inputs[0], attrs["pad"], stride, (kh, kw))
    sizes = dict(n=n, ci=ci, co=co, h=h, w=w, kh=kh, kw=kw, oh=oh, ow=ow)
    k.call("conv2d", (x, inputs[1]), outputs, **sizes, stride=stride, dilation=dilation, transposed=False)


def _conv_filter_lower(k: Any, inputs: Any, outputs: Any, attrs: Attrs) -> None:
    stride, dilation = _square("Conv2DBackpropFilter", attrs)
    (n, co, oh, ow), (_, ci, kh, kw) = k.type(inputs[0]).shape, k.type(outputs[0]).shape
    top, _, left, _ = attrs["pad"]
    _, _, h, w = k.type(inputs[1]).shape
    z = Sizes(n, ci, co, h, w, kh, kw, oh, ow, top, left)
    if stride == dilation == 1 and (name := winograd.gradient_kernel(z)) != "conv2d_filter_grad":
        winograd.weight_gradient(k, name, z, inputs[1], inputs[0], outputs[0])
        return
    x, stride, h, w = phases.split(k, inputs[1], attrs["pad"], stride, (kh, kw))
    sizes = dict(n=n, ci=ci, co=co, h=h, w=w, kh=kh, kw=kw, oh=oh, ow=ow)
    k.call("conv2d_filter_grad", (x, inputs[0]), outputs, **sizes, stride=stride, dilation=dilation)


def _spread(k: Any, x: Any, stride: int) -> Any:
    """x with stride - 1 zeros between neighbours."""
    n, c, h, w = k.type(x).shape
    if stride == 1:
        return x
    shape = (n, c, (h - 1) * stride + 1, (w - 1) * stride + 1)
    strides = contiguous_strides(shape)
    wide = k.temp(TensorType("float32", shape))
    k.fill(wide, 0.0)
    k.copy(x, wide, (n, c, h, w), 0, contiguous_strides((n, c, h, w)), 0, (*strides[:2], strides[2] * stride, stride))
    return wide


def _conv_input_lower(k: Any, inputs: Any, outputs: Any, attrs: Attrs) -> None:
    """dx is a convolution of dy, spread out by the stride inside a zero border, with the flipped weight."""
    stride, dilation = _square("Conv2DBackpropInput", attrs)
    (n, co, oh, ow), (_, ci, kh, kw) = k.type(inputs[0]).shape, k.type(inputs[1]).shape
    _, _, h, w = k.type(outputs[0]).shape
    hz, wz = h + (kh - 1) * dilation, w + (kw - 1) * dilation
    top, left = (kh - 1) * dilation - attrs["pad"][0], (kw - 1) * dilation - attrs["pad"][2]
    z = Sizes(n, co, ci, (oh - 1) * stride + 1, (ow - 1) * stride + 1, kh, kw, h, w, top, left)
    if dilation == 1 and (name := winograd.kernel(z, transposed=True)) != "conv2d":
        winograd.convolve(k, name, z, _spread(k, inputs[0], stride), inputs[1], outputs[0], transposed=True)
        return
    source = inputs[0]
    if (stride, top, left, oh, ow) != (1, 0, 0, hz, wz):
        source = k.temp(TensorType("float32", (n, co, hz, wz)))
        k.fill(source, 0.0)
        # Rows of dy whose place lies inside the border.
        y0, x0 = max(0, -(top // stride)), max(0, -(left // stride))
        rows = min(oh, (hz - 1 - top) // stride + 1) - y0
        columns = min(ow, (wz - 1 - left) // stride + 1) - x0
        if rows > 0 and columns > 0:
            k.copy(
                inputs[0],
                source,
                (n, co, rows, columns),
                y0 * ow + x0,
                (co * oh * ow, oh * ow, ow, 1),
                (y0 * stride + top) * wz + x0 * stride + left,
                (co * hz * wz, hz * wz, stride * wz, stride),
            )
    sizes = dict(n=n, ci=co, co=ci, h=hz, w=wz, kh=kh, kw=kw, oh=h, ow=w)
    # Rows of the border that hold zeros only, which the kernel may skip.
    border = (max(0, top), max(0, hz - top - oh)) if (stride, dilation) == (1, 1) else (0, 0)
    k.call("conv2d", (source, inputs[1]), outputs, **sizes, stride=1, dilation=dilation, transposed=True, border=border)


_CONV_CASES: tuple[Mapping[str, Any], ...] = (
    {"x": (2, 1, 9, 20), "w": (3, 1, 3, 3), "pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)},
    {"x": (2, 3, 6, 7), "w": (4, 3, 3, 2), "pad": (1, 1, 0, 1), "stride": (1, 1), "dilation": (1, 1)},
    {"x": (1, 2, 9, 8), "w": (5, 2, 3, 3), "pad": (1, 0, 1, 1), "stride": (2, 2), "dilation": (1, 1)},
    {"x": (2, 2, 8, 8), "w": (2, 2, 1, 1), "pad": (0, 0, 0, 0), "stride": (2, 2), "dilation": (1, 1)},
    {"x": (1, 1, 9, 9), "w": (2, 1, 3, 3), "pad": (2, 2, 2, 2), "stride": (1, 1), "dilation": (2, 2)},
    {"x": (1, 1, 10, 10), "w": (1, 1, 3, 3), "pad": (3, 0, 4, 0), "stride": (3, 3), "dilation": (1, 1)},
    # Sums of many terms; small ones, so that errors are.
    {
        "x": (2, 16, 31, 32),
        "w": (12, 16, 3, 3),
        "pad": (1, 1, 1, 1),
        "stride": (1, 1),
        "dilation": (1, 1),
        "scale": 0.1,
    },
    {
        "x": (1, 12, 16, 15),
        "w": (16, 12, 3, 3),
        "pad": (0, 1, 1, 0),
        "stride": (2, 2),
        "dilation": (1, 1),
        "scale": 0.1,
    },
)


def _conv_samples(first: str, second: str) -> Iterator[Sample]:
    for case in _CONV_CASES:
        attrs = {name: case[name] for name in ("pad", "stride", "dilation")}
        plane = _output_plane("Conv2D", case["x"][2:], case["w"][2:], attrs)
        shapes = {"x": case["x"], "w": case["w"], "dy": (case["x"][0], case["w"][0], *plane)}
        wanted = {"x", "w", "dy"} - {first, second}
        if "dy" not in wanted:
            attrs["shape"] = shapes[wanted.pop()]
        operands = (floats(*shapes[first]), floats(*shapes[second], seed=1))
        scale = np.float32(case.get("scale", 1))
        yield Sample((scale * operands[0], scale * operands[1]), attrs, grad=(0, 1))


_CONV_ATTRS = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}

op(
    "Conv2D",
    "x weight",
    attrs=_CONV_ATTRS,
    infer=_conv_infer,
    ref=_conv_ref,
    grad=_conv_grad,
    lower=Kernel(_conv_lower),
    samples=lambda: _conv_samples("x", "w"),
    doc="cross-correlation of images with [out, in, kh, kw] weights",
)
op(
    "Conv2DBackpropInput",
    "dy weight",
    attrs={"shape": REQUIRED, **_CONV_ATTRS},
    infer=lambda types, attrs: (TensorType(types[0].dtype, attrs["shape"]),),
    ref=_conv_input_ref,
    grad=lambda g, n, d: [
        g.Conv2D(d, n.weight, **_conv_attrs(n)),
        g.Conv2DBackpropFilter(n.dy, d, shape=n.type(n.weight).shape, **_conv_attrs(n)),
    ],
    lower=Kernel(_conv_input_lower),
    samples=lambda: _conv_samples("dy", "w"),
    doc="gradient of Conv2D for its images",
)
op(
    "Conv2DBackpropFilter",
    "dy x",
    attrs={"shape": REQUIRED, **_CONV_ATTRS},
    infer=lambda types, attrs: (TensorType(types[0].dtype, attrs["shape"]),),
    ref=_conv_filter_ref,
    grad=lambda g, n, d: [
        g.Conv2D(n.x, d, **_conv_attrs(n)),
        g.Conv2DBackpropInput(n.dy, d, shape=n.type(n.x).shape, **_conv_attrs(n)),
    ],
    lower=Kernel(_conv_filter_lower),
    samples=lambda: _conv_samples("dy", "x"),
    doc="gradient of Conv2D for its weights",
)


# ---- pooling


def _pool_infer(name: str) -> Any:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        x = types[0]
        check_dtype(name, "x", x, FLOATS)
        if x.rank != 4:
            raise ShapeError(f"{name}: x is {x}, expected [N,C,H,W]")
        kernel, pad = attrs["kernel"], attrs["pad"]
        if max(pad[:2]) >= kernel[0] or max(pad[2:]) >= kernel[1]:
            raise ArgumentValueError(f"{name}: pad {pad} must be smaller than the window {kernel}")
        return (TensorType(x.dtype, (*x.shape[:2], *_output_plane(name, x.shape[2:], kernel, attrs))),)

    return infer


def _max_ref(x: Array, kernel: Pair, **attrs: Any) -> Array:
    return np.asarray(_windows(x, kernel, attrs, -np.inf).max(axis=(4, 5)))


def _max_grad_ref(x: Array, dy: Array, kernel: Pair, **attrs: Any) -> Array:
    windows = _windows(x, kernel, attrs, -np.inf)
    flat = windows.reshape(*windows.shape[:4], -1)
    # argmax takes the first maximum in row-major window order, and NaN before any number.
    hit = flat.argmax(-1)
    # Where everything is -inf the first pixel of the image wins, not the padding.
    inside = _windows(np.ones((1, 1, *x.shape[2:])), kernel, attrs).reshape(1, 1, *windows.shape[2:4], -1)
    hit = np.where((flat == -np.inf).all(-1), inside.argmax(-1), hit)
    return _scatter(x, dy[..., None] * (hit[..., None] == np.arange(kernel[0] * kernel[1])), kernel, attrs)


def _scatter(x: Array, parts: Array, kernel: Pair, attrs: Mapping[str, Any]) -> Array:
    """Add parts[..., tap] back to the image positions that the windows read."""
    top, bottom, left, right = attrs["pad"]
    sh, sw = attrs["stride"]
    n, c, h, w = x.shape
    dx = np.zeros((n, c, h + top + bottom, w + left + right), parts.dtype)
    oh, ow = parts.shape[2:4]
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            view = dx[:, :, i : i + sh * (oh - 1) + 1 : sh, j : j + sw * (ow - 1) + 1 : sw]
            view += parts[..., i * kernel[1] + j]
    return dx[:, :, top : top + h, left : left + w]


def _counts(x: Array, kernel: Pair, attrs: Mapping[str, Any]) -> Array:
    """How many pixels each window averages over."""
    if attrs["count_include_pad"]:
        return np.asarray(float(kernel[0] * kernel[1]))
    return np.asarray(_windows(np.ones((1, 1, *x.shape[2:])), kernel, attrs).sum(axis=(4, 5)))


def _avg_ref(x: Array, kernel: Pair, **attrs: Any) -> Array:
    return np.asarray(_windows(x, kernel, attrs).sum(axis=(4, 5)) / _counts(x, kernel, attrs))


def _avg_grad_ref(dy: Array, shape: tuple[int, ...], kernel: Pair, **attrs: Any) -> Array:
    x = np.empty(shape, dy.dtype)
    part = dy / _counts(x, kernel, attrs)
    return _scatter(x, np.repeat(part[..., None], kernel[0] * kernel[1], -1), kernel, attrs)


def _pool_lower(name: str) -> Any:
    def lower(k: Any, inputs: Any, outputs: Any, attrs: Attrs) -> None:
        n, c, h, w = k.type(outputs[0] if name.endswith("grad") else inputs[0]).shape
        _, _, oh, ow = k.type(inputs[-1] if name.endswith("grad") else outputs[0]).shape
        (kh, kw), (sh, sw) = attrs["kernel"], attrs["stride"]
        sizes = dict(
            planes=n * c,
            h=h,
            w=w,
            oh=oh,
            ow=ow,
            kh=kh,
            kw=kw,
            sh=sh,
            sw=sw,
            pt=attrs["pad"][0],
            pl=attrs["pad"][2],
        )
        if "count_include_pad" in attrs:
            sizes["count_include_pad"] = attrs["count_include_pad"]
        k.call(name, inputs, outputs, **sizes)

    return lower


def _pool_samples(extra: Mapping[str, Any], with_dy: bool) -> Iterator[Sample]:
    cases: tuple[tuple[tuple[int, ...], Pair, Pair, tuple[int, ...]], ...] = (
        ((2, 3, 8, 40), (2, 2), (2, 2), (0, 0, 0, 0)),
        ((1, 2, 7, 9), (2, 2), (2, 2), (0, 0, 0, 0)),
        ((1, 1, 7, 8), (3, 3), (2, 2), (1, 1, 0, 1)),
        ((2, 1, 5, 6), (3, 2), (1, 1), (0, 0, 0, 0)),
        ((1, 1, 4, 4), (4, 4), (4, 4), (0, 0, 0, 0)),
        ((1, 2, 3, 3), (1, 1), (1, 1), (0, 0, 0, 0)),
    )
    for shape, kernel, stride, pad in cases:
        attrs = {"kernel": kernel, "stride": stride, "pad": pad, **extra}
        # Distinct numbers: finite differences must not cross a tie.
        x = np.random.default_rng(1).permutation(math.prod(shape)).reshape(shape).astype(np.float32) / 7
        if not with_dy:
            yield Sample((x,), attrs, grad=(0,))
        else:
            plane = _output_plane("MaxPool", shape[2:], kernel, attrs)
            yield Sample((x, floats(*shape[:2], *plane)), attrs, grad=(1,))


def _pool_attrs(n: NodeView) -> dict[str, Any]:
    return dict(n.node.attrs)


_POOL_ATTRS = {"kernel": REQUIRED, "stride": REQUIRED, "pad": (0, 0, 0, 0)}
_AVG_ATTRS = {**_POOL_ATTRS, "count_include_pad": True}

op(
    "MaxPool",
    "x",
    attrs=_POOL_ATTRS,
    infer=_pool_infer("MaxPool"),
    ref=_max_ref,
    grad=lambda g, n, dy: [g.MaxPoolGrad(n.x, dy, **_pool_attrs(n))],
    lower=Kernel(_pool_lower("max_pool")),
    samples=lambda: _pool_samples({}, False),
    doc="largest pixel of each window, padding left out; NaN if there is one",
)
op(
    "MaxPoolGrad",
    "x dy",
    attrs=_POOL_ATTRS,
    infer=lambda types, attrs: (types[0],),
    ref=_max_grad_ref,
    lower=Kernel(_pool_lower("max_pool_grad")),
    samples=lambda: (Sample(s.operands, s.attrs) for s in _pool_samples({}, True)),
    doc="dy at the first maximum of each window; has no gradient itself",
)
op(
    "AvgPool",
    "x",
    attrs=_AVG_ATTRS,
    infer=_pool_infer("AvgPool"),
    ref=_avg_ref,
    grad=lambda g, n, dy: [g.AvgPoolGrad(dy, shape=n.type(n.x).shape, **_pool_attrs(n))],
    lower=Kernel(_pool_lower("avg_pool")),
    samples=lambda: (s for flag in (True, False) for s in _pool_samples({"count_include_pad": flag}, False)),
    doc="mean of each window; count_include_pad says whether padding counts",
)
op(
    "AvgPoolGrad",
    "dy",
    attrs={"shape": REQUIRED, **_AVG_ATTRS},
    infer=lambda types, attrs: (TensorType(types[0].dtype, attrs["shape"]),),
    ref=_avg_grad_ref,
    grad=lambda g, n, d: [g.AvgPool(d, **{k: v for k, v in _pool_attrs(n).items() if k != "shape"})],
    lower=Kernel(_pool_lower("avg_pool_grad")),
    samples=lambda: (
        Sample((s.operands[1],), {"shape": s.operands[0].shape, **s.attrs}, grad=(0,))
        for flag in (True, False)
        for s in _pool_samples({"count_include_pad": flag}, True)
    ),
    doc="dy spread evenly over each window",
)
