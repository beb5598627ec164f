"""Comparisons of whole tensors, membership, sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import ops
from graphc.numpy.convert import promoted, tensor, tensors
from graphc.numpy.elementwise import equal
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.functional.core import Axis, Operand, cast_to
from graphc.ops.functional.dynamic import known_values
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean


def isclose(a: Any, b: Any, rtol: Operand = 1e-05, atol: Operand = 1e-08, equal_nan: bool = False) -> Tensor:
    """|a - b| <= atol + rtol |b|, or both the same infinity, or both NaN if `equal_nan`."""
    x, y = promoted(*tensors("isclose", a, b))
    if x.tensor_type.dtype == "bool":
        x, y = cast_to(x, "int32"), cast_to(y, "int32")
    return ops.isclose(x, y, rtol, atol, boolean("isclose", "equal_nan", equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """bool: whether both have one shape and the same elements. equal_nan: whether NaN equals NaN."""
    x, y = promoted(*tensors("array_equal", a1, a2))
    if x.shape != y.shape:
        return Tensor(False)
    same = equal(x, y)
    if boolean("array_equal", "equal_nan", equal_nan) and x.tensor_type.is_float:
        same = ops.logical_or(same, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return ops.reduce_all(same)


def array_equiv(a1: Any, a2: Any) -> Tensor:
    """bool: whether both can be broadcast to one shape, with the same elements."""
    x, y = tensors("array_equiv", a1, a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return Tensor(False)
    return ops.reduce_all(equal(x, y))


def sometrue(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """bool: whether an element over axes is neither 0 nor False."""
    x = tensor("sometrue", a, "a")
    return ops.reduce_any(x, normalize_axes("sometrue", axis, x.ndim), bool(keepdims))


# ---- membership


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """bool: whether each element of the flattened ar1 is one of ar2; with `invert` whether it is none."""
    x, y = tensors("in1d", ar1, ar2)
    found = ops.reduce_any(equal(ops.reshape(x, (-1, 1)), ops.ravel(y)), -1)
    return ops.logical_not(found) if invert else found


def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """bool: whether each element is one of test_elements; with `invert` whether it is none."""
    x = tensor("isin", element, "element")
    return ops.reshape(in1d(x, test_elements, invert), x.shape)


# ---- sets


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The distinct elements in order of appearance, as in MindSpore; or (them, the int32 place of each among them).

    The places are those of the flattened tensor.
    """
    values, places = ops.unique(ops.ravel(tensor("unique", x)))
    return (values, places) if return_inverse else values


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The elements of ar1 that are not in ar2: sorted and distinct, or with `assume_unique` as they stand."""
    x, y = tensors("setdiff1d", ar1, ar2)
    given = ops.ravel(x) if boolean("setdiff1d", "assume_unique", assume_unique) else x.unique()
    return ops.masked_select(given, in1d(given, y, invert=True))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that both have, sorted; with `return_indices` also their first int32 places in both, flattened.

    The places not in a compiled Cell. assume_unique: whether no element stands twice in either.
    """
    x, y = promoted(*tensors("intersect1d", ar1, ar2))
    if x.array is None and not boolean("intersect1d", "return_indices", return_indices):
        boolean("intersect1d", "assume_unique", assume_unique)
        given = x.unique()
        return ops.masked_select(given, in1d(given, y))
    arrays = [known_values("intersect1d", v) for v in (x, y)]
    of: Any = np.intersect1d
    made = of(
        *arrays,
        assume_unique=boolean("intersect1d", "assume_unique", assume_unique),
        return_indices=boolean("intersect1d", "return_indices", return_indices),
    )
    if not return_indices:
        return Tensor(made)
    values, first, second = made
    return Tensor(values), Tensor(first.astype(np.int32)), Tensor(second.astype(np.int32))


def argwhere(a: Any) -> Tensor:
    """int64 [count, axes]: the places of what is not zero."""
    made: Tensor = ops.nonzero(tensor("argwhere", a, "a"))
    return made


__all__ = [
    "argwhere", "array_equal", "array_equiv", "in1d", "intersect1d", "isclose", "isin", "setdiff1d", "sometrue",
    "unique",
]  # fmt: skip
