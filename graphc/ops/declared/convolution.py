"""Convolution of images [N, C, H, W], and its two gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import Geometry
from graphc.ir.op import Attrs, BatchRule, Kernel, TypeRule, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared import float64, padding
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


def _wide(x: Array, terms: int) -> Any:
    """The dtype in which so many products are added up: float64 if they are many."""
    return np.float64 if terms > 1024 and x.dtype == np.float32 else x.dtype


def _conv_ref(x: Array, weight: Array, **attrs: Any) -> Array:
    seen, wide = windows(x, weight.shape[2:], attrs), _wide(x, math.prod(weight.shape[1:]))
    made = np.einsum("nchwij,ocij->nohw", seen.astype(wide, copy=False), weight.astype(wide, copy=False), optimize=True)
    return np.asarray(made).astype(x.dtype, copy=False)


def _conv_input_ref(dy: Array, weight: Array, shape: tuple[int, ...], **attrs: Any) -> Array:
    top, bottom, left, right = attrs["pad"]
    (sh, sw), (dh, dw) = attrs["stride"], attrs["dilation"]
    dx = np.zeros((shape[0], shape[1], shape[2] + top + bottom, shape[3] + left + right), dy.dtype)
    n, out, oh, ow = dy.shape
    wide = _wide(dy, out)
    rows = dy.reshape(n, out, oh * ow).astype(wide, copy=False)
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            part = np.matmul(weight[:, :, i, j].T.astype(wide, copy=False), rows).reshape(n, shape[1], oh, ow)
            dx[:, :, i * dh : i * dh + sh * oh : sh, j * dw : j * dw + sw * ow : sw][:, :, :oh, :ow] += part
    return dx[:, :, top : top + shape[2], left : left + shape[3]]


def _conv_filter_ref(dy: Array, x: Array, shape: tuple[int, ...], **attrs: Any) -> Array:
    n, out, oh, ow = dy.shape
    seen, wide = windows(x, (shape[2], shape[3]), attrs)[:, :, :oh, :ow], _wide(x, n * oh * ow)
    rows = np.moveaxis(dy, 1, 0).reshape(out, n * oh * ow).astype(wide, copy=False)
    dw = np.empty(shape, dy.dtype)
    for i in range(shape[2]):
        for j in range(shape[3]):
            pixels = np.moveaxis(seen[..., i, j], 1, 0).reshape(shape[1], n * oh * ow).astype(wide, copy=False)
            dw[:, :, i, j] = rows @ pixels.T
    return dw


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
    {"x": (2, 3, 7, 11), "w": (2, 3, 2, 3), "pad": (1, 0, 2, 1), "stride": (3, 1), "dilation": (2, 3)},
    # Sums of many terms; small ones, so that errors are.
    {
        "x": (1, 32, 1, 130),
        "w": (32, 32, 1, 3),
        "pad": (0, 0, 4, 3),
        "stride": (1, 1),
        "dilation": (1, 4),
        "scale": 0.1,
    },
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


def _samples(cases: Sequence[Mapping[str, Any]], first: str, second: str) -> Iterator[Sample]:
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


class _Three(NamedTuple):
    """Of a convolution, its gradient for the images and its gradient for the weights."""

    convolve: Any
    images: Any
    weights: Any


def _declare(
    name: str,
    more: Mapping[str, Any],
    infer: TypeRule,
    refs: _Three,
    batches: _Three,
    cases: Sequence[Mapping[str, Any]],
    doc: str,
) -> None:
    """A convolution and its two gradients, which are each other's gradients. `more`: attributes beside its geometry."""
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), **more}
    images, weights = f"{name}BackpropInput", f"{name}BackpropFilter"

    def made(g: Builder, n: NodeView, op: str, x: Value, y: Value, like: Value | None = None) -> Value:
        shape = {} if like is None else {"shape": n.type(like).shape}
        result: Value = getattr(g, op)(x, y, **shape, **{a: getattr(n, a) for a in attrs})
        return result

    op(
        name,
        "x weight",
        attrs=attrs,
        infer=infer,
        ref=refs.convolve,
        grad=lambda g, n, d: [made(g, n, images, d, n.weight, n.x), made(g, n, weights, d, n.x, n.weight)],
        lower=Kernel(
            lambda k, inputs, outputs, attrs: k.convolve(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
            double=float64.convolve,
        ),
        batch=batches.convolve,
        pad=padding.rows(0),
        samples=lambda: _samples(cases, "x", "w"),
        doc=doc,
    )
    op(
        images,
        "dy weight",
        attrs={"shape": REQUIRED, **attrs},
        infer=_adjoint_infer(images),
        ref=refs.images,
        grad=lambda g, n, d: [made(g, n, name, d, n.weight), made(g, n, weights, n.dy, d, n.weight)],
        lower=Kernel(
            lambda k, inputs, outputs, attrs: k.convolve_input(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
            double=float64.convolve_input,
        ),
        batch=batches.images,
        pad=padding.rows(0),
        samples=lambda: _samples(cases, "dy", "w"),
        doc=f"gradient of {name} for its images",
    )
    op(
        weights,
        "dy x",
        attrs={"shape": REQUIRED, **attrs},
        infer=_adjoint_infer(weights),
        ref=refs.weights,
        grad=lambda g, n, d: [made(g, n, name, n.x, d), made(g, n, images, n.dy, d, n.x)],
        lower=Kernel(
            lambda k, inputs, outputs, attrs: k.weight_gradient(inputs[0], inputs[1], outputs[0], _geometry(attrs)),
            double=float64.weight_gradient,
        ),
        batch=batches.weights,
        samples=lambda: _samples(cases, "dy", "x"),
        doc=f"gradient of {name} for its weights",
    )


_declare(
    "Conv2D",
    {},
    _conv_infer,
    _Three(_conv_ref, _conv_input_ref, _conv_filter_ref),
    _Three(_conv_batch, _input_batch, _filter_batch),
    _CONV_CASES,
    "cross-correlation of images with [out, in, kh, kw] weights",
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


def _grouped_ref(x: Array, weight: Array, groups: int, **attrs: Any) -> Array:
    parts = zip(np.split(x, groups, 1), np.split(weight, groups, 0), strict=True)
    return np.concatenate([_conv_ref(a, b, **attrs) for a, b in parts], 1)


def _grouped_input_ref(dy: Array, weight: Array, shape: tuple[int, ...], groups: int, **attrs: Any) -> Array:
    part = (shape[0], shape[1] // groups, *shape[2:])
    parts = zip(np.split(dy, groups, 1), np.split(weight, groups, 0), strict=True)
    return np.concatenate([_conv_input_ref(a, b, part, **attrs) for a, b in parts], 1)


def _grouped_filter_ref(dy: Array, x: Array, shape: tuple[int, ...], groups: int, **attrs: Any) -> Array:
    part = (shape[0] // groups, *shape[1:])
    parts = zip(np.split(dy, groups, 1), np.split(x, groups, 1), strict=True)
    return np.concatenate([_conv_filter_ref(a, b, part, **attrs) for a, b in parts], 0)


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
    {"x": (1, 4, 9, 10), "w": (4, 2, 3, 2), "pad": (1, 1, 1, 0), "stride": (1, 2), "dilation": (2, 1), "groups": 2},
    {"x": (1, 4, 9, 6), "w": (8, 1, 5, 1), "pad": (2, 2, 0, 0), "stride": (3, 3), "groups": 4},
    {"x": (4, 18, 32, 31), "w": (18, 1, 3, 3), "pad": (1, 1, 1, 1), "stride": (1, 1), "groups": 18, "scale": 0.1},
)


_declare(
    "GroupedConv2D",
    {"groups": REQUIRED},
    _grouped_infer,
    _Three(_grouped_ref, _grouped_input_ref, _grouped_filter_ref),
    _Three(_images_folded(shape=False), _images_folded(shape=True), loop),
    _GROUPED_CASES,
    "cross-correlation of images whose channels are divided into groups with [out, in / groups, kh, kw] weights; with as many"
    " groups as channels a depthwise convolution",
)
