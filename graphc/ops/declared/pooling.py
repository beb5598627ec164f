"""Pooling over windows of images [N, C, H, W], and its gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, KernelRule, Operands, TypeRule, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared import float64, padding
from graphc.ops.declared.batching import folding
from graphc.ops.declared.rules import Array, check_dtype, exact_sum, floats, same_dtype
from graphc.ops.declared.windows import Pair, output_plane, windows

# ---- pooling


def _pool_infer(name: str) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        x = types[0]
        check_dtype(name, "x", x, FLOATS)
        if x.rank != 4:
            raise ShapeError(f"{name}: x is {x}, expected [N,C,H,W]")
        kernel, pad = attrs["kernel"], attrs["pad"]
        if max(pad[:2]) >= kernel[0] or max(pad[2:]) >= kernel[1]:
            raise ArgumentValueError(f"{name}: pad {pad} must be smaller than the window {kernel}")
        return (TensorType(x.dtype, (*x.shape[:2], *output_plane(name, x.shape[2:], kernel, attrs))),)

    return infer


def _adjoint_infer(name: str, operand: str) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        dtype = same_dtype(name, types)
        check_dtype(name, operand, types[0], FLOATS)
        return (TensorType(dtype, attrs.get("shape", types[0].shape)),)

    return infer


def _max_ref(x: Array, kernel: Pair, **attrs: Any) -> Array:
    return np.asarray(windows(x, kernel, attrs, -np.inf).max(axis=(4, 5)))


def _max_grad_ref(x: Array, dy: Array, kernel: Pair, **attrs: Any) -> Array:
    seen = windows(x, kernel, attrs, -np.inf)
    flat = seen.reshape(*seen.shape[:4], -1)
    # argmax takes the first maximum in row-major window order, and NaN before any number.
    hit = flat.argmax(-1)
    # Where everything is -inf the first pixel of the image wins, not the padding.
    inside = windows(np.ones((1, 1, *x.shape[2:])), kernel, attrs).reshape(1, 1, *seen.shape[2:4], -1)
    hit = np.where((flat == -np.inf).all(-1), inside.argmax(-1), hit)
    return _scatter(x, np.where(hit[..., None] == np.arange(kernel[0] * kernel[1]), dy[..., None], 0), kernel, attrs)


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
    return np.asarray(windows(np.ones((1, 1, *x.shape[2:])), kernel, attrs).sum(axis=(4, 5)))


def _avg_ref(x: Array, kernel: Pair, **attrs: Any) -> Array:
    return np.asarray(exact_sum(windows(x, kernel, attrs), (4, 5)) / _counts(x, kernel, attrs))


def _avg_grad_ref(dy: Array, shape: tuple[int, ...], kernel: Pair, **attrs: Any) -> Array:
    x = np.empty(shape, dy.dtype)
    part = dy / _counts(x, kernel, attrs)
    return _scatter(x, np.repeat(part[..., None], kernel[0] * kernel[1], -1), kernel, attrs)


def _pool_lower(name: str) -> KernelRule:
    def lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        n, c, h, w = (outputs[0] if name.endswith("grad") else inputs[0]).type.shape
        _, _, oh, ow = (inputs[-1] if name.endswith("grad") else outputs[0]).type.shape
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
            plane = output_plane("MaxPool", shape[2:], kernel, attrs)
            yield Sample((x, floats(*shape[:2], *plane)), attrs, grad=(1,))


def _pool_attrs(n: NodeView) -> dict[str, Any]:
    return dict(n.node.attrs)


def _at_first_maximum(g: Builder, n: NodeView, d: Value) -> Value:
    """d at the first maximum of each window of x: the windows' pixels one after the other, the last one first.

    A window with a NaN has no maximum that equals it and gives 0.
    """
    top, bottom, left, right = n.pad
    (kh, kw), (sh, sw) = n.kernel, n.stride
    dy = n.type(n.dy)
    border = ((0, 0), (0, 0), (top, bottom), (left, right))
    # Padding equals nothing, -inf included.
    x, d = g.Pad(n.x, paddings=border, value=float("nan")), g.Pad(d, paddings=border)
    highest = g.MaxPool(n.x, **_pool_attrs(n))
    made: Value = g.Fill(dtype=dy.dtype, shape=dy.shape, value=0.0)
    for tap in reversed(range(kh * kw)):
        at = {"begin": (0, 0, tap // kw, tap % kw), "size": dy.shape, "step": (1, 1, sh, sw)}
        made = g.Select(g.Equal(g.Slice(x, **at), highest), g.Slice(d, **at), made)
    return made


_POOL_ATTRS = {"kernel": REQUIRED, "stride": REQUIRED, "pad": (0, 0, 0, 0)}

_AVG_ATTRS = {**_POOL_ATTRS, "count_include_pad": True}

op(
    "MaxPool",
    "x",
    attrs=_POOL_ATTRS,
    infer=_pool_infer("MaxPool"),
    ref=_max_ref,
    grad=lambda g, n, dy: [g.MaxPoolGrad(n.x, dy, **_pool_attrs(n))],
    lower=Kernel(_pool_lower("max_pool"), double=float64.max_pool),
    batch=folding(),
    pad=padding.rows(0, 1),
    samples=lambda: _pool_samples({}, False),
    doc="largest pixel of each window, padding left out; NaN if there is one",
)

op(
    "MaxPoolGrad",
    "x dy",
    attrs=_POOL_ATTRS,
    infer=_adjoint_infer("MaxPoolGrad", "x"),
    ref=_max_grad_ref,
    grad=lambda g, n, d: [None, _at_first_maximum(g, n, d)],
    lower=Kernel(_pool_lower("max_pool_grad"), double=float64.max_pool_grad),
    batch=folding(),
    samples=lambda: _pool_samples({}, True),
    doc="dy at the first maximum of each window",
)

op(
    "AvgPool",
    "x",
    attrs=_AVG_ATTRS,
    infer=_pool_infer("AvgPool"),
    ref=_avg_ref,
    grad=lambda g, n, dy: [g.AvgPoolGrad(dy, shape=n.type(n.x).shape, **_pool_attrs(n))],
    lower=Kernel(_pool_lower("avg_pool"), double=float64.avg_pool),
    batch=folding(),
    pad=padding.rows(0, 1),
    samples=lambda: (s for flag in (True, False) for s in _pool_samples({"count_include_pad": flag}, False)),
    doc="mean of each window; count_include_pad says whether padding counts",
)

op(
    "AvgPoolGrad",
    "dy",
    attrs={"shape": REQUIRED, **_AVG_ATTRS},
    infer=_adjoint_infer("AvgPoolGrad", "dy"),
    ref=_avg_grad_ref,
    grad=lambda g, n, d: [g.AvgPool(d, **{k: v for k, v in _pool_attrs(n).items() if k != "shape"})],
    lower=Kernel(_pool_lower("avg_pool_grad"), double=float64.avg_pool_grad),
    batch=folding(shape=True),
    samples=lambda: (
        Sample((s.operands[1],), {"shape": s.operands[0].shape, **s.attrs}, grad=(0,))
        for flag in (True, False)
        for s in _pool_samples({"count_include_pad": flag}, True)
    ),
    doc="dy spread evenly over each window",
)
