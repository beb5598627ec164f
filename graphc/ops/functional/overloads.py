"""Methods of Tensor that MindSpore 2.10 calls in more than one form: with other names of parameters, or with other ones."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ShapeError, user_loc
from graphc.ir.types import DTYPES, numpy_dtype
from graphc.ops.functional.activation import softmax
from graphc.ops.functional.arithmetic import added, round_, subtract
from graphc.ops.functional.core import Axis, Extents, Ints, Operand, Shape, cast, pythons
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.diagonals import diag
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elements import gather_elements
from graphc.ops.functional.elementwise import add, mul
from graphc.ops.functional.extrema import amax, amin, arg_with_value, argmax, max_, min_
from graphc.ops.functional.index import index_add
from graphc.ops.functional.joining import repeat_interleave, split, tile
from graphc.ops.functional.logic import select
from graphc.ops.functional.products import addr
from graphc.ops.functional.reduce import reduce_mean, sum_, widened
from graphc.ops.functional.shapes import as_shape, broadcast_to, flatten, ravel, reshape, swapaxes, transpose
from graphc.ops.functional.slicing import gather, select_at
from graphc.ops.functional.sorting import argsort, sort
from graphc.ops.functional.statistics import std, var
from graphc.ops.functional.unique import unique_sorted
from graphc.ops.tensor.dtype import DType, to_name
from graphc.ops.tensor.methods import install
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def _extremum(x: Tensor, largest: bool, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """By `axis` the elements alone; by position or by `dim`, and with `return_indices`, their places, too.

    An axis by position beside a name of the form with `axis` is that form's.
    """
    by_axis = not named.keys().isdisjoint(("axis", "keepdims", "initial", "where"))
    if "dim" in named:
        given = (named.pop("dim"), *given)
    if "keepdim" in named:
        named["keepdims"] = named.pop("keepdim")
    axis, places = named.pop("axis", None), named.pop("return_indices", False)
    keep = named.pop("keepdims", False)
    if given:
        axis, keep = pythons(given[0]), given[1] if len(given) > 1 else keep
        places = places or (isinstance(axis, int) and not by_axis)
    both, alone = (max_, amax) if largest else (min_, amin)
    if places:
        return both(x, axis, keep, **named)
    # Along an axis the first of equal ones has all the gradient.
    return both(x, axis, keep, **named)[0] if isinstance(axis, int) else alone(x, axis, keep, **named)


def _with_places_last(x: Tensor, axis: int | None, keep_dims: bool, largest: bool) -> tuple[Tensor, Tensor]:
    if axis is None:
        # Without an axis the place is 0 and nothing is kept, as in MindSpore.
        made: tuple[Tensor, Tensor] = (max_ if largest else min_)(x, None)
        return made
    places, values = arg_with_value(x, axis, keep_dims, largest)
    return values, cast(places, "int64")


class Overloads:
    """Given to Tensor, member by member."""

    def add(self: Any, other: Operand, *, alpha: Operand = 1) -> Tensor:
        """This + alpha other."""
        return added(self, other, alpha=alpha)

    def sub(self: Any, other: Operand, *, alpha: Operand = 1) -> Tensor:
        """This - alpha other."""
        return subtract(self, other, alpha=alpha)

    subtract = sub

    def addr(self: Any, vec1: Tensor, vec2: Tensor, beta: Operand = 1, alpha: Operand = 1) -> Tensor:
        """beta this + alpha times the outer product."""
        return addr(self, vec1, vec2, beta=beta, alpha=alpha)

    def round(self: Any, decimals: int = 0) -> Tensor:
        """The nearest multiple of 10**-decimals, halves to the even one."""
        return round_(self, decimals=decimals)

    def softmax(self: Any, axis: int = -1, dtype: Any = None) -> Tensor:
        """exp(x) / sum exp(x) along an axis, in a dtype if given."""
        return softmax(self, axis, dtype=dtype)

    # ---- over axes

    def sum(
        self: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Operand | None = None
    ) -> Tensor:
        """The sum over axes plus `initial`, in a dtype if given, else of integers in int64. sum(axis, True) keeps the axes."""
        if isinstance(dtype, bool):
            dtype, keepdims = None, dtype
        made = sum_(self, axis, keepdims, dtype=dtype)
        return made if initial is None else add(made, initial)

    def mean(self: Any, axis: Axis = None, keep_dims: bool = False, *, dtype: Any = None) -> Tensor:
        """The mean over axes, in a dtype if given, else of integers without its fraction."""
        return reduce_mean(self if dtype is None else cast(self, dtype), axis, keep_dims)

    def std(self: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False, **named: Any) -> Tensor:
        """The root of `var`."""
        return std(self, *_spread("std", axis, ddof, keepdims, named))

    def var(self: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False, **named: Any) -> Tensor:
        """The sum of squared deviations from the mean over axes, divided by count - ddof; of integers in float32.

        var(dim=..., correction=1, keepdim=False): divided by count - correction.
        """
        return var(self, *_spread("var", axis, ddof, keepdims, named))

    def cumsum(self: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
        """Sums up to each element along an axis, of the flattened tensor by default; of small integers in int32.

        dtype: what they are cast to, before they are added up if it has all the numbers of this tensor.
        """
        x = widened(self if axis is not None else ravel(self), dtype)
        small = x.tensor_type.dtype in ("bool", "int8", "int16", "uint8", "uint16")
        made = cumsum(x, axis or 0, "int32" if small else None)
        return made if dtype is None else cast(made, dtype)

    # ---- order

    def max(self: Any, *dim: Any, **named: Any) -> Any:
        """The largest element over `axis`. max(1), with the axis by position, max(dim=1) and return_indices add its places."""
        return _extremum(self, True, dim, named)

    def min(self: Any, *dim: Any, **named: Any) -> Any:
        """The smallest element over `axis`. min(1), with the axis by position, min(dim=1) and return_indices add its places."""
        return _extremum(self, False, dim, named)

    def argmax(self: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """int64: the place of the first largest element along an axis, or in the flattened tensor."""
        return argmax(self, axis, keepdims)

    def argmax_with_value(self: Any, axis: int | None = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(values, int64 places) of the largest elements along an axis; the primitive ArgMaxWithValue gives places first."""
        return _with_places_last(self, axis, keep_dims, True)

    def argmin_with_value(self: Any, axis: int | None = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(values, int64 places) of the smallest elements along an axis."""
        return _with_places_last(self, axis, keep_dims, False)

    def sort(self: Any, axis: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
        """(sorted elements, int32 places they came from) along an axis; equal elements always keep their order."""
        return sort(self, axis, descending)

    def argsort(self: Any, axis: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
        """int32: the places that sort an axis; equal elements always keep their order."""
        return argsort(self, axis, descending)

    def unique(
        self: Any,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Any:
        """The distinct elements, or entries of an axis, always in order; with them, if wanted, int64: the place of each among
        them, and how often each occurs. Entries of an axis not in a compiled Cell.
        """
        return unique_sorted(self, return_inverse, return_counts, dim)

    # ---- shapes

    def flatten(self: Any, *given: Any, order: str = "C", start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Axes from start_dim to end_dim as one, all by default: flatten(0, 1); flatten("F"): all, in the other order."""
        if given and isinstance(given[0], str):
            order, given = given[0], given[1:]
        bounds = (*given, *(start_dim, end_dim)[len(given) :])
        if len(bounds) != 2:
            raise ArgumentTypeError(f"flatten takes start_dim and end_dim, got {len(given)} axes", loc=user_loc())
        return flatten(self, order, start_dim=bounds[0], end_dim=bounds[1])

    def transpose(self: Any, *perm: Any, dim0: int | None = None, dim1: int | None = None) -> Tensor:
        """transpose(dim0, dim1): two axes exchanged; transpose(axes) and transpose(0, 2, 1): axes in another order, reversed by
        default.
        """
        if dim0 is not None and dim1 is not None:
            perm = (*perm, dim0, dim1)
        if len(perm) == 2:
            return swapaxes(self, *perm)
        return transpose(self, *perm)

    def permute(self: Any, *axis: Ints, dims: Ints | None = None) -> Tensor:
        """Axes in another order."""
        return transpose(self, *(axis if dims is None else (dims,)))

    def broadcast_to(self: Any, *sizes: Ints, shape: Extents = None) -> Tensor:
        """This tensor repeated to a shape; -1 keeps a size."""
        return broadcast_to(self, as_shape(sizes if shape is None else (shape,)))

    def tile(self: Any, *times: Ints, dims: Ints | None = None) -> Tensor:
        """This repeated `dims[i]` times along axis i; leading axes of size 1 are added where `dims` is longer."""
        return tile(self, as_shape(times if dims is None else (dims,)))

    def repeat(self: Any, *times: Ints, repeats: Ints | None = None) -> Tensor:
        """This repeated repeats[i] times along axis i, as `tile`. ShapeError for fewer numbers than axes."""
        counts = as_shape(times if repeats is None else (repeats,))
        if len(counts) < self.ndim:
            raise ShapeError(
                f"repeat: {counts} for {self.tensor_type}, expected a number for each axis", loc=user_loc()
            )
        return tile(self, counts)

    def repeat_interleave(
        self: Any, repeats: Shape, axis: int | None = None, *, output_size: int | None = None
    ) -> Tensor:
        """Every entry of an axis (of the flattened tensor by default) as often as `repeats` says: one number, or one each."""
        made = repeat_interleave(self, repeats, axis)
        if output_size is not None:
            only("repeat_interleave", "output_size", output_size, made.shape[0 if axis is None else axis])
        return made

    def split(self: Any, split_size_or_sections: Ints, axis: int = 0) -> tuple[Tensor, ...]:
        """Pieces of a size, or of the given sizes, along an axis."""
        return split(self, split_size_or_sections, axis)

    def diag(self: Any, diagonal: int = 0) -> Tensor:
        """The elements on the diagonal of a tensor of twice as many axes; see ops.diag."""
        only("diag", "diagonal", diagonal, 0)
        return diag(self)

    def view(self: Any, *shape: Any, dtype: Any = None) -> Tensor:
        """The same elements under another shape, of which one size may be -1. view(dtype): the same bytes in another dtype, not
        in a compiled Cell.
        """
        if dtype is None and len(shape) == 1 and isinstance(shape[0], DType):
            dtype = shape[0]
        return reshape(self, as_shape(shape)) if dtype is None else _seen_as(self, to_name(dtype))

    # ---- dtypes

    def to(self: Any, *given: Any, **named: Any) -> Tensor:
        """This in another dtype: to(dtype), to("CPU", dtype), or in that of a tensor: to(other). There is no other device."""
        names = ("device", "dtype") if given and isinstance(given[0], str) and given[0] not in DTYPES else ("dtype",)
        names = (*names, "non_blocking", "copy")
        wrong = [
            n
            for n in named
            if n not in ("device", "dtype", "other", "non_blocking", "copy") or n in names[: len(given)]
        ]
        if wrong or len(given) > len(names) or not (given or named):
            got = ", ".join(map(repr, wrong)) or f"{len(given)} arguments"
            raise ArgumentTypeError(
                f"to takes a dtype, a device or a tensor, non_blocking and copy, got {got}", loc=user_loc()
            )
        asked = {**dict(zip(names, given, strict=False)), **named}
        only("to", "device", asked.get("device"), None, "CPU")
        wanted = asked.get("other", asked.get("dtype"))
        wanted = wanted.dtype if isinstance(wanted, Tensor) else wanted
        return cast(self, self.dtype if wanted is None else wanted)

    # ---- places

    def gather(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        """gather(indices, axis): entries of an axis; gather(axis, index): elements at places along an axis."""
        if "dim" in kwargs or (args and not hasattr(args[0], "asnumpy")):
            return gather_elements(self, *args, **kwargs)
        return gather(self, *args, **kwargs)

    def select(self: Any, *args: Any, **named: Any) -> Tensor:
        """select(dim, index): one entry of an axis; select(condition, y): this where the condition holds, else y."""
        if "dim" in named or (args and not hasattr(args[0], "asnumpy")):
            return select_at(self, *_in_order("select", ("dim", "index"), args, named))
        condition, y = _in_order("select", ("condition", "y"), args, named)
        return select(condition, self, y)

    def index_add(self: Any, *args: Any, alpha: Operand = 1, **named: Any) -> Tensor:
        """A copy with entries added to those of an axis: index_add(dim, index, source, alpha=...) adds alpha source,
        index_add(indices, y, axis) adds y.
        """
        for how in ("use_lock", "check_index_bound"):
            named.pop(how, None)
        if {"indices", "y", "axis"} & set(named) or (args and hasattr(args[0], "asnumpy")):
            index, source, axis = _in_order("index_add", ("indices", "y", "axis"), args[:3], named)
        else:
            axis, index, source = _in_order("index_add", ("dim", "index", "source"), args, named)
        return index_add(add(self, 0), index, source if alpha == 1 else mul(source, alpha), axis)


def _spread(owner: str, axis: Any, ddof: Any, keepdims: Any, named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """axis, ddof and keepdims of `std` and `var`, by MindSpore's other names for them, with which the correction is 1."""
    unknown = [n for n in named if n not in ("dim", "correction", "keepdim")]
    if unknown:
        raise ArgumentTypeError(f"{owner}: got an unexpected argument {unknown[0]!r}", loc=user_loc())
    if not named:
        return axis, ddof, keepdims
    return named.get("dim", axis), named.get("correction", 1), named.get("keepdim", keepdims)


def _in_order(owner: str, names: tuple[str, ...], args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """The values of parameters without defaults, given by position or name."""
    left = names[len(args) :]
    if len(args) > len(names) or set(left) != set(named):
        raise ArgumentTypeError(f"{owner} takes {', '.join(names)}", loc=user_loc())
    return [*args, *(named[n] for n in left)]


def _seen_as(x: Tensor, name: str) -> Tensor:
    array = known_values("view", x)
    wanted = numpy_dtype(name)
    if wanted.itemsize != array.itemsize and (not array.ndim or array.shape[-1] * array.itemsize % wanted.itemsize):
        raise ShapeError(f"view: {x.tensor_type} cannot be seen as {name}", loc=user_loc())
    return Tensor(array.view(wanted))


for _name, _member in vars(Overloads).items():
    if not _name.startswith("_"):
        install(_name, _member)
