"""Primitives of sparse tensors that are given as their parts: places, values, a shape."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.declared.indexing import INDEX_DTYPES
from graphc.ops.functional.core import Ints
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.scattering import tensor_scatter
from graphc.ops.functional.sparse_parts import dense_product, sparse_slice, sparse_to_dense
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean


def _parts(owner: str, indices: Any, values: Any, shape: Any) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Places [n, axes] and values [n] as tensors, the shape as ints; it may be a tensor that is known."""
    places, held = as_tensor(indices, f"{owner}: indices"), as_tensor(values, f"{owner}: values")
    if places.tensor_type.dtype not in INDEX_DTYPES:
        raise DTypeError(f"{owner}: indices are {places.tensor_type}, expected int32 or int64", loc=user_loc())
    sizes = known_values(owner, shape).tolist() if isinstance(shape, Tensor) else shape
    if not isinstance(sizes, (tuple, list)) or any(isinstance(n, bool) or not isinstance(n, int) for n in sizes):
        raise ArgumentTypeError(f"{owner}: the shape must be a tuple of ints, got {shape!r}", loc=user_loc())
    if places.ndim != 2 or held.shape != places.shape[:1] or places.shape[1] != len(sizes) or min(sizes, default=0) < 1:
        raise ShapeError(
            f"{owner}: indices {places.tensor_type}, values {held.tensor_type} for shape {tuple(sizes)}", loc=user_loc()
        )
    return places, held, tuple(sizes)


def _require_alike(owner: str, values: Tensor, dense: Tensor) -> None:
    if dense.tensor_type.dtype != values.tensor_type.dtype:
        raise DTypeError(
            f"{owner}: values are {values.tensor_type}, the dense tensor is {dense.tensor_type}: expected one dtype",
            loc=user_loc(),
        )


def _to_dense(indices: Tensor, values: Tensor, sparse_shape: Ints) -> Tensor:
    return sparse_to_dense(*_parts("SparseToDense", indices, values, sparse_shape), "update")


def _dense_matmul(
    indices: Tensor, values: Tensor, sparse_shape: Ints, dense: Tensor, adjoint_st: bool, adjoint_dt: bool
) -> Tensor:
    owner = "SparseTensorDenseMatmul"
    for name, flag in (("adjoint_st", adjoint_st), ("adjoint_dt", adjoint_dt)):
        boolean(owner, name, flag)
    places, held, sizes = _parts(owner, indices, values, sparse_shape)
    matrix = as_tensor(dense, f"{owner}: dense")
    _require_alike(owner, held, matrix)
    if len(sizes) != 2 or matrix.ndim != 2:
        raise ShapeError(
            f"{owner}: the shape is {sizes}, dense is {matrix.tensor_type}: expected two axes", loc=user_loc()
        )
    return dense_product(places, held, (sizes[0], sizes[1]), matrix, adjoint_st, adjoint_dt)


def _dense_add(x1_indices: Tensor, x1_values: Tensor, x1_shape: Ints, x2: Tensor) -> Tensor:
    owner = "SparseTensorDenseAdd"
    places, held, sizes = _parts(owner, x1_indices, x1_values, x1_shape)
    dense = as_tensor(x2, f"{owner}: x2")
    _require_alike(owner, held, dense)
    if dense.shape != sizes:
        raise ShapeError(f"{owner}: x1_shape is {sizes}, x2 is {dense.tensor_type}", loc=user_loc())
    return tensor_scatter("add", dense, places, held, owner)


Coalesce = declare("Coalesce", F.coalesce)

SparseToDense = declare(
    "SparseToDense",
    _to_dense,
    "A tensor with values [n] at places [n, axes], the last one where some are equal, else zeros.",
)

SparseTensorDenseMatmul = declare(
    "SparseTensorDenseMatmul",
    _dense_matmul,
    "A sparse matrix (places [n, 2], values [n], its shape) times a dense one of its dtype; of either the transpose, if so.",
    adjoint_st=False,
    adjoint_dt=False,
)

SparseTensorDenseAdd = declare(
    "SparseTensorDenseAdd",
    _dense_add,
    "A dense tensor with the values of a sparse one (places [n, axes], values [n], its shape) added, of one dtype.",
)

SparseSlice = declare("SparseSlice", sparse_slice)
