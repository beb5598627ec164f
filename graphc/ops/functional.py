"""The ops as functions, with MindSpore's names, promotion of operands and defaults.

They work on Tensors at once (by the NumPy reference), and record nodes while a Cell is traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from typing import cast as _typed

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import FLOATS, numpy_dtype
from graphc.ops import dispatch
from graphc.ops.dtype import promote, promote_scalar, to_name
from graphc.ops.rules import normalize_axes
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Parameter, Tensor, as_tensor

Axis = int | Sequence[int] | None
Number = bool | int | float
Operand = Tensor | Number


def _call(op: str, *operands: Tensor, **attrs: Any) -> Tensor:
    return _typed(Tensor, dispatch.call(op, *operands, **attrs))


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, np.generic))


def _number(x: Any, dtype: str) -> Tensor:
    """A Python number as a 0-d tensor of a dtype."""
    return Tensor.wrap(np.asarray(x, numpy_dtype(dtype)))


def _pair(op: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of the dtype in which MindSpore computes them."""
    if _is_number(x) and _is_number(y):
        x = as_tensor(x)
    if _is_number(x):
        second, first = _pair(op, y, x)
        return first, second
    x = as_tensor(x, f"{op}: x")
    if _is_number(y):
        y = y.item() if isinstance(y, np.generic) else y
        dtype = promote_scalar(x.type.dtype, y)
        return cast_to(x, dtype), _number(y, dtype)
    y = as_tensor(y, f"{op}: y")
    dtype = promote(op, x.type.dtype, y.type.dtype)
    return cast_to(x, dtype), cast_to(y, dtype)


def cast_to(x: Tensor, dtype: str) -> Tensor:
    """x in the dtype named as in the IR; x itself if it has it."""
    if x.type.dtype == dtype:
        return x
    return _call("Cast", x, dtype=dtype)


def cast(input: Operand, dtype: Any) -> Tensor:
    """input in another dtype."""
    return cast_to(as_tensor(input), to_name(dtype))


# ---- elementwise


def _unary(op: str, integers: bool = False) -> Callable[[Operand], Tensor]:
    def function(x: Operand) -> Tensor:
        tensor = as_tensor(x, f"{op}: x")
        if not integers and tensor.type.dtype not in FLOATS:
            raise DTypeError(
                f"{op}: x is {tensor.type}, expected a float tensor",
                loc=user_loc(),
                help="ops.cast(x, graphc.float32)",
            )
        return _call(op, tensor)

    function.__name__ = op.lower()
    function.__doc__ = f"Elementwise {op}."
    return function


neg, abs_, sign, square, relu = (_unary(n, True) for n in ("Neg", "Abs", "Sign", "Square", "ReLU"))
exp, log, sqrt, rsqrt, reciprocal = (_unary(n) for n in ("Exp", "Log", "Sqrt", "Rsqrt", "Reciprocal"))
tanh, sigmoid, erf, floor = (_unary(n) for n in ("Tanh", "Sigmoid", "Erf", "Floor"))
isfinite = _unary("IsFinite")


def _binary(op: str) -> Callable[[Operand, Operand], Tensor]:
    def function(x: Operand, y: Operand) -> Tensor:
        return _call(op, *_pair(op, x, y))

    function.__name__ = op.lower()
    function.__doc__ = f"Elementwise {op} with broadcasting."
    return function


add, sub, mul = (_binary(n) for n in ("Add", "Sub", "Mul"))
floor_div, floor_mod, pow_ = (_binary(n) for n in ("FloorDiv", "FloorMod", "Pow"))
maximum, minimum = _binary("Maximum"), _binary("Minimum")
less, less_equal, greater, greater_equal = (_binary(n) for n in ("Less", "LessEqual", "Greater", "GreaterEqual"))


def div(x: Operand, y: Operand) -> Tensor:
    """x / y; two integer tensors give float32."""
    a, b = as_tensor(x), as_tensor(y)
    if a.type.dtype not in FLOATS and b.type.dtype not in FLOATS:
        return _call("Div", cast_to(a, "float32"), cast_to(b, "float32"))
    return _call("Div", *_pair("Div", x, y))


def _equality(op: str) -> Callable[[Operand, Operand], Tensor]:
    def function(x: Operand, y: Operand) -> Tensor:
        a, b = as_tensor(x), as_tensor(y)
        if a.type.dtype == b.type.dtype == "bool":
            return _call(op, a, b)
        return _call(op, *_pair(op, x, y))

    function.__name__ = op.lower()
    function.__doc__ = f"Elementwise {op} with broadcasting."
    return function


equal, not_equal = _equality("Equal"), _equality("NotEqual")


