"""Functions on COOTensor and CSRTensor, and what makes them of dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.dynamic import columns_of
from graphc.ops.functional.elementwise import add, mul, not_equal
from graphc.ops.functional.index import gather_nd
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.sparse import COOTensor, CSRTensor, require_kind
from graphc.ops.functional.sparse_parts import (
    begins_of_each,
    csr_row_softmax,
    elements_of,
    in_order,
    rows_in_bounds,
    rows_of,
)
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.unused_arguments import only

# ---- of dense tensors


def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """What is not zero in a matrix, with int32 indices, in order (MindSpore: ops.dense_to_sparse_coo, Tensor.to_coo).

    A compiled step counts how many elements these are. Raises ArgumentTypeError, ShapeError.
    """
    indices, values, _ = _held("dense_to_sparse_coo", tensor)
    return COOTensor(indices, values, tensor.shape)


def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """What is not zero in a matrix, row by row, with int32 indices (MindSpore: ops.dense_to_sparse_csr, Tensor.to_csr).

    A compiled step counts how many elements these are. Raises ArgumentTypeError, ShapeError.
    """
    indices, values, mask = _held("dense_to_sparse_csr", tensor)
    made: CSRTensor = CSRTensor.of((begins_of_each(mask), indices[:, 1], values), tensor.shape)
    return made


def _held(owner: str, tensor: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Of what is not zero: int32 places [n, 2], the values, and a mask."""
    require_kind(owner, "tensor", tensor, Tensor)
    if tensor.ndim != 2:
        raise ShapeError(f"{owner}: the tensor is {tensor.tensor_type}, expected a matrix", loc=user_loc())
    mask = tensor if tensor.tensor_type.dtype == "bool" else not_equal(tensor, 0)
    indices = stack(tuple(cast_to(x, "int32") for x in columns_of(owner, mask)), 1)
    return indices, gather_nd(tensor, indices), mask


@method()
def to_coo(self: Tensor) -> COOTensor:
    """What is not zero in a matrix: see `ops.dense_to_sparse_coo`."""
    return dense_to_sparse_coo(self)


@method()
def to_csr(self: Tensor) -> CSRTensor:
    """What is not zero in a matrix, row by row: see `ops.dense_to_sparse_csr`."""
    return dense_to_sparse_csr(self)


# ---- made of parts, and taken apart


def make_coo_tensor(indices: Tensor, values: Tensor, dense_shape: tuple[int, ...]) -> COOTensor:
    """COOTensor(indices, values, dense_shape)"""
    return COOTensor(indices, values, dense_shape)


def make_sparse_tensor(indices: Tensor, values: Tensor, dense_shape: tuple[int, ...]) -> COOTensor:
    """COOTensor(indices, values, dense_shape)"""
    return COOTensor(indices, values, dense_shape)


def make_csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, dense_shape: tuple[int, ...]) -> CSRTensor:
    """CSRTensor(indptr, indices, values, dense_shape)"""
    return CSRTensor(indptr, indices, values, dense_shape)


def make_row_tensor(indices: Tensor, values: Tensor, dense_shape: tuple[int, ...]) -> RowTensor:
    """RowTensor(indices, values, dense_shape)"""
    return RowTensor(indices, values, dense_shape)


def make_row_tensor_inner(indices: Tensor, values: Tensor, dense_shape: tuple[int, ...]) -> RowTensor:
    """RowTensor(indices, values, dense_shape)"""
    return RowTensor(indices, values, dense_shape)


def coo_tensor_get_indices(x: COOTensor) -> Tensor:
    """The indices of a COOTensor"""
    require_kind("coo_tensor_get_indices", "x", x, COOTensor)
    return x.indices


def coo_tensor_get_values(x: COOTensor) -> Tensor:
    """The values of a COOTensor"""
    require_kind("coo_tensor_get_values", "x", x, COOTensor)
    return x.values


def coo_tensor_get_dense_shape(x: COOTensor) -> tuple[int, ...]:
    """The shape of a COOTensor"""
    require_kind("coo_tensor_get_dense_shape", "x", x, COOTensor)
    return x.shape


def csr_tensor_get_indptr(x: CSRTensor) -> Tensor:
    """Where the rows of a CSRTensor begin"""
    require_kind("csr_tensor_get_indptr", "x", x, CSRTensor)
    return x.indptr


def csr_tensor_get_indices(x: CSRTensor) -> Tensor:
    """The columns of a CSRTensor's values"""
    require_kind("csr_tensor_get_indices", "x", x, CSRTensor)
    return x.indices


