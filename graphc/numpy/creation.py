"""Tensors made of data, filled with a number, or counted and spaced."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.numpy.convert import common, count, name_of, result, sizes, tensor, tensors
from graphc.numpy.shapes import broadcast_arrays
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Extents, Real, cast_to
from graphc.ops.tensor.dtype import BY_NAME, DType
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean, integer

FLOAT, INT = BY_NAME["float32"], BY_NAME["int32"]

# ---- of data


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A tensor of numbers, lists, tuples or tensors, with at least `ndmin` axes, new ones in front.

    Python's integers are int32 and its floats float32. copy: whether a tensor of that dtype and rank is copied.
    """
    made = asarray(obj, dtype)
    least = count("array", "ndmin", ndmin)
    if made.ndim < least:
        made = ops.reshape(made, (1,) * (least - made.ndim) + made.shape)
    return made.copy() if copy and isinstance(obj, Tensor) else made


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """A tensor of numbers, lists, tuples or tensors; a tensor of that dtype as it is."""
    if dtype is None or isinstance(a, Tensor):
        return result(tensor("asarray", a, "a"), dtype)
    if not isinstance(a, (bool, int, float, list, tuple)):
        return tensor("asarray", a, "a")
    # From Python's numbers: what int32 or float32 would round, a wider dtype holds.
    exact = np.asarray(a) if not isinstance(a, (list, tuple)) or _plain(a) else None
    return result(tensor("asarray", a, "a"), dtype) if exact is None else Tensor(exact, name_of(dtype))


def copy(a: Any) -> Tensor:
    """A tensor of its own of numbers, lists, tuples or tensors."""
    made = asarray(a)
    return made.copy() if made is a else made


def _plain(x: Any) -> bool:
    """Whether a nest holds Python's numbers in a regular shape."""
    if isinstance(x, (list, tuple)):
        return all(_plain(item) for item in x) and len({np.shape(item) for item in x}) <= 1
    return isinstance(x, (bool, int, float))


def asfarray(a: Any, dtype: Any = FLOAT) -> Tensor:
    """A tensor of floats: of `dtype`, or of float32 if that is none of floats; None keeps the dtype."""
    if dtype is None:
        return asarray(a)
    wanted = name_of(dtype)
    return asarray(a, wanted if "float" in wanted else "float32")


# ---- filled


def ones(shape: Extents, dtype: Any = FLOAT) -> Tensor:
    """Ones."""
    return ops.fill(name_of(dtype), sizes("ones", shape), 1)


def zeros(shape: Extents, dtype: Any = FLOAT) -> Tensor:
    """Zeros."""
    return ops.fill(name_of(dtype), sizes("zeros", shape), 0)


def empty(shape: Extents, dtype: Any = FLOAT) -> Tensor:
    """Zeros, as in MindSpore: a tensor has no contents that are not known."""
    return ops.fill(name_of(dtype), sizes("empty", shape), 0)


def full(shape: Extents, fill_value: Any, dtype: Any = None) -> Tensor:
    """fill_value, broadcast to a shape, in its own dtype unless one is given."""
    return ops.broadcast_to(asarray(fill_value, dtype), sizes("full", shape))


def ones_like(a: Any, dtype: Any = None, shape: Extents = None) -> Tensor:
    """Ones in the shape and dtype of an array-like, or in others."""
    return ops.fill(*_like("ones_like", a, dtype, shape), 1)


def zeros_like(a: Any, dtype: Any = None, shape: Extents = None) -> Tensor:
    """Zeros in the shape and dtype of an array-like, or in others."""
    return ops.fill(*_like("zeros_like", a, dtype, shape), 0)


def empty_like(prototype: Any, dtype: Any = None, shape: Extents = None) -> Tensor:
    """Zeros in the shape and dtype of an array-like, or in others."""
    return ops.fill(*_like("empty_like", prototype, dtype, shape), 0)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Extents = None) -> Tensor:
    """fill_value in the shape and dtype of an array-like, or in others; see `full`."""
    wanted, size = _like("full_like", a, dtype, shape)
    return full(size, fill_value, wanted)


def _like(owner: str, a: Any, dtype: Any, shape: Any) -> tuple[str, tuple[int, ...]]:
    like = tensor(owner, a, "a")
    size = like.shape if shape is None or shape in ((), []) else sizes(owner, shape)
    return like.tensor_type.dtype if dtype is None else name_of(dtype), size


# ---- counted and spaced


