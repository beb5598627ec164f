"""Draws of places among others: of a mask, of classes beside the true ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import floor_div
from graphc.ops.functional.control import while_loop
from graphc.ops.functional.core import cast, cast_to
from graphc.ops.functional.create import arange, full
from graphc.ops.functional.elementwise import add, equal, floor_mod, less
from graphc.ops.functional.extrema import place
from graphc.ops.functional.in_place import assign_add
from graphc.ops.functional.joining import stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import uniform_from
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.require import outside_steps
from graphc.ops.functional.sampling import multinomial
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.seed import drawing, generator
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.validation.checks import boolean, exact_int

Triple = tuple[Tensor, Tensor, Tensor]


def choice_with_mask(input_x: Tensor, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """(int32 [count, axes]: places where the mask holds, in random order, none twice; bool [count]: which of them there are)
    (MindSpore: ops.choice_with_mask). Where the mask holds less often than `count`, zeros fill the rest.

    input_x: bool, 1 to 5 axes. Raises DTypeError, ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    wanted = exact_int("choice_with_mask", "count", count, 1)
    if input_x.tensor_type.dtype != "bool":
        raise DTypeError(f"choice_with_mask: input_x is {input_x.tensor_type}, expected bool", loc=user_loc())
    if not 1 <= input_x.ndim <= 5 or input_x.size == 0:
        raise ShapeError(f"choice_with_mask: input_x is {input_x.tensor_type}, expected 1 to 5 axes", loc=user_loc())
    mask = reshape(input_x, (-1,))
    # Of the largest keys the first `count` are drawn, one turn each: sorting would take the square of the size.
    keys = select(mask, uniform_from(generator(seed or None), mask.shape), -1.0)
    every, slots = arange(0, mask.size, dtype="int32"), arange(0, wanted, dtype="int32")

    def turn(i: Tensor, keys: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        best = place(keys, 0, False, True, "int32")
        return add(i, 1), select(equal(every, best), -2.0, keys), select(equal(slots, i), best, drawn)

    turns = min(wanted, mask.size)
    start = (Tensor(np.zeros((), np.int32)), keys, full((wanted,), 0, dtype="int32"))
    drawn = while_loop(lambda i, *_: less(i, turns), turn, *start)[2]
    there = less(slots, reduce_sum(cast_to(mask, "int32")))
    drawn, axes = select(there, drawn, 0), []
    for size in reversed(input_x.shape):
        axes.append(floor_mod(drawn, size))
        drawn = floor_div(drawn, size)
    return stack(axes[::-1], -1), there


def multinomial_with_replacement(
    x: Tensor, seed: int, offset: int, numsamples: int, replacement: bool = False
) -> Tensor:
    """int64 [numsamples] or [rows, numsamples]: indices drawn with the probabilities in a row
    (MindSpore: ops.multinomial_with_replacement).

    Each pair of seed and offset has a stream of its own; -1 and 0 are that of the functions without a seed. As `multinomial` in
    all else.
    """
    return cast(multinomial(x, numsamples, replacement, pair_of_seeds(seed, offset)), "int64")


def pair_of_seeds(seed: int, offset: int) -> int | None:
    """One number for a seed and an offset; None for -1 and 0, and for 0 and 0."""
    for value in (seed, offset):
        exact_int("", "a seed", value)
    return None if offset == 0 and seed in (-1, 0) else seed + (offset << 32)


# ---- classes


def _candidates(
    owner: str, true: Tensor, chance: Any, last: int, count: int, unique: bool, seed: int, left_out: Any
) -> Triple:
    """(classes below last, how often each true and each drawn class is to be expected); chance: the probability of classes."""
    state = generator(seed or None)
    with drawing:
        stream = np.random.Generator(np.random.Philox(key=int(state.storage[()]) & 0xFFFFFFFFFFFFFFFF))
        assign_add(state, 1)
    p = chance(np.arange(last))
    p = p / p.sum()  # To the last bit, as NumPy asks for.
    drawn: list[int] = []
    kept, tries = set(left_out), 0
    allowed = len(p) - len(kept)
    if (unique and allowed < count) or allowed < 1:
        raise ArgumentValueError(f"{owner}: {count} different classes of {allowed}", loc=user_loc())
    while len(drawn) < count:
        for c in stream.choice(len(p), size=max(count, 64), p=p).tolist():
            tries += 1
            if c not in kept and len(drawn) < count:
                drawn.append(c)
                kept |= {c} if unique else set()
            if len(drawn) == count:
                break

    def expected(classes: Any) -> Tensor:
        q = chance(classes)
        return Tensor((q * count if tries == count else -np.expm1(tries * np.log1p(-q))).astype(np.float32))

    classes = require_array(true)
    return Tensor(np.array(drawn, classes.dtype)), expected(classes), expected(np.array(drawn))


def _checked(owner: str, true: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int) -> None:
    counts = {"num_true": num_true, "num_sampled": num_sampled, "range_max": range_max}
    for name, value in counts.items():
        exact_int(owner, name, value, 1)
    boolean(owner, "unique", unique)
    if true.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"{owner}: true_classes are {true.tensor_type}, expected int32 or int64", loc=user_loc())
    if true.ndim != 2 or true.shape[1] != num_true:
        raise ShapeError(f"{owner}: true_classes are {true.tensor_type}, expected [rows, {num_true}]", loc=user_loc())
    array = require_array(true)
    if array.size and array.min() < 0:
        raise ArgumentValueError(f"{owner}: true_classes must be 0 or more", loc=user_loc())


def log_uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int = 1,
    num_sampled: int = 5,
    unique: bool = True,
    range_max: int = 5,
    seed: int = 0,
) -> Triple:
    """(classes [num_sampled], how often each true class [rows, num_true] and each drawn one is to be expected, float32),
    drawn with the probabilities log((k + 2) / (k + 1)) / log(range_max + 1) (MindSpore: ops.log_uniform_candidate_sampler).

    unique: none twice; how often is then the chance to be drawn in as many tries. A true class of range_max or more, which is
    never drawn, has the number that the formula gives. Not in a compiled Cell. Raises ShapeError, DTypeError, ArgumentTypeError,
    ArgumentValueError.
    """
    owner = "log_uniform_candidate_sampler"
    outside_steps(owner, "how often it draws depends on what it draws")
    _checked(owner, true_classes, num_true, num_sampled, unique, range_max)

    def chance(classes: Any) -> Any:
        return np.log1p(1 / (classes + 1.0)) / math.log(range_max + 1)

    return _candidates(owner, true_classes, chance, range_max, num_sampled, unique, seed, ())


def uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    remove_accidental_hits: bool = False,
) -> Triple:
    """As `log_uniform_candidate_sampler`, with equal probabilities (MindSpore: ops.uniform_candidate_sampler).

    remove_accidental_hits: draw no true class.
    """
    owner = "uniform_candidate_sampler"
    outside_steps(owner, "how often it draws depends on what it draws")
    _checked(owner, true_classes, num_true, num_sampled, unique, range_max)
    hits = [c for c in require_array(true_classes).ravel().tolist() if remove_accidental_hits and c < range_max]

    def chance(classes: Any) -> Any:
        return np.full(np.shape(classes), 1 / range_max)

    return _candidates(owner, true_classes, chance, range_max, num_sampled, unique, seed, hits)


__all__ = [
    "choice_with_mask",
    "log_uniform_candidate_sampler",
    "multinomial_with_replacement",
    "uniform_candidate_sampler",
]
