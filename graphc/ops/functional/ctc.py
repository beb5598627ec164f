"""Connectionist temporal classification: the loss of all alignments of labels to a longer sequence, and its greedy decoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.bounds import classes_in_bounds, lengths_in_bounds
from graphc.ops.functional.control import scan
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.create import full
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.elementwise import (
    add,
    equal,
    exp,
    greater,
    less,
    less_equal,
    log,
    logical_and,
    maximum,
    mul,
    neg,
    not_equal,
    sub,
)
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.loss import reduced
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import broadcast_to, expand_dims, reshape, transpose
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean

#: The logarithm of what is impossible: sums and differences of it stay numbers, so gradients do.
_NEVER = -1e30
#: Logarithms of probabilities of blanks [N, S + 1] and labels [N, S], of which each target has as many as it is long.
_States = tuple[Tensor, Tensor]


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

    log_probs: float32 or float64 [T, N, C], logarithms of probabilities; targets: int32 or int64 [N, S], classes up to each
    length; input_lengths and target_lengths: [N], up to T and S. loss: [N], or by `reduction` the sum, or the mean of the losses
    divided by their target's length. It is inf where a target does not fit its input, or 0 with zero_infinity, without a
    gradient.
    log_alpha: [N, T, 2 S + 1], which has no gradient; -inf beyond the lengths.
    The gradient for log_probs is that for numbers under a log_softmax: exp(log_probs) less the share of each class.
    In a compiled step the recursion over T is one loop. Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError;
    IndexRangeError for lengths and classes out of range, of which only a compiled step knows when it has run.
    """
    x, labels = as_tensor(log_probs, "ctc_loss: log_probs"), as_tensor(targets, "ctc_loss: targets")
    given, wanted = (
        _lengths(name, n) for name, n in (("input_lengths", input_lengths), ("target_lengths", target_lengths))
    )
    _check(x, labels, given, wanted, blank, zero_infinity)
    steps, n, _ = x.shape
    count = labels.shape[1]
    given = lengths_in_bounds("ctc_loss", "input_lengths", given, steps, "steps of log_probs")
    wanted = lengths_in_bounds("ctc_loss", "target_lengths", wanted, count, "columns of targets")
    length = reshape(wanted, (n, 1))
    inside = less(Tensor(np.arange(count, dtype=np.int32)), length)
    labels = classes_in_bounds("ctc_loss", select(inside, labels, blank), x, 2)
    # A normalized distribution has the sum 1: this adds its gradient, and nothing else.
    active = expand_dims(less(Tensor(np.arange(steps, dtype=np.int32)[:, None]), given), 2)
    total = reduce_sum(select(active, exp(x), 0.0), (0, 2))
    end, every = _alphas(x, labels, active, blank)
    loss = neg(_at_end(end, length))
    impossible = greater(loss, -_NEVER / 2)
    loss = add(loss, sub(total, stop_gradient(total)))
    loss = select(impossible, 0.0 if zero_infinity else float("inf"), loss)
    table = stop_gradient(_interleaved(every))
    states = Tensor(np.arange(2 * count + 1, dtype=np.int32))
    seen = logical_and(expand_dims(less_equal(states, mul(length, 2)), 1), transpose(active, (1, 0, 2)))
    table = select(logical_and(seen, greater(table, _NEVER / 2)), table, -float("inf"))
    if reduction == "mean":
        loss = div(loss, cast_to(maximum(wanted, 1), x.tensor_type.dtype))
    return reduced("ctc_loss", loss, reduction), table


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
    if isinstance(blank, bool) or not isinstance(blank, int) or not isinstance(zero_infinity, bool):
        raise ArgumentTypeError("ctc_loss: blank must be an int, zero_infinity a bool", loc=user_loc())
    if not 0 <= blank < x.shape[2]:
        raise ArgumentValueError(f"ctc_loss: blank must be one of {x.shape[2]} classes, got {blank}", loc=user_loc())


def _alphas(x: Tensor, labels: Tensor, active: Tensor, blank: int) -> tuple[_States, _States]:
    """The logarithms of the probabilities of all beginnings: up to the end, and, stacked, up to each time.

    Around each label stands a blank. From a state one stays, goes on, or leaves out the blank between two labels that differ.
    Where it is not `active`, bool[T, N, 1], a sequence keeps its last states.
    """
    steps, n, _ = x.shape
    count, dtype = labels.shape[1], x.tensor_type.numpy
    of_blank = maximum(getitem(x, (slice(None), slice(None), slice(blank, blank + 1))), _NEVER)
    of_labels = maximum(elements_at(x, 2, broadcast_to(expand_dims(labels, 0), (steps, n, count))), _NEVER)
    before = concat([full((n, 1), blank, dtype=labels.dtype), labels], 1)
    skips = not_equal(labels, getitem(before, (slice(None), slice(0, count))))
    never = Tensor(np.full((n, 1), _NEVER, dtype))

    def turn(states: _States, seen: tuple[Tensor, Tensor, Tensor]) -> tuple[_States, _States]:
        blanks, marks = states
        blank_now, label_now, goes_on = seen
        coming = concat([never, marks], 1)
        skipped = select(skips, getitem(coming, (slice(None), slice(0, count))), _NEVER)
        next_blanks = add(_log_sum(blanks, coming), blank_now)
        next_marks = add(_log_sum(marks, getitem(blanks, (slice(None), slice(0, count))), skipped), label_now)
        made = select(goes_on, next_blanks, blanks), select(goes_on, next_marks, marks)
        return made, made

    begin = np.full((n, count + 1), _NEVER, dtype)
    begin[:, 0] = 0
    none = Tensor(begin), Tensor(np.full((n, count), _NEVER, dtype))
    made: tuple[_States, _States] = scan(turn, none, (of_blank, of_labels, active))
    return made


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


def _at_end(states: _States, length: Tensor) -> Tensor:
    """[N]: the two states in which a target [N, 1] long may end."""
    blanks, marks = states
    numbers = Tensor(np.arange(blanks.shape[1], dtype=np.int32))
    last = reduce_sum(select(equal(numbers, length), blanks, 0.0), 1)
    labels = getitem(numbers, slice(1, None))
    label = reduce_sum(select(equal(labels, length), marks, 0.0), 1)
    return _log_sum(last, select(greater(reshape(length, (-1,)), 0), label, _NEVER))


def _interleaved(states: _States) -> Tensor:
    """[N, T, 2 S + 1]: a blank, a label, a blank, and so on."""
    blanks, marks = states
    steps, n, count = blanks.shape
    filled = concat([marks, full((steps, n, 1), _NEVER, dtype=marks.dtype)], 2)
    both = reshape(stack([blanks, filled], 3), (steps, n, 2 * count))
    return transpose(getitem(both, (slice(None), slice(None), slice(0, 2 * count - 1))), (1, 0, 2))


def ctc_greedy_decoder(
    inputs: Tensor, sequence_length: Tensor, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The largest class of each time, without blanks, and without repetitions if merge_repeated (MindSpore:
    ops.ctc_greedy_decoder). Not in a compiled Cell: how many there are depends on the values.

    inputs: float32 or float64 [T, N, C], of which class C - 1 is the blank; sequence_length: int32[N], up to T.
    Returns (int64[count, 2]: sequence and position, int64[count]: classes, int64[2]: sequences and the most classes of one,
    [N, 1]: minus the sum of the largest inputs). Raises ShapeError, DTypeError, ArgumentTypeError, ArgumentValueError.
    """
    boolean("ctc_greedy_decoder", "merge_repeated", merge_repeated)
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
