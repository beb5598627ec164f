"""The primitive LSTM, and those that check or hand on what they are given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from graphc.errors import ArgumentValueError, GraphcWarning, ShapeError, stacklevel, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.control import scan
from graphc.ops.functional.require import require
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _lstm(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w: Tensor,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    has_bias: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """(results, last h, last c, and two tensors of MindSpore's own that mean nothing here) of an LSTM.

    x [steps, batch, input_size]; h, c [layers times directions, batch, hidden_size]; w: the elements of all weights for x,
    [4 hidden_size, ...] each by layer and direction, then of those for h, then the sums of both biases; second biases behind
    them are left out, as by MindSpore's kernel, with a GraphcWarning. Gates are in the order i, f, g, o. ShapeError for what
    does not fit, ArgumentValueError for several layers of unequal widths, which MindSpore has not.
    """
    ways = 2 if bidirectional else 1
    count = num_layers * ways
    if num_layers > 1 and (bidirectional or input_size != hidden_size):
        raise ArgumentValueError(
            "LSTM: several layers need one direction and hidden_size equal to input_size",
            loc=user_loc(),
            help="call one primitive for each layer, or nn.LSTM",
        )
    inner, outer = (4 * hidden_size, input_size), (4 * hidden_size, hidden_size)
    shapes = [inner] * count + [outer] * count + [(4 * hidden_size,)] * (count if has_bias else 0)
    total, state = sum(map(math.prod, shapes)), (count, x.shape[1] if x.ndim == 3 else 0, hidden_size)
    twice = total + 4 * hidden_size * count if has_bias else total
    if x.ndim != 3 or x.shape[2] != input_size or h.shape != state or c.shape != state or w.size not in (total, twice):
        raise ShapeError(
            f"LSTM: x {x.tensor_type}, h {h.tensor_type}, c {c.tensor_type}, w {w.tensor_type}, expected x [steps, batch,"
            f" {input_size}], h and c [{count}, batch, {hidden_size}], w of {total} elements",
            loc=user_loc(),
        )
    if w.size != total:
        warnings.warn(
            f"LSTM: of the {twice} elements of w the last {twice - total}, second biases, are left out",
            GraphcWarning,
            stacklevel=stacklevel(),
        )
    flat = F.reshape(w, (-1,))
    ends = accumulate((math.prod(s) for s in shapes), initial=0)
    parts = [F.reshape(flat[a:b], s) for (a, b), s in zip(pairwise(ends), shapes, strict=True)]
    last = []
    for layer in range(num_layers):
        rows = []
        for way in range(ways):
            k = layer * ways + way
            bias = parts[2 * count + k] if has_bias else 0.0
            rows.append(_one_way(x, (h[k], c[k]), (parts[k], parts[count + k], bias), way == 1))
            last.append(rows[-1][1])
        x = F.concat([made for made, _ in rows], -1)
    hs, cs = (F.stack([pair[place] for pair in last]) for place in (0, 1))
    return x, hs, cs, F.zeros((1, 1), x.dtype), F.zeros((1, 1), x.dtype)


def _one_way(x: Tensor, state: tuple[Tensor, Tensor], weights: Sequence[Any], backwards: bool) -> tuple[Tensor, Any]:
    """(h of all steps, the last (h, c)) in one direction over x [steps, batch, n]."""
    inner, outer, bias = weights

    def turn(state: tuple[Tensor, Tensor], given: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        h, c = state
        i, f, g, o = F.split(given + F.matmul(h, F.transpose(outer)), outer.shape[1], 1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        return (h, c), h

    last, made = scan(turn, state, F.matmul(x, F.transpose(inner)) + bias, reverse=backwards)
    return made, last


LSTM = declare(
    "LSTM",
    _lstm,
    input_size=REQUIRED,
    hidden_size=REQUIRED,
    num_layers=REQUIRED,
    has_bias=REQUIRED,
    bidirectional=REQUIRED,
    dropout=Only(0.0),
    proj_size=Only(0),
)

# ---- what is given, handed on


def _check_numerics(x: Tensor) -> Tensor:
    """x; ArgumentValueError if an element is infinite or NaN: at once, or at the end of a compiled step's run."""
    require(F.isfinite(x).all(), f"CheckNumerics: {x.tensor_type} has an infinite element or NaN")
    return x.twin()


CheckNumerics = declare("CheckNumerics", _check_numerics)
IdentityN = declare(
    "IdentityN", lambda x: tuple(as_tensor(v, "IdentityN: x").twin() for v in x), "The tensors themselves."
)
