"""What optimizers are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


def checked(owner: str, parameters: Sequence[Parameter], gradients: Any) -> tuple[Tensor, ...]:
    """The gradients, if there is one of the right shape for each parameter; ArgumentTypeError, ArgumentValueError or ShapeError
    else.
    """
    if not isinstance(gradients, (tuple, list)) or not all(isinstance(g, Tensor) for g in gradients):
        held_types = (
            f"a {type(gradients).__name__} of {', '.join(sorted({type(g).__name__ for g in gradients}))}"
            if isinstance(gradients, (tuple, list))
            else type(gradients).__name__
        )
        raise ArgumentTypeError(f"{owner}: gradients must be a tuple of Tensors, got {held_types}", loc=user_loc())
    if len(gradients) != len(parameters):
        raise ArgumentValueError(
            f"{owner}: got {len(gradients)} gradients for {len(parameters)} parameters",
            loc=user_loc(),
            details=[checks.named(p) for p in parameters[:6]],
            help="differentiate for optimizer.parameters, in their order",
        )
    for p, g in zip(parameters, gradients, strict=True):
        if g.shape != p.shape:
            raise ShapeError(
                f"{owner}: the gradient of {p.name} is {g.tensor_type}, the parameter {p.tensor_type}",
                loc=user_loc(),
                help="differentiate for optimizer.parameters, in their order",
            )
    return tuple(gradients)
