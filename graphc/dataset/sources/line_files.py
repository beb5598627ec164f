"""Sources whose rows come file after file, most of them a line each."""

from __future__ import annotations

import glob
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.checks import integer
from graphc.dataset.orders.mersenne import Mt19937, Mt19937_64, buffered, shuffled
from graphc.dataset.orders.samplers import BuiltinSampler, Labels, Plan
from graphc.dataset.shuffle import Shuffle
from graphc.dataset.sources.listed import ListedDataset, Texts
from graphc.dataset.sources.parameters import NUM_SAMPLES, NUM_SHARDS, REQUIRED, SHARD_ID, WORKERS, Parameter
from graphc.dataset.sources.source import MappableDataset, check_shards
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

#: The buffer in which rows are mixed holds at most so many.
_BUFFER = 10000


class _Lines(BuiltinSampler):
    """Rows of files: files in order or mixed, of their rows the share of one of several, and these mixed in a buffer.

    Shares are of one size: what the last ones lack they take from the beginning.
    """

    def __init__(self, ends: list[int], shuffle: Shuffle, shards: int, shard: int, num_samples: int | None) -> None:
        super().__init__(num_samples)
        self._ends, self._shuffle, self._shards, self._shard = ends, shuffle, shards, shard

    def is_shuffled(self) -> bool:
        return self._shuffle is not Shuffle.FALSE

    def is_sharded(self) -> bool:
        return self._shards > 1

    def count(self, size: int, labels: Labels) -> int:
        return self._at_most(-(-size // self._shards))

    def _share(self, order: Array) -> Array:
        each = self.count(len(order), None)
        start = -(-len(order) // self._shards) * self._shard
        return order[(start + np.arange(each)) % len(order)]

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        starts = [0, *self._ends[:-1]]
        # Four times what a file has of a share, on average.
        buffer = min(4 * (-(-size // self._shards) // len(starts)) or _BUFFER, _BUFFER)
        files, turn, generator = np.arange(len(starts)), 0, Mt19937_64(seed)

        def next_pass() -> Array:
            nonlocal files, turn
            if self._shuffle is not Shuffle.FALSE:
                # As in MindSpore: each pass mixes the order of the one before, with the same numbers, or, where there are
                # several shares, which must agree whatever the seeds of their processes, with those of the pass.
                turn += 1
                files = shuffled(files, Mt19937(turn if self._shards > 1 else seed))
            share = self._share(np.concatenate([np.arange(starts[f], self._ends[f]) for f in files]))
            return buffered(share, buffer, generator) if self._shuffle is Shuffle.GLOBAL else share

        return next_pass


def _mixed(owner: str, name: str, shuffle: Any) -> Shuffle:
    """How rows are mixed: a bool, Shuffle.GLOBAL, as None is, or Shuffle.FILES."""
    if shuffle is None or isinstance(shuffle, bool):
        return Shuffle.FALSE if shuffle is False else Shuffle.GLOBAL
    if not isinstance(shuffle, Shuffle):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a bool or a Shuffle, got {type(shuffle).__name__}", loc=user_loc()
        )
    if shuffle not in (Shuffle.GLOBAL, Shuffle.FILES, Shuffle.FALSE):
        raise ArgumentValueError(
            f"{owner}: {name} must be a bool, Shuffle.GLOBAL or Shuffle.FILES, got {shuffle}", loc=user_loc()
        )
    return shuffle


def _paths(owner: str, name: str, dataset_files: Any) -> list[Path]:
    """Files of a path or a list of paths, which may be patterns; in the order of their names."""
    given = [dataset_files] if isinstance(dataset_files, (str, os.PathLike)) else dataset_files
    if not isinstance(given, (list, tuple)) or not given:
        raise ArgumentTypeError(f"{owner}: {name} must be a path or a list of paths", loc=user_loc())
    found: list[str] = []
    for pattern in given:
        if not isinstance(pattern, (str, os.PathLike)):
            raise ArgumentTypeError(f"{owner}: {name} must be paths, one is {type(pattern).__name__}", loc=user_loc())
        matching = glob.glob(os.fspath(pattern)) or ([os.fspath(pattern)] if os.path.isfile(pattern) else [])
        if not matching:
            raise ArgumentValueError(f"{owner}: there is no file {os.fspath(pattern)!r}", code="GC205", loc=user_loc())
        found += matching
    return [Path(p) for p in sorted(found)]


FILES = Parameter("dataset_files", REQUIRED, _paths)
#: `shuffle` of such sources, which nearly all mix their rows by default.
MIXED = Parameter("shuffle", Shuffle.GLOBAL, _mixed)
LINES = (NUM_SAMPLES, WORKERS, MIXED, NUM_SHARDS, SHARD_ID)
#: The same in the other order that there is.
LINES_WORKERS_LAST = (NUM_SAMPLES, MIXED, NUM_SHARDS, SHARD_ID, WORKERS)


class LinesDataset(ListedDataset):
    """A source of rows of files: `paths` are the files, `rows` what is in one, `fields` the columns."""

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
        order = _Lines(ends, given.shuffle, given.num_shards or 1, given.shard_id or 0, most)
        MappableDataset.__init__(self, list(self._held), given.num_parallel_workers, order)


def _column(dtype: Any, values: Sequence[Any]) -> Any:
    if dtype is np.str_:
        return Texts(values)
    return list(values) if dtype is list else np.array(values, dtype)
