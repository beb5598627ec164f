"""Norms of vectors and matrices, condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import COMPLEX, FLOATS
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.control import choose
from graphc.ops.functional.core import Axis, Number, as_float, cast
from graphc.ops.functional.decompositions import singular_values
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    isfinite,
    logical_and,
    mul,
    not_equal,
    pow_,
    sqrt,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_max, reduce_min, reduce_sum
from graphc.ops.functional.shapes import expand_dims, moveaxis
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.solve import inverse
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor


@method()
def norm(
    A: Tensor, ord: float | str | None = None, dim: Axis = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of vectors, over one axis or the flattened tensor, or of matrices, over two.

    ord     None: the root of the sum of squares over any axes. Of vectors (sum |x|^ord)^(1/ord), +-inf for the largest or
            smallest |x|, 0 for the count of what is not zero. Of matrices see `matrix_norm`
    dim     an axis, or two; None for all: a vector where ord is None, else the axes there are
    """
    x = _floats("norm", A, dtype)
    axes = normalize_axes("norm", dim, x.ndim)
    if ord is None or (ord == "fro" and len(axes) != 2) or (ord == 2 and len(axes) == 1):
        return _root(reduce_sum(square(_sizes(x)), axes, keepdim))
    if dim is not None and not isinstance(dim, int) and len(dim) == 2:
        return matrix_norm(x, ord, tuple(dim), keepdim)
    if dim is None and x.ndim == 2:
        return matrix_norm(x, ord, (0, 1), keepdim)
    _require_number("norm", ord)
    if len(axes) != 1 and dim is not None:
        raise ArgumentValueError(f"norm: ord = {ord!r} is for one axis or two, got {dim}", loc=user_loc())
    return _vector_norm(_sizes(x), ord, axes, keepdim)


def _floats(owner: str, x: Tensor, dtype: Any) -> Tensor:
    """x in the dtype that a norm is computed in: the one given, which must be a float or complex, or as `as_float` says."""
    return as_float(x if dtype is None else cast(x, only_floats(owner, dtype)))


def _sizes(x: Tensor) -> Tensor:
    """Numbers of which a norm of vectors is the same: the sizes of complex ones, real ones as they are."""
    return abs_(x) if x.tensor_type.dtype in COMPLEX else x


def only_floats(owner: str, dtype: Any) -> Any:
    """A dtype; DTypeError for one of integers or bools, in which a norm would lose its fraction."""
    if to_name(dtype) not in (*FLOATS, *COMPLEX):
        raise DTypeError(f"{owner}: dtype must be a float or complex dtype, got {to_name(dtype)}", loc=user_loc())
    return dtype


def _require_number(owner: str, ord: Any) -> None:
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise ArgumentTypeError(f"{owner}: ord of vectors must be a number, got {ord!r}", loc=user_loc())


def _root(total: Tensor, order: float = 2.0) -> Tensor:
    """total^(1/order), with the gradient 0 where total is 0, which the root's own is infinite at."""
    nothing = equal(total, 0.0)
    safe = select(nothing, 1.0, total)
    return select(nothing, 0.0, sqrt(safe) if order == 2 else pow_(safe, 1.0 / order))


def _vector_norm(x: Tensor, ord: Any, axes: Sequence[int], keepdim: bool) -> Tensor:
    if ord == 2:
        return _root(reduce_sum(square(x), tuple(axes), keepdim))
    if ord == math.inf:
        return reduce_max(abs_(x), tuple(axes), keepdim)
    if ord == -math.inf:
        return reduce_min(abs_(x), tuple(axes), keepdim)
    if ord == 0:
        return reduce_sum(cast(not_equal(x, 0.0), x.dtype), tuple(axes), keepdim)
    if ord == 1:
        return reduce_sum(abs_(x), tuple(axes), keepdim)
    total = reduce_sum(pow_(abs_(x), float(ord)), tuple(axes), keepdim)
    return _root(total, ord) if ord > 0 else pow_(total, 1.0 / ord)


