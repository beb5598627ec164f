"""Functions of matrices that need an iteration: eigenvalues, singular values, pseudoinverse, exponential. By NumPy; of them the
pseudoinverse has a kernel.

All act on the last two axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import GradientError, ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import COMPLEX, FLOATS
from graphc.ops.declared import padding
from graphc.ops.declared.batching import leading
from graphc.ops.declared.complex import WHOLE, complexes
from graphc.ops.declared.determinants import solved_across
from graphc.ops.declared.optional_scipy import scipy_part
from graphc.ops.declared.python_call import by_reference
from graphc.ops.declared.rules import (
    Array,
    adjoint,
    check_dtype,
    conjugate,
    floats,
    matrix_product,
    turned,
    without_imaginary,
)

_DTYPES = ("float32", "float64")


def _matrices(name: str, x: TensorType, square: bool = False, dtypes: Sequence[str] = _DTYPES) -> tuple[int, int]:
    """Rows and columns. ShapeError or DTypeError for anything but (square) float matrices."""
    if x.rank < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise ShapeError(f"{name}: x is {x}, expected {'square ' if square else ''}matrices")
    check_dtype(name, "x", x, dtypes)
    return x.shape[-2], x.shape[-1]


def _eye(g: Builder, like: Value, n: int) -> Value:
    type = g.type(like)
    made: Value = g.BroadcastTo(g.matrix(np.eye(n, dtype=type.numpy)), shape=(*type.shape[:-2], n, n))
    return made


def _where_finite(x: Array) -> tuple[Array, Array]:
    """(matrices, zeros for those that are not finite: LAPACK fails for them or prints; which are finite, [..., 1, 1])."""
    finite = np.asarray(np.isfinite(x).all((-2, -1), keepdims=True))
    return np.where(finite, x, np.zeros_like(x)), finite


# ---- orthogonal and triangular factors


def _qr_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    m, n = _matrices("Qr", x, dtypes=(*_DTYPES, *COMPLEX))
    k, lead = m if attrs["full_matrices"] else min(m, n), x.shape[:-2]
    return TensorType(x.dtype, (*lead, m, k)), TensorType(x.dtype, (*lead, k, n))


def _qr(x: Array, full_matrices: bool) -> tuple[Array, Array]:
    given, finite = _where_finite(x)
    q, r = np.linalg.qr(given, mode="complete" if full_matrices else "reduced")
    return np.where(finite, q, np.nan), np.where(finite, r, np.nan)


def _qr_grad(g: Builder, n: NodeView, dq: Value | None, dr: Value | None) -> list[Value]:
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2018); for wide matrices by their first
    columns (Roberts and Roberts, 2020).
    """
    type, q, r = g.type(n.x), n.out(0), n.out(1)
    rows, columns = type.shape[-2:]
    if n.full_matrices and rows > columns:
        raise GradientError(
            "Qr: the columns of a complete Q beyond those of the operand are arbitrary: they have no gradient",
            loc=n.node.loc,
            help='use mode="reduced"',
        )
    dq = g.Fill(dtype=type.dtype, shape=g.type(q).shape, value=0.0) if dq is None else conjugate(g, dq)
    dr = g.Fill(dtype=type.dtype, shape=g.type(r).shape, value=0.0) if dr is None else conjugate(g, dr)
    if columns <= rows:
        return [conjugate(g, _qr_of_tall(g, q, r, dq, dr))]

    def part(x: Value, begin: int, end: int) -> Value:
        shape = (*g.type(x).shape[:-1], end - begin)
        start = (*(0,) * (len(shape) - 1), begin)
        made: Value = g.Slice(x, begin=start, size=shape, step=(1,) * len(shape))
        return made

    rest, change = part(n.x, rows, columns), part(dr, rows, columns)
    dq = g.Add(dq, matrix_product(g, rest, adjoint(g, change)))
    first = _qr_of_tall(g, q, part(r, 0, rows), dq, part(dr, 0, rows))
    return [conjugate(g, g.Concat(first, matrix_product(g, q, change), axis=type.rank - 1))]


