"""Features of sounds and spectrograms: mel scales, cepstra, changes, norms (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from graphc.dataset.audio.banks import cosines, lines, mels
from graphc.dataset.audio.base import (
    INT32_MAX,
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
from graphc.dataset.audio.fourier import padded
from graphc.dataset.audio.kinds import BorderType, MelType, NormMode, NormType
from graphc.dataset.audio.levels import decibels
from graphc.dataset.audio.recurrences import compiled, without_mean
from graphc.dataset.audio.spectra import ENDS, HOP_LENGTH, N_FFT, PAD, POWER, WIN_LENGTH, WINDOW, Spectrogram
from graphc.dataset.sample_rng import rng
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

F_MIN, F_MAX = real("f_min", 0.0), optional(above("f_max", None))
BANK = (kind("norm", NormType.NONE), kind("mel_type", MelType.HTK))


def highest(transform: Sound, same: bool = False) -> float:
    """f_max, by default half of sample_rate; ArgumentValueError if f_min is above it, or, unless `same`, the same."""
    g = transform.given
    most: float = g.sample_rate // 2 if g.f_max is None else g.f_max
    if g.f_min > most or (g.f_min == most and not (same and g.f_max is not None)):
        raise transform.wrong(f"f_min must be below f_max, by default half of sample_rate, got {g.f_min} and {most}")
    return most


def product(matrix: Array, features: Array) -> Array:
    """[..., m, time]: each column of features [..., n, time] times a matrix [n, m]."""
    made: Array = np.matmul(matrix.T, features)
    return made


class MelScale(Sound):
    """A spectrogram [..., n_stft, time] in n_mels bands at equal distances on the mel scale, [..., n_mels, time].

    sample_rate: of the sound. f_min, f_max: the lowest and the highest frequency, by default half of sample_rate. n_stft: how
    many frequencies there are, 2 or more. norm: NormType.SLANEY makes the area of each band equal. mel_type: MelType.HTK or
    SLANEY.
    """

    axes = ("freq", "time")
    parameters = (
        count("n_mels", 128),
        count("sample_rate", 16000),
        F_MIN,
        F_MAX,
        number("n_stft", 201, 2, INT32_MAX),
        *BANK,
    )

    def prepare(self) -> None:
        g, self.most = self.given, highest(self)
        _scale_of(self, g.f_min, g.mel_type)

    def computed(self, sound: Array) -> Array:
        g = self.given
        if sound.shape[-2] != g.n_stft:
            raise self.misfit(
                f"n_stft is {g.n_stft}, the spectrogram {list(sound.shape)} has {sound.shape[-2]} frequencies"
            )
        bank = mels(g.n_stft, g.f_min, self.most, g.n_mels, g.sample_rate, g.norm, g.mel_type, sound.dtype.type)
        return product(bank, sound)


def _scale_of(transform: Sound, f_min: float, scale: MelType) -> None:
    if scale is MelType.HTK and f_min <= -700:
        raise transform.wrong(f"f_min must be above -700 for MelType.HTK, got {f_min}")


class MelSpectrogram(Sound):
    """MelScale of the Spectrogram of a sound [..., time]: [..., n_mels, frames].

    The arguments are those of both; n_mels may be 0 here, and f_min and f_max the same. onesided must be True. Of float64 the
    result is float64, where MindSpore 2.10 has no numbers that mean something.
    """

    parameters = (
        number("sample_rate", 16000, 0, INT32_MAX), N_FFT, WIN_LENGTH, HOP_LENGTH, F_MIN, F_MAX, PAD,
        number("n_mels", 128, 0, INT32_MAX), WINDOW, above("power", 2.0), flag("normalized", False), *ENDS,
        BANK[0], kind("mel_scale", MelType.HTK),
    )  # fmt: skip

    def prepare(self) -> None:
        g, self.most = self.given, highest(self, True)
        _scale_of(self, g.f_min, g.mel_scale)
        _one_side(self, g.onesided)
        self.spectrogram = spectrogram_of(g)

    def computed(self, sound: Array) -> Array:
        g = self.given
        if g.n_fft >= 2 * sound.shape[-1]:
            raise self.misfit(
                f"n_fft is {g.n_fft}, that of {sound.shape[-1]} samples must be below {2 * sound.shape[-1]}"
            )
        powers = self.spectrogram(sound)
        rows = g.n_fft // 2 + 1
        bank = mels(rows, g.f_min, self.most, g.n_mels, g.sample_rate, g.norm, g.mel_scale, sound.dtype.type)
        return product(bank, powers)


def _one_side(transform: Sound, onesided: bool) -> None:
    if not onesided:
        raise transform.wrong("onesided must be True: filters are for n_fft // 2 + 1 frequencies")


def spectrogram_of(given: Any) -> Spectrogram:
    """The Spectrogram whose arguments are among those given."""
    names = [p.name for p in Spectrogram.parameters]
    return Spectrogram(**{n: getattr(given, n) for n in names})


def _described(owner: str, name: str, value: Any, known: tuple[Parameter, ...]) -> dict[str, Any]:
    """The arguments in a dict, checked as those of parameters; those that are not there have their defaults."""
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{owner}: {name} must be a dict, got {type(value).__name__}", loc=user_loc())
    names = [p.name for p in known]
    for key in value:
        if key not in names:
            raise ArgumentValueError(f"{owner}: {name} has {key!r}; it may have {', '.join(names)}", loc=user_loc())
    return {
        p.name: p.check(owner, f"{name}[{p.name!r}]", value.get(p.name, p.default)) if p.check else value.get(p.name)
        for p in known
    }


#: What a spectrogram of MFCC or LFCC is made with.
_OF_SPECTROGRAM = (N_FFT, WIN_LENGTH, HOP_LENGTH, PAD, WINDOW, POWER, flag("normalized", False), *ENDS)


class _Cepstrum(Sound):
    """The cosine transform of the logarithms of a sound's bands."""

    def cepstrum(self, bands: Array, coefficients: int, logarithms: bool) -> Array:
        """float32 [..., coefficients, frames]. logarithms: natural ones of what is 1e-6 more, else decibels."""
        bands = bands.astype(np.float32)
        if logarithms:
            levels: Array = np.log(bands + np.float32(1e-6))
        else:
            levels = decibels(bands, 10.0, np.float32(1e-10), 0.0, 80.0)
        return product(cosines(coefficients, bands.shape[-2], self.given.norm), levels)


