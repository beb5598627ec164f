"""The order of rows that lie in several files one after the other: text, CSV and TFRecord files."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.orders.mersenne import Mt19937, Mt19937_64, buffered, shuffled
from graphc.dataset.orders.samplers import BuiltinSampler, Labels, Plan
from graphc.dataset.shuffle import Shuffle
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

#: Rows that are mixed with each other: so many at most, or of so many files (MindSpore: AddShuffleOp).
_BUFFER, _FILES = 10000, 4


class FilesSampler(BuiltinSampler):
    """Files in order or mixed, of their rows the share of one of several, and those in order or mixed in a buffer.

    ends: after each file, how many rows there are up to there. by_files: a share is every shards-th file, else as many rows as
    all shares have, the last ones from the first row on again.
    """

    def __init__(
        self,
        ends: list[int],
        shuffle: Shuffle,
        shards: int = 1,
        shard: int = 0,
        num_samples: int | None = None,
        by_files: bool = False,
    ) -> None:
        super().__init__(num_samples)
        self._starts, self._ends = [0, *ends[:-1]], ends
        self._shuffle, self._shards, self._shard = shuffle, shards, shard
        self._by_files = by_files and shards > 1

    def is_shuffled(self) -> bool:
        return self._shuffle is not Shuffle.FALSE

    def is_sharded(self) -> bool:
        return self._shards > 1

    def is_whole(self) -> bool:
        return self._shards == 1 and self.num_samples is None and not self.children

    def varies(self) -> bool:
        """Whether passes may have other numbers of rows than each other: shares of mixed files of different sizes."""
        return self._by_files and self.is_shuffled() and len(set(np.subtract(self._ends, self._starts).tolist())) > 1

    def count(self, size: int, labels: Labels) -> int:
        return len(self._share(np.arange(len(self._ends))))

    def _share(self, files: Array) -> Array:
        """int64: the rows of this share, of files in that order."""
        chosen = files[self._shard :: self._shards] if self._by_files else files
        parts = [np.arange(self._starts[f], self._ends[f]) for f in chosen.tolist()]
        rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
        if not self._by_files and self._shards > 1:
            each = -(-len(rows) // self._shards)
            rows = rows[(self._shard * each + np.arange(each)) % max(len(rows), 1)]
        return rows[: self._at_most(len(rows))]

    def _buffer(self, size: int) -> int:
        mean = -(-size // self._shards) // len(self._ends)
        return min(mean * _FILES or _BUFFER, _BUFFER)

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        files, turn = np.arange(len(self._ends)), 0
        random, buffer = Mt19937_64(seed), self._buffer(size)

        def next_pass() -> Array:
            nonlocal files, turn
            turn += 1
            if self._shuffle is not Shuffle.FALSE:
                # Shares must agree on the order of the files, whatever their seeds.
                files = shuffled(files, Mt19937(turn if self._shards > 1 else seed))
            rows = self._share(files)
            return buffered(rows, buffer, random) if self._shuffle is Shuffle.GLOBAL else rows

        return next_pass


def how_mixed(owner: str, shuffle: Any) -> Shuffle:
    """How rows of files are mixed: a bool, Shuffle.GLOBAL or Shuffle.FILES."""
    if isinstance(shuffle, bool):
        return Shuffle.GLOBAL if shuffle else Shuffle.FALSE
    if not isinstance(shuffle, Shuffle):
        raise ArgumentTypeError(
            f"{owner}: shuffle must be a bool or a Shuffle, got {type(shuffle).__name__}", loc=user_loc()
        )
    if shuffle not in (Shuffle.GLOBAL, Shuffle.FILES, Shuffle.FALSE):
        raise ArgumentValueError(
            f"{owner}: shuffle must be a bool, Shuffle.GLOBAL or Shuffle.FILES, got {shuffle}", loc=user_loc()
        )
    return shuffle
