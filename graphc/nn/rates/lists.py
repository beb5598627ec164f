"""Lists of learning rates, one per step, that decay by the epoch (MindSpore: nn.dynamic_lr).

Epoch of step i is i // step_per_epoch. Rates and powers are floats, counts are ints > 0; ArgumentTypeError or
ArgumentValueError otherwise. The lists are lists of Python floats, `total_step` long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """learning_rates[k] for the steps before milestone[k] and from milestone[k - 1] on.

    milestone: ints > 0 that never fall; learning_rates: as many floats.
    """
    owner = "piecewise_constant_lr"
    for name, value in (("milestone", milestone), ("learning_rates", learning_rates)):
        if not isinstance(value, (tuple, list)):
            raise checks.wrong_type(owner, name, "a tuple or list", value)
    if len(milestone) != len(learning_rates):
        raise ArgumentValueError(
            f"{owner}: milestone has {len(milestone)} values, learning_rates {len(learning_rates)}", loc=user_loc()
        )
    rates: list[float] = []
    for i, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        checks.integer(owner, f"milestone[{i}]", end)
        checks.exact_float(owner, f"learning_rates[{i}]", rate)
        if end < len(rates):
            raise checks.wrong_value(owner, f"milestone[{i}]", f"at least the one before, {len(rates)}", end)
        rates += [rate] * (end - len(rates))
    return rates


def _by_epoch(
    owner: str, rate: Callable[[int], float], total_step: int, step_per_epoch: int, **counts: int
) -> list[float]:
    """rate(epoch) for each step."""
    counts = {"total_step": total_step, "step_per_epoch": step_per_epoch, **counts}
    for name, value in counts.items():
        checks.integer(owner, name, value)
    return [rate(i // step_per_epoch) for i in range(total_step)]


def _check_decay(owner: str, learning_rate: float, decay_rate: float, is_stair: bool) -> None:
    checks.exact_float(owner, "learning_rate", learning_rate, above=0)
    checks.exact_float(owner, "decay_rate", decay_rate, above=0)
    checks.boolean(owner, "is_stair", is_stair)


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate * decay_rate ** (epoch / decay_epoch), the quotient rounded down with is_stair."""
    owner = "exponential_decay_lr"
    _check_decay(owner, learning_rate, decay_rate, is_stair)

    def rate(epoch: int) -> float:
        return float(learning_rate * decay_rate ** (epoch // decay_epoch if is_stair else epoch / decay_epoch))

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate * exp(-decay_rate * epoch); with is_stair the epoch is rounded down to a multiple of
    decay_epoch.
    """
    owner = "natural_exp_decay_lr"
    _check_decay(owner, learning_rate, decay_rate, is_stair)

    def rate(epoch: int) -> float:
        return learning_rate * math.exp(-decay_rate * (epoch // decay_epoch * decay_epoch if is_stair else epoch))

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate / (1 + decay_rate * epoch / decay_epoch), the quotient of the epochs rounded down with is_stair."""
    owner = "inverse_decay_lr"
    _check_decay(owner, learning_rate, decay_rate, is_stair)

    def rate(epoch: int) -> float:
        return learning_rate / (1 + decay_rate * (epoch // decay_epoch if is_stair else epoch / decay_epoch))

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """From max_lr down to min_lr along half a cosine wave of decay_epoch epochs, then min_lr. 0 <= min_lr < max_lr."""
    owner = "cosine_decay_lr"
    checks.exact_float(owner, "min_lr", min_lr, least=0)
    checks.exact_float(owner, "max_lr", max_lr, above=0)
    if min_lr >= max_lr:
        raise checks.wrong_value(owner, "max_lr", f"greater than min_lr={min_lr!r}", max_lr)

    def rate(epoch: int) -> float:
        return min_lr + 0.5 * (max_lr - min_lr) * (1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch))

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """(learning_rate - end_learning_rate) * (1 - epoch / decay_epoch) ** power + end_learning_rate.

    The epoch is held at decay_epoch; with update_decay_epoch decay_epoch grows instead, to its next multiple.
    end_learning_rate: a float >= 0; power: a float > 0.
    """
    owner = "polynomial_decay_lr"
    checks.exact_float(owner, "learning_rate", learning_rate, above=0)
    checks.exact_float(owner, "end_learning_rate", end_learning_rate, least=0)
    checks.exact_float(owner, "power", power, above=0)
    checks.boolean(owner, "update_decay_epoch", update_decay_epoch)

    def rate(epoch: int) -> float:
        periods = max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else 1
        p = min(epoch / (decay_epoch * periods), 1.0)
        return float((learning_rate - end_learning_rate) * (1 - p) ** power + end_learning_rate)

    return _by_epoch(owner, rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """learning_rate * epoch / warmup_epoch, then learning_rate. learning_rate: a float >= 0."""
    checks.exact_float("warmup_lr", "learning_rate", learning_rate, least=0)

    def rate(epoch: int) -> float:
        return learning_rate * min(epoch, warmup_epoch) / warmup_epoch

    return _by_epoch("warmup_lr", rate, total_step, step_per_epoch, warmup_epoch=warmup_epoch)


__all__ = [
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]
