"""Sounds in other rates, spectrograms in other times, pitches shifted (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.audio.base import (
    REQUIRED,
    Array,
    Parameter,
    Sound,
    above,
    by_rows,
    count,
    kind,
    misfit,
    nonzero,
    optional,
)
from graphc.dataset.audio.fourier import complex_of, pairs
from graphc.dataset.audio.kinds import ResampleMethod, WindowType
from graphc.dataset.audio.spectra import frames_of
from graphc.dataset.checks import INT32_MAX, integer, number
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


def _whole_turns(phases: Array) -> Array:
    """The whole turns in phases, to the nearest; halves away from 0."""
    turns = phases / (2 * np.pi)
    made: Array = np.trunc(turns + np.copysign(0.5, turns))
    return made


def stretched(spectrum: Array, rate: float, advance: Array) -> Array:
    """[rows, ceil(frames / rate), 2]: real and imaginary parts [rows, frames, 2] in other times, with phases that go on.

    advance: what the phase of each row goes on by in a frame, [rows], in the dtype of the spectrum.
    """
    dtype, frames = spectrum.dtype, spectrum.shape[1]
    places = np.arange(int(frames / rate) + 2, dtype=np.float32) * np.float32(rate)
    places = places[places < frames].astype(dtype)
    first = places.astype(int)
    shares = places - first.astype(dtype)
    whole = np.pad(spectrum, [(0, 0), (0, 2), (0, 0)])
    amplitudes = np.sqrt((whole.astype(np.float64) ** 2).sum(-1)).astype(dtype)
    phases = np.arctan2(whole[..., 1], whole[..., 0])
    steps = (phases[:, first + 1] - phases[:, first] - advance[:, None]).astype(np.float64)
    steps = (steps - 2 * np.pi * _whole_turns(steps) + advance[:, None]).astype(dtype)
    turned = np.cumsum(np.concatenate([phases[:, :1], steps[:, :-1]], axis=1), axis=1, dtype=dtype)
    loud = shares * amplitudes[:, first + 1] + (1 - shares) * amplitudes[:, first]
    return np.stack([np.cos(turned) * loud, np.sin(turned) * loud], -1)


def _advances(hop: float, frequencies: int, dtype: Any) -> Array:
    """[frequencies]: what the phase of each goes on by in `hop` samples."""
    step = dtype.type(math.pi * hop) / dtype.type(max(frequencies - 1, 1))
    made: Array = np.arange(frequencies).astype(dtype) * step
    return made


class _Stretch(Sound):
    """A spectrogram in another time; at rate 1 all axes before the last three become one."""

    axes = ("freq", "time", "complex")

    def stretched(self, sound: Array, rate: float, advance: Array) -> Array:
        """The spectrogram, `rate` times as fast; the rows have the numbers of `advance` in turn."""
        if abs(np.float32(rate) - 1) <= np.finfo(np.float32).eps:
            return sound.reshape(-1, *sound.shape[-3:]).copy()
        rows = sound.reshape(-1, *sound.shape[-2:])
        made = stretched(rows, rate, np.resize(advance, len(rows)))
        return made.reshape(*sound.shape[:-2], *made.shape[-2:])


class TimeStretch(_Stretch):
    """A spectrogram of real and imaginary parts [..., freq, time, 2] that is fixed_rate times as fast, at the same pitch.

    hop_length: between the frames, by default n_freq - 1. n_freq: how many frequencies there are. fixed_rate: above 0; None is
    1, at which all axes before the last three become one, as in MindSpore.
    """

    parameters = (optional(count("hop_length", None)), count("n_freq", 201), optional(above("fixed_rate", None)))

    def prepare(self) -> None:
        self.hop = self.given.hop_length or self.given.n_freq - 1
        if not self.hop:
            raise self.wrong("one frequency needs a hop_length")

    def computed(self, sound: Array) -> Array:
        return self.stretched(sound, self.given.fixed_rate or 1.0, _advances(self.hop, self.given.n_freq, sound.dtype))


def _phases(owner: str, name: str, value: Any) -> Array:
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(
            f"{owner}: {name} must be an array of NumPy's, got {type(value).__name__}", loc=user_loc()
        )
    if value.ndim != 2 or value.shape[1] != 1 or not len(value) or value.dtype.kind not in "iuf":
        raise ArgumentValueError(
            f"{owner}: {name} must be numbers [freq, 1], got {value.dtype} {list(value.shape)}", loc=user_loc()
        )
    return value


class PhaseVocoder(_Stretch):
    """A spectrogram of real and imaginary parts [..., freq, time, 2] that is `rate` times as fast, at the same pitch.

    rate: above 0; 1 as of TimeStretch. phase_advance: what the phase of each frequency goes on by in a frame, [freq, 1], in the
    dtype of the spectrogram.
    """

    parameters = (above("rate", REQUIRED), Parameter("phase_advance", REQUIRED, _phases))

    def apply(self, value: Array) -> Any:
        if value.dtype != self.given.phase_advance.dtype:
            raise self.misfit(f"phase_advance is {self.given.phase_advance.dtype}, the spectrogram {value.dtype}")
        return super().apply(value)

    def computed(self, sound: Array) -> Array:
        advance = self.given.phase_advance[:, 0]
        if len(advance) != sound.shape[-3]:
            raise self.misfit(f"phase_advance has {len(advance)} frequencies, the spectrogram {list(sound.shape)}")
        return self.stretched(sound, self.given.rate, advance.astype(sound.dtype))


def resampled(
    owner: str, sound: Array, old: int, new: int, method: ResampleMethod, width: int, rolloff: float, beta: float
) -> Array:
    """The sound [..., time] of `old` samples a second in `new`: each a sum of those around it, weighed by a sinc in a
    window.
    """
    common = math.gcd(old, new)
    if not common or not old // common or not new // common:
        raise misfit(owner, f"from {old} to {new} samples a second there is no sound")
    old, new = old // common, new // common
    total = -(-new * sound.shape[-1] // old)
    base = np.float32(min(old, new)) * np.float32(rolloff)
    side = math.ceil(np.float32(width * old) / base)
    weights = _Sincs(old, new, base, method, width, beta, sound.dtype.type)
    # New samples that see about the same old ones are made by one product. What a sound is too short for is not made.
    at_once, turns = max(1, 2 * side * new // old), -(-total // new)
    firsts = range(0, min(new, total), at_once)

    def by_turns(rows: Array) -> Array:
        whole = np.pad(rows, [(0, 0), (side, side + turns * old)])
        made = np.empty((len(rows), turns, min(new, total)), rows.dtype)
        for first in firsts:
            several = np.arange(first, min(first + at_once, new, total))
            begin, last = first * old // new, int(several[-1]) * old // new
            places = np.arange(begin - side, last + side + 1)
            seen = np.lib.stride_tricks.sliding_window_view(whole, len(places), axis=-1)[:, begin::old][:, :turns]
            made[:, :, several] = np.matmul(np.ascontiguousarray(seen), weights.of(several, places).T)
        return made.reshape(len(rows), -1)[:, :total]

    return by_rows(by_turns, sound)


class _Sincs:
    """How much of old samples is in new ones: a sinc in a window. Computed in the sound's dtype, as MindSpore does it."""

    def __init__(
        self, old: int, new: int, base: np.float32, method: ResampleMethod, width: int, beta: float, scalar: Any
    ) -> None:
        self.old, self.new, self.base, self.method = old, new, base, method
        self.width, self.beta, self.scalar = width, np.float32(beta), scalar

    def of(self, wanted: Array, places: Array) -> Array:
        """[wanted, places] of new samples of the first turn and old ones, by their numbers."""
        scalar, width = self.scalar, self.width
        distances = places.astype(scalar) / scalar(self.old) - wanted.astype(scalar)[:, None] / scalar(self.new)
        distances = (distances * scalar(self.base)).clip(-width, width)
        if self.method is ResampleMethod.SINC_INTERPOLATION:
            window = np.cos((distances * math.pi / width / 2).astype(scalar)) ** 2
        else:
            inside = np.sqrt(1 - (distances / scalar(width)).astype(np.float64) ** 2)
            window = (np.i0(self.beta * inside) / np.float32(np.i0(np.float64(self.beta)))).astype(scalar)
        angles = (distances * math.pi).astype(scalar)
        with np.errstate(invalid="ignore"):
            sincs = np.where(angles == 0, scalar(1), np.sin(angles) / angles)
        made: Array = scalar(self.base / np.float32(self.old)) * sincs * window
        return made