def _qr_of_tall(g: Builder, q: Value, r: Value, dq: Value, dr: Value) -> Value:
    """(dq + q (m + m' - half of their diagonal)) r'^-1 with m the upper triangle of dr r' - q' dq."""
    type = g.type(r)
    inner = g.Sub(matrix_product(g, dr, adjoint(g, r)), matrix_product(g, adjoint(g, q), dq))
    size = type.shape[-1]
    upper = g.Mul(inner, g.matrix(np.triu(np.ones((size, size), type.numpy))))
    both = g.Mul(g.Add(upper, adjoint(g, upper)), g.matrix((1 - np.eye(size) / 2).astype(type.numpy)))
    whole = adjoint(g, g.Add(dq, matrix_product(g, q, both)))
    if type.is_complex:
        return adjoint(g, solved_across(g, turned(g, r), whole))
    return turned(g, g.SolveTriangular(r, whole, lower=False))


op(
    "Qr",
    "x",
    attrs={"full_matrices": False},
    infer=_qr_types,
    ref=_qr,
    lower=by_reference("Qr", _qr),
    grad=_qr_grad,
    samples=lambda: [
        Sample((floats(4, 3),), grad=(0,)),
        Sample((floats(2, 3, 5),), grad=(0,)),
        Sample((floats(3, 3),), {"full_matrices": True}, grad=(0,)),
        Sample((floats(5, 3),), {"full_matrices": True}),
        Sample((complexes(2, 4, 3),)),
    ],
    doc="(q, r) with x = q r, orthonormal columns of q and upper triangular r, its diagonal real. The gradient is NaN where x has"
    " not full rank",
)

# ---- eigenvalues


def _eig_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    _matrices("Eig", x, square=True, dtypes=(*_DTYPES, *COMPLEX))
    dtype = WHOLE.get(x.dtype, x.dtype)
    return TensorType(dtype, x.shape[:-1]), TensorType(dtype, x.shape)


def _eig(x: Array) -> tuple[Array, Array]:
    whole = np.result_type(x.dtype, np.complex64)
    given, finite = _where_finite(x)
    try:
        values, vectors = np.linalg.eig(given)
    except np.linalg.LinAlgError:  # No convergence.
        return np.full(x.shape[:-1], np.nan, whole), np.full(x.shape, np.nan, whole)
    return np.where(finite[..., 0], values, np.nan).astype(whole), np.where(finite, vectors, np.nan).astype(whole)


op(
    "Eig",
    "x",
    infer=_eig_types,
    ref=_eig,
    lower=by_reference("Eig", _eig),
    samples=lambda: [
        Sample((floats(3, 3),)),
        Sample((complexes(2, 4, 4),)),
        Sample((np.full((2, 2), np.nan, np.float32),)),
        Sample((floats(0, 2, 2),)),
    ],
    doc="(w, v), complex: x v = v diag(w) with columns of v of length 1, by NumPy, in no order; NaN where x is not finite."
    " It has no gradient, as MindSpore's",
)

# ---- singular values


def _svd_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    m, n = _matrices("Svd", x, dtypes=(*_DTYPES, *COMPLEX))
    k, lead = min(m, n), x.shape[:-2]
    wide = attrs["full_matrices"]
    sizes = ((k,), (m, m if wide else k), (n, n if wide else k))
    return tuple(TensorType(x.dtype, (*lead, *size)) for size in sizes)


