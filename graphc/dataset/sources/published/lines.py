"""Texts in lines, in files of their own, in pairs of two languages, and in articles with questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from graphc.dataset.sources.files import folder_in, read_whole, text_of, unfit
from graphc.dataset.sources.line_files import LINES, LINES_WORKERS_LAST, MIXED, LinesDataset
from graphc.dataset.sources.listed import ClassesDataset, Texts
from graphc.dataset.sources.parameters import (
    CACHE,
    DIRECTORY,
    NUM_SAMPLES,
    NUM_SHARDS,
    READING,
    SHARD_ID,
    SHARDS,
    WORKERS,
    Parameter,
    choice,
    usage,
)
from graphc.dataset.sources.published.folders import files_in
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc


def _lines(owner: str, path: Path) -> list[str]:
    """The lines of a file, as they are; what follows the last end of a line counts if it is not empty."""
    lines = text_of(owner, path).split("\n")
    return lines if lines[-1] else lines[:-1]


class PennTreebankDataset(LinesDataset):
    """The lines of the Penn Treebank that are not empty, texts "text" (Mikolov et al., 2011).

    dataset_dir: where ptb.train.txt, ptb.valid.txt and ptb.test.txt are. usage: "train", "valid", "test", or "all", as None is:
    test, train and valid. shuffle: Shuffle.GLOBAL or True mixes files and lines, Shuffle.FILES the order of files only, False
    nothing. num_shards, shard_id: one of so many shares of lines that follow each other, of one size: the last ones begin again
    with the first line. num_samples: at most so many lines, the first ones. num_parallel_workers has no effect on text that is
    read at once; cache must be None. DataError for files that are missing or something else.
    """

    parameters = (DIRECTORY, usage("all", "train", "test", "valid"), *LINES, CACHE)
    file = "ptb.{}.txt"

    def paths(self, given: Any) -> list[Path]:
        parts = ("test", "train", "valid") if given.usage == "all" else (given.usage,)
        return [given.dataset_dir / self.file.format(part) for part in parts]

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        return [(line,) for line in _lines(type(self).__name__, path) if line]


class WikiTextDataset(PennTreebankDataset):
    """The lines of WikiText that are not empty, texts "text" (Merity et al., 2016).

    dataset_dir: where wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens are. The other parameters are those of
    PennTreebankDataset.
    """

    file = "wiki.{}.tokens"


class EnWik9Dataset(LinesDataset):
    """The lines of the file enwik9 in dataset_dir, texts "text", the empty ones, too (Mahoney, 2006). The other parameters
    are those of PennTreebankDataset.
    """

    parameters = (DIRECTORY, NUM_SAMPLES, WORKERS, Parameter("shuffle", True, MIXED.check), NUM_SHARDS, SHARD_ID, CACHE)

    def paths(self, given: Any) -> list[Path]:
        return [given.dataset_dir / "enwik9"]

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        return [(line,) for line in _lines(type(self).__name__, path)]


class IMDBDataset(ClassesDataset):
    """Reviews of films: "text", a text, and "label" int32, 1 if it is in favour (Maas et al., 2011).

    dataset_dir: has train and test, with folders pos and neg of .txt files, which come in the order of their names. usage:
    "train", "test", or "all", as None is. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which
    reviews, in which order. num_parallel_workers has no effect on text that is read at once; cache must be None. DataError for
    files that are missing or something else.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *READING, *SHARDS, CACHE)
    holds = frozenset(("texts",))

    def columns(self, given: Any) -> dict[str, Any]:
        owner = type(self).__name__
        found = [
            (path, label)
            for part in ("train", "test")
            if given.usage in (part, "all")
            for kind, label in (("pos", 1), ("neg", 0))
            for path in files_in(folder_in(owner, given.dataset_dir / part / kind), (".txt",))
        ]
        self.classes = {"neg": 0, "pos": 1}
        texts = [text_of(owner, path).removesuffix("\n") for path, _ in found]
        return {"text": Texts(texts), "label": np.array([label for _, label in found], np.int32)}


# ---- words with what they are


