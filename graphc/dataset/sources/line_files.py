"""Sources whose rows come file after file, most of them a line each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.checks import integer
from graphc.dataset.orders.files import FilesSampler, how_mixed
from graphc.dataset.shuffle import Shuffle
from graphc.dataset.sources.files import matching_files
from graphc.dataset.sources.listed import ListedDataset, Texts
from graphc.dataset.sources.parameters import NUM_SAMPLES, NUM_SHARDS, REQUIRED, SHARD_ID, WORKERS, Parameter
from graphc.dataset.sources.source import MappableDataset, check_shards
from graphc.errors import DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


def _mixed(owner: str, name: str, shuffle: Any) -> Shuffle:
    """How rows are mixed; None means Shuffle.GLOBAL."""
    return how_mixed(owner, True if shuffle is None else shuffle)


def _paths(owner: str, name: str, dataset_files: Any) -> list[Path]:
    return matching_files(owner, dataset_files)


FILES = Parameter("dataset_files", REQUIRED, _paths)
#: `shuffle` of such sources, which nearly all mix their rows by default.
MIXED = Parameter("shuffle", Shuffle.GLOBAL, _mixed)
LINES = (NUM_SAMPLES, WORKERS, MIXED, NUM_SHARDS, SHARD_ID)
#: The same in the other order that there is.
LINES_WORKERS_LAST = (NUM_SAMPLES, MIXED, NUM_SHARDS, SHARD_ID, WORKERS)


class LinesDataset(ListedDataset):
    """A source of rows of files: `paths` are the files, `rows` what is in one, `fields` the columns."""

    holds = frozenset(("texts",))

    def fields(self, given: Any) -> dict[str, Any]:
        """{column: its dtype}, np.str_ for texts, list for arrays of several shapes."""
        return {"text": np.str_}

    @abstractmethod
    def paths(self, given: Any) -> list[Path]:
        """The files, in their order."""

    @abstractmethod
    def rows(self, path: Path, given: Any) -> list[Sequence[Any]]:
        """The rows of a file, a value for each column. DataError for a file that is something else."""

    def build(self, given: Any) -> None:
        owner = type(self).__name__
        check_shards(owner, given.num_shards, given.shard_id)
        most = None if given.num_samples is None else integer(owner, "num_samples", given.num_samples, 0) or None
        rows: list[Sequence[Any]] = []
        ends: list[int] = []
        for path in self.paths(given):
            rows += self.rows(path, given)
            ends.append(len(rows))
        if not rows:
            raise DataError(f"{owner}: there is nothing to read in what it was given", code="GC205", loc=user_loc())
        columns = zip(self.fields(given).items(), zip(*rows, strict=True), strict=True)
        self._held = {name: _column(dtype, values) for (name, dtype), values in columns}
        order = FilesSampler(ends, given.shuffle, given.num_shards or 1, given.shard_id or 0, most)
        MappableDataset.__init__(self, list(self._held), given.num_parallel_workers, order)


def _column(dtype: Any, values: Sequence[Any]) -> Any:
    if dtype is np.str_:
        return Texts(values)
    return list(values) if dtype is list else np.array(values, dtype)
