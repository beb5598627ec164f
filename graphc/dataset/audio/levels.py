"""How loud sounds are: amplified, cut, faded, coded, in decibels (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.audio.base import INT32_MAX, REQUIRED, Array, Parameter, Sound, above, kind, number, real
from graphc.dataset.audio.kinds import FadeShape, GainType, ScaleType
from graphc.dataset.checks import number as real_number


def decibels(power: Array, per_ten: Any, floor: Any, reference: Any, span: Any) -> Array:
    """[..., freq, time] in decibels: per_ten times the logarithm of what is at least `floor`, less that of the reference, at
    most `span` below the loudest of the last three axes. In the dtype of `power`.
    """
    scalar = power.dtype.type
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(power < floor, np.log10(scalar(floor)), np.log10(power)) * scalar(per_ten)
    logs -= scalar(per_ten) * scalar(reference)
    loudest = np.fmax.reduce(logs, axis=tuple(range(-min(logs.ndim, 3), 0)), keepdims=True)
    # Not a number is not lower than anything, and stays.
    made: Array = np.where(logs < loudest - scalar(span), loudest - scalar(span), logs)
    return made


class AmplitudeToDB(Sound):
    """Powers, or amplitudes, [..., freq, time], in decibels, at most top_db below the loudest of each [..., channel, freq,
    time].

    stype: ScaleType.POWER or MAGNITUDE. ref_value: what 0 decibels are, at least `amin`. What is below 1e-10 counts as 1e-10,
    whatever `amin` is, as in MindSpore. All but stype above 0.
    """

    axes = ("freq", "time")
    parameters = (kind("stype", ScaleType.POWER), above("ref_value", 1.0), above("amin", 1e-10), above("top_db", 80.0))

    def computed(self, sound: Array) -> Array:
        per_ten = 10.0 if self.given.stype is ScaleType.POWER else 20.0
        reference = np.log10(np.float32(max(self.given.amin, self.given.ref_value)))
        return decibels(sound, per_ten, np.float32(1e-10), reference, np.float32(self.given.top_db))


class DBToAmplitude(Sound):
    """A sound in decibels [..., time] as ref * 10 ** (value / 10 * power): power 1 for powers, 0.5 for amplitudes."""

    parameters = (real("ref", REQUIRED), real("power", REQUIRED))

    def computed(self, sound: Array) -> Array:
        power, ref = np.float64(np.float32(self.given.power)), np.float64(np.float32(self.given.ref))
        with np.errstate(over="ignore", invalid="ignore"):
            made: Array = ref * (10.0 ** (sound * 0.1)) ** power
            return made.astype(sound.dtype)


class Gain(Sound):
    """A sound [..., time] gain_db decibels louder."""

    parameters = (real("gain_db", 1.0),)

    def computed(self, sound: Array) -> Array:
        made: Array = sound * sound.dtype.type(_amplitude(np.float32(self.given.gain_db)))
        return made


def _amplitude(decibels: Any) -> float:
    """What an amplitude is multiplied by for so many decibels."""
    with np.errstate(over="ignore"):
        return float(np.float64(10.0) ** (np.float64(decibels) / 20))


class Vol(Sound):
    """A sound [..., time] amplified, and cut to -1 .. 1.

    gain: by gain_type a factor of the amplitude, 0 or more, of the power, above 0, or decibels.
    """

    parameters = (real("gain", REQUIRED), kind("gain_type", GainType.AMPLITUDE))

    def prepare(self) -> None:
        gain, measured = self.given.gain, self.given.gain_type
        if measured is not GainType.DB and (gain < 0 or (measured is GainType.POWER and gain == 0)):
            least = "above 0" if measured is GainType.POWER else "0 or more"
            raise self.wrong(f"gain must be {least} for {measured}, got {gain}")

    def computed(self, sound: Array) -> Array:
        gain, measured = np.float32(self.given.gain), self.given.gain_type
        if measured is GainType.POWER:
            gain = np.float32(10) * np.log10(gain)
        factor = gain if measured is GainType.AMPLITUDE else _amplitude(gain)
        made: Array = (sound * sound.dtype.type(factor)).clip(-1, 1)
        return made


class Contrast(Sound):
    """A sound [..., time] that sounds louder: sin(x pi / 2 + amount / 750 sin(2 pi x)) of what lies between -1 and 1.

    enhancement_amount: from 0 to 100.
    """

    parameters = (real("enhancement_amount", 75.0, 0, 100),)

    def computed(self, sound: Array) -> Array:
        scalar = sound.dtype.type
        turned = (sound * (math.pi / 2)).astype(sound.dtype)
        made: Array = np.sin(turned + scalar(np.float32(self.given.enhancement_amount) / 750) * np.sin(turned * 4))
        return made


def _number_or_none(owner: str, name: str, value: Any) -> float | None:
    return None if value is None else real_number(owner, name, value)


class DCShift(Sound):
    """A sound [..., time] moved up by `shift`, from -2 to 2, and cut to -1 .. 1.

    limiter_gain: what is near the end that it is moved to is moved by this part of its distance instead; None or 0 for none.
    """

    parameters = (real("shift", REQUIRED, -2, 2), Parameter("limiter_gain", None, _number_or_none))

    def computed(self, sound: Array) -> Array:
        scalar = sound.dtype.type
        shift, gain = np.float32(self.given.shift), np.float32(self.given.limiter_gain or self.given.shift)
        made: Array = (sound + scalar(shift)).clip(-1, 1)
        tiny = np.finfo(np.float32).eps
        if abs(shift - gain) <= tiny or abs(shift) <= tiny:
            return made
        bound = np.float32(1.0 - np.float64(abs(shift) - gain))
        gain, bound, rest, shift = (scalar(v) for v in (gain, bound, np.float32(1) - bound, shift))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if shift > 0:
                peaks = (sound - bound) * gain / rest + bound + shift
                return np.where(sound > bound, np.where(peaks > bound, bound, peaks), made)
            peaks = (sound + bound) * gain / rest + bound + shift
            return np.where(sound < -bound, np.where(peaks < -bound, -bound, peaks), made)


#: What a fade multiplies by, of 0 .. 1 at the beginning, and at the end.
_FADES: dict[FadeShape, tuple[Any, Any]] = {
    FadeShape.LINEAR: (lambda x: x, lambda x: 1.0 - x),
    FadeShape.EXPONENTIAL: (lambda x: 2.0 ** (x - 1.0) * x, lambda x: 2.0**-x * (1.0 - x)),
    FadeShape.LOGARITHMIC: (lambda x: np.log10(x + 0.1) + 1.0, lambda x: np.log10(1.1 - x) + 1.0),
    FadeShape.QUARTER_SINE: (lambda x: np.sin(x * np.pi / 2), lambda x: np.sin(x * np.pi / 2 + np.pi / 2)),
    FadeShape.HALF_SINE: (
        lambda x: np.sin(x * np.pi - np.pi / 2) / 2 + 0.5,
        lambda x: np.sin(x * np.pi + np.pi / 2) / 2 + 0.5,
    ),
}


class Fade(Sound):
    """A sound [..., time] that begins and ends in silence.

    fade_in_len, fade_out_len: so many samples, 0 or more, not more than there are. fade_shape: one of FadeShape.
    """

    parameters = (
        number("fade_in_len", 0, 0, INT32_MAX),
        number("fade_out_len", 0, 0, INT32_MAX),
        kind("fade_shape", FadeShape.LINEAR),
    )

    def apply(self, value: Array) -> Any:
        made = super().apply(value)
        # Without a fade it is as it was, in its own dtype.
        return made if self.given.fade_in_len or self.given.fade_out_len else value.copy()

    def computed(self, sound: Array) -> Array:
        made, length = sound.copy(), sound.shape[-1]
        ends = self.given.fade_in_len, self.given.fade_out_len
        for name, samples in zip(("fade_in_len", "fade_out_len"), ends, strict=True):
            if samples > length:
                raise self.misfit(f"{name} is {samples}, the sound has {length} samples")
        begins, stops = (
            shape(np.linspace(0, 1, n, dtype=sound.dtype).astype(np.float64)).astype(sound.dtype)
            for shape, n in zip(_FADES[self.given.fade_shape], ends, strict=True)
        )
        made[..., : ends[0]] *= begins
        made[..., length - ends[1] :] *= stops
        return made


class _MuLaw(Sound):
    """Sounds coded by logarithms in so many steps, 2 or more."""

    parameters = (number("quantization_channels", 256, 2, INT32_MAX),)

    def last(self, sound: Array) -> Any:
        """The number of the last step, in the dtype of the sound."""
        return sound.dtype.type(self.given.quantization_channels) - sound.dtype.type(1)


class MuLawEncoding(_MuLaw):
    """A sound [..., time] of -1 .. 1 as the numbers of steps that are the finer the quieter it is, int32.

    quantization_channels: how many steps, 2 or more.
    """

    def computed(self, sound: Array) -> Array:
        last = self.last(sound)
        logs = np.sign(sound) * np.log1p(last * np.abs(sound)) / np.log1p(last)
        steps: Array = (((logs + 1) / 2 * last).astype(np.float64) + 0.5).astype(sound.dtype)
        with np.errstate(invalid="ignore"):
            return steps.astype(np.int32)


class MuLawDecoding(_MuLaw):
    """The numbers of MuLawEncoding [..., time] as a sound of -1 .. 1. quantization_channels: how many steps there are, 2
    or more.
    """

    def computed(self, sound: Array) -> Array:
        last = self.last(sound)
        logs = sound / last * 2 - 1
        with np.errstate(over="ignore"):
            made: Array = np.sign(logs) * np.expm1(np.abs(logs) * np.log1p(last)) / last
        return made