class CoNLL2000Dataset(LinesDataset):
    """Sentences: texts [m] "word", "pos_tag" and "chunk_tag" (Tjong Kim Sang and Buchholz, 2000).

    dataset_dir: where train.txt and test.txt are. usage: "train", "test", or "all", as None is: test and train. The other
    parameters are those of PennTreebankDataset, num_parallel_workers before cache.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *LINES_WORKERS_LAST, CACHE)
    names: tuple[str, ...] = ("word", "pos_tag", "chunk_tag")
    #: (part of the data set, its file), in their order.
    files: tuple[tuple[str, str], ...] = (("test", "test.txt"), ("train", "train.txt"))
    between = " "

    def fields(self, given: Any) -> dict[str, Any]:
        return dict.fromkeys(self.names, np.str_)

    def paths(self, given: Any) -> list[Path]:
        return [given.dataset_dir / file for part, file in self.files if given.usage in (part, "all")]

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner, sentences = type(self).__name__, list[Sequence[Any]]()
        words: list[list[str]] = []
        for number, line in enumerate([*_lines(owner, path), ""], 1):
            if line.strip():
                values = line.strip().split(self.between)
                if len(values) != len(self.names):
                    raise unfit(owner, path, f"has {len(values)} values, not {len(self.names)}", number)
                words.append(values)
            elif words:
                sentences.append([list(column) for column in zip(*words, strict=True)])
                words = []
        return sentences


class UDPOSDataset(CoNLL2000Dataset):
    """Sentences: texts [m] "word", "universal" and "stanford", two kinds of parts of speech (Silveira et al., 2014).

    dataset_dir: where en-ud-tag.v2.train.txt, the same of dev and of test are. usage: "train", "valid", "test", or "all", as
    None is: valid, test and train. The other parameters are those of CoNLL2000Dataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "test", "valid"), *LINES_WORKERS_LAST, CACHE)
    names = ("word", "universal", "stanford")
    files = (("valid", "en-ud-tag.v2.dev.txt"), ("test", "en-ud-tag.v2.test.txt"), ("train", "en-ud-tag.v2.train.txt"))
    between = "\t"


class SQuADDataset(LinesDataset):
    """Questions about articles: texts "context" and "question", and of the m answers "text", texts [m], and "answer_start"
    uint32 [m]; of a question without any an empty text and 4294967295 (Rajpurkar et al., 2016 and 2018).

    dataset_dir: where train-v1.1.json and dev-v1.1.json are, or those of v2.0. usage: "train", "dev", or "all", as None is. The
    other parameters are those of PennTreebankDataset.
    """

    parameters = (DIRECTORY, usage("all", "train", "dev"), *LINES, CACHE)

    def paths(self, given: Any) -> list[Path]:
        owner, paths = type(self).__name__, list[Path]()
        for part in ("train", "dev") if given.usage == "all" else (given.usage,):
            there = [path for v in ("1.1", "2.0") if (path := given.dataset_dir / f"{part}-v{v}.json").is_file()]
            if not there:
                raise unfit(owner, given.dataset_dir / f"{part}-v1.1.json", "is not there")
            paths += there
        return paths

    def fields(self, given: Any) -> dict[str, Any]:
        return {"context": np.str_, "question": np.str_, "text": np.str_, "answer_start": list}

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner = type(self).__name__
        try:
            return [
                _answers(paragraph["context"], asked)
                for article in json.loads(text_of(owner, path))["data"]
                for paragraph in article["paragraphs"]
                for asked in paragraph["qas"]
            ]
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise unfit(owner, path, f"is no file of SQuAD: {type(error).__name__}: {error}") from None


def _answers(context: str, asked: dict[str, Any]) -> Sequence[Any]:
    answers = asked["answers"] or [{"text": "", "answer_start": 2**32 - 1}]
    starts, texts = [one["answer_start"] for one in answers], [one["text"] for one in answers]
    for text in (context, asked["question"], *texts):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
    for start in starts:
        if type(start) is not int or not 0 <= start < 2**32:
            raise ValueError(f"answer_start is {start!r}")
    return context, asked["question"], texts, np.array(starts, np.uint32)


# ---- two languages


def _pair_of(*pairs: str, default: str) -> Parameter:
    """The parameter `language_pair`: two languages in a list or tuple. pairs: those that there are, as "de-en"."""

    def check(owner: str, name: str, value: Any) -> tuple[str, str]:
        if value is None:
            first, second = default.split("-")
            return first, second
        if not isinstance(value, (list, tuple)):
            raise ArgumentTypeError(
                f"{owner}: {name} must be a list or tuple, got {type(value).__name__}", loc=user_loc()
            )
        if len(value) != 2 or "-".join(map(str, value)) not in pairs:
            raise ArgumentValueError(
                f"{owner}: {name} must be one of {', '.join(pairs)}, got {value!r}", loc=user_loc()
            )
        return value[0], value[1]

    return Parameter("language_pair", None, check)


class _PairsDataset(LinesDataset):
    """Lines of two files that belong together; `paths` are those of the first language."""

    def fields(self, given: Any) -> dict[str, Any]:
        return {"text": np.str_, "translation": np.str_}

    def other(self, path: Path, given: Any) -> Path:
        """The file in the second language."""
        first, second = given.language_pair
        return path.with_name(path.name.removesuffix(first) + second)

    def sentences(self, path: Path) -> list[str | None]:
        """The sentences of a file, None where there is none."""
        return list(_lines(type(self).__name__, path))

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        other = self.other(path, given)
        first, second = self.sentences(path), self.sentences(other)
        if len(first) != len(second):
            owner = type(self).__name__
            raise unfit(owner, path, f"has {len(first)} lines or sentences, {other.name} has {len(second)}")
        return [pair for pair in zip(first, second, strict=True) if None not in pair and any(pair)]


