"""Ranks, shapes and numbers that an op asks of its operands: what does not fit is refused by its name."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.tensor.tensor import Tensor, as_tensor


def require_rank(owner: str, name: str, x: Tensor, *ranks: int) -> None:
    """ShapeError GC101 unless a tensor has as many axes as one of these."""
    if x.ndim not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ShapeError(
            f"{owner}: {name} is {x.tensor_type}, expected {wanted} {'axis' if ranks[-1] == 1 else 'axes'}",
            loc=user_loc(),
        )


def require_alike(owner: str, *, help: str | None = None, **operands: Any) -> None:
    """ShapeError GC101 unless tensors have one shape: they are not broadcast."""
    given = {name: as_tensor(x, f"{owner}: {name}") for name, x in operands.items()}
    if len({x.shape for x in given.values()}) > 1:
        said = ", ".join(f"{name} is {x.tensor_type}" for name, x in given.items())
        raise ShapeError(f"{owner}: {said}, expected equal shapes", loc=user_loc(), help=help)


def require_at_least(owner: str, name: str, value: Any, least: float) -> None:
    """ArgumentValueError for a Python number below `least`, and NaN; what only the run tells passes."""
    if isinstance(value, (int, float)) and not value >= least:
        raise ArgumentValueError(f"{owner}: {name} must be at least {least}, got {value}", loc=user_loc())


__all__ = ["require_alike", "require_at_least", "require_rank"]
