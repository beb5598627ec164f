"""`initializer`: a tensor with initial values, by name, number or initializer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentValueError, KindError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.initializer import structured  # noqa: F401, its classes are known by name
from graphc.nn.initializer.base import BY_NAME, Initializer
from graphc.nn.initializer.distributions import Constant
from graphc.nn.initializer.draws import Shape
from graphc.ops.tensor.tensor import Tensor


def initializer(init: Any, shape: int | Sequence[int] | None = None, dtype: Any = "float32") -> Tensor:
    """A Tensor with initial values (MindSpore: common.initializer.initializer, whose data come later).

    init: a name ("he_uniform", ...), a number, an Initializer, or a Tensor of this shape, which is returned.
    Raises ArgumentTypeError for anything else, ArgumentValueError for unknown names and sizes below 1,
    ShapeError for a Tensor of another shape and for He and Xavier initialization of fewer than two axes.
    """
    wanted = _shape(shape)
    if isinstance(init, Tensor):
        if wanted is not None and init.shape != wanted:
            raise ShapeError(
                f"initializer: init is {init.tensor_type}, the shape asked for is {wanted}", loc=user_loc()
            )
        return init
    if wanted is None:
        raise ArgumentValueError("initializer: shape must be given unless init is a Tensor", loc=user_loc())
    if isinstance(init, str):
        init = BY_NAME[checks.one_of("initializer", "init", init.lower(), tuple(BY_NAME))]()
    elif checks.is_number(init) or isinstance(init, bool):
        init = Constant(init)
    if not isinstance(init, Initializer):
        raise checks.wrong_type("initializer", "init", "a name, a number, an Initializer or a Tensor", init)
    return Tensor(init.values(wanted), dtype)


def _shape(shape: int | Sequence[int] | None) -> Shape | None:
    if shape is None:
        return None
    sizes = (shape,) if checks.is_int(shape) else shape
    if not isinstance(sizes, (tuple, list)):
        raise KindError(
            f"initializer: shape must be an int or a tuple of ints, got {type(shape).__name__}", loc=user_loc()
        )
    return tuple(checks.integer("initializer", "a size in shape", d) for d in sizes)


__all__ = ["initializer"]
