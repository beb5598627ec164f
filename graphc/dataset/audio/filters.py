"""Recursive filters of sounds: by coefficients, or by what they pass (MindSpore: mindspore.dataset.audio).

The filters by frequencies are those of R. Bristow-Johnson's "Audio EQ Cookbook" and of SoX.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.audio.base import (
    LARGEST,
    REQUIRED,
    Array,
    Parameter,
    Sound,
    above,
    by_rows,
    flag,
    nonzero,
    real,
)
from graphc.dataset.audio.recurrences import compiled, filtered, filtered_in_halves
from graphc.dataset.checks import number
from graphc.dataset.sources.parameters import choice
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


def filter_of(sound: Array, a: Any, b: Any, clamp: bool) -> Array:
    """The sound [..., time] filtered: y[t] = (sum of b[j] x[t - j] - sum of a[j] y[t - j], j > 0) / a[0], clamp to -1 .. 1."""
    dtype = sound.dtype
    # Every coefficient is rounded to the dtype of the sound, before it is divided and after it.
    a, b = np.asarray(a, np.float64).astype(dtype), np.asarray(b, np.float64).astype(dtype)
    with np.errstate(all="ignore"):
        a[1:] /= a[0]
        b /= a[0]
    halves = dtype == np.float16

    def by_kernel(rows: Array) -> Array:
        wide = [v.astype(np.float64) if halves else v for v in (rows, a, b)]
        made = np.empty_like(wide[0])
        compiled(filtered_in_halves if halves else filtered)(*wide, made)
        return made.clip(-1, 1) if clamp else made

    with np.errstate(over="ignore"):
        return by_rows(by_kernel, sound).astype(dtype, copy=False)


def _coefficients(owner: str, name: str, value: Any) -> list[float]:
    """A list of numbers, rounded to float32."""
    if not isinstance(value, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a list of numbers, got {type(value).__name__}", loc=user_loc()
        )
    if not value:
        raise ArgumentValueError(f"{owner}: {name} is empty", loc=user_loc())
    return [float(np.float32(number(owner, f"{name}[{k}]", v, -LARGEST, LARGEST))) for k, v in enumerate(value)]


class LFilter(Sound):
    """A sound, floats [..., time], through the filter whose output times a_coeffs is its input times b_coeffs, the newest
    first.

    a_coeffs, b_coeffs: as many of each, the first of a_coeffs not 0. clamp: the result is cut to -1 .. 1.
    """

    floats = True
    parameters = (
        Parameter("a_coeffs", REQUIRED, _coefficients),
        Parameter("b_coeffs", REQUIRED, _coefficients),
        flag("clamp", True),
    )

    def prepare(self) -> None:
        a, b = self.given.a_coeffs, self.given.b_coeffs
        if len(a) != len(b):
            raise self.wrong(f"a_coeffs and b_coeffs must be as many, got {len(a)} and {len(b)}")
        if not a[0]:
            raise self.wrong("a_coeffs[0] must not be 0")

    def computed(self, sound: Array) -> Array:
        return filter_of(sound, self.given.a_coeffs, self.given.b_coeffs, self.given.clamp)


class Filtfilt(LFilter):
    """A sound, floats [..., time], through LFilter forwards, and then backwards, so that nothing is delayed.

    a_coeffs, b_coeffs, clamp: as of LFilter; only the second result is cut.
    """

    def computed(self, sound: Array) -> Array:
        once = filter_of(sound, self.given.a_coeffs, self.given.b_coeffs, False)
        twice = filter_of(once[..., ::-1], self.given.a_coeffs, self.given.b_coeffs, self.given.clamp)
        return twice[..., ::-1].copy()


class _Quadratic(Sound):
    """A filter of second order, whose results are cut to -1 .. 1."""

    floats = True
    #: What coefficients are computed in: MindSpore does not do it alike in all.
    scalar: Any = float

    def prepare(self) -> None:
        self.b, self.a = self.coefficients()

    def coefficients(self) -> tuple[Any, Any]:
        """(b0, b1, b2) and (a0, a1, a2)."""
        raise NotImplementedError

    def computed(self, sound: Array) -> Array:
        return filter_of(sound, self.a, self.b, True)

    def angle(self, frequency: float) -> tuple[Any, Any, Any]:
        """cos and sin of what a frequency turns by in one sample, and half of the sine over Q."""
        turn = float(self.scalar(2 * math.pi * single(frequency) / self.given.sample_rate))
        quality = self.scalar(np.float32(getattr(self.given, "Q", 1.0)))
        sine = self.scalar(math.sin(turn))
        return self.scalar(math.cos(turn)), sine, sine / 2 / quality


def single(value: float) -> float:
    """The number, rounded to float32."""
    return float(np.float32(value))


RATE = nonzero("sample_rate")
QUALITY = above("Q", 0.707, 1.0)


class Biquad(_Quadratic):
    """A sound, floats [..., time], through LFilter of second order, with b0, b1, b2 and a0, a1, a2; a0 must not be 0."""

    parameters = tuple(real(name, REQUIRED) for name in ("b0", "b1", "b2", "a0", "a1", "a2"))

    def coefficients(self) -> tuple[Any, Any]:
        g = self.given
        if not g.a0:
            raise self.wrong("a0 must not be 0")
        return tuple(map(single, (g.b0, g.b1, g.b2))), tuple(map(single, (g.a0, g.a1, g.a2)))


class AllpassBiquad(_Quadratic):
    """A sound, floats [..., time], with the phases around central_freq turned, and all its frequencies left.

    sample_rate: samples a second, not 0. Q: how narrow the band is, above 0, up to 1.
    """

    parameters = (RATE, real("central_freq", REQUIRED), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.central_freq)
        return (1 - alpha, -2 * cos, 1 + alpha), (1 + alpha, -2 * cos, 1 - alpha)


class BandBiquad(_Quadratic):
    """A sound, floats [..., time], of which the frequencies around central_freq pass, the less the farther from it, as SoX's
    "band" does it.

    sample_rate: not 0. Q: above 0, up to 1; the band is central_freq / Q wide. noise: for sounds without a pitch.
    """

    parameters = (RATE, real("central_freq", REQUIRED), QUALITY, flag("noise", False))

    def coefficients(self) -> tuple[Any, Any]:
        g = self.given
        cos, _, _ = self.angle(g.central_freq)
        width = single(float(np.float32(g.central_freq) / np.float32(g.Q)))
        tiny = np.finfo(np.float64).eps
        with np.errstate(over="ignore", invalid="ignore"):
            a2 = np.exp(np.float64(-2 * math.pi * width / g.sample_rate))
            if a2 <= tiny or not np.isfinite(a2):
                raise self.wrong("central_freq / Q is too high for sample_rate")
            a1 = -4 * a2 / (1 + a2) * cos
            b0 = np.sqrt(np.maximum(0.0, 1 - a1 * a1 / (4 * a2))) * (1 - a2)
            if g.noise:
                level = np.sqrt(((1 + a2) * (1 + a2) - a1 * a1) * (1 - a2) / (1 + a2))
                if abs(b0) <= tiny or np.isnan(level):
                    raise self.wrong("noise has no band at this central_freq")
                b0 *= level / b0
        return (b0, 0.0, 0.0), (1.0, a1, a2)


class BandpassBiquad(_Quadratic):
    """A sound, floats [..., time], of which the frequencies around central_freq pass.

    sample_rate: not 0. Q: above 0, up to 1. const_skirt_gain: the edges stay as they are and the middle is Q times as loud,
    instead of 1 time.
    """

    scalar = np.float32
    parameters = (RATE, real("central_freq", REQUIRED), QUALITY, flag("const_skirt_gain", False))

    def coefficients(self) -> tuple[Any, Any]:
        cos, sin, alpha = self.angle(self.given.central_freq)
        peak = sin / 2 if self.given.const_skirt_gain else alpha
        return (peak, 0.0, -peak), (1 + alpha, -2 * cos, 1 - alpha)


class BandrejectBiquad(_Quadratic):
    """A sound, floats [..., time], of which the frequencies around central_freq are left out.

    sample_rate: not 0. Q: above 0, up to 1.
    """

    parameters = (RATE, real("central_freq", REQUIRED), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.central_freq)
        return (1.0, -2 * cos, 1.0), (1 + alpha, -2 * cos, 1 - alpha)


class HighpassBiquad(_Quadratic):
    """A sound, floats [..., time], of which the frequencies above cutoff_freq pass.

    sample_rate: not 0. Q: above 0, up to 1.
    """

    parameters = (RATE, real("cutoff_freq", REQUIRED), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.cutoff_freq)
        return ((1 + cos) / 2, -1 - cos, (1 + cos) / 2), (1 + alpha, -2 * cos, 1 - alpha)


class LowpassBiquad(_Quadratic):
    """A sound, floats [..., time], of which the frequencies below cutoff_freq pass.

    sample_rate: not 0. Q: above 0, up to 1.
    """

    parameters = (RATE, real("cutoff_freq", REQUIRED), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.cutoff_freq)
        return ((1 - cos) / 2, 1 - cos, (1 - cos) / 2), (1 + alpha, -2 * cos, 1 - alpha)


class EqualizerBiquad(_Quadratic):
    """A sound, floats [..., time], whose frequencies around center_freq are `gain` decibels louder.

    sample_rate: not 0. Q: above 0, up to 1.
    """

    parameters = (RATE, real("center_freq", REQUIRED), real("gain", REQUIRED), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.center_freq)
        level = _root(single(self.given.gain) / 40)
        return (1 + alpha * level, -2 * cos, 1 - alpha * level), (1 + alpha / level, -2 * cos, 1 - alpha / level)


def _root(exponent: Any) -> float:
    """A power of ten; infinite if it is too high for a number."""
    with np.errstate(over="ignore"):
        return float(np.exp(np.float64(exponent) * math.log(10)))


def _shelf(level: Any, cos: Any, alpha: Any, side: int) -> tuple[Any, Any]:
    """The filter that is louder above a frequency (side 1), or below it (-1). level: the root of the gain."""
    bend = 2 * type(level)(math.sqrt(level)) * alpha
    near, far = (level - 1) * cos * side, (level + 1) * cos * side
    b = level * (level + 1 + near + bend), -2 * side * level * (level - 1 + far), level * (level + 1 + near - bend)
    a = level + 1 - near + bend, 2 * side * (level - 1 - far), level + 1 - near - bend
    return b, a


class BassBiquad(_Quadratic):
    """A sound, floats [..., time], whose frequencies below central_freq are `gain` decibels louder.

    sample_rate: not 0. Q: above 0, up to 1.
    """

    parameters = (RATE, real("gain", REQUIRED), real("central_freq", 100.0), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.central_freq)
        b, a = _shelf(_root(np.float32(self.given.gain) / np.float32(40)), cos, alpha, -1)
        return tuple(v / a[0] for v in b), tuple(v / a[0] for v in a)


class TrebleBiquad(_Quadratic):
    """A sound, floats [..., time], whose frequencies above central_freq are `gain` decibels louder.

    sample_rate: not 0. Q: above 0, up to 1.
    """

    scalar = np.float32
    parameters = (RATE, real("gain", REQUIRED), real("central_freq", 3000), QUALITY)

    def coefficients(self) -> tuple[Any, Any]:
        cos, _, alpha = self.angle(self.given.central_freq)
        with np.errstate(over="ignore", invalid="ignore"):
            return _shelf(np.float32(_root(np.float32(self.given.gain) / np.float32(40))), cos, alpha, 1)


class DeemphBiquad(_Quadratic):
    """A sound, floats [..., time], of a compact disc with its emphasis taken back. sample_rate: 44100 or 48000."""

    parameters = (choice("sample_rate", REQUIRED, 44100, 48000),)

    def coefficients(self) -> tuple[Any, Any]:
        frequency, slope, gain = {44100: (5283, 0.4845, -9.477), 48000: (5356, 0.479, -9.62)}[self.given.sample_rate]
        level = math.exp(gain / 40 * math.log(10))
        cos, sin, _ = self.angle(frequency)
        alpha = sin / 2 * math.sqrt((level + 1 / level) * (1 / slope - 1) + 2)
        return _shelf(level, cos, alpha, 1)


#: Where the filter is 0 and where it has its poles, for each rate, as SoX has them.
_ROOTS = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


class RiaaBiquad(_Quadratic):
    """A sound, floats [..., time], of a vinyl record, as it was before it was cut. sample_rate: 44100, 48000, 88200 or
    96000.
    """

    parameters = (choice("sample_rate", REQUIRED, 44100, 48000, 88200, 96000),)

    def coefficients(self) -> tuple[Any, Any]:
        rate = self.given.sample_rate
        zeros, poles = np.array(_ROOTS[rate], np.float32)
        b, a = (np.array([1, -(r[0] + r[1]), r[0] * r[1]], np.float32) for r in (zeros, poles))
        # As loud as before at 1000 Hz; computed in float32, as MindSpore does it.
        turns = (np.float32(-2 * np.pi * 1000 / rate) * np.arange(3)).astype(np.float32)
        over, under = ([np.sum(v * f(turns), dtype=np.float32) for f in (np.cos, np.sin)] for v in (b, a))
        powers = (over[0] ** 2 + over[1] ** 2) / (under[0] ** 2 + under[1] ** 2)
        return b * np.float32(1 / np.sqrt(powers)), a