def _beta(owner: str, name: str, value: Any) -> float:
    return 14.769656459379492 if value is None else number(owner, name, value)


def _share(owner: str, name: str, value: Any) -> float:
    found = number(owner, name, value, 0, 1)
    if not found:
        raise ArgumentValueError(f"{owner}: {name} must be above 0", loc=user_loc())
    return found


class Resample(Sound):
    """A sound [..., time] of orig_freq samples a second in new_freq samples a second, both rounded down to ints.

    resample_method: ResampleMethod.SINC_INTERPOLATION or KAISER_WINDOW. lowpass_filter_width: how many zeros of the sinc are
    looked at on each side. rolloff: the highest frequency that passes, as a part of half of the lower rate, above 0, up to 1.
    beta: of Kaiser's window, by default 14.77.
    """

    parameters = (
        above("orig_freq", 16000),
        above("new_freq", 16000),
        kind("resample_method", ResampleMethod.SINC_INTERPOLATION),
        count("lowpass_filter_width", 6),
        Parameter("rolloff", 0.99, _share),
        Parameter("beta", None, _beta),
    )

    def prepare(self) -> None:
        for name in ("orig_freq", "new_freq"):
            if getattr(self.given, name) < 1:
                raise self.wrong(f"{name} must be 1 or more, got {getattr(self.given, name)}")

    def apply(self, value: Array) -> Any:
        made = super().apply(value)
        # As it is, in its own dtype.
        return value.copy() if self.given.orig_freq == self.given.new_freq else made

    def computed(self, sound: Array) -> Array:
        g = self.given
        if g.orig_freq == g.new_freq:
            return sound
        rates = int(g.orig_freq), int(g.new_freq)
        return resampled("Resample", sound, *rates, g.resample_method, g.lowpass_filter_width, g.rolloff, g.beta)


