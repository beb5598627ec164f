"""Discrete cosine transforms with SciPy's names (MindSpore: mindspore.scipy.fft): the second kind and its inverse, orthogonal.

int16 to int64, float16 and float32 give float32; of complex numbers the parts are transformed. They have gradients and are
compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.internal_errors import doors
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.fourier import resized
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer
from graphc.validation.unused_arguments import only

_TAKEN = ("int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")


def dct(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The cosine transform along an axis, cut off or filled up with zeros to n elements.

    type must be 2; norm is "ortho", by default too.
    """
    return _along("dct", x, type, n, axis, norm, False)


def idct(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `dct`."""
    return _along("idct", x, type, n, axis, norm, True)


def dctn(x: Tensor, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """`dct` along axes, to s elements; by default along all, or the last ones where s is given."""
    return _over("dctn", x, type, s, axes, norm, False)


def idctn(x: Tensor, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `dctn`."""
    return _over("idctn", x, type, s, axes, norm, True)


# ---- arguments


def _operand(owner: str, x: Any, type: Any, norm: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{owner}: x must be a Tensor, got {x.__class__.__name__}", loc=user_loc())
    if x.tensor_type.dtype not in _TAKEN:
        raise DTypeError(f"{owner}: x is {x.tensor_type}, expected dtype {' or '.join(_TAKEN)}", loc=user_loc())
    if not x.ndim:
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected at least one axis", loc=user_loc())
    only(owner, "type", type, 2)
    only(owner, "norm", norm, None, "ortho")
    kept = x.tensor_type.is_complex or x.tensor_type.dtype in ("float32", "float64")
    return x if kept else cast_to(x, "float32")


def _along(owner: str, x: Any, type: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Tensor:
    given = _operand(owner, x, type, norm)
    at = check_axis(owner, integer(owner, "axis", axis), given.ndim)
    return _transformed(given, at, given.shape[at] if n is None else integer(owner, "n", n, 1), inverse)


def _over(owner: str, x: Any, type: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Tensor:
    given = _operand(owner, x, type, norm)
    for name, value in (("s", s), ("axes", axes)):
        if value is not None and not isinstance(value, (tuple, list)):
            raise ArgumentTypeError(f"{owner}: {name} must be a tuple of ints, got {value!r}", loc=user_loc())
    sizes = None if s is None else [integer(owner, "s", size, 1) for size in s]
    if axes is None:
        count = given.ndim if sizes is None else len(sizes)
        places = list(range(max(given.ndim - count, 0), given.ndim))
    else:
        places = [check_axis(owner, integer(owner, "axes", a), given.ndim) for a in axes]
    if len(set(places)) != len(places) or (sizes is not None and len(sizes) != len(places)):
        raise ArgumentValueError(
            f"{owner}: s={s!r} and axes={axes!r} must name each axis of {given.tensor_type} once", loc=user_loc()
        )
    for k, at in enumerate(places):
        given = _transformed(given, at, given.shape[at] if sizes is None else sizes[k], inverse)
    return given if places else given.value()


# ---- transforms


def _transformed(x: Tensor, axis: int, size: int, inverse: bool) -> Tensor:
    x = resized(x, axis, size)
    if not x.size:
        return x.value()
    one = _inverse if inverse else _forward
    if x.tensor_type.is_complex:
        return call("Complex", one(ops.real(x), axis, size), one(ops.imag(x), axis, size))
    return one(x, axis, size)


def _order(size: int) -> np.ndarray[Any, Any]:
    """Even places, then odd ones backwards: a cosine transform of what stands there is a Fourier transform (Makhoul, 1980)."""
    return np.concatenate([np.arange(0, size, 2), np.arange(1, size, 2)[::-1]])


def _turns(x: Tensor, axis: int, size: int, scale: Any) -> tuple[Tensor, Tensor]:
    """Cosines and sines of half steps, of the first half of the frequencies, times a scale for each of them."""
    angles = np.pi / (2 * size) * np.arange(size // 2 + 1)
    shape = (-1, *(1,) * (x.ndim - 1 - axis))
    made = [(part * scale).astype(x.tensor_type.numpy).reshape(shape) for part in (np.cos(angles), np.sin(angles))]
    return Tensor(made[0]), Tensor(made[1])


def _scale(size: int) -> np.ndarray[Any, Any]:
    """What makes the transform orthogonal."""
    made = np.full(size // 2 + 1, math.sqrt(2 / size))
    made[0] = math.sqrt(1 / size)
    return made


def _part(x: Tensor, axis: int, part: slice) -> Tensor:
    made: Tensor = x[(slice(None),) * axis + (part,)]
    return made


def _forward(x: Tensor, axis: int, size: int) -> Tensor:
    order = Tensor(_order(size).astype(np.int32))
    made = call("RFFT", ops.gather(x, order, axis), axis=axis, norm="backward")
    c, s = _turns(x, axis, size, _scale(size))
    re, im = ops.real(made), ops.imag(made)
    low = ops.add(ops.mul(re, c), ops.mul(im, s))
    high = ops.sub(ops.mul(re, s), ops.mul(im, c))
    # Frequency n - k is that of sines.
    high = ops.flip(_part(high, axis, slice(1, (size + 1) // 2)), (axis,))
    return ops.concat((low, high), axis)


def _inverse(x: Tensor, axis: int, size: int) -> Tensor:
    half = size // 2 + 1
    low, high = _part(x, axis, slice(0, half)), _part(x, axis, slice(size - half + 1, size))
    zero = ops.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
    high = ops.concat((zero, ops.flip(high, (axis,))), axis)
    c, s = _turns(x, axis, size, 1 / _scale(size))
    re = ops.add(ops.mul(low, c), ops.mul(high, s))
    im = ops.sub(ops.mul(low, s), ops.mul(high, c))
    made = call("IRFFT", call("Complex", re, im), axis=axis, size=size, norm="backward")
    places = np.argsort(_order(size)).astype(np.int32)
    placed: Tensor = ops.gather(made, Tensor(places), axis)
    return placed


__all__ = ["dct", "dctn", "idct", "idctn"]

doors(globals(), __all__, __name__)
