"""LU factors with partial pivoting, and solutions of systems by them.

Factors count as constants: an op that is given them is given the matrices, too, and it is for these that it has a gradient.
"""

from __future__ import annotations

import math

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import NO_GRAD, Attrs, Kernel, Operands, Types
from graphc.ops.declared import padding
from graphc.ops.declared.batching import leading
from graphc.ops.declared.optional_scipy import lapack
from graphc.ops.declared.rules import Array, floats, matrix_product, same_dtype
from graphc.ops.declared.triangular import solved, square

_DTYPES = ("float32", "float64")
#: At most so many threads share matrices, or columns of right sides: each has memory of its own.
_PARTS = 16
#: Columns that such a part works on at once, at least.
_COLUMNS = 6

# ---- factors


def _lu_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    square("LU", "x", x)
    return x, TensorType("int32", x.shape[:-1]), TensorType(x.dtype, x.shape[:-2])


def _lu(x: Array) -> tuple[Array, Array, Array]:
    """By LAPACK, if there is SciPy; what is not finite, and many small matrices, in columns for all of them at once."""
    batch = math.prod(x.shape[:-2])
    made = _by_lapack(x) if lapack() and x.size and batch <= x.shape[-1] else None
    return _by_columns(x) if made is None else made


def _by_lapack(x: Array) -> tuple[Array, Array, Array] | None:
    """None where a factor is not finite."""
    factor = lapack().dgetrf if x.dtype == np.float64 else lapack().sgetrf
    packed, order, sign = np.empty_like(x), np.empty(x.shape[:-1], np.int32), np.empty(x.shape[:-2], x.dtype)
    for at in np.ndindex(x.shape[:-2]):
        packed[at], exchanges, _ = factor(x[at])
        rows, odd = list(range(x.shape[-1])), False
        for k, there in enumerate(exchanges.tolist()):
            rows[k], rows[there] = rows[there], rows[k]
            odd ^= there != k
        order[at], sign[at] = rows, -1 if odd else 1
    return (packed, order, sign) if np.isfinite(packed).all() else None


def _by_columns(x: Array) -> tuple[Array, Array, Array]:
    """Crout's order: a column below the diagonal, then a row on its right."""
    size = x.shape[-1]
    packed = x.reshape(math.prod(x.shape[:-2]), size, size).copy()
    order, sign = np.zeros(packed.shape[:2], np.int32) + np.arange(size, dtype=np.int32), np.ones(len(packed), x.dtype)
    batch = np.arange(len(packed))
    with np.errstate(all="ignore"):
        for k in range(size):
            packed[:, k:, k] -= (packed[:, k:, :k] @ packed[:, :k, k, None])[..., 0]
            chosen = k + np.abs(packed[:, k:, k]).argmax(-1)
            for array in (packed, order):
                array[batch, k], array[batch, chosen] = array[batch, chosen], array[batch, k].copy()
            sign[chosen != k] *= -1
            pivot = packed[:, k, k, None]
            packed[:, k + 1 :, k] /= np.where(pivot == 0, np.ones_like(pivot), pivot)
            packed[:, k, k + 1 :] -= (packed[:, k, None, :k] @ packed[:, :k, k + 1 :])[:, 0]
    return packed.reshape(x.shape), order.reshape(x.shape[:-1]), sign.reshape(x.shape[:-2])


def _lu_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x = inputs[0].type
    *lead, size, _ = x.shape
    batch = math.prod(lead)
    if not x.size:
        k.fill(outputs[2], 1)
        return
    parts = min(batch, _PARTS)
    scratch = k.temp(_room(x, parts))
    k.call("lu", inputs, (scratch, *outputs), batch=batch, size=size, parts=parts, dtype=x.dtype)