def _dct_type(owner: str, name: str, value: Any) -> None:
    if value != 2:
        raise ArgumentValueError(f"{owner}: {name} must be 2, got {value!r}", loc=user_loc())


DCT_TYPE = Parameter("dct_type", 2, _dct_type)


class MFCC(_Cepstrum):
    """The mel-frequency cepstrum, float32 [..., n_mfcc, frames], of a sound [..., time].

    sample_rate: of the sound. n_mfcc: coefficients, not more than bands. dct_type: 2. norm: of the cosine transform,
    NormMode.ORTHO or NONE. log_mels: natural logarithms instead of decibels. melkwargs: a dict of arguments of MelSpectrogram,
    whose defaults are its; f_min and f_max may not be the same.
    """

    parameters = (
        number("sample_rate", 16000, 0, INT32_MAX),
        number("n_mfcc", 40, 0, INT32_MAX),
        DCT_TYPE,
        kind("norm", NormMode.ORTHO),
        flag("log_mels", False),
        Parameter("melkwargs", None),
    )

    def prepare(self) -> None:
        known = (*_OF_SPECTROGRAM, F_MIN, F_MAX, count("n_mels", 128), BANK[0], kind("mel_scale", MelType.HTK))
        given = {} if self.given.melkwargs is None else self.given.melkwargs
        made = _described("MFCC", "melkwargs", given, known)
        if made["n_mels"] < self.given.n_mfcc:
            raise self.wrong(f"n_mfcc must be at most n_mels, got {self.given.n_mfcc} and {made['n_mels']}")
        self.bands = MelSpectrogram(self.given.sample_rate, **made)
        if self.bands.given.f_min == self.bands.most:
            raise self.wrong(f"f_min must be below f_max, got {self.bands.given.f_min} and {self.bands.most}")

    def computed(self, sound: Array) -> Array:
        return self.cepstrum(self.bands(sound), self.given.n_mfcc, self.given.log_mels)


class LFCC(_Cepstrum):
    """The cepstrum of bands at equal distances, float32 [..., n_lfcc, frames], of a sound [..., time].

    sample_rate: of the sound. n_filter: bands from f_min to f_max, by default half of sample_rate. n_lfcc: coefficients, not
    more than n_fft. dct_type: 2. norm: of the cosine transform, NormMode.ORTHO or NONE. log_lf: natural logarithms instead of
    decibels. speckwargs: a dict of arguments of Spectrogram, whose defaults are its; onesided must be True, and power above 0.
    """

    parameters = (
        number("sample_rate", 16000, 0, INT32_MAX),
        count("n_filter", 128),
        count("n_lfcc", 40),
        real("f_min", 0.0, 0),
        optional(real("f_max", None, 0)),
        DCT_TYPE,
        kind("norm", NormMode.ORTHO),
        flag("log_lf", False),
        Parameter("speckwargs", None),
    )

    def prepare(self) -> None:
        g, self.most = self.given, highest(self, True)
        made = SimpleNamespace(
            **_described("LFCC", "speckwargs", {} if g.speckwargs is None else g.speckwargs, _OF_SPECTROGRAM)
        )
        _one_side(self, made.onesided)
        if not made.power:
            raise self.wrong("speckwargs['power'] must be above 0")
        if g.n_lfcc > made.n_fft:
            raise self.wrong(f"n_lfcc must be at most n_fft, got {g.n_lfcc} and {made.n_fft}")
        self.spectrogram = spectrogram_of(made)

    def computed(self, sound: Array) -> Array:
        g, powers = self.given, self.spectrogram(sound)
        bank = lines(powers.shape[-2], g.f_min, self.most, g.n_filter, g.sample_rate)
        return self.cepstrum(product(bank, powers.astype(np.float32)), g.n_lfcc, g.log_lf)


