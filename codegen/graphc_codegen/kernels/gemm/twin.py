"""The product in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Params
from graphc_codegen.kernels.gemm.plan import View, axes_of, domain, shapes, views
from graphc_codegen.scalars.halves import numpy_dtype


@np.errstate(all="ignore")
def twin(p: Params, a: Array, b: Array, *rest: Array) -> None:
    a, b = (
        x.astype(numpy_dtype("bfloat16")).astype(x.dtype) if k in p.get("rounds", ()) else x
        for k, x in enumerate((a, b))
    )
    if "packed" in p:
        stored = b.view(numpy_dtype("bfloat16")) if p["packed"] == "bfloat16" else b
        b = stored[: p["n"] * p["k"]].astype(a.dtype)
    at_a, at_b, at_c = (_elements(v, axes_of(p), shape) for v, shape in zip(views(p), shapes(p), strict=True))
    stored = np.tril(a[at_a]) if p.get("triangle") == "a" else a[at_a]
    left = stored.swapaxes(-1, -2) if p["ta"] else stored
    right = b[at_b].swapaxes(-1, -2) if p["tb"] else b[at_b]
    product = np.matmul(left, right)
    if "scratch" in p:
        memory = len(p.get("extras", ()))
        rest[memory][:] = 0
        rest = (*rest[:memory], *rest[memory + 1 :])
    if "c" in p or p["accumulate"]:
        (c,) = rest
        c[at_c] = c[at_c] + product if p["accumulate"] else product
    else:
        epilogue.twin(p, domain(p), product.reshape(-1), *rest)


def _elements(view: View, axes: Sequence[int], shape: Sequence[int]) -> Array:
    """The number of each element of an operand, per batch axis, row and column."""
    index = np.full((), view.offset)
    for count, stride in zip((*axes, *shape), (*view.strides, view.lead, 1), strict=True):
        index = index[..., None] + stride * np.arange(count)
    return index
