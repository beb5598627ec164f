"""Matrices that make features of spectrograms: banks of filters, and the cosine transform (MindSpore:
mindspore.dataset.audio).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphc.dataset import checks
from graphc.dataset.audio.base import INT32_MAX, LARGEST, one_kind
from graphc.dataset.audio.kinds import MelType, NormMode, NormType
from graphc.errors import ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> npt.NDArray[np.float32]:
    """float32 [n_mels, n_mfcc]: the cosine transform (DCT-II) that makes n_mfcc cepstral coefficients of n_mels bands.

    Raises ArgumentTypeError or ArgumentValueError.
    """
    n_mfcc = checks.integer("create_dct", "n_mfcc", n_mfcc, 1)
    n_mels = checks.integer("create_dct", "n_mels", n_mels, 1)
    return cosines(n_mfcc, n_mels, one_kind(NormMode, "create_dct", "norm", norm))


def cosines(n_mfcc: int, n_mels: int, norm: NormMode) -> npt.NDArray[np.float32]:
    """`create_dct` of arguments that are right; n_mfcc may be 0."""
    angles = (np.pi / n_mels * (np.arange(n_mels) + 0.5)[:, None] * np.arange(n_mfcc)).astype(np.float32)
    waves: npt.NDArray[np.float32] = np.cos(angles.astype(np.float64)).astype(np.float32)
    if norm is NormMode.NONE:
        return waves * np.float32(2)
    waves[:, :1] *= np.float32(np.sqrt(0.5))
    return waves * np.float32(np.sqrt(2 / n_mels))


def _spaced(low: Any, high: Any, points: int, dtype: Any) -> Array:
    """[points]: numbers at equal distances, each step computed in `dtype`."""
    low, high = dtype(low), dtype(high)
    step = dtype(0) if points == 1 else dtype((high - low) / dtype(max(points - 1, 1)))
    made: Array = low + np.arange(points).astype(dtype) * step
    return made


def _triangles(points: Array, n_freqs: int, sample_rate: int) -> Array:
    """[n_freqs, bands]: triangles of height 1, each from one of the points over the next to the one after it."""
    dtype = points.dtype.type
    frequencies = _spaced(0, sample_rate / 2, n_freqs, dtype)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = -(points[:-2] - frequencies) / np.diff(points)[:-1]
        falling = (points[2:] - frequencies) / np.diff(points)[1:]
    lower = np.where(falling < rising, falling, rising)
    # Points that are one have no triangle: what is not a number there is 0.
    return np.where(lower > 0, lower, dtype(0))


def _bank(owner: str, n_freqs: Any, f_min: Any, f_max: Any, bands: tuple[str, Any], sample_rate: Any) -> None:
    """Check what both banks are made of."""
    checks.integer(owner, "n_freqs", n_freqs, 0, INT32_MAX)
    for name, value in (bands, ("sample_rate", sample_rate)):
        checks.integer(owner, name, value, 1, INT32_MAX)
    checks.number(owner, "f_min", f_min, 0.0, LARGEST)
    checks.number(owner, "f_max", f_max, 0.0, LARGEST)
    if f_max == 0:
        raise ArgumentValueError(f"{owner}: f_max must be above 0, got {f_max}", loc=user_loc())
    if f_min > f_max:
        raise ArgumentValueError(f"{owner}: f_min must be at most f_max, got {f_min} and {f_max}", loc=user_loc())


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> npt.NDArray[np.float32]:
    """float32 [n_freqs, n_filter]: triangular filters at equal distances from f_min to f_max, in Hz.

    Raises ArgumentTypeError or ArgumentValueError.
    """
    _bank("linear_fbanks", n_freqs, f_min, f_max, ("n_filter", n_filter), sample_rate)
    return lines(n_freqs, f_min, f_max, n_filter, sample_rate)


def lines(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> npt.NDArray[np.float32]:
    """`linear_fbanks` of arguments that are right."""
    return _triangles(_spaced(f_min, f_max, n_filter + 2, np.float32), n_freqs, sample_rate)


def _mel(hertz: float, scale: MelType) -> float:
    """Mel of a frequency: O'Shaughnessy's formula (HTK), or Slaney's, linear below 1000 Hz."""
    hertz = float(np.float32(hertz))
    if scale is MelType.HTK:
        return float(2595.0 * np.log10(1.0 + hertz / 700.0))
    return float(15 + np.log(hertz / 1000.0) * 27 / np.log(6.4)) if hertz >= 1000 else hertz * 3 / 200


def _hertz(mel: Array, scale: MelType) -> Array:
    """The inverse of `_mel`, of many."""
    wide = mel.astype(np.float64)
    if scale is MelType.HTK:
        made: Array = 700.0 * (10.0 ** (wide / 2595.0) - 1.0)
    else:
        made = np.where(wide < 15, wide * 200 / 3, 1000.0 * np.exp(np.log(6.4) / 27 * (wide - 15)))
    return made.astype(mel.dtype)


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: NormType = NormType.NONE,
    mel_type: MelType = MelType.HTK,
) -> npt.NDArray[np.float32]:
    """float32 [n_freqs, n_mels]: triangular filters at equal distances of mel from f_min to f_max, in Hz.

    norm: NormType.SLANEY makes the area of each equal. Raises ArgumentTypeError or ArgumentValueError.
    """
    owner = "melscale_fbanks"
    _bank(owner, n_freqs, f_min, f_max, ("n_mels", n_mels), sample_rate)
    one_kind(NormType, owner, "norm", norm)
    one_kind(MelType, owner, "mel_type", mel_type)
    return mels(n_freqs, f_min, f_max, n_mels, sample_rate, norm, mel_type)


def mels(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: NormType,
    mel_type: MelType,
    dtype: Any = np.float32,
) -> Array:
    """`melscale_fbanks` of arguments that are right, computed in `dtype`; n_mels may be 0."""
    points = _hertz(_spaced(_mel(f_min, mel_type), _mel(f_max, mel_type), n_mels + 2, dtype), mel_type)
    bank = _triangles(points, n_freqs, sample_rate)
    if norm is NormType.SLANEY:
        bank *= dtype(2) / (points[2:] - points[:-2])
    return bank
