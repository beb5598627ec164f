"""Short-time Fourier transforms of sounds and back: windows, spectra, sums of what overlaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.dataset.audio.base import Array, misfit
from graphc.dataset.audio.kinds import BorderType, WindowType

#: Of float32, as in MindSpore: its window is not 0 at its ends, by which sums of windows are divided.
_BLACKMAN = np.array([0.42, 0.08], np.float32).astype(np.float64)
_FORMS: dict[WindowType, Callable[[Array], Array]] = {
    WindowType.BARTLETT: lambda x: 1.0 - np.abs(2 * x - 1.0),
    WindowType.BLACKMAN: lambda x: _BLACKMAN[0] - 0.5 * np.cos(2 * np.pi * x) + _BLACKMAN[1] * np.cos(4 * np.pi * x),
    WindowType.HAMMING: lambda x: 0.54 - 0.46 * np.cos(2 * np.pi * x),
    WindowType.HANN: lambda x: 0.5 - 0.5 * np.cos(2 * np.pi * x),
    WindowType.KAISER: lambda x: np.i0(12.0 * np.sqrt(1 - (2 * x - 1.0) ** 2)) / np.i0(12.0),
}
_PADDING: dict[BorderType, Any] = {
    BorderType.CONSTANT: "constant",
    BorderType.EDGE: "edge",
    BorderType.REFLECT: "reflect",
    BorderType.SYMMETRIC: "symmetric",
}


def window_of(form: WindowType, length: int) -> Array:
    """float32 [length]: a period of the window; of one sample, 1."""
    if length == 1:
        return np.ones(1, np.float32)
    made: Array = _FORMS[form](np.arange(length) / length).astype(np.float32)
    return made


def padded(owner: str, sound: Array, before: int, after: int, border: BorderType) -> Array:
    """The sound [..., time] with so many samples at its ends."""
    if border is BorderType.REFLECT and sound.shape[-1] == 1 and max(before, after):
        raise misfit(
            owner, f"the sound {list(sound.shape)} has one sample, of which BorderType.REFLECT makes no others"
        )
    return np.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(before, after)], mode=_PADDING[border])


@dataclass
class Frames:
    """Frames of n_fft samples every `hop`, in a window of win_length, which stands in their middle.

    pad: samples of silence at both ends. center: the middle of the first frame is the first sample; `border` is before it.
    """

    owner: str
    n_fft: int
    win_length: int
    hop: int
    form: WindowType
    pad: int = 0
    center: bool = True
    border: BorderType = BorderType.REFLECT

    def window(self) -> Array:
        """float32 [n_fft]."""
        before = (self.n_fft - self.win_length) // 2
        return np.pad(window_of(self.form, self.win_length), (before, self.n_fft - self.win_length - before))

    def spectrum(self, sound: Array, normalized: bool = False) -> Array:
        """complex128 [..., n_fft // 2 + 1, frames] of a sound [..., time]. normalized: over the root of the window's
        squares.
        """
        whole = padded(self.owner, sound, self.pad, self.pad, BorderType.CONSTANT) if self.pad else sound
        if self.center:
            whole = padded(self.owner, whole, self.n_fft // 2, self.n_fft // 2, self.border)
        if self.n_fft > whole.shape[-1]:
            raise misfit(self.owner, f"n_fft is {self.n_fft}, the sound has {whole.shape[-1]} samples")
        frames = np.lib.stride_tricks.sliding_window_view(whole, self.n_fft, axis=-1)[..., :: self.hop, :]
        window = self.window()
        spectrum: Array = np.fft.rfft((frames * window).astype(sound.dtype).astype(np.float64), axis=-1)
        if normalized:
            squares = np.sqrt((window.astype(np.float64) ** 2).sum())
            if not squares:
                raise misfit(self.owner, "the window is 0")
            spectrum = spectrum / squares
        return np.swapaxes(spectrum, -1, -2)

    def sound(self, spectrum: Array, length: int) -> Array:
        """float64 [time]: of a spectrum [n_fft // 2 + 1, frames], the sum of all frames over that of the windows' squares.

        length: so many samples, with silence at the end where there are fewer; 0 for all.
        """
        n_fft, hop, window = self.n_fft, self.hop, self.window()
        if n_fft != 2 * (spectrum.shape[0] - 1):
            raise misfit(
                self.owner,
                f"n_fft is {n_fft}, a spectrogram of {spectrum.shape[0]} frequencies has {2 * (spectrum.shape[0] - 1)}",
            )
        frames = spectrum.shape[1]
        if length and hop:
            needed = np.float32(length + n_fft if self.center else length) / np.float32(hop)
            frames = min(frames, int(np.ceil(needed)))
        parts = np.fft.irfft(spectrum[:, :frames], n_fft, axis=0) * window[:, None]
        made, squares = np.zeros(n_fft + hop * (frames - 1)), np.zeros(n_fft + hop * (frames - 1), np.float32)
        for frame in range(frames):
            made[frame * hop : frame * hop + n_fft] += parts[:, frame]
            squares[frame * hop : frame * hop + n_fft] += window**2
        seen = squares > np.finfo(np.float32).tiny
        made[seen] /= squares[seen]
        half = n_fft // 2 if self.center else 0
        if not length:
            return made[half : len(made) - half]
        return np.pad(made[half : half + length], (0, max(0, length - len(made) + half)))


def pairs(values: Array, dtype: Any) -> Array:
    """Complex numbers [...] as their real and imaginary parts [..., 2]."""
    made = np.empty((*values.shape, 2), dtype)
    made[..., 0], made[..., 1] = values.real, values.imag
    return made


def complex_of(values: Array) -> Array:
    """Real and imaginary parts [..., 2] as complex128 [...]."""
    made: Array = values[..., 0] + 1j * values[..., 1].astype(np.float64)
    return made
