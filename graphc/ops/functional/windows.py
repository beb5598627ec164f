"""Windows for spectra: weights of `window_length` places, one for a length of 1, none for 0.

Hann's and Kaiser's are float64 unless a dtype is given, the others float32, as in MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, user_loc
from graphc.ir.types import FLOATS
from graphc.ops.declared.rules import Array
from graphc.ops.functional.core import cast
from graphc.ops.functional.dynamic import known_values
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Tensor


def _window(
    owner: str, length: Any, periodic: bool, dtype: Any, weights: Callable[[int], Array], own: str = "float32"
) -> Tensor:
    """`weights` of a length, or of one more with the last left out if `periodic`, in a float dtype, `own` by default."""
    count = known_values(owner, length) if isinstance(length, Tensor) else length
    if np.size(count) != 1 or isinstance(count, bool) or np.asarray(count).dtype.kind not in "iu":
        raise ArgumentTypeError(f"{owner}: window_length must be an int, got {length!r}", loc=user_loc())
    count = int(np.asarray(count).item())
    if count < 0:
        raise ArgumentValueError(f"{owner}: window_length must be at least 0, got {count}", loc=user_loc())
    name = own if dtype is None else to_name(dtype)
    if name not in FLOATS:
        raise DTypeError(f"{owner}: dtype must be a float, got {name}", loc=user_loc())
    made = np.ones(count) if count < 2 else weights(count + 1)[:-1] if periodic else weights(count)
    return cast(Tensor.wrap(made), name)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """1 - |2 n / (N - 1) - 1|, with N one more where `periodic`."""
    return _window("bartlett_window", window_length, periodic, dtype, np.bartlett)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / (N - 1)) + 0.08 cos(4 pi n / (N - 1)), with N one more where `periodic`."""
    return _window("blackman_window", window_length, periodic, dtype, np.blackman)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Tensor:
    """alpha - beta cos(2 pi n / (N - 1)), with N one more where `periodic`."""

    def weights(count: int) -> Array:
        return np.asarray(alpha - beta * np.cos(2 * np.pi * np.arange(count) / (count - 1)))

    return _window("hamming_window", window_length, periodic, dtype, weights)


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """0.5 - 0.5 cos(2 pi n / (N - 1)), with N one more where `periodic`."""
    return _window("hann_window", window_length, periodic, dtype, np.hanning, "float64")


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Tensor:
    """I0(beta sqrt(1 - (2 n / (N - 1) - 1)^2)) / I0(beta), with N one more where `periodic`."""
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        dtype,
        lambda count: np.kaiser(count, beta),
        "float64",
    )


__all__ = [
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hann_window",
    "kaiser_window",
]