def _known(owner: str, name: str, value: Any) -> Any:
    """A number, also of a tensor without axes whose value is known when a Cell is compiled."""
    if isinstance(value, Tensor):
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise ArgumentTypeError(f"{owner}: {name} must be a number, got {type(value).__name__}", loc=user_loc())
    return value


def arange(start: Real, stop: Real | None = None, step: Real | None = None, dtype: Any = None) -> Tensor:
    """start, start + step, ... before stop; from 0 to start without a stop. int32, or float32 if a float or a tensor is among
    them.

    Computed in float32, as in MindSpore. ArgumentValueError if that leaves nothing.
    """
    given = [_known("arange", n, v) for n, v in (("start", start), ("stop", stop), ("step", step)) if v is not None]
    first, last = (0, _known("arange", "start", start)) if stop is None else (given[0], given[1])
    by = 1 if step is None else given[-1]
    if by == 0:
        raise ArgumentValueError("arange: step must not be 0", loc=user_loc())
    size = math.ceil((last - first) / by)
    if size <= 0:
        raise ArgumentValueError(
            f"arange: from {first} to {last} by {by} there is nothing, and a tensor without elements is not made here",
            loc=user_loc(),
        )
    floats = any(isinstance(v, float) for v in given) or any(isinstance(v, Tensor) for v in (start, stop, step))
    if dtype is None:
        dtype = "float32" if floats else "int32"
    places = np.arange(size)
    wide: Any = np.float32 if floats else np.int64
    return Tensor((places.astype(wide) * wide(by) + wide(first)).astype(wide), name_of(dtype))


