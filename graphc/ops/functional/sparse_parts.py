"""What sparse formats are made of, as plain tensors: rows and where they begin, places, equal places added up, products."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import FLOATS
from graphc.ops.functional.bounds import are_counted, as_index, elements_in_bounds
from graphc.ops.functional.core import call, cast_to, real_only
from graphc.ops.functional.create import ones_like, zeros, zeros_like
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.dynamic import places_of
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    greater_equal,
    less,
    logical_and,
    logical_not,
    minimum,
    mul,
    sub,
)
from graphc.ops.functional.index import scattered
from graphc.ops.functional.joining import concat
from graphc.ops.functional.reduce import reduce_all, reduce_sum
from graphc.ops.functional.require import require
from graphc.ops.functional.scattering import tensor_scatter
from graphc.ops.functional.shapes import expand_dims, reshape, transpose
from graphc.ops.functional.slicing import getitem, rows_at
from graphc.ops.functional.sorting import sorting_places
from graphc.ops.functional.unique import Runs
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import integer

#: What `CsrMatMul` has kernels for.
_PRODUCTS = ("float32", "float64")


def require_vector(owner: str, name: str, x: Any, integers: bool = True) -> Tensor:
    """x as a tensor. ShapeError unless it has one axis, DTypeError unless it holds integers."""
    tensor = as_tensor(x, f"{owner}: {name}")
    if tensor.ndim != 1:
        raise ShapeError(f"{owner}: {name} is {tensor.tensor_type}, expected one axis", loc=user_loc())
    if integers and (tensor.tensor_type.is_float or tensor.tensor_type.dtype == "bool"):
        raise DTypeError(f"{owner}: {name} is {tensor.tensor_type}, expected integers", loc=user_loc())
    return tensor


# ---- rows


def rows_in_bounds(owner: str, indptr: Tensor, columns: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Where rows begin, and the columns of their elements, of which a matrix has so many. IndexRangeError for a column that there
    is not, ArgumentValueError unless indptr begins with 0, never falls and ends with the number of elements: at once, or when a
    compiled step has run.

    Where the step counts the elements, there may be anything behind the last one, and nothing is looked at.
    """
    if are_counted(columns):
        return indptr, columns
    within = elements_in_bounds(owner, columns, width)
    begins, count = as_index(indptr), columns.shape[0]
    lengths = sub(getitem(begins, slice(1, None)), getitem(begins, slice(None, -1)))
    ends = logical_and(equal(getitem(begins, 0), 0), equal(getitem(begins, -1), count))
    holds = logical_and(reduce_all(greater_equal(lengths, 0)), ends)
    require(holds, f"{owner}: indptr must begin with 0, never fall and end with {count}, the number of elements")
    return indptr, cast_to(within, columns.tensor_type.dtype)


def rows_of(indptr: Tensor, indices: Tensor) -> Tensor:
    """The row of each element: integers as many as `indices`, of the dtype of indptr, which says where rows begin."""
    begins = as_index(indptr)
    ones = ones_like(begins)
    # A row that begins behind the last element is no place of it, and so is left out.
    marks = scattered("add", cast_to(zeros_like(indices), ones.tensor_type.dtype), begins, ones)
    return cast_to(sub(cumsum(marks, 0), 1), indptr.tensor_type.dtype)


def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """[nnz]: the row of each element, where row i has those from indptr[i] to indptr[i + 1] (MindSpore: ops.csr2coo).

    indptr: integers [rows + 1]. Raises ShapeError, DTypeError, ArgumentTypeError.
    """
    begins = require_vector("csr2coo", "indptr", indptr)
    return rows_of(begins, zeros((_count("csr2coo", "nnz", nnz),), begins.dtype))


def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """[height + 1]: where each row begins among elements that are in order of their rows (MindSpore: ops.coo2csr).

    row_indices: integers [n], the rows. Raises ShapeError, DTypeError, ArgumentTypeError.
    """
    rows = require_vector("coo2csr", "row_indices", row_indices)
    return begins_of(rows, _count("coo2csr", "height", height))


def begins_of(rows: Tensor, height: int) -> Tensor:
    """[height + 1]: where rows begin, of the dtype of `rows`."""
    index = as_index(rows)
    count = scattered("add", zeros((height,), index.dtype), index, ones_like(index))
    return cast_to(concat((zeros((1,), index.dtype), cumsum(count, 0))), rows.tensor_type.dtype)


