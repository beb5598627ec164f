"""Tokens that go to several experts each, and back: MindSpore's kernels for one device, written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import call, cast_to, halves_widened
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.elementwise import add, equal, less, mul, sub
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import where
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sorting import argsort
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean, exact_int


def _taken(table: Tensor, rows: Any) -> Tensor:
    made: Tensor = call("Gather", table, rows, axis=0)
    return made


def moe_init_routing_v2(
    x: Tensor,
    expert_idx: Tensor,
    active_num: int,
    expert_capacity: int,
    expert_num: int,
    drop_pad_mode: int,
    expert_tokens_count_or_cumsum_flag: int,
    expert_tokens_before_capacity_flag: bool,
) -> tuple[Tensor, ...]:
    """(rows of x in the order of their experts, int32 [n choices]: where each (row, choice) stands among them, and perhaps int32
    [expert_num]: how many came to each expert).

    x: floats [n, width]; expert_idx: int32 [n, choices], from 0 to expert_num - 1. Of one expert the first row comes first.
    drop_pad_mode 0: all rows, or the first active_num of them if that is not 0; with expert_tokens_count_or_cumsum_flag 2 the
    numbers, with 1 their sums so far. drop_pad_mode 1: [expert_num, expert_capacity, width], filled up with zeros; what comes
    to an expert beyond its capacity is dropped, and stands at -1; with expert_tokens_before_capacity_flag the numbers that came.
    Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError.
    """
    owner = "moe_init_routing_v2"
    sizes = {"active_num": active_num, "expert_capacity": expert_capacity, "expert_num": expert_num}
    flags = {"drop_pad_mode": drop_pad_mode, "expert_tokens_count_or_cumsum_flag": expert_tokens_count_or_cumsum_flag}
    _check_routing(owner, x, expert_idx, sizes, flags)
    boolean(owner, "expert_tokens_before_capacity_flag", expert_tokens_before_capacity_flag)
    choices, chosen = expert_idx.shape[1], reshape(expert_idx, (-1,))
    order = cast_to(argsort(chosen), "int32")
    places = cast_to(argsort(order), "int32")
    experts = Tensor(np.arange(expert_num, dtype=np.int32)[:, None])
    came = reduce_sum(cast_to(equal(experts, expand_dims(chosen, 0)), "int32"), 1)
    if drop_pad_mode == 0:
        rows = getitem(order, slice(active_num)) if active_num else order
        counted = {0: (), 1: (cumsum(came, 0),), 2: (came,)}[expert_tokens_count_or_cumsum_flag]
        return _taken(x, rows // choices), places, *counted
    first = sub(cumsum(came, 0), came)
    within = sub(places, _taken(first, chosen))
    places = where(less(within, expert_capacity), add(mul(chosen, expert_capacity), within), -1)
    slots = Tensor(np.arange(expert_capacity, dtype=np.int32)[None])
    filled = less(slots, expand_dims(came, 1))
    # An empty slot has the first row, and then zeros in its place.
    at = where(filled, add(expand_dims(first, 1), slots), 0)
    there = _taken(x, _taken(order, reshape(at, (-1,))) // choices)
    routed = where(expand_dims(filled, -1), reshape(there, (expert_num, expert_capacity, x.shape[1])), 0)
    counted = (came,) if expert_tokens_before_capacity_flag else ()
    return cast_to(routed, x.tensor_type.dtype), cast_to(places, "int32"), *counted


def _check_routing(owner: str, x: Tensor, expert_idx: Tensor, sizes: dict[str, int], flags: dict[str, int]) -> None:
    for name, value in {**sizes, **flags}.items():
        exact_int(owner, name, value)
    for name, value in sizes.items():
        if value < 0:
            raise ArgumentValueError(f"{owner}: {name} must be at least 0, got {value}", loc=user_loc())
    for (name, value), most in zip(flags.items(), (1, 2), strict=True):
        if not 0 <= value <= most:
            raise ArgumentValueError(f"{owner}: {name} must lie in 0 .. {most}, got {value}", loc=user_loc())
    if x.ndim != 2 or expert_idx.ndim != 2 or x.shape[0] != expert_idx.shape[0] or not expert_idx.size:
        raise ShapeError(
            f"{owner}: x is {x.tensor_type} and expert_idx {expert_idx.tensor_type}, expected [n, width] and [n, choices]",
            loc=user_loc(),
        )
    if not x.tensor_type.is_float or expert_idx.tensor_type.dtype != "int32":
        raise DTypeError(
            f"{owner}: x is {x.tensor_type} and expert_idx {expert_idx.tensor_type}, expected floats and int32",
            loc=user_loc(),
        )
    drops, counts = flags.values()
    if (drops or counts) and not sizes["expert_num"]:
        raise ArgumentValueError(f"{owner}: expert_num must be at least 1", loc=user_loc())
    if drops and not 0 < sizes["expert_capacity"] <= x.shape[0]:
        raise ArgumentValueError(
            f"{owner}: expert_capacity must lie in 1 .. {x.shape[0]}, the rows there are, got {sizes['expert_capacity']}",
            loc=user_loc(),
        )


def finalized(
    expanded_x: Tensor,
    x1: Tensor,
    x2: Tensor | None,
    bias: Tensor,
    scales: Tensor,
    expanded_row_idx: Tensor,
    expanded_expert_idx: Tensor,
) -> Tensor:
    """[n, width]: what experts have made of tokens, back in their order (MindSpore: ops.MoeFinalizeRouting). Of token i it is
    x1 + x2 and the sum over k of scales[i, k] (expanded_x[expanded_row_idx[i + k n]] + bias[expanded_expert_idx[i, k]]).

    expanded_x: floats [choices n, width]; x1, and x2 unless it is None: [n, width]; bias: [experts, width]; scales: [n, choices],
    all of one dtype; expanded_row_idx: int32 [choices n]; expanded_expert_idx: int32 [n, choices]. Raises ShapeError, DTypeError.
    """
    owner = "MoeFinalizeRouting"
    n, choices = scales.shape if scales.ndim == 2 else (-1, -1)
    width = x1.shape[-1] if x1.ndim else -1
    wanted = {
        "expanded_x": (expanded_x, (choices * n, width)),
        "x1": (x1, (n, width)),
        **({} if x2 is None else {"x2": (x2, (n, width))}),
        "bias": (bias, (*bias.shape[:1], width)),
        "scales": (scales, (n, choices)),
        "expanded_row_idx": (expanded_row_idx, (choices * n,)),
        "expanded_expert_idx": (expanded_expert_idx, (n, choices)),
    }
    for name, (value, shape) in wanted.items():
        if value.shape != shape:
            raise ShapeError(
                f"{owner}: {name} is {value.tensor_type}, expected {list(shape)} for scales {scales.tensor_type} and x1"
                f" {x1.tensor_type}",
                loc=user_loc(),
            )
        kind = "int32" if name.endswith("_idx") else expanded_x.tensor_type.dtype
        if value.tensor_type.dtype != kind or not expanded_x.tensor_type.is_float:
            raise DTypeError(
                f"{owner}: {name} is {value.tensor_type}, expected int32 for indices and one dtype of floats for all else",
                loc=user_loc(),
            )
    made = [_taken(expanded_x, getitem(expanded_row_idx, slice(k * n, (k + 1) * n))) for k in range(choices)]
    biases = [_taken(bias, getitem(expanded_expert_idx, (slice(None), k))) for k in range(choices)]
    wide = [halves_widened(add(a, b)) for a, b in zip(made, biases, strict=True)]
    factors = [halves_widened(getitem(scales, (slice(None), slice(k, k + 1)))) for k in range(choices)]
    terms = concat([expand_dims(mul(w, f), 0) for w, f in zip(wide, factors, strict=True)], 0)
    kept = add(halves_widened(x1), halves_widened(x2)) if x2 is not None else halves_widened(x1)
    return cast_to(add(kept, reduce_sum(terms, 0)), x1.tensor_type.dtype)


__all__ = ["moe_init_routing_v2"]
