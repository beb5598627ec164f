"""Products of vectors, matrices and tensors, in the common dtype of the operands; covariances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.numpy.convert import count, promoted, result, tensor, tensors
from graphc.numpy.creation import diag
from graphc.numpy.elementwise import clip
from graphc.ops.declared.rules import normalize_axes
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, cast_to
from graphc.ops.functional.products import matmul as _matmul
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean


def _pair(owner: str, a: Any, b: Any) -> tuple[Tensor, ...]:
    return promoted(*tensors(owner, a, b))


def dot(a: Any, b: Any) -> Tensor:
    """Products summed over the last axis of a and the last but one of b; with a number the product."""
    x, y = _pair("dot", a, b)
    return ops.dot(x, y) if x.ndim and y.ndim else ops.mul(x, y)


def inner(a: Any, b: Any) -> Tensor:
    """Products summed over the last axes; with a number the product."""
    return ops.inner(*_pair("inner", a, b))


def outer(a: Any, b: Any) -> Tensor:
    """a[i] b[j] of the flattened tensors."""
    return ops.outer(*_pair("outer", a, b))


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Matrix product; leading axes are broadcast, vectors are rows and columns. `dtype` is the result's."""
    a, b = _pair("matmul", x1, x2)
    return result(_matmul(a, b), dtype)


def tensordot(a: Any, b: Any, axes: int | Sequence[int | Sequence[int]] = 2) -> Tensor:
    """Products summed over the last n axes of a and the first n of b, or over the given pair of lists of axes."""
    x, y = _pair("tensordot", a, b)
    return ops.mul(x, y) if axes == 0 and not (x.ndim and y.ndim) else ops.tensor_dot(x, y, axes)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product."""
    x, y = _pair("kron", a, b)
    if x.tensor_type.dtype == "bool":
        return cast_to(ops.kron(cast_to(x, "int32"), cast_to(y, "int32")), "bool")
    return ops.kron(x, y)


def matrix_power(a: Any, n: int) -> Tensor:
    """Square matrices [..., m, m] multiplied with themselves, n times; ones on the diagonal for 0. n: 0 or more."""
    return ops.matrix_power(tensor("matrix_power", a, "a"), count("matrix_power", "n", n))


def multi_dot(arrays: Any) -> Tensor:
    """The matrix product of two or more; the first and the last may be vectors. In the order that multiplies least."""
    given = list(ops.unstack(arrays)) if isinstance(arrays, Tensor) else list(arrays)
    if len(given) < 2:
        raise ArgumentValueError(f"multi_dot: expected at least two matrices, got {len(given)}", loc=user_loc())
    factors = list(promoted(*tensors("multi_dot", *given)))
    lead, tail = factors[0].ndim == 1, factors[-1].ndim == 1
    factors[0] = ops.reshape(factors[0], (1, -1)) if lead else factors[0]
    factors[-1] = ops.reshape(factors[-1], (-1, 1)) if tail else factors[-1]
    if any(x.ndim != 2 for x in factors):
        raise ShapeError(f"multi_dot: operands are {', '.join(str(x.tensor_type) for x in factors)}", loc=user_loc())
    made = _chain(factors, _order([x.shape[0] for x in factors] + [factors[-1].shape[1]]), 0, len(factors) - 1)
    return ops.reshape(made, made.shape[lead : 2 - tail])


def _order(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of factors so that the fewest numbers are multiplied, by lengths of runs."""
    last = len(sizes) - 1
    cost = {(i, i): 0 for i in range(last)}
    at: dict[tuple[int, int], int] = {}
    for length in range(1, last):
        for i in range(last - length):
            j = i + length
            ways = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            at[i, j] = min(ways, key=ways.__getitem__)
            cost[i, j] = ways[at[i, j]]
    return at


