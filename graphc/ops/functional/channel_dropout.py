"""Zeros at random: of whole channels; and slopes at random."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import Operand, cast
from graphc.ops.functional.create import ones
from graphc.ops.functional.elementwise import add, greater, less, mul
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import drop, uniform_from
from graphc.ops.functional.scalars import scalar
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor, as_tensor


def dropped_channels(x: Tensor, p: float, lead: int = 2) -> Tensor:
    """[N, C, 1, ...]: zeros with probability p, 1 / (1 - p) elsewhere, for each of the first `lead` axes of x."""
    kept = ones((*x.shape[:lead], *[1] * (x.ndim - lead)), x.dtype)
    return mul(kept, 0.0) if p == 1 else drop(kept, 1.0 - p, generator(None))


def _channel_dropout(owner: str, input: Tensor, p: float, training: bool, ranks: tuple[int, ...]) -> Tensor:
    x = as_tensor(input, f"{owner}: input")
    if not isinstance(p, float) or not isinstance(training, bool):
        raise ArgumentTypeError(
            f"{owner}: expected p a float and training a bool, got {p!r}, {training!r}", loc=user_loc()
        )
    if not 0 <= p <= 1:
        raise ArgumentValueError(f"{owner}: p must lie in [0, 1], got {p}", loc=user_loc())
    if x.ndim not in ranks or not x.tensor_type.is_float:
        raise ShapeError(
            f"{owner}: the input is {x.tensor_type}, expected floats of {' or '.join(map(str, ranks))} axes",
            loc=user_loc(),
        )
    if not training or p == 0:
        return x.value()
    return mul(x, dropped_channels(x, p, 1 if x.ndim < max(ranks) else 2))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Whole channels of [N, C, L] or [C, L] zero with probability p, the others divided by 1 - p (Tompson et al., 2015;
    MindSpore: ops.dropout1d); the input itself unless `training`. Drawn from the global generator, as by `dropout`.
    """
    return _channel_dropout("dropout1d", input, p, training, (2, 3))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """As dropout1d for channels of [N, C, H, W] (MindSpore: ops.dropout2d)."""
    return _channel_dropout("dropout2d", input, p, training, (4,))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """As dropout1d for channels of [N, C, D, H, W] (MindSpore: ops.dropout3d)."""
    return _channel_dropout("dropout3d", input, p, training, (5,))


def rrelu(input: Tensor, lower: Operand = 1 / 8, upper: Operand = 1 / 3) -> Tensor:
    """x where it is positive, a x with a random slope a, uniform from lower up to upper, where it is negative (Xu et al., 2015;
    MindSpore: ops.rrelu). Drawn from the global generator, at every call.
    """
    x = as_tensor(input, "rrelu: input")
    lower, upper = scalar("rrelu", "lower", lower), scalar("rrelu", "upper", upper)
    scalar("rrelu", "lower", lower, ("<=", upper), wanted="be at most upper")
    slopes: Any = add(mul(uniform_from(generator(None), x.shape), upper - lower), lower)
    share = select(greater(x, 0.0), 1.0, select(less(x, 0.0), cast(slopes, x.dtype), 0.0))
    return mul(x, share)


__all__ = ["dropout1d", "dropout2d", "dropout3d", "rrelu"]
