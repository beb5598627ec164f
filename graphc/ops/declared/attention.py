"""Attention and its gradient as one op each. A pass finds them: `graphc.passes.attention`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import FLOATS, contiguous_strides
from graphc.ops.declared.batching import Mapped, loop
from graphc.ops.declared.random import kept_at, mix64
from graphc.ops.declared.rules import Array, broadcast_shape, check_dtype, exact_sum, floats, same_dtype, unbroadcast

_ATTRS = {"scale": 1.0, "ahead": -1, "keep": 1.0}


# ---- types


def _scores(name: str, types: Types, attrs: Attrs) -> tuple[int, ...]:
    """The shape of the scores, of q, k, v and what else is read with them."""
    same_dtype(name, types[: len(types) - (attrs["keep"] < 1)])
    q, k, v = types[:3]
    check_dtype(name, "q", q, FLOATS)
    if q.rank < 2 or not q.rank == k.rank == v.rank or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ShapeError(f"{name}: q, k and v are {q}, {k} and {v}, expected as many matrices of each")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(f"{name}: q, k and v are {q}, {k} and {v}, expected [l, d], [s, d] and [s, e]")
    if 0 in (*k.shape[-2:], v.shape[-1]):
        raise ShapeError(f"{name}: k and v are {k} and {v}, there is nothing to look at")
    scores = (*q.shape[:-1], k.shape[-2])
    masks = types[3 : len(types) - (attrs["keep"] < 1)]
    for mask in masks:
        if broadcast_shape(name, [TensorType(q.dtype, scores), mask]) != scores:
            raise ShapeError(f"{name}: a mask is {mask}, the scores are {scores}")
    if not 0 < attrs["keep"] <= 1:
        raise ArgumentValueError(f"{name}: keep must lie in (0, 1], got {attrs['keep']}")
    if attrs["keep"] < 1 and types[-1] != TensorType("int64", ()):
        raise DTypeError(f"{name}: the key is {types[-1]}, expected one int64: i64[]")
    return scores


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    scores = _scores("Attention", types, attrs)
    rows = TensorType("float64" if types[0].dtype == "float64" else "float32", scores[:-1])
    return (TensorType(types[0].dtype, (*scores[:-1], types[2].shape[-1])), rows, rows)


def _grad_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    q, k, v, y, top, total, dy, *rest = types
    made = _infer([q, k, v, *rest], attrs)
    if (y, top, total) != made or dy != y:
        raise ShapeError(f"AttentionGrad: the results are {y}, {top} and {total}, their gradient {dy}")
    return (q, k, v)


# ---- in NumPy


def _masked(q: Array, k: Array, masks: Sequence[Array], scale: float, ahead: int) -> Array:
    """The scores, at least in float32."""
    wide = np.result_type(q, np.float32)
    scores = np.matmul(q.astype(wide), k.astype(wide).swapaxes(-1, -2)) * wide.type(scale)
    for mask in masks:
        scores = scores + mask.astype(wide)
    l, s = scores.shape[-2:]
    return np.where(np.arange(s) <= np.arange(l)[:, None] + ahead, scores, -np.inf) if ahead >= 0 else scores


def _dropped(x: Array, rest: Sequence[Array], keep: float) -> Array:
    """What dropout makes of shares, or of their gradient."""
    return np.where(kept_at(rest[-1], x.shape, keep), x / x.dtype.type(keep), 0) if keep < 1 else x


def _ref(q: Array, k: Array, v: Array, *rest: Array, scale: float, ahead: int, keep: float) -> tuple[Array, ...]:
    scores = _masked(q, k, rest[:-1] if keep < 1 else rest, scale, ahead)
    top = scores.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - top)
    total = exact_sum(e, -1, True)
    y = np.matmul(_dropped(e / total, rest, keep), v.astype(e.dtype))
    return y.astype(q.dtype), top[..., 0], total[..., 0]


def _grad_ref(
    q: Array, k: Array, v: Array, y: Array, top: Array, total: Array, dy: Array, *rest: Array,
    scale: float, ahead: int, keep: float,
) -> tuple[Array, ...]:  # fmt: skip
    scores = _masked(q, k, rest[:-1] if keep < 1 else rest, scale, ahead)
    wide = scores.dtype
    with np.errstate(invalid="ignore"):
        shares = np.exp(scores - top[..., None].astype(wide)) / total[..., None].astype(wide)
    a, b, c, g = (x.astype(wide) for x in (q, k, v, dy))
    means = exact_sum(g * y.astype(wide), -1, True)
    error = shares * (_dropped(np.matmul(g, c.swapaxes(-1, -2)), rest, keep) - means) * wide.type(scale)
    dv = np.matmul(_dropped(shares, rest, keep).swapaxes(-1, -2), g)
    return tuple(x.astype(q.dtype) for x in (np.matmul(error, b), np.matmul(error.swapaxes(-1, -2), a), dv))


# ---- as other ops: gradients of masks, of gradients


class _Plain:
    """The same attention by ops that store the scores, as far as something asks for it."""

    def __init__(self, g: Builder, q: Value, k: Value, rest: Sequence[Value], attrs: Attrs) -> None:
        self.g, self.q, self.k, self.scale, self.keep = g, q, k, attrs["scale"], attrs["keep"]
        self.masks = tuple(rest[:-1] if self.keep < 1 else rest)
        scores = g.Mul(self.product(q, k, transpose_b=True), g.like(self.scale, q))
        for mask in self.masks:
            scores = g.Add(scores, mask)
        if attrs["ahead"] >= 0:
            l, s = g.type(scores).shape[-2:]
            hidden = np.arange(s) > np.arange(l)[:, None] + attrs["ahead"]
            scores = g.Select(g.matrix(hidden), g.like(-math.inf, q), scores)
        self.scores: Value = scores
        self.shares: Value = g.Softmax(scores)
        self._kept: Value | None = None
        if self.keep < 1:
            number = g.RandomUniform(rest[-1], shape=g.type(scores).shape)
            self._kept = g.Less(number, g.constant(self.keep, "float32"))

    def product(self, x: Value, y: Value, transpose_a: bool = False, transpose_b: bool = False) -> Value:
        name = "MatMul" if self.g.type(x).rank == 2 else "BatchMatMul"
        made: Value = getattr(self.g, name)(x, y, transpose_a=transpose_a, transpose_b=transpose_b)
        return made

    def dropped(self, x: Value) -> Value:
        """What dropout makes of shares, or of their gradient."""
        g = self.g
        if self._kept is None:
            return x
        made: Value = g.Select(self._kept, g.Mul(x, g.like(1 / self.keep, x)), g.like(0.0, x))
        return made

    def for_scores(self, error: Value) -> list[Value]:
        """The gradients for q, k and the masks from that for the scores."""
        g = self.g
        scaled = g.Mul(error, g.like(self.scale, error))
        made = [self.product(scaled, self.k), self.product(scaled, self.q, transpose_a=True)]
        return made + [unbroadcast(g, error, mask) for mask in self.masks]


def _grad(g: Builder, n: NodeView, dy: Value | None, dtop: Value | None, dtotal: Value | None) -> list[Value | None]:
    q, k, v, *rest = n.inputs
    plain = _Plain(g, q, k, rest, n.node.attrs)
    key: list[Value | None] = [None] * (plain.keep < 1)
    found: list[list[Value]] = []
    if dy is not None:
        made = g.AttentionGrad(q, k, v, *(n.out(i) for i in range(3)), dy, *rest, **n.node.attrs)
        error = g.SoftmaxGrad(plain.shares, plain.dropped(plain.product(dy, v, transpose_b=True)))
        found.append([*made, *plain.for_scores(error)[2:]])
    if dtop is not None or dtotal is not None:
        error = _statistics_grad(g, n, plain, dtop, dtotal)
        dq, dk, *masks = plain.for_scores(error)
        found.append([dq, dk, g.Mul(v, g.like(0.0, v)), *masks])
    return [*(parts[0] if len(parts) == 1 else g.Add(*parts) for parts in zip(*found, strict=True)), *key]


def _statistics_grad(g: Builder, n: NodeView, plain: _Plain, dtop: Value | None, dtotal: Value | None) -> Value:
    """The gradient for the scores of each query's greatest one, and of the sum of exp(score - greatest)."""
    shape, dtype = (*g.type(n.out(1)).shape, 1), g.type(plain.q).dtype

    def column(x: Value) -> Value:
        made: Value = g.Reshape(g.Cast(x, dtype=dtype) if g.type(x).dtype != dtype else x, shape=shape)
        return made

    # Of the scores as they are computed here: those of the kernel may be off by a rounding.
    top = g.ReduceMax(plain.scores, axis=(len(shape) - 1,), keep_dims=True)
    total = column(n.out(2))
    at_top = column(dtop) if dtop is not None else None
    parts = []
    if dtotal is not None:
        whole = g.Mul(column(dtotal), total)
        parts.append(g.Mul(plain.shares, whole))
        at_top = g.Sub(at_top, whole) if at_top is not None else g.Neg(whole)
    parts.append(g.Select(g.Equal(plain.scores, top), at_top, g.like(0.0, top)))
    made: Value = g.Add(*parts) if len(parts) == 2 else parts[0]
    return made


