"""How often, and what of each kind: histograms, counts, segments, confusion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div, truncate_div
from graphc.ops.functional.bounds import as_index
from graphc.ops.functional.core import cast, cast_to
from graphc.ops.functional.create import ones, zeros
from graphc.ops.functional.dynamic import known_number, known_values
from graphc.ops.functional.elementwise import (
    add,
    equal,
    floor,
    greater_equal,
    less,
    less_equal,
    logical_and,
    maximum,
    minimum,
    mul,
    sub,
)
from graphc.ops.functional.index import scattered
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_all, reduce_max, reduce_min
from graphc.ops.functional.require import require
from graphc.ops.functional.scattering import segment, unsorted_segment_prod
from graphc.ops.functional.shapes import reshape
from graphc.ops.functional.slicing import gather
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import exact_int

# ---- histograms


@method()
def histc(input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """[bins]: how many elements lie in each of the bins of equal width from min to max, in the input's dtype, of halves in
    float32 (MindSpore: ops.histc).

    Elements outside, and NaN, are left out; what is max counts in the last bin. If min and max are equal the bounds are
    those of the elements; bounds that are equal then are moved apart by 1 each way. Raises DTypeError, ArgumentTypeError,
    ArgumentValueError, for elements that are not finite and give the bounds in a compiled step when it has run.
    """
    _bins("histc", bins)
    if input.tensor_type.dtype == "bool":
        raise DTypeError(f"histc: input is {input.tensor_type}, expected numbers", loc=user_loc())
    if not min <= max or not (math.isfinite(min) and math.isfinite(max)):
        raise ArgumentValueError(f"histc: min is {min} and max is {max}", loc=user_loc())
    if not input.size:
        return zeros((bins,), input.dtype)
    x = stop_gradient(cast_to(reshape(input, (-1,)), "float32" if _narrow(input) else "float64"))
    low, high = Tensor(np.asarray(min, x.tensor_type.numpy)), Tensor(np.asarray(max, x.tensor_type.numpy))
    if min == max:
        low, high = reduce_min(x), reduce_max(x)
        finite = logical_and(less(high, math.inf), less(-math.inf, low))
        require(finite, "histc: elements that are not finite give no bounds")
    same = equal(low, high)
    low, high = select(same, sub(low, 1.0), low), select(same, add(high, 1.0), high)
    inside = logical_and(greater_equal(x, low), less_equal(x, high))
    place = floor(mul(div(sub(x, low), sub(high, low)), float(bins)))
    halves = input.tensor_type.dtype in ("float16", "bfloat16")
    return cast(_counted(place, inside, bins), "float32" if halves else input.dtype)


def _narrow(x: Tensor) -> bool:
    return x.tensor_type.dtype in ("float16", "bfloat16", "float32", "int8", "int16", "uint8")


def _bins(owner: str, bins: Any) -> None:
    exact_int(owner, "the number of bins", bins)
    if bins < 1:
        raise ArgumentValueError(f"{owner}: the number of bins must be at least 1, got {bins}", loc=user_loc())


def _counted(place: Tensor, inside: Tensor, bins: int) -> Tensor:
    """int32 [bins]: how many places there are of each number, those beyond the ends counted at them."""
    bounded = minimum(maximum(select(inside, place, 0.0), 0.0), float(bins - 1))
    return scattered("add", zeros((bins,), "int32"), cast_to(bounded, "int32"), cast_to(inside, "int32"))


def histogram_fixed_width(x: Tensor, range: Tensor, nbins: int, dtype: Any = "int32") -> Tensor:
    """[nbins]: how many elements lie in each of the bins of equal width from range[0] to range[1]; those beyond count in the
    outer bins. range: [2], of the dtype of x, the first the smaller one, else an error, in a compiled step when it has run.
    """
    _bins("HistogramFixedWidth", nbins)
    if to_name(dtype) not in ("int32", "int64"):
        raise ArgumentTypeError(f"HistogramFixedWidth: dtype must be int32 or int64, got {dtype!r}", loc=user_loc())
    if range.shape != (2,) or range.tensor_type.dtype != x.tensor_type.dtype:
        raise ShapeError(
            f"HistogramFixedWidth: range is {range.tensor_type}, expected [2] of {x.tensor_type.dtype}", loc=user_loc()
        )
    wide, ends = (cast_to(stop_gradient(t), "float32" if _narrow(x) else "float64") for t in (reshape(x, (-1,)), range))
    low, high = gather(ends, Tensor(np.int32(0)), 0), gather(ends, Tensor(np.int32(1)), 0)
    require(less(low, high), "HistogramFixedWidth: range[0] must be less than range[1]")
    place = floor(mul(div(sub(wide, low), sub(high, low)), float(nbins)))
    return cast(_counted(place, equal(wide, wide), nbins), dtype)


# ---- counts


@method()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """[max(largest + 1, minlength)]: how often each number is there, or the sum of its weights (MindSpore: ops.bincount).

    input: integers [n], not negative. weights: [n]. The result is float32, float64 for float64 weights. Not in a compiled
    Cell, where input is not known. Raises DTypeError, ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    if input.tensor_type.is_float or input.tensor_type.dtype == "bool":
        raise DTypeError(f"bincount: input is {input.tensor_type}, expected integers", loc=user_loc())
    if input.ndim != 1 or (weights is not None and weights.shape != input.shape):
        given = "" if weights is None else f", weights are {weights.tensor_type}"
        raise ShapeError(f"bincount: input is {input.tensor_type}{given}, expected one axis", loc=user_loc())
    exact_int("bincount", "minlength", minlength)
    array = known_values("bincount", input)
    if minlength < 0 or (array.size and array.min() < 0):
        raise ArgumentValueError("bincount: input and minlength must not be negative", loc=user_loc())
    size = max(int(array.max()) + 1 if array.size else 0, minlength)
    dtype = "float64" if weights is not None and weights.tensor_type.dtype == "float64" else "float32"
    heavy = ones(input.shape, dtype) if weights is None else cast_to(weights, dtype)
    return scattered("add", zeros((size,), dtype), as_index(input), heavy)


