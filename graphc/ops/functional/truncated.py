"""Normal numbers between bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import cast, cast_to
from graphc.ops.functional.elementwise import (
    add,
    erfc,
    exp,
    greater,
    less,
    log,
    maximum,
    minimum,
    mul,
    neg,
    sqrt,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.random import uniform_from
from graphc.ops.functional.shapes import reshape
from graphc.ops.functional.special import erfinv
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: From how many deviations on the tail is drawn by its own formula; there the inverse of the distribution has few digits left.
_TAIL = 5.0


def truncated_normal(shape: Sequence[int], parameters: Sequence[Tensor], seed: int | None) -> Tensor:
    """[batch, ...] of a shape: normal numbers between bounds, by the inverse of the distribution.

    parameters: means, deviations, lower and upper bounds, numbers or [batch], of one float dtype, which the result has. Beyond 5
    deviations the numbers are those of the tail e^(-x^2 / 2) x. Raises ShapeError, DTypeError.
    """
    owner = "ParameterizedTruncatedNormal"
    given = [as_tensor(p, owner) for p in parameters]
    dtype = given[0].tensor_type.dtype
    if len(shape) < 2:
        raise ShapeError(f"{owner}: shape is {tuple(shape)}, expected two axes or more", loc=user_loc())
    shown = ", ".join(str(p.tensor_type) for p in given)
    if any(p.tensor_type.dtype != dtype for p in given) or dtype not in ("float16", "float32", "float64"):
        raise DTypeError(f"{owner}: got {shown}, expected floats of one dtype", loc=user_loc())
    if any(p.shape not in ((), (1,), (shape[0],)) for p in given):
        raise ShapeError(
            f"{owner}: got {shown}, expected numbers or [{shape[0]}]",
            loc=user_loc(),
        )
    ones = (1,) * (len(shape) - 1)
    mean, deviation, least, most = (reshape(cast(p, "float64"), (p.size, *ones) if p.ndim else ()) for p in given)
    low, high = (div(sub(bound, mean), deviation) for bound in (least, most))
    # Where both bounds lie above the middle it is done at their mirror images, where small probabilities have all their digits.
    mirrored = greater(low, 0.0)
    a, b = select(mirrored, neg(high), low), select(mirrored, neg(low), high)
    u = cast(uniform_from(generator(seed), shape), "float64")
    below, above = (mul(erfc(mul(x, -(0.5**0.5))), 0.5) for x in (a, b))
    inner = mul(erfinv(sub(mul(add(below, mul(u, sub(above, below))), 2.0), 1.0)), math.sqrt(2.0))
    end = minimum(b, -1.0)  # The tail from b down to a; elsewhere anything finite.
    share = exp(mul(sub(square(end), square(minimum(a, end))), 0.5))
    tail = neg(sqrt(sub(square(end), mul(log(sub(1.0, mul(u, sub(1.0, share)))), 2.0))))
    drawn = select(less(b, -_TAIL), tail, inner)
    drawn = select(mirrored, neg(drawn), drawn)
    return cast_to(minimum(maximum(add(mean, mul(deviation, drawn)), least), most), dtype)
