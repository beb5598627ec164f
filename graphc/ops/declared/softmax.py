"""Softmax and cross entropies over the last axis."""

from __future__ import annotations

import numpy as np

from graphc.errors import DTypeError, ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, KernelRule, Operands, TypeRule, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared import float64, padding
from graphc.ops.declared.batching import folding, leading
from graphc.ops.declared.rules import Array, check_dtype, exact_sum, floats, integers, same_dtype


def _log_softmax(x: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        z = x - x.max(-1, keepdims=True, initial=-np.inf)
        return np.asarray(z - np.log(exact_sum(np.exp(z), -1, True)))


def _rows_infer(name: str) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        same_dtype(name, types)
        check_dtype(name, "x", types[0], FLOATS)
        if types[0].rank < 1 or any(t.shape != types[0].shape for t in types):
            raise ShapeError(
                f"{name}: operands are {' and '.join(map(str, types))}, expected equal shapes with a last axis"
            )
        return (types[0],)

    return infer


def _rows_lower(kernel: str) -> KernelRule:
    def lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        type = inputs[0].type
        if type.size:
            k.call(kernel, inputs, outputs, rows=type.size // type.shape[-1], cols=type.shape[-1])

    return lower


def _rows_samples(count: int) -> list[Sample]:
    shapes: tuple[tuple[int, ...], ...] = ((4, 10), (2, 3, 37), (1, 1), (5,))
    made = []
    for shape in shapes:
        made.append(Sample(tuple(floats(*shape, seed=i) for i in range(count)), grad=tuple(range(count))))
    return made


op(
    "Softmax",
    "x",
    infer=_rows_infer("Softmax"),
    ref=lambda x: np.exp(_log_softmax(x)),
    grad=lambda g, n, dy: [g.SoftmaxGrad(n.out(), dy)],
    lower=Kernel(_rows_lower("softmax"), double=float64.softmax),
    batch=leading,
    pad=padding.softmax,
    samples=lambda: _rows_samples(1),
    doc="exp(x) / sum exp(x) over the last axis",
)


def _softmax_grad_grad(g: Builder, n: NodeView, d: Value) -> list[Value]:
    """dx = y (dy - s) with s = sum(dy y): differentiate both factors."""
    axis = (n.type(n.y).rank - 1,)

    def dot(a: Value, b: Value) -> Value:
        return g.ReduceSum(g.Mul(a, b), axis=axis, keep_dims=True)  # type: ignore[no-any-return]

    dy_part = g.SoftmaxGrad(n.y, d)
    y_part = g.Sub(g.Mul(d, g.Sub(n.dy, dot(n.dy, n.y))), g.Mul(n.dy, dot(d, n.y)))
    return [y_part, dy_part]


op(
    "SoftmaxGrad",
    "y dy",
    infer=_rows_infer("SoftmaxGrad"),
    ref=lambda y, dy: y * (dy - exact_sum(y * dy, -1, True)),
    grad=_softmax_grad_grad,
    lower=Kernel(_rows_lower("softmax_grad"), double=float64.softmax_grad),
    batch=leading,
    samples=lambda: _rows_samples(2),
    doc="gradient of Softmax from its result y",
)

op(
    "LogSoftmax",
    "x",
    infer=_rows_infer("LogSoftmax"),
    ref=_log_softmax,
    grad=lambda g, n, dy: [g.LogSoftmaxGrad(n.out(), dy)],
    lower=Kernel(_rows_lower("log_softmax"), double=float64.log_softmax),
    batch=leading,
    pad=padding.softmax,
    samples=lambda: _rows_samples(1),
    doc="x - log(sum exp(x)) over the last axis",
)


def _log_softmax_grad_grad(g: Builder, n: NodeView, d: Value) -> list[Value]:
    """dx = dy - exp(y) s with s = sum(dy)."""
    axis = (n.type(n.y).rank - 1,)
    e = g.Exp(n.y)
    total = g.ReduceSum(n.dy, axis=axis, keep_dims=True)
    inner = g.ReduceSum(g.Mul(d, e), axis=axis, keep_dims=True)
    return [g.Neg(g.Mul(g.Mul(d, e), total)), g.Sub(d, inner)]


op(
    "LogSoftmaxGrad",
    "y dy",
    infer=_rows_infer("LogSoftmaxGrad"),
    ref=lambda y, dy: dy - np.exp(y) * exact_sum(dy, -1, True),
    grad=_log_softmax_grad_grad,
    lower=Kernel(_rows_lower("log_softmax_grad"), double=float64.log_softmax_grad),
    batch=leading,
    samples=lambda: _rows_samples(2),
    doc="gradient of LogSoftmax from its result y",
)

# ---- cross entropy. The second result is the gradient for the logits, made in the same sweep.


def _sparse_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    logits, labels = types
    name = "SparseSoftmaxCrossEntropyWithLogits"
    check_dtype(name, "logits", logits, FLOATS)
    if logits.rank != 2 or logits.shape[1] == 0:
        raise ShapeError(
            f"{name}: logits are {logits}, expected [N, classes]",
            code="GC111",
            help="add the axis of the samples: data sets do by .batch(n)" if logits.rank == 1 else None,
        )
    if labels.dtype not in ("int32", "int64"):
        raise DTypeError(
            f"{name}: labels are {labels}, expected int32 or int64 class numbers",
            code="GC111",
            help="labels that are probabilities need sparse=False"
            if labels.is_float
            else "cast them: ops.cast(labels, graphc.int32)",
        )
    if labels.shape != logits.shape[:1]:
        raise ShapeError(
            f"{name}: labels are {labels}, expected one class number per row of the logits, which are {logits}",
            code="GC111",
            help="one-hot labels need sparse=False"
            if labels.shape == logits.shape
            else "labels.squeeze(1) has one number per row"
            if labels.shape == (logits.shape[0], 1)
            else None,
        )
    return (TensorType(logits.dtype, logits.shape[:1]), logits)


def _dense_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    logits, labels = types
    name = "SoftmaxCrossEntropyWithLogits"
    check_dtype(name, "logits", logits, FLOATS)
    if labels.dtype != logits.dtype:
        raise DTypeError(
            f"{name}: labels are {labels}, expected probabilities of the logits' dtype {logits.dtype}",
            code="GC111",
            help="did you mean sparse=True?"
            if labels.rank == 1
            else f"cast them: ops.cast(labels, graphc.{logits.dtype})",
        )
    if logits.rank != 2 or logits.shape[1] == 0 or labels.shape != logits.shape:
        raise ShapeError(
            f"{name}: logits are {logits} and labels {labels}, expected equal shapes [N, classes]",
            code="GC111",
        )
    return (TensorType(logits.dtype, logits.shape[:1]), logits)


def _sparse_ref(logits: Array, labels: Array) -> tuple[Array, Array]:
    rows, cols = logits.shape
    inside = (labels >= 0) & (labels < cols)
    logp = _log_softmax(logits)
    safe = np.where(inside, labels, 0)
    loss = np.where(inside, -logp[np.arange(rows), safe], np.nan)
    grad = np.where(inside[:, None], np.exp(logp) - (safe[:, None] == np.arange(cols)), np.nan)
    return loss.astype(logits.dtype), grad.astype(logits.dtype)


def _dense_ref(logits: Array, labels: Array) -> tuple[Array, Array]:
    logp = _log_softmax(logits)
    return -exact_sum(labels * logp, -1), np.exp(logp) - labels


def _entropy_grad(g: Builder, n: NodeView, dy: Value | None, d_gradient: Value | None) -> list[Value | None]:
    parts = []
    if dy is not None:
        parts.append(g.Mul(n.out(1), g.Reshape(dy, shape=(*n.type(n.out()).shape, 1))))
    if d_gradient is not None:
        # The second result is the softmax less what the labels say.
        parts.append(g.SoftmaxGrad(g.Softmax(n.logits), d_gradient))
    return [g.Add(*parts) if len(parts) == 2 else parts[0], None]


def _entropy_lower(sparse: bool) -> KernelRule:
    def lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        rows, cols = inputs[0].type.shape
        k.call(
            "softmax_cross_entropy",
            inputs,
            outputs,
            rows=rows,
            cols=cols,
            sparse=sparse,
            label_dtype=inputs[1].type.dtype,
        )

    return lower


def _probabilities(*shape: int) -> Array:
    p = floats(*shape, low=0.1, high=1.0, seed=8)
    return np.asarray(p / p.sum(-1, keepdims=True), np.float32)


op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "logits labels",
    infer=_sparse_infer,
    ref=_sparse_ref,
    grad=_entropy_grad,
    lower=Kernel(_entropy_lower(True), double=float64.sparse_cross_entropy),
    batch=folding(0, 1),
    pad=padding.entropies,
    samples=lambda: [
        Sample((floats(6, 10), integers(6, low=0, high=9)), grad=(0,)),
        Sample((floats(3, 37), integers(3, low=0, high=36, dtype="int64")), grad=(0,)),
        Sample((floats(1, 1), integers(1, low=0, high=0)), grad=(0,)),
        Sample((floats(4, 3), np.array([0, -1, 3, 2], np.int32)), note="labels out of range"),
    ],
    doc="-log softmax(logits)[label] per row, and its gradient for the logits; NaN where a label is out of range",
)

op(
    "SoftmaxCrossEntropyWithLogits",
    "logits labels",
    infer=_dense_infer,
    ref=_dense_ref,
    grad=_entropy_grad,
    lower=Kernel(_entropy_lower(False), double=float64.cross_entropy),
    batch=folding(0, 1),
    pad=padding.entropies,
    samples=lambda: [
        Sample((floats(6, 10), _probabilities(6, 10)), grad=(0,)),
        Sample((floats(2, 35), _probabilities(2, 35) * 2), note="labels that do not sum to one"),
    ],
    doc="-sum(labels * log softmax(logits)) per row, and softmax(logits) - labels: its gradient for the logits where"
    " the labels sum to one, and MindSpore's in any case; labels get no gradient",
)