def begins_of_each(mask: Tensor) -> Tensor:
    """int32 [rows + 1]: where rows begin that hold what a mask [rows, columns] takes."""
    count = cumsum(reduce_sum(cast_to(mask, "int32"), 1), 0)
    return concat((zeros((1,), count.dtype), count))


def _count(owner: str, name: str, value: Any) -> Any:
    integer(owner, name, value)
    return value


# ---- places


def flat_places(rows: Tensor, columns: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The places of elements in the flattened matrix: int32, or int64 where these are too many. ArgumentValueError where they
    are too many for that, too.
    """
    count = shape[0] * shape[1]
    if count >= 2**63:
        raise ArgumentValueError(f"a sparse matrix {shape} has more places than int64 counts", loc=user_loc())
    dtype = "int32" if count < 2**31 else "int64"
    return add(mul(cast_to(rows, dtype), shape[1]), cast_to(columns, dtype))


def elements_of(owner: str, dense: Tensor, rows: Tensor, columns: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The elements at places of a dense tensor that is broadcast to a matrix; ShapeError if it cannot be."""
    sizes = (1,) * (2 - dense.ndim) + dense.shape
    if len(sizes) != 2 or any(n not in (1, whole) for n, whole in zip(sizes, shape, strict=True)):
        raise ShapeError(f"{owner}: the dense tensor is {dense.tensor_type}, for a matrix {shape}", loc=user_loc())
    one = zeros_like(columns)
    at = flat_places(rows if sizes[0] > 1 else one, columns if sizes[1] > 1 else one, sizes)
    return rows_at(reshape(dense, (-1,)), at)


def in_order(key: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
    """Rows of tensors in the order of a key; those of equal keys stay as they stand."""
    order = sorting_places(key)
    return tuple(rows_at(x, order) for x in (key, *values))


def summed(
    key: Tensor, indices: Tensor, values: Tensor, sides: Tensor | None = None, least: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(indices, values) in the order of a key, with the values of equal keys added up: as many as there are different keys.

    sides: of two tensors that are added, which each element comes from, 0 or 1. Where both have one, a sum whose absolute value
    is not at least `least` is left out.
    """
    more = () if sides is None else (sides,)
    key, indices, values, *more_ordered = in_order(key, indices, values, *more)
    runs = Runs(key, False)
    numbers, kept = runs.numbers, runs.fresh
    sums = scattered("add", zeros_like(values), numbers, values)
    if more_ordered and least is not None:
        (side,) = more_ordered
        of_each = (scattered("max", zeros_like(side), numbers, x) for x in (side, sub(1, side)))
        met = logical_and(*(greater_equal(x, 1) for x in of_each))
        small = logical_and(met, logical_not(greater_equal(abs_(sums), least)))
        kept = logical_and(kept, logical_not(rows_at(small, numbers)))
    places = places_of("coalesce", kept)
    return rows_at(indices, places), rows_at(sums, rows_at(numbers, places))


def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(indices [axes, m], values [m], x_shape): the places in order, each once, with the sums of their values
    (MindSpore: ops.coalesce).

    x_indices: integers [axes, n]; x_values: [n]; x_shape: int64 [axes]. How many places there are a compiled step counts. Raises
    ShapeError, DTypeError; ArgumentValueError for places beyond x_shape, in a compiled step when it has run.
    """
    indices, values, shape = as_tensor(x_indices), as_tensor(x_values), as_tensor(x_shape)
    if indices.ndim != 2 or values.shape != indices.shape[1:] or shape.shape != indices.shape[:1]:
        raise ShapeError(
            f"coalesce: indices are {indices.tensor_type}, values {values.tensor_type}, the shape is {shape.tensor_type}",
            loc=user_loc(),
        )
    for name, x in (("x_indices", indices), ("x_shape", shape)):
        require_vector("coalesce", name, reshape(x, (-1,)))
    wide, sizes = cast_to(indices, "int64"), cast_to(shape, "int64")
    inside = logical_and(greater_equal(wide, 0), less(wide, expand_dims(sizes, 1)))
    require(reduce_all(inside), "coalesce: x_indices must lie within x_shape")
    key = getitem(wide, 0)
    for axis in range(1, indices.shape[0]):
        key = add(mul(key, getitem(sizes, axis)), getitem(wide, axis))
    made, sums = summed(key, transpose(indices, (1, 0)), values)
    return transpose(made, (1, 0)), sums, x_shape


# ---- products


def csr_product(indptr: Tensor, indices: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """[rows, width]: a matrix in rows times a dense one [columns, width], both of one dtype. Places out of range are left out."""
    dtype = values.tensor_type.dtype
    if dtype in _PRODUCTS or dtype in FLOATS:
        wide = dtype if dtype in _PRODUCTS else "float32"
        made = call("CsrMatMul", cast_to(values, wide), as_index(indptr), as_index(indices), cast_to(dense, wide))
        return cast_to(made, dtype)
    rows = rows_of(indptr, indices)
    return coo_product(rows, indices, values, dense, indptr.shape[0] - 1)


def coo_product(rows: Tensor, columns: Tensor, values: Tensor, dense: Tensor, height: int) -> Tensor:
    """[height, width]: a matrix of elements at places times a dense one, both of one dtype. Places out of range are left out."""
    terms = mul(expand_dims(values, 1), rows_at(dense, as_index(columns)))
    return added_up(as_index(rows), terms, (height, dense.shape[1]))


def added_up(rows: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zeros of a shape with values added at rows; those out of range are left out."""
    return scattered("add", zeros(shape, values.dtype), as_index(rows), values)


def csr_row_sums(indptr: Tensor, indices: Tensor, values: Tensor) -> Tensor:
    """[rows]: the sums of the elements of each row."""
    return added_up(rows_of(indptr, indices), values, (indptr.shape[0] - 1,))


def csr_row_softmax(indptr: Tensor, indices: Tensor, values: Tensor) -> Tensor:
    """The softmax of the elements of each row."""
    rows = as_index(rows_of(indptr, indices))
    height = indptr.shape[0] - 1
    least = zeros((height,), values.dtype)
    least = sub(least, float("inf"))
    most = rows_at(scattered("max", least, rows, call("StopGradient", values)), rows)
    powers = call("Exp", sub(values, most))
    return call("Div", powers, rows_at(added_up(rows, powers, (height,)), rows))


# ---- slices


def sparse_slice(
    indices: Tensor, values: Tensor, shape: Tensor, start: Tensor, size: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(indices, values, shape) of the part of a sparse tensor that begins at `start` and has `size`, or what there is of it.

    indices: integers [n, axes]; values: [n]; shape, start, size: integers [axes]. A compiled step counts how many elements lie in
    it. Raises ShapeError, DTypeError.
    """
    parts = [as_tensor(x) for x in (indices, values, shape, start, size)]
    if (
        parts[0].ndim != 2
        or parts[1].shape != parts[0].shape[:1]
        or any(x.shape != parts[0].shape[1:] for x in parts[2:])
    ):
        said = ", ".join(str(x.tensor_type) for x in parts)
        raise ShapeError(f"SparseSlice: indices, values, shape, start and size are {said}", loc=user_loc())
    at, held, whole, first, wanted = parts
    for name, x in zip(("indices", "shape", "start", "size"), (at, whole, first, wanted), strict=True):
        require_vector("SparseSlice", name, reshape(x, (-1,)))
    moved = sub(at, first)
    left = minimum(wanted, sub(whole, first))
    inside = reduce_all(logical_and(greater_equal(moved, 0), less(moved, left)), 1)
    places = places_of("SparseSlice", inside)
    return rows_at(moved, places), rows_at(held, places), left


def sparse_to_dense(indices: Tensor, values: Tensor, shape: tuple[int, ...], mode: str) -> Tensor:
    """A tensor of a shape with values at places [n, axes]; equal ones added ("add"), or the last one taken ("update")."""
    return tensor_scatter(mode, zeros(shape, values.dtype), indices, values, "to_dense")


def dense_product(
    indices: Tensor, values: Tensor, shape: tuple[int, int], dense: Tensor, adjoint_st: bool, adjoint_dt: bool
) -> Tensor:
    """A matrix of elements at places [n, 2] times a dense one; `adjoint_st` and `adjoint_dt`: of which the transpose."""
    real_only("SparseTensorDenseMatmul", values, dense)
    rows, columns = (getitem(indices, (slice(None), k)) for k in ((1, 0) if adjoint_st else (0, 1)))
    height, width = shape[::-1] if adjoint_st else shape
    right = transpose(dense, (1, 0)) if adjoint_dt else dense
    if right.shape[0] != width:
        raise ShapeError(
            f"SparseTensorDenseMatmul: the dense matrix is {dense.tensor_type}, for a sparse one {shape}",
            loc=user_loc(),
        )
    return coo_product(rows, columns, values, right, height)


__all__ = ["coalesce", "coo2csr", "csr2coo"]
