"""Polynomials as vectors of their coefficients, that of the highest power first."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.numpy.calculus import convolve
from graphc.numpy.convert import common, count, floats, promoted, tensor
from graphc.numpy.elementwise import add
from graphc.numpy.shapes import concatenate
from graphc.ops.functional.core import cast_to
from graphc.ops.tensor.tensor import Tensor


def _polynomial(owner: str, given: Any) -> Tensor:
    x = tensor(owner, given, "a polynomial")
    if x.ndim > 1:
        raise ShapeError(f"{owner}: a polynomial is {x.tensor_type}, expected a number or a vector", loc=user_loc())
    return x if x.ndim else ops.reshape(x, (1,))


def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials."""
    return _sum(_polynomial("polyadd", a1), _polynomial("polyadd", a2))


def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials."""
    return _sum(_polynomial("polysub", a1), ops.neg(_polynomial("polysub", a2)))


def _sum(x: Tensor, y: Tensor) -> Tensor:
    longer, shorter = (x, y) if x.size >= y.size else (y, x)
    rest = longer.size - shorter.size
    made = add(longer[rest:], shorter)
    return concatenate((longer[:rest], made)) if rest else made


def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials."""
    return convolve(_polynomial("polymul", a1), _polynomial("polymul", a2))


def polyval(p: Any, x: Any) -> Tensor:
    """A polynomial at each element of x, by Horner's scheme: float32, of float64 float64."""
    factors, at = promoted(_polynomial("polyval", p), tensor("polyval", x))
    wide = common(factors.tensor_type.dtype, "float32")
    factors, at = cast_to(factors, wide), cast_to(at, wide)
    value = ops.zeros_like(at)
    for k in range(factors.size):
        value = ops.add(ops.mul(value, at), factors[k])
    return value


def polyder(p: Any, m: int = 1) -> Tensor:
    """The m-th derivative of a polynomial; a vector without elements, float32, if nothing is left."""
    x = _polynomial("polyder", p)
    times = count("polyder", "m", m)
    if times >= x.size:
        return ops.zeros((0,), "float32")
    for _ in range(times):
        powers = Tensor([*range(x.size - 1, 0, -1)], "int32")
        x = ops.mul(*promoted(x[:-1], powers))
    return x


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The m-th integral of a polynomial; of integers in float32. k: the constants, one for all or one each; 0 by default."""
    x = _polynomial("polyint", p)
    times = count("polyint", "m", m)
    if not times:
        return x.value()
    constants = _polynomial("polyint", 0 if k is None else k)
    if constants.size not in (1, times):
        raise ShapeError(f"polyint: k is {constants.tensor_type}, expected 1 or {times} numbers", loc=user_loc())
    constants = cast_to(constants, x.tensor_type.dtype) if k is None else constants
    for i in range(times):
        powers = Tensor([*range(x.size, 0, -1)], "float32")
        new = ops.div(floats(x), cast_to(powers, floats(x).tensor_type.dtype))
        at = 0 if constants.size == 1 else i
        x = concatenate((new, constants[at : at + 1]))
    return x


__all__ = [
    "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval",
]  # fmt: skip
