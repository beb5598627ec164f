"""Determinants of real and complex matrices, with derivatives that are right for singular ones, too.

A determinant is a polynomial, and so are its derivatives, the first of which are the cofactors. Where left x right^T is a
diagonal matrix, with left and right of determinant 1, they are made of products of its elements without one, or without two
(`DiagonalForm`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ml_dtypes import finfo

from graphc.errors import ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import NO_GRAD, Alias, Attrs, Kernel, Operands, Types
from graphc.ir.types import COMPLEX, FLOATS
from graphc.ops.declared import padding
from graphc.ops.declared.batching import leading
from graphc.ops.declared.complex import complexes
from graphc.ops.declared.lu import _regular
from graphc.ops.declared.rules import Array, check_dtype, floats, matrix_product, same_dtype, turned
from graphc.ops.declared.triangular import square

_DTYPES = ("float32", "float64")

# ---- diagonal forms


def _form_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    for x in types:
        square("DiagonalForm", "x", x)
    same_dtype("DiagonalForm", types)
    if len(types) not in (1, 2) or types[0].shape != types[-1].shape:
        raise ShapeError(f"DiagonalForm: x is {', '.join(map(str, types))}, expected matrices, or their two parts")
    x, line = types[0], TensorType(types[0].dtype, types[0].shape[:-1])
    return tuple(type for type in (x, x, line, line, x) for _ in types)


def _form(*parts: Array) -> tuple[Array, ...]:
    x = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    made = [np.empty(shape, x.dtype) for shape in (x.shape, x.shape, x.shape[:-1], x.shape[:-1], x.shape)]
    for at in np.ndindex(x.shape[:-2]):
        for array, value in zip(made, _form_of(x[at]), strict=True):
            array[at] = value
    return tuple(part for y in made for part in ((y,) if len(parts) == 1 else (y.real.copy(), y.imag.copy())))


def _form_of(x: Array) -> tuple[Array, ...]:
    """Gauss' elimination of rows and of columns, with the largest of all that is left for a pivot."""
    size, rest, odd = len(x), x.copy(), False
    left, right = np.eye(size, dtype=x.dtype), np.eye(size, dtype=x.dtype)
    with np.errstate(all="ignore"):
        for k in range(size):
            sizes = abs(rest[k:, k:].real) + abs(rest[k:, k:].imag)
            places = np.where(np.isnan(sizes), -1, sizes).argmax()
            row, column = (k + int(i) for i in divmod(places, size - k))
            for array, other in ((rest, row), (left, row), (rest.T, column), (right, column)):
                array[[k, other]] = array[[other, k]]
            odd ^= (row != k) ^ (column != k)
            if rest[k, k] != 0:
                down, across = rest[k + 1 :, k] / rest[k, k], rest[k, k + 1 :] / rest[k, k]
                rest[k + 1 :, k + 1 :] -= np.outer(down, rest[k, k + 1 :])
                left[k + 1 :] -= np.outer(down, left[k])
                right[k + 1 :] -= np.outer(across, right[k])
        diagonal = np.diagonal(rest).copy()
        diagonal[:1] *= -1 if odd else 1
        left[:1] *= -1 if odd else 1
        seconds = _without_each(np.where(np.eye(size, dtype=bool), 1, diagonal))
        return left, right, diagonal, np.diagonal(seconds), seconds * (1 - np.eye(size, dtype=x.real.dtype))


def _without_each(rows: Array) -> Array:
    """The products of rows without one element of them: of those in front of it, and of those behind it."""
    before, behind = np.ones_like(rows), np.ones_like(rows)
    before[:, 1:] = rows[:, :-1].cumprod(1)
    behind[:, :-1] = rows[:, :0:-1].cumprod(1)[:, ::-1]
    return before * behind


def _form_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, parts = inputs[0].type, len(inputs)
    *lead, size, _ = x.shape
    if x.size:
        scratch = k.temp(TensorType(x.dtype, (parts * size * size,)))
        sizes = {"batch": math.prod(lead), "size": size, "parts": parts, "dtype": x.dtype}
        k.call("diagonal_form", inputs, (scratch, *outputs), **sizes)


op(
    "DiagonalForm",
    "*parts",
    infer=_form_types,
    ref=_form,
    grad=NO_GRAD,
    lower=Kernel(_form_lower, _DTYPES),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [
        Sample((_regular(size=5),)),
        Sample((_regular(2, 3, size=9),)),
        Sample((floats(2, 4, 4), floats(2, 4, 4, seed=1))),
        Sample((np.zeros((3, 3), np.float32),)),
        Sample((np.eye(4, k=1, dtype=np.float32),)),
        Sample((np.array([[2]], np.float32),)),
        Sample((floats(2, 0, 0),)),
        Sample((floats(0, 2, 2),)),
    ],
    doc="(left, right, diagonal, firsts, seconds) with left x right' diagonal, of real matrices or, each in two parts, of complex"
    " ones. left and right have the determinant 1, or both -1; firsts are the products of the diagonal without each element,"
    " seconds those without two, zero on their own diagonal. They count as constants",
)


