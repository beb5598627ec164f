"""Parts of spectrograms covered (MindSpore: mindspore.dataset.audio)."""

from __future__ import annotations

from graphc.dataset.audio.base import INT32_MAX, LARGEST, REQUIRED, Array, Sound, count, flag, number, real
from graphc.dataset.sample_rng import rng


class _Mask(Sound):
    """Some frequencies (axis 1), or times (2), of [..., freq, time] set to a value."""

    axes = ("freq", "time")

    def masked(self, sound: Array, axis: int, start: int, width: int, value: float) -> Array:
        """The spectrogram with `width` of the axis, from `start` on, set to a value."""
        made, length = sound.copy(), sound.shape[axis - 3]
        if start + width > length:
            raise self.misfit(f"the mask from {start} to {start + width} is longer than the axis, of {length}")
        made[(..., slice(start, start + width), slice(None))[: 4 - axis]] = value
        return made

    def anywhere(self, sound: Array, axis: int, widest: int, value: float) -> Array:
        """The spectrogram with a random number of the axis, up to `widest`, at a random place set to a value."""
        length = sound.shape[axis - 3]
        self.fits(widest, length)
        width = int(rng().integers(widest + 1))
        return self.masked(sound, axis, int(rng().integers(length - width + 1)), width, value)

    def fits(self, widest: int, length: int) -> None:
        """Refuse a mask that may be longer than the axis."""
        if widest > length:
            raise self.misfit(f"a mask of up to {widest} may be longer than the axis, of {length}")


_AXIS = number("axis", REQUIRED, 1, 2)


class MaskAlongAxis(_Mask):
    """A spectrogram [..., freq, time] with mask_width frequencies (axis 1), or times (2), from mask_start on set to
    mask_value.
    """

    parameters = (
        number("mask_start", REQUIRED, 0, INT32_MAX),
        count("mask_width", REQUIRED),
        real("mask_value", REQUIRED),
        _AXIS,
    )

    def computed(self, sound: Array) -> Array:
        g = self.given
        return self.masked(sound, g.axis, g.mask_start, g.mask_width, g.mask_value)


class MaskAlongAxisIID(_Mask):
    """A spectrogram [..., freq, time] with a random number of frequencies (axis 1), or times (2), set to mask_value.

    mask_param: at most so many, each number as likely, at any place; the same ones of all channels, as in MindSpore.
    """

    parameters = (number("mask_param", REQUIRED, 0, INT32_MAX), real("mask_value", REQUIRED), _AXIS)

    def computed(self, sound: Array) -> Array:
        return self.anywhere(sound, self.given.axis, self.given.mask_param, self.given.mask_value)


class _Masking(_Mask):
    """MaskAlongAxisIID with iid_masks, else MaskAlongAxis."""

    axis: int
    widest: str

    def computed(self, sound: Array) -> Array:
        g, widest = self.given, getattr(self.given, self.widest)
        if g.iid_masks:
            return self.anywhere(sound, self.axis, widest, g.mask_value)
        self.fits(widest, sound.shape[self.axis - 3])
        return self.masked(sound, self.axis, g.mask_start if widest else 0, widest, g.mask_value)


_START, _VALUE = number("mask_start", 0, 0, int(LARGEST)), real("mask_value", 0.0, 0)


class FrequencyMasking(_Masking):
    """A spectrogram [..., freq, time] with freq_mask_param frequencies from mask_start on set to mask_value, 0 or more.

    iid_masks: a random number of them, up to freq_mask_param, at a random place instead.
    """

    axis, widest = 1, "freq_mask_param"
    parameters = (flag("iid_masks", False), number("freq_mask_param", 0, 0, int(LARGEST)), _START, _VALUE)


class TimeMasking(_Masking):
    """A spectrogram [..., freq, time] with time_mask_param times from mask_start on set to mask_value, 0 or more.

    iid_masks: a random number of them, up to time_mask_param, at a random place instead.
    """

    axis, widest = 2, "time_mask_param"
    parameters = (flag("iid_masks", False), number("time_mask_param", 0, 0, int(LARGEST)), _START, _VALUE)