class InverseMelScale(Sound):
    """A spectrogram [..., n_stft, time] whose MelScale is [..., n_mels, time], sought by gradients from random numbers of 0
    .. 1 on.

    [n_mels, time] becomes [1, n_stft, time]. max_iter: at most so many steps, fewer if the mean square of the difference is
    below tolerance_loss, or changes by less than tolerance_change. sgdargs: a dict of sgd_lr, by default 0.1, and of
    sgd_momentum, which has no effect in MindSpore either. The others as of MelScale. Of float64 the result is float64, where
    MindSpore 2.10 has no numbers that mean something.
    """

    axes = ("freq", "time")
    parameters = (
        number("n_stft", REQUIRED, 2, INT32_MAX), count("n_mels", 128), count("sample_rate", 16000), F_MIN, F_MAX,
        count("max_iter", 100000), above("tolerance_loss", 1e-5), above("tolerance_change", 1e-8),
        Parameter("sgdargs", None), *BANK,
    )  # fmt: skip

    def prepare(self) -> None:
        g, self.most = self.given, highest(self)
        _scale_of(self, g.f_min, g.mel_type)
        known = (real("sgd_lr", 0.1, 0), real("sgd_momentum", 0.9, 0))
        self.rate = _described("InverseMelScale", "sgdargs", {} if g.sgdargs is None else g.sgdargs, known)["sgd_lr"]

    def computed(self, sound: Array) -> Array:
        g = self.given
        if sound.shape[-2] != g.n_mels:
            raise self.misfit(f"n_mels is {g.n_mels}, the spectrogram {list(sound.shape)} has {sound.shape[-2]} bands")
        bank = mels(g.n_stft, g.f_min, self.most, g.n_mels, g.sample_rate, g.norm, g.mel_type, sound.dtype.type)
        made = np.stack([self._sought(bank, row) for row in sound.reshape(-1, *sound.shape[-2:])])
        return made if sound.ndim == 2 else made.reshape(*sound.shape[:-2], *made.shape[1:])

    def _sought(self, bank: Array, bands: Array) -> Array:
        """[n_stft, time] of one [n_mels, time]."""
        g, scalar = self.given, bands.dtype.type
        tried = rng().random((g.n_stft, bands.shape[1]), bands.dtype.type)
        step, loss = scalar(np.float32(self.rate)) / scalar(bands.shape[1]), scalar(np.finfo(bands.dtype).max)
        least, change = np.float32(g.tolerance_loss), np.float32(g.tolerance_change)
        for _ in range(g.max_iter):
            difference = bands - bank.T @ tried
            now = np.square(difference).mean()
            if now < least or abs(loss - now) < change:
                break
            loss = now
            tried += step * (bank @ difference)
        found: Array = np.maximum(tried, scalar(0))
        return found


class ComputeDeltas(Sound):
    """How fast each feature of [..., freq, time] changes, of the same shape: a slope through win_length values, 3 or more.

    An even win_length means one less. pad_mode: what is beyond the ends, one of BorderType.
    """

    axes = ("freq", "time")
    parameters = (number("win_length", 5, 3, INT32_MAX), kind("pad_mode", BorderType.EDGE))

    def computed(self, sound: Array) -> Array:
        side = (self.given.win_length - 1) // 2
        whole = padded("ComputeDeltas", sound, side, side, self.given.pad_mode)
        length, made = sound.shape[-1], np.zeros_like(sound)
        for place in range(-side, side + 1):
            made += sound.dtype.type(place) * whole[..., side + place : side + place + length]
        made /= sound.dtype.type(side * (side + 1) * (2 * side + 1) // 3)
        return made


class SlidingWindowCmn(Sound):
    """Features [..., time, feature] less their means over a window of cmn_window times; [1, feature] becomes [feature].

    The window ends at each time, and at the beginning has min_cmn_window at least. center: it lies around each time instead.
    norm_vars: over the standard deviations, too.
    """

    axes = ("freq", "time")
    parameters = (
        number("cmn_window", 600, 0, INT32_MAX),
        number("min_cmn_window", 100, 0, INT32_MAX),
        flag("center", False),
        flag("norm_vars", False),
    )

    def computed(self, sound: Array) -> Array:
        values = np.ascontiguousarray(sound.reshape(-1, *sound.shape[-2:]))
        starts, ends = self._windows(values.shape[1])
        if (starts == ends).any():
            raise self.misfit("cmn_window is 0: around a time is none")
        made = np.empty_like(values)
        compiled(without_mean)(values, starts, ends, self.given.norm_vars, made)
        made = made.reshape(sound.shape)
        return made.squeeze() if made.ndim == 2 and len(made) == 1 else made

    def _windows(self, times: int) -> tuple[Array, Array]:
        """Where the window of each time begins and ends, [times] each."""
        g, time = self.given, np.arange(times)
        starts = time - (g.cmn_window // 2 if g.center else g.cmn_window)
        ends = starts + g.cmn_window - np.minimum(starts, 0) if g.center else np.maximum(time + 1, g.min_cmn_window)
        over = np.maximum(ends - times, 0)
        return np.maximum(np.maximum(starts, 0) - over, 0), ends - over
