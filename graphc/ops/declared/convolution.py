"""Convolution of images [N, C, H, W], and its two gradients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphc.errors import LoweringError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.op import Attrs, Kernel, Types
from graphc.ir.types import FLOATS, contiguous_strides
from graphc.ops import phases, winograd
from graphc.ops.conv_sizes import Sizes
from graphc.ops.declared.rules import Array, check_dtype, floats, same_dtype
from graphc.ops.declared.windows import output_plane, windows

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
    plane = output_plane("Conv2D", x.shape[2:], (w.shape[2], w.shape[3]), attrs)
    return (TensorType(dtype, (x.shape[0], w.shape[0], *plane)),)


def _conv_ref(x: Array, weight: Array, **attrs: Any) -> Array:
    seen = windows(x, weight.shape[2:], attrs)
    return np.asarray(np.einsum("nchwij,ocij->nohw", seen, weight, optimize=True))


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
    seen = windows(x, (shape[2], shape[3]), attrs)[:, :, : dy.shape[2], : dy.shape[3]]
    return np.asarray(np.einsum("nchwij,nohw->ocij", seen, dy, optimize=True))


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
        plane = output_plane("Conv2D", case["x"][2:], case["w"][2:], attrs)
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
