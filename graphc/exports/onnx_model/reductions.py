"""Rules of reductions, products, softmax, cross entropies, and of the tests for overflow."""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.elementwise import not_finite
from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ir import TensorType

_NATIVE = ("float32", "float64", "float16", "int32", "int64")


@rule("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
def _reduce(w: Writer, n: View, x: str) -> str:
    name, axis = n.node.op.name, n["axis"]
    if not axis:
        return w("Identity", x)
    if not n.types[0].size:
        return w.filled(1 if name == "ReduceProd" else 0, n.type)
    if name == "ReduceProd" and not n.types[0].is_float:
        raise n.refuse("products of integers do not wrap around in onnxruntime")
    operands = (x, w.ints(*axis))
    return w.reduced(name, operands, n.dtype, _NATIVE, keepdims=int(n["keep_dims"]))


@rule("ReduceAll", "ReduceAny")
def _reduce_bool(w: Writer, n: View, x: str) -> str:
    name, axis = n.node.op.name, n["axis"]
    if not axis:
        return w("Identity", x)
    if not n.types[0].size:
        return w.filled(name == "ReduceAll", n.type)
    numbers = w.cast(x, "int32")
    found = w("ReduceMin" if name == "ReduceAll" else "ReduceMax", numbers, w.ints(*axis), keepdims=int(n["keep_dims"]))
    return w.cast(found, "bool")


@rule("Argmax")
def _argmax(w: Writer, n: View, x: str) -> str:
    dtype = n.dtype
    if dtype == "uint64":
        raise n.refuse("there is no ArgMax of uint64")
    found = w("ArgMax", w.cast(x, "int64") if dtype == "uint32" else x, axis=n["axis"], keepdims=0)
    return found if n["dtype"] == "int64" else w.cast(found, n["dtype"])


@rule("BandedProduct")
def _banded(w: Writer, n: View, x: str, starts: str, weights: str, *_back: str) -> str:
    """The sum of so many gathers times their shares."""
    axis, (width, wanted) = n["axis"], n.types[2].shape
    if not n.type.size:
        return w.filled(0, n.type)
    dtype = n.types[2].dtype
    x = x if dtype == n.dtype else w.cast(x, dtype)
    terms = []
    for t in range(width):
        read = w("Gather", x, w("Add", starts, w.number(t, "int32")), axis=axis)
        share = w("Gather", weights, w.number(t, "int64"), axis=0)
        shape = w.ints(wanted, *(1,) * (n.types[0].rank - axis - 1))
        terms.append(w("Mul", read, w("Reshape", share, shape)))
    total = terms[0] if width == 1 else w("Sum", *terms)
    return total if dtype == n.dtype else w.cast(total, n.dtype)


@rule("GetFloatStatus")
def _get_float_status(w: Writer, n: View, status: str, *outs: str) -> str:
    """True where the status is not zero or anything tested is not finite."""
    return _any(w, [w("Not", w("Equal", status, w.number(0, "int32"))), *_tests(w, n, outs, n.types[1:])])


@rule("AllFinite")
def _all_finite(w: Writer, n: View, *xs: str) -> str:
    tests = _tests(w, n, xs, n.types)
    return w("Not", _any(w, tests)) if tests else w.number(True, "bool")


def _tests(w: Writer, n: View, values: tuple[str, ...], types: tuple[TensorType, ...]) -> list[str]:
    return [not_finite(w, x) for x, type in zip(values, types, strict=True) if type.is_float and type.size]


def _any(w: Writer, flags: list[str]) -> str:
    """Whether any element of any flag is set."""
    found = [w("ReduceMax", w.cast(flag, "int32"), keepdims=0) for flag in flags]
    total = found[0] if len(found) == 1 else w("Max", *found)
    return w.cast(total, "bool")


@rule("MatMul", "BatchMatMul")
def _matmul(w: Writer, n: View, x: str, y: str) -> str:
    a, b = n["transpose_a"], n["transpose_b"]
    if n.types[0].rank == 2 and n.types[1].rank == 2 and n.types[0].is_float:
        return w("Gemm", x, y, transA=int(a), transB=int(b)) if a or b else w("MatMul", x, y)
    x = w.swapped(x, n.types[0].rank) if a else x
    y = w.swapped(y, n.types[1].rank) if b else y
    return w.widened("MatMul", (x, y), n.dtype, _NATIVE)


@rule("Softmax")
def _softmax(w: Writer, n: View, x: str) -> str:
    return w("Softmax", x, axis=-1)


@rule("LogSoftmax")
def _log_softmax(w: Writer, n: View, x: str) -> str:
    return w("LogSoftmax", x, axis=-1)


@rule("SoftmaxGrad")
def _softmax_grad(w: Writer, n: View, y: str, dy: str) -> str:
    total = w("ReduceSum", w("Mul", y, dy), w.ints(-1), keepdims=1)
    return w("Mul", y, w("Sub", dy, total))


@rule("LogSoftmaxGrad")
def _log_softmax_grad(w: Writer, n: View, y: str, dy: str) -> str:
    total = w("ReduceSum", dy, w.ints(-1), keepdims=1)
    return w("Sub", dy, w("Mul", w("Exp", y), total))


@rule("SoftmaxCrossEntropyWithLogits")
def _cross_entropy(w: Writer, n: View, logits: str, labels: str) -> tuple[str, str]:
    likely = w("LogSoftmax", logits, axis=-1)
    loss = w("Neg", w("ReduceSum", w("Mul", labels, likely), w.ints(-1), keepdims=0))
    return loss, w("Sub", w("Exp", likely), labels)


@rule("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_cross_entropy(w: Writer, n: View, logits: str, labels: str) -> tuple[str, str]:
    """NaN where a label is out of range."""
    classes, kind = n.types[0].shape[1], n.types[1].dtype
    likely = w("LogSoftmax", logits, axis=-1)
    hit = w("Equal", w("Unsqueeze", labels, w.ints(-1)), w.array(np.arange(classes, dtype=kind)))
    one, zero, nan = (w.number(v, n.dtype) for v in (1, 0, np.nan))
    chosen = w("ReduceSum", w("Where", hit, likely, zero), w.ints(-1), keepdims=0)
    outside = w("Or", w("Less", labels, w.number(0, kind)), w("GreaterOrEqual", labels, w.number(classes, kind)))
    gradient = w("Sub", w("Exp", likely), w("Where", hit, one, zero))
    rows = w("Unsqueeze", outside, w.ints(-1))
    return w("Where", outside, nan, w("Neg", chosen)), w("Where", rows, nan, gradient)