def _any_int(owner: str, name: str, value: Any) -> int:
    return integer(owner, name, value, -INT32_MAX - 1, INT32_MAX)


class PitchShift(Sound):
    """A sound [..., time] n_steps higher, of which bins_per_octave are an octave, in the same time.

    sample_rate: samples a second, above 0. n_steps, bins_per_octave: below 0, too, but no octave of 0. n_fft, win_length,
    hop_length, window: as of Spectrogram; n_fft must be even, and hop_length is a quarter of the window by default.
    """

    parameters = (
        count("sample_rate", REQUIRED), Parameter("n_steps", REQUIRED, _any_int), nonzero("bins_per_octave", 12),
        count("n_fft", 512), optional(count("win_length", None)), optional(count("hop_length", None)),
        kind("window", WindowType.HANN),
    )  # fmt: skip

    def prepare(self) -> None:
        g = self.given
        self.frames = frames_of(self, g.window, 4)
        self.rate = float(np.float32(2.0 ** np.float64(np.float32(-g.n_steps) / np.float32(g.bins_per_octave))))
        if not 2.0**-20 <= self.rate <= 2.0**20:
            raise self.wrong(f"n_steps is {g.n_steps}, which is more than 20 octaves")

    def computed(self, sound: Array) -> Array:
        length = sound.shape[-1]
        made = by_rows(lambda rows: np.stack([self._slower(row) for row in rows]), sound)
        rate = int(np.float32(self.given.sample_rate) / np.float32(self.rate))
        shifted = resampled(
            "PitchShift", made, rate, self.given.sample_rate, ResampleMethod.SINC_INTERPOLATION, 6, 0.99, 0
        )
        missing = max(0, length - shifted.shape[-1])
        return np.pad(shifted, [(0, 0)] * (sound.ndim - 1) + [(0, missing)])[..., :length].copy()

    def _slower(self, sound: Array) -> Array:
        """[round(time / rate)]: one sound [time] in another time."""
        spectrum = pairs(self.frames.spectrum(sound), sound.dtype)
        if abs(self.rate - 1) > np.finfo(np.float32).eps:
            spectrum = stretched(spectrum, self.rate, _advances(self.frames.hop, len(spectrum), sound.dtype))
        length = math.floor(np.float32(len(sound)) / np.float32(self.rate) + 0.5)
        if not length:
            raise self.misfit(f"of {len(sound)} samples none is left")
        return self.frames.sound(complex_of(spectrum), length).astype(sound.dtype)
