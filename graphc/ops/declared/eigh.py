"""Eigenvalues of symmetric and Hermitian matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import COMPLEX
from graphc.ops.declared.batching import leading
from graphc.ops.declared.complex import complexes
from graphc.ops.declared.python_call import by_reference
from graphc.ops.declared.rules import (
    Array,
    adjoint,
    check_dtype,
    conjugate,
    floats,
    matrix_product,
    without_imaginary,
)
from graphc.ops.declared.triangular import half

_DTYPES = ("float32", "float64")


def _infer(name: str, dtypes: tuple[str, ...]) -> Callable[[Types, Attrs], tuple[TensorType, ...]]:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        (x,) = types
        check_dtype(name, "x", x, dtypes)
        if x.rank < 2 or x.shape[-1] != x.shape[-2]:
            raise ShapeError(f"{name}: x is {x}, expected square matrices")
        return TensorType(x.dtype, x.shape[:-1]), x

    return infer


def _ref(x: Array, lower: bool) -> tuple[Array, Array]:
    half = np.tril(x) if lower else np.triu(x)
    finite = np.asarray(np.isfinite(half).all((-2, -1), keepdims=True))
    w, v = np.linalg.eigh(np.where(finite, half, 0), "L" if lower else "U")
    if x.shape[-1]:  # The library says nothing of signs.
        sizes = np.abs(v)
        first = (sizes >= sizes.max(-2, keepdims=True) / 2).argmax(-2)[..., None, :]
        first = np.take_along_axis(v, first, -2)
        v = v * (first.conj() / np.abs(first))
    return np.where(finite[..., 0], w, np.nan).astype(x.dtype), np.where(finite, v, np.nan).astype(x.dtype)


def _grad(g: Builder, n: NodeView, dw: Value | None, dv: Value | None) -> list[Value]:
    """v (diag dw + F o v' dv) v' with F[i, j] = 1 / (w[j] - w[i]) (Giles, "Collected matrix derivative results", 2008), for the
    triangle that is read: what an element outside of it would get is added to the one that stands for both.
    """
    type = g.type(n.x)
    w, v = n.out(0), n.out(1)
    lead, size = type.shape[:-2], type.shape[-1]
    places = np.arange(size, dtype=np.int32)
    diagonal = g.Equal(g.matrix(places[:, None]), g.matrix(places))
    zero, inner = g.like(0.0, w), None
    if dv is not None:
        across, down = (g.Reshape(w, shape=(*lead, *shape)) for shape in ((1, size), (size, 1)))
        gaps = g.Select(diagonal, g.like(1.0, w), g.Sub(across, down))
        change = _turning(g, v, conjugate(g, dv)) if type.is_complex else dv
        inner = g.Select(diagonal, zero, g.Div(matrix_product(g, adjoint(g, v), change), gaps))
    if dw is not None:
        values = g.Select(diagonal, g.Reshape(without_imaginary(g, dw), shape=(*lead, 1, size)), zero)
        inner = values if inner is None else g.Add(inner, values)
    assert inner is not None
    whole = matrix_product(g, matrix_product(g, v, inner), adjoint(g, v))
    both = g.Select(diagonal, without_imaginary(g, whole), g.Add(whole, adjoint(g, whole)))
    return [conjugate(g, half(g, both, n.lower))]


def _turning(g: Builder, v: Value, change: Value) -> Value:
    """The change of complex vectors, with what their angles have of it added to the element that is kept positive, the first of
    at least half the size of the largest.
    """
    type = g.type(v)
    down = type.rank - 2
    sizes = g.Abs(v)
    large = g.GreaterEqual(sizes, g.Mul(g.ReduceMax(sizes, axis=(down,), keep_dims=True), g.like(0.5, sizes)))
    count = g.Cumsum(g.Cast(large, dtype="int32"), axis=down)
    first = g.LogicalAnd(large, g.Equal(count, g.like(1, count)))
    angle = g.ReduceSum(g.Imag(g.Mul(g.Conj(change), v)), axis=(down,), keep_dims=True)
    turn = g.Select(first, g.Div(angle, sizes), g.like(0.0, sizes))
    made: Value = g.Add(change, g.Complex(g.like(0.0, turn), turn))
    return made


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x = inputs[0].type
    *lead, size, _ = x.shape
    if x.size:
        scratch = k.temp(TensorType("float64", ((size + 1) * -(-size // 16) * 16,)))
        k.call("eigh", inputs, (scratch, *outputs), batch=math.prod(lead), size=size, dtype=x.dtype, **attrs)


def _symmetric(*lead: int, size: int) -> Array:
    x = floats(*lead, size, size)
    return np.asarray(x + np.diag(np.arange(size, dtype=np.float32)))


op(
    "Eigh",
    "x",
    attrs={"lower": True},
    infer=_infer("Eigh", _DTYPES),
    ref=_ref,
    grad=_grad,
    lower=Kernel(_lower, _DTYPES),
    batch=leading,
    samples=lambda: [
        Sample((_symmetric(size=4),), grad=(0,)),
        Sample((_symmetric(2, size=3),), {"lower": False}, grad=(0,)),
        Sample((_symmetric(2, 1, size=13),)),
        Sample((np.diag(np.array([3, -1, 0], np.float32)),)),
        Sample((np.array([[1, np.nan], [2, 3]], np.float32),)),
        Sample((np.array([[1, 3], [np.nan, 2]], np.float32),)),
        Sample((floats(2, 0, 0),)),
        Sample((floats(0, 2, 2),)),
    ],
    doc="(w, v): the ascending eigenvalues of symmetric matrices and as columns their vectors, of length 1, whose first element"
    " of at least half the size of the largest is positive. Only the `lower` triangle is read, or the upper one; NaN where it is"
    " not finite. The gradient is for that triangle, and not finite for vectors of equal values",
)

op(
    "EighComplex",
    "x",
    attrs={"lower": True},
    infer=_infer("EighComplex", tuple(COMPLEX)),
    ref=_ref,
    lower=by_reference("EighComplex", _ref),
    grad=_grad,
    batch=leading,
    samples=lambda: [Sample((complexes(3, 3),)), Sample((complexes(2, 4, 4),), {"lower": False})],
    doc="`Eigh` of Hermitian matrices, by NumPy: (w, v), both complex",
)
