"""Spectrograms of sounds, and back (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.audio.base import (
    INT32_MAX,
    LARGEST,
    REQUIRED,
    Array,
    Parameter,
    Sound,
    above,
    count,
    flag,
    kind,
    number,
    optional,
    real,
)
from graphc.dataset.audio.fourier import Frames, complex_of, pairs
from graphc.dataset.audio.kinds import BorderType, WindowType
from graphc.dataset.sample_rng import rng

#: Parameters that transforms of spectra share.
N_FFT, WIN_LENGTH, HOP_LENGTH = (
    count("n_fft", 400),
    optional(count("win_length", None)),
    optional(count("hop_length", None)),
)
PAD, WINDOW = number("pad", 0, 0, INT32_MAX), kind("window", WindowType.HANN)
ENDS = (flag("center", True), kind("pad_mode", BorderType.REFLECT), flag("onesided", True))
POWER = real("power", 2.0, 0)


def frames_of(transform: Sound, form: WindowType, divisor: int = 2, **named: Any) -> Frames:
    """The frames that n_fft, win_length and hop_length of a transform mean; by default the hop is the window over `divisor`."""
    g = transform.given
    win_length = g.win_length or g.n_fft
    if win_length > g.n_fft:
        raise transform.wrong(f"win_length must be at most n_fft, got {win_length} and {g.n_fft}")
    hop = g.hop_length or win_length // divisor
    if not hop:
        raise transform.wrong(f"a window of {win_length} needs a hop_length")
    return Frames(type(transform).__name__, g.n_fft, win_length, hop, form, **named)


def powers(spectrum: Array, power: float, dtype: Any) -> Array:
    """The absolute values of complex numbers to a power."""
    made: Array = (
        spectrum.real**2 + spectrum.imag**2 if power == 2 else np.abs(spectrum) ** np.float64(np.float32(power))
    )
    return made.astype(dtype)


class Spectrogram(Sound):
    """The powers [..., n_fft // 2 + 1, frames] of the frequencies of each frame of a sound [..., time].

    A frame is n_fft samples in a window of win_length, by default n_fft; the next begins hop_length later, by default half of
    the window. pad: samples of silence at both ends. window: one of WindowType. power: of the amplitudes; 0 gives [..., 2],
    real and imaginary parts. normalized: over the root of the sum of the window's squares. center: the middle of the first
    frame is the first sample, with pad_mode, one of BorderType, before it. onesided=False: n_fft frequencies, the upper ones
    those that they mirror, of which MindSpore does not conjugate the imaginary parts.
    """

    parameters = (N_FFT, WIN_LENGTH, HOP_LENGTH, PAD, WINDOW, POWER, flag("normalized", False), *ENDS)

    def prepare(self) -> None:
        g = self.given
        self.frames = frames_of(self, g.window, pad=g.pad, center=g.center, border=g.pad_mode)

    def computed(self, sound: Array) -> Array:
        spectrum = self.frames.spectrum(sound, self.given.normalized)
        if not self.given.onesided:
            n_fft = self.given.n_fft
            mirrored = spectrum[..., n_fft - np.arange(n_fft // 2 + 1, n_fft), :]
            spectrum = np.concatenate([spectrum, mirrored], axis=-2)[..., :n_fft, :]
        if not self.given.power:
            return pairs(spectrum, sound.dtype)
        return powers(spectrum, self.given.power, sound.dtype)


class SpectralCentroid(Sound):
    """The mean frequency [..., 1, frames] of each frame of a sound [..., time], weighed by amplitude; of silence not a number.

    sample_rate: samples a second, above 0. n_fft, win_length, hop_length, pad, window: as of Spectrogram.
    """

    parameters = (count("sample_rate", REQUIRED), N_FFT, WIN_LENGTH, HOP_LENGTH, PAD, WINDOW)

    def prepare(self) -> None:
        self.frames = frames_of(self, self.given.window, pad=self.given.pad)

    def computed(self, sound: Array) -> Array:
        amplitudes = powers(self.frames.spectrum(sound), 1.0, sound.dtype).astype(np.float64)
        frequencies = np.linspace(0, self.given.sample_rate // 2, amplitudes.shape[-2])[:, None]
        with np.errstate(invalid="ignore"):
            centers = (frequencies * amplitudes).sum(-2, keepdims=True) / amplitudes.sum(-2, keepdims=True)
        made: Array = centers.astype(sound.dtype)
        return made


class InverseSpectrogram(Sound):
    """The sound [..., time] of a spectrogram of real and imaginary parts [..., n_fft // 2 + 1, frames, 2]; n_fft must be even.

    length: so many samples; None for hop_length for each frame but the first. pad: as of Spectrogram, with a length alone.
    onesided=False: of the frequencies only the first n_fft // 2 + 1 are looked at. pad_mode changes nothing: what was put
    before the first sample is left out. The others as of Spectrogram.
    """

    axes = ("freq", "time", "complex")
    parameters = (
        optional(number("length", None, 0, INT32_MAX)), N_FFT, WIN_LENGTH, HOP_LENGTH, PAD, WINDOW, flag("normalized", False),
        *ENDS,
    )  # fmt: skip

    def prepare(self) -> None:
        g = self.given
        if g.pad and not g.length:
            raise self.wrong("pad needs a length")
        self.frames = frames_of(self, g.window, center=g.center, border=g.pad_mode)

    def computed(self, sound: Array) -> Array:
        g, spectrum = self.given, complex_of(sound)
        if not g.onesided:
            spectrum = spectrum[..., : g.n_fft // 2 + 1, :]
        if g.normalized:
            spectrum = spectrum * np.sqrt((self.frames.window().astype(np.float64) ** 2).sum())
        length = g.length + 2 * g.pad if g.length else (spectrum.shape[-1] - 1) * self.frames.hop
        if not length:
            raise self.misfit("one frame needs a length")
        rows = spectrum.reshape(-1, *spectrum.shape[-2:])
        made = np.stack([self.frames.sound(row, length) for row in rows]).astype(sound.dtype)
        return made.reshape(*spectrum.shape[:-2], length)[..., g.pad : length - g.pad].copy()


class GriffinLim(Sound):
    """A sound [..., time] whose spectrogram has the powers [..., n_fft // 2 + 1, frames]: phases are sought by n_iter turns
    between both.

    By D. Griffin and J. Lim, 1984, and N. Perraudin et al., 2013. n_fft must be even. Of more than three axes those before the
    last two become one. power: what the spectrogram was made with, above 0. momentum: how much of the last turn is taken along,
    from 0, below 1. length: so many samples; None or 0 for all. rand_init: begin with random phases, drawn as real and imaginary
    parts of 0 .. 1; else with none. The others as of Spectrogram.
    """

    axes = ("freq", "time")
    parameters = (
        N_FFT,
        count("n_iter", 32),
        optional(number("win_length", None, 0, INT32_MAX)),
        optional(number("hop_length", None, 0, INT32_MAX)),
        kind("window_type", WindowType.HANN),
        above("power", 2.0),
        real("momentum", 0.99, 0, LARGEST),
        optional(number("length", None, 0, INT32_MAX)),
        flag("rand_init", True),
    )

    def prepare(self) -> None:
        if self.given.momentum >= 1:
            raise self.wrong(f"momentum must be below 1, got {self.given.momentum}")
        self.frames = frames_of(self, self.given.window_type)

    def computed(self, sound: Array) -> Array:
        with np.errstate(invalid="ignore"):
            amplitudes = (sound ** np.float64(1 / np.float32(self.given.power))).astype(sound.dtype)
        rows = amplitudes.reshape(-1, *sound.shape[-2:])
        made = np.stack([self._sought(row.astype(np.float64), sound.dtype) for row in rows])
        return made[0] if sound.ndim == 2 else made

    def _sought(self, amplitudes: Array, dtype: Any) -> Array:
        g, length = self.given, self.given.length or 0
        phases: Array = np.ones(amplitudes.shape, complex)
        if g.rand_init:
            # Frame by frame, the imaginary part first: as MindSpore draws them.
            phases = complex_of(rng().random((*amplitudes.shape[::-1], 2))[..., ::-1]).T
        before = np.zeros(amplitudes.shape, complex)
        # m / (1 + m) of m / (1 + m), where the paper has it once: as MindSpore does it.
        part = np.float32(g.momentum) / (1 + 2 * np.float32(g.momentum))
        for _ in range(g.n_iter):
            sound = self.frames.sound(phases * amplitudes, length).astype(dtype)
            again = self.frames.spectrum(sound)
            if again.shape != amplitudes.shape:
                raise self.misfit(
                    f"a sound of length {length} has {again.shape[-1]} frames, the spectrogram has {amplitudes.shape[-1]}"
                )
            phases = again - before * part
            phases /= np.abs(phases) + np.float32(1e-16)
            before = again
        return self.frames.sound(phases * amplitudes, length).astype(dtype)


class ComplexNorm(Sound):
    """The absolute values [...] of real and imaginary parts [..., 2], to the power `power`, 0 or more."""

    axes = ("complex",)
    parameters = (real("power", 1.0, 0),)

    def computed(self, sound: Array) -> Array:
        return norms(sound, self.given.power)


def norms(sound: Array, power: float) -> Array:
    """The absolute values of real and imaginary parts, to a power."""
    wide = sound.astype(np.float64)
    made: Array = (wide[..., 0] ** 2 + wide[..., 1] ** 2) ** (0.5 * np.float64(np.float32(power)))
    return np.asarray(made, sound.dtype)


class Angle(Sound):
    """The angles [...] of real and imaginary parts [..., 2], from -pi to pi."""

    axes = ("complex",)
    parameters: tuple[Parameter, ...] = ()

    def computed(self, sound: Array) -> Array:
        return np.asarray(np.arctan2(sound[..., 1], sound[..., 0]))


class Magphase(Sound):
    """Two arrays [...] of real and imaginary parts [..., 2]: their absolute values, to the power `power`, and their angles."""

    axes = ("complex",)
    parameters = (real("power", 1.0, 0),)

    def computed(self, sound: Array) -> tuple[Array, Array]:
        return norms(sound, self.given.power), np.asarray(np.arctan2(sound[..., 1], sound[..., 0]))
