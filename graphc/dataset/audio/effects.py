"""Effects on sounds: overdrive, phaser, flanger, dither (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.audio.base import REQUIRED, Array, Sound, by_rows, count, flag, kind, real
from graphc.dataset.audio.fourier import window_of
from graphc.dataset.audio.kinds import DensityFunction, Interpolation, Modulation, WindowType
from graphc.dataset.audio.recurrences import compiled, flanged, phased, without_offset
from graphc.dataset.sample_rng import rng


class Overdrive(Sound):
    """A sound [..., time] that is overdriven, which sounds harsh, and cut to -1 .. 1.

    gain: how much, in decibels, and color: how much of even harmonics; both from 0 to 100.
    """

    parameters = (real("gain", 20.0, 0, 100), real("color", 20.0, 0, 100))

    def computed(self, sound: Array) -> Array:
        scalar = sound.dtype.type
        gain = np.float32(np.exp(np.float64(np.float32(self.given.gain)) * math.log(10) / 20))
        loud = sound * scalar(gain) + scalar(np.float32(self.given.color) / np.float32(200))
        with np.errstate(over="ignore", invalid="ignore"):
            bent = (loud - (loud * loud * loud).astype(np.float64) / 3.0).astype(sound.dtype)
        bent = np.where(loud < -1, scalar(-2 / 3), np.where(loud > 1, scalar(2 / 3), bent))

        def by_kernel(rows: Array) -> Array:
            made = np.empty_like(rows)
            compiled(without_offset)(rows, made)
            return made

        made: Array = (sound * 0.5 + by_rows(by_kernel, bent) * 0.75).astype(sound.dtype).clip(-1, 1)
        return made


def _wave(modulation: Modulation, length: int, low: float, high: float, phase: float) -> Array:
    """float32 [length]: a period of a wave between two numbers, from a phase on."""
    places = (np.arange(length) + int(phase / math.pi / 2 * length + 0.5)) % length
    if modulation is Modulation.SINUSOIDAL:
        wave = ((np.sin(places * math.pi / length * 2) + 1) / 2).astype(np.float32)
    else:
        wave = (places * 2.0 / length).astype(np.float32)
        quarter = 4 * places // length
        shifted = np.where(quarter == 0, wave + 0.5, np.where(quarter == 3, wave - 1.5, 1.5 - wave))
        wave = shifted.astype(np.float32)
    made: Array = wave * (np.float32(high) - np.float32(low)) + np.float32(low)
    return made


class Phaser(Sound):
    """A sound [..., time] with itself added, delayed by a time that goes up and down, and cut to -1 .. 1.

    sample_rate: samples a second, above 0. gain_in: from 0 to 1, gain_out: from 0 to 1e9, what goes in and out is multiplied
    by. delay_ms: from 0 to 5, and not less than half a sample. decay: how much of the sum is added again, from 0 to 0.99.
    mod_speed: how often a second the delay goes up and down, from 0.1 to 2. sinusoidal: as a sine, else as a triangle.
    """

    parameters = (
        count("sample_rate", REQUIRED),
        real("gain_in", 0.4, 0, 1),
        real("gain_out", 0.74, 0, 1e9),
        real("delay_ms", 3.0, 0, 5),
        real("decay", 0.4, 0, 0.99),
        real("mod_speed", 0.5, 0.1, 2),
        flag("sinusoidal", True),
    )

    def prepare(self) -> None:
        g = self.given
        self.length = int(np.float64(np.float32(g.delay_ms)) * 0.001 * g.sample_rate + 0.5)
        if not self.length:
            raise self.wrong(f"a delay_ms of {g.delay_ms} is less than half a sample")
        modulation = Modulation.SINUSOIDAL if g.sinusoidal else Modulation.TRIANGULAR
        period = int(np.float32(g.sample_rate) / np.float32(g.mod_speed) + 0.5)
        self.delays = (_wave(modulation, period, 1.0, self.length, math.pi / 2) + np.float32(0.5)).astype(np.int32)

    def computed(self, sound: Array) -> Array:
        g, scalar = self.given, sound.dtype.type

        def by_kernel(rows: Array) -> Array:
            made, ring = np.empty_like(rows), np.zeros((len(rows), self.length), rows.dtype)
            compiled(phased)(rows * scalar(np.float32(g.gain_in)), self.delays, ring, scalar(np.float32(g.decay)), made)
            made *= scalar(np.float32(g.gain_out))
            return made

        return by_rows(by_kernel, sound).astype(np.float32).clip(-1, 1).astype(sound.dtype)


class Flanger(Sound):
    """A sound [..., channel, time] with itself added, a little slower and faster in turn, cut to -1 .. 1, in its own dtype.

    sample_rate: samples a second, not less than `speed`. delay: milliseconds, from 0 to 30. depth: how many more at most, from
    0 to 10. regen: percents of the delayed sound that go in again, from -95 to 95. width: percents that are added, from 0 to
    100. speed: how often a second the delay goes up and down, from 0.1 to 10. phase: percents of a period between the channels,
    from 0 to 100. modulation: Modulation.SINUSOIDAL or TRIANGULAR. interpolation: between samples, Interpolation.LINEAR or
    QUADRATIC.
    """

    axes = ("channel", "time")
    parameters = (
        count("sample_rate", REQUIRED),
        real("delay", 0.0, 0, 30),
        real("depth", 2.0, 0, 10),
        real("regen", 0.0, -95, 95),
        real("width", 71.0, 0, 100),
        real("speed", 0.5, 0.1, 10),
        real("phase", 25.0, 0, 100),
        kind("modulation", Modulation.SINUSOIDAL),
        kind("interpolation", Interpolation.LINEAR),
    )

    def prepare(self) -> None:
        self.period = int(np.float32(self.given.sample_rate) / np.float32(self.given.speed))
        if not self.period:
            raise self.wrong(f"sample_rate must be at least speed, got {self.given.sample_rate} and {self.given.speed}")

    def apply(self, value: Array) -> Any:
        with np.errstate(invalid="ignore"):
            made: Array = super().apply(value).astype(value.dtype)
        return made

    def computed(self, sound: Array) -> Array:
        g, scalar = self.given, sound.dtype.type
        regen, width, phase = (scalar(np.float32(v)) / scalar(100) for v in (g.regen, g.width, g.phase))
        least, depth = (scalar(np.float32(v)) / scalar(1000) for v in (g.delay, g.depth))
        length = int((least + depth) * scalar(g.sample_rate) + 0.5) + 2
        low = math.floor(least * scalar(g.sample_rate) + 0.5)
        table = _wave(g.modulation, self.period, low, length - 2.0, 3 * math.pi / 2)
        channels = sound.shape[-2]
        phases = np.array([int(k * self.period * phase + 0.5) for k in range(channels)])
        values = np.ascontiguousarray(sound.reshape(-1, *sound.shape[-2:]))
        delayed, ring = np.empty_like(values), np.zeros((*values.shape[:2], length), sound.dtype)
        quadratic = g.interpolation is Interpolation.QUADRATIC
        compiled(flanged)(values, table, phases, ring, regen, quadratic, delayed)
        share = width / (1 + width) * (1 - abs(regen))
        made: Array = values * (1 / (1 + width)) + delayed * share
        return made.clip(-1, 1).reshape(sound.shape)


class Dither(Sound):
    """A sound [..., time] in steps of 16 bits, with noise added before it is rounded.

    density_function: DensityFunction.TPDF adds a triangle as long as the sound; RPDF one of its samples, at random, and GPDF
    the sum of seven of them, in steps, as MindSpore does it. noise_shaping: the error of each sample is added to the next one,
    too.
    """

    parameters = (kind("density_function", DensityFunction.TPDF), flag("noise_shaping", False))

    def computed(self, sound: Array) -> Array:
        def by_samples(rows: Array) -> Array:
            # The noise that is gathered stands in the sound, too, when errors are shaped.
            own = rows.copy()
            scaled = rows * rows.dtype.type(2**15 - 2) + self._noise(own)
            whole = np.trunc(scaled)
            made: Array = (whole + np.copysign(abs(scaled - whole) >= 0.5, scaled)) / rows.dtype.type(2**15)
            made = made.astype(rows.dtype)
            if self.given.noise_shaping:
                made[:, 1:] += (made - own)[:, :-1]
            return made

        return by_rows(by_samples, sound)

    def _noise(self, own: Array) -> Any:
        """What is added to the steps of a sound [n, time]; for GPDF the sums so far are put into it."""
        density = self.given.density_function
        if density is DensityFunction.TPDF:
            return (
                window_of(WindowType.BARTLETT, own.shape[1]).astype(own.dtype)
                if own.shape[1] > 1
                else own.dtype.type(0)
            )
        random = rng()
        noise = own[_anywhere(own, random)]
        if density is DensityFunction.GPDF:
            for _ in range(6):
                place = _anywhere(own, random)
                noise = noise + own[place]
                own[place] = noise
        return noise


def _anywhere(values: Array, random: np.random.Generator) -> tuple[int, int]:
    """A random place in values [n, m]."""
    return int(random.integers(values.shape[0])), int(random.integers(values.shape[1]))
