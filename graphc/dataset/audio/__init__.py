"""Transforms of sounds, over NumPy and Numba (MindSpore: mindspore.dataset.audio)."""

from typing import TYPE_CHECKING, Any

from graphc.dataset.audio.banks import create_dct, linear_fbanks, melscale_fbanks
from graphc.dataset.audio.effects import Dither, Flanger, Overdrive, Phaser
from graphc.dataset.audio.features import (
    LFCC,
    MFCC,
    ComputeDeltas,
    InverseMelScale,
    MelScale,
    MelSpectrogram,
    SlidingWindowCmn,
)
from graphc.dataset.audio.filters import (
    AllpassBiquad,
    BandBiquad,
    BandpassBiquad,
    BandrejectBiquad,
    BassBiquad,
    Biquad,
    DeemphBiquad,
    EqualizerBiquad,
    Filtfilt,
    HighpassBiquad,
    LFilter,
    LowpassBiquad,
    RiaaBiquad,
    TrebleBiquad,
)
from graphc.dataset.audio.kinds import (
    BorderType,
    DensityFunction,
    FadeShape,
    GainType,
    Interpolation,
    MelType,
    Modulation,
    NormMode,
    NormType,
    ResampleMethod,
    ScaleType,
    WindowType,
)
from graphc.dataset.audio.levels import (
    AmplitudeToDB,
    Contrast,
    DBToAmplitude,
    DCShift,
    Fade,
    Gain,
    MuLawDecoding,
    MuLawEncoding,
    Vol,
)
from graphc.dataset.audio.masks import FrequencyMasking, MaskAlongAxis, MaskAlongAxisIID, TimeMasking
from graphc.dataset.audio.spectra import (
    Angle,
    ComplexNorm,
    GriffinLim,
    InverseSpectrogram,
    Magphase,
    SpectralCentroid,
    Spectrogram,
)
from graphc.dataset.audio.speech import DetectPitchFrequency, Vad
from graphc.dataset.audio.stretching import PhaseVocoder, PitchShift, Resample, TimeStretch
from graphc.errors.suggestions import no_member
from graphc.tracebacks import clean
from graphc.validation.signatures import accept

__all__ = [
    "LFCC", "MFCC", "AllpassBiquad", "AmplitudeToDB", "Angle", "BandBiquad", "BandpassBiquad", "BandrejectBiquad",
    "BassBiquad", "Biquad", "BorderType", "ComplexNorm", "ComputeDeltas", "Contrast", "DBToAmplitude", "DCShift",
    "DeemphBiquad", "DensityFunction", "DetectPitchFrequency", "Dither", "EqualizerBiquad", "Fade", "FadeShape", "Filtfilt",
    "Flanger", "FrequencyMasking", "Gain", "GainType", "GriffinLim", "HighpassBiquad", "Interpolation", "InverseMelScale",
    "InverseSpectrogram", "LFilter", "LowpassBiquad", "Magphase", "MaskAlongAxis", "MaskAlongAxisIID", "MelScale",
    "MelSpectrogram", "MelType", "Modulation", "MuLawDecoding", "MuLawEncoding", "NormMode", "NormType", "Overdrive",
    "PhaseVocoder", "Phaser", "PitchShift", "Resample", "ResampleMethod", "RiaaBiquad", "ScaleType", "SlidingWindowCmn",
    "SpectralCentroid", "Spectrogram", "TimeMasking", "TimeStretch", "TrebleBiquad", "Vad", "Vol", "WindowType",
    "create_dct", "linear_fbanks", "melscale_fbanks",
]  # fmt: skip

accept(globals(), __all__, __name__)

if not TYPE_CHECKING:  # For type checkers the module has its names and no others.

    def __getattr__(name: str) -> Any:
        try:
            return no_member("graphc.dataset.audio", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
