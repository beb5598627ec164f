"""Coordinates of grids, indices of parts of matrices, and windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ShapeError, user_loc
from graphc.numpy.convert import count, tensor
from graphc.numpy.creation import INT, arange, linspace
from graphc.numpy.shapes import stack
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean, integer, one_of

# ---- grids


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """Vectors as coordinates of a grid: with "ij" number k varies along axis k, with "xy" the first two are swapped.

    sparse: axes along which a tensor does not vary keep size 1.
    """
    vectors = [ops.ravel(tensor("meshgrid", x)) for x in xi]
    order = list(range(len(vectors)))
    if one_of("meshgrid", "indexing", indexing, ("xy", "ij")) == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    if not boolean("meshgrid", "sparse", sparse):
        return list(ops.meshgrid(*vectors, indexing=indexing)) if vectors else []
    return [ops.reshape(v, tuple(v.size if at == k else 1 for at in order)) for k, v in enumerate(vectors)]


class _Grid:
    """Indexed with slices: their ranges as coordinates of a grid. An imaginary step is a number of places, both ends included."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __repr__(self) -> str:
        return "ogrid" if self.sparse else "mgrid"

    def __getitem__(self, keys: Any) -> Any:
        ranges = [_range(key) for key in (keys if isinstance(keys, tuple) else (keys,))]
        grids = meshgrid(*ranges, sparse=self.sparse, indexing="ij")
        if len(grids) == 1:
            return grids[0]
        return grids if self.sparse else stack(grids)


def _range(key: Any) -> Tensor:
    if not isinstance(key, slice) or not isinstance(key.start, int) or not isinstance(key.stop, int):
        raise ArgumentTypeError(
            f"a grid is indexed with slices of integers, start:stop or start:stop:step, got {key!r}", loc=user_loc()
        )
    if isinstance(key.step, complex):
        return linspace(key.start, key.stop, int(abs(key.step)))  # type: ignore[no-any-return]
    return arange(key.start, key.stop, key.step or 1)


#: mgrid[0:2, 0:3]: the coordinates of a grid, stacked; ogrid: a list of them, of size 1 where they do not vary.
mgrid, ogrid = _Grid(False), _Grid(True)


def indices(dimensions: Any, dtype: Any = INT, sparse: bool = False) -> list[Tensor]:
    """The coordinates of all places of a shape, one tensor per axis; see `meshgrid`."""
    if not isinstance(dimensions, (tuple, list)):
        raise ArgumentTypeError(
            f"indices: dimensions must be a tuple or list, got {type(dimensions).__name__}", loc=user_loc()
        )
    ranges = [arange(count("indices", "each size", d, 1), dtype=dtype) for d in dimensions]
    return meshgrid(*ranges, sparse=sparse, indexing="ij")


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Vectors, each along its own axis: together they index a grid. ShapeError for other tensors."""
    made = []
    for k, given in enumerate(args):
        x = tensor("ix_", given)
        if x.ndim != 1:
            raise ShapeError(f"ix_: an index is {x.tensor_type}, expected a vector", loc=user_loc())
        made.append(ops.reshape(x, tuple(x.size if i == k else 1 for i in range(len(args)))))
    return tuple(made)


# ---- indices


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The places of the main diagonal of `ndim` axes of size n: 0, 1, ... n - 1 for each."""
    return (arange(count("diag_indices", "n", n, 1)),) * count("diag_indices", "ndim", ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """(rows, columns), int32, on and below the diagonal k of n rows and m columns, n by default."""
    return _triangle("tril_indices", np.tril_indices, n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """(rows, columns), int32, on and above the diagonal k of n rows and m columns, n by default."""
    return _triangle("triu_indices", np.triu_indices, n, k, m)


def _triangle(owner: str, of: Any, n: Any, k: Any, m: Any) -> tuple[Tensor, Tensor]:
    # Fractions of rows count as rows, as in MindSpore.
    size = []
    for name, value in (("n", n), ("m", n if m is None else m), ("k", k)):
        if not isinstance(value, (bool, int, float)):
            raise ArgumentTypeError(f"{owner}: {name} must be a number, got {type(value).__name__}", loc=user_loc())
        size.append(math.ceil(value))
    rows, columns = of(size[0], math.ceil(k) if of is np.triu_indices else math.floor(k), size[1])
    return Tensor(rows.astype(np.int32)), Tensor(columns.astype(np.int32))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """`tril_indices` of a matrix."""
    return tril_indices(*_sized("tril_indices_from", arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """`triu_indices` of a matrix."""
    return triu_indices(*_sized("triu_indices_from", arr, k))


def _sized(owner: str, arr: Any, k: int) -> tuple[int, int, int]:
    x = tensor(owner, arr, "arr")
    if x.ndim != 2:
        raise ShapeError(f"{owner}: arr is {x.tensor_type}, expected a matrix", loc=user_loc())
    return x.shape[0], k, x.shape[1]


# ---- windows


def bartlett(M: int) -> Tensor:
    """A triangle of M points, 0 at both ends: float32."""
    return ops.bartlett_window(_points("bartlett", M), False)


def blackman(M: int) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)) of M points: float32."""
    return ops.blackman_window(_points("blackman", M), False)


def hamming(M: int) -> Tensor:
    """0.54 - 0.46 cos(2 pi n / (M - 1)) of M points: float32."""
    return ops.hamming_window(_points("hamming", M), False)


def hanning(M: int) -> Tensor:
    """0.5 - 0.5 cos(2 pi n / (M - 1)) of M points: float32."""
    return ops.hann_window(_points("hanning", M), False, dtype="float32")


def _points(owner: str, M: Any) -> int:
    return max(integer(owner, "M", M), 0)


__all__ = [
    "bartlett", "blackman", "diag_indices", "hamming", "hanning", "indices", "ix_", "meshgrid", "mgrid", "ogrid",
    "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
]  # fmt: skip
