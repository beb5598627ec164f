"""Sounds in files, with what is said or played in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import folder_in, lines_of, unfit
from graphc.dataset.sources.listed import ListedDataset, Read, Texts
from graphc.dataset.sources.parameters import CACHE, DIRECTORY, READING, REQUIRED, SHARDS, choice, usage
from graphc.dataset.sources.published.folders import files_in, subfolders
from graphc.dataset.sources.sounds import Rates, Sounds, read_sphere, sphere_head
from graphc.errors import ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

_VOICES = [
    "aew",
    "ahw",
    "aup",
    "awb",
    "axb",
    "bdl",
    "clb",
    "eey",
    "fem",
    "gka",
    "jmk",
    "ksp",
    "ljm",
    "lnh",
    "rms",
    "rxr",
    "slp",
    "slt",
]


def _known_rate(owner: str, paths: list[Path], rate: int) -> dict[str, Any]:
    """The first two columns of sounds that all have one rate, which is uint32."""
    return {"waveform": Sounds(owner, paths, rate), "sample_rate": np.full(len(paths), rate, np.uint32)}


class _SoundsDataset(ListedDataset):
    """A source of sounds."""

    holds = frozenset(("sounds",))


class CMUArcticDataset(_SoundsDataset):
    """Sentences read aloud: "waveform" float32 [1, n] from -1 to 1, "sample_rate" uint32, 16000, and texts "transcript" and
    "utterance_id" (Kominek and Black, 2004).

    dataset_dir: has folders such as cmu_us_aew_arctic with wav and etc/txt.done.data, in whose order they come. name: "aew", as
    None is, or another one of the 18 voices. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which
    sounds, in which order. num_parallel_workers: threads that read. cache must be None. DataError for files that are missing,
    something else, or WAV files of more than one channel or others than 16 bits.
    """

    parameters = (DIRECTORY, choice("name", None, *_VOICES, none="aew"), *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir / f"cmu_us_{given.name}_arctic"
        listed = folder / "etc" / "txt.done.data"
        found: list[tuple[str, str]] = []
        for number, line in enumerate(lines_of(owner, listed), 1):
            match = re.match(r'\( (\S+_(\S+)) "([^"]*)"', line)
            if match is None:
                raise unfit(owner, listed, 'is no ( name "text" )', number)
            found.append((match[1], match[3]))
        names = Texts([name.rpartition("_")[2] for name, _ in found])
        paths = [folder / "wav" / f"{name}.wav" for name, _ in found]
        sounds = _known_rate(owner, paths, 16000)
        return {**sounds, "transcript": Texts([text for _, text in found]), "utterance_id": names}


#: The parts of GTZAN without faults (Kereliuk et al., 2015): of each kind of music the numbers of the pieces.
_PIECES = {
    "train": """blues 29-49 73-97; classical 30-33 43-48 50-67 80-99; country 19-26 28-29 65-99; disco 5 15-20 22-37
        39-45 47 49 53-54 56-57 59 61 70 73-74 89; hiphop 2-25 28-29 31-38 41-42 55-61 77-80; jazz 0-1 11-24 41 47-72;
        metal 2-3 5 21 24 35 46-57 59-66 69 71-72 79-80 84 86 89-99; pop 2-9 11-12 16-20 23-29 31-36 38-42 44 46 49-50
        80 97-99; reggae 0-2 4 6 9 11-12 14-32 42-45 49-51 54-60 63 69; rock 0-9 16-26 57-70 91-99""",
    "valid": """blues 0-11 50-60; classical 0-10 68-76; country 0-7 9-18 27 41-42 45 49; disco 0 2-4 6-14 46 48 52 67-68
        72 75 90 95; hiphop 81-98; jazz 2-10 25-32; metal 0-1 6-11 16-20 36-37 68 76-77 81-82; pop 10 53 55 58-62 81
        83-86; reggae 61-62 70 72 74 76-78 85 92-99; rock 38 49-56 71-85""",
    "test": """blues 12-28 61-72 98-99; classical 11-29 34-41 49 77-79; country 30-40 43-44 46-48 50-51 53-64; disco 1
        21 58 62-66 69 76-88 91-94 96-97 99; hiphop 0 26-27 30 40 43-45 51-54 62-75 99; jazz 73-99; metal 12-15 22-23
        25-33 38-39 67 70 73-75 78 83 85 87-88; pop 0-1 13-14 43 63-66 69-79 82 88-96; reggae 34-40 46-48 52-53 64-68
        71 79 82-84 87-90; rock 10-15 27-37 39-48 86-90""",
}
_MUSIC = ["blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock"]


def _pieces(part: str) -> list[str]:
    """Names of the pieces of a part, as blues.00029."""
    names = []
    for text in _PIECES[part].split(";"):
        kind, *ranges = text.split()
        for first, _, last in (one.partition("-") for one in ranges):
            names += [f"{kind}.{k:05}" for k in range(int(first), int(last or first) + 1)]
    return names


class GTZANDataset(_SoundsDataset):
    """Pieces of music: "waveform" float32 [1, n] from -1 to 1, "sample_rate" uint32, 22050, and "label", the kind of music as a
    text (Tzanetakis and Cook, 2002).

    dataset_dir: has a folder for each of the ten kinds, with files as blues.00000.wav. usage: "all", as None is, or "train",
    "valid" or "test", the pieces without faults of these parts (Kereliuk et al., 2015) that are there. The other parameters
    are those of CMUArcticDataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "valid", "test"), *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        folder = given.dataset_dir
        if given.usage == "all":
            there = [folder / kind for kind in _MUSIC if (folder / kind).is_dir()]
            paths = [path for kind in there for path in files_in(kind, (".wav",)) if "." in path.stem]
        else:
            listed = [folder / name.partition(".")[0] / f"{name}.wav" for name in _pieces(given.usage)]
            paths = [path for path in listed if path.is_file()]
        return {**_known_rate(type(self).__name__, paths, 22050), "label": Texts([path.parent.name for path in paths])}