def diagonal_form(g: Builder, a: Value) -> tuple[Value, ...]:
    """What `DiagonalForm` makes of matrices, complex ones of complex ones."""
    if not g.type(a).is_complex:
        return tuple(g.DiagonalForm(a))
    made = g.DiagonalForm(g.Real(a), g.Imag(a))
    return tuple(g.Complex(*made[k : k + 2]) for k in range(0, len(made), 2))


# ---- what derivatives are made of


def _mask(g: Builder, a: Value) -> Value:
    """Where the diagonal of matrices like a is."""
    places = np.arange(g.type(a).shape[-1], dtype=np.int32)
    made: Value = g.Equal(g.matrix(places[:, None]), g.matrix(places))
    return made


def _on_diagonal(g: Builder, a: Value, x: Value, *shape: int) -> Value:
    """Matrices like a with x on the diagonal, which has this shape for each of them."""
    lead = g.type(a).shape[:-2]
    made: Value = g.Select(_mask(g, a), g.Reshape(x, shape=(*lead, *shape)), g.like(0.0, x))
    return made


def solved_across(g: Builder, a: Value, sides: Value) -> Value:
    """The transpose of square matrices a, inverted, times other matrices; complex ones are real ones of twice the size."""
    if not g.type(a).is_complex:
        packed, order, _ = g.LU(a)
        made: Value = g.SolveLU(a, sides, packed, order, transposed=True)
        return made
    type = g.type(a)
    down, along, size = type.rank - 2, type.rank - 1, type.shape[-1]
    re, im = g.Real(a), g.Imag(a)
    # These are the parts of a's conjugate, whose transpose is that of a in parts.
    whole = g.Concat(g.Concat(re, im, axis=along), g.Concat(g.Neg(im), re, axis=along), axis=down)
    made = solved_across(g, whole, g.Concat(g.Real(sides), g.Imag(sides), axis=down))
    shape, one = g.type(sides).shape, (1,) * type.rank
    starts = ((*(0,) * down, k, 0) for k in (0, size))
    made = g.Complex(*(g.Slice(made, begin=start, size=shape, step=one) for start in starts))
    return made


# ---- determinants


def _is_of(name: str, value: TensorType, a: TensorType, shape: tuple[int, ...]) -> None:
    """DTypeError, ShapeError for what is not made of square matrices a."""
    check_dtype(name, "a", a, (*FLOATS, *COMPLEX))
    same_dtype(name, (value, a))
    if a.rank < 2 or a.shape[-1] != a.shape[-2] or value.shape != shape:
        raise ShapeError(f"{name}: a is {a}, value is {value}, expected square matrices and what is made of them")


def _det_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    value, a = types
    _is_of("Det", value, a, a.shape[:-2])
    return (value,)


def _det_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """The cofactors times dy; a^-T dy of the logarithm."""
    if n.log:
        return [None, solved_across(g, n.a, _on_diagonal(g, n.a, dy, 1, 1))]
    made = g.Cofactors(_cofactors(g, n.a), n.a)
    change = g.Reshape(dy, shape=(*g.type(n.a).shape[:-2], 1, 1))
    return [None, g.Mul(made, change)]


def _cofactors(g: Builder, a: Value) -> Value:
    """Of complex matrices by their diagonal form, of real ones det a^-T by factors of LU, which are faster.

    Where a pivot is zero a small number takes its place: the cofactors are polynomials, so what that changes is as small. The
    product of three of them is still a number.
    """
    type = g.type(a)
    size = type.shape[-1]
    if type.is_complex:
        left, right, _, firsts, _ = diagonal_form(g, a)
        return matrix_product(g, left, g.Mul(g.Reshape(firsts, shape=(*type.shape[:-1], 1)), right), ta=True)
    packed, order, sign = g.LU(a)
    limits: Any = finfo
    limits = limits(type.numpy)
    tiny = min(float(limits.tiny) ** 0.25, float(limits.eps))
    zero = g.like(0.0, a)
    packed = g.Select(g.LogicalAnd(_mask(g, a), g.Equal(packed, zero)), g.like(tiny, a), packed)
    flat = g.Reshape(packed, shape=(*type.shape[:-2], size * size))
    pivots = g.Gather(flat, g.matrix(np.arange(size, dtype=np.int32) * (size + 1)), axis=type.rank - 2)
    value = g.Mul(sign, g.ReduceProd(pivots, axis=(type.rank - 2,), keep_dims=False))
    made: Value = g.SolveLU(a, _on_diagonal(g, a, value, 1, 1), packed, order, transposed=True)
    return made


