"""Matrix products."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import Builder, Gradient, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs, Kernel, Operands, TypeRule, Types
from graphc.ir.types import COMPLEX, FLOATS
from graphc.ops.declared import padding
from graphc.ops.declared.batching import Mapped, leading
from graphc.ops.declared.rules import Array, check_dtype, floats, same_dtype


def _sides(types: Types, attrs: Attrs) -> tuple[int, int, int, int]:
    """m, k of a; k, n of b; after transposition."""
    a, b = types[0].shape[-2:], types[1].shape[-2:]
    if attrs["transpose_a"]:
        a = a[::-1]
    if attrs["transpose_b"]:
        b = b[::-1]
    return (*a, *b)  # type: ignore[return-value]


def _infer(name: str, batched: bool) -> TypeRule:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        x, y = types
        dtype = same_dtype(name, types)
        check_dtype(name, "x", x, (*FLOATS, *COMPLEX))
        wanted = "the same rank of at least 3" if batched else "rank 2"
        if (x.rank < 3 or x.rank != y.rank) if batched else (x.rank != 2 or y.rank != 2):
            raise ShapeError(f"{name}: operands are {x} and {y}, expected {wanted}")
        if x.shape[:-2] != y.shape[:-2]:
            raise ShapeError(f"{name}: leading dimensions differ, {x.shape[:-2]} (x) != {y.shape[:-2]} (y)")
        m, k, k2, n = _sides(types, attrs)
        if k != k2:
            flags = ", ".join(f"{f}=True" for f in ("transpose_a", "transpose_b") if attrs[f])
            raise ShapeError(
                f"{name}: inner dimensions differ, {k} (from x) != {k2} (from y)",
                details=[f"with {flags}"] if flags else (),
            )
        return (TensorType(dtype, (*x.shape[:-2], m, n)),)

    return infer


#: Longer inner products than this are cut into parts, which NumPy's library adds up in float32; float64 brings them together.
_LONGEST, _PART = 1024, 128


def _ref(x: Array, y: Array, transpose_a: bool, transpose_b: bool) -> Array:
    if transpose_a:
        x = x.swapaxes(-1, -2)
    if transpose_b:
        y = y.swapaxes(-1, -2)
    k = x.shape[-1]
    if k <= _LONGEST or x.dtype != np.float32:
        return np.asarray(np.matmul(x, y))
    total: Array = sum(
        np.matmul(x[..., i : i + _PART], y[..., i : i + _PART, :]).astype(np.float64) for i in range(0, k, _PART)
    )
    return total.astype(x.dtype)


def _grad(name: str) -> Gradient:
    def product(g: Builder, x: Value, y: Value, ta: bool, tb: bool) -> Value:
        """The product; that of a column and a row is written elementwise, so that it joins what is done to it."""
        if g.type(x).shape[-2 if ta else -1] == 1:
            column, row = (_turned(g, v) if turn else v for v, turn in ((x, ta), (y, tb)))
            made: Value = g.Mul(column, row)
            return made
        made = getattr(g, name)(x, y, transpose_a=ta, transpose_b=tb)
        return made

    def grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
        ta, tb = n.transpose_a, n.transpose_b
        # d(a b) : da = dy b', db = a' dy; a transposed operand swaps the factors.
        dx = product(g, n.y, dy, tb, True) if ta else product(g, dy, n.y, False, not tb)
        dw = product(g, dy, n.x, True, ta) if tb else product(g, n.x, dy, not ta, False)
        return [dx, dw]

    return grad


def _turned(g: Builder, vector: Value) -> Value:
    """A row as a column, a column as a row."""
    *batch, m, k = g.type(vector).shape
    made: Value = g.Reshape(vector, shape=(*batch, k, m))
    return made


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """Operands may be views; a result whose columns are contiguous is that of the transposed product B' A'. So is a column."""
    m, kk, _, n = _sides([x.type for x in inputs], attrs)
    (a, ta), (b, tb), (c, turned) = (_matrix(x) for x in (*inputs, *outputs))
    ta, tb = ta ^ attrs["transpose_a"], tb ^ attrs["transpose_b"]
    if turned:
        inputs, a, b, ta, tb, m, n = inputs[::-1], b, a, not tb, not ta, n, m
    if a is b is c is None and n == 1:  # A column is a row of the transposed product.
        inputs, ta, tb, m, n = inputs[::-1], False, not ta, n, m
    elif a is None and m == 1:
        ta = False
    axes = outputs[0].type.shape[:-2]
    views = {name: x for name, x in (("a", a), ("b", b), ("c", c)) if x is not None}
    k.call(
        "gemm",
        inputs,
        outputs,
        m=m,
        n=n,
        k=kk,
        ta=ta,
        tb=tb,
        accumulate=False,
        batch=math.prod(axes),
        **({"dtype": "float64"} if outputs[0].type.dtype == "float64" else {}),
        **({"axes": axes} if views else {}),
        **views,
    )


def _matrix(operand: Operand) -> tuple[tuple[int, ...] | None, bool]:
    """How the kernel finds the matrices of an operand, None if contiguous; and whether their columns are contiguous.

    Of a view, as the kernel has it: (size, offset, lead, *strides of the leading axes).
    """
    view = operand.view
    if view is None:
        return None, False
    *batch, row, column = view.strides
    columns = operand.type.shape[-1]
    turned = column != 1 and columns > 1
    return (view.size, view.offset, column if turned else row, *batch), turned


def _batch(g: Builder, m: Mapped) -> list[Value]:
    """One product of a longer matrix where one side is mapped, its rows or columns behind each other; else one per index."""
    rows, columns = m.node.type.shape
    if all(m.mapped):
        return [g.BatchMatMul(*m.inputs, transpose_a=m.transpose_a, transpose_b=m.transpose_b)]
    if m.mapped[0]:
        (y,) = m.again(m.folded(m.inputs[0], 1 if m.transpose_a else 0), m.inputs[1])
        return [m.unfolded(y, 0)]
    if columns == 1:
        # Vectors are the rows of one matrix: nothing is moved.
        x, vectors = m.inputs[0], m.reshaped(m.inputs[1], (m.size, m.types[1].size))
        y = g.MatMul(vectors, x, transpose_a=False, transpose_b=not m.transpose_a)
        return [m.reshaped(y, (m.size, rows, 1))]
    (y,) = m.again(m.inputs[0], m.folded(m.inputs[1], 0 if m.transpose_b else 1))
    return [m.unfolded(y, 1)]


def _samples(batch: tuple[int, ...]) -> list[Sample]:
    made = []
    for m, k, n in ((5, 7, 19), (1, 1, 1), (33, 3, 16)):
        for ta in (False, True):
            for tb in (False, True):
                x = floats(*batch, *((k, m) if ta else (m, k)))
                y = floats(*batch, *((n, k) if tb else (k, n)), seed=3)
                small = m * k * n < 1000
                made.append(Sample((x, y), {"transpose_a": ta, "transpose_b": tb}, grad=(0, 1) if small else ()))
    return made


_FAMILY: tuple[tuple[str, bool, tuple[int, ...]], ...] = (("MatMul", False, ()), ("BatchMatMul", True, (2, 3)))

for _name, _batched, _lead in _FAMILY:
    op(
        _name,
        "x y",
        attrs={"transpose_a": False, "transpose_b": False},
        infer=_infer(_name, _batched),
        ref=_ref,
        grad=_grad(_name),
        lower=Kernel(_lower, double=_lower),
        batch=leading if _batched else _batch,
        pad=padding.product,
        samples=partial(_samples, _lead),
        doc="matrix product" + (" per leading index" if _batched else ""),
    )
