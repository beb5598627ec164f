"""Layers on sparse tensors: SparseToDense, SparseTensorDenseMatmul."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor


class SparseToDense(Cell):
    """The dense matrix of a COOTensor; the last value where some stand at one place (`x.to_dense()` adds them up)."""

    def __init__(self) -> None:
        super().__init__()
        self.sparse_to_dense = ops.SparseToDense()

    def construct(self, sparse_tensor: Any) -> Tensor:
        made: Tensor = self.sparse_to_dense(sparse_tensor.indices, sparse_tensor.values, sparse_tensor.shape)
        return made


class SparseTensorDenseMatmul(Cell):
    """A sparse matrix (places [n, 2], values [n], its shape) times a dense one; see ops.SparseTensorDenseMatmul."""

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        self.adj_st, self.adj_dt = adjoint_st, adjoint_dt
        self.sparse_dense_matmul = ops.SparseTensorDenseMatmul(adjoint_st=adjoint_st, adjoint_dt=adjoint_dt)

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Tensor:
        made: Tensor = self.sparse_dense_matmul(indices, values, sparse_shape, dense)
        return made


__all__ = ["SparseTensorDenseMatmul", "SparseToDense"]
