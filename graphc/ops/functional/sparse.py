"""COOTensor and CSRTensor: MindSpore's sparse formats as structures of dense tensors, with their methods and operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.bounds import elements_in_bounds
from graphc.ops.functional.core import cast, cast_to, is_number, pair
from graphc.ops.functional.create import ones_like, zeros_like
from graphc.ops.functional.dynamic import columns_of
from graphc.ops.functional.elementwise import abs_, add, greater_equal, mul, neg
from graphc.ops.functional.index import gather_nd
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.scattering import tensor_scatter
from graphc.ops.functional.shapes import reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sparse_parts import (
    begins_of,
    begins_of_each,
    csr_product,
    csr_row_sums,
    elements_of,
    flat_places,
    in_order,
    rows_in_bounds,
    rows_of,
    sparse_to_dense,
    summed,
)
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.sparse import Sparse, no_operator
from graphc.ops.tensor.tensor import Tensor, as_tensor

_INDICES = ("int16", "int32", "int64")


class COOTensor(Sparse):
    """A matrix of which some elements are held: `values` [n] at `indices` [n, 2], all others are zero (MindSpore: COOTensor).

    indices: int16, int32 or int64; values: of any dtype; shape: the two sizes. Or coo_tensor alone, whose parts are taken. What
    stands at equal indices is added up where the matrix is made or used as a whole (`to_dense`, `coalesce`, `+`). Indices are
    constants of differentiation. Raises ArgumentTypeError, ArgumentValueError, ShapeError, DTypeError.
    """

    PARTS = ("indices", "values")
    TAKES: ClassVar[dict[str, tuple[type, ...]]]

    def __init__(self, indices: Any = None, values: Any = None, shape: Any = None, coo_tensor: Any = None) -> None:
        if coo_tensor is not None:
            _require_alone("coo_tensor", coo_tensor, COOTensor, (indices, values, shape))
            super().__init__(coo_tensor.parts, coo_tensor.shape)
            return
        places, held = _tensors("COOTensor", {"indices": indices, "values": values})
        sizes = _sizes("COOTensor", shape)
        if len(sizes) != 2:
            raise ArgumentValueError(f"COOTensor: shape must be two sizes, got {shape}", loc=user_loc())
        if places.shape == held.shape == (0,):
            places = reshape(places, (0, 2))
        if places.ndim != 2 or places.shape[1] != 2 or held.shape != places.shape[:1]:
            raise ShapeError(
                f"COOTensor: indices are {places.tensor_type}, values {held.tensor_type}: expected [n, 2] and [n]",
                loc=user_loc(),
            )
        super().__init__((stop_gradient(places), held), sizes)

    @property
    def indices(self) -> Tensor:
        """[n, 2]: where the values stand."""
        return self.parts[0]

    @property
    def rows(self) -> Tensor:
        """[n]: the rows of the values."""
        return getitem(self.indices, (slice(None), 0))

    @property
    def columns(self) -> Tensor:
        """[n]: the columns of the values."""
        return getitem(self.indices, (slice(None), 1))

    def within(self) -> tuple[Tensor, Tensor]:
        """The rows and columns, of which none lies outside of the matrix. IndexRangeError."""
        name, (height, width) = type(self).__name__, self.shape
        return elements_in_bounds(name, self.rows, height), elements_in_bounds(name, self.columns, width)

    @property
    def places(self) -> Tensor:
        """[n]: where the values stand in the flattened matrix. IndexRangeError."""
        return flat_places(*self.within(), self.shape)

    def to_tuple(self) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        """(indices, values, shape)."""
        return self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """The matrix; what stands at equal indices is added up."""
        return sparse_to_dense(stack(self.within(), 1), self.values, self.shape, "add")

    def to_csr(self) -> CSRTensor:
        """The same in rows; in each the elements stand as they did."""
        rows, columns = (cast_to(x, self.indices.tensor_type.dtype) for x in self.within())
        rows, columns, values = in_order(rows, columns, self.values)
        made: CSRTensor = CSRTensor.of((begins_of(rows, self.shape[0]), columns, values), self.shape)
        return made

    def coalesce(self) -> COOTensor:
        """The places in order, each once, with the sums of their values; a compiled step counts how many there are."""
        return self.with_parts(*summed(self.places, self.indices, self.values))

    def astype(self, dtype: Any) -> COOTensor:
        """The values in another dtype."""
        return self.with_values(cast(self.values, dtype))

    def abs(self) -> COOTensor:
        """The absolute values."""
        return self.with_values(abs_(self.values))

    def add(self, other: COOTensor, thresh: Tensor) -> COOTensor:
        """The sum, its places in order, each once. Where both hold a value, it is left out if its absolute value is less than
        thresh, a number; what one of them holds alone stays, as in MindSpore.
        """
        require_kind("coo_add", "other", other, COOTensor)
        bound = as_tensor(thresh, "coo_add: thresh")
        if bound.size != 1:
            raise ShapeError(f"coo_add: thresh is {bound.tensor_type}, expected one number", loc=user_loc())
        return self._added(_like(self, other, "+"), reshape(bound, ()))

    def _added(self, other: COOTensor, least: Tensor | None = None) -> COOTensor:
        indices = concat(pair("coo_add", self.indices, other.indices))
        joined = self.with_parts(indices, concat(pair("coo_add", self.values, other.values)))
        if least is None or (least.array is not None and not least.array.item()):
            return joined.coalesce()
        sides = concat((zeros_like(self.rows), add(zeros_like(other.rows), 1)))
        bound = cast_to(least, joined.dtype.name)
        return joined.with_parts(*summed(joined.places, indices, joined.values, sides, bound))

    def _brought(self, mode: str, dense: Tensor) -> Tensor:
        """A dense tensor with the values added at their places, or subtracted."""
        dense, values = pair("Add", dense, self.values)
        return tensor_scatter(mode, dense, stack(self.within(), 1), values)

    def _beside(self, other: Any, sign: str) -> Tensor:
        """What stands in a dense tensor where the values do."""
        return gather_nd(_like(self, other, sign), stack(self.within(), 1))

    def __neg__(self) -> COOTensor:
        return self.with_values(neg(self.values))

    def __add__(self, other: Any) -> Any:
        other = _like(self, other, "+")
        return self._added(other) if isinstance(other, COOTensor) else self._brought("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        other = _like(self, other, "-")
        return self._added(-other) if isinstance(other, COOTensor) else self._brought("add", neg(other))

    def __rsub__(self, other: Any) -> Tensor:
        return self._brought("sub", _like(self, other, "-"))

    def __mul__(self, other: Any) -> COOTensor:
        return self.with_values(mul(self.values, self._beside(other, "*")))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> COOTensor:
        return self.with_values(div(self.values, self._beside(other, "/")))


class SparseTensor(COOTensor):
    """The older name of COOTensor (MindSpore: SparseTensor)."""

    def __init__(self, indices: Any, values: Any, shape: Any) -> None:
        super().__init__(indices, values, shape)


class CSRTensor(Sparse):
    """A matrix of which some elements are held, row by row (MindSpore: CSRTensor).

    Row i has the `values` from indptr[i] to indptr[i + 1], in the columns that stand there in `indices`; all others are zero.
    indptr [rows + 1], indices [n]: int16, int32 or int64; values: of any dtype, [n], or [n, ...] of a tensor (rows, columns,
    ...). shape: the sizes. Or csr_tensor alone, whose parts are taken. indptr and indices are constants of differentiation.
    Raises ArgumentTypeError, ArgumentValueError, ShapeError, DTypeError; IndexRangeError for columns that there are not, and
    ArgumentValueError unless indptr begins with 0, never falls and ends with n, in a compiled step when it has run.
    """

    PARTS = ("indptr", "indices", "values")
    TAKES: ClassVar[dict[str, tuple[type, ...]]]

    def __init__(
        self, indptr: Any = None, indices: Any = None, values: Any = None, shape: Any = None, csr_tensor: Any = None
    ) -> None:
        if csr_tensor is not None:
            _require_alone("csr_tensor", csr_tensor, CSRTensor, (indptr, indices, values, shape))
            super().__init__(csr_tensor.parts, csr_tensor.shape)
            return
        given = {"indptr": indptr, "indices": indices, "values": values}
        begins, columns, held = _tensors("CSRTensor", given)
        sizes = _sizes("CSRTensor", shape)
        fits = begins.shape == (sizes[0] + 1,) and columns.ndim == 1 and held.shape == (*columns.shape, *sizes[2:])
        if len(sizes) < 2 or not fits:
            said = ", ".join(f"{name} {x.tensor_type}" for name, x in zip(given, (begins, columns, held), strict=True))
            raise ShapeError(
                f"CSRTensor: {said} for shape {sizes}: expected [rows + 1], [n] and [n] with the sizes from the third on",
                loc=user_loc(),
            )
        begins, columns = rows_in_bounds("CSRTensor", begins, columns, sizes[1])
        super().__init__((stop_gradient(begins), stop_gradient(columns), held), sizes)

    @property
    def indptr(self) -> Tensor:
        """[rows + 1]: where each row begins."""
        return self.parts[0]

    @property
    def indices(self) -> Tensor:
        """[n]: the columns of the values."""
        return self.parts[1]

    @property
    def rows(self) -> Tensor:
        """[n]: the rows of the values."""
        return rows_of(self.indptr, self.indices)

    def to_tuple(self) -> tuple[Tensor, Tensor, Tensor, tuple[int, ...]]:
        """(indptr, indices, values, shape)."""
        return self.indptr, self.indices, self.values, self.shape

    def to_coo(self) -> COOTensor:
        """The same with a row and a column for each element."""
        self.require_matrix("to_coo")
        index = cast_to(self.rows, self.indices.tensor_type.dtype)
        return COOTensor(stack((index, self.indices), 1), self.values, self.shape)

    def to_dense(self) -> Tensor:
        """The matrix; what stands at one place is added up."""
        return self.to_coo().to_dense()

    def astype(self, dtype: Any) -> CSRTensor:
        """The values in another dtype."""
        return self.with_values(cast(self.values, dtype))

    def abs(self) -> CSRTensor:
        """The absolute values."""
        return self.with_values(abs_(self.values))

    def mv(self, dense_vector: Tensor) -> Tensor:
        """[rows, 1]: the product with [columns, 1]."""
        require_kind("csr_mv", "dense", dense_vector, Tensor)
        if dense_vector.shape[1:] != (1,):
            raise ShapeError(
                f"csr_mv: the vector is {dense_vector.tensor_type}, expected [{self.shape[1]}, 1]", loc=user_loc()
            )
        return self._product("csr_mv", dense_vector)

    def mm(self, matrix: Any) -> Any:
        """[rows, width]: the product with a Tensor [columns, width]; with a CSRTensor one that has the places where terms meet.

        The time of the latter goes with the elements of this one times the columns of the other. A compiled step counts the
        places.
        """
        if not isinstance(matrix, CSRTensor):
            require_kind("CSRTensor.mm", "matrix", matrix, Tensor)
            return self._product("CSRTensor.mm", matrix)
        made = self._product("csr_mm", matrix.to_dense())
        one, other = (x.with_values(ones_like(x.values, "float32")) for x in (self, matrix))
        met = greater_equal(one._product("csr_mm", other.to_dense()), 0.5)
        rows, columns = (cast_to(x, self.indices.tensor_type.dtype) for x in columns_of("csr_mm", met))
        values = gather_nd(made, stack((rows, columns), 1))
        begins = cast_to(begins_of_each(met), self.indptr.tensor_type.dtype)
        return CSRTensor.of((begins, columns, values), made.shape)

    def _product(self, owner: str, dense: Tensor) -> Tensor:
        self.require_matrix(owner)
        if dense.ndim != 2 or dense.shape[0] != self.shape[1]:
            raise ShapeError(f"{owner}: {dense.tensor_type} beside a CSRTensor {self.shape}", loc=user_loc())
        values, dense = pair(owner, self.values, dense)
        return csr_product(self.indptr, self.indices, values, dense)

    def sum(self, axis: int) -> Tensor:
        """[rows, 1]: the sums of rows; axis must be 1, or -1."""
        self.require_matrix("csr_reduce_sum")
        if isinstance(axis, bool) or axis not in (1, -1):
            raise ArgumentValueError(
                f"csr_reduce_sum: axis must be 1 or -1, got {axis!r}",
                loc=user_loc(),
                help="for sums of columns: x.to_dense().sum(0, keepdims=True)",
            )
        return reshape(csr_row_sums(*self.parts), (self.shape[0], 1))

    def add(self, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
        """alpha times this plus beta times b, row by row in order of the columns; what either holds is held, zeros too.

        alpha, beta: tensors of one number, in the dtype of the values. A compiled step counts how many elements there are.
        """
        other = _like(self, b, "+")
        for name, factor in (("alpha", alpha), ("beta", beta)):
            require_kind("csr_add", name, factor, Tensor)
            if factor.size != 1:
                raise ShapeError(f"csr_add: {name} is {factor.tensor_type}, expected one number", loc=user_loc())
        own, others = pair("csr_add", self.values, other.values)
        first, second = (cast_to(reshape(x, ()), own.tensor_type.dtype) for x in (alpha, beta))
        return self._added(mul(own, first), mul(others, second), other)

    def _added(self, own: Tensor, others: Tensor, other: CSRTensor) -> CSRTensor:
        """The sum of two matrices with these values."""
        made = self.with_values(own).to_coo() + other.with_values(others).to_coo()
        dtype = pair("csr_add", self.indptr, other.indptr)[0].tensor_type.dtype
        begins = cast_to(begins_of(made.rows, self.shape[0]), dtype)
        return self.with_parts(begins, made.columns, made.values)

    def require_matrix(self, owner: str) -> None:
        """ShapeError unless there are two axes."""
        if self.ndim != 2:
            raise ShapeError(f"{owner}: the CSRTensor has {self.ndim} axes, expected 2", loc=user_loc())

    def __neg__(self) -> CSRTensor:
        return self.with_values(neg(self.values))

    def __add__(self, other: Any) -> CSRTensor:
        other = _like(self, other, "+")
        return self._added(*pair("csr_add", self.values, other.values), other)

    def __sub__(self, other: Any) -> CSRTensor:
        other = _like(self, other, "-")
        own, others = pair("csr_add", self.values, other.values)
        return self._added(own, neg(others), other)

    def scaled(self, owner: str, fn: Callable[[Any, Any], Tensor], other: Any) -> Any:
        """fn of the values and of what stands at their places in a dense tensor that is broadcast: a CSRTensor. Of one number the
        Tensor of its values alone, as in MindSpore.
        """
        factor = other if is_number(other) else as_tensor(other, f"{owner}: y")
        if not isinstance(factor, Tensor):
            return fn(self.values, factor)
        if factor.ndim > self.ndim:
            raise ArgumentValueError(
                f"{owner}: y is {factor.tensor_type}, for a CSRTensor {self.shape}", loc=user_loc()
            )
        if factor.size == 1:
            return reshape(fn(self.values, reshape(factor, (1,) * self.values.ndim)), self.values.shape)
        self.require_matrix(owner)
        values, factor = pair(owner, self.values, factor)
        return self.with_values(fn(values, elements_of(owner, factor, self.rows, self.indices, self.shape)))

    def __mul__(self, other: Any) -> Any:
        return self.scaled("csr_mul", mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.scaled("csr_div", div, other)


# ---- what a sparse tensor is made of


def _require_alone(name: str, given: Any, kind: type, others: tuple[Any, ...]) -> None:
    if not isinstance(given, kind) or any(x is not None for x in others):
        raise ArgumentTypeError(
            f"{kind.__name__}: {name} must be a {kind.__name__}, without other parts", loc=user_loc()
        )


def _tensors(owner: str, given: dict[str, Any]) -> list[Tensor]:
    """The parts. ArgumentTypeError for what is no tensor, DTypeError for indices of other dtypes."""
    for name, x in given.items():
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(f"{owner}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
        if name != "values" and x.tensor_type.dtype not in _INDICES:
            raise DTypeError(f"{owner}: {name} is {x.tensor_type}, expected {', '.join(_INDICES)}", loc=user_loc())
    # Of a Parameter in construct what it holds there: it may be written later on.
    fixed = dispatch.recorder.get() is not None
    return [x.value() if fixed and x.is_parameter else x for x in given.values()]


def _sizes(owner: str, shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in shape):
        raise ArgumentTypeError(f"{owner}: shape must be a tuple of ints, got {shape!r}", loc=user_loc())
    if any(n <= 0 for n in shape):
        raise ArgumentValueError(f"{owner}: sizes must be positive, got {shape}", loc=user_loc())
    return tuple(map(int, shape))


def require_kind(owner: str, name: str, x: Any, kind: type) -> None:
    """ArgumentTypeError for what is of another kind."""
    if not isinstance(x, kind):
        raise ArgumentTypeError(f"{owner}: {name} must be a {kind.__name__}, got {type(x).__name__}", loc=user_loc())


def _like(x: COOTensor | CSRTensor, other: Any, sign: str) -> Any:
    """The other operand, of the same shape. ArgumentTypeError for one that MindSpore does not take there, ArgumentValueError for
    one of another shape.
    """
    made: Any = other
    if not isinstance(other, x.TAKES[sign]):
        raise no_operator(x, sign, other)
    if made.shape != x.shape:
        raise ArgumentValueError(f"{type(x).__name__} {sign}: shapes are {x.shape} and {made.shape}", loc=user_loc())
    return made


#: What stands on the other side of a sign.
COOTensor.TAKES = {"+": (COOTensor, Tensor), "-": (COOTensor, Tensor), "*": (Tensor,), "/": (Tensor,)}
CSRTensor.TAKES = {"+": (CSRTensor,), "-": (CSRTensor,)}


__all__ = ["COOTensor", "CSRTensor", "SparseTensor"]
