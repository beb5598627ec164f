"""Transforms of sounds against what MindSpore 2.10 did (tests/data/ms_audio.py wrote it), and where graphc does otherwise."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
from graphc.dataset import audio as A
from graphc.dataset.audio.recurrences import _half
from graphc.dataset.orders.mersenne import Mt19937
from graphc.errors import GraphcError
from tests.recorders import recorder

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_audio.json").read_text())
probe, refusals = recorder("ms_audio"), recorder("ms_dataset")
KNOWN = probe.names(A)


@pytest.fixture(autouse=True)
def seeded():
    ds.config.set_seed(20)


def tolerance(text, dtype):
    """Of the largest element: what float32 leaves, and more where errors go around."""
    if dtype == "float16":
        return 1e-3
    return 1e-4 if any(name in text for name in ("GriffinLim", "PitchShift", "SlidingWindow")) else 1e-5


@pytest.mark.parametrize("text", RECORDED["transforms"])
def test_transforms(text):
    result = eval(text, KNOWN)
    results = result if isinstance(result, tuple) else (result,)
    for got, (dtype, shape, values) in zip(results, RECORDED["transforms"][text], strict=True):
        expected = np.array(values, float).reshape(shape)
        assert (str(got.dtype), list(got.shape)) == (dtype, shape)
        size = np.nanmax(np.abs(expected), initial=1e-3)
        np.testing.assert_allclose(got.astype(float), expected, rtol=0, atol=tolerance(text, dtype) * size)


@pytest.mark.parametrize("text", RECORDED["refused"])
def test_refused_arguments(text):
    got, expected = refusals.error(lambda: eval(text, KNOWN)), RECORDED["refused"][text]
    # What MindSpore says when it computes is often known before.
    assert got == expected or (expected == "RuntimeError" and got == "ValueError")


@pytest.mark.parametrize("text", RECORDED["drawn"])
def test_random_results_come_as_often(text):
    expected, got = RECORDED["drawn"][text], probe.drawn(text, A, probe.DRAWN[text])
    for result in expected.keys() | got.keys():
        once, again = expected.get(result, 0), got.get(result, 0)
        assert abs(once - again) <= 6 * max(once, again) ** 0.5 + 3


class Drawn:
    """MindSpore's random numbers: one of 32 bits for a float32, two for a float64."""

    def __init__(self, seed):
        self.engine = Mt19937(seed)

    def random(self, shape, dtype=np.float64):
        drawn = (
            self.engine.use(int(np.prod(shape)) * (dtype().itemsize // 4))
            .astype(np.float64)
            .reshape(-1, dtype().itemsize // 4)
        )
        return (
            (drawn @ 2.0 ** (32 * np.arange(drawn.shape[1])) / 2.0 ** (8 * dtype().itemsize))
            .astype(dtype)
            .reshape(shape)
        )


@pytest.mark.parametrize("text", RECORDED["sought"])
def test_what_is_sought_from_mindspores_random_numbers_on(text, monkeypatch):
    drawn = Drawn(3)
    monkeypatch.setattr("graphc.dataset.audio.features.rng", lambda: drawn)
    monkeypatch.setattr("graphc.dataset.audio.spectra.rng", lambda: drawn)
    dtype, shape, values = RECORDED["sought"][text]
    got = eval(text, KNOWN)
    assert (str(got.dtype), list(got.shape)) == (dtype, shape)
    np.testing.assert_allclose(got.ravel(), values, rtol=1e-4, atol=1e-4)


def test_seeds_and_workers():
    def masked(workers, processes=False):
        source = ds.NumpySlicesDataset({"x": [KNOWN["POWERS"]] * 8}, shuffle=False)
        random = [
            A.TimeMasking(True, 5, 0, 99),
            A.MaskAlongAxisIID(4, 99, 1),
            A.GriffinLim(16, 1),
            A.Dither(A.DensityFunction.GPDF),
        ]
        mapped = source.map(random, "x", num_parallel_workers=workers, python_multiprocessing=processes)
        return np.stack([row[0] for row in mapped.create_tuple_iterator(num_epochs=1, output_numpy=True)])

    first = masked(1)
    assert len(np.unique(first, axis=0)) == 8
    np.testing.assert_array_equal(first, masked(3))
    ds.config.set_seed(21)
    assert (masked(1) != first).any()
    eager = [A.TimeMasking(True, 7)(KNOWN["POWERS"]) for _ in range(2)]
    ds.config.set_seed(20)
    ds.config.set_seed(21)
    assert (eager[0] != eager[1]).any()


def test_transforms_are_sent_to_processes_as_they_are():
    for text in RECORDED["transforms"]:
        made = text.split(")(")[0] + (")" if ")(" in text else "")
        if made.startswith(("A.create", "A.linear", "A.melscale")) or "GriffinLim" in made:
            continue
        transform = eval(made, KNOWN)
        sound = eval(text.removeprefix(made), KNOWN)
        again = pickle.loads(pickle.dumps(transform))
        for one, other in zip(np.atleast_1d(again(sound)), np.atleast_1d(transform(sound)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_sounds_stay_as_they_are():
    known = probe.names(A)
    for value in known.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    for text in [*RECORDED["transforms"], *probe.SOUGHT, *probe.DRAWN]:
        eval(text, known)


@pytest.mark.parametrize(
    "text",
    [
        "MelSpectrogram(100, 16, n_mels=5)",
        f"MFCC(100, 4, melkwargs={probe.MEL})",
        f"LFCC(100, 9, 5, speckwargs={probe.LINEAR})",
    ],
)
def test_features_of_float64_are_those_of_float32(text):
    """MindSpore 2.10 reads the halves of its numbers."""
    transform = eval(f"A.{text}", KNOWN)
    wide, narrow = (transform(KNOWN["SOUND"].astype(dtype)) for dtype in (np.float64, np.float32))
    assert wide.dtype == (np.float64 if "MelS" in text else np.float32)
    np.testing.assert_allclose(wide, narrow, rtol=1e-4, atol=1e-3)


def test_spectrograms_of_other_dtypes_become_sounds():
    parts = KNOWN["PARTS"]
    for dtype in (np.int16, np.float16):
        values = (parts * 9).astype(dtype)
        got = A.InverseSpectrogram(n_fft=16)(values)
        np.testing.assert_array_equal(got, A.InverseSpectrogram(n_fft=16)(values.astype(np.float32)))


def test_a_spectrogram_becomes_its_sound():
    sound = KNOWN["SOUND"]
    for window in (A.WindowType.HANN, A.WindowType.HAMMING, A.WindowType.KAISER):
        parts = A.Spectrogram(16, hop_length=4, pad=3, power=0, window=window)(sound)
        np.testing.assert_allclose(A.InverseSpectrogram(40, 16, None, 4, 3, window)(parts), sound, atol=1e-6)
    bands = A.MelScale(4, 100, n_stft=9)
    wanted = bands(KNOWN["POWERS"].astype(float))
    assert np.abs(bands(A.InverseMelScale(9, 4, 100)(wanted)) - wanted).mean() < 0.02 * wanted.mean()


def test_more_channels_than_samples():
    sound = np.linspace(-1, 1, 14, dtype=np.float32).reshape(7, 2)
    for transform in (A.Overdrive(), A.Phaser(8000), A.LFilter([1, 0.5], [1, 0.2])):
        np.testing.assert_array_equal(transform(sound), np.stack([transform(row) for row in sound]))


def voice(seed, silence, seconds):
    """float32: noise, and then a tone with overtones that is now louder, now quieter; 8000 samples a second."""
    random, times = np.random.RandomState(seed), np.arange(int(seconds * 8000)) / 8000
    noise = random.randn(int(silence * 8000)) * 1e-3
    tone = sum(np.sin(2 * np.pi * 150 * h * times) / h for h in range(1, 12)) * 0.1
    loud = tone * (1 + 0.3 * np.sin(2 * np.pi * 4 * times)) + random.randn(len(times)) * 1e-3
    return np.concatenate([noise, loud]).astype(np.float32)


#: (how many sounds, arguments, what torchaudio 2.5.1 leaves of the sound's samples).
VOICES = [
    ("one", {}, 8800),
    ("both", {}, 10000),
    ("one", {"trigger_level": 5, "trigger_time": 0.1, "boot_time": 0.2}, 8800),
    ("gap", {"measure_freq": 25.0, "measure_duration": 0.06, "measure_smooth_time": 0.2}, 9520),
    ("one", {"noise_reduction_amount": 0.5, "noise_up_time": 0.3, "noise_down_time": 0.05}, 8400),
    (
        "gap",
        {"hp_filter_freq": 80.0, "lp_filter_freq": 3000.0, "hp_lifter_freq": 100.0, "lp_lifter_freq": 1500.0},
        10000,
    ),
]


@pytest.mark.parametrize(("which", "given", "left"), VOICES)
def test_voices_are_found(which, given, left):
    """MindSpore 2.10 finds none, and leaves the last 8800 samples or so of any sound."""
    one, gap = voice(0, 2.0, 1.0), np.concatenate([voice(1, 1.6, 0.2), voice(2, 0.15, 0.8)])
    length = min(len(one), len(gap))
    sound = {"one": one, "gap": gap, "both": np.stack([one[:length], gap[:length]])}[which]
    for dtype in (np.float32, np.float64):
        np.testing.assert_array_equal(A.Vad(8000, **given)(sound.astype(dtype)), sound[..., -left:])


#: Where MindSpore 2.10 gives what happens to stand in memory, ends, or goes on for ever.
SENSELESS = [
    ("A.MelSpectrogram(100, 16, n_mels=5, onesided=False)", "onesided must be True"),
    ("A.MFCC(100, 4, melkwargs={'onesided': False})", "onesided must be True"),
    ("A.LFCC(100, 4, 4, speckwargs={'onesided': False})", "onesided must be True"),
    ("A.LFCC(100, 4, 4, speckwargs={'power': 0})", r"speckwargs\['power'\] must be above 0"),
    ("A.MFCC(100, 4, melkwargs={'n_fft': 16, 'mels': 6})", "melkwargs has 'mels'; it may have n_fft, win_length"),
    ("A.InverseMelScale(9, sgdargs={'lr': 1})", "sgdargs has 'lr'; it may have sgd_lr, sgd_momentum"),
    ("A.MFCC(100, 4, melkwargs={'n_fft': 0})", r"MFCC: melkwargs\['n_fft'\] must be from 1"),
    ("A.MelScale(4, 100, -700)", "f_min must be above -700"),
    ("A.BandBiquad(1000, -100.0, 0.5, True)", "noise has no band"),
    ("A.BandBiquad(1000, -1e6, 0.5)", "too high for sample_rate"),
    ("A.Phaser(10)", "less than half a sample"),
    ("A.Phaser(44100, delay_ms=0)", "less than half a sample"),
    ("A.MuLawEncoding(1)", "quantization_channels must be from 2"),
    ("A.SpectralCentroid(100, 1)", "a window of 1 needs a hop_length"),
    ("A.PitchShift(16000, 400)", "more than 20 octaves"),
    ("A.DetectPitchFrequency(1000, freq_low=340, freq_high=330)", "freq_low must be below freq_high"),
    ("A.Spectrogram(8)(SOUND[:, :1])", "has one sample, of which BorderType.REFLECT"),
    ("A.GriffinLim(16, 1, length=60)(POWERS)", "length 60 has 8 frames, the spectrogram has 7"),
    ("A.InverseSpectrogram(n_fft=32, onesided=False)(PARTS)", "n_fft is 32, a spectrogram of 9 frequencies has 16"),
    ("A.Gain(1)(['a'])", "a sound must be numbers"),
    ("A.Gain(1)()", "Gain needs a value"),
    ("A.Gain()(SOUND[:0])", "is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), SENSELESS)
def test_what_has_no_sense_is_an_error(text, message):
    with pytest.raises(GraphcError, match=message):
        eval(text, KNOWN)


def test_arguments_of_dicts_may_be_left_out():
    """MindSpore 2.10 looks for all of them when it checks them."""
    sound = KNOWN["SOUND"]
    expected = A.MFCC(100, 4, melkwargs={"n_fft": 16, "n_mels": 6, "hop_length": 8, "f_max": 50})(sound)
    np.testing.assert_array_equal(A.MFCC(100, 4, melkwargs={"n_fft": 16, "n_mels": 6})(sound), expected)


def test_halves_are_rounded_as_numpy_rounds_them():
    random = np.random.default_rng(0)
    values = np.concatenate(
        [random.normal(size=300) * 2.0 ** random.integers(-30, 20, 300), [0.0, -0.0, np.inf, 65519, 65520, 2**-25]]
    )
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal([_half(v) for v in values], values.astype(np.float16).astype(float))


def test_other_values():
    sound = KNOWN["SOUND"]
    np.testing.assert_array_equal(A.Gain(3)(graphc.Tensor(sound)), A.Gain(3)(sound))
    both = A.Gain(3)(sound, sound[0])
    np.testing.assert_array_equal(both[1], A.Gain(3)(sound[0]))
    source = ds.NumpySlicesDataset({"x": KNOWN["PARTS"]}, shuffle=False)
    mapped = source.map(A.Magphase(), "x", ["loud", "turned"])
    row = next(mapped.create_dict_iterator(num_epochs=1, output_numpy=True))
    np.testing.assert_array_equal(row["turned"], A.Angle()(KNOWN["PARTS"][0]))


def test_every_argument_is_looked_at(monkeypatch):
    seen = {}

    def build(self, given):
        looked = seen.setdefault(type(self).__name__, set())

        class Watched(SimpleNamespace):
            def __getattribute__(self, name):
                looked.add(name)
                return super().__getattribute__(name)

        self.given = Watched(**vars(given))
        self.prepare()

    monkeypatch.setattr("graphc.dataset.audio.base.Sound.build", build)
    for text in [*RECORDED["transforms"], *probe.SOUGHT, *probe.DRAWN]:
        eval(text, KNOWN)
    for name, kind in ((n, getattr(A, n)) for n in A.__all__ if hasattr(getattr(A, n), "computed")):
        # The plan of a Vad takes what is there as it is.
        assert {p.name for p in kind.parameters} - {"dct_type"} <= seen[name] or name == "Vad", name


def test_resampling_between_coprime_rates_takes_little_memory():
    """Each sample of 600 at 4001 a second as its sinc in a window says, in float64; all weights at once would be 250 MB."""
    sound, old, new = np.random.default_rng(5).uniform(-1, 1, 600), 4001, 3989
    tracemalloc.start()
    made = A.Resample(old, new)(sound)
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()
    apart = (np.arange(600) / old - np.arange(len(made))[:, None] / new) * min(old, new) * 0.99
    weights = (
        np.where(np.abs(apart) < 6, np.sinc(apart) * np.cos(apart * np.pi / 12) ** 2, 0) * min(old, new) * 0.99 / old
    )
    np.testing.assert_allclose(made, weights @ sound, atol=1e-6)
