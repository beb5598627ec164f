"""Ops on matrices that are held row by row: the product with a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared.indexing import INDEX_DTYPES
from graphc.ops.declared.padding import Axes, Padded, is_padded, plain
from graphc.ops.declared.rules import Array, check_dtype, floats, same_dtype

_DTYPES = ("float32", "float64")


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    values, indptr, indices, dense = types
    check_dtype("CsrMatMul", "values", values, _DTYPES)
    check_dtype("CsrMatMul", "indptr", indptr, INDEX_DTYPES)
    check_dtype("CsrMatMul", "indices", indices, INDEX_DTYPES)
    same_dtype("CsrMatMul", (values, dense))
    fits = values.rank == indptr.rank == 1 and indices.shape == values.shape and dense.rank == 2
    if not fits or not indptr.size:
        raise ShapeError(f"CsrMatMul: values {values}, indptr {indptr}, indices {indices}, dense {dense} do not fit")
    return (TensorType(values.dtype, (indptr.size - 1, dense.shape[1])),)


def _ref(values: Array, indptr: Array, indices: Array, dense: Array) -> Array:
    made = np.zeros((indptr.size - 1, dense.shape[1]), values.dtype)
    inside = (indices >= 0) & (indices < dense.shape[0])
    for row, (start, end) in enumerate(zip(np.maximum(indptr[:-1], 0).tolist(), indptr[1:].tolist(), strict=True)):
        here = inside[start:end]
        terms = dense[indices[start:end][here]].astype(np.float64)
        made[row] = values[start:end][here].astype(np.float64) @ terms
    return made


def _grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """Of an element its row of dy times its row of the dense matrix; to that its row of dy is added. Rows outside are none."""
    rows = _rows(g, n)
    of_rows = g.Gather(dy, rows, axis=0)
    values = g.ReduceSum(g.Mul(of_rows, g.Gather(n.dense, n.indices, axis=0)), axis=(1,))
    terms = g.Mul(g.Reshape(n.values, shape=(n.type(n.values).size, 1)), of_rows)
    dense = g.GatherGrad(terms, n.indices, shape=n.type(n.dense).shape, axis=0)
    return [values, None, None, dense]


def _rows(g: Builder, n: NodeView) -> Value:
    """Of each element how many rows begin before or at it, less one."""
    kind, count, begins = n.type(n.indptr).dtype, n.type(n.values).size, n.type(n.indptr).size

    def number(value: int, size: int) -> Value:
        made: Value = g.Fill(dtype=kind, shape=(size,), value=value)
        return made

    marks = g.Scatter(number(0, count), n.indptr, number(1, begins), axis=0, mode="add")
    made: Value = g.Sub(g.Cumsum(marks, axis=0), g.like(1, marks))
    return made


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    values, indptr, indices, dense = (x.type for x in inputs)
    if not (values.size and dense.size and outputs[0].type.size):
        k.fill(outputs[0], 0)
        return
    params: dict[str, Any] = {"dtype": values.dtype, "pointer_dtype": indptr.dtype, "index_dtype": indices.dtype}
    sizes = {"count": values.size, "rows": indptr.size - 1, "columns": dense.shape[0], "width": dense.shape[1]}
    k.call("csr_product", inputs, outputs, **params, **sizes)


def _pad(p: Padded) -> list[Axes]:
    """Elements behind the last row are none, whatever stands there."""
    _, (begins,), _, (columns, width) = p.axes
    if is_padded(begins) or is_padded(columns):
        raise p.refuse("an index may mean padding")
    return [(plain(p.node.type.shape[0]), width)]


def _matrix(rows: int, columns: int, width: int, count: int, dtype: str = "int32", seed: int = 0) -> tuple[Array, ...]:
    """Operands with `count` elements, some rows of which are empty."""
    draw = np.random.default_rng(seed)
    begins = np.sort(draw.integers(0, count + 1, rows - 1)) if rows > 1 else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], begins, [count]]).astype(dtype)
    return floats(count), indptr, draw.integers(0, columns, count).astype(dtype), floats(columns, width)


op(
    "CsrMatMul",
    "values indptr indices dense",
    infer=_infer,
    ref=_ref,
    grad=_grad,
    lower=Kernel(_lower, _DTYPES),
    pad=_pad,
    samples=lambda: [
        Sample(_matrix(5, 7, 1, 11), grad=(0, 3)),
        Sample(_matrix(3, 9, 1, 83, "int64")),
        Sample(_matrix(4, 6, 19, 13, "int64", seed=1), grad=(0, 3)),
        Sample(_matrix(2, 5, 131, 9)),
        Sample((floats(3), np.array([0, 2, 9], np.int32), np.array([4, 0, -1], np.int32), floats(4, 2))),
        Sample((floats(0), np.zeros(3, np.int32), np.zeros(0, np.int32), floats(4, 2))),
    ],
    doc="a matrix held row by row (row i has the `values` from indptr[i] to indptr[i + 1], in the columns `indices`) times a"
    " dense one; columns out of range count for nothing",
)
