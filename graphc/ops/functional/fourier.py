"""Fourier transforms with NumPy's meaning and MindSpore's names and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.fourier import NORMS, OPPOSITE
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.complex import as_complex, conj, real, view_as_real
from graphc.ops.functional.core import call, cast_to
from graphc.ops.functional.elementwise import mul
from graphc.ops.functional.joining import concat
from graphc.ops.functional.padding import pad
from graphc.ops.functional.reordering import roll
from graphc.ops.functional.shapes import swapaxes
from graphc.ops.functional.slicing import gather, getitem
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Tensor, as_tensor

Sizes = int | Sequence[int] | None

_TAKEN = ("int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def _operand(name: str, input: Any, *, is_real: bool = False) -> Tensor:
    """The operand in a float or complex dtype that is transformed: small floats and integers in float32."""
    x = as_tensor(input, f"{name}: input")
    if x.tensor_type.dtype not in _TAKEN or (is_real and x.tensor_type.is_complex):
        taken = _TAKEN[:-2] if is_real else _TAKEN
        raise DTypeError(f"{name}: input is {x.tensor_type}, expected dtype {' or '.join(taken)}", loc=user_loc())
    if x.ndim == 0:
        raise ShapeError(f"{name}: input is {x.tensor_type}, expected at least one axis", loc=user_loc())
    return x if x.tensor_type.dtype in ("float32", "float64") or x.tensor_type.is_complex else cast_to(x, "float32")


def _wrong(name: str, what: str, expected: str, value: Any) -> ArgumentValueError:
    return ArgumentValueError(f"{name}: {what} must be {expected}, got {value!r}", loc=user_loc())


def _norm(name: str, norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in NORMS:
        raise _wrong(name, "norm", f"one of {', '.join(NORMS)}", norm)
    return norm


def _many(name: str, what: str, value: Any) -> tuple[int, ...]:
    given = (value,) if isinstance(value, (int, np.integer)) else value
    if not isinstance(given, (tuple, list)) or not all(
        isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in given
    ):
        raise ArgumentTypeError(f"{name}: {what} must be an int or ints, got {value!r}", loc=user_loc())
    return tuple(map(int, given))


def _axes(name: str, x: Tensor, s: Sizes, dim: Sizes) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Axes, and the sizes asked for along them: by default all axes, or the last ones if there are sizes."""
    sizes = None if s is None else _many(name, "s", s)
    if dim is None:
        count = x.ndim if sizes is None else len(sizes)
        if count > x.ndim:
            raise ArgumentValueError(f"{name}: s has {count} sizes, input is {x.tensor_type}", loc=user_loc())
        axes = tuple(range(x.ndim - count, x.ndim))
    else:
        axes = tuple(check_axis(name, a, x.ndim) for a in _many(name, "dim", dim))
    if len(set(axes)) != len(axes):
        raise ArgumentValueError(f"{name}: dim names an axis twice: {dim}", loc=user_loc())
    if sizes is not None and len(sizes) != len(axes):
        raise ArgumentValueError(f"{name}: s has {len(sizes)} sizes, dim {len(axes)} axes", loc=user_loc())
    if not axes:
        raise ArgumentValueError(f"{name}: dim names no axis", loc=user_loc())
    for size in sizes or ():
        if size < 1:
            raise ArgumentValueError(f"{name}: a size must be at least 1, got {size}", loc=user_loc())
    return axes, sizes


def resized(x: Tensor, axis: int, size: int) -> Tensor:
    """x with so many elements along an axis: cut off at its end, or zeros there."""
    more = size - x.shape[axis]
    if more > 0:
        shape = (*x.shape[:axis], more, *x.shape[axis + 1 :])
        return concat([x, Tensor(np.zeros(shape, x.tensor_type.numpy))], axis)
    return x if not more else _cut(x, axis, 0, size)