def _spaced(owner: str, start: Any, stop: Any, num: Any, axis: Any) -> tuple[Tensor, Tensor, int, int]:
    """Both ends as float tensors of one shape, how many steps, and the new axis."""
    ends = tensors(owner, start, stop)
    first, last = broadcast_arrays(*(cast_to(x, common(x.tensor_type.dtype, "float32")) for x in ends))
    return first, last, count(owner, "num", num, 1), check_axis(owner, axis, first.ndim + 1)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers at equal distances from start to stop, along a new axis; float32 by default.

    start, stop: array-likes that are broadcast. endpoint: whether stop is the last. retstep: (numbers, distance).
    """
    first, last, steps, at = _spaced("linspace", start, stop, num, axis)
    wanted = "float32" if dtype is None else name_of(dtype)
    parts = steps - 1 if boolean("linspace", "endpoint", endpoint) else steps
    step = ops.div(ops.sub(last, first), float(parts)) if parts else None
    made = ops.expand_dims(first, at)
    if step is not None and steps > 1:
        places = ops.reshape(ops.arange(steps, dtype="float32"), _along(at, steps, first.ndim + 1))
        made = ops.add(made, ops.mul(places, ops.expand_dims(step, at)))
        if endpoint:
            end = ops.equal(places, float(steps - 1))
            made = ops.select(end, ops.expand_dims(last, at), made)
    made = cast_to(made, wanted)
    if not boolean("linspace", "retstep", retstep):
        return made
    return made, math.nan if step is None else step


def _along(axis: int, size: int, rank: int) -> tuple[int, ...]:
    return tuple(size if i == axis else 1 for i in range(rank))


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Tensor:
    """base to the power of `linspace`; float32 by default. base: a number."""
    if not isinstance(base, (bool, int, float)):
        raise ArgumentTypeError(f"logspace: base must be a number, got {type(base).__name__}", loc=user_loc())
    made = ops.pow(float(base), linspace(start, stop, num, endpoint, axis=axis))
    return result(made, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Tensor:
    """`num` numbers from start to stop, each the one before times the same factor; float32 by default."""
    first, last, steps, at = _spaced("geomspace", start, stop, num, axis)
    parts = steps - 1 if boolean("geomspace", "endpoint", endpoint) else steps
    if not parts:
        return result(ops.expand_dims(first, at), dtype)
    shares = ops.reshape(ops.arange(steps, dtype="float32") * (1.0 / parts), _along(at, steps, first.ndim + 1))
    made = ops.mul(ops.pow(ops.expand_dims(ops.div(last, first), at), shares), ops.expand_dims(first, at))
    return result(made, dtype)


# ---- triangles and diagonals


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = FLOAT) -> Tensor:
    """Ones on the diagonal k of N rows and M columns, N by default."""
    rows, columns = count("eye", "N", N), count("eye", "M", N if M is None else M)
    return Tensor(np.eye(rows, columns, integer("eye", "k", k), np.float32), name_of(dtype))


def identity(n: int, dtype: Any = FLOAT) -> Tensor:
    """Ones on the diagonal of a square of n rows."""
    return eye(count("identity", "n", n), dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = FLOAT) -> Tensor:
    """Ones on and below the diagonal k of N rows and M columns, N by default."""
    rows, columns = count("tri", "N", N), count("tri", "M", N if M is None else M)
    return Tensor(np.tri(rows, columns, integer("tri", "k", k), np.float32), name_of(dtype))


def tril(m: Any, k: int = 0) -> Tensor:
    """Zeros above the diagonal k of the last two axes; of a vector, the rows of a square."""
    return ops.tril(_matrix("tril", m), integer("tril", "k", k))


def triu(m: Any, k: int = 0) -> Tensor:
    """Zeros below the diagonal k of the last two axes; of a vector, the rows of a square."""
    return ops.triu(_matrix("triu", m), integer("triu", "k", k))


def _matrix(owner: str, m: Any) -> Tensor:
    x = tensor(owner, m, "m")
    if not x.ndim:
        raise ShapeError(f"{owner}: m is {x.tensor_type}, expected at least one axis", loc=user_loc())
    return x if x.ndim > 1 else ops.broadcast_to(x, (x.size, x.size))


def diag(v: Any, k: int = 0) -> Tensor:
    """A vector on the diagonal k of a matrix of zeros, or the diagonal k of a matrix."""
    x = tensor("diag", v, "v")
    if x.ndim not in (1, 2):
        raise ShapeError(f"diag: v is {x.tensor_type}, expected one or two axes", loc=user_loc())
    return diagflat(x, k) if x.ndim == 1 else ops.diagonal(x, integer("diag", "k", k))


def diagflat(v: Any, k: int = 0) -> Tensor:
    """The flattened tensor on the diagonal k of a matrix of zeros."""
    x, by = tensor("diagflat", v, "v"), integer("diagflat", "k", k)
    if x.size == 0:
        return zeros((abs(by), abs(by)), x.dtype)
    return cast_to(ops.diagflat(_counted(x), by), x.tensor_type.dtype)


def _counted(x: Tensor) -> Tensor:
    return cast_to(x, "int32") if x.tensor_type.dtype == "bool" else x


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of two axes, as a new last axis."""
    x = tensor("diagonal", a, "a")
    if x.ndim < 2:
        raise ShapeError(f"diagonal: a is {x.tensor_type}, expected at least two axes", loc=user_loc())
    made = ops.diagonal(_counted(x), integer("diagonal", "offset", offset), axis1, axis2)
    return cast_to(made, x.tensor_type.dtype)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum along a diagonal of two axes, in `dtype`; by default of integers in int64, of bools whether one is True."""
    made = diagonal(a, offset, axis1, axis2)
    total = ops.sum(made, -1, dtype=None if dtype is None else name_of(dtype))
    return cast_to(total, "bool") if dtype is None and made.tensor_type.dtype == "bool" else total


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """[n, N]: powers of the elements of a vector, from N - 1 down to 0, or `increasing`; N is n by default, in x's dtype."""
    given = tensor("vander", x)
    if given.ndim != 1:
        raise ShapeError(f"vander: x is {given.tensor_type}, expected a vector", loc=user_loc())
    made = ops.cast(ops.vander(given, given.size if N is None else count("vander", "N", N, 1)), given.dtype)
    return ops.flip(made, (1,)) if boolean("vander", "increasing", increasing) else made


# ---- dtypes


def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype that two dtypes are promoted to."""
    return result_type(BY_NAME[name_of(type1)], BY_NAME[name_of(type2)])


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that tensors, numbers and dtypes are promoted to. ArgumentValueError for none of them."""
    if not arrays_and_dtypes:
        raise ArgumentValueError("result_type: at least one tensor, number or dtype must be given", loc=user_loc())
    names = [_dtype_of(x) for x in arrays_and_dtypes]
    return BY_NAME[common(*names)]


def _dtype_of(x: Any) -> str:
    return tensor("result_type", x).tensor_type.dtype if isinstance(x, (Tensor, bool, int, float)) else name_of(x)


__all__ = [
    "arange", "array", "asarray", "asfarray", "copy", "diag", "diagflat", "diagonal", "empty", "empty_like", "eye", "full",
    "full_like", "geomspace", "identity", "linspace", "logspace", "ones", "ones_like", "promote_types",
    "result_type", "trace", "tri", "tril", "triu", "vander", "zeros", "zeros_like",
]  # fmt: skip