def _room(x: TensorType, parts: int) -> TensorType:
    """Memory of the kernels' parts: some columns of all rows, and of one more."""
    return TensorType(x.dtype, (parts * (x.shape[-2] + 1) * (192 // x.numpy.itemsize),))


def _regular(*lead: int, size: int) -> Array:
    """Matrices whose rows must be exchanged."""
    made = floats(*lead, size, size) / size + np.roll(np.eye(size, dtype=np.float32), 1, 0)
    return np.asarray(made.astype(np.float32))


op(
    "LU",
    "x",
    infer=_lu_types,
    ref=_lu,
    grad=NO_GRAD,
    lower=Kernel(_lu_lower, _DTYPES),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [
        Sample((_regular(size=5),)),
        Sample((_regular(2, 3, size=37),)),
        Sample((_regular(1, size=53),)),
        Sample((np.array([[1, 1], [1, 1]], np.float32),)),
        Sample((np.zeros((3, 3), np.float32),)),
        Sample((np.array([[1, 2], [np.nan, 3]], np.float32),)),
        Sample((np.array([[2]], np.float32),)),
        Sample((floats(2, 0, 0),)),
        Sample((floats(0, 2, 2),)),
    ],
    doc="(packed, order, sign): U with L below its diagonal, whose own is ones, where L U are the rows `order`, int32, of square"
    " matrices x; and the sign of that order. A pivot is the first of the largest in its column, or the first NaN; it is zero"
    " where all below is. Factors count as constants",
)

# ---- systems


def _solve_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    a, b, packed, order = types
    square("SolveLU", "a", a)
    same_dtype("SolveLU", (a, b, packed))
    if b.shape[:-1] != a.shape[:-1] or packed != a or order != TensorType("int32", a.shape[:-1]):
        raise ShapeError(f"SolveLU: a is {a}, b is {b}, factors are {packed} and {order}, expected the same rows")
    return (b,)


def _solve(a: Array, b: Array, packed: Array, order: Array, transposed: bool) -> Array:
    rows = np.broadcast_to(order[..., None], b.shape).astype(np.int64)
    made = b if transposed else np.take_along_axis(b, rows, -2)
    made = solved(packed, made, not transposed, transposed, not transposed)
    made = solved(packed, made, transposed, transposed, transposed)
    if not transposed:
        return made
    placed = np.empty_like(made)
    np.put_along_axis(placed, rows, made, -2)
    return placed


def _solve_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """With x = a^-1 b: db = a^-T dy, da = -db x^T (Giles, "Collected matrix derivative results", 2008)."""
    db = g.SolveLU(n.a, dy, n.packed, n.order, transposed=not n.transposed)
    left, right = (n.out(), db) if n.transposed else (db, n.out())
    return [g.Neg(matrix_product(g, left, right, tb=True)), db, None, None]


def _solve_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    _, b, packed, order = inputs
    *lead, size, cols = b.type.shape
    batch = math.prod(lead)
    if not b.type.size:
        return
    parts = min(batch * -(-cols // _COLUMNS), _PARTS)
    scratch = k.temp(_room(b.type, parts))
    sizes = {"batch": batch, "size": size, "cols": cols, "parts": parts, "dtype": b.type.dtype}
    k.call("lu_solve", (packed, order, b), (scratch, *outputs), **sizes, **attrs)


def _with_factors(a: Array, *others: Array) -> tuple[Array, ...]:
    packed, order, _ = _lu(a)
    return (a, *others, packed, order)


op(
    "SolveLU",
    "a b packed order",
    attrs={"transposed": False},
    infer=_solve_types,
    ref=_solve,
    grad=_solve_grad,
    lower=Kernel(_solve_lower, _DTYPES),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [
        Sample(_with_factors(_regular(size=5), floats(5, 3)), grad=(1,)),
        Sample(_with_factors(_regular(size=5), floats(5, 3)), {"transposed": True}, grad=(1,)),
        Sample(_with_factors(_regular(2, size=4), floats(2, 4, 1)), grad=(1,)),
        Sample(_with_factors(_regular(2, 3, size=37), floats(2, 3, 37, 29))),
        Sample(_with_factors(_regular(2, 3, size=37), floats(2, 3, 37, 29)), {"transposed": True}),
        Sample(_with_factors(_regular(2, size=13), floats(2, 13, 1)), {"transposed": True}),
        Sample(_with_factors(np.ones((2, 2), np.float32), np.array([[1, 2], [3, 5]], np.float32))),
        Sample(_with_factors(floats(2, 0, 0), floats(2, 0, 3))),
        Sample(_with_factors(_regular(2, size=2), floats(2, 2, 0))),
    ],
    doc="x with a x = b, or with `transposed` a' x = b, by what LU makes of a, which is not read. Infinities and NaN where a is"
    " singular. The gradient is for a and b",
)
