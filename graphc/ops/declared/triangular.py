"""Triangular systems and Cholesky's factor; both act on the last two axes."""

from __future__ import annotations

import math

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle, Walk
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared import padding
from graphc.ops.declared.batching import leading
from graphc.ops.declared.optional_scipy import lapack
from graphc.ops.declared.rules import Array, check_dtype, floats, matrix_product, same_dtype, turned

_DTYPES = ("float32", "float64")
#: Elements behind each row that the kernel wants room for.
_ROOM = 48


def square(name: str, operand: str, x: TensorType) -> None:
    """DTypeError or ShapeError for anything but square float matrices."""
    check_dtype(name, operand, x, FLOATS)
    if x.rank < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: {operand} is {x}, expected square matrices")


def half(g: Builder, x: Value, lower: bool, strict: bool = False) -> Value:
    """Square matrices with zeros above, or below, the diagonal, with `strict` on it, too."""
    places = np.arange(g.type(x).shape[-1], dtype=np.int32)
    rows, columns = g.matrix(places[:, None]), g.matrix(places)
    most, least = (rows, columns) if lower else (columns, rows)
    kept = g.Greater(most, least) if strict else g.GreaterEqual(most, least)
    made: Value = g.Select(kept, x, g.like(0.0, x))
    return made


# ---- triangular systems


def _solve_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    a, b = types
    square("SolveTriangular", "a", a)
    same_dtype("SolveTriangular", types)
    if b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"SolveTriangular: a is {a}, b is {b}, expected right sides with the same rows")
    return (b,)


def solved(a: Array, b: Array, lower: bool, transposed: bool, unit: bool) -> Array:
    """By LAPACK, if there is SciPy; what is not finite, and many small systems, row by row for all of them at once."""
    batch = math.prod(b.shape[:-2])
    made = _by_lapack(a, b, lower, transposed, unit) if lapack() and b.size and batch <= b.shape[-2] else None
    return _by_rows(a, b, lower, transposed, unit) if made is None else made


def _by_lapack(a: Array, b: Array, lower: bool, transposed: bool, unit: bool) -> Array | None:
    """None where a result is not finite: what it is then depends on the order of sums."""
    solve = lapack().dtrtrs if b.dtype == np.float64 else lapack().strtrs
    made = np.empty_like(b)
    for at in np.ndindex(b.shape[:-2]):
        # LAPACK's order of elements makes its transpose of a matrix.
        made[at], fails = solve(a[at].T, b[at], lower=not lower, trans=not transposed, unitdiag=unit)
        if fails:
            return None
    return made if np.isfinite(made).all() else None


def _by_rows(a: Array, b: Array, lower: bool, transposed: bool, unit: bool) -> Array:
    a = a.swapaxes(-1, -2) if transposed else a
    made, rows = np.zeros_like(b), range(a.shape[-1])
    forward = lower != transposed
    with np.errstate(all="ignore"):
        for r in rows if forward else reversed(rows):
            done = slice(0, r) if forward else slice(r + 1, None)
            row = b[..., r, :] - (a[..., r : r + 1, done] @ made[..., done, :])[..., 0, :]
            made[..., r, :] = row if unit else row / a[..., r, r, None]
    return made


def _solve_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """With x = A^-1 b: db = A^-T dy, dA = -db x^T where A has elements (Giles, "Collected matrix derivative results", 2008)."""
    db = g.SolveTriangular(n.a, dy, lower=n.lower, transposed=not n.transposed, unit=n.unit)
    left, right = (n.out(), db) if n.transposed else (db, n.out())
    return [half(g, g.Neg(matrix_product(g, left, right, tb=True)), n.lower, n.unit), db]


def _solve_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    b = inputs[1].type
    *lead, size, cols = b.shape
    k.call("triangular_solve", inputs, outputs, batch=math.prod(lead), size=size, cols=cols, dtype=b.dtype, **attrs)


def _solve_samples() -> list[Sample]:
    made = []
    for k in range(8):
        attrs = {"lower": bool(k & 1), "transposed": bool(k & 2), "unit": bool(k & 4)}
        a = floats(5, 5) + 3 * np.eye(5, dtype=np.float32)
        made.append(Sample((a, floats(5, 3, seed=1)), attrs, grad=(0, 1)))
    many = floats(2, 3, 37, 37) / 8 + 2 * np.eye(37, dtype=np.float32)
    return [
        *made,
        Sample((many, floats(2, 3, 37, 1))),
        Sample((many, floats(2, 3, 37, 29)), {"transposed": True}),
        Sample((np.tri(3, k=-1, dtype=np.float32), floats(3, 2))),
        Sample((floats(0, 0), floats(0, 2))),
        Sample((floats(2, 2), floats(2, 0))),
    ]


