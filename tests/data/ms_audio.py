"""What MindSpore 2.10 (CPU) makes of sounds by transforms, and what it refuses: writes ms_audio.json beside this file.

usage: python ms_audio.py, where MindSpore is installed. tests/dataset/test_audio.py evaluates the same expressions on graphc.
"""

import collections
import json
import pathlib

import numpy as np

#: Two sounds, as floats and as ints, a spectrogram of powers and one of real and imaginary parts, and a long sound with a pitch.
SOUND = np.stack(
    [np.sin(np.arange(40) * 0.7) + np.cos(np.arange(40) ** 2 * 0.11), np.cos(np.arange(40) * 1.9 + 1) * 0.7]
)
SOUND = (SOUND * 0.5).astype(np.float32)
INTS = (SOUND * 90).astype(np.int16)
POWERS = ((np.arange(2 * 9 * 7) ** 2 * 31 % 1021) / 200).astype(np.float32).reshape(2, 9, 7)
PARTS = ((np.arange(2 * 9 * 7 * 2) ** 2 * 37 % 1019) / 500 - 1).astype(np.float32).reshape(2, 9, 7, 2)
PITCH = np.sign(np.sin(np.arange(700) * 0.43 * (1 + np.arange(700) // 350 * 0.5))).astype(np.float32) * 0.4
PITCH += (np.arange(700) ** 2 % 91 / 500).astype(np.float32)
FLOATS = ("SOUND", "SOUND.astype(np.float64)", "SOUND[0].astype(np.float16)")
ANY = ("SOUND", "SOUND[:, None].astype(np.float64)", "INTS", "SOUND[0, :1]")
BIQUADS = [
    *(f"A.{name}Biquad(44100, 200.0)" for name in ("Allpass", "Band", "Bandpass", "Bandreject", "Lowpass", "Highpass")),
    *(
        f"A.{name}Biquad(8000, 3900, 1)"
        for name in ("Allpass", "Band", "Bandpass", "Bandreject", "Lowpass", "Highpass")
    ),
    "A.AllpassBiquad(-100, 30, 0.01)",
    "A.BandpassBiquad(8000, 4414.4)",
    "A.TrebleBiquad(8000, 23.934, 4187.168, 0.4)",
    "A.BassBiquad(1000, -15.117, 525.25, 0.901)",
    "A.BandBiquad(44100, 200.0, 0.5, True)",
    "A.BandpassBiquad(1000, 100, 0.3, const_skirt_gain=True)",
    "A.LowpassBiquad(44100, 30000.0)",
    "A.HighpassBiquad(1000, -30, 0.2)",
    *(f"A.{name}Biquad({a})" for name in ("Bass", "Treble") for a in ("44100, 50.0", "16000, -20, 900.0, 0.3")),
    "A.EqualizerBiquad(44100, 1500, 5.5)",
    "A.EqualizerBiquad(16000, 1500, -30, Q=0.1)",
    *(f"A.DeemphBiquad({rate})" for rate in (44100, 48000)),
    *(f"A.RiaaBiquad({rate})" for rate in (44100, 48000, 88200, 96000)),
    "A.Biquad(0.1, 0.2, 0.3, 1.5, 0.1, -0.2)",
    "A.LFilter([1.0, 0.2, 0.3], [0.3, 0.1, 0.2])",
    "A.LFilter((2.0, 0.2, 0.3, -0.1), (9, 0.1, 0.2, 0.5), False)",
    "A.LFilter([2], [3])",
    "A.Filtfilt([1.0, 0.2, 0.3], [0.3, 0.1, 0.2])",
    "A.Filtfilt([1.0, -0.9], [3.0, 0.4], clamp=False)",
]
SPECTROGRAMS = (
    "16",
    "15, 9, 4, 3",
    "15, 9, 4, 3, onesided=False, power=0",
    "16, onesided=False, power=1.5, hop_length=11",
    "16, 1, 9, power=0.5",
    "16, hop_length=13, normalized=True, window=A.WindowType.HAMMING",
    "40, center=False, window=A.WindowType.KAISER",
    "16, 12, 9, 2, A.WindowType.BARTLETT, 1, True, True, A.BorderType.CONSTANT",
    "16, 12, 9, 0, A.WindowType.BLACKMAN, pad_mode=A.BorderType.EDGE",
    "16, 12, 9, 0, pad_mode=A.BorderType.SYMMETRIC",
    "1, hop_length=9",
)
MEL = "n_fft=16, n_mels=6, win_length=16, hop_length=9, f_min=0.0, f_max=50.0, pad=1, power=2.0, normalized=False, center=True"
MEL = f"dict({MEL}, onesided=True, window=A.WindowType.HANN, pad_mode=A.BorderType.REFLECT"
MEL += ", norm=A.NormType.NONE, mel_scale=A.MelType.HTK)"
LINEAR = "dict(n_fft=16, win_length=16, hop_length=9, pad=0, window=A.WindowType.HANN, power=2.0, normalized=False, center=True"
LINEAR += ", pad_mode=A.BorderType.REFLECT, onesided=True)"
TRANSFORMS = [
    *(f"{t}({x})" for t in BIQUADS for x in (FLOATS if t.endswith("200.0)") else FLOATS[:1])),
    *(f"{t}({x})" for t in BIQUADS[-5:] for x in (*FLOATS[1:], "(SOUND * 7)[None]", "SOUND[0, :1]")),
    *(f"A.{t}({FLOATS[1]})" for t in ("BassBiquad(44100, 50.0)", "TrebleBiquad(44100, 5)", "RiaaBiquad(44100)")),
    "A.Biquad(0.1, 0.2, 0.3, 1.0, 0.1, 0.2)([1.0, 2.0])",
    # ---- levels
    *(
        f"A.{t}({x})"
        for t, xs in (
            ("Gain(3.0)", ANY),
            ("Gain(0)", ("SOUND", "INTS")),
            ("Gain(-7.5)", ("SOUND.astype(np.float16)", "SOUND > 0")),
            ("Vol(3.0)", ANY),
            ("Vol(0)", ("SOUND",)),
            ("Vol(0.5, A.GainType.POWER)", ANY[:2]),
            ("Vol(-4, A.GainType.DB)", ANY[:2]),
            ("Vol(0, A.GainType.DB)", ("SOUND * 3",)),
            ("Contrast()", (*ANY[:2], "INTS // 30", ANY[3])),
            ("Contrast(100)", ("SOUND[:1].astype(np.float16)",)),
            ("Contrast(0)", ("SOUND[:1]",)),
            ("DBToAmplitude(1, 1)", ("SOUND[:1]", "INTS[:1]")),
            ("DBToAmplitude(-2.0, 0.5)", ("SOUND[:1] * 9", "SOUND[:1].astype(np.float64)")),
            ("DCShift(0.5)", ("SOUND[:1]", "INTS[:1]")),
            ("DCShift(0.5, 0.2)", ("SOUND", "SOUND[:1].astype(np.float64)")),
            ("DCShift(-0.7, 0.1)", ("SOUND", "SOUND[:1].astype(np.float64)")),
            ("DCShift(-0.5, 0.5)", ("SOUND[:1] * 2",)),
            ("DCShift(2, 0)", ("SOUND[:1]",)),
            ("DCShift(0, 0.3)", ("SOUND[:1] * 2",)),
            ("MuLawEncoding()", ANY),
            ("MuLawEncoding(7)", ("SOUND[:1]",)),
            ("MuLawDecoding()", ("np.arange(0, 256, 15).astype(np.int16)", "np.arange(0, 256, 15.0)")),
            ("MuLawDecoding(16)", ("SOUND[:1]", "np.arange(16)")),
            *(
                (f"Fade({n}, fade_shape=A.FadeShape.{shape})", (x,))
                for shape in ("LINEAR", "EXPONENTIAL", "LOGARITHMIC", "QUARTER_SINE", "HALF_SINE")
                for n, x in (("5, 7", "SOUND"), ("40, 40", "SOUND[:1].astype(np.float64)"))
            ),
            ("Fade()", ("SOUND[:1]", "INTS[:1]")),
            ("Fade(1, 1)", ("SOUND[:1]", "INTS[:1]")),
            (
                "AmplitudeToDB()",
                ("POWERS", "POWERS[0]", "np.stack([POWERS, POWERS * 3]).astype(np.float64)", "-POWERS"),
            ),
            ("AmplitudeToDB()", ("POWERS.astype(np.int16)", "POWERS * 0")),
            ("AmplitudeToDB(A.ScaleType.MAGNITUDE, 2.0, 1e-3, 10.0)", ("POWERS",)),
            ("AmplitudeToDB(ref_value=0.1, amin=0.5, top_db=5)", ("POWERS",)),
        )
        for x in xs
    ),
    # ---- effects
    *(
        f"A.{t}({x})"
        for t, xs in (
            ("Overdrive()", ANY),
            ("Overdrive(100, 0)", ("SOUND[:1]", "SOUND[:1].astype(np.float64)")),
            ("Overdrive(0, 100)", ("SOUND[:1]",)),
            ("Phaser(44100)", ANY),
            ("Phaser(1000, 1, 2.0, 5, 0.99, 2, False)", ("SOUND", "SOUND[:1].astype(np.float64)")),
            ("Phaser(1000, delay_ms=0.6, mod_speed=2)", ("SOUND",)),
            ("Flanger(44100)", ("SOUND", "SOUND[:, None].astype(np.float64)", "INTS", "SOUND.astype(np.float16)")),
            ("Flanger(1000, 5, 3, 50, 80, 5.0, 30, A.Modulation.TRIANGULAR, A.Interpolation.QUADRATIC)", ("SOUND",)),
            ("Flanger(1000, 5, 3, -50, 80, 5.0, 30, A.Modulation.SINUSOIDAL, A.Interpolation.QUADRATIC)", ("SOUND",)),
            ("Flanger(1000, 1, 2, 95, 100, 10, 100, A.Modulation.TRIANGULAR)", ("SOUND[None]", "SOUND[:, None] * 2.0")),
            ("Flanger(1000, 0, 0)", ("SOUND[:1]",)),
            ("Flanger(1)", ("SOUND[:1]",)),
            ("Dither()", (*ANY[:3], "SOUND[0, :1]", "SOUND[None]")),
            ("Dither(noise_shaping=True)", ("SOUND",)),
        )
        for x in xs
    ),
    # ---- spectra
    *(f"A.Spectrogram({a})(SOUND)" for a in SPECTROGRAMS),
    *(
        f"A.Spectrogram({SPECTROGRAMS[k]})({x})"
        for k in (0, 1)
        for x in ("SOUND[0].astype(np.float64)", "INTS[None, :1]")
    ),
    "A.Spectrogram(8)(SOUND[:, :2])",
    "A.Spectrogram(30)(SOUND[:1, :2])",
    "A.Spectrogram(8, pad_mode=A.BorderType.EDGE)(SOUND[:, :1])",
    "A.Spectrogram(8)(SOUND > 0)",
    "A.Spectrogram(8)([1.0, 2, 3, 4, 5, 6])",
    *(
        f"A.InverseSpectrogram({a})({x})"
        for a, x in (
            ("n_fft=16", "PARTS"),
            ("n_fft=16", "PARTS[None, :1].astype(np.float64)"),
            ("n_fft=16, hop_length=4", "PARTS[0]"),
            ("30, 16", "PARTS"),
            ("30, 16, 12, 5, pad=3, window=A.WindowType.HAMMING", "PARTS"),
            ("70, 16, normalized=True", "PARTS[:1]"),
            ("0, n_fft=8, onesided=False", "PARTS"),
            ("n_fft=16, center=False, pad_mode=A.BorderType.EDGE, window=A.WindowType.BLACKMAN", "PARTS[:1]"),
            ("20, n_fft=16", "PARTS[..., :1, :]"),
        )
    ),
    *(
        f"A.GriffinLim({a}, rand_init=False)({x})"
        for a, x in (
            ("16, 4", "POWERS"),
            ("16, 4, power=1.0", "POWERS[0]"),
            ("16, 4, momentum=0", "POWERS[None].astype(np.float64)"),
            ("16, 2, 12, 4, A.WindowType.HAMMING, 3, length=26", "POWERS"),
            ("16, 1, 0, 0, length=0", "POWERS.astype(np.int16)"),
            ("16, 1, length=51", "POWERS[:1]"),
            ("16, 3, momentum=0.3", "POWERS[:1].astype(np.float64)"),
        )
    ),
    *(f"A.SpectralCentroid({a})(SOUND)" for a in ("100, 16", "101, 15, 9, 4, 2, A.WindowType.KAISER")),
    *(
        f"A.SpectralCentroid(16000, 16)({x})"
        for x in ("SOUND[0]", "INTS", "SOUND[None].astype(np.float64)", "SOUND[:, :9] * 0")
    ),
    *(
        f"A.{t}({x})"
        for t in ("Angle()", "ComplexNorm()", "ComplexNorm(3)", "Magphase(0.5)")
        for x in (
            "PARTS[0, :2]",
            "PARTS[0, :2].astype(np.float64)",
            "(PARTS[0, :2] * 9).astype(np.int16)",
            "PARTS[0, 0, 0]",
        )
    ),
    "A.ComplexNorm(0)(PARTS[0, 0])",
    "A.Magphase()(PARTS[0, 0])",
    # ---- features
    *(
        f"A.{t}({x})"
        for t, x in (
            ("MelScale(4, 100, n_stft=9)", "POWERS"),
            ("MelScale(4, 100, n_stft=9)", "POWERS[None].astype(np.float64)"),
            ("MelScale(4, 100, n_stft=9)", "POWERS.astype(np.int16)"),
            ("MelScale(4, 101, n_stft=9)", "POWERS[0]"),
            ("MelScale(3, 100, 5, 40.0, 9, A.NormType.SLANEY)", "POWERS"),
            ("MelScale(3, 8000, -5.0, 3000.0, 9, A.NormType.SLANEY, A.MelType.SLANEY)", "POWERS"),
            ("MelSpectrogram(100, 16, n_mels=5)", "SOUND"),
            ("MelSpectrogram(100, 16, n_mels=5)", "INTS[0]"),
            ("MelSpectrogram(100, 16, n_mels=0)", "SOUND"),
            ("MelSpectrogram(100, 16, f_min=5.0, f_max=5.0, n_mels=2)", "SOUND[:1]"),
            (
                "MelSpectrogram(100, 15, 9, 4, 5.0, 45.0, 2, 5, A.WindowType.KAISER, 1.0, True, False, A.BorderType.EDGE, True,"
                " A.NormType.SLANEY, A.MelType.SLANEY)",
                "SOUND[None]",
            ),
            (f"MFCC(100, 4, melkwargs={MEL})", "SOUND"),
            (f"MFCC(100, 6, 2, A.NormMode.NONE, True, {MEL})", "INTS[0]"),
            (f"MFCC(100, 0, melkwargs={MEL})", "SOUND"),
            ("MFCC(16000, 5)", "np.tile(SOUND, 9)"),
            (f"LFCC(100, 20, 5, speckwargs={LINEAR})", "SOUND"),
            (f"LFCC(100, 3, 5, 5.0, 40.0, 2, A.NormMode.NONE, True, {LINEAR})", "INTS[None]"),
            (f"LFCC(100, 4, 3, 10, 10, speckwargs={LINEAR})", "SOUND[:1]"),
            ("LFCC(16000, n_lfcc=5)", "np.tile(SOUND, 9)[0]"),
            ("ComputeDeltas()", "POWERS"),
            ("ComputeDeltas(3)", "POWERS[0].astype(np.float64)"),
            ("ComputeDeltas(4, A.BorderType.REFLECT)", "POWERS[None]"),
            ("ComputeDeltas(7, A.BorderType.CONSTANT)", "POWERS.astype(np.int16)"),
            *((f"ComputeDeltas(31, A.BorderType.{b})", "POWERS[0]") for b in ("SYMMETRIC", "REFLECT", "EDGE")),
            ("ComputeDeltas()", "POWERS[..., :1] > 1"),
            ("SlidingWindowCmn()", "POWERS"),
            ("SlidingWindowCmn(4, 2)", "POWERS[None]"),
            ("SlidingWindowCmn(4, 2, True)", "POWERS"),
            ("SlidingWindowCmn(4, 2, True, True)", "POWERS[0]"),
            ("SlidingWindowCmn(5, 3, False, True)", "POWERS.astype(np.float64)"),
            ("SlidingWindowCmn(4, 20, False, True)", "POWERS.astype(np.float64)"),
            ("SlidingWindowCmn(1, 1, True, True)", "POWERS[0]"),
            ("SlidingWindowCmn(0, 0)", "POWERS[0]"),
            ("SlidingWindowCmn(3, 1)", "POWERS[0, :1]"),
            ("SlidingWindowCmn(3, 1)", "POWERS[0, :1, :1]"),
            ("SlidingWindowCmn(3, 2, True)", "POWERS[:1].astype(np.int16)"),
        )
    ),
    # ---- masks
    *(
        f"A.{t}({x})"
        for t, x in (
            ("MaskAlongAxis(1, 2, 0.5, 1)", "POWERS[0]"),
            ("MaskAlongAxis(0, 7, -0.5, 2)", "POWERS[0].astype(np.float64)"),
            ("MaskAlongAxis(1, 2, 0.5, 2)", "POWERS.astype(np.int16)[:, :2]"),
            ("MaskAlongAxisIID(0, 0.5, 1)", "POWERS[0]"),
            ("TimeMasking()", "POWERS[0]"),
            ("TimeMasking(False, 0, 20)", "POWERS[0]"),
            ("TimeMasking(False, 3, 1, 0.5)", "POWERS[None, :, :2]"),
            ("TimeMasking(True, 0)", "POWERS[0]"),
            ("FrequencyMasking(False, 3, 6, 2)", "POWERS[0].astype(np.int16)"),
        )
    ),
    # ---- times and rates
    *(
        f"A.{t}({x})"
        for t, x in (
            ("Resample(16000, 8000)", "SOUND"),
            ("Resample()", "SOUND[:1]"),
            ("Resample(3.5, 3.5)", "INTS[:1]"),
            ("Resample(3, 5)", "SOUND[None].astype(np.float64)"),
            ("Resample(3.7, 5.2)", "INTS[0]"),
            ("Resample(441, 160)", "SOUND"),
            ("Resample(160, 147, A.ResampleMethod.KAISER_WINDOW)", "SOUND[0]"),
            ("Resample(5, 3, A.ResampleMethod.KAISER_WINDOW, 4, 0.5, 3.0)", "SOUND"),
            ("Resample(5, 3, A.ResampleMethod.KAISER_WINDOW)", "SOUND.astype(np.float64)"),
            ("Resample(5, 3, rolloff=1.0, lowpass_filter_width=1)", "SOUND"),
            ("Resample(5, 3)", "SOUND[0, :1]"),
            ("Resample(5, 3)", "SOUND > 0"),
            ("TimeStretch(4, 9, 1.3)", "PARTS"),
            ("TimeStretch(4, 9, 0.7)", "PARTS[0].astype(np.float64)"),
            ("TimeStretch(4, 9)", "PARTS[0]"),
            ("TimeStretch(4, 9, 1)", "PARTS[None]"),
            ("TimeStretch(4, 8, 1.6)", "PARTS"),
            ("TimeStretch(n_freq=9, fixed_rate=1.3)", "(PARTS[None, :1] * 9).astype(np.int16)"),
            ("TimeStretch(4, 9, 20)", "PARTS"),
            ("PhaseVocoder(1.3, np.linspace(0, np.pi * 4, 9).astype(np.float32)[:, None])", "PARTS"),
            ("PhaseVocoder(0.8, np.linspace(0, np.pi * 4, 9)[:, None])", "PARTS[:1].astype(np.float64)"),
            ("PhaseVocoder(1, np.zeros((9, 1), np.float32))", "PARTS[0]"),
            ("PitchShift(1000, 4, n_fft=16)", "SOUND"),
            ("PitchShift(1000, -4, n_fft=16)", "SOUND[0].astype(np.float64)"),
            ("PitchShift(1000, 3, 7, 16, 12, 3, A.WindowType.HAMMING)", "SOUND[None]"),
            ("PitchShift(1000, 0, n_fft=16)", "SOUND"),
            ("PitchShift(1000, 3, -12, n_fft=16)", "INTS"),
            ("DetectPitchFrequency(1000)", "PITCH"),
            ("DetectPitchFrequency(1000, 0.02, 3, 60, 340)", "PITCH.reshape(2, 350)"),
            ("DetectPitchFrequency(1000, 0.02, 4, 60, 340)", "PITCH.astype(np.float64)"),
            ("DetectPitchFrequency(1000, 0.02, 1, 60, 340)", "PITCH.astype(np.float16)[None]"),
            ("DetectPitchFrequency(1000, 0.01, 3, 85, 340)", "PITCH * 0"),
            ("Vad(1000)", "SOUND"),
            ("Vad(1000, search_time=0.2)", "PITCH.reshape(2, 350)[:, :310] * 0"),
            ("Vad(1000, search_time=0.1)", "np.zeros(240, np.int16)"),
            ("Vad(1000, search_time=0.1, measure_freq=40, pre_trigger_time=0.02)", "np.zeros(200)"),
        )
    ),
    # ---- matrices
    *(
        f"A.{t}"
        for t in (
            "create_dct(5, 8)",
            "create_dct(5, 8, A.NormMode.ORTHO)",
            "create_dct(9, 2, A.NormMode.ORTHO)",
            "linear_fbanks(9, 50.0, 400.0, 4, 1001)",
            "linear_fbanks(0, 50, 400.0, 4, 1000)",
            "linear_fbanks(1, 50, 400.0, 4, 1000)",
            "linear_fbanks(9, 50, 50, 2, 1000)",
            *(
                f"melscale_fbanks(17, 20.0, 3900.0, 4, {rate}, A.NormType.{norm}, A.MelType.{scale})"
                for rate, norm, scale in ((8000, "NONE", "HTK"), (7999, "SLANEY", "HTK"), (8000, "SLANEY", "SLANEY"))
            ),
        )
    ),
]
#: Arguments that are refused, between "|", "-" for none; or what is, behind ")(", by a transform of such arguments.
REFUSED = """
AllpassBiquad: 44100, 200.0)(INTS | 44100, 200.0)(SOUND[:, :0] | 44100, 200.0)(np.array(1.0) | 44100, 200.0)(np.array(['a'])
AllpassBiquad: 44100, 200.0)(SOUND > 0
LowpassBiquad: 0, 1 | 2.0, 1 | True, 1 | 1, 'a' | 1, True | 1, 1e8 | 1, 1, 0 | 1, 1, 1.01 | 1, 1, True | 1 | 2**31, 1
DeemphBiquad: 48001 | 44100.0 | None
RiaaBiquad: 48001 | 96000.0
BandBiquad: 1000, 573.7, 0.1)(SOUND | 1000, 0.0, 0.5, True)(SOUND | 1, 1, 1, 1 | 1, 1, 1, None
BandpassBiquad: 1, 1, 1, 'a'
BassBiquad: 1, 'a' | 1, 2e7
Biquad: 1, 1, 1, 0, 1, 1 | 1, 1, 1, 'a', 1, 1 | 1, 1, 1, 1, 1 | 1e9, 1, 1, 1, 1, 1
LFilter: [1, 2], [1] | [1, 'a'], [1, 2] | [1, 1e9], [1, 2] | np.ones(2), [1, 2] | [1], [2], 1 | 1, 2 | [], [])(SOUND
LFilter: [0, 1], [1, 2])(SOUND
Filtfilt: [1, 2], [1] | [1, 'a'], [1, 2] | [1, 1e9], [1, 2] | np.ones(2), [1, 2] | [1], [2], 1 | 1, 2
Gain: 'a' | 1e9 | None | 1)(np.array(2.0)
Vol: -1 | 0, A.GainType.POWER | 1, 'db' | 'a' | 1e9 | -
Contrast: -1 | 101 | 'a'
DBToAmplitude: 1 | 1, 'a' | 1e9, 1
DCShift: 2.1 | 'a' | 1, 'a'
MuLawEncoding: 0 | 2.5 | 'a'
MuLawDecoding: 0 | 2.5 | 'a' | 1)(SOUND
Fade: -1 | 1, -1 | 1.0 | 1, 1, 'linear' | 41)(SOUND | 0, 41)(SOUND
AmplitudeToDB: 'power' | ref_value=0 | amin=0 | top_db=-1 | top_db=None | amin='a' | )(SOUND[0]
Overdrive: -1 | 101 | 1, 'a'
Phaser: 1.0 | 1, 1.1 | 1, 1, -1 | 1, 1, 1, 5.1 | 1, 1, 1, 1, 1 | 1, 1, 1, 1, 0.9, 0.05 | 1, sinusoidal=1 | 0)(SOUND
Phaser: -100)(SOUND
Flanger: 0 | 1, 31 | 1, depth=11 | 1, regen=96 | 1, width=101 | 1, speed=11 | 1, phase=-1 | 1, modulation=0 | -1)(SOUND
Flanger: 8, speed=10)(SOUND | 44100)(SOUND[0]
Dither: 'TPDF' | noise_shaping=1 | )(np.array(1.0)
Spectrogram: 0 | 8.0 | True | 8, 9 | 8, 0 | 8, hop_length=0 | 8, pad=-1 | 8, window='hann' | 8, power=-1 | 8, normalized=1
Spectrogram: 8, center=0 | 8, pad_mode='edge' | 8, onesided=None | 2**31 | 1)(SOUND | 41, center=False)(SOUND
Spectrogram: 8)(np.array(1.0) | 8)(np.array(['a'])
InverseSpectrogram: -1 | n_fft=0 | n_fft=8, win_length=9 | pad=-1 | window=1 | center=1 | 1.5 | n_fft=16, pad=3)(PARTS
InverseSpectrogram: n_fft=15, onesided=False)(PARTS | n_fft=8)(PARTS | n_fft=16)(POWERS | n_fft=16)(PARTS[..., :1, :]
InverseSpectrogram: n_fft=16)(PARTS[0, 0]
GriffinLim: 0 | 8, 0 | 8, 1, 9 | 8, 1, -1 | window_type='hann' | power=0 | momentum=-1 | length=-1 | rand_init=1
GriffinLim: 18, 1)(POWERS | 16, 1, momentum=1)(POWERS | 16)(SOUND[0]
SpectralCentroid: -1 | 1.0 | 1, 0 | 1, 8, 9 | 1, 8, pad=-1 | 1, 8, window=None | 0, 16)(SOUND
Angle: )(POWERS
ComplexNorm: )(POWERS | -1 | 'a' | None
Magphase: )(POWERS | -1 | 'a' | None
MelScale: 0 | 4.0 | 4, 0 | 4, 100, 5.0, 5.0 | 4, 100, 'a' | 4, 100, 5.0, 0 | 4, 1 | n_stft=0 | norm='slaney' | mel_type=1
MelScale: 4, 100, n_stft=8)(POWERS | 4, 100, n_stft=1)(POWERS | 4, 100, n_stft=9)(SOUND[0]
MelSpectrogram: -1 | 100, 0 | 100, 8, 9 | 100, n_mels=-1 | 100, power=0 | 100, f_min=60.0 | 100, f_min=9.0, f_max=8.0 | 0
MelSpectrogram: 100, 80)(SOUND
MFCC: -1 | 100, -1 | 100, 4, 3 | 100, norm=1 | 100, log_mels=1 | 100, melkwargs=3 | 100, 200)(SOUND
LFCC: -1 | 100, 0 | 100, 9, 0 | 100, f_min=10.0, f_max=5.0 | 100, f_min=60.0 | dct_type=1 | log_lf=1 | speckwargs=3
LFCC: 100, 20, 500)(SOUND
InverseMelScale: 0 | 9, 0 | 9, 4, 0 | 9, 4, 100, 60.0 | 9, max_iter=0 | 9, tolerance_loss=0 | 9, tolerance_change='a' | -
InverseMelScale: 9, 4, 100)(POWERS | 1, 9, 100)(POWERS
ComputeDeltas: 2 | 5.0 | 5, 'edge' | )(SOUND[0]
SlidingWindowCmn: -1 | 1, -1 | 1.0 | 1, 1, 1 | 1, 1, True, 0 | 0, 0, True)(POWERS | )(SOUND[0]
MaskAlongAxis: -1, 1, 0, 1 | 0, 0, 0, 1 | 0, 1, 'a', 1 | 0, 1, 0, 3 | 0, 1, 0, 0 | 0, 1.0, 0, 1 | 8, 2, 0, 1)(POWERS
MaskAlongAxis: 8, 1, 0, 2)(POWERS | 0, 1, 0, 1)(SOUND[0]
MaskAlongAxisIID: -1, 0, 1 | 1, 'a', 1 | 1, 0, 3 | 1.0, 0, 1 | 10, 0, 1)(POWERS
TimeMasking: 1 | True, -1 | True, 1.0 | True, 1, -1 | True, 1, 1, -0.5 | True, 8)(POWERS | False, 8)(POWERS
TimeMasking: False, 3, 5)(POWERS
FrequencyMasking: 1 | True, -1 | True, 1.0 | True, 1, -1 | True, 1, 1, -0.5 | )(SOUND[0]
Resample: 0 | 1, 0 | 'a' | 1, 1, 'sinc_interpolation' | 1, 1, lowpass_filter_width=0 | rolloff=0.0 | rolloff=1.1 | rolloff='a'
Resample: 0.5, 3)(SOUND | 3, 0.5)(SOUND | 1, 2, beta='a')(SOUND
TimeStretch: 0 | 1.0 | 1, 0 | 1, 9, 0 | 1, 9, 'a' | n_freq=1)(PARTS | 4, 9, 2)(POWERS
PhaseVocoder: 0, np.ones((9, 1)) | 1, [1] | 'a', np.ones((9, 1)) | 1.3, np.ones(9, np.float32))(PARTS
PhaseVocoder: 1.3, np.ones((9, 1)))(PARTS | 1.3, np.ones((8, 1), np.float32))(PARTS | 1.3, np.ones((9, 2), np.float32))(PARTS
PitchShift: -1, 1 | 1, 1.0 | 1, 1, 0 | 1, 1, 12, 0 | 1, 1, 12, 8, 9 | 1, 1, window=1 | 1 | 0, 3, n_fft=16)(SOUND
PitchShift: 16000, -100, n_fft=16)(SOUND | 1000, 3, n_fft=15)(SOUND
DetectPitchFrequency: 0 | 1.0 | 1, 0 | 1, 1, 0 | 1, 1, 1, 0 | 1, 1, 1, 85, 0 | 1, 1, 1, 'a' | 1000, 0.01, 3, 85.5)(PITCH
DetectPitchFrequency: 1000, 0.01, 200, 85, 340)(PITCH | 1000)((PITCH * 90).astype(np.int16) | -1000)(PITCH
Vad: 0 | 1.0 | 100, 'a' | 100, search_time=-1 | 100, noise_up_time=0 | 100, measure_freq=0 | 100, measure_duration=-1
Vad: 100, hp_filter_freq=0 | 100, lp_lifter_freq=0 | 100, boot_time='a' | 1000, search_time=0)(PITCH
Vad: 1000, hp_filter_freq=6000.0)(PITCH | 1000, lp_lifter_freq=100)(PITCH
create_dct: 0, 1 | 1, 0 | 1.0, 1 | 1, 1, 'ortho'
linear_fbanks: -1, 0, 1, 1, 1 | 1, -1, 1, 1, 1 | 1, 2, 1, 1, 1 | 1, 0, 0, 1, 1 | 1, 0, 1, 0, 1 | 1, 0, 1, 1, 0
melscale_fbanks: -1, 0, 1, 1, 1 | 1, 0, 1, 1, 1, 1 | 1, 0, 1, 1, 1, mel_type=1 | 1, 0, 1, 1.0, 1
"""
REFUSED = [
    f"A.{name}({'' if given == '-' else given})"
    for name, _, line in (row.partition(": ") for row in REFUSED.strip().splitlines())
    for given in line.split(" | ")
]
#: What is sought from random numbers on, of the seed 3.
SOUGHT = [
    "A.InverseMelScale(9, 4, 100, max_iter=30)(POWERS[:, :4])",
    "A.InverseMelScale(9, 4, 100, 5.0, 40.0, 9, 3.0, sgdargs={'sgd_lr': 0.3, 'sgd_momentum': 0})(POWERS[0, :4].astype(np.int16))",
    "A.InverseMelScale(9, 4, 99, tolerance_change=0.1, norm=A.NormType.SLANEY, mel_type=A.MelType.SLANEY)(POWERS[None, :1, :4])",
    "A.GriffinLim(16, 3)(POWERS[0])",
]
#: How often each result comes, in so many calls.
DRAWN = {
    "A.MaskAlongAxisIID(3, 9, 1)(POWERS[0])": 4000,
    "A.TimeMasking(True, 7, 0, 9)(POWERS[0])": 4000,
    "A.Dither(A.DensityFunction.RPDF)(SOUND[:, :5] * 3)": 2000,
    "A.Dither(A.DensityFunction.RPDF, True)(SOUND[:, None, :3] * 9)": 2000,
    "A.Dither(A.DensityFunction.GPDF)(SOUND[:, :2] * 3)[0, :1]": 4000,
    "A.Dither(A.DensityFunction.GPDF, True)(SOUND[:, :2] * 3)[0, 1:]": 4000,
}


def plain(value):
    """A value as JSON: its dtype, shape and elements, to as many digits as it has."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        digits = 9 if array.dtype == np.float64 else 6
        return [str(array.dtype), list(array.shape), [float(f"{v:.{digits}g}") for v in array.astype(float).ravel()]]
    return [str(array.dtype), list(array.shape), array.ravel().tolist()]


def names(audio):
    """What expressions may name; arrays anew, for some transforms of MindSpore write into them."""
    here = ("SOUND", "INTS", "POWERS", "PARTS", "PITCH")
    return {"np": np, "A": audio, **{n: globals()[n].copy() for n in here}}


def drawn(text, audio, times):
    """How often each result comes, by its elements to five digits."""
    code = compile(text, "drawn", "eval")
    return dict(
        collections.Counter(
            str(np.round(eval(code, names(audio)).ravel().astype(float), 5).tolist()) for _ in range(times)
        )
    )


def main():
    import mindspore.dataset as ds
    from mindspore.dataset import audio
    from ms_dataset import error

    found = {"transforms": {}, "refused": {}}
    for text in TRANSFORMS:
        result = eval(text, names(audio))
        found["transforms"][text] = [plain(r) for r in (result if isinstance(result, tuple) else (result,))]
    for text in REFUSED:
        found["refused"][text] = error(lambda text=text: eval(text, names(audio)))
    ds.config.set_seed(3)
    found["sought"] = {text: plain(eval(text, names(audio))) for text in SOUGHT}
    # MindSpore's eager transforms take their seed when they are made.
    ds.config.set_seed(5489)
    found["drawn"] = {text: drawn(text, audio, times) for text, times in DRAWN.items()}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
