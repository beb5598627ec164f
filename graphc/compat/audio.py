"""`mindspore.dataset.audio` and its `utils`: the kinds that transforms of sounds are told by, and matrices of their features.

The transforms themselves are left out (`graphc.instead` says what to use).
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from graphc.dataset import checks
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

#: What MindSpore takes for a frequency or a rate, at most.
_FREQUENCY, _INT32 = 16777216.0, 2**31 - 1


class BorderType(StrEnum):
    """How a sound goes on beyond its ends."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(StrEnum):
    """Densities of the noise of dither."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(StrEnum):
    """How a sound fades."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(StrEnum):
    """How a gain is measured."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(StrEnum):
    """How a delay between two samples is made."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(StrEnum):
    """Scales of mel."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(StrEnum):
    """Waves that modulate a delay."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class NormMode(StrEnum):
    """Norms of a cosine transform."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(StrEnum):
    """Norms of a bank of filters."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(StrEnum):
    """Windows of resampling."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(StrEnum):
    """Scales of a spectrogram."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(StrEnum):
    """Windows of a spectrogram."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"


def _kind(owner: str, name: str, value: Any, known: type[Enum]) -> None:
    if not isinstance(value, known):
        raise ArgumentTypeError(
            f"{owner}: {name} must be one of {known.__name__}, got {type(value).__name__}", loc=user_loc()
        )


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> npt.NDArray[np.float32]:
    """float32 [n_mels, n_mfcc]: the cosine transform (DCT-II) that makes n_mfcc cepstral coefficients of n_mels bands.

    Raises ArgumentTypeError or ArgumentValueError.
    """
    n_mfcc = checks.integer("create_dct", "n_mfcc", n_mfcc, 1)
    n_mels = checks.integer("create_dct", "n_mels", n_mels, 1)
    _kind("create_dct", "norm", norm, NormMode)
    waves: npt.NDArray[Any] = np.cos(np.pi / n_mels * np.outer(np.arange(n_mels) + 0.5, np.arange(n_mfcc)))
    if norm is NormMode.NONE:
        waves *= 2
    else:
        waves *= np.sqrt(2 / n_mels)
        waves[:, 0] *= np.sqrt(0.5)
    return waves.astype(np.float32)


def _triangles(points: npt.NDArray[Any], n_freqs: int, sample_rate: int) -> npt.NDArray[Any]:
    """[n_freqs, bands]: triangles of height 1, each from one of the points over the next to the one after it."""
    frequencies = np.linspace(0, sample_rate // 2, n_freqs)[:, None]
    rising = (frequencies - points[:-2]) / np.diff(points)[:-1]
    falling = (points[2:] - frequencies) / np.diff(points)[1:]
    made: npt.NDArray[Any] = np.maximum(0.0, np.minimum(rising, falling))
    return made


def _bank(owner: str, n_freqs: Any, f_min: Any, f_max: Any, bands: tuple[str, Any], sample_rate: Any) -> None:
    """Check what both banks are made of."""
    for name, value in (("n_freqs", n_freqs), bands, ("sample_rate", sample_rate)):
        checks.integer(owner, name, value, 1, _INT32)
    checks.number(owner, "f_min", f_min, 0.0, _FREQUENCY)
    checks.number(owner, "f_max", f_max, 0.0, _FREQUENCY)
    if f_min > f_max:
        raise ArgumentValueError(f"{owner}: f_min must be at most f_max, got {f_min} and {f_max}", loc=user_loc())


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> npt.NDArray[np.float32]:
    """float32 [n_freqs, n_filter]: triangular filters at equal distances from f_min to f_max, in Hz.

    Raises ArgumentTypeError or ArgumentValueError.
    """
    _bank("linear_fbanks", n_freqs, f_min, f_max, ("n_filter", n_filter), sample_rate)
    return _triangles(np.linspace(f_min, f_max, n_filter + 2), n_freqs, sample_rate).astype(np.float32)


def _mel(hertz: Any, kind: MelType) -> Any:
    """Mel of frequencies: O'Shaughnessy's formula (HTK), or Slaney's, linear below 1000 Hz."""
    if kind is MelType.HTK:
        return 2595.0 * np.log10(1.0 + np.asarray(hertz) / 700.0)
    linear = np.asarray(hertz) * 3 / 200
    return np.where(linear < 15, linear, 15 + np.log(np.maximum(hertz, 1.0) / 1000.0) * 27 / np.log(6.4))


def _hertz(mel: Any, kind: MelType) -> Any:
    """The inverse of `_mel`."""
    if kind is MelType.HTK:
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    return np.where(mel < 15, mel * 200 / 3, 1000.0 * np.exp(np.log(6.4) / 27 * (mel - 15)))


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
    _kind(owner, "norm", norm, NormType)
    _kind(owner, "mel_type", mel_type, MelType)
    points = _hertz(np.linspace(_mel(f_min, mel_type), _mel(f_max, mel_type), n_mels + 2), mel_type)
    bank = _triangles(points, n_freqs, sample_rate)
    if norm is NormType.SLANEY:
        bank *= 2.0 / (points[2:] - points[:-2])
    return bank.astype(np.float32)


__all__ = [
    "BorderType", "DensityFunction", "FadeShape", "GainType", "Interpolation", "MelType", "Modulation", "NormMode",
    "NormType", "ResampleMethod", "ScaleType", "WindowType", "create_dct", "linear_fbanks", "melscale_fbanks",
]  # fmt: skip