def _of_determinant(a: Array, log: bool) -> Sample:
    value = np.linalg.det(a)
    value = np.asarray(np.log(np.abs(value)) if log else value).astype(a.dtype)
    return Sample((value, a), {"log": log})


op(
    "Det",
    "value a",
    attrs={"log": False},
    infer=_det_types,
    ref=lambda value, a, log: value.copy(),
    grad=_det_grad,
    lower=Alias(),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [
        _of_determinant(_regular(2, size=3), False),
        _of_determinant(_regular(size=4), True),
        _of_determinant(complexes(2, 3, 3), False),
    ],
    doc="value, the determinant of matrices a, or with `log` its logarithm, of real ones that of its size. The gradient is for a,"
    " that of the determinant the cofactors",
)

# ---- cofactors


def _like_types(name: str) -> Any:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        value, a, *others = types
        for x in (value, *others):
            _is_of(name, x, a, a.shape)
        return (value,)

    return infer


def _cofactors_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    return [None, g.CofactorsChange(_changed(g, n.a, dy), n.a, dy)]


def _changed(g: Builder, a: Value, change: Value) -> Value:
    """How the cofactors' products with `change`, added up, change with a.

    Of a diagonal matrix the second derivative of the determinant is (x_ii y_jj - x_ij y_ji) times the product of all other
    elements, for every i and j; left a right^T is such a matrix.
    """
    type = g.type(a)
    left, right, _, _, seconds = diagonal_form(g, a)
    inner = matrix_product(g, matrix_product(g, left, change), right, tb=True)
    own = g.ReduceSum(_where_diagonal(g, a, inner), axis=(type.rank - 2,), keep_dims=True)
    own = g.ReduceSum(g.Mul(seconds, own), axis=(type.rank - 1,), keep_dims=True)
    inner = g.Sub(_on_diagonal(g, a, own, type.shape[-1], 1), g.Mul(seconds, turned(g, inner)))
    return matrix_product(g, matrix_product(g, left, inner, ta=True), right)


def _where_diagonal(g: Builder, a: Value, x: Value) -> Value:
    """Zeros beside the diagonal of x."""
    made: Value = g.Select(_mask(g, a), x, g.like(0.0, x))
    return made


op(
    "Cofactors",
    "value a",
    infer=_like_types("Cofactors"),
    ref=lambda value, a: value.copy(),
    grad=_cofactors_grad,
    lower=Alias(),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [Sample((floats(2, 3, 3, seed=1), _regular(2, size=3)))],
    doc="value, the cofactors of matrices a: the derivatives of their determinants. The gradient is for a",
)


def _change_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """For `change` by symmetry. For a, with p = a^-1 change and q that of dy: det (((tr p tr q - tr p q) - tr p q - tr q p + p q
    + q p) a^-1), its first products traces, which is not finite for singular matrices.
    """
    type = g.type(n.a)
    if not type.size:
        return [None, dy, dy]
    eye, axes = g.matrix(np.eye(type.shape[-1], dtype=type.numpy)), (type.rank - 2, type.rank - 1)
    inverse = turned(g, solved_across(g, n.a, g.BroadcastTo(eye, shape=type.shape)))
    p, q = (matrix_product(g, inverse, x) for x in (n.change, dy))
    both, other = matrix_product(g, p, q), matrix_product(g, q, p)
    tp, tq, tb = (g.ReduceSum(_where_diagonal(g, n.a, x), axis=axes, keep_dims=True) for x in (p, q, both))
    inner = g.Sub(g.Add(both, other), g.Add(g.Mul(tp, q), g.Mul(tq, p)))
    inner = g.Add(inner, g.Mul(eye, g.Sub(g.Mul(tp, tq), tb)))
    made = g.Mul(matrix_product(g, inner, inverse), g.Reshape(_det(g, n.a), shape=(*type.shape[:-2], 1, 1)))
    return [None, turned(g, made), g.CofactorsChange(_changed(g, n.a, dy), n.a, dy)]


def _det(g: Builder, a: Value) -> Value:
    """The determinant, with its gradient, of matrices that have rows."""
    lead = g.type(a).shape[:-2]
    diagonal, firsts = diagonal_form(g, a)[2:4]
    first = g.Slice(g.Mul(diagonal, firsts), begin=(0,) * (len(lead) + 1), size=(*lead, 1), step=(1,) * (len(lead) + 1))
    made: Value = g.Det(g.Reshape(first, shape=lead), a)
    return made


op(
    "CofactorsChange",
    "value a change",
    infer=_like_types("CofactorsChange"),
    ref=lambda value, a, change: value.copy(),
    grad=_change_grad,
    lower=Alias(),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [Sample((floats(2, 3, 3, seed=1), _regular(2, size=3), floats(2, 3, 3)))],
    doc="value, how the cofactors' products with `change`, added up, change with matrices a. The gradient is for a, where this is"
    " not finite for singular ones, and for `change`",
)