def distance(apart: Tensor, p: Number, axis: int) -> Tensor:
    """The p-norm of differences along an axis. Of equal greatest ones (p infinite) each has the whole gradient, and what is zero
    has none also for p below 1."""
    if p == math.inf:
        sizes = abs_(apart)
        fixed = stop_gradient(sizes)
        tied = logical_and(equal(fixed, reduce_max(fixed, axis, True)), isfinite(fixed))
        return add(reduce_max(fixed, axis), reduce_sum(select(tied, sub(sizes, fixed), 0.0), axis))
    if 0 < p < 1:
        zero = equal(apart, 0.0)
        powers = pow_(select(zero, 1.0, abs_(apart)), float(p))
        return _root(reduce_sum(select(zero, 0.0, powers), axis), p)
    return norm(apart, p, axis)


def vector_norm(
    x: Tensor, ord: float | str | None = 2, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None
) -> Tensor:
    """(sum |x|^ord)^(1/ord) over axes, all by default; +-inf and 0 as for `norm`. Of complex numbers a float."""
    x = _sizes(_floats("vector_norm", x, dtype))
    _require_number("vector_norm", ord)
    return _vector_norm(x, ord, normalize_axes("vector_norm", axis, x.ndim), keepdims)


def matrix_norm(
    A: Tensor,
    ord: float | str | None = "fro",
    axis: Sequence[int] = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """A norm of matrices over two axes: the first counts as rows.

    ord: "fro", the root of the sum of squares; "nuc", the sum of the singular values; 2 and -2, the largest and the smallest of
    them; 1 and -1, the largest and the smallest sum of |x| of a column; inf and -inf, of a row. "nuc", 2 and -2 not in a
    compiled Cell, and of halves in float32.
    """
    x = _floats("matrix_norm", A, dtype)
    if isinstance(axis, int) or len(axis) != 2:
        raise ArgumentValueError(f"matrix_norm: axis must be two axes, got {axis!r}", loc=user_loc())
    rows, columns = (check_axis("matrix_norm", a, x.ndim) for a in axis)
    if rows == columns:
        raise ArgumentValueError(f"matrix_norm: axis {axis!r} is the same twice", loc=user_loc())
    if ord == "fro":
        return _root(reduce_sum(square(_sizes(x)), (rows, columns), keepdims))
    if ord in ("nuc", 2, -2):
        values = singular_values(moveaxis(x, (rows, columns), (-2, -1)))
        made = (
            reduce_sum(values, -1) if ord == "nuc" else getitem(values, (..., 0 if ord == 2 else values.shape[-1] - 1))
        )
    elif ord in (1, -1, math.inf, -math.inf):
        along, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reduce_sum(abs_(x), along, True)
        made = (reduce_max if ord > 0 else reduce_min)(sums, (along, over))
    else:
        raise ArgumentValueError(
            f"matrix_norm: ord must be 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, got {ord!r}", loc=user_loc()
        )
    for a in sorted((rows, columns)) if keepdims else ():
        made = expand_dims(made, a)
    return made


def cond(A: Any, p: Any = None, *branches: Any) -> Any:
    """The condition number of matrices, |A| |A^-1| by the norm `p` (see `matrix_norm`); None and 2: the quotient of the singular
    values.

    With a function for p it is the control flow of graphc's own: cond(condition, true_fn, false_fn, *operands) calls
    true_fn(*operands) or false_fn(*operands), only the chosen one.
    """
    if callable(p):
        return choose(A, p, *branches)
    if branches:
        raise ArgumentTypeError(f"cond: got {len(branches) + 2} arguments, expected A and p", loc=user_loc())
    x = as_float(A)
    if p is None or p in (2, -2):
        values = singular_values(x)
        ends = [getitem(values, (..., k)) for k in (0, values.shape[-1] - 1)]
        return div(*(ends if p != -2 else ends[::-1]))
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"cond: {x.tensor_type} are no square matrices, which p = {p!r} is for", loc=user_loc())
    return mul(matrix_norm(x, p), matrix_norm(inverse(x), p))


def nuclear(x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values over two axes, which may be left out for a matrix."""
    if dim is None and x.ndim != 2:
        raise ShapeError(f"NuclearNorm: {x.tensor_type} has not two axes: give dim", loc=user_loc())
    return matrix_norm(x, "nuc", (0, 1) if dim is None else tuple(dim), keepdim)


__all__ = [
    "cond",
    "matrix_norm",
    "norm",
    "vector_norm",
]