def csr_tensor_get_values(x: CSRTensor) -> Tensor:
    """The values of a CSRTensor"""
    require_kind("csr_tensor_get_values", "x", x, CSRTensor)
    return x.values


def csr_tensor_get_dense_shape(x: CSRTensor) -> tuple[int, ...]:
    """The shape of a CSRTensor"""
    require_kind("csr_tensor_get_dense_shape", "x", x, CSRTensor)
    return x.shape


def row_tensor_get_indices(x: RowTensor) -> Tensor:
    """The rows that a RowTensor names"""
    require_kind("row_tensor_get_indices", "x", x, RowTensor)
    return x.indices


def row_tensor_get_values(x: RowTensor) -> Tensor:
    """The values of a RowTensor's rows"""
    require_kind("row_tensor_get_values", "x", x, RowTensor)
    return x.values


def row_tensor_get_dense_shape(x: RowTensor) -> tuple[int, ...]:
    """The shape of the tensor that a RowTensor stands for"""
    require_kind("row_tensor_get_dense_shape", "x", x, RowTensor)
    return x.dense_shape


def row_tensor_add(x: RowTensor, y: Tensor) -> Tensor:
    """The tensor that a RowTensor stands for plus y"""
    require_kind("row_tensor_add", "x", x, RowTensor)
    return add(x, y)


# ---- places in any order


def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """The sum, its places in order, each once (MindSpore: ops.coo_add).

    thresh: a number. Where both hold a value, the sum is left out if its absolute value is less than thresh; what one of them
    holds alone stays, as in MindSpore. How many places are left a compiled step counts. Raises ArgumentTypeError,
    ArgumentValueError, ShapeError.
    """
    require_kind("coo_add", "x1", x1, COOTensor)
    return x1.add(x2, thresh)


def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """COOTensors one behind the other along an axis, their places in order (MindSpore: ops.coo_concat).

    sp_input: a tuple or list of two or more; concat_dim: 0 or 1, or counted from the end. Raises ArgumentTypeError,
    ArgumentValueError, ShapeError.
    """
    parts = sp_input if isinstance(sp_input, (tuple, list)) else ()
    if len(parts) < 2 or not all(isinstance(x, COOTensor) for x in parts):
        raise ArgumentTypeError("coo_concat: sp_input must be a tuple of two or more COOTensors", loc=user_loc())
    if isinstance(concat_dim, bool) or concat_dim not in (-2, -1, 0, 1):
        raise ArgumentValueError(f"coo_concat: concat_dim must be 0 or 1, got {concat_dim!r}", loc=user_loc())
    axis, sizes = concat_dim % 2, list(parts[0].shape)
    sizes[axis], indices = 0, []
    for x in parts:
        if x.shape[1 - axis] != sizes[1 - axis]:
            raise ShapeError(f"coo_concat: shapes are {[x.shape for x in parts]}", loc=user_loc())
        away = np.zeros(2, x.indices.tensor_type.numpy)
        away[axis] = sizes[axis]
        inside = cast_to(stack(x.within(), 1), x.indices.tensor_type.dtype)
        indices.append(add(inside, Tensor(away)))
        sizes[axis] += x.shape[axis]
    made = COOTensor(concat(tuple(indices)), concat(tuple(x.values for x in parts)), tuple(sizes))
    _, *ordered = in_order(made.places, made.indices, made.values)
    return made.with_parts(*ordered)


# ---- rows


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """The same with a row and a column for each element (MindSpore: ops.csr_to_coo). ArgumentTypeError, ShapeError."""
    require_kind("csr_to_coo", "tensor", tensor, CSRTensor)
    return tensor.to_coo()


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """The matrix; what stands at one place is added up (MindSpore: ops.csr_to_dense). ArgumentTypeError, ShapeError."""
    require_kind("csr_to_dense", "csr_tensor", csr_tensor, CSRTensor)
    return csr_tensor.to_dense()


def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, dense_shape: tuple[int, int]) -> Tensor:
    """[n]: the elements of a dense tensor, which is broadcast to a shape, where a CSRTensor has its values
    (MindSpore: ops.csr_gather). ShapeError; what CSRTensor raises for places that there are not.
    """
    if not isinstance(dense_shape, tuple) or len(dense_shape) != 2:
        raise ShapeError(f"csr_gather: dense_shape is {dense_shape!r}, expected two sizes", loc=user_loc())
    begins, columns = rows_in_bounds("csr_gather", as_tensor(indptr), as_tensor(indices), dense_shape[1])
    return elements_of("csr_gather", dense, rows_of(begins, columns), columns, dense_shape)


