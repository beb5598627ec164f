"""Discrete Fourier transforms with NumPy's names of arguments (MindSpore: mindspore.numpy.fft), over those of graphc.ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphc import ops
from graphc.internal_errors import doors
from graphc.ops.tensor.tensor import Tensor

Sizes = int | Sequence[int] | None


def _along(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The transform along one axis, of n values of it: cut, or padded with zeros."""

    def transform(a: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
        return function(a, n, axis, norm)

    return _named(transform, function)


def _over(function: Callable[..., Tensor], default: Sizes) -> Callable[..., Tensor]:
    """The transform along several axes, of s values of each."""

    def transform(a: Tensor, s: Sizes = None, axes: Sizes = default, norm: str | None = None) -> Tensor:
        return function(a, s, axes, norm)

    return _named(transform, function)


def _named(made: Any, function: Any) -> Callable[..., Tensor]:
    made.__name__ = made.__qualname__ = function.__name__
    made.__doc__ = function.__doc__
    return made  # type: ignore[no-any-return]


fft, ifft, rfft, irfft, hfft, ihfft = map(_along, (ops.fft, ops.ifft, ops.rfft, ops.irfft, ops.hfft, ops.ihfft))
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (
    _over(function, (-2, -1)) for function in (ops.fft2, ops.ifft2, ops.rfft2, ops.irfft2, ops.hfft2, ops.ihfft2)
)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (
    _over(function, None) for function in (ops.fftn, ops.ifftn, ops.rfftn, ops.irfftn, ops.hfftn, ops.ihfftn)
)


def fftshift(x: Tensor, axes: Sizes = None) -> Tensor:
    """The frequency zero brought from the start to the middle of the axes, by default of all."""
    return ops.fftshift(x, axes)


def ifftshift(x: Tensor, axes: Sizes = None) -> Tensor:
    """The frequency zero brought from the middle to the start of the axes, by default of all."""
    return ops.ifftshift(x, axes)


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies of `fft` of n values at distances d, the negative ones behind."""
    return ops.fftfreq(n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies of `rfft` of n values at distances d."""
    return ops.rfftfreq(n, d, dtype)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

doors(globals(), __all__, __name__)
