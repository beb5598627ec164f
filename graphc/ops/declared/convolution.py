"""Convolution of images [N, C, H, W], and its two gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import Geometry
from graphc.ir.op import Attrs, BatchRule, Kernel, TypeRule, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared import doubles
from graphc.ops.declared.batching import Mapped, folding, loop
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


def _products(axes: str, x: Array, y: Array, terms: int) -> Array:
    """Sums of so many products, in float64 if they are long."""
    wide = np.float64 if terms > 1024 and x.dtype == np.float32 else x.dtype
    made = np.einsum(axes, x.astype(wide, copy=False), y.astype(wide, copy=False), optimize=True)
    return np.asarray(made).astype(x.dtype, copy=False)


def _conv_ref(x: Array, weight: Array, **attrs: Any) -> Array:
    seen = windows(x, weight.shape[2:], attrs)
    return _products("nchwij,ocij->nohw", seen, weight, math.prod(weight.shape[1:]))


def _conv_input_ref(dy: Array, weight: Array, shape: tuple[int, ...], **attrs: Any) -> Array:
    top, bottom, left, right = attrs["pad"]
    (sh, sw), (dh, dw) = attrs["stride"], attrs["dilation"]
    dx = np.zeros((shape[0], shape[1], shape[2] + top + bottom, shape[3] + left + right), dy.dtype)
    oh, ow = dy.shape[2:]
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            part = _products("nohw,oc->nchw", dy, weight[:, :, i, j], weight.shape[0])
            dx[:, :, i * dh : i * dh + sh * oh : sh, j * dw : j * dw + sw * ow : sw][:, :, :oh, :ow] += part
    return dx[:, :, top : top + shape[2], left : left + shape[3]]


def _conv_filter_ref(dy: Array, x: Array, shape: tuple[int, ...], **attrs: Any) -> Array:
    seen = windows(x, (shape[2], shape[3]), attrs)[:, :, : dy.shape[2], : dy.shape[3]]
    return _products("nchwij,nohw->ocij", seen, dy, dy.size // dy.shape[1])


def _conv_attrs(n: NodeView) -> dict[str, Any]:
    return {"pad": n.pad, "stride": n.stride, "dilation": n.dilation}


def _conv_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    attrs = _conv_attrs(n)
    return [
        g.Conv2DBackpropInput(dy, n.weight, shape=n.type(n.x).shape, **attrs),
        g.Conv2DBackpropFilter(dy, n.x, shape=n.type(n.weight).shape, **attrs),
    ]


def _conv_batch(g: Builder, m: Mapped) -> Sequence[Value]:
    """More images; for mapped weights more output channels; for both a loop."""
    if all(m.mapped):
        return loop(g, m)
    if m.mapped[0]:
        return folding(0)(g, m)
    (y,) = m.again(m.inputs[0], m.folded(m.inputs[1], 0))
    return [m.unfolded(y, 1)]


def _input_batch(g: Builder, m: Mapped) -> Sequence[Value]:
    """More images; for mapped weights more input channels; for both a loop."""
    if all(m.mapped):
        return loop(g, m)
    if m.mapped[0]:
        return folding(0, shape=True)(g, m)
    n, c, *plane = m.shape
    (dx,) = m.again(m.inputs[0], m.folded(m.inputs[1], 1), shape=(n, m.size * c, *plane))
    return [m.unfolded(dx, 1)]


def _filter_batch(g: Builder, m: Mapped) -> Sequence[Value]:
    """More channels of the side that is mapped; for both a loop."""
    if all(m.mapped):
        return loop(g, m)
    axis = 0 if m.mapped[0] else 1
    shape = tuple(m.size * d if i == axis else d for i, d in enumerate(m.shape))
    (dw,) = m.again(
        *(m.folded(x, 1) if mapped else x for x, mapped in zip(m.inputs, m.mapped, strict=True)), shape=shape
    )
    return [m.unfolded(dw, axis)]


def _geometry(attrs: Attrs) -> Geometry:
    return Geometry(attrs["pad"], attrs["stride"], attrs["dilation"], attrs.get("groups", 1))


_CONV_CASES: tuple[Mapping[str, Any], ...] = (
    {"x": (2, 1, 9, 20), "w": (3, 1, 3, 3), "pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)},
    {"x": (2, 3, 6, 7), "w": (4, 3, 3, 2), "pad": (1, 1, 0, 1), "stride": (1, 1), "dilation": (1, 1)},
    {"x": (1, 2, 9, 8), "w": (5, 2, 3, 3), "pad": (1, 0, 1, 1), "stride": (2, 2), "dilation": (1, 1)},
    {"x": (2, 2, 8, 8), "w": (2, 2, 1, 1), "pad": (0, 0, 0, 0), "stride": (2, 2), "dilation": (1, 1)},
    {"x": (1, 1, 9, 9), "w": (2, 1, 3, 3), "pad": (2, 2, 2, 2), "stride": (1, 1), "dilation": (2, 2)},
    {"x": (1, 1, 10, 10), "w": (1, 1, 3, 3), "pad": (3, 0, 4, 0), "stride": (3, 3), "dilation": (1, 1)},
    {"x": (2, 3, 8, 7), "w": (2, 3, 4, 4), "pad": (1, 1, 1, 2), "stride": (2, 2), "dilation": (1, 1)},
    {"x": (1, 2, 11, 9), "w": (3, 2, 2, 5), "pad": (2, 1, 0, 3), "stride": (3, 3), "dilation": (1, 1)},
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
    return _samples_of(_CONV_CASES, first, second)


def _samples_of(cases: Sequence[Mapping[str, Any]], first: str, second: str) -> Iterator[Sample]:
    for case in cases:
        attrs = {"dilation": (1, 1)} | {k: case[k] for k in ("pad", "stride", "dilation", "groups") if k in case}
        plane = output_plane("Conv2D", case["x"][2:], case["w"][2:], attrs)
        shapes = {"x": case["x"], "w": case["w"], "dy": (case["x"][0], case["w"][0], *plane)}
        wanted = {"x", "w", "dy"} - {first, second}
        if "dy" not in wanted:
            attrs["shape"] = shapes[wanted.pop()]
        operands = (floats(*shapes[first]), floats(*shapes[second], seed=1))
        scale = np.float32(case.get("scale", 1))
        yield Sample((scale * operands[0], scale * operands[1]), attrs, grad=(0, 1))


def _adjoint_infer(name: str) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        dtype = same_dtype(name, types)
        check_dtype(name, "dy", types[0], FLOATS)
        return (TensorType(dtype, attrs["shape"]),)

    return infer


_CONV_ATTRS = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}

op(
    "Conv2D",
    "x weight",
    attrs=_CONV_ATTRS,
    infer=_conv_infer,
    ref=_conv_ref,
    grad=_conv_grad,
    lower=Kernel(
        lambda k, inputs, outputs, attrs: k.convolve(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
        double=doubles.convolve,
    ),
    batch=_conv_batch,
    samples=lambda: _conv_samples("x", "w"),
    doc="cross-correlation of images with [out, in, kh, kw] weights",
)

op(
    "Conv2DBackpropInput",
    "dy weight",
    attrs={"shape": REQUIRED, **_CONV_ATTRS},
    infer=_adjoint_infer("Conv2DBackpropInput"),
    ref=_conv_input_ref,
    grad=lambda g, n, d: [
        g.Conv2D(d, n.weight, **_conv_attrs(n)),
        g.Conv2DBackpropFilter(n.dy, d, shape=n.type(n.weight).shape, **_conv_attrs(n)),
    ],
    lower=Kernel(
        lambda k, inputs, outputs, attrs: k.convolve_input(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
        double=doubles.convolve_input,
    ),
    batch=_input_batch,
    samples=lambda: _conv_samples("dy", "w"),
    doc="gradient of Conv2D for its images",
)

op(
    "Conv2DBackpropFilter",
    "dy x",
    attrs={"shape": REQUIRED, **_CONV_ATTRS},
    infer=_adjoint_infer("Conv2DBackpropFilter"),
    ref=_conv_filter_ref,
    grad=lambda g, n, d: [
        g.Conv2D(n.x, d, **_conv_attrs(n)),
        g.Conv2DBackpropInput(n.dy, d, shape=n.type(n.x).shape, **_conv_attrs(n)),
    ],
    lower=Kernel(
        lambda k, inputs, outputs, attrs: k.weight_gradient(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
        double=doubles.weight_gradient,
    ),
    batch=_filter_batch,
    samples=lambda: _conv_samples("dy", "x"),
    doc="gradient of Conv2D for its weights",
)


# ---- channels in groups


def _grouped_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, w = types
    name, groups = "GroupedConv2D", attrs["groups"]
    dtype = same_dtype(name, types)
    check_dtype(name, "x", x, FLOATS)
    if x.rank != 4 or w.rank != 4:
        raise ShapeError(f"{name}: x is {x} and weight is {w}, expected [N,C,H,W] and [out,C/groups,kh,kw]")
    if groups < 1 or x.shape[1] != groups * w.shape[1] or w.shape[0] % groups:
        raise ShapeError(f"{name}: x is {x} and weight {w}, which do not divide into {groups} groups")
    plane = output_plane(name, x.shape[2:], (w.shape[2], w.shape[3]), attrs)
    return (TensorType(dtype, (x.shape[0], w.shape[0], *plane)),)


def _apart(x: Array, axis: int, groups: int) -> list[Array]:
    return np.split(x, groups, axis)


def _grouped_ref(x: Array, weight: Array, groups: int, **attrs: Any) -> Array:
    parts = zip(_apart(x, 1, groups), _apart(weight, 0, groups), strict=True)
    return np.concatenate([_conv_ref(a, b, **attrs) for a, b in parts], 1)


def _grouped_input_ref(dy: Array, weight: Array, shape: tuple[int, ...], groups: int, **attrs: Any) -> Array:
    part = (shape[0], shape[1] // groups, *shape[2:])
    parts = zip(_apart(dy, 1, groups), _apart(weight, 0, groups), strict=True)
    return np.concatenate([_conv_input_ref(a, b, part, **attrs) for a, b in parts], 1)


def _grouped_filter_ref(dy: Array, x: Array, shape: tuple[int, ...], groups: int, **attrs: Any) -> Array:
    part = (shape[0] // groups, *shape[1:])
    parts = zip(_apart(dy, 1, groups), _apart(x, 1, groups), strict=True)
    return np.concatenate([_conv_filter_ref(a, b, part, **attrs) for a, b in parts], 0)


def _grouped_attrs(n: NodeView) -> dict[str, Any]:
    return {**_conv_attrs(n), "groups": n.groups}


def _grouped_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    attrs = _grouped_attrs(n)
    return [
        g.GroupedConv2DBackpropInput(dy, n.weight, shape=n.type(n.x).shape, **attrs),
        g.GroupedConv2DBackpropFilter(dy, n.x, shape=n.type(n.weight).shape, **attrs),
    ]


def _images_folded(shape: bool) -> BatchRule:
    """More images; where anything else is mapped a loop."""

    def rule(g: Builder, m: Mapped) -> Sequence[Value]:
        return folding(0, shape=shape)(g, m) if m.mapped[0] and not any(m.mapped[1:]) else loop(g, m)

    return rule


_GROUPED_CASES: tuple[Mapping[str, Any], ...] = (
    {"x": (2, 5, 9, 20), "w": (5, 1, 3, 3), "pad": (1, 1, 1, 1), "stride": (1, 1), "groups": 5},
    {"x": (2, 3, 8, 7), "w": (6, 1, 3, 2), "pad": (1, 0, 0, 1), "stride": (2, 2), "groups": 3},
    {"x": (1, 4, 9, 8), "w": (6, 2, 3, 3), "pad": (0, 1, 1, 1), "stride": (1, 1), "groups": 2},
    {"x": (1, 4, 11, 10), "w": (4, 2, 3, 3), "pad": (2, 2, 2, 2), "stride": (1, 1), "dilation": (2, 2), "groups": 2},
    {"x": (1, 4, 9, 6), "w": (8, 1, 5, 1), "pad": (2, 2, 0, 0), "stride": (3, 3), "groups": 4},
    {"x": (4, 18, 32, 31), "w": (18, 1, 3, 3), "pad": (1, 1, 1, 1), "stride": (1, 1), "groups": 18, "scale": 0.1},
)


def _grouped_samples(first: str, second: str) -> Iterator[Sample]:
    return _samples_of(_GROUPED_CASES, first, second)


_GROUPED_ATTRS = {**_CONV_ATTRS, "groups": REQUIRED}

op(
    "GroupedConv2D",
    "x weight",
    attrs=_GROUPED_ATTRS,
    infer=_grouped_infer,
    ref=_grouped_ref,
    grad=_grouped_grad,
    lower=Kernel(
        lambda k, inputs, outputs, attrs: k.convolve(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
        double=doubles.convolve,
    ),
    batch=_images_folded(shape=False),
    samples=lambda: _grouped_samples("x", "w"),
    doc="cross-correlation of images whose channels are divided into groups with [out, in / groups, kh, kw] weights; with as many"
    " groups as channels a depthwise convolution",
)

op(
    "GroupedConv2DBackpropInput",
    "dy weight",
    attrs={"shape": REQUIRED, **_GROUPED_ATTRS},
    infer=_adjoint_infer("GroupedConv2DBackpropInput"),
    ref=_grouped_input_ref,
    grad=lambda g, n, d: [
        g.GroupedConv2D(d, n.weight, **_grouped_attrs(n)),
        g.GroupedConv2DBackpropFilter(n.dy, d, shape=n.type(n.weight).shape, **_grouped_attrs(n)),
    ],
    lower=Kernel(
        lambda k, inputs, outputs, attrs: k.convolve_input(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
        double=doubles.convolve_input,
    ),
    batch=_images_folded(shape=True),
    samples=lambda: _grouped_samples("dy", "w"),
    doc="gradient of GroupedConv2D for its images",
)

op(
    "GroupedConv2DBackpropFilter",
    "dy x",
    attrs={"shape": REQUIRED, **_GROUPED_ATTRS},
    infer=_adjoint_infer("GroupedConv2DBackpropFilter"),
    ref=_grouped_filter_ref,
    grad=lambda g, n, d: [
        g.GroupedConv2D(n.x, d, **_grouped_attrs(n)),
        g.GroupedConv2DBackpropInput(n.dy, d, shape=n.type(n.x).shape, **_grouped_attrs(n)),
    ],
    lower=Kernel(
        lambda k, inputs, outputs, attrs: k.weight_gradient(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
        double=doubles.weight_gradient,
    ),
    batch=loop,
    samples=lambda: _grouped_samples("dy", "x"),
    doc="gradient of GroupedConv2D for its weights",
)
