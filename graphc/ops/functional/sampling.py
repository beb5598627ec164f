"""Draws of indices by probability.

Each draw is a race of exponential clocks: clock i rings after E_i / p_i, and the first to ring is drawn; the first k to ring
are k draws without replacement (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). An index of
probability zero never rings.
"""

from __future__ import annotations

import math
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import cast
from graphc.ops.functional.elementwise import (
    exp,
    greater,
    greater_equal,
    isnan,
    less,
    log,
    logical_and,
    logical_not,
    neg,
    sub,
)
from graphc.ops.functional.extrema import place
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import uniform_from
from graphc.ops.functional.reduce import reduce_all, reduce_any, reduce_max, reduce_sum
from graphc.ops.functional.require import require
from graphc.ops.functional.shapes import expand_dims
from graphc.ops.functional.sorting import ordered
from graphc.ops.tensor.dtype import int64, to_name
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int


def _first_to_ring(p: Tensor, count: int, state: Parameter, replacement: bool) -> Tensor:
    """int32[..., count]: draws from the last axis of probabilities whose largest is 1."""
    if replacement:
        p = expand_dims(p, -2)
    shape = (*p.shape[:-2], count, p.shape[-1]) if replacement else p.shape
    wait = neg(log(sub(1.0, uniform_from(state, shape))))
    rings = select(greater(p, 0.0), div(wait, p), math.inf)
    if replacement:
        return place(rings, -1, keep=False, largest=False, dtype="int32")
    return ordered(rings, count, descending=False)[1]


@method()
def multinomial(input: Tensor, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """int32[num_samples] or int32[rows, num_samples]: indices drawn with the probabilities in a row (MindSpore: ops.multinomial).

    input: [n] or [rows, n], not negative, finite, not all zero; a row need not sum to 1. Without `replacement` no index is drawn
    twice. Raises ShapeError, ArgumentTypeError, ArgumentValueError; for the values of `input` a compiled step raises when
    it has run.
    """
    return multinomial_from(generator(seed), input, num_samples, replacement)


def multinomial_from(state: Parameter, input: Tensor, num_samples: int, replacement: bool) -> Tensor:
    """`multinomial` by the numbers of a stream."""
    count = exact_int("multinomial", "num_samples", num_samples, 1)
    if input.ndim not in (1, 2) or input.size == 0:
        raise ShapeError(
            f"multinomial: expected probabilities [n] or [rows, n], got {input.tensor_type}", loc=user_loc()
        )
    p = cast(input, "float64" if input.tensor_type.dtype == "float64" else "float32")
    if not replacement and count > input.shape[-1]:
        raise ArgumentValueError(
            f"multinomial: {count} samples without replacement of {input.shape[-1]} indices", loc=user_loc()
        )
    largest = reduce_max(p, -1, keep_dims=True)
    sound = logical_and(
        reduce_all(logical_and(greater_equal(p, 0.0), less(p, math.inf))), reduce_all(greater(largest, 0.0))
    )
    require(sound, "multinomial: each row of probabilities must be finite, not negative, and not all zero")
    if not replacement:
        positive = reduce_sum(cast(greater(p, 0.0), "int32"), -1)
        require(
            reduce_all(greater_equal(positive, count)),
            f"multinomial: {count} samples without replacement, but fewer probabilities above zero",
        )
    return _first_to_ring(div(p, largest), count, state, replacement)


@method()
def random_categorical(logits: Tensor, num_sample: int, seed: int = 0, dtype: Any = int64) -> Tensor:
    """[rows, num_sample]: indices drawn with the probabilities softmax(logits) (MindSpore: ops.random_categorical).

    logits: [rows, n], floats; -inf is probability zero. dtype: int16, int32 or int64. Raises ShapeError, ArgumentTypeError,
    ArgumentValueError; for NaN, or a row without a finite logit, a compiled step raises when it has run.
    """
    count = exact_int("random_categorical", "num_sample", num_sample, 1)
    if logits.ndim != 2 or logits.size == 0 or not logits.tensor_type.is_float:
        raise ShapeError(f"random_categorical: expected floats [rows, n], got {logits.tensor_type}", loc=user_loc())
    if to_name(dtype) not in ("int16", "int32", "int64"):
        raise ArgumentTypeError(
            f"random_categorical: dtype must be int16, int32 or int64, got {to_name(dtype)}", loc=user_loc()
        )
    wide = cast(logits, "float64" if logits.tensor_type.dtype == "float64" else "float32")
    largest = reduce_max(wide, -1, keep_dims=True)
    finite = logical_and(greater(largest, -math.inf), less(largest, math.inf))
    known = logical_and(reduce_all(finite), logical_not(reduce_any(isnan(wide))))
    require(known, "random_categorical: logits must not be NaN or inf, and a row needs a finite one")
    return cast(_first_to_ring(exp(sub(wide, largest)), count, generator(seed or None), replacement=True), dtype)


__all__ = ["multinomial", "random_categorical"]