def bincount_of_size(array: Tensor, size: Tensor, weights: Tensor) -> Tensor:
    """[size]: the sums of the weights of each number below size, in their dtype; weights [0] are all 1."""
    count = known_number("Bincount", as_tensor(size))
    flat = reshape(as_index(array), (-1,))
    heavy = reshape(weights, (-1,)) if weights.size or not flat.size else ones(flat.shape, weights.dtype)
    low = reduce_all(greater_equal(flat, 0))
    require(low, "Bincount: the numbers must not be negative")
    return scattered("add", zeros((count,), weights.dtype), flat, heavy)


def confusion_matrix(
    labels: Tensor, predictions: Tensor, weights: Tensor | None = None, *, num_classes: int, dtype: Any = "int32"
) -> Tensor:
    """[num_classes, num_classes]: how often a label (row) was predicted (column), or the sum of weights.

    labels, predictions, weights: [n]. Raises ShapeError, DTypeError; for classes out of range in a compiled step when it has run.
    """
    _bins("ConfusionMatrix", num_classes)
    for each in (labels, predictions):
        if each.tensor_type.is_float or each.ndim != 1 or each.shape != labels.shape:
            raise ShapeError(
                f"ConfusionMatrix: expected integers [n], got {labels.tensor_type}, {predictions.tensor_type}",
                loc=user_loc(),
            )
        classes = logical_and(greater_equal(each, 0), less(each, num_classes))
        require(reduce_all(classes), f"ConfusionMatrix: classes must lie in 0 .. {num_classes - 1}")
    name = to_name(dtype)
    place = add(mul(as_index(labels), num_classes), as_index(predictions))
    heavy = ones(labels.shape, name) if weights is None else cast_to(weights, name)
    flat = scattered("add", zeros((num_classes * num_classes,), name), place, heavy)
    return reshape(flat, (num_classes, num_classes))


# ---- segments


def segment_rows(mode: str, input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """[last id + 1, ...]: rows combined by segment: "add", "mean", "max", "min", "mul". Segments without rows are 0, with
    "mul" 1.

    segment_ids: integers [rows] in ascending order, not negative, known where a Cell is compiled. Means of integers are
    truncated. Raises ShapeError, DTypeError, ArgumentValueError.
    """
    if segment_ids.tensor_type.is_float or segment_ids.ndim != 1 or input_x.shape[:1] != segment_ids.shape:
        raise ShapeError(
            f"segment_ids are {segment_ids.tensor_type} for {input_x.tensor_type}, expected an integer per row",
            loc=user_loc(),
        )
    ids = known_values("a segment op", segment_ids)
    if ids.size and (ids[0] < 0 or np.any(np.diff(ids) < 0)):
        raise ArgumentValueError("segment_ids must be in ascending order, and not negative", loc=user_loc())
    count = int(ids[-1]) + 1 if ids.size else 0
    if mode == "mul":
        return unsorted_segment_prod(input_x, as_index(segment_ids), count)
    made = segment("add" if mode == "mean" else mode, input_x, segment_ids, count, finite=False)
    often = np.bincount(ids, minlength=count).reshape(-1, *(1,) * (input_x.ndim - 1))
    if mode == "mean":
        rows = Tensor(np.maximum(often, 1).astype(input_x.tensor_type.numpy))
        return div(made, rows) if input_x.tensor_type.is_float else truncate_div(made, rows)
    return made if mode == "add" else select(Tensor(np.broadcast_to(often > 0, made.shape)), made, 0)


def sparse_segment_mean(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
    """The means of rows of x at indices, by segment; 0 for segments without (MindSpore: ops.sparse_segment_mean).

    indices, segment_ids: integers [n], the latter as in `segment_rows`. Raises ShapeError, ArgumentValueError for indices out of
    range, in a compiled step when it has run.
    """
    if indices.shape != segment_ids.shape:
        raise ShapeError(
            f"sparse_segment_mean: indices {indices.tensor_type}, ids {segment_ids.tensor_type}", loc=user_loc()
        )
    rows = logical_and(greater_equal(indices, 0), less(indices, x.shape[0]))
    require(reduce_all(rows), f"sparse_segment_mean: indices must lie in 0 .. {x.shape[0] - 1}")
    return segment_rows("mean", gather(x, as_index(indices), 0), segment_ids)


__all__ = [
    "bincount",
    "histc",
    "sparse_segment_mean",
]
