"""Texts in tables: a line for each, with its class."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import check_width, csv_rows, text_of, unfit
from graphc.dataset.sources.line_files import FILES, LINES, LINES_WORKERS_LAST, LinesDataset
from graphc.dataset.sources.parameters import CACHE, DIRECTORY, choice, usage


class _CsvDataset(LinesDataset):
    """The rows of train.csv and test.csv; of all of them those for testing come first."""

    names: tuple[str, ...] = ()
    parts: tuple[str, ...] = ("test", "train")

    def fields(self, given: Any) -> dict[str, Any]:
        return dict.fromkeys(self.names, np.str_)

    def paths(self, given: Any) -> list[Path]:
        return [given.dataset_dir / f"{part}.csv" for part in self.parts if given.usage in (part, "all")]

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner = type(self).__name__
        rows = csv_rows(owner, path)
        check_width(owner, path, rows, len(self.names))
        return [row for _, row in rows]


class AGNewsDataset(_CsvDataset):
    """News, texts "index" (the class, "1" to "4"), "title" and "description" (Zhang et al., 2015).

    dataset_dir: where train.csv and test.csv are. usage: "train", "test", or "all", as None is: the texts for testing come
    first. shuffle: Shuffle.GLOBAL or True mixes files and rows, Shuffle.FILES the order of files only, False nothing.
    num_shards, shard_id: one of so many shares of rows that follow each other, of one size: the last ones begin again with the
    first row. num_samples: at most so many rows, the first ones. num_parallel_workers has no effect on text that is read at
    once; cache must be None. DataError for files that are missing or something else.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *LINES, CACHE)
    names = ("index", "title", "description")


class AmazonReviewDataset(_CsvDataset):
    """Reviews, texts "label" (the class), "title" and "content" (Zhang et al., 2015). Parameters are those of
    AGNewsDataset.
    """

    parameters = AGNewsDataset.parameters
    names = ("label", "title", "content")


class DBpediaDataset(_CsvDataset):
    """Articles, texts "class" ("1" to "14"), "title" and "content" (Zhang et al., 2015). Parameters are those of
    AGNewsDataset.
    """

    parameters = AGNewsDataset.parameters
    names = ("class", "title", "content")


class SogouNewsDataset(_CsvDataset):
    """News, texts "index" (the class, "1" to "5"), "title" and "content" (Zhang et al., 2015). Parameters are those of
    AGNewsDataset, num_parallel_workers before cache; of all rows those for training come first.
    """

    parameters = (DIRECTORY, usage("all", "train", "test"), *LINES_WORKERS_LAST, CACHE)
    names = ("index", "title", "content")
    parts = ("train", "test")


class YahooAnswersDataset(_CsvDataset):
    """Questions, texts "class" ("1" to "10"), "title", "content" and "answer" (Zhang et al., 2015). Parameters are those of
    AGNewsDataset.
    """

    parameters = AGNewsDataset.parameters
    names = ("class", "title", "content", "answer")


class YelpReviewDataset(_CsvDataset):
    """Reviews, texts "label" (the class) and "text" (Zhang et al., 2015). Parameters are those of SogouNewsDataset."""

    parameters = SogouNewsDataset.parameters
    names = ("label", "text")
    parts = ("train", "test")


class SST2Dataset(LinesDataset):
    """Sentences of reviews: texts "sentence" and, but for usage "test", "label", "0" or "1" (Socher et al., 2013).

    dataset_dir: where train.tsv, dev.tsv and test.tsv are, with a first line of names. usage: "train", as None is, "dev" or
    "test". The other parameters are those of AGNewsDataset.
    """

    parameters = (DIRECTORY, usage("train", "test", "dev"), *LINES, CACHE)

    def fields(self, given: Any) -> dict[str, Any]:
        return dict.fromkeys(("sentence",) if given.usage == "test" else ("sentence", "label"), np.str_)

    def paths(self, given: Any) -> list[Path]:
        return [given.dataset_dir / f"{given.usage}.tsv"]

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner = type(self).__name__
        rows = csv_rows(owner, path, "\t")[1:]
        for line, row in rows:
            if len(row) != 2:
                raise unfit(owner, path, f"has {len(row)} values, not 2", line)
        return [row[1:] if given.usage == "test" else row for _, row in rows]


#: Columns of the tasks in training and in testing, and where they are in an entry: "target.x" is in its target. Those of numbers
#: are listed after them.
_CLUE = {
    "AFQMC": ("label sentence1 sentence2", "id sentence1 sentence2"),
    "CMNLI": ("label sentence1 sentence2", "id sentence1 sentence2"),
    "CSL": ("abst id keyword label", "abst id keyword"),
    "IFLYTEK": ("label label_des sentence", "id sentence"),
    "TNEWS": ("keywords label label_desc sentence", "id keywords sentence"),
    "WSC": (
        "idx label span1_index span1_text span2_index span2_text text",
        "idx span1_index span1_text span2_index span2_text text",
    ),
}
_NUMBERS = ("id", "idx", "span1_index", "span2_index")


def _fits(name: str, dtype: Any, value: Any) -> bool:
    """Whether an entry of CLUE may have that value there."""
    if dtype is np.uint32:
        return type(value) is int and 0 <= value < 2**32
    return isinstance(value, list if name == "keyword" else str)


class CLUEDataset(LinesDataset):
    """Tasks of the benchmark CLUE for Chinese (Xu et al., 2020). Columns are those of the entries, in the order of their
    names: texts, and uint32 "id", "idx", "span1_index" and "span2_index"; "keyword" are texts [m].

    dataset_files: a path, or several; they may be patterns. A JSON object in each line. task: "AFQMC", "CMNLI", "CSL",
    "IFLYTEK", "TNEWS" or "WSC". usage: "train", "eval", or "test", whose entries have no label. The other parameters are those
    of AGNewsDataset.
    """

    parameters = (
        FILES,
        choice("task", "AFQMC", *_CLUE),
        choice("usage", "train", "train", "test", "eval"),
        *LINES,
        CACHE,
    )

    def fields(self, given: Any) -> dict[str, Any]:
        names = _CLUE[given.task][given.usage == "test"].split()
        return {name: np.uint32 if name in _NUMBERS else np.str_ for name in names}

    def paths(self, given: Any) -> list[Path]:
        found: list[Path] = given.dataset_files
        return found

    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        owner, rows = type(self).__name__, list[Sequence[Any]]()
        fields = self.fields(given)
        for number, line in enumerate(text_of(owner, path).split("\n"), 1):
            if not line:
                continue
            try:
                entry = json.loads(line)
                inside = {**entry, **entry.get("target", {})}
                row = [inside[name] for name in fields]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise unfit(owner, path, f"is no entry of {given.task}: {error}", number) from None
            for (name, dtype), value in zip(fields.items(), row, strict=True):
                if not _fits(name, dtype, value):
                    raise unfit(owner, path, f"has {value!r} for {name!r}", number)
            rows.append(row)
        return rows
