"""`mindspore.ops.operations.linalg_ops`."""

from __future__ import annotations

from typing import Any

from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import call
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor


def _eigh(A: Tensor, compute_eigenvectors: bool, lower: bool) -> Any:
    """(the eigenvalues [m], ascending, their vectors as columns [m, m]) of a symmetric or Hermitian matrix, of which one triangle
    is read; without compute_eigenvectors the eigenvalues alone. Raises ShapeError, DTypeError.
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ShapeError(f"Eigh: A is {A.tensor_type}, expected a square matrix", loc=user_loc())
    kind = A.tensor_type
    if kind.dtype not in ("float32", "float64") and not kind.is_complex:
        raise DTypeError(f"Eigh: A is {kind}, expected float32, float64 or complex numbers", loc=user_loc())
    values, vectors = call("EighComplex" if kind.is_complex else "Eigh", A, lower=lower)
    return (values, vectors) if compute_eigenvectors else values


Eigh = declare("Eigh", _eigh, compute_eigenvectors=True, lower=True)

__all__ = ["Eigh"]