def _grad_grad(g: Builder, n: NodeView, a: Value | None, b: Value | None, c: Value | None) -> list[Value | None]:
    """With P the shares, D(P) after dropout, d = D(dy v^T), e = P (d - sum(d P)): dq = e k, dk = e^T q, dv = D(P)^T dy, scaled.

    y, top and total follow from the other operands: what they are for gets its gradient through those.
    """
    q, k, v, _, _, _, dy, *rest = n.inputs
    p = _Plain(g, q, k, rest, n.node.attrs)
    zero = {x: g.Mul(x, g.like(0.0, x)) for x in (q, k, v)}
    a, b, c = (x if x is not None else zero[w] for x, w in zip((a, b, c), (q, k, v), strict=True))
    axis = (g.type(p.shares).rank - 1,)

    def dot(x: Value, y: Value) -> Value:
        made: Value = g.ReduceSum(g.Mul(x, y), axis=axis, keep_dims=True)
        return made

    def scaled(x: Value) -> Value:
        made: Value = g.Mul(x, g.like(p.scale, x))
        return made

    d = p.dropped(p.product(dy, v, transpose_b=True))
    e = g.SoftmaxGrad(p.shares, d)
    for_e = scaled(g.Add(p.product(a, k, transpose_b=True), p.product(q, b, transpose_b=True)))
    for_d = p.dropped(g.SoftmaxGrad(p.shares, for_e))
    for_shares = g.Sub(g.Mul(for_e, g.Sub(d, dot(d, p.shares))), g.Mul(d, dot(for_e, p.shares)))
    for_shares = g.Add(for_shares, p.dropped(p.product(dy, c, transpose_b=True)))
    dq, dk, *masks = p.for_scores(g.SoftmaxGrad(p.shares, for_shares))
    dq = g.Add(dq, scaled(p.product(e, b)))
    dk = g.Add(dk, scaled(p.product(e, a, transpose_a=True)))
    dv = p.product(for_d, dy, transpose_a=True)
    ddy = g.Add(p.product(p.dropped(p.shares), c), p.product(for_d, v))
    return [dq, dk, dv, None, None, None, ddy, *masks, *[None] * (p.keep < 1)]


