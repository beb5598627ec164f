"""Clipping: tensors and nests of them held between bounds, or scaled down to a norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, bound_in, cast, pair, real_only
from graphc.ops.functional.elementwise import abs_, equal, greater, less, maximum, minimum, pow_, sqrt, square
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_max, reduce_sum
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor

Tensors = Tensor | tuple[Any, ...] | list[Any]


class NonFiniteNormError(GraphcError, RuntimeError):
    """The norm of what should be clipped is infinite or NaN, and error_if_nonfinite was asked for."""


def _tensors(owner: str, x: Any) -> list[Tensor]:
    """The tensors of a tensor, tuple or list."""
    if isinstance(x, Tensor):
        return [x]
    if not isinstance(x, (tuple, list)):
        raise ArgumentTypeError(
            f"{owner}: x must be a Tensor or a tuple or list of Tensors, got {type(x).__name__}", loc=user_loc()
        )
    if not all(isinstance(t, Tensor) for t in x):
        kinds = ", ".join(sorted({type(t).__name__ for t in x}))
        raise ArgumentTypeError(
            f"{owner}: x must hold Tensors only, got a {type(x).__name__} of {kinds}", loc=user_loc()
        )
    if not x:
        raise ArgumentValueError(f"{owner}: x holds no tensors", loc=user_loc())
    return list(x)


def _like(x: Any, made: list[Tensor]) -> Any:
    """One tensor, or a tuple or list of them, as x is."""
    if isinstance(x, Tensor):
        return made[0]
    return made if isinstance(x, list) else tuple(made)


def clip_by_value(x: Tensors, clip_value_min: Operand | None = None, clip_value_max: Operand | None = None) -> Any:
    """Every element held between two bounds, in x's dtype; NaN stays NaN (MindSpore: ops.clip_by_value).

    x: a Tensor, or a tuple or list of them, for which a tuple comes back. Bounds: numbers or tensors that broadcast;
    one may be None. Where the lower bound is above the upper, the result is the upper. Raises ArgumentTypeError for
    other types, ArgumentValueError if both bounds are None.
    """
    if clip_value_min is None and clip_value_max is None:
        raise ArgumentValueError("clip_by_value: a lower or an upper bound must be given", loc=user_loc())
    for name, bound in (("clip_value_min", clip_value_min), ("clip_value_max", clip_value_max)):
        if bound is not None and not isinstance(bound, (Tensor, bool, int, float, np.generic)):
            raise ArgumentTypeError(
                f"clip_by_value: {name} must be a Tensor, a number or None, got {type(bound).__name__}", loc=user_loc()
            )

    def one(t: Tensor) -> Tensor:
        if clip_value_min is not None:
            t = maximum(t, bound_in(clip_value_min, t.tensor_type.dtype))
        if clip_value_max is not None:
            t = minimum(t, bound_in(clip_value_max, t.tensor_type.dtype))
        return t

    made = [one(t) for t in _tensors("clip_by_value", x)]
    return made[0] if isinstance(x, Tensor) else tuple(made)


def global_norm(x: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all elements of all tensors together: float32[]. Squares and the sum over one tensor are taken in
    that tensor's dtype (float16 may overflow to infinity), the rest in float32.
    """
    squares = [cast(reduce_sum(square(t)), "float32") for t in x]
    total = squares[0]
    for s in squares[1:]:
        total = total + s
    return sqrt(total)


def clip_by_global_norm(x: Tensors, clip_norm: Operand = 1.0, use_norm: None = None) -> Any:
    """x * clip_norm / max(norm, clip_norm) with the norm of all tensors together (MindSpore: ops.clip_by_global_norm).

    x: a tuple or list of float Tensors (or one), which is also what comes back, each in its own dtype; of a list MindSpore
    makes a tuple outside of its graph mode. A NaN norm leaves x as it is.
    clip_norm: a number > 0; use_norm: None. Raises ArgumentTypeError, ArgumentValueError.
    """
    real_only("clip_by_global_norm", *(x if isinstance(x, (tuple, list)) else (x,)))
    limit = scalar("clip_by_global_norm", "clip_norm", clip_norm, (">", 0), wanted="be greater than 0")
    if use_norm is not None:
        raise ArgumentValueError(f"clip_by_global_norm: use_norm must be None, got {use_norm!r}", loc=user_loc())
    tensors = _tensors("clip_by_global_norm", x)
    norm = global_norm(tensors)
    norm = select(norm >= limit, norm, limit)
    whole = [cast(t, "float32") for t in tensors]
    # Once for each parameter: what changes no bit is not even traced.
    scaled = whole if not isinstance(limit, Tensor) and limit == 1 else [t * limit for t in whole]
    return _like(x, [cast(s / norm, t.dtype) for s, t in zip(scaled, tensors, strict=True)])