op(
    "SolveTriangular",
    "a b",
    attrs={"lower": True, "transposed": False, "unit": False},
    infer=_solve_types,
    ref=solved,
    grad=_solve_grad,
    lower=Kernel(_solve_lower, _DTYPES),
    batch=leading,
    pad=padding.matrices,
    samples=_solve_samples,
    doc="x with a x = b for the lower or upper triangle of a, or with `transposed` its transpose; nothing else of a is read, with"
    " `unit` not the diagonal either: it counts as ones. Infinities and NaN where there is a zero on it",
)

# ---- Cholesky's factor


def _cholesky_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    square("Cholesky", "x", x)
    return (x,)


def _cholesky(x: Array, upper: bool) -> Array:
    try:
        made = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:  # One of them is not positive definite.
        made = None
    if made is None or not np.isfinite(made).all():
        made = _columns(x)
    return made.swapaxes(-1, -2).copy() if upper else made


def _columns(x: Array) -> Array:
    """The factors of all matrices at once, column by column, with NaN where they come to be."""
    made = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for k in range(x.shape[-1]):
            column = x[..., k:, k] - (made[..., k:, :k] @ made[..., k, :k, None])[..., 0]
            made[..., k:, k] = column / np.sqrt(column[..., :1])
    return made


def _cholesky_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """L^-T P L^-1 with P the lower triangle of L^T dL, its diagonal halved, made symmetric (Murray, "Differentiation of the
    Cholesky decomposition", 2016).
    """
    factor, change = (turned(g, x) if n.upper else x for x in (n.out(), dy))
    inner = matrix_product(g, factor, change, ta=True)
    by = g.like(0.5, inner)
    inner = g.Mul(g.Add(half(g, inner, True), half(g, inner, True, strict=True)), by)
    left = g.SolveTriangular(factor, inner, transposed=True)
    both = g.SolveTriangular(factor, turned(g, left), transposed=True)
    return [g.Mul(g.Add(both, turned(g, both)), by)]


def _cholesky_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """The kernel makes the upper factor from the upper triangle, in rows that are longer."""
    (x,), (y,) = inputs, outputs
    *lead, size, _ = x.type.shape
    batch, wide = math.prod(lead), size + _ROOM
    if not x.type.size:
        return
    room = TensorType(x.type.dtype, (batch, size, wide))
    source, made = k.temp(room), k.temp(room)
    domain, ours, across, down = (batch, size, size), size * size, (1, wide), (wide, 1)
    k.copy(x, source, domain, 0, (ours, size, 1), 0, (size * wide, *across))
    k.call("cholesky", (source,), (made,), batch=batch, size=size, lead=wide, dtype=x.type.dtype)

    def kept(e: ExpressionBuilder, value: Handle) -> Handle:
        row, column = (e.iota(axis, e.number(0, "int32")) for axis in (1, 2))
        inside = e.le(row, column) if attrs["upper"] else e.ge(row, column)
        return e.select(inside, value, e.constant(0.0, value))

    factor = Walk(made, 0, (size * wide, *(down if attrs["upper"] else across)))
    k.loop(kept, (factor,), Walk(y, 0, (ours, size, 1)), domain)


def _positive(*lead: int, size: int) -> Array:
    x = floats(*lead, size, size)
    return np.asarray(x @ x.swapaxes(-1, -2) / size + np.eye(size, dtype=np.float32))


op(
    "Cholesky",
    "x",
    attrs={"upper": False},
    infer=_cholesky_types,
    ref=_cholesky,
    grad=_cholesky_grad,
    lower=Kernel(_cholesky_lower, _DTYPES),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [
        Sample((_positive(size=5),)),
        Sample((_positive(2, 3, size=37),)),
        Sample((_positive(2, size=4),), {"upper": True}),
        Sample((np.array([[4, 9], [2, 5]], np.float32),)),
        Sample((np.array([[1, 0, 0], [2, 3, 0], [3, 4, 5]], np.float32),)),
        Sample((np.zeros((2, 2), np.float32),)),
        Sample((floats(2, 0, 0),)),
    ],
    doc="lower triangular y with y y' = x for symmetric positive definite x, of which the lower triangle is read; `upper`: its"
    " transpose. Where x is not positive definite: NaN from the column on that shows it. The gradient is symmetric",
)