def _as_bool(x: Operand) -> Tensor:
    return cast_to(as_tensor(x), "bool")


def logical_not(x: Operand) -> Tensor:
    """not x."""
    return _call("LogicalNot", _as_bool(x))


def logical_and(x: Operand, y: Operand) -> Tensor:
    """x and y, elementwise."""
    return _call("LogicalAnd", _as_bool(x), _as_bool(y))


def logical_or(x: Operand, y: Operand) -> Tensor:
    """x or y, elementwise."""
    return _call("LogicalOr", _as_bool(x), _as_bool(y))


def select(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """x where the condition holds, else y, elementwise with broadcasting."""
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.type.dtype == y.type.dtype:
        return _call("Select", _as_bool(condition), x, y)
    return _call("Select", _as_bool(condition), *_pair("Select", x, y))


where = select


def clip_by_value(x: Tensor, clip_value_min: Operand | None = None, clip_value_max: Operand | None = None) -> Tensor:
    """x held between two bounds; NaN stays NaN."""
    if clip_value_min is None and clip_value_max is None:
        raise ArgumentValueError("clip_by_value needs a lower or an upper bound", loc=user_loc())
    if clip_value_min is not None:
        x = maximum(x, clip_value_min)
    if clip_value_max is not None:
        x = minimum(x, clip_value_max)
    return x


def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """input_x plus one number per channel (axis 1)."""
    return _call("BiasAdd", input_x, bias)


def fill(type: Any, shape: Sequence[int], value: Number) -> Tensor:
    """A tensor filled with one number."""
    return _call("Fill", dtype=to_name(type), shape=tuple(shape), value=value)


def full(size: Sequence[int], fill_value: Number, *, dtype: Any = None) -> Tensor:
    """A tensor filled with one number; its dtype is the number's unless given."""
    return fill(dtype if dtype is not None else type(fill_value), size, fill_value)


def zeros(shape: int | Sequence[int], dtype: Any = "float32") -> Tensor:
    return fill(dtype, (shape,) if isinstance(shape, int) else shape, 0)


def ones(shape: int | Sequence[int], dtype: Any = "float32") -> Tensor:
    return fill(dtype, (shape,) if isinstance(shape, int) else shape, 1)


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    return fill(dtype or x.dtype, x.shape, 0)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    return fill(dtype or x.dtype, x.shape, 1)


# ---- reductions


def _reduction(op: str, x: Tensor, axis: Axis, keep_dims: bool) -> Tensor:
    axes = normalize_axes(op, axis, x.ndim)
    return _call(op, x, axis=axes, keep_dims=bool(keep_dims))


def reduce_sum(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Sum over axes (all by default); bool tensors are counted in int64."""
    return _reduction("ReduceSum", cast_to(x, "int64") if x.type.dtype == "bool" else x, axis, keep_dims)


def reduce_mean(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Mean over axes (all by default)."""
    return _reduction("ReduceMean", x, axis, keep_dims)


def reduce_max(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Largest element over axes (all by default)."""
    return _reduction("ReduceMax", x, axis, keep_dims)


def reduce_min(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Smallest element over axes (all by default)."""
    return _reduction("ReduceMin", x, axis, keep_dims)


def reduce_all(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Logical and over axes (all by default)."""
    return _reduction("ReduceAll", _as_bool(x), axis, keep_dims)


def reduce_any(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Logical or over axes (all by default)."""
    return _reduction("ReduceAny", _as_bool(x), axis, keep_dims)


sum_, mean, all_, any_ = reduce_sum, reduce_mean, reduce_all, reduce_any


def argmax(x: Tensor, axis: int = -1, output_type: Any = "int32") -> Tensor:
    """Index of the first largest element along an axis."""
    return _call("Argmax", x, axis=check_axis("Argmax", axis, x.ndim), dtype=to_name(output_type))


# ---- shape


def as_shape(shape: Sequence[Any]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    for d in shape:
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)):
            raise ArgumentTypeError(f"a shape consists of integers, got {d!r}", loc=user_loc())
    return tuple(int(d) for d in shape)


def reshape(x: Tensor, shape: Sequence[int] | int) -> Tensor:
    """The same elements under another shape; one size may be -1."""
    wanted = as_shape(shape if isinstance(shape, (tuple, list)) else (shape,))
    if wanted.count(-1) == 1:
        known = -math.prod(wanted)
        if known == 0 or x.size % known:
            raise ShapeError(f"Reshape: {x.type} cannot be divided into shape {wanted}", code="GC103", loc=user_loc())
        wanted = tuple(x.size // known if d == -1 else d for d in wanted)
    return x if wanted == x.shape else _call("Reshape", x, shape=wanted)


def transpose(x: Tensor, *perm: Any) -> Tensor:
    """Axes in another order; reversed by default."""
    wanted = as_shape(perm) if perm and perm != (None,) else tuple(range(x.ndim))[::-1]
    return _call("Transpose", x, perm=tuple(p % x.ndim if -x.ndim <= p < x.ndim else p for p in wanted))


def swapaxes(x: Tensor, axis0: int, axis1: int) -> Tensor:
    perm = list(range(x.ndim))
    a, b = check_axis("swapaxes", axis0, x.ndim), check_axis("swapaxes", axis1, x.ndim)
    perm[a], perm[b] = perm[b], perm[a]
    return _call("Transpose", x, perm=tuple(perm))


def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """x repeated to a shape; -1 keeps the size of x."""
    wanted = as_shape(shape)
    lead = len(wanted) - x.ndim
    wanted = tuple(x.shape[i - lead] if d == -1 and i >= lead else d for i, d in enumerate(wanted))
    return _call("BroadcastTo", x, shape=wanted)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """x with a new axis of size 1."""
    at = check_axis("expand_dims", axis, x.ndim + 1)
    return _call("Reshape", x, shape=(*x.shape[:at], 1, *x.shape[at:]))


def squeeze(x: Tensor, axis: Axis = None) -> Tensor:
    """x without axes of size 1."""
    axes = normalize_axes("squeeze", axis, x.ndim) if axis is not None else [i for i, d in enumerate(x.shape) if d == 1]
    if any(x.shape[a] != 1 for a in axes):
        raise ArgumentValueError(
            f"squeeze: {x.type} has an axis among {tuple(axes)} whose size is not 1", loc=user_loc()
        )
    return _call("Reshape", x, shape=tuple(d for i, d in enumerate(x.shape) if i not in axes))


def flatten(x: Tensor, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Axes from start_dim to end_dim as one; the first axis is kept by default."""
    a, b = check_axis("flatten", start_dim, max(x.ndim, 2)), check_axis("flatten", end_dim, max(x.ndim, 2))
    return reshape(x, (*x.shape[:a], math.prod(x.shape[a : b + 1]), *x.shape[b + 1 :]))


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis."""
    if not tensors:
        raise ArgumentValueError("concat needs at least one tensor", loc=user_loc())
    return _call("Concat", *tensors, axis=check_axis("concat", axis, tensors[0].ndim))


cat = concat


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    return concat([expand_dims(x, axis) for x in tensors], axis)


def split(x: Tensor, split_size_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a size (the last may be smaller), or of the given sizes, along an axis."""
    at = check_axis("split", axis, x.ndim)
    total = x.shape[at]
    if isinstance(split_size_or_sections, int):
        each = split_size_or_sections
        if each < 1:
            raise ArgumentValueError(f"split: the size of a piece must be positive, got {each}", loc=user_loc())
        sizes = [min(each, total - i) for i in range(0, total, each)]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != total:
            raise ArgumentValueError(f"split: sizes {sizes} do not add up to {total} of {x.type}", loc=user_loc())
    pieces, start = [], 0
    for size in sizes:
        begin = tuple(start if i == at else 0 for i in range(x.ndim))
        shape = tuple(size if i == at else d for i, d in enumerate(x.shape))
        pieces.append(_call("Slice", x, begin=begin, size=shape, step=(1,) * x.ndim))
        start += size
    return tuple(pieces)


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[index] for integers, slices, `...`, None and one integer tensor (rows)."""
    if isinstance(index, Tensor):
        return gather(x, index, 0)
    items = list(index) if isinstance(index, tuple) else [index]
    if items.count(Ellipsis) > 1:
        raise ArgumentValueError("an index may hold one `...` only", loc=user_loc())
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if used > x.ndim:
        raise ArgumentValueError(f"too many indices ({used}) for {x.type}", loc=user_loc())
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    begin, size, step, shape = [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            start, stop, by = item.indices(extent)
            count = len(range(start, stop, by))
            shape.append(count)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            if not -extent <= item < extent:
                # IndexError ends Python's own iteration protocol.
                raise IndexError(f"index {item} is out of range for axis {axis} of {x.type}")
            start, count, by = int(item) % extent, 1, 1
        else:
            raise ArgumentTypeError(f"cannot index a tensor with {type(item).__name__}", loc=user_loc())
        begin.append(start if count else 0)
        size.append(count)
        step.append(by)
        axis += 1
    if tuple(size) != x.shape or any(s != 1 for s in step):
        x = _call("Slice", x, begin=tuple(begin), size=tuple(size), step=tuple(step))
    return reshape(x, tuple(shape))


def gather(input_params: Tensor, input_indices: Tensor, axis: int = 0) -> Tensor:
    """Rows at the indices along an axis; an index out of range gives zeros."""
    return _call("Gather", input_params, as_tensor(input_indices), axis=check_axis("gather", axis, input_params.ndim))


def one_hot(
    indices: Tensor, depth: int, on_value: Number = 1.0, off_value: Number = 0.0, dtype: Any = "float32"
) -> Tensor:
    """on_value at the index along a new last axis, off_value elsewhere."""
    return _call("OneHot", indices, depth=depth, on=on_value, off=off_value, dtype=to_name(dtype))


def pad(x: Tensor, paddings: Sequence[Sequence[int]], value: Number = 0.0) -> Tensor:
    """x with (before, after) more elements per axis."""
    return _call("Pad", x, paddings=tuple((int(a), int(b)) for a, b in paddings), value=value)


# ---- linear algebra, images, losses


def matmul(x: Tensor, y: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product; leading axes are broadcast, and vectors are treated as NumPy does."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"matmul: operands are {x.type} and {y.type}, expected at least one axis", loc=user_loc())
    if x.ndim == 1 or y.ndim == 1:
        a = expand_dims(x, 0) if x.ndim == 1 else x
        b = expand_dims(y, 1) if y.ndim == 1 else y
        product = matmul(a, b, transpose_a and x.ndim > 1, transpose_b and y.ndim > 1)
        shape = product.shape
        if y.ndim == 1:
            shape = shape[:-1]
        if x.ndim == 1:
            shape = (*shape[: product.ndim - 2], *shape[product.ndim - 1 :])
        return reshape(product, shape)
    flags = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    if x.ndim == y.ndim == 2:
        return _call("MatMul", x, y, **flags)
    if y.ndim == 2 and not transpose_a:
        # One product for all leading indices.
        product = _call("MatMul", reshape(x, (-1, x.shape[-1])), y, **flags)
        return reshape(product, (*x.shape[:-1], product.shape[-1]))
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = x if x.shape[:-2] == lead else broadcast_to(x, (*lead, *x.shape[-2:]))
    y = y if y.shape[:-2] == lead else broadcast_to(y, (*lead, *y.shape[-2:]))
    return _call("BatchMatMul", x, y, **flags)


def conv2d(
    x: Tensor,
    weight: Tensor,
    pad: Sequence[int] = (0, 0, 0, 0),
    stride: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
) -> Tensor:
    """Cross-correlation of [N,C,H,W] with [out,in,kh,kw]; pad is (top, bottom, left, right)."""
    return _call("Conv2D", x, weight, pad=tuple(pad), stride=tuple(stride), dilation=tuple(dilation))


def max_pool2d(x: Tensor, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int] = (0, 0, 0, 0)) -> Tensor:
    """Largest pixel of each window."""
    return _call("MaxPool", x, kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))


def avg_pool2d(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int] = (0, 0, 0, 0),
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window."""
    attrs = {"kernel": tuple(kernel), "stride": tuple(stride), "pad": tuple(pad)}
    return _call("AvgPool", x, **attrs, count_include_pad=bool(count_include_pad))


def _over_last(op: str, x: Tensor, axis: int) -> Tensor:
    at = check_axis(op, axis, x.ndim)
    if at == x.ndim - 1:
        return _call(op, x)
    return swapaxes(_call(op, swapaxes(x, at, -1)), at, -1)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) / sum exp(x) along an axis."""
    return _over_last("Softmax", x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """log of softmax along an axis."""
    return _over_last("LogSoftmax", x, axis)


def softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(loss per row, its gradient for the logits) with labels that are probabilities."""
    return cast_pair(dispatch.call("SoftmaxCrossEntropyWithLogits", logits, labels))


def sparse_softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(loss per row, its gradient for the logits) with labels that are class numbers."""
    return cast_pair(dispatch.call("SparseSoftmaxCrossEntropyWithLogits", logits, labels))


def cast_pair(results: Any) -> tuple[Tensor, Tensor]:
    first, second = results
    return first, second


# ---- state, order, float status


def assign(variable: Parameter, value: Operand) -> Tensor:
    """Write `value` into a parameter, cast to its dtype (float64 is refused); returns the new value."""
    if not isinstance(variable, Parameter):
        raise ArgumentTypeError(f"assign needs a Parameter, got {type(variable).__name__}", loc=user_loc())
    tensor = _number(value, variable.type.dtype) if _is_number(value) else as_tensor(value)
    if tensor.type.dtype == "float64" and variable.type.dtype != "float64":
        raise DTypeError(
            f"assign: a float64 value cannot go into parameter {variable.name!r}, which is {variable.type}",
            loc=user_loc(),
        )
    if tensor.shape != variable.shape and tensor.size == variable.size == 1:
        tensor = reshape(tensor, variable.shape)
    tensor = cast_to(tensor, variable.type.dtype)
    active = dispatch.recorder.get()
    if active is not None:
        return active.assign(variable, tensor)
    if tensor.shape != variable.shape:
        raise ShapeError(
            f"assign: the value is {tensor.type}, parameter {variable.name!r} is {variable.type}",
            loc=user_loc(),
        )
    variable.set_data(tensor)
    return variable


def assign_add(variable: Parameter, value: Operand) -> Tensor:
    """variable += value."""
    return assign(variable, add(variable, value))


def assign_sub(variable: Parameter, value: Operand) -> Tensor:
    """variable -= value."""
    return assign(variable, sub(variable, value))


def depend(value: Any, expr: Any) -> Any:
    """`value`, but not before everything in `expr` has been computed."""
    active = dispatch.recorder.get()
    return value if active is None else active.depend(value, expr)


def stop_gradient(value: Tensor) -> Tensor:
    """`value` as a constant of differentiation."""
    return _call("StopGradient", as_tensor(value))


def clear_float_status(after: Any = ()) -> Tensor:
    """A cleared float status (int32[8]), made after everything in `after`."""
    active = dispatch.recorder.get()
    if active is None:
        return _call("ClearFloatStatus")
    return active.record("ClearFloatStatus", (), {}, after=after)[0]


def get_float_status(status: Tensor, outputs: Sequence[Tensor]) -> Tensor:
    """bool: the status is set or any element of `outputs` is infinite or NaN."""
    return _call("GetFloatStatus", status, *outputs)


def all_finite(inputs: Sequence[Tensor]) -> Tensor:
    """bool: every element of every tensor is finite."""
    return _call("AllFinite", *inputs)


def cond(pred: Operand, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """true_fn(*operands) or false_fn(*operands), by a bool of one element. Only the chosen one runs.

    Both must return the same structure, dtypes and shapes. A Python bool is decided at once.
    """
    if not isinstance(pred, Tensor):
        return true_fn(*operands) if pred else false_fn(*operands)
    if pred.size != 1:
        raise ArgumentValueError(f"the condition of ops.cond is {pred.type}, expected one element", loc=user_loc())
    active = dispatch.recorder.get()
    if active is None or pred.array is not None:
        return true_fn(*operands) if bool(pred) else false_fn(*operands)
    return active.cond(reshape(_as_bool(pred), ()), true_fn, false_fn, operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], *carried: Any) -> Any:
    """`while cond_fn(*carried): carried = body_fn(*carried)`; returns the carried values, alone if there is one.

    Carried values are tensors or nests of tensors that keep their shapes and dtypes. Forward only: a loop whose number of
    turns depends on data has no gradient; `fori_loop` with fixed bounds has.
    """

    def body(*values: Any) -> tuple[Any, ...]:
        made = body_fn(*values)
        return made if len(values) > 1 else (made,)

    active = dispatch.recorder.get()
    state = tuple(_numbers_as_tensors(x) for x in carried)
    if active is not None:
        state = active.while_loop(cond_fn, body, state)
    else:
        while bool(cond_fn(*state)):
            state = body(*state)
    return state if len(state) > 1 else state[0]


def _numbers_as_tensors(x: Any) -> Any:
    return as_tensor(x) if _is_number(x) else x


def fori_loop(lower: int, upper: int, body_fn: Callable[[int, Any], Any], init_val: Any) -> Any:
    """`for i in range(lower, upper): val = body_fn(i, val)`, with bounds known at compile time; has gradients."""
    if not isinstance(lower, int) or not isinstance(upper, int):
        raise ArgumentTypeError(
            "fori_loop: the bounds must be Python integers", loc=user_loc(), help="ops.while_loop takes bounds that are tensors"
        )
    value = init_val
    for i in range(lower, upper):
        value = body_fn(i, value)
    return value


def scan(loop_func: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Tensor, length: int | None = None) -> Any:
    """carry, y = loop_func(carry, xs[i]) along axis 0; returns the last carry and the ys stacked. Has gradients."""
    count = len(xs) if length is None else length
    if count > len(xs):
        raise ArgumentValueError(f"scan: length {length} is more than xs has: {xs.type}", loc=user_loc())
    carry, ys = init, []
    for i in range(count):
        carry, y = loop_func(carry, xs[i])
        ys.append(y)
    return carry, stack(ys)
