"""Connectionist temporal classification: the loss of all alignments of labels to a longer sequence, and its greedy decoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.create import full
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elementwise import (
    add,
    equal,
    exp,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    maximum,
    mul,
    neg,
    not_equal,
    sub,
)
from graphc.ops.functional.index import gather_elements
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.loss import reduced
from graphc.ops.functional.reduce import reduce_all, reduce_sum
from graphc.ops.functional.shapes import broadcast_to, expand_dims, reshape, transpose
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: The logarithm of what is impossible: sums and differences of it stay numbers, so gradients do.
_NEVER = -1e30


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """(loss, log_alpha): -log of the probability of all alignments (Graves et al., 2006; MindSpore: ops.ctc_loss).

    log_probs: float32 or float64 [T, N, C], logarithms of probabilities; targets: int32 or int64 [N, S], classes other than
    `blank`; input_lengths and target_lengths: [N], up to T and S. loss: [N], or by `reduction` the sum, or the mean of the losses
    divided by their target's length. It is inf where a target does not fit its input, or 0 with zero_infinity, without a
    gradient; NaN for classes out of range, and where only a compiled step knows the lengths for these, too.
    log_alpha: [N, T, 2 S + 1], which has no gradient; -inf beyond the lengths.
    The gradient for log_probs is that for numbers under a log_softmax: exp(log_probs) less the share of each class.
    In a compiled step the recursion over T is unrolled. Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError.
    """
    x, labels = as_tensor(log_probs, "ctc_loss: log_probs"), as_tensor(targets, "ctc_loss: targets")
    given, wanted = (
        _lengths(name, n) for name, n in (("input_lengths", input_lengths), ("target_lengths", target_lengths))
    )
    _check(x, labels, given, wanted, blank, zero_infinity)
    steps, n, classes = x.shape
    count = labels.shape[1]
    length = reshape(wanted, (n, 1))
    inside = less(Tensor(np.arange(count, dtype=np.int32)), length)
    in_range = logical_and(greater_equal(labels, 0), less(labels, classes))
    # A normalized distribution has the sum 1: this adds its gradient, and nothing else.
    active = less(Tensor(np.arange(steps, dtype=np.int32)[:, None]), given)
    total = reduce_sum(select(expand_dims(active, 2), exp(x), 0.0), (0, 2))
    alphas = _alphas(x, select(logical_and(inside, in_range), labels, blank), given, blank)
    loss = neg(_at_end(alphas[-1], length))
    impossible = greater(loss, -_NEVER / 2)
    loss = add(loss, sub(total, stop_gradient(total)))
    loss = select(impossible, 0.0 if zero_infinity else float("inf"), loss)
    sound = logical_and(greater_equal(given, 0), less_equal(given, steps))
    sound = logical_and(sound, logical_and(greater_equal(wanted, 0), less_equal(wanted, count)))
    sound = logical_and(sound, _every(logical_not(logical_and(inside, logical_not(in_range)))))
    loss = select(sound, loss, float("nan"))
    table = stop_gradient(stack(alphas[1:], 1))
    states = Tensor(np.arange(2 * count + 1, dtype=np.int32))
    seen = logical_and(expand_dims(less_equal(states, mul(length, 2)), 1), expand_dims(transpose(active, (1, 0)), 2))
    table = select(logical_and(seen, greater(table, _NEVER / 2)), table, -float("inf"))
    if reduction == "mean":
        loss = div(loss, cast_to(maximum(wanted, 1), x.tensor_type.dtype))
    return reduced("ctc_loss", loss, reduction), table


def _every(x: Tensor) -> Tensor:
    """bool[N] of bool[N, S], also of S = 0."""
    return reduce_all(x, 1) if x.shape[1] else Tensor(np.ones(x.shape[0], bool))


def _lengths(name: str, lengths: Any) -> Tensor:
    tensor = lengths if isinstance(lengths, Tensor) else Tensor(np.asarray(lengths))
    if tensor.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"ctc_loss: {name} are {tensor.tensor_type}, expected int32 or int64", loc=user_loc())
    return cast_to(tensor, "int32")


def _check(x: Tensor, labels: Tensor, given: Tensor, wanted: Tensor, blank: Any, zero_infinity: Any) -> None:
    if x.tensor_type.dtype not in ("float32", "float64") or labels.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(
            f"ctc_loss: log_probs are {x.tensor_type} and targets {labels.tensor_type}, expected float32 or"
            f" float64, and int32 or int64",
            loc=user_loc(),
        )
    n = x.shape[1] if x.ndim == 3 else -1
    if labels.ndim != 2 or labels.shape[0] != n or given.shape != (n,) or wanted.shape != (n,) or 0 in x.shape:
        raise ShapeError(
            f"ctc_loss: log_probs are {x.tensor_type}, targets {labels.tensor_type}, the lengths"
            f" {given.tensor_type} and {wanted.tensor_type}, expected"
            " [T, N, C], [N, S], [N] and [N]",
            loc=user_loc(),
            help="targets one behind the other: make them rows of a matrix, filled up behind their ends with any class"
            if labels.ndim == 1
            else None,
        )
    _check_lengths("input_lengths", given, x.shape[0], "steps of log_probs")
    _check_lengths("target_lengths", wanted, labels.shape[1], "columns of targets")
    if isinstance(blank, bool) or not isinstance(blank, int) or not isinstance(zero_infinity, bool):
        raise ArgumentTypeError("ctc_loss: blank must be an int, zero_infinity a bool", loc=user_loc())
    if not 0 <= blank < x.shape[2]:
        raise ArgumentValueError(f"ctc_loss: blank must be one of {x.shape[2]} classes, got {blank}", loc=user_loc())


def _check_lengths(name: str, lengths: Tensor, most: int, of: str) -> None:
    """ArgumentValueError for one that is out of range, where the values are known."""
    values = [] if lengths.array is None else lengths.array.tolist()
    wrong = [(i, v) for i, v in enumerate(values) if not 0 <= v <= most]
    if wrong:
        place, value = wrong[0]
        raise ArgumentValueError(
            f"ctc_loss: {name}[{place}] is {value}, expected 0 to {most}, the {of}", loc=user_loc()
        )


def _alphas(x: Tensor, labels: Tensor, given: Tensor, blank: int) -> list[Tensor]:
    """The logarithms of the probabilities [N, 2 S + 1] of all beginnings: of none, and of those up to each time.

    States are a blank, a label, a blank, and so on. From each one stays, goes on, or leaves out the blank between two labels
    that differ. Beyond its end a sequence keeps its last state.
    """
    steps, n, _ = x.shape
    states = 2 * labels.shape[1] + 1
    between = full((n, 1, labels.shape[1]), blank, dtype=labels.dtype)
    with_blanks = reshape(stack([between[:, 0], labels], 2), (n, states - 1))
    with_blanks = concat([with_blanks, full((n, 1), blank, dtype=labels.dtype)], 1)
    seen = gather_elements(x, 2, broadcast_to(expand_dims(with_blanks, 0), (steps, n, states)))
    skips = logical_and(
        not_equal(getitem(with_blanks, (slice(None), slice(2, None))), blank),
        not_equal(
            getitem(with_blanks, (slice(None), slice(2, None))), getitem(with_blanks, (slice(None), slice(0, -2)))
        ),
    )
    none = np.full((n, states), _NEVER)
    none[:, 0] = 0
    alphas = [Tensor(none.astype(x.tensor_type.numpy))]
    begin = none.copy()
    begin[:, 1:2] = 0
    never = {k: Tensor(np.full((n, min(k, states)), _NEVER).astype(x.tensor_type.numpy)) for k in (1, 2)}
    for t in range(steps):
        before = alphas[-1]
        if t == 0:
            reached = Tensor(begin.astype(x.tensor_type.numpy))
        elif states == 1:
            reached = before
        else:
            next_one = concat([never[1], getitem(before, (slice(None), slice(0, -1)))], 1)
            skipped = select(skips, getitem(before, (slice(None), slice(0, -2))), _NEVER)
            reached = _log_sum(before, next_one, concat([never[2], skipped], 1))
        made = add(reached, getitem(seen, t))
        alphas.append(select(greater(expand_dims(given, 1), t), made, before))
    return alphas


def _log_sum(*parts: Tensor) -> Tensor:
    """log of the sum of exp, without overflow."""
    largest = parts[0]
    for part in parts[1:]:
        largest = maximum(largest, part)
    largest = stop_gradient(largest)
    total = exp(sub(parts[0], largest))
    for part in parts[1:]:
        total = add(total, exp(sub(part, largest)))
    return add(log(total), largest)


def _at_end(alpha: Tensor, length: Tensor) -> Tensor:
    """[N]: the two states in which a target [N, 1] long may end."""
    numbers = Tensor(np.arange(alpha.shape[1], dtype=np.int32))
    last = reduce_sum(select(equal(numbers, mul(length, 2)), alpha, 0.0), 1)
    label = select(equal(numbers, sub(mul(length, 2), 1)), alpha, 0.0)
    label_end = select(greater(reshape(length, (-1,)), 0), reduce_sum(label, 1), _NEVER)
    return _log_sum(last, label_end)


def ctc_greedy_decoder(
    inputs: Tensor, sequence_length: Tensor, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The largest class of each time, without blanks, and without repetitions if merge_repeated (MindSpore:
    ops.ctc_greedy_decoder). Not in a compiled Cell: how many there are depends on the values.

    inputs: float32 or float64 [T, N, C], of which class C - 1 is the blank; sequence_length: int32[N], up to T.
    Returns (int64[count, 2]: sequence and position, int64[count]: classes, int64[2]: sequences and the most classes of one,
    [N, 1]: minus the sum of the largest inputs). Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError.
    """
    if not isinstance(merge_repeated, bool):
        raise ArgumentTypeError("ctc_greedy_decoder: merge_repeated must be a bool", loc=user_loc())
    if inputs.tensor_type.dtype not in ("float32", "float64"):
        raise DTypeError(
            f"ctc_greedy_decoder: the inputs are {inputs.tensor_type}, expected float32 or float64", loc=user_loc()
        )
    if sequence_length.tensor_type.dtype not in INTEGERS:
        raise DTypeError(
            f"ctc_greedy_decoder: the lengths are {sequence_length.tensor_type}, expected integers", loc=user_loc()
        )
    if inputs.ndim != 3 or sequence_length.shape != inputs.shape[1:2] or 0 in inputs.shape:
        raise ShapeError(
            f"ctc_greedy_decoder: the inputs are {inputs.tensor_type}, the lengths {sequence_length.tensor_type},"
            f" expected [T, N, C] and [N]",
            loc=user_loc(),
        )
    x, lengths = known_values("ctc_greedy_decoder", inputs), known_values("ctc_greedy_decoder", sequence_length)
    if lengths.min() < 0 or lengths.max() > x.shape[0]:
        raise ArgumentValueError(
            f"ctc_greedy_decoder: the lengths {lengths.tolist()} must lie in [0, {x.shape[0]}]", loc=user_loc()
        )
    best, blank = x.argmax(2), x.shape[2] - 1
    places, classes, most = [], [], 0
    for i, length in enumerate(lengths.tolist()):
        path = best[:length, i]
        new = np.ones(length, bool)
        if merge_repeated:
            new[1:] = path[1:] != path[:-1]
        kept = path[new & (path != blank)]
        places += [(i, j) for j in range(len(kept))]
        classes += kept.tolist()
        most = max(most, len(kept))
    active = np.arange(x.shape[0])[:, None] < lengths
    scores = -np.where(active, x.max(2), 0).sum(0, dtype=np.float64)[:, None].astype(x.dtype)
    return (
        Tensor(np.array(places, np.int64).reshape(-1, 2)),
        Tensor(np.array(classes, np.int64)),
        Tensor(np.array([x.shape[1], most], np.int64)),
        Tensor(scores),
    )


__all__ = ["ctc_greedy_decoder", "ctc_loss"]
