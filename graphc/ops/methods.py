"""The methods of Tensor that are no operators: each is a function of `graphc.ops.functional` with the tensor first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

if TYPE_CHECKING:
    from types import ModuleType

    from graphc.ops.tensor import Tensor


@cache
def functions() -> ModuleType:
    """graphc.ops.functional, which imports Tensor, which derives from classes here."""
    from graphc.ops import functional

    return functional


def _of(function: str) -> Callable[..., Any]:
    """A method that is the function of that name."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(functions(), function)(self, *args, **kwargs)

    method.__name__ = function
    method.__doc__ = f"ops.{function.rstrip('_')} of this tensor."
    return method


def _in_place(function: str) -> Callable[..., Any]:
    """A method that lets the tensor hold what the function makes of it."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from graphc.ops.functional.extra_index import write

        write(self, ..., getattr(functions(), function)(self, *args, **kwargs))
        return self

    method.__name__ = f"{function}_"
    method.__doc__ = f"This tensor, holding ops.{function.rstrip('_')} of what it held."
    return method


class Methods:
    """Base of Operators, the base of Tensor."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def ndim(self) -> int: ...

        @property
        def size(self) -> int: ...

        @property
        def dtype(self) -> Any: ...

    # ---- elementwise

    abs, absolute, neg, negative, positive = _of("abs_"), _of("abs_"), _of("neg"), _of("neg"), _of("positive")
    exp, exp2, expm1, log, log1p = _of("exp"), _of("exp2"), _of("expm1"), _of("log"), _of("log1p")
    log2, log10, sqrt, rsqrt, square = _of("log2"), _of("log10"), _of("sqrt"), _of("rsqrt"), _of("square")
    reciprocal, inv, pow, float_power = _of("reciprocal"), _of("reciprocal"), _of("pow_"), _of("float_power")
    sin, cos, tan, sinc = _of("sin"), _of("cos"), _of("tan"), _of("sinc")
    asin, acos, atan, atan2 = _of("asin"), _of("acos"), _of("atan"), _of("atan2")
    arcsin, arccos, arctan, arctan2 = _of("asin"), _of("acos"), _of("atan"), _of("atan2")
    sinh, cosh, tanh, asinh = _of("sinh"), _of("cosh"), _of("tanh"), _of("asinh")
    acosh, atanh, arcsinh, arccosh, arctanh = _of("acosh"), _of("atanh"), _of("asinh"), _of("acosh"), _of("atanh")
    erf, erfc, erfinv, sigmoid, relu = _of("erf"), _of("erfc"), _of("erfinv"), _of("sigmoid"), _of("relu")
    softmax, log_softmax, hardshrink, logit = _of("softmax"), _of("log_softmax"), _of("hardshrink"), _of("logit")
    soft_shrink = _of("softshrink")
    floor, ceil, round, trunc, frac = _of("floor"), _of("ceil"), _of("round_"), _of("trunc"), _of("frac")
    sign, sgn, signbit, heaviside = _of("sign"), _of("sign"), _of("signbit"), _of("heaviside")
    isfinite, isnan, isinf, isclose = _of("isfinite"), _of("isnan"), _of("isinf"), _of("isclose")
    isneginf, isposinf, nan_to_num = _of("isneginf"), _of("isposinf"), _of("nan_to_num")
    deg2rad, rad2deg = _of("deg2rad"), _of("rad2deg")
    add, sub, subtract, mul, multiply = _of("add"), _of("sub"), _of("sub"), _of("mul"), _of("mul")
    div, divide, true_divide, floor_divide = _of("div"), _of("div"), _of("div"), _of("floor_div")
    remainder, fmod, lerp, addcmul, addcdiv = _of("floor_mod"), _of("fmod"), _of("lerp"), _of("addcmul"), _of("addcdiv")
    maximum, minimum, fmax, fmin = _of("maximum"), _of("minimum"), _of("maximum"), _of("minimum")
    hypot, ldexp, copysign, xlogy, xdivy = _of("hypot"), _of("ldexp"), _of("copysign"), _of("xlogy"), _of("xdivy")
    logaddexp, logaddexp2, clamp, clip = _of("logaddexp"), _of("logaddexp2"), _of("clamp"), _of("clamp")
    eq, equal, ne, not_equal = _of("equal"), _of("equal"), _of("not_equal"), _of("not_equal")
    lt, less, le, less_equal = _of("less"), _of("less"), _of("less_equal"), _of("less_equal")
    gt, greater, ge, greater_equal = _of("greater"), _of("greater"), _of("greater_equal"), _of("greater_equal")
    logical_and, logical_or, logical_xor = _of("logical_and"), _of("logical_or"), _of("logical_xor")
    logical_not, bitwise_not, invert = _of("logical_not"), _of("bitwise_not"), _of("bitwise_not")
    bitwise_and, bitwise_or, bitwise_xor = _of("bitwise_and"), _of("bitwise_or"), _of("bitwise_xor")
    bitwise_left_shift, bitwise_right_shift = _of("bitwise_left_shift"), _of("bitwise_right_shift")
    masked_fill, approximate_equal = _of("masked_fill"), _of("approximate_equal")

    # ---- reductions

    mean, all, any, prod = _of("reduce_mean"), _of("reduce_all"), _of("reduce_any"), _of("prod")
    amax, amin, aminmax, ptp = _of("amax"), _of("amin"), _of("aminmax"), _of("ptp")
    var, std, norm, logsumexp, nansum = _of("var"), _of("std"), _of("norm"), _of("logsumexp"), _of("nansum")
    argmin, count_nonzero = _of("argmin"), _of("count_nonzero")
    sort, argsort, topk, top_k, median = _of("sort"), _of("argsort"), _of("topk"), _of("topk"), _of("median")
    cumprod, cummax, cummin = _of("cumprod"), _of("cummax"), _of("cummin")

    # ---- rearranging and indexing

    swapaxes, swapdims, squeeze, expand_dims = _of("swapaxes"), _of("swapaxes"), _of("squeeze"), _of("expand_dims")
    unsqueeze, moveaxis, movedim, t = _of("unsqueeze"), _of("moveaxis"), _of("moveaxis"), _of("t")
    broadcast_to, expand_as, tile, ravel = _of("broadcast_to"), _of("expand_as"), _of("tile"), _of("ravel")
    chunk, tensor_split, unbind, narrow = _of("chunk"), _of("tensor_split"), _of("unbind"), _of("narrow")
    repeat_interleave, roll, flip, rot90 = _of("repeat_interleave"), _of("roll"), _of("flip"), _of("rot90")
    reverse, tril, triu, diag, diagonal = _of("flip"), _of("tril"), _of("triu"), _of("diag"), _of("diagonal")
    trace, outer, ger, dot, inner = _of("trace"), _of("outer"), _of("outer"), _of("dot"), _of("inner")
    matmul, mm, bmm, mv = _of("matmul"), _of("matmul"), _of("matmul"), _of("matmul")
    addmm, addmv, addr, addbmm, baddbmm = _of("addmm"), _of("addmv"), _of("addr"), _of("addbmm"), _of("addmm")
    gather_elements, gather_nd, index_select = _of("gather_elements"), _of("gather_nd"), _of("index_select")
    take, scatter, index_fill = _of("take"), _of("scatter"), _of("index_fill")
    masked_select, nonzero, unique = _of("masked_select"), _of("nonzero"), _of("unique")
    unsorted_segment_max, unsorted_segment_min = _of("unsorted_segment_max"), _of("unsorted_segment_min")
    fills, numel, nelement = _of("fills"), _of("numel"), _of("numel")
    ndimension, dim, is_floating_point = _of("rank"), _of("rank"), _of("is_floating_point")

    fliplr, flipud, cross, argwhere = _of("fliplr"), _of("flipud"), _of("cross"), _of("nonzero")
    hsplit, vsplit, dsplit, diff, diagflat = _of("hsplit"), _of("vsplit"), _of("dsplit"), _of("diff"), _of("diagflat")
    msort, unsorted_segment_prod = _of("msort"), _of("unsorted_segment_prod")
    sum_to_size, reverse_sequence = _of("sum_to_size"), _of("reverse_sequence")

    # ---- in place: the tensor itself holds the result; a Parameter is assigned

    add_, sub_, mul_, div_ = _in_place("add"), _in_place("sub"), _in_place("mul"), _in_place("div")
    floor_divide_, remainder_ = _in_place("floor_div"), _in_place("floor_mod")
    exp_, log_, floor_, sign_ = _in_place("exp"), _in_place("log"), _in_place("floor"), _in_place("sign")
    sigmoid_, tanh_, clamp_, masked_fill_ = (_in_place(n) for n in ("sigmoid", "tanh", "clamp", "masked_fill"))
    fill_, zero_ = _in_place("full_like"), _in_place("zeros_like")

    # ---- with meanings of their own

    @property
    def T(self) -> Tensor:
        """The axes reversed."""
        return functions().transpose(self)  # type: ignore[no-any-return]

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return functions().swapaxes(self, -1, -2)  # type: ignore[no-any-return]

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
        """The sum over axes, in another dtype if given, plus `initial`. sum(axis, True) keeps the axes."""
        if isinstance(dtype, bool):
            dtype, keepdims = None, dtype
        f = functions()
        made = f.reduce_sum(self if dtype is None else f.cast(self, dtype), axis, keepdims)
        return made if initial is None else f.add(made, initial)  # type: ignore[no-any-return]

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        """Sums up to each element along an axis, of the flattened tensor by default."""
        f = functions()
        return f.cumsum(self if axis is not None else f.ravel(self), axis or 0, dtype)  # type: ignore[no-any-return]

    def max(
        self, *dim: Any, axis: Any = None, keepdims: bool = False, return_indices: bool = False, **more: Any
    ) -> Any:
        """The largest element over `axis`. max(1), with the axis by position, and return_indices add its places."""
        return self._extremum("max_", "amax", dim, axis, keepdims, return_indices, more)

    def min(
        self, *dim: Any, axis: Any = None, keepdims: bool = False, return_indices: bool = False, **more: Any
    ) -> Any:
        """The smallest element over `axis`. min(1), with the axis by position, and return_indices add its places."""
        return self._extremum("min_", "amin", dim, axis, keepdims, return_indices, more)

    def _extremum(
        self, both: str, alone: str, dim: Any, axis: Any, keep: bool, places: bool, more: dict[str, Any]
    ) -> Any:
        from graphc.ops.functional import extra_reduce

        if dim:
            axis, keep = dim[0], dim[1] if len(dim) > 1 else keep
            places = places or isinstance(axis, int)
        if places and axis is not None:
            return getattr(extra_reduce, both)(self, axis, keep, **more)
        return getattr(extra_reduce, alone)(self, axis, keep, **more)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """int64: the place of the first largest element along an axis, or in the flattened tensor."""
        from graphc.ops.functional.extra_reduce import argmax_

        return argmax_(self, axis, keepdims)  # type: ignore[arg-type]

    def argmax_with_value(self, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(values, int64 places) of the largest elements along an axis; the primitive ArgMaxWithValue gives places first."""
        return self._arg_with_value(axis, keep_dims, True)

    def argmin_with_value(self, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(values, int64 places) of the smallest elements along an axis."""
        return self._arg_with_value(axis, keep_dims, False)

    def _arg_with_value(self, axis: int, keep_dims: bool, largest: bool) -> tuple[Tensor, Tensor]:
        from graphc.ops.functional.extra_reduce import arg_with_value

        places, values = arg_with_value(self, axis, keep_dims, largest)  # type: ignore[arg-type]
        return values, functions().cast(places, "int64")

    def astype(self, dtype: Any, copy: bool = True) -> Tensor:
        """This tensor in another dtype."""
        return functions().cast(self, dtype)  # type: ignore[no-any-return]

    def to(self, dtype: Any) -> Tensor:
        """This tensor in another dtype."""
        return self.astype(dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in the dtype of another."""
        return self.astype(other.dtype)

    def float(self) -> Tensor:
        """This tensor in float32."""
        return self.astype("float32")

    def half(self) -> Tensor:
        """This tensor in float16."""
        return self.astype("float16")

    def bfloat16(self) -> Tensor:
        """This tensor in bfloat16."""
        return self.astype("bfloat16")

    def int(self) -> Tensor:
        """This tensor in int32."""
        return self.astype("int32")

    def long(self) -> Tensor:
        """This tensor in int64."""
        return self.astype("int64")

    def bool(self) -> Tensor:
        """This tensor in bool."""
        return self.astype("bool")

    def double(self) -> Tensor:
        """This tensor in float64, which compiled steps do not know."""
        return self.astype("float64")

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        return functions().reshape(self, functions().as_shape(shape))  # type: ignore[no-any-return]

    def view(self, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        return self.reshape(*shape)

    def view_as(self, other: Tensor) -> Tensor:
        """The same elements under the shape of another tensor."""
        return self.reshape(other.shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements under the shape of another tensor."""
        return self.reshape(other.shape)

    def resize(self, *shape: Any) -> Tensor:
        """Another shape: elements left out at the end, or zeros added."""
        import math

        f = functions()
        wanted = f.as_shape(shape)
        flat, count = f.ravel(self), math.prod(wanted)
        kept = f.getitem(flat, slice(0, count))
        if count > flat.size:
            kept = f.concat((kept, f.zeros((count - flat.size,), self.dtype)))
        return f.reshape(kept, wanted)  # type: ignore[no-any-return]

    def transpose(self, *perm: Any) -> Tensor:
        """Axes in another order; reversed by default."""
        return functions().transpose(self, *perm)  # type: ignore[no-any-return]

    def permute(self, *axis: Any) -> Tensor:
        """Axes in another order."""
        return functions().transpose(self, *axis)  # type: ignore[no-any-return]

    def flatten(self, order: str = "C", *, start_dim: Any = 0, end_dim: Any = -1) -> Tensor:
        """Axes from start_dim to end_dim as one; all by default."""
        if order not in ("C", "F"):
            raise ArgumentValueError(f"flatten: order must be 'C' or 'F', got {order!r}", loc=user_loc())
        x = self.T if order == "F" else self
        return functions().flatten(x, start_dim, end_dim)  # type: ignore[no-any-return]

    def expand(self, *size: Any) -> Tensor:
        """This tensor repeated to a shape; -1 keeps a size."""
        return functions().expand(self, functions().as_shape(size))  # type: ignore[no-any-return]

    def repeat(self, *repeats: Any, axis: Any = None) -> Tensor:
        """Every element (of an axis) as often as said, as NumPy's `repeat`."""
        count = repeats[0] if len(repeats) == 1 else list(repeats)
        return functions().repeat_interleave(self, count, axis)  # type: ignore[no-any-return]

    def split(self, split_size_or_sections: Any, axis: Any = 0) -> tuple[Tensor, ...]:
        """Pieces of a size, or of the given sizes, along an axis."""
        return functions().split(self, split_size_or_sections, axis)  # type: ignore[no-any-return]

    def gather(self, *args: Any, **kwargs: Any) -> Tensor:
        """gather(indices, axis): entries of an axis; gather(axis, index): elements at places along an axis."""
        f = functions()
        if "dim" in kwargs or (args and not hasattr(args[0], "asnumpy")):
            return f.gather_elements(self, *args, **kwargs)  # type: ignore[no-any-return]
        return f.gather(self, *args, **kwargs)  # type: ignore[no-any-return]

    def select(self, *args: Any) -> Tensor:
        """select(axis, index): one entry of an axis; select(condition, y): this where the condition holds, else y."""
        from graphc.ops.functional.extra_shape import select_at

        if len(args) == 2 and not hasattr(args[0], "asnumpy"):
            return select_at(self, *args)  # type: ignore[arg-type]
        return functions().select(args[0], self, *args[1:])  # type: ignore[no-any-return]

    def where(self, condition: Any, y: Any) -> Tensor:
        """This where the condition holds, else y."""
        return functions().select(condition, self, y)  # type: ignore[no-any-return]

    def index_add(self, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
        """A copy with entries of `source`, times alpha, added to those of an axis."""
        f = functions()
        return f.index_add(f.add(self, 0), index, source if alpha == 1 else f.mul(source, alpha), dim)  # type: ignore[no-any-return]

    def fill(self, value: Any) -> Tensor:
        """One number in this shape and dtype."""
        return functions().full_like(self, value)  # type: ignore[no-any-return]

    def new_zeros(self, size: Any, dtype: Any = None) -> Tensor:
        """Zeros of this dtype."""
        return functions().zeros(size, dtype or self.dtype)  # type: ignore[no-any-return]

    def new_ones(self, size: Any, dtype: Any = None) -> Tensor:
        """Ones of this dtype."""
        return functions().ones(size, dtype or self.dtype)  # type: ignore[no-any-return]

    def copy(self) -> Tensor:
        """A copy."""
        f = functions()
        return f.logical_or(self, False) if str(self.dtype) == "Bool" else f.add(self, 0)  # type: ignore[no-any-return]

    clone = contiguous = copy

    def choose(self, choices: Any, mode: str = "clip") -> Tensor:
        """Of tensors of one shape, for each element the one whose number this tensor holds."""
        f = functions()
        stacked = f.stack(list(choices))
        index = f.clamp(f.cast(self, "int32"), 0, stacked.shape[0] - 1)
        return f.squeeze(f.gather_elements(stacked, 0, f.expand_dims(index, 0)), 0)  # type: ignore[no-any-return]

    def itemset(self, *args: Any) -> Tensor:
        """A copy with one element replaced: itemset(index, value), with the index into the flattened tensor or a tuple."""
        from graphc.ops.functional.extra_index import updated

        if len(args) < 2:
            raise ArgumentTypeError("itemset takes an index and a value", loc=user_loc())
        index: Any = args[0] if len(args) == 2 else tuple(args[:-1])
        if isinstance(index, tuple) or self.ndim == 1:
            return updated(self, index, args[-1])  # type: ignore[arg-type]
        return updated(self.reshape(-1), index, args[-1]).reshape(self.shape)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """hook(gradient) on the way back; see `graphc.ops.custom_grad.register_hook`. Returns a handle with `remove()`."""
        from graphc.ops.custom_grad import register_hook

        return register_hook(self, hook)

    def assign_value(self, value: Any) -> Any:
        """This tensor, holding another's values."""
        from graphc.ops.functional.extra_index import write

        write(self, ..., value)  # type: ignore[arg-type]
        return self

    def new_full(self, size: Any, fill_value: Any, dtype: Any = None) -> Tensor:
        """One number in a shape, in this dtype."""
        return functions().full(size, fill_value, dtype=dtype or self.dtype)  # type: ignore[no-any-return]

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.asnumpy().tolist()  # type: ignore[attr-defined]

    @property
    def itemsize(self) -> Any:
        """Bytes of an element."""
        return self.type.numpy.itemsize  # type: ignore[attr-defined]

    @property
    def nbytes(self) -> Any:
        """Bytes of all elements."""
        return self.type.nbytes  # type: ignore[attr-defined]

    @property
    def strides(self) -> tuple[Any, ...]:
        """Bytes from one element to the next, per axis."""
        from graphc.ops.rules import contiguous_strides

        return tuple(s * self.itemsize for s in contiguous_strides(self.shape))

    @property
    def has_init(self) -> Any:
        """Whether the values are still to be made by an initializer: never."""
        return False

    def is_contiguous(self) -> Any:
        """Whether the elements lie in order: always."""
        return True