def _cut(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return getitem(x, (*(slice(None),) * axis, slice(start, stop)))


def _transform(name: str, input: Any, s: Sizes, dim: Sizes, norm: str | None, inverse: bool) -> Tensor:
    x, scaled = _operand(name, input), _norm(name, norm)
    axes, sizes = _axes(name, x, s, dim)
    for axis, size in zip(axes, sizes or (), strict=False):
        x = resized(x, axis, size)
    return call("FFT", as_complex(x), axes=axes, inverse=inverse, norm=scaled)


def _of_real(name: str, input: Any, s: Sizes, dim: Sizes, norm: str | None) -> Tensor:
    """The transform of real numbers: of its last axis the first half, which tells the other one."""
    x = _operand(name, input, is_real=True)
    axes, sizes = _axes(name, x, s, dim)
    *before, last = axes
    x = x if sizes is None else resized(x, last, sizes[-1])
    made = call("RFFT", x, axis=last, norm=_norm(name, norm))
    return _transform(name, made, None if sizes is None else sizes[:-1], before, norm, False) if before else made


def _to_real(name: str, input: Any, s: Sizes, dim: Sizes, norm: str | None) -> Tensor:
    """The inverse transform of such a half, whose other one is its conjugate: real."""
    x, scaled = as_complex(_operand(name, input)), _norm(name, norm)
    axes, sizes = _axes(name, x, s, dim)
    *before, last = axes
    size = 2 * (x.shape[last] - 1) if sizes is None else sizes[-1]
    if size < 1:
        raise ArgumentValueError(
            f"{name}: the result would have no elements along axis {last}, input is {x.tensor_type}",
            loc=user_loc(),
            help="say how many: n, or s",
        )
    if before:
        x = _transform(name, x, None if sizes is None else sizes[:-1], before, scaled, True)
    return call("IRFFT", resized(x, last, size // 2 + 1), axis=last, size=size, norm=scaled)


# ---- one axis


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along an axis, cut off or filled up with zeros to n elements: complex.

    norm: "backward" (None) divides the inverse by n, "forward" this one, "ortho" both by its root. int16 to int64, float16
    and bfloat16 are taken in float32. Raises DTypeError for other dtypes, ArgumentValueError for a wrong n, dim or norm.
    """
    return _transform("fft", input, n, dim, norm, False)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _transform("ifft", input, n, dim, norm, True)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of `fft` of real numbers. DTypeError for complex ones."""
    return _of_real("rfft", input, n, dim, norm)


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: n real numbers, by default 2 (m - 1) of m elements."""
    return _to_real("irfft", input, n, dim, norm)


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of a Hermitian signal that is given by its first half: n real numbers, by default 2 (m - 1)."""
    return hfftn(input, n, dim, norm)


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return ihfftn(input, n, dim, norm)


# ---- two axes, and any number of them


def fft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft` along two axes, to s elements."""
    return _transform("fft2", input, s, dim, norm, False)


def ifft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`."""
    return _transform("ifft2", input, s, dim, norm, True)


def rfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft2` of real numbers: of the last axis the first half."""
    return _of_real("rfft2", input, s, dim, norm)


def irfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`: real."""
    return _to_real("irfft2", input, s, dim, norm)


def hfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft2` of a Hermitian signal that is given by the first half of its last axis: real."""
    return hfftn(input, s, dim, norm)


def ihfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `hfft2`."""
    return ihfftn(input, s, dim, norm)


def fftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """`fft` along axes, to s elements; by default along all, or the last ones where s is given."""
    return _transform("fftn", input, s, dim, norm, False)


def ifftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`."""
    return _transform("ifftn", input, s, dim, norm, True)


def rfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: of the last axis the first half."""
    return _of_real("rfftn", input, s, dim, norm)


def irfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`: real."""
    return _to_real("irfftn", input, s, dim, norm)


def hfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """`fftn` of a Hermitian signal that is given by the first half of its last axis: real."""
    return _to_real("hfftn", conj(_operand("hfftn", input)), s, dim, OPPOSITE[_norm("hfftn", norm)])


def ihfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`, of real numbers."""
    return conj(_of_real("ihfftn", input, s, dim, OPPOSITE[_norm("ihfftn", norm)]))


# ---- frequencies


def _frequencies(name: str, places: Any, n: Any, d: Any, dtype: Any) -> Tensor:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise _wrong(name, "n", "an int of at least 1", n)
    if isinstance(d, bool) or not isinstance(d, (int, float)) or d == 0:
        raise _wrong(name, "d", "a number other than 0", d)
    return Tensor(places / (n * d), "float32" if dtype is None else to_name(dtype))


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies of `fft` of n samples that are d apart, in float32 if no dtype is given: the negative ones last."""
    places = np.arange(n) if isinstance(n, int) else 0
    return _frequencies("fftfreq", np.where(places < (np.size(places) + 1) // 2, places, places - n), n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies of `rfft`."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1) if isinstance(n, int) else 0, n, d, dtype)


def _shifted(name: str, input: Any, dim: Sizes, back: bool) -> Tensor:
    x = as_tensor(input, f"{name}: input")
    axes = range(x.ndim) if dim is None else [check_axis(name, a, x.ndim) for a in _many(name, "dim", dim)]
    for axis in axes:
        size = x.shape[axis]
        x = roll(x, -(size // 2) if back else size // 2, axis) if size else x
    return x.value()


def fftshift(input: Tensor, dim: Sizes = None) -> Tensor:
    """The frequency 0 moved from the beginning of axes (by default of all) to their middle."""
    return _shifted("fftshift", input, dim, False)


def ifftshift(input: Tensor, dim: Sizes = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", input, dim, True)


def fft_with_size(
    input: Tensor,
    signal_ndim: int,
    inverse: bool,
    real: bool,
    norm: str = "backward",
    onesided: bool = True,
    signal_sizes: Sequence[int] = (),
) -> Tensor:
    """A transform of the last `signal_ndim` axes: `real` from real numbers, or with `inverse` to them, `onesided` as a half.

    signal_sizes: the sizes of the result of an inverse, real, one-sided one.
    """
    name = "FFTWithSize"
    if isinstance(signal_ndim, bool) or signal_ndim not in (1, 2, 3):
        raise _wrong(name, "signal_ndim", "1, 2 or 3", signal_ndim)
    x = as_tensor(input, f"{name}: input")
    if x.ndim < signal_ndim:
        raise ShapeError(f"{name}: input is {x.tensor_type}, expected at least {signal_ndim} axes", loc=user_loc())
    axes = tuple(range(x.ndim - signal_ndim, x.ndim))
    if real and not inverse:
        made = _of_real(name, x, None, axes, norm)
        return made if onesided else _transform(name, x, None, axes, norm, False)
    if x.tensor_type.dtype not in ("complex64", "complex128"):
        raise DTypeError(f"{name}: input is {x.tensor_type}, expected a complex tensor", loc=user_loc())
    if not real:
        return _transform(name, x, None, axes, norm, inverse)
    if onesided:
        return _to_real(name, x, tuple(signal_sizes) or None, axes, norm)
    return _real_part(_transform(name, x, None, axes, norm, True))


_real_part = real


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "REFLECT",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Fourier transforms of windows of a signal [L] or signals [B, L]: [..., frequencies, windows], or [..., 2] behind that.

    hop_length: from window to window, n_fft // 4 by default. window: win_length (n_fft) weights, 1 by default, with zeros
    on both sides up to n_fft. center: the signal is padded on both sides by n_fft // 2, with pad_mode "REFLECT", "EDGE" or
    "CONSTANT". normalized: divided by sqrt(n_fft). onesided: the first half only, by default of real signals.
    return_complex: by default of complex signals; else real and imaginary parts stand along a new last axis.
    """
    name = "stft"
    signal = _operand(name, x)
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    for what, value in (("n_fft", n_fft), ("hop_length", hop), ("win_length", width)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _wrong(name, what, "an int of at least 1", value)
    modes = {"REFLECT": "reflect", "EDGE": "replicate", "CONSTANT": "constant"}
    if pad_mode.upper() not in modes:
        raise _wrong(name, "pad_mode", f"one of {', '.join(modes)}", pad_mode)
    if signal.ndim > 2 or width > n_fft:
        raise ArgumentValueError(
            f"{name}: x is {signal.tensor_type} and win_length {width}, expected [L] or [B, L] and at most n_fft, {n_fft}",
            loc=user_loc(),
        )
    half_only = not signal.tensor_type.is_complex if onesided is None else onesided
    if half_only and signal.tensor_type.is_complex:
        raise ArgumentValueError(f"{name}: onesided is for real signals, x is {signal.tensor_type}", loc=user_loc())
    if center:
        signal = _surrounded(signal, n_fft // 2, modes[pad_mode.upper()])
    length = signal.shape[-1]
    if length < n_fft:
        raise ShapeError(f"{name}: the signal has {length} elements, a window {n_fft}", loc=user_loc())
    places = np.arange(0, length - n_fft + 1, hop)[:, None] + np.arange(n_fft)
    frames = mul(gather(signal, Tensor(places), signal.ndim - 1), _window(name, window, width, n_fft, signal))
    axis, norm = frames.ndim - 1, "ortho" if normalized else "backward"
    if half_only:
        made = call("RFFT", frames, axis=axis, norm=norm)
    else:
        made = call("FFT", as_complex(frames), axes=(axis,), inverse=False, norm=norm)
    made = swapaxes(made, -1, -2)
    wants_complex = signal.tensor_type.is_complex if return_complex is None else return_complex
    return made if wants_complex else view_as_real(made)


def _surrounded(x: Tensor, count: int, mode: str) -> Tensor:
    """Signals with so many elements more on either side."""
    if mode == "reflect" and count >= x.shape[-1]:
        raise ShapeError(f"stft: {count} elements cannot be reflected, x is {x.tensor_type}", loc=user_loc())
    size = x.shape[-1]
    places = np.arange(-count, size + count)
    if mode == "constant":
        return pad(x, (count, count))
    inside = places.clip(0, size - 1) if mode == "replicate" else (size - 1) - np.abs(size - 1 - np.abs(places))
    return gather(x, Tensor(inside), x.ndim - 1)


def _window(name: str, window: Tensor | None, width: int, n_fft: int, signal: Tensor) -> Tensor:
    part = signal.tensor_type.part
    made = Tensor(np.ones(width, part)) if window is None else as_tensor(window, f"{name}: window")
    if made.shape != (width,):
        raise ShapeError(f"{name}: window is {made.tensor_type}, expected {width} weights", loc=user_loc())
    left = (n_fft - width) // 2
    made = pad(made, (left, n_fft - width - left)) if width < n_fft else made
    return as_complex(cast_to(made, part)) if signal.tensor_type.is_complex else cast_to(made, part)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn", "stft",
]  # fmt: skip