def csr_mul(x: CSRTensor, y: Any) -> Any:
    """x times a dense tensor that is broadcast to it: a CSRTensor; times one number: the Tensor of its values, as in MindSpore.

    Raises ArgumentTypeError, ArgumentValueError, ShapeError.
    """
    require_kind("csr_mul", "x", x, CSRTensor)
    return x.scaled("csr_mul", mul, y)


def csr_div(x: CSRTensor, y: Any) -> Any:
    """x over a dense tensor that is broadcast to it: a CSRTensor; over one number: the Tensor of its values, as in MindSpore.

    Raises ArgumentTypeError, ArgumentValueError, ShapeError.
    """
    require_kind("csr_div", "x", x, CSRTensor)
    return x.scaled("csr_div", div, y)


def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """[rows, 1]: the product of a CSRTensor and a vector [columns, 1] (MindSpore: ops.csr_mv). ArgumentTypeError, ShapeError."""
    require_kind("csr_mv", "csr_tensor", csr_tensor, CSRTensor)
    return csr_tensor.mv(dense)


def csr_mm(
    a: CSRTensor,
    b: CSRTensor,
    trans_a: bool = False,
    trans_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> CSRTensor:
    """The product of two CSRTensors, as one that has the places where terms meet (MindSpore: ops.csr_mm).

    Transposed ones are not implemented. The time goes with the elements of a times the columns of b; a compiled step counts the
    places. Raises ArgumentTypeError, ArgumentValueError, ShapeError.
    """
    flags = {"trans_a": trans_a, "trans_b": trans_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
    for name, flag in flags.items():
        only("csr_mm", name, flag, False)
    require_kind("csr_mm", "a", a, CSRTensor)
    require_kind("csr_mm", "b", b, CSRTensor)
    made: CSRTensor = a.mm(b)
    return made


def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """[rows, 1]: the sums of rows; axis must be 1, or -1, as in MindSpore (ops.csr_reduce_sum).

    Raises ArgumentTypeError, ArgumentValueError, ShapeError.
    """
    require_kind("csr_reduce_sum", "csr_tensor", csr_tensor, CSRTensor)
    return csr_tensor.sum(axis)


def csr_softmax(logits: CSRTensor, dtype: Any) -> CSRTensor:
    """The softmax of what each row holds, in float32 or float64 (MindSpore: ops.csr_softmax).

    Raises ArgumentTypeError, DTypeError, ShapeError.
    """
    require_kind("csr_softmax", "logits", logits, CSRTensor)
    logits.require_matrix("csr_softmax")
    name = to_name(dtype)
    if name not in ("float32", "float64"):
        raise DTypeError(f"csr_softmax: dtype must be float32 or float64, got {name}", loc=user_loc())
    return logits.with_values(csr_row_softmax(logits.indptr, logits.indices, cast_to(logits.values, name)))


def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """alpha * a + beta * b, row by row in order of the columns; what either holds is held, zeros too (MindSpore: ops.csr_add).

    alpha, beta: tensors of one number, in the dtype of the values. A compiled step counts how many elements there are. Raises
    ArgumentTypeError, ArgumentValueError, ShapeError.
    """
    require_kind("csr_add", "a", a, CSRTensor)
    return a.add(b, alpha, beta)


__all__ = [
    "coo_add",
    "coo_concat",
    "coo_tensor_get_dense_shape",
    "coo_tensor_get_indices",
    "coo_tensor_get_values",
    "csr_add",
    "csr_div",
    "csr_gather",
    "csr_mm",
    "csr_mul",
    "csr_mv",
    "csr_reduce_sum",
    "csr_softmax",
    "csr_tensor_get_dense_shape",
    "csr_tensor_get_indices",
    "csr_tensor_get_indptr",
    "csr_tensor_get_values",
    "csr_to_coo",
    "csr_to_dense",
    "dense_to_sparse_coo",
    "dense_to_sparse_csr",
    "make_coo_tensor",
    "make_csr_tensor",
    "make_row_tensor",
    "make_row_tensor_inner",
    "make_sparse_tensor",
    "row_tensor_add",
    "row_tensor_get_dense_shape",
    "row_tensor_get_indices",
    "row_tensor_get_values",
]
