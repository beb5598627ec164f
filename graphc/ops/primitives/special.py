"""Special functions and windows as primitives."""

from __future__ import annotations

import math

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.special_functions import betainc
from graphc.ops.tensor.dtype import float32, int32
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor

Betainc = declare("Betainc", betainc)

Igamma, Igammac = declare("Igamma", F.igamma), declare("Igammac", F.igammac)

Mvlgamma = declare("Mvlgamma", F.mvlgamma, p=REQUIRED)

NextAfter = declare("NextAfter", F.nextafter)

Polygamma, Zeta = declare("Polygamma", F.polygamma), declare("Zeta", F.zeta)

BartlettWindow = declare("BartlettWindow", F.bartlett_window, periodic=True, dtype=float32)

BlackmanWindow = declare("BlackmanWindow", F.blackman_window, periodic=True, dtype=float32)

HammingWindow = declare("HammingWindow", F.hamming_window, periodic=True, alpha=0.54, beta=0.46, dtype=float32)


LogSpace = declare("LogSpace", F.logspace, steps=10, base=10, dtype=float32)

TrilIndices = declare("TrilIndices", F.tril_indices, row=REQUIRED, col=REQUIRED, offset=0, dtype=int32)

TriuIndices = declare("TriuIndices", F.triu_indices, row=REQUIRED, col=REQUIRED, offset=0, dtype=int32)


def _unravel_index(indices: Tensor, dims: Tensor) -> Tensor:
    """[axes, ...]: for places in a flattened tensor the indices along its axes; dims are its sizes, whose values are known."""
    sizes = [int(n) for n in np.ravel(known_values("UnravelIndex", dims))]
    if indices.array is not None and np.any((indices.array < 0) | (indices.array >= math.prod(sizes))):
        raise ArgumentValueError(
            f"UnravelIndex: an index is outside of a tensor of shape {tuple(sizes)}", loc=user_loc()
        )
    rest, parts = indices, []
    for size in reversed(sizes):
        parts.append(F.floor_mod(rest, size))
        rest = F.floor_divide(rest, size)
    return F.stack(parts[::-1], 0)


UnravelIndex = declare("UnravelIndex", _unravel_index)
