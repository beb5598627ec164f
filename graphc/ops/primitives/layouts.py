"""Primitives of layouts and of bits: places of axes, numbers per axis, comparisons packed into bytes, repeated words."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops import functional as F
from graphc.ops.functional.core import Ints, Operand, call, greatest
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.scattering import with_elements
from graphc.ops.primitives.network import pair_of
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import exact_int

# ---- layouts


def _origin(owner: str, src_format: str, dst_format: str) -> list[int]:
    """For each axis of one layout where it stands in the other."""
    for name, value in (("src_format", src_format), ("dst_format", dst_format)):
        if value not in ("NHWC", "NCHW"):
            raise ArgumentValueError(f"{owner}: {name} must be 'NHWC' or 'NCHW', got {value!r}", loc=user_loc())
    return [src_format.index(axis) for axis in dst_format]


def _axis_of(input_x: Tensor, src_format: str, dst_format: str) -> Tensor:
    """For axes of the destination's layout their places in the source's; negative ones count from the end, in the shape of x."""
    table = _origin("DataFormatDimMap", src_format, dst_format)
    x = as_tensor(input_x, "DataFormatDimMap: input_x")
    if x.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"DataFormatDimMap: input_x is {x.tensor_type}, expected int32 or int64", loc=user_loc())
    places = F.floor_mod(x, 4)
    return call("Gather", Tensor(np.array(table, x.tensor_type.dtype)), places, axis=0)


def _permuted(input_x: Tensor, src_format: str, dst_format: str) -> Tensor:
    """Numbers per axis of one layout, [4] or [4, 2], in the order of another."""
    order = _origin("DataFormatVecPermute", src_format, dst_format)
    x = as_tensor(input_x, "DataFormatVecPermute: input_x")
    if x.shape not in ((4,), (4, 2)) or x.tensor_type.dtype not in ("int32", "int64"):
        raise ShapeError(
            f"DataFormatVecPermute: input_x is {x.tensor_type}, expected int32 or int64, [4] or [4, 2]", loc=user_loc()
        )
    return call("Gather", x, Tensor(np.array(order, np.int32)), axis=0)


DataFormatDimMap, DataFormatVecPermute = (
    declare(name, function, src_format="NHWC", dst_format="NCHW")
    for name, function in (("DataFormatDimMap", _axis_of), ("DataFormatVecPermute", _permuted))
)


def _one_behind_the_other(values: Any) -> Tensor:
    """Tensors of one shape [1, ...] and one dtype, stacked along the first axis."""
    owner = "ParallelConcat"
    if not isinstance(values, (tuple, list)) or not values:
        raise ArgumentTypeError(f"{owner}: values must be a tuple or list of tensors, got {values!r}", loc=user_loc())
    parts = [as_tensor(v, f"{owner}: values[{i}]") for i, v in enumerate(values)]
    for part in parts:
        if part.tensor_type != parts[0].tensor_type or part.shape[:1] != (1,):
            raise ShapeError(
                f"{owner}: a value is {part.tensor_type}, the first {parts[0].tensor_type}, expected one type whose first axis"
                " is 1",
                loc=user_loc(),
            )
    return F.concat(parts, 0)


ParallelConcat = declare("ParallelConcat", _one_behind_the_other)


def _depthwise(
    x: Tensor, w: Tensor, kernel_size: Ints, pad_mode: str, pad: Ints, stride: Ints, dilation: Ints
) -> Tensor:
    """Each channel of images [N, C, H, W] by a window of its own of w [1, C, kh, kw]."""
    owner = "DepthwiseConv2dNative"
    kernel = pair_of(owner, "kernel_size", kernel_size)
    if x.ndim != 4 or w.shape != (1, x.shape[1], *kernel):
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and w {w.tensor_type}, expected [N, C, H, W] and [1, C, {kernel[0]}, {kernel[1]}]",
            loc=user_loc(),
        )
    steps, spread = pair_of(owner, "stride", stride), pair_of(owner, "dilation", dilation)
    windows = F.transpose(w, (1, 0, 2, 3))
    return F.conv2d(x, windows, None, steps, pad_mode, pad, spread, x.shape[1])


DepthwiseConv2dNative = declare(
    "DepthwiseConv2dNative",
    _depthwise,
    channel_multiplier=Only(1),
    kernel_size=REQUIRED,
    mode=Only(3),
    pad_mode="valid",
    pad=0,
    stride=1,
    dilation=1,
    group=Only(1),
)

# ---- bits and words


def _bits(x: Tensor, threshold: Operand) -> Tensor:
    """uint8 [..., n / 8]: whether elements are above a number, eight in a byte, the first highest.

    Bools are taken as they are, the first lowest, as MindSpore has it.
    """
    owner = "CompareAndBitpack"
    x, bound = as_tensor(x, f"{owner}: x"), as_tensor(threshold, f"{owner}: threshold")
    if not x.ndim or x.shape[-1] % 8 or bound.ndim:
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and threshold {bound.tensor_type}, expected a last axis of a multiple of 8, and one"
            " number",
            loc=user_loc(),
        )
    if bound.tensor_type.dtype != x.tensor_type.dtype:
        raise DTypeError(
            f"{owner}: x is {x.tensor_type} and threshold {bound.tensor_type}, expected one dtype", loc=user_loc()
        )
    bits = x if x.tensor_type.dtype == "bool" else F.greater(x, bound)
    eights = F.reshape(F.cast(bits, "int32"), (*x.shape[:-1], x.shape[-1] // 8, 8))
    weights = Tensor(2 ** np.arange(8, dtype=np.int32)[:: 1 if bits is x else -1])
    return F.cast(F.reduce_sum(F.mul(eights, weights), -1), "uint8")


CompareAndBitpack = declare("CompareAndBitpack", _bits)


def _without_repeats(state_seq: Tensor, log_probs: Tensor, ngram_size: int) -> Tensor:
    """log_probs [batch, beams, words], the lowest number for words that would end a run of ngram_size that state_seq [batch,
    beams, m] has already.
    """
    owner = "NoRepeatNGram"
    exact_int(owner, "ngram_size", ngram_size)
    words, scores = state_seq.tensor_type, log_probs.tensor_type
    if words.rank != 3 or scores.rank != 3 or words.shape[:2] != scores.shape[:2]:
        raise ShapeError(
            f"{owner}: state_seq is {words} and log_probs {scores}, expected three axes, the first two alike",
            loc=user_loc(),
        )
    if words.dtype not in INTEGERS or not scores.is_float:
        raise DTypeError(
            f"{owner}: state_seq is {words} and log_probs {scores}, expected integers and floats", loc=user_loc()
        )
    length = words.shape[2]
    if not 0 < ngram_size <= length:
        raise ArgumentValueError(f"{owner}: ngram_size must be 1 to {length}, got {ngram_size}", loc=user_loc())
    count = length - ngram_size + 1
    again = F.ones((*words.shape[:2], count), "bool")
    for k in range(ngram_size - 1):
        last = state_seq[..., count + k : count + k + 1]
        again = F.logical_and(again, F.equal(state_seq[..., k : k + count], last))
    ends = F.cast(state_seq[..., ngram_size - 1 :], "int32")
    marks = with_elements("add", F.zeros(scores.shape, "int32"), 2, ends, F.cast(again, "int32"))
    return F.select(F.greater(marks, 0), -greatest(scores.dtype), log_probs)


NoRepeatNGram = declare("NoRepeatNGram", _without_repeats, ngram_size=1)


def _accidental_hits(true_classes: Tensor, sampled_candidates: Tensor, num_true: int) -> tuple[Tensor, Tensor, Tensor]:
    """(int32: rows of true_classes [batch, num_true], int64: places of their classes in sampled_candidates, float32:
    the lowest number for each), row by row. Not in a compiled Cell, as their number depends on the values.
    """
    owner = "ComputeAccidentalHits"
    true, sampled = (as_tensor(x, owner).tensor_type for x in (true_classes, sampled_candidates))
    if true.rank != 2 or true.shape[1] != num_true or sampled.rank != 1:
        raise ShapeError(
            f"{owner}: true_classes are {true} and sampled_candidates {sampled}, expected [batch, {num_true}] and [n]",
            loc=user_loc(),
        )
    if not {true.dtype, sampled.dtype} <= {"int32", "int64"}:
        raise DTypeError(
            f"{owner}: true_classes are {true} and sampled_candidates {sampled}, expected int32 or int64",
            loc=user_loc(),
        )
    classes, candidates = (known_values(owner, x) for x in (true_classes, sampled_candidates))
    rows, _, places = np.nonzero(classes[:, :, None] == candidates)
    weights = np.full(rows.size, np.finfo(np.float32).min, np.float32)
    return Tensor(rows.astype(np.int32)), Tensor(places.astype(np.int64)), Tensor(weights)


ComputeAccidentalHits = declare("ComputeAccidentalHits", _accidental_hits, num_true=1)
