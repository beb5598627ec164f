"""The kinds that transforms of sounds are told by (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

from enum import StrEnum


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
