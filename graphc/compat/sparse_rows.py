"""Sparse matrices row by row, as five tensors: MindSpore's primitives of `ops.operations.sparse_ops`.

dense_shape: int32 or int64 [2]; batch_pointers [2]: 0 and the number of elements, or that alone; row_pointers [rows + 1]: where
rows begin; col_indices [n]; values [n]. Batches of several matrices are not implemented, but for SparseMatrixNNZ and
SparseTensorToCSRSparseMatrix. How many elements a result has a compiled step counts; sizes of results are known there.
"""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.functional.sparse import CSRTensor
from graphc.ops.functional.sparse_parts import (
    begins_of,
    csr_product,
    csr_row_softmax,
    in_order,
    rows_of,
    sparse_to_dense,
)
from graphc.ops.primitives.pull import numbers
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor

Parts = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


_NAMES = ("dense_shape", "batch_pointers", "row_pointers", "col_indices", "values")


def _check_kinds(owner: str, *parts: Any, alone: bool = False) -> None:
    """ArgumentTypeError, DTypeError or ShapeError unless these are the parts of one matrix or more; alone: of one."""
    for name, x in zip(_NAMES, parts, strict=True):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(f"{owner}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
        if name != "values" and x.tensor_type.dtype not in ("int32", "int64"):
            raise DTypeError(f"{owner}: {name}: {x.tensor_type}, expected int32 or int64", loc=user_loc())
        if x.ndim != 1 and not (alone and name == "batch_pointers" and x.shape == ()):
            raise ShapeError(f"{owner}: {name}: {x.tensor_type}, expected one axis", loc=user_loc())


def _check(owner: str, *parts: Any) -> None:
    """As `_check_kinds`; ShapeError for several matrices, too."""
    _check_kinds(owner, *parts, alone=True)
    shape, batches, _, columns, values = parts
    if shape.shape != (2,) or batches.shape not in ((2,), ()) or values.shape != columns.shape:
        said = ", ".join(f"{name} {x.tensor_type}" for name, x in zip(_NAMES, parts, strict=True))
        raise ShapeError(f"{owner}: {said}: expected one matrix", loc=user_loc())


def _sizes(owner: str, shape: Tensor) -> tuple[int, int]:
    height, width = whole_numbers(owner, "dense_shape", numbers(owner, shape))
    return height, width


def _whole(shape: Tensor, begins: Tensor, columns: Tensor, values: Tensor) -> Parts:
    """The parts of one matrix, of which the integers have the dtype of the shape."""
    kind = shape.dtype
    count = ops.reshape(begins[-1:], (1,))
    batches = ops.concat((ops.zeros_like(count), count))
    return shape, ops.cast(batches, kind), ops.cast(begins, kind), ops.cast(columns, kind), values


def _count(
    x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor, x_col_indices: Tensor, x_values: Tensor
) -> Tensor:
    """int32 [batches]: how many elements each matrix holds."""
    _check_kinds("SparseMatrixNNZ", x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values)
    return ops.cast(x_batch_pointers[1:] - x_batch_pointers[:-1], "int32")


def _transpose(
    x_dense_shape: Tensor,
    x_batch_pointers: Tensor,
    x_row_pointers: Tensor,
    x_col_indices: Tensor,
    x_values: Tensor,
    conjugate: bool,
) -> Parts:
    """The parts of the transposed matrix; conjugate: with complex values conjugated."""
    owner = "SparseMatrixTranspose"
    _check(owner, x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values)
    _, width = _sizes(owner, x_dense_shape)
    rows = rows_of(x_row_pointers, x_col_indices)
    columns, rows, values = in_order(x_col_indices, rows, x_values)
    if conjugate and values.tensor_type.is_complex:
        values = ops.conj(values)
    return _whole(ops.flip(x_dense_shape, (0,)), begins_of(columns, width), rows, values)


def _softmax(
    x_dense_shape: Tensor,
    x_batch_pointers: Tensor,
    x_row_pointers: Tensor,
    x_col_indices: Tensor,
    x_values: Tensor,
    dtype: Any,
) -> Parts:
    """The parts of a matrix with the softmax of what each row holds, in float32 or float64."""
    owner, name = "SparseMatrixSoftmax", to_name(dtype)
    _check(owner, x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values)
    if name not in ("float32", "float64"):
        raise DTypeError(f"{owner}: dtype must be float32 or float64, got {name}", loc=user_loc())
    made = csr_row_softmax(x_row_pointers, x_col_indices, ops.cast(x_values, name))
    return x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, made


def _add(
    x1_dense_shape: Tensor,
    x1_batch_pointers: Tensor,
    x1_row_pointers: Tensor,
    x1_col_indices: Tensor,
    x1_values: Tensor,
    x2_dense_shape: Tensor,
    x2_batch_pointers: Tensor,
    x2_row_pointers: Tensor,
    x2_col_indices: Tensor,
    x2_values: Tensor,
    alpha: Tensor,
    beta: Tensor,
) -> Parts:
    """The parts of alpha times a matrix plus beta times another one; alpha and beta are tensors of one number."""
    owner = "SparseMatrixAdd"
    _check(owner, x1_dense_shape, x1_batch_pointers, x1_row_pointers, x1_col_indices, x1_values)
    _check(owner, x2_dense_shape, x2_batch_pointers, x2_row_pointers, x2_col_indices, x2_values)
    first = CSRTensor(x1_row_pointers, x1_col_indices, x1_values, _sizes(owner, x1_dense_shape))
    second = CSRTensor(x2_row_pointers, x2_col_indices, x2_values, _sizes(owner, x2_dense_shape))
    made = first.add(second, alpha, beta)
    return _whole(x1_dense_shape, made.indptr, made.indices, made.values)


def _product(
    x1_dense_shape: Tensor,
    x1_batch_pointers: Tensor,
    x1_row_pointers: Tensor,
    x1_col_indices: Tensor,
    x1_values: Tensor,
    x2_dense: Tensor,
    transpose_x1: bool,
    transpose_x2: bool,
    adjoint_x1: bool,
    adjoint_x2: bool,
    transpose_output: bool,
    conjugate_output: bool,
) -> Tensor:
    """A matrix times a dense one of its dtype, each transposed, or transposed and conjugated, if so; the product likewise."""
    owner = "SparseMatrixMatMul"
    begins, columns, values = x1_row_pointers, x1_col_indices, x1_values
    _check(owner, x1_dense_shape, x1_batch_pointers, begins, columns, values)
    if x2_dense.ndim != 2 or x2_dense.dtype != values.dtype:
        raise ShapeError(
            f"{owner}: x2_dense is {x2_dense.tensor_type}, expected a matrix of the dtype of values, {values.tensor_type}",
            loc=user_loc(),
        )
    if transpose_x1 or adjoint_x1:
        _, _, begins, columns, values = _transpose(
            x1_dense_shape, x1_batch_pointers, begins, columns, values, adjoint_x1
        )
    right = ops.transpose(x2_dense, (1, 0)) if transpose_x2 or adjoint_x2 else x2_dense
    if adjoint_x2 and right.tensor_type.is_complex:
        right = ops.conj(right)
    made = csr_product(begins, columns, values, right)
    made = ops.transpose(made, (1, 0)) if transpose_output else made
    return ops.conj(made) if conjugate_output and made.tensor_type.is_complex else made


def _of_dense(dense_input: Tensor, indices: Tensor) -> Parts:
    """The parts of the matrix that holds the elements of a dense one at places [n, 2], which are in order."""
    owner = "DenseToCSRSparseMatrix"
    if dense_input.ndim != 2 or indices.ndim != 2 or indices.shape[1] != 2:
        raise ShapeError(
            f"{owner}: dense_input is {dense_input.tensor_type}, indices {indices.tensor_type}, expected a matrix and [n, 2]",
            loc=user_loc(),
        )
    return _of_places(indices, ops.gather_nd(dense_input, indices), Tensor(list(dense_input.shape)))


def _of_places(indices: Tensor, values: Tensor, dense_shape: Tensor) -> Parts:
    """The parts of the matrix that holds values [n] at places [n, 2], which are in order; of several matrices [n, 3]."""
    owner = "SparseTensorToCSRSparseMatrix"
    axes = indices.shape[1] if indices.ndim == 2 else 0
    if axes not in (2, 3) or values.shape != indices.shape[:1] or dense_shape.shape != (axes,):
        raise ShapeError(
            f"{owner}: indices are {indices.tensor_type}, values {values.tensor_type}, the shape is"
            f" {dense_shape.tensor_type}: expected [n, 2], [n] and [2], or [n, 3], [n] and [3]",
            loc=user_loc(),
        )
    if axes == 3:
        count, height, _ = whole_numbers(owner, "dense_shape", numbers(owner, dense_shape))
        begins = begins_of(indices[:, 0] * height + indices[:, 1], count * height)
        batches = begins[::height]
        ends = ops.concat((ops.reshape(begins[:-1], (count, height)), ops.reshape(batches[1:], (count, 1))), 1)
        rows = ops.reshape(ends - ops.reshape(batches[:-1], (count, 1)), (-1,))
        return ops.cast(dense_shape, indices.dtype), batches, rows, indices[:, 2], values
    height, _ = _sizes(owner, dense_shape)
    return _whole(ops.cast(dense_shape, indices.dtype), begins_of(indices[:, 0], height), indices[:, 1], values)


def _dense(
    x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor, x_col_indices: Tensor, x_values: Tensor
) -> Tensor:
    """The matrix as a dense one."""
    owner = "CSRSparseMatrixToDense"
    places, values, shape = _places(
        x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values, owner=owner
    )
    return sparse_to_dense(places, values, _sizes(owner, shape), "add")


def _places(
    x_dense_shape: Tensor,
    x_batch_pointers: Tensor,
    x_row_pointers: Tensor,
    x_col_indices: Tensor,
    x_values: Tensor,
    owner: str = "CSRSparseMatrixToSparseTensor",
) -> tuple[Tensor, Tensor, Tensor]:
    """(indices [n, 2], values, shape)."""
    _check(owner, x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values)
    places = ops.stack((rows_of(x_row_pointers, x_col_indices), x_col_indices), 1)
    return places, x_values, x_dense_shape


SparseMatrixNNZ = declare("SparseMatrixNNZ", _count)
SparseMatrixTranspose = declare("SparseMatrixTranspose", _transpose, conjugate=False)
SparseMatrixSoftmax = declare("SparseMatrixSoftmax", _softmax, dtype=REQUIRED)
SparseMatrixAdd = declare("SparseMatrixAdd", _add)
SparseMatrixMatMul = declare(
    "SparseMatrixMatMul",
    _product,
    transpose_x1=False,
    transpose_x2=False,
    adjoint_x1=False,
    adjoint_x2=False,
    transpose_output=False,
    conjugate_output=False,
)
DenseToCSRSparseMatrix = declare("DenseToCSRSparseMatrix", _of_dense)
SparseTensorToCSRSparseMatrix = declare("SparseTensorToCSRSparseMatrix", _of_places)
CSRSparseMatrixToDense = declare("CSRSparseMatrixToDense", _dense)
CSRSparseMatrixToSparseTensor = declare(
    "CSRSparseMatrixToSparseTensor",
    lambda x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values: _places(
        x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices, x_values
    ),
    _places.__doc__,
)

__all__ = [
    "CSRSparseMatrixToDense", "CSRSparseMatrixToSparseTensor", "DenseToCSRSparseMatrix", "SparseMatrixAdd",
    "SparseMatrixMatMul", "SparseMatrixNNZ", "SparseMatrixSoftmax", "SparseMatrixTranspose",
    "SparseTensorToCSRSparseMatrix",
]  # fmt: skip