# ---- vmap


def _batch(fixed: int) -> Any:
    """As many matrices more: operands behind the first `fixed` are masks. What is dropped goes by position: a loop."""

    def rule(g: Builder, m: Mapped) -> Sequence[Value]:
        if m.node.attrs["keep"] < 1:
            return loop(g, m)
        rank = m.types[0].rank
        return m.again(*(m.front(i) if i < fixed else m.lined(i, rank) for i in range(len(m.inputs))))

    return rule


# ---- kernels


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    params = _params(inputs, inputs[3:], attrs)
    k.call("attention", inputs, outputs, **params, **_views({**_named("qkv", inputs), "y": outputs[0]}))


def _grad_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    q, key, v, y, top, total, dy, *rest = inputs
    views = _views({"q": q, "k": key, "v": v, "y": y, "dy": dy, **_named(("dq", "dk", "dv"), outputs)})
    k.call(
        "attention_grad", (q, key, v, *rest, y, top, total, dy), outputs, **_params(inputs, rest, attrs), **views
    )  # fmt: skip


def _named(names: Sequence[str], operands: Sequence[Operand]) -> dict[str, Operand]:
    return dict(zip(names, operands, strict=False))


def _params(inputs: Operands, rest: Sequence[Operand], attrs: Attrs) -> dict[str, Any]:
    q, k, v = (x.type.shape for x in inputs[:3])
    masks = rest[:-1] if attrs["keep"] < 1 else rest
    dtype = inputs[0].type.dtype
    return {
        "axes": q[:-2], "l": q[-2], "s": k[-2], "d": q[-1], "e": v[-1], **attrs,
        "masks": tuple(_along(x.type.shape, len(q)) for x in masks),
        **({"dtype": dtype} if dtype != "float32" else {}),
    }  # fmt: skip