def _norm(x: Tensor, order: Any) -> Tensor:
    if isinstance(order, Tensor):
        endless = equal(abs_(order), math.inf)
        finite = select(endless, 2.0, order)
        return select(endless, reduce_max(abs_(x)), pow_(reduce_sum(pow_(x, finite)), div(1.0, finite)))
    if math.isinf(order):
        return reduce_max(abs_(x))
    if order == 2:
        return sqrt(reduce_sum(square(x)))
    return pow_(reduce_sum(pow_(x, order)), 1.0 / order)


def clip_by_norm(x: Tensors, max_norm: Operand, norm_type: Operand = 2.0, error_if_nonfinite: bool = False) -> Any:
    """x * min(max_norm / (norm + 1e-6), 1) with the norm of all tensors' norms (MindSpore: ops.clip_by_norm).

    x: a float Tensor, or a tuple or list of them, of which a tuple comes back. norm_type: the order of the norm,
    infinity for the largest absolute value; other orders take sum(x**order)**(1/order), as MindSpore, without
    absolute values. A NaN norm leaves x as it is. error_if_nonfinite: NonFiniteNormError (a RuntimeError) if the norm
    is infinite or NaN; not inside a compiled Cell. Raises ArgumentTypeError, ArgumentValueError.
    """
    tensors = _tensors("clip_by_norm", x)
    max_norm, norm_type = (scalar("clip_by_norm", *x) for x in (("max_norm", max_norm), ("norm_type", norm_type)))
    norms = [reshape(_norm(t, norm_type), (1,)) for t in tensors]
    total = _norm(concat(norms), norm_type)
    if error_if_nonfinite:
        if dispatch.recorder.get() is not None:
            raise ArgumentValueError(
                "clip_by_norm: error_if_nonfinite=True cannot raise inside a compiled Cell",
                loc=user_loc(),
                help="return the norm and look at it there",
            )
        if not math.isfinite(float(total)):
            raise NonFiniteNormError(f"clip_by_norm: the norm of order {norm_type:g} is {float(total)}", loc=user_loc())
    factor = max_norm / (total + 1e-6)
    factor = select(factor < 1.0, factor, 1.0)
    made = [t * factor for t in tensors]
    return made[0] if isinstance(x, Tensor) else tuple(made)


# ---- bounds


@method("clamp", "clip")
def clamp(input: Any, min: Operand | None = None, max: Operand | None = None) -> Any:
    """x held between two bounds, of which one may be missing; tuples and lists item by item. The dtype is the common one of all;
    integers beside a number that is a float become float32.
    """
    if isinstance(input, (tuple, list)):
        return type(input)(clamp(x, min, max) for x in input)
    if min is None and max is None:
        raise ArgumentValueError("clamp needs a lower or an upper bound", loc=user_loc())
    for bound in (input, min, max):
        if isinstance(bound, bool) or (isinstance(bound, Tensor) and bound.tensor_type.dtype == "bool"):
            raise ArgumentValueError("clamp: a bool has no order, and is no bound", loc=user_loc())
    for bound in (min, max):
        if bound is not None:
            input = pair("clamp", input, bound)[0]
    # On a tie with a bound the whole gradient goes to x, with clip_by_value half of it: as in MindSpore.
    if min is not None:
        low = cast(min, input.dtype)
        input = select(less(input, low), low, input)
    if max is not None:
        high = cast(max, input.dtype)
        input = select(greater(input, high), high, input)
    return input


__all__ = [
    "clamp",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
]
