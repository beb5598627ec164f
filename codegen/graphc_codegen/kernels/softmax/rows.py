"""Softmax, its logarithm, their gradients and the fused cross entropy, along the last axis of [rows, cols].

Rows are walked vector by vector in two or three passes. The row maximum is subtracted first. NaN or +inf in
a row gives NaN; -inf counts as probability 0. Sums are taken in blocks if there is a `block` (`vectors.sum_along`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernel_facts import SOFTMAX_ROW
from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.softmax import causal
from graphc_codegen.kernels.vectors import across_maximum, along, first, int32, maximum, numbers_from, sum_along
from graphc_codegen.literals import float_literal
from graphc_codegen.scalars import maths_float32
from graphc_codegen.writer import Writer, mask, vec


def _row_maximum(w: Writer, x: str, cols: int) -> str:
    """The maximum in every lane; NaN may be ignored, as the sum of exponentials brings it back."""
    lowest = w.constant(-math.inf)

    def step(i: str | int, active: int, values: list[str]) -> list[str]:
        v = w.vload(w.at(x, i), active)
        if active < w.lanes:
            v = w.select(mask(active, w.lanes), v, lowest)
        return [maximum(w, values[0], v)]

    (value,) = along(w, cols, [(vec("float", w.lanes), lowest)], step)
    return across_maximum(w, value)


def _each(w: Writer, cols: int, body: Callable[[str | int, int], None]) -> None:
    """`body(index, active lanes)` for every vector of a row."""

    def step(i: str | int, active: int, _: list[str]) -> list[str]:
        body(i, active)
        return []

    along(w, cols, (), step)


class _Exponentials(NamedTuple):
    """exp(x - max) of a row; the maximum and their sum, in every lane. They stand in `memory`, or are made again where there is
    none.
    """

    x: str
    memory: str
    top: str
    total: str

    @classmethod
    def of(cls, w: Writer, p: Params, x: str, memory: str) -> Self:
        made = cls(x, "", _row_maximum(w, x, p["cols"]), "")

        def term(i: str | int, active: int) -> str:
            e = made.at(w, i, active)
            if memory:
                w.vstore(e, w.at(memory, i), active)
            return e

        return made._replace(memory=memory, total=sum_along(w, p["cols"], term, p.get("block", 0)))

    def at(self, w: Writer, i: str | int, active: int) -> str:
        """A vector of them."""
        if self.memory:
            return w.vload(w.at(self.memory, i), active)
        return maths_float32.exp_of_negative(w, w.binary("fsub", w.vload(w.at(self.x, i), active), self.top))


def _memory(w: Writer, p: Params, result: int) -> Callable[[str], str]:
    """Where the exponentials of a row stand, from where its result does: there, unless that is rounded as it is stored; else on
    the stack, if they are few, or nowhere.
    """
    if not any(result in places for _, places in p.get("halves", ())):
        return lambda out: out
    row = w.op(f"alloca [{p['cols']} x float], align 64") if p["cols"] <= SOFTMAX_ROW else ""
    return lambda _: row


# ---- softmax and log_softmax


def operands(p: Params) -> tuple[Operand, ...]:
    """x [rows, cols] -> y [rows, cols], float32. May be `causal`."""
    size = p["rows"] * p["cols"]
    return (Operand("float32", size, "in"), Operand("float32", size, "out"))


def grad_operands(p: Params) -> tuple[Operand, ...]:
    """y, dy [rows, cols] -> dx [rows, cols], float32; y is the forward result. May have an epilogue, and be `causal`."""
    domain = (p["rows"], p["cols"])
    size = math.prod(domain)
    return (Operand("float32", size, "in"), Operand("float32", size, "in"), *epilogue.operands(p, domain))


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    if p.get("causal"):
        causal.emit(w, p, pointers)
        return
    cols, memory = p["cols"], _memory(w, p, 1)

    def row(r: str | int) -> None:
        x, y = (w.at(pointer, w.mul(r, cols)) for pointer in pointers)
        made = _Exponentials.of(w, p, x, memory(y))
        scale = w.binary("fdiv", w.constant(1.0), made.total)

        def store(i: str | int, active: int) -> None:
            w.vstore(w.binary("fmul", made.at(w, i, active), scale), w.at(y, i), active)

        _each(w, cols, store)

    w.share(p["rows"], row, hand_out=True)


def log_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    cols = p["cols"]

    def row(r: str | int) -> None:
        x, y = (w.at(pointer, w.mul(r, cols)) for pointer in pointers)
        top = _row_maximum(w, x, cols)

        def shifted(i: str | int, active: int) -> str:
            return w.binary("fsub", w.vload(w.at(x, i), active), top)

        def term(i: str | int, active: int) -> str:
            return maths_float32.exp_of_negative(w, shifted(i, active))

        log_total = maths_float32.log(w, sum_along(w, cols, term, p.get("block", 0)))
        _each(
            w,
            cols,
            lambda i, active: w.vstore(w.binary("fsub", shifted(i, active), log_total), w.at(y, i), active),
        )

    w.share(p["rows"], row, hand_out=True)


def grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """dx = y * (dy - sum(dy * y))"""
    if p.get("causal"):
        causal.grad_emit(w, p, pointers)
        return
    cols = p["cols"]
    finish = epilogue.Finish(w, p, (p["rows"], cols), pointers[2:])

    def row(r: str | int) -> None:
        y, dy = (w.at(pointer, w.mul(r, cols)) for pointer in pointers[:2])

        def load(i: str | int, active: int) -> tuple[str, str]:
            return w.vload(w.at(y, i), active), w.vload(w.at(dy, i), active)

        total = sum_along(w, cols, lambda i, active: w.binary("fmul", *load(i, active)), p.get("block", 0))

        def store(i: str | int, active: int) -> None:
            value, gradient = load(i, active)
            finish.store(w.binary("fmul", value, w.binary("fsub", gradient, total)), (r, i), active)

        _each(w, cols, store)

    w.share(p["rows"], row, hand_out=True)


def log_grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """dx = dy - exp(y) * sum(dy)"""
    cols = p["cols"]
    finish = epilogue.Finish(w, p, (p["rows"], cols), pointers[2:])

    def row(r: str | int) -> None:
        y, dy = (w.at(pointer, w.mul(r, cols)) for pointer in pointers[:2])
        total = sum_along(w, cols, lambda i, active: w.vload(w.at(dy, i), active), p.get("block", 0))

        def store(i: str | int, active: int) -> None:
            share = w.binary("fmul", maths_float32.exp(w, w.vload(w.at(y, i), active)), total)
            finish.store(w.binary("fsub", w.vload(w.at(dy, i), active), share), (r, i), active)

        _each(w, cols, store)

    w.share(p["rows"], row, hand_out=True)


@np.errstate(all="ignore")
def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


@np.errstate(all="ignore")
def twin(p: Params, x: Array, y: Array) -> None:
    rows = causal.visible(p, x, -math.inf)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    y[:] = (e / e.sum(axis=1, keepdims=True)).reshape(-1)


@np.errstate(all="ignore")
def log_twin(p: Params, x: Array, y: Array) -> None:
    y[:] = _log_softmax(x.reshape(p["rows"], p["cols"])).reshape(-1)


@np.errstate(all="ignore")
def grad_twin(p: Params, y: Array, dy: Array, *rest: Array) -> None:
    domain = (p["rows"], p["cols"])
    value, gradient = (causal.visible(p, given, 0.0) for given in (y, dy))
    total = (value * gradient).sum(axis=1, keepdims=True)
    epilogue.twin(p, domain, (value * (gradient - total)).reshape(-1), *rest)


@np.errstate(all="ignore")
def log_grad_twin(p: Params, y: Array, dy: Array, *rest: Array) -> None:
    domain = (p["rows"], p["cols"])
    value, gradient = y.reshape(domain), dy.reshape(domain)
    epilogue.twin(p, domain, (gradient - np.exp(value) * gradient.sum(axis=1, keepdims=True)).reshape(-1), *rest)


# ---- cross entropy


def loss_operands(p: Params) -> tuple[Operand, ...]:
    """logits [rows, cols], labels -> loss [rows], dlogits [rows, cols].

    Labels are [rows] of `label_dtype` (int32 or int64) if `sparse`, else [rows, cols] float32. Sparse:
    dlogits = softmax - onehot. Dense: loss = -sum(labels * log_softmax), dlogits = softmax - labels, which
    is its gradient where labels sum to one; MindSpore takes it for all labels.
    """
    rows, cols = p["rows"], p["cols"]
    dtype = p["label_dtype"] if p["sparse"] else "float32"
    return (
        Operand("float32", rows * cols, "in"),
        Operand(dtype, rows if p["sparse"] else rows * cols, "in"),
        Operand("float32", rows, "out"),
        Operand("float32", rows * cols, "out"),
    )


def loss_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """A sparse label outside [0, cols) makes the loss and the gradient of its row NaN, and reads nothing."""
    logits, labels, loss, dlogits = pointers
    cols, memory = p["cols"], _memory(w, p, 3)

    def row(r: str | int) -> None:
        x, out = w.at(logits, w.mul(r, cols)), w.at(dlogits, w.mul(r, cols))
        made = _Exponentials.of(w, p, x, memory(out))
        if p["sparse"]:
            type = REGISTER[p["label_dtype"]]
            label = w.load(w.at(labels, r, type), type)
            value = _sparse_row(w, cols, made, _wide(w, label, type), out)
        else:
            value = _dense_row(w, p, made, w.at(labels, w.mul(r, cols)), out)
        w.store(value, w.at(loss, r))

    w.share(p["rows"], row, hand_out=True)


def _wide(w: Writer, label: str, type: str) -> str:
    return label if type == "i64" else w.op(f"sext {type} {label} to i64")


def _sparse_row(w: Writer, cols: int, made: _Exponentials, label: str, out: str) -> str:
    valid = w.op(f"icmp ult i64 {label}, {cols}")
    safe = w.op(f"select i1 {valid}, i64 {label}, i64 0")
    one_or_nan = w.op(f"select i1 {valid}, float {float_literal(1.0)}, float {float_literal(math.nan)}")
    inverse = w.binary("fdiv", w.splat(one_or_nan), made.total)
    column = w.splat(int32(w, safe), "i32")

    def store(i: str | int, active: int) -> None:
        lanes = numbers_from(w, i)
        hot = w.select(w.binary("icmp eq", lanes, column, "i32"), w.constant(1.0), "zeroinitializer")
        share = w.binary("fmul", made.at(w, i, active), inverse)
        w.vstore(w.binary("fsub", share, hot), w.at(out, i), active)

    _each(w, cols, store)
    distance = w.op(f"fsub float {w.load(w.at(made.x, safe))}, {first(w, made.top)}")
    value = w.op(f"fsub float {first(w, maths_float32.log(w, made.total))}, {distance}")
    return w.op(f"fmul float {value}, {one_or_nan}")


def _dense_row(w: Writer, p: Params, made: _Exponentials, labels: str, out: str) -> str:
    share = w.binary("fdiv", w.constant(1.0), made.total)
    log_total = maths_float32.log(w, made.total)

    def term(i: str | int, active: int) -> str:
        label = w.vload(w.at(labels, i), active)
        gradient = w.binary("fsub", w.binary("fmul", made.at(w, i, active), share), label)
        w.vstore(gradient, w.at(out, i), active)
        distance = w.binary("fsub", w.vload(w.at(made.x, i), active), made.top)
        return w.binary("fmul", label, w.binary("fsub", log_total, distance))

    return first(w, sum_along(w, p["cols"], term, p.get("block", 0)))


@np.errstate(all="ignore")
def loss_twin(p: Params, logits: Array, labels: Array, loss: Array, dlogits: Array) -> None:
    rows, cols = p["rows"], p["cols"]
    log_p = _log_softmax(logits.reshape(rows, cols))
    if p["sparse"]:
        valid = (labels >= 0) & (labels < cols)
        safe = np.where(valid, labels, 0)
        hot = (np.arange(cols) == safe[:, None]).astype(np.float32)
        gradient = np.exp(log_p) - hot
        gradient[~valid] = np.nan
        loss[:] = np.where(valid, -log_p[np.arange(rows), safe], np.float32(np.nan))
    else:
        target = labels.reshape(rows, cols)
        gradient = np.exp(log_p) - target
        loss[:] = -(target * log_p).sum(axis=1)
    dlogits[:] = gradient.reshape(-1)


SOFTMAX = Emitter(operands, emit, twin)
LOG_SOFTMAX = Emitter(operands, log_emit, log_twin)
SOFTMAX_GRAD = Emitter(grad_operands, grad_emit, grad_twin)
LOG_SOFTMAX_GRAD = Emitter(grad_operands, log_grad_emit, log_grad_twin)
SOFTMAX_CROSS_ENTROPY = Emitter(loss_operands, loss_emit, loss_twin)