def _along(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The strides of a mask along the axes of the scores: 0 where it is broadcast."""
    strides = [0 if n == 1 else stride for n, stride in zip(shape, contiguous_strides(shape), strict=True)]
    return (*(0,) * (rank - len(shape)), *strides)


def _views(operands: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
    """Where operands lie that are not contiguous, as the kernel has it: (size, offset, lead, *strides of the leading axes)."""
    found = {name: x.view for name, x in operands.items()}
    return {
        name: (x.size, x.offset, x.strides[-2], *x.strides[:-2]) for name, x in found.items() if x is not None
    }  # fmt: skip


# ---- samples


def _samples() -> list[Sample]:
    key = np.array(mix64(3), np.int64)
    every = (0, 1, 2)

    def heads(*shapes: tuple[int, ...]) -> tuple[Array, ...]:
        return tuple(floats(*shape, seed=i) for i, shape in enumerate(shapes))

    square = heads((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 6))
    cross = heads((2, 3, 7), (2, 19, 7), (2, 19, 3))
    return [
        Sample(square, {"scale": 0.5}, grad=every),
        Sample(heads((1, 1), (1, 1), (1, 1)), grad=every),
        Sample(cross, {"scale": 0.3, "ahead": 16}, grad=every),
        Sample((*square, floats(2, 1, 1, 5), floats(5, 5, seed=8)), {"scale": 0.5, "ahead": 0}, grad=(*every, 3, 4)),
        Sample((*cross, floats(2, 3, 1), key), {"scale": 0.3, "keep": 0.75}, grad=(*every, 3)),
        Sample(heads((2, 70, 17), (2, 150, 17), (2, 150, 33)), {"scale": 0.25, "ahead": 80}),
        Sample((*heads((1, 37, 8), (1, 37, 8), (1, 37, 8)), key), {"scale": 0.25, "ahead": 0, "keep": 0.5}),
        Sample(heads((2, 0, 4), (2, 3, 4), (2, 3, 4)), note="no queries"),
    ]


def _grad_samples() -> list[Sample]:
    made = []
    for sample in _samples():
        q, k, v, *rest = sample.operands
        attrs = {**_ATTRS, **sample.attrs}
        results = _ref(q, k, v, *rest, **attrs)
        made.append(
            Sample((q, k, v, *results, floats(*results[0].shape, seed=9), *rest), sample.attrs, note=sample.note)
        )
    return made


_SEEN = "; query i sees the keys up to i + ahead, if that is not negative; a share is kept with probability keep"

op(
    "Attention",
    "q k v *rest",
    attrs=_ATTRS,
    infer=_infer,
    ref=_ref,
    grad=_grad,
    lower=Kernel(_lower, double=_lower),
    batch=_batch(3),
    samples=_samples,
    doc="dropout(softmax(scale q k^T + masks)) v, the greatest score of each query, and the sum of exp(score - greatest)"
    f"{_SEEN}; behind masks stands the key of dropout",
)

op(
    "AttentionGrad",
    "q k v y top total dy *rest",
    attrs=_ATTRS,
    infer=_grad_infer,
    ref=_grad_ref,
    grad=_grad_grad,
    lower=Kernel(_grad_lower, double=_grad_lower),
    batch=_batch(7),
    samples=_grad_samples,
    doc=f"gradients of Attention for q, k and v, from its results{_SEEN}",
)