class Multi30kDataset(_PairsDataset):
    """Descriptions of images in two languages: texts "text" and "translation" (Elliott et al., 2016).

    dataset_dir: has training/train.en, validation/val.en, mmt16_task1_test/test.en and the same of de. usage: "train", "valid",
    "test", or "all", as None is: test, train and valid. language_pair: ("en", "de"), as None is, or ("de", "en"). The other
    parameters are those of PennTreebankDataset.
    """

    parameters = (
        DIRECTORY,
        usage("all", "train", "test", "valid"),
        _pair_of("en-de", "de-en", default="en-de"),
        NUM_SAMPLES,
        WORKERS,
        Parameter("shuffle", None, MIXED.check),
        NUM_SHARDS,
        SHARD_ID,
        CACHE,
    )

    def paths(self, given: Any) -> list[Path]:
        files = {"test": "mmt16_task1_test/test", "train": "training/train", "valid": "validation/val"}
        chosen = [file for part, file in files.items() if given.usage in (part, "all")]
        return [given.dataset_dir / f"{file}.{given.language_pair[0]}" for file in chosen]


_TAGS = (
    "<url",
    "<keywords",
    "<talkid",
    "<description",
    "<reviewer",
    "<translator",
    "<title",
    "<speaker",
    "<doc",
    "</doc",
)
_SETS = ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014")


class IWSLT2016Dataset(_PairsDataset):
    """Talks in two languages: texts "text" and "translation" (Cettolo et al., 2016).

    dataset_dir: has texts/de/en/de-en with train.tags.de-en.de, IWSLT16.TED.tst2013.de-en.de.xml and so on, for each pair of
    languages. usage: "train", "valid", "test", or "all", as None is. language_pair: ("de", "en"), as None is, or another one of
    en with ar, cs, de and fr. valid_set, test_set: "dev2010" or "tst2010" to "tst2014"; None is "tst2013" and "tst2014". The
    other parameters are those of PennTreebankDataset, num_parallel_workers before cache.
    """

    parameters: tuple[Parameter, ...] = (
        DIRECTORY,
        usage("all", "train", "test", "valid"),
        _pair_of(*(p for other in ("ar", "cs", "de", "fr") for p in (f"en-{other}", f"{other}-en")), default="de-en"),
        choice("valid_set", None, *_SETS, none="tst2013"),
        choice("test_set", None, *_SETS, none="tst2014"),
        *LINES_WORKERS_LAST,
        CACHE,
    )
    head = "IWSLT16.TED"

    def folder(self, given: Any) -> Path:
        """Where the files are."""
        first, second = given.language_pair
        folder: Path = given.dataset_dir / "texts" / first / second / f"{first}-{second}"
        return folder

    def paths(self, given: Any) -> list[Path]:
        first, pair = given.language_pair[0], "-".join(given.language_pair)
        names = {
            "train": f"train.tags.{pair}.{first}",
            "valid": f"{self.head}.{given.valid_set}.{pair}.{first}.xml",
            "test": f"{self.head}.{given.test_set}.{pair}.{first}.xml",
        }
        return [self.folder(given) / name for part, name in names.items() if given.usage in (part, "all")]

    def other(self, path: Path, given: Any) -> Path:
        first, second = given.language_pair
        ending = ".xml" if path.suffix == ".xml" else ""
        return path.with_name(path.name.removesuffix(f"{first}{ending}") + second + ending)

    def sentences(self, path: Path) -> list[str | None]:
        owner = type(self).__name__
        if path.suffix != ".xml":
            return [None if any(tag in line for tag in _TAGS) else line.strip(" \r") for line in _lines(owner, path)]
        try:
            root = ElementTree.fromstring(read_whole(owner, path))
        except ElementTree.ParseError as error:
            raise unfit(owner, path, f"is no XML: {error}") from error
        return [(segment.text or "").strip(" ") for segment in root.iter("seg")]


class IWSLT2017Dataset(IWSLT2016Dataset):
    """Talks in two languages: texts "text" and "translation" (Cettolo et al., 2017).

    dataset_dir: has texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo with train.tags.de-en.de,
    IWSLT17.TED.dev2010.de-en.de.xml and so on. language_pair: ("de", "en"), as None is, or two others of de, en, it, nl and ro.
    dev2010 is for validation, tst2010 for testing. The other parameters are those of IWSLT2016Dataset.
    """

    parameters = (
        DIRECTORY,
        usage("all", "train", "test", "valid"),
        _pair_of(
            *(f"{a}-{b}" for a in ("de", "en", "it", "nl", "ro") for b in ("de", "en", "it", "nl", "ro") if a != b),
            default="de-en",
        ),
        *LINES_WORKERS_LAST,
        CACHE,
    )
    head = "IWSLT17.TED"

    def folder(self, given: Any) -> Path:
        folder: Path = given.dataset_dir / "texts" / "DeEnItNlRo" / "DeEnItNlRo" / "DeEnItNlRo-DeEnItNlRo"
        return folder

    def paths(self, given: Any) -> list[Path]:
        given.valid_set, given.test_set = "dev2010", "tst2010"
        return super().paths(given)