def _svd(x: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    given, finite = _where_finite(x)
    u, s, vh = np.linalg.svd(given, full_matrices=full_matrices)
    u, v = (np.where(finite, m, np.nan) for m in (u, vh.conj().swapaxes(-1, -2)))
    return np.where(finite[..., 0], s, np.nan).astype(x.dtype), u, v


def _svd_grad(g: Builder, n: NodeView, ds: Value | None, du: Value | None, dv: Value | None) -> list[Value]:
    """Townsend, "Differentiating the singular value decomposition" (2016), of the thin form.

    With F[i, j] = 1 / (s[j]^2 - s[i]^2): u ((F o skew(u' du)) s + s (F o skew(v' dv)) + diag(ds)) v', and what of du and dv
    stands perpendicular to u and v. Complex u and v turn by angles, by which both may be multiplied: s times the angle between
    them is the imaginary part of the diagonal.
    """
    rows, columns = g.type(n.x).shape[-2:]
    if n.full_matrices and rows != columns and (du is not None or dv is not None):
        raise GradientError(
            "Svd: with full_matrices the vectors beyond the singular values are arbitrary: they have no gradient",
            loc=n.node.loc,
            help="use full_matrices=False",
        )
    s, u, v = (n.out(i) for i in range(3)) if not n.full_matrices else g.Svd(n.x, full_matrices=False)
    ds, du, dv = (None if x is None else conjugate(g, x) for x in (ds, du, dv))
    k = min(rows, columns)
    across, down = g.Reshape(s, shape=(*g.type(s).shape[:-1], 1, k)), g.Reshape(s, shape=(*g.type(s).shape, 1))
    eye = _eye(g, n.x, k)
    values = None if ds is None else g.Reshape(without_imaginary(g, ds), shape=g.type(across).shape)
    inner: Value | None = None if values is None else g.Mul(eye, values)
    gaps = g.Add(g.Sub(g.Square(across), g.Square(down)), eye)
    for vectors, change, left in ((u, du, False), (v, dv, True)):
        if change is None:
            continue
        turn = matrix_product(g, adjoint(g, vectors), change)
        both = g.Sub(turn, adjoint(g, turn))
        part = g.Mul(g.Div(g.Sub(both, g.Mul(both, eye)), gaps), down if left else across)
        if g.type(n.x).is_complex:  # Twice the angles are on the diagonal.
            by = g.Mul(across, g.like(-4.0 if left else 4.0, s))
            part = g.Add(part, g.Div(g.Mul(both, eye), by))
        inner = part if inner is None else g.Add(inner, part)
    assert inner is not None
    made = matrix_product(g, matrix_product(g, u, inner), adjoint(g, v))
    for vectors, change, size in ((u, du, rows), (v, dv, columns)):
        if change is None or size == k:
            continue
        along = matrix_product(g, vectors, matrix_product(g, adjoint(g, vectors), change))
        rest = g.Div(g.Sub(change, along), across)
        ends = (rest, adjoint(g, v)) if vectors is u else (u, adjoint(g, rest))
        made = g.Add(made, matrix_product(g, *ends))
    return [conjugate(g, made)]


op(
    "Svd",
    "x",
    attrs={"full_matrices": False},
    infer=_svd_types,
    ref=_svd,
    lower=by_reference("Svd", _svd),
    grad=_svd_grad,
    samples=lambda: [
        Sample((floats(4, 3),), grad=(0,)),
        Sample((floats(2, 3, 5),), grad=(0,)),
        Sample((floats(3, 4),), {"full_matrices": True}, grad=(0,)),
        Sample((floats(0, 3, 2),)),
        Sample((np.full((2, 2), np.nan, np.float32),)),
        Sample((complexes(2, 3, 4),)),
    ],
    doc="(s, u, v) with x = u diag(s) v' and s descending, NaN where x is not finite."
    " Gradients of u and v are infinite where singular values are equal. Of complex x all are complex, and gradients are those of"
    " what does not depend on the angle by which a column of u, and that of v, may be turned",
)

# ---- the pseudoinverse


def _pinv(x: Array, atol: float, rtol: float) -> Array:
    s, u, v = _svd(x, False)
    bound = np.maximum(atol, rtol * s.max(-1, keepdims=True, initial=0.0))
    kept = s > bound
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(x.dtype)
    return np.asarray((v * inverse[..., None, :]) @ u.swapaxes(-1, -2))


def _pinv_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    m, n = _matrices("Pinv", x)
    return (TensorType(x.dtype, (*x.shape[:-2], n, m)),)


def _pinv_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """Golub and Pereyra (1973): with p the result, at constant rank."""
    x, p = n.x, n.out()
    rows, columns = g.type(x).shape[-2:]
    first = matrix_product(g, matrix_product(g, p, dy, ta=True), p, tb=True)
    outside = g.Sub(_eye(g, x, rows), matrix_product(g, x, p))
    second = matrix_product(g, matrix_product(g, outside, dy, tb=True), matrix_product(g, p, p, tb=True))
    inside = g.Sub(_eye(g, x, columns), matrix_product(g, p, x))
    third = matrix_product(g, matrix_product(g, matrix_product(g, p, p, ta=True), dy, tb=True), inside)
    return [g.Add(g.Sub(second, first), third)]


def _pinv_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x = inputs[0].type
    *lead, rows, cols = x.shape
    if x.size:
        few, many = (-(-n // 16) * 16 for n in sorted((rows, cols)))
        scratch = k.temp(TensorType("float64", (min(rows, cols) * (few + many + 1) + many,)))
        sizes = {"batch": math.prod(lead), "rows": rows, "cols": cols, "dtype": x.dtype}
        k.call("pinv", inputs, (scratch, *outputs), **sizes, **attrs)


op(
    "Pinv",
    "x",
    attrs={"atol": 0.0, "rtol": 0.0},
    infer=_pinv_types,
    ref=_pinv,
    grad=_pinv_grad,
    lower=Kernel(_pinv_lower, _DTYPES),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [
        Sample((floats(4, 3),), {"rtol": 1e-6}, grad=(0,)),
        Sample((floats(2, 3, 5),), {"rtol": 1e-6}, grad=(0,)),
        Sample((np.outer(floats(3), floats(4)),), {"rtol": 1e-5}),
        Sample((floats(0, 3),)),
    ],
    doc="the Moore-Penrose inverse; singular values up to max(atol, rtol times the largest) count as zero",
)

# ---- the exponential

#: Coefficients of the Pade approximant of degree 13, and the norm up to which it is exact in float64 (Higham, 2005).
_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
    33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
_WITHIN = 5.371920351148152


def _matrix_exp(x: Array) -> Array:
    """Scaling and squaring (Higham, 2005), in float64, of each matrix as often as its own norm asks for."""
    a, finite = _where_finite(x.astype(np.float64))
    norm = np.abs(a).sum(-2).max(-1, initial=0.0)[..., None, None]
    squarings = np.ceil(np.log2(np.maximum(norm / _WITHIN, 1.0))).astype(np.int64)
    a = np.ldexp(a, -squarings)
    b: Any = _PADE
    eye = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    a2 = a @ a
    a4, a6 = a2 @ a2, a2 @ a2 @ a2
    u = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye)
    v = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    made = np.linalg.solve(v - u, v + u)
    with np.errstate(all="ignore"):
        for k in range(squarings.max(initial=0)):
            made = np.where(squarings > k, made @ made, made)
        return np.where(finite, made, np.nan).astype(x.dtype)


def _matrix_exp_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    _matrices("MatrixExp", types[0], square=True, dtypes=FLOATS)
    return (types[0],)


def _matrix_exp_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """The corner of exp [[x', dy], [0, x']] (Mathias, 1996)."""
    type = g.type(n.x)
    size = type.shape[-1]
    if not size:
        return [dy]
    across = turned(g, n.x)
    zero = g.Fill(dtype=type.dtype, shape=type.shape, value=0.0)
    axis = type.rank - 1
    block = g.Concat(
        g.Concat(across, dy, axis=axis),
        g.Concat(zero, across, axis=axis),
        axis=axis - 1,
    )
    begin = (*(0,) * (type.rank - 2), 0, size)
    return [g.Slice(g.MatrixExp(block), begin=begin, size=type.shape, step=(1,) * type.rank)]


op(
    "MatrixExp",
    "x",
    infer=_matrix_exp_types,
    ref=_matrix_exp,
    lower=by_reference("MatrixExp", _matrix_exp),
    grad=_matrix_exp_grad,
    samples=lambda: [
        Sample((floats(3, 3),), grad=(0,)),
        Sample((floats(2, 4, 4, low=-9, high=3),), grad=(0,)),
        Sample((np.zeros((2, 2), np.float32),), grad=(0,)),
        Sample((floats(0, 2, 2),)),
    ],
    doc="e^x = 1 + x + x x / 2 + ... of square matrices",
)


# ---- the logarithm


def _log_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    _matrices("MatrixLogarithm", types[0], square=True, dtypes=COMPLEX)
    return (types[0],)


def _log(x: Array) -> Array:
    logm = scipy_part("linalg").logm
    flat = x.reshape(-1, *x.shape[-2:])
    made = [logm(matrix.astype(np.complex128)) if matrix.size else matrix for matrix in flat]
    return np.array(made, x.dtype).reshape(x.shape)


op(
    "MatrixLogarithm",
    "x",
    infer=_log_types,
    ref=_log,
    lower=by_reference("MatrixLogarithm", _log),
    samples=lambda: [Sample((complexes(2, 3, 3),)), Sample((complexes(0, 2, 2),))],
    doc="the principal logarithm of complex square matrices, by SciPy. It has no gradient, as MindSpore's",
)