class LJSpeechDataset(_SoundsDataset):
    """Sentences read aloud: "waveform" float32 [1, n] from -1 to 1, "sample_rate" int32, and texts "transcription" and
    "normalized_transcription", numbers and so on in words (Ito and Johnson, 2017).

    dataset_dir: has wavs and metadata.csv, in whose order they come. The other parameters are those of CMUArcticDataset.
    """

    parameters = (DIRECTORY, *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, listed = type(self).__name__, given.dataset_dir / "metadata.csv"
        rows = [line.split("|") for line in lines_of(owner, listed)]
        wrong = next((k for k, row in enumerate(rows, 1) if len(row) < 3), None)
        if wrong is not None:
            raise unfit(owner, listed, "is no name|text|text in words", wrong)
        paths = [given.dataset_dir / "wavs" / f"{row[0]}.wav" for row in rows]
        texts = {
            name: Texts([row[k] for row in rows]) for k, name in ((1, "transcription"), (2, "normalized_transcription"))
        }
        return {"waveform": Sounds(owner, paths), "sample_rate": Rates(owner, paths), **texts}


_BOOKS = ("dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100", "train-clean-360", "train-other-500")


class LibriTTSDataset(_SoundsDataset):
    """Sentences of books read aloud: "waveform" float32 [1, n] from -1 to 1, "sample_rate" uint32, 24000, texts "original_text"
    and "normalized_text", "speaker_id" uint32, "chapter_id" uint32 and a text "utterance_id" (Zen et al., 2019).

    dataset_dir: has folders of the parts, of speakers in these, and of chapters in these, as dev-clean/116/288045, with
    116_288045.trans.tsv and the sounds. usage: one of the seven parts, or "all" that are there, as None is. The other
    parameters are those of CMUArcticDataset.
    """

    parameters = (DIRECTORY, usage("all", *_BOOKS), *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, found = type(self).__name__, list[tuple[Path, str, str]]()
        for part in _BOOKS if given.usage == "all" else (given.usage,):
            for listed in sorted((given.dataset_dir / part).glob("*/*/*.trans.tsv")):
                for number, line in enumerate(lines_of(owner, listed), 1):
                    words = line.split("\t")
                    if len(words) != 3 or not re.fullmatch(r"\d+_\d+_\d+_\d+", words[0]):
                        raise unfit(owner, listed, "is no name, text and text in words", number)
                    found.append((listed.parent / f"{words[0]}.wav", words[1], words[2]))
        paths = [path for path, _, _ in found]
        numbers = [path.name.split("_") for path in paths]
        return {
            **_known_rate(owner, paths, 24000),
            "original_text": Texts([text for _, text, _ in found]),
            "normalized_text": Texts([text for _, _, text in found]),
            "speaker_id": np.array([int(n[0]) for n in numbers], np.uint32),
            "chapter_id": np.array([int(n[1]) for n in numbers], np.uint32),
            "utterance_id": Texts([path.stem for path in paths]),
        }


class SpeechCommandsDataset(_SoundsDataset):
    """Spoken words: "waveform" float32 [1, n] from -1 to 1, "sample_rate" int32, texts "label", the word, and "speaker_id", and
    "utterance_number" int32 (Warden, 2018).

    dataset_dir: has a folder for each word, with files as 5a33edf_nohash_1.wav, and testing_list.txt and validation_list.txt.
    usage: "train", what is in neither list, "test", "valid", or "all", as None is. The other parameters are those of
    CMUArcticDataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "test", "valid"), *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, folder = type(self).__name__, given.dataset_dir
        lists = {"train": ("testing", "validation"), "test": ("testing",), "valid": ("validation",), "all": ()}[
            given.usage
        ]
        listed = {folder / line for name in lists for line in lines_of(owner, folder / f"{name}_list.txt") if line}
        if given.usage in ("train", "all"):
            words = [p for p in subfolders(folder) if "_background_noise_" not in p.name]
            paths = [path for word in words for path in files_in(word, (".wav",)) if path not in listed]
        else:
            paths = sorted(listed)
        names = [re.fullmatch(r"(.*)_nohash_(\d+)\.wav", path.name) for path in paths]
        wrong = next((path for path, name in zip(paths, names, strict=True) if name is None), None)
        if wrong is not None:
            raise unfit(owner, wrong, "is no name as 5a33edf_nohash_1.wav")
        return {
            "waveform": Sounds(owner, paths),
            "sample_rate": Rates(owner, paths),
            "label": Texts([path.parent.name for path in paths]),
            "speaker_id": Texts([name[1] for name in names if name]),
            "utterance_number": np.array([int(name[2]) for name in names if name], np.int32),
        }


class _Talks(Read):
    """What is between two seconds in SPHERE files."""

    def __init__(self, owner: str, parts: list[tuple[Path, float, float]]) -> None:
        self.owner, self.parts = owner, parts

    def __len__(self) -> int:
        return len(self.parts)

    def name(self, i: int) -> str:
        return self.parts[i][0].name

    def value(self, i: int) -> Array:
        return read_sphere(self.owner, *self.parts[i])[0]


class TedliumDataset(_SoundsDataset):
    """Sentences of talks: "waveform" float32 [1, n] from -1 to 1, "sample_rate" int32, and texts "transcript", "talk_id",
    "speaker_id" and "identifier" (Rousseau et al., 2012; Hernandez et al., 2018).

    dataset_dir: has train, test and dev, or data for "release3", each with stm, the texts, and sph, the sounds. release:
    "release1", "release2" or "release3". usage: "train", "test", "dev", or "all", as None is and as "release3" has it.
    extensions: of the sounds, ".sph", as None is. Sentences come as in MindSpore: all first ones of talks, then all second
    ones, and so on, in the order of numbers as texts. The other parameters are those of CMUArcticDataset.
    """

    parameters = (
        DIRECTORY,
        choice("release", REQUIRED, "release1", "release2", "release3"),
        usage("all", "train", "test", "dev"),
        choice("extensions", None, ".sph", none=".sph"),
        *READING,
        *SHARDS,
        CACHE,
    )

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        if given.release == "release3" and given.usage != "all":
            raise ArgumentValueError(
                f"{owner}: usage must be 'all' for 'release3', got {given.usage!r}", loc=user_loc()
            )
        parts = ("train", "test", "dev") if given.usage == "all" else (given.usage,)
        found: list[tuple[tuple[str, str, str], list[str]]] = []
        for part in ("data",) if given.release == "release3" else parts:
            for listed in files_in(folder_in(owner, given.dataset_dir / part / "stm"), (".stm",)):
                for number, line in enumerate(lines_of(owner, listed)):
                    words = line.split(" ", 6)
                    if len(words) != 7 or not all(re.fullmatch(r"\d+(\.\d*)?", w) for w in words[3:5]):
                        raise unfit(owner, listed, "has no seven parts, two of them seconds", number + 1)
                    found.append(((str(number), words[0], part), words))
        found.sort(key=lambda one: one[0])
        pieces = [
            (given.dataset_dir / part / "sph" / f"{talk}{given.extensions}", float(words[3]), float(words[4]))
            for (_, talk, part), words in found
        ]
        rates = {path: int(sphere_head(owner, path).get("sample_rate", 0)) for path in {path for path, _, _ in pieces}}
        texts = {"transcript": 6, "talk_id": 0, "speaker_id": 2, "identifier": 5}
        return {
            "waveform": _Talks(owner, pieces),
            "sample_rate": np.array([rates[path] for path, _, _ in pieces], np.int32),
            **{name: Texts([words[k] for _, words in found]) for name, k in texts.items()},
        }


class YesNoDataset(_SoundsDataset):
    """Somebody saying yes or no in Hebrew: "waveform" float32 [1, n] from -1 to 1, "sample_rate" int32, and "label" int32 [8],
    1 for yes (openslr.org/1).

    dataset_dir: has the sounds, with names as 1_1_0_0_1_1_0_0.wav, in whose order they come. The other parameters are those of
    CMUArcticDataset.
    """

    parameters = (DIRECTORY, *READING, *SHARDS, CACHE)

    def columns(self, given: Any) -> dict[str, Any]:
        owner, paths = type(self).__name__, files_in(given.dataset_dir, (".wav",))
        wrong = next((path for path in paths if not re.fullmatch(r"\d(_\d){7}", path.stem)), None)
        if wrong is not None:
            raise unfit(owner, wrong, "is no name as 1_1_0_0_1_1_0_0.wav")
        labels = np.array([path.stem.split("_") for path in paths], np.int32).reshape(-1, 8)
        return {"waveform": Sounds(owner, paths), "sample_rate": Rates(owner, paths), "label": labels}