def _chain(factors: list[Tensor], at: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return factors[i]
    return _matmul(_chain(factors, at, i, at[i, j]), _chain(factors, at, at[i, j] + 1, j))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    """The vector product of vectors of two or three elements along an axis, of two of two elements a number.

    axisa, axisb, axisc: where the vectors stand in a, in b and in the result; axis: all three.
    """
    x, y = _pair("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    wanted = x.tensor_type.dtype
    if wanted == "bool":
        x, y = cast_to(x, "int32"), cast_to(y, "int32")
    sides = [ops.moveaxis(v, check_axis("cross", at, v.ndim), -1) for v, at in ((x, axisa), (y, axisb))]
    if any(v.shape[-1] not in (2, 3) for v in sides):
        raise ShapeError(
            f"cross: {x.tensor_type} and {y.tensor_type} have no vectors of 2 or 3 elements there", loc=user_loc()
        )
    (u, v) = ([p[..., k] for k in range(p.shape[-1])] for p in sides)
    if len(u) == len(v) == 2:
        return cast_to(ops.sub(ops.mul(u[0], v[1]), ops.mul(u[1], v[0])), wanted)
    u, v = (p if len(p) == 3 else [*p, ops.zeros_like(p[0])] for p in (u, v))
    parts = [ops.sub(ops.mul(u[i], v[j]), ops.mul(u[j], v[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    made = ops.stack(parts, -1)
    return cast_to(ops.moveaxis(made, -1, check_axis("cross", axisc, made.ndim)), wanted)


# ---- norms

_ORDERS = (None, "fro", "nuc")


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors, over one axis, or of matrices, over two; of integers in float32.

    ord: None, the root of the sum of squares; of vectors a number, (sum |x|^ord)^(1/ord), or +-inf, or 0 for the count of what
    is not zero; of matrices "fro", "nuc", 1, -1, 2, -2, inf or -inf as in `ops.matrix_norm`.
    axis: by default those there are, which is all of them without `ord`, else one or two.
    """
    given = tensor("norm", x)
    if ord not in _ORDERS and (isinstance(ord, bool) or not isinstance(ord, (int, float))):
        raise ArgumentValueError(f"norm: ord must be None, 'fro', 'nuc' or a number, got {ord!r}", loc=user_loc())
    over = given.ndim if axis is None else len(normalize_axes("norm", axis, given.ndim))
    if over not in (1, 2) and not (axis is None and ord is None):
        raise ShapeError(
            f"norm: a norm is taken over one axis or two, not over {over} of {given.tensor_type}", loc=user_loc()
        )
    if over == 1 and isinstance(ord, str):
        raise ArgumentValueError(
            f"norm: ord={ord!r} is for matrices, this is one axis of {given.tensor_type}", loc=user_loc()
        )
    return ops.norm(given, ord, axis, bool(keepdims))


# ---- covariances


def _rows(owner: str, m: Any, rowvar: bool) -> Tensor:
    """float32 [variables, observations]."""
    x = cast_to(tensor(owner, m, "m"), "float32")
    if x.ndim > 2:
        raise ShapeError(f"{owner}: m is {x.tensor_type}, expected a vector or a matrix", loc=user_loc())
    x = x if x.ndim == 2 else ops.reshape(x, (1, -1))
    return x if boolean(owner, "rowvar", rowvar) or x.shape[0] == 1 else ops.transpose(x)


def _weights(name: str, weights: Any) -> Any:
    if weights is None:
        return None
    w = tensor("cov", weights, name)
    if w.tensor_type.is_float or w.tensor_type.dtype == "bool" or w.ndim != 1:
        raise ArgumentTypeError(f"cov: {name} are {w.tensor_type}, expected a vector of integers", loc=user_loc())
    return ops.abs(cast_to(w, "float32"))


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The covariances of variables: float32.

    m: a variable per row, or per column without `rowvar`; y: more of them. The sums are divided by the number of
    observations less `ddof`, which is by default 0 with `bias`, else 1. fweights, aweights: integer weights of observations.
    """
    x = _rows("cov", m, rowvar)
    if y is not None:
        x = ops.concat((x, _rows("cov", y, rowvar)), 0)
    correction = (0 if bias else 1) if ddof is None else ddof
    made = ops.cov(
        x, correction=correction, fweights=_weights("fweights", fweights), aweights=_weights("aweights", aweights)
    )
    return result(ops.squeeze(made), dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """The correlations of variables, within [-1, 1]: float32. x, y, rowvar as in `cov`."""
    c = cov(x, y, rowvar)
    if not c.ndim:
        return result(ops.div(c, c), dtype)
    spread = ops.sqrt(diag(c))
    made = ops.div(ops.div(c, ops.expand_dims(spread, -1)), ops.expand_dims(spread, 0))
    return result(clip(made, -1, 1), dtype)


__all__ = [
    "corrcoef", "cov", "cross", "dot", "inner", "kron", "matmul", "matrix_power", "multi_dot", "norm", "outer", "tensordot",
]  # fmt: skip
