"""What is found in sounds: pitches, and where a voice begins (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.dataset.audio.base import REQUIRED, Array, Parameter, Sound, above, by_rows, count, real
from graphc.dataset.audio.recurrences import compiled, correlated, correlated_in_halves
from graphc.dataset.checks import number


def _ceiling(samples: int, divisor: int) -> int:
    return math.ceil(np.float32(samples) / np.float32(divisor))


class DetectPitchFrequency(Sound):
    """The pitches of a sound, floats [..., time], in Hz, float32 [..., frames]: the delay at which each frame is most like
    itself, and of those the medians.

    sample_rate: samples a second, above 0. frame_time: seconds of a frame. win_length: frames of a median; there is none for
    the last win_length // 2. freq_low, freq_high: the lowest and the highest pitch, in whole Hz.
    """

    floats = True
    parameters = (
        count("sample_rate", REQUIRED),
        above("frame_time", 0.01),
        count("win_length", 30),
        count("freq_low", 85),
        count("freq_high", 3400),
    )

    def prepare(self) -> None:
        g = self.given
        self.lags, self.least = _ceiling(g.sample_rate, g.freq_low), _ceiling(g.sample_rate, g.freq_high)
        self.size = math.ceil(np.float32(g.sample_rate) * np.float32(g.frame_time))
        if self.least >= self.lags:
            raise self.wrong(f"freq_low must be below freq_high by a sample, got {g.freq_low} and {g.freq_high}")

    def computed(self, sound: Array) -> Array:
        return by_rows(self._pitches, sound)

    def _pitches(self, rows: Array) -> Array:
        frames = math.ceil(np.float32(rows.shape[1]) / np.float32(self.size))
        window, before = self.given.win_length, (self.given.win_length - 1) // 2
        if frames + before < window:
            raise self.misfit(f"win_length is {window}, the sound has {frames} frames")
        halves = rows.dtype == np.float16
        whole = np.pad(rows, [(0, 0), (0, self.lags + frames * self.size - rows.shape[1])])
        alike = np.empty((len(rows), frames, self.lags), np.float64 if halves else rows.dtype)
        compiled(correlated_in_halves if halves else correlated)(whole.astype(alike.dtype), self.size, alike)
        lags = self._best(alike, np.float64(rows.dtype.type(0.99)) if halves else rows.dtype.type(0.99), halves)
        sides = np.pad(lags, [(0, 0), (before, 0)], mode="edge")
        medians = np.sort(np.lib.stride_tricks.sliding_window_view(sides, window, axis=-1), axis=-1)[..., before]
        made: Array = (self.given.sample_rate / (1e-9 + medians)).astype(np.float32)
        return made

    def _best(self, alike: Array, near: Any, halves: bool) -> Array:
        """int [n, frames]: the delay at which a frame is most like itself; one in the first half that is nearly as good,
        if that was the best for some time.
        """
        seen = alike[..., self.least :]
        best = seen.argmax(-1)
        # The last one in the first half that was better than all before it.
        half = max(self.lags // 2 - self.least, 1)
        first = seen[..., :half].argmax(-1)
        highest, early = (np.take_along_axis(seen, k[..., None], -1)[..., 0] for k in (best, first))
        bound = (highest * near).astype(np.float16) if halves else highest * near
        chosen: Array = np.where(early > bound, first, best)
        return chosen + self.least + 1


def _seconds(name: str, default: Any) -> Parameter:
    return real(name, default, 0)


def _duration(owner: str, name: str, value: Any) -> float | None:
    return number(owner, name, value, 0, 2.0**24) if value else None


class Vad(Sound):
    """A sound [..., time] from where a voice begins on, found as SoX and torchaudio do it; without one its last second or so.

    That is search_time, pre_trigger_time and measure_duration together, as MindSpore 2.10 gives it of any sound, for it finds no
    voice. Of a beginning that lies before the sound's, Python's slices say what is left, as there.

    sample_rate: samples a second. trigger_level: how high a measure must be. Times in seconds, 0 or more: trigger_time, in
    which measures are averaged; search_time and allowed_gap, in which quieter parts before count; pre_trigger_time, kept before
    them; boot_time, in which noise is learned; noise_up_time and noise_down_time, not longer, in which its estimate rises and
    falls; measure_smooth_time; measure_duration, by default 2 / measure_freq. measure_freq: measures a second.
    noise_reduction_amount: how much noise is taken off. hp_filter_freq, lp_filter_freq, hp_lifter_freq, lp_lifter_freq: what of
    the spectrum and the cepstrum is looked at, above 0.
    """

    parameters = (
        count("sample_rate", REQUIRED), real("trigger_level", 7.0), _seconds("trigger_time", 0.25), _seconds("search_time", 1.0),
        _seconds("allowed_gap", 0.25), _seconds("pre_trigger_time", 0.0), _seconds("boot_time", 0.35),
        _seconds("noise_up_time", 0.1), _seconds("noise_down_time", 0.01), real("noise_reduction_amount", 1.35, 0),
        above("measure_freq", 20.0), Parameter("measure_duration", None, _duration), _seconds("measure_smooth_time", 0.4),
        above("hp_filter_freq", 50.0), above("lp_filter_freq", 6000.0), above("hp_lifter_freq", 150.0),
        above("lp_lifter_freq", 2000.0),
    )  # fmt: skip

    def prepare(self) -> None:
        g = self.given
        if g.noise_up_time < g.noise_down_time:
            raise self.wrong(
                f"noise_up_time must be at least noise_down_time, got {g.noise_up_time} and {g.noise_down_time}"
            )
        _Plan(self, np.float32)

    def computed(self, sound: Array) -> Array:
        plan = _Plan(self, sound.dtype.type)
        made = self._from_voice(sound.reshape(-1, sound.shape[-1]), plan)
        if not made.shape[1]:
            raise self.misfit("nothing is left of the sound")
        return made.reshape(*sound.shape[:-1], made.shape[1]).copy()

    def _from_voice(self, rows: Array, plan: _Plan) -> Array:
        """[n, left] of sounds [n, time]."""
        g, meter = self.given, _Meter(self, plan, len(rows))
        mean, averaged = np.zeros(len(rows)), _decay(g.trigger_time, g.measure_freq)
        history = np.zeros((len(rows), plan.measures))
        for end in range(plan.size - 1, rows.shape[1], plan.period):
            before = rows[:, max(0, end - plan.size) : end]
            measured = meter.measure(np.pad(before, [(0, 0), (plan.size - before.shape[1], 0)]))
            # The newest measure is the first.
            history = np.concatenate([measured[:, None], history[:, :-1]], axis=1)
            mean = mean * averaged + measured * (1 - averaged)
            if (found := mean >= g.trigger_level).any():
                after = np.maximum.accumulate(found)
                flushed = max(self._quiet(h, plan.gap) for h, loud in zip(history, after, strict=True) if loud)
                return rows[:, end + 1 - plan.kept + (plan.measures - flushed) * plan.period :]
        return rows[:, rows.shape[1] - plan.kept :]

    def _quiet(self, history: Array, gap: int) -> int:
        """How many measures before a voice belong to it: from the newest on, those up to a longer gap."""
        loud = silent = len(history)
        last = 0
        for last, measure in enumerate(history):
            if measure >= self.given.trigger_level and last <= loud + gap:
                loud = silent = last
            elif measure == 0 and loud >= silent:
                silent = last
        return min(last, silent)


class _Plan:
    """What the arguments of Vad are in samples, measures and places of spectra, for sounds of a dtype.

    They are float32 that are multiplied in that dtype, as in MindSpore: a product that is whole may be more than that in
    float64.
    """

    def __init__(self, vad: Vad, scalar: Any) -> None:
        g, rate = vad.given, scalar(vad.given.sample_rate)
        named = {k: scalar(np.float32(v)) for k, v in vars(g).items() if v is not None}
        frequency = named["measure_freq"]
        duration = named.get("measure_duration", scalar(np.float32(2.0 / g.measure_freq)))
        self.size, self.period = int(rate * duration + 0.5), int(rate / frequency + 0.5)
        self.measures, self.gap = (
            math.ceil(named["search_time"] * frequency),
            int(named["allowed_gap"] * frequency + 0.5),
        )
        if not (self.size and self.period and self.measures):
            raise vad.wrong("measure_duration, measure_freq and search_time must be a sample and a measure, or more")
        #: Samples that are kept until a voice is found.
        self.kept = int(named["pre_trigger_time"] * rate + 0.5) + self.measures * self.period + self.size
        self.length = max(16, 1 << (self.size - 1).bit_length())
        low, high = (int(named[f"{n}_filter_freq"] / rate * scalar(self.length) + 0.5) for n in ("hp", "lp"))
        self.spectrum = slice(max(1, low), min(self.length // 2, high))
        low, high = (
            math.ceil(g.sample_rate * 0.5 / named["lp_lifter_freq"]),
            math.floor(g.sample_rate * 0.5 / named["hp_lifter_freq"]),
        )
        self.cepstrum = slice(low, min(self.length // 4, high))
        for name, part in (("filter", self.spectrum), ("lifter", self.cepstrum)):
            if part.start >= part.stop:
                raise vad.wrong(f"nothing lies between hp_{name}_freq and lp_{name}_freq")


def _decay(seconds: float, frequency: float) -> float:
    """What is left of a value after one measure, of so many a second."""
    return math.exp(-1.0 / (seconds * frequency)) if seconds else 0.0


class _Meter:
    """How much of a voice is in each measure: of the spectrum, smoothed, less the noise, the cepstrum's middle."""

    def __init__(self, vad: Vad, plan: _Plan, channels: int) -> None:
        g = vad.given
        self.plan, self.reduced, self.booting = plan, g.noise_reduction_amount, 0
        self.boot = int(g.boot_time * g.measure_freq - 0.5)
        self.smooth = _decay(g.measure_smooth_time, g.measure_freq)
        self.up, self.down = _decay(g.noise_up_time, g.measure_freq), _decay(g.noise_down_time, g.measure_freq)
        width = plan.spectrum.stop - plan.spectrum.start
        self.seen, self.noise = np.zeros((channels, width)), np.zeros((channels, width))
        self.window, self.lifter = (_hann(n) * 2 / math.sqrt(n) for n in (plan.size, width))

    def measure(self, samples: Array) -> Array:
        """[channels] of samples [channels, size]: 0 or more."""
        plan, booting = self.plan, self.booting >= 0
        kept = self.booting / (1.0 + self.booting) if booting else self.smooth
        found = np.abs(np.fft.rfft(samples * self.window, plan.length)[:, plan.spectrum])
        self.seen = self.seen * kept + found * (1 - kept)
        powers = self.seen**2
        stays = np.where(powers > self.noise, self.up, self.down) if not booting else np.zeros_like(powers)
        self.noise = self.noise * stays + powers * (1 - stays)
        clear = np.sqrt(np.maximum(0, powers - self.reduced * self.noise))
        logs = np.zeros((len(samples), plan.length // 2))
        logs[:, plan.spectrum] = clear * self.lifter
        ripples = (np.abs(np.fft.rfft(logs)[:, plan.cepstrum]) ** 2).mean(-1)
        if booting:
            self.booting = -1 if self.booting == self.boot else self.booting + 1
        with np.errstate(divide="ignore"):
            made: Array = np.maximum(0.0, 21 + np.log(ripples))
        return made


def _hann(length: int) -> Array:
    made: Array = 0.5 - 0.5 * np.cos(np.arange(length) / length * 2 * np.pi)
    return made
