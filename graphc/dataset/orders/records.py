"""The orders of MindRecord files: MindSpore's readers of them shuffle in ways of their own, by files, too."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.dataset.orders.mersenne import firsts, shuffled
from graphc.dataset.orders.minstd import MinStd0
from graphc.dataset.orders.samplers import (
    BuiltinSampler,
    DistributedSampler,
    Labels,
    Plan,
    RandomSampler,
    SubsetRandomSampler,
)
from graphc.dataset.shuffle import Shuffle

Array = np.ndarray[Any, np.dtype[Any]]

#: Rows that Shuffle.PARTIAL mixes with each other; up to how many Shuffle.ADAPTIVE is as GLOBAL.
_PART, _FEW = 1_000_000, 100_000_000


@dataclass(frozen=True)
class Files:
    """Where files end, in rows, and how many rows stand behind them to fill up shares."""

    ends: tuple[int, ...]
    padded: int = 0

    @property
    def size(self) -> int:
        return self.ends[-1] + self.padded


def of_records(sampler: BuiltinSampler, files: Files) -> BuiltinSampler:
    """The sampler with its children as MindRecord files have them: orders of the same kind, drawn by other generators."""
    made = copy.copy(sampler)
    made.children = [of_records(child, files) for child in sampler.children]
    # What chooses among rows that are chosen already knows of no files.
    known = None if made.children else files
    if type(sampler) is RandomSampler:
        return _adopted(_Random(sampler, known), made)
    if type(sampler) is DistributedSampler and sampler.offset == -1:
        return _adopted(_Shares(sampler, known), made)
    if type(sampler) is SubsetRandomSampler:
        return _adopted(_Subset(sampler), made)
    return made


def _adopted(sampler: BuiltinSampler, of: BuiltinSampler) -> BuiltinSampler:
    sampler.children = of.children
    return sampler


def _level(shuffle: Shuffle, size: int) -> Shuffle:
    if shuffle is Shuffle.ADAPTIVE:
        return Shuffle.GLOBAL if size <= _FEW else Shuffle.PARTIAL
    return shuffle


def _parts(files: Files, order: Array) -> list[Array]:
    """The rows of files in an order, each file's by themselves."""
    starts = [0, *files.ends[:-1]]
    return [np.arange(starts[f], files.ends[f]) for f in order.tolist()]


def _mixed_files(files: Files, seed: int) -> Array:
    """The rows with the files mixed; those that fill up come last."""
    order = shuffled(np.arange(len(files.ends)), MinStd0(seed))
    return np.concatenate([*_parts(files, order), np.arange(files.ends[-1], files.size)])


def _mixed_inside(rows: Array, files: Files, seed: int) -> Array:
    """Rows that stand file by file, those of each mixed."""
    bounds = list(zip((0, *files.ends[:-1]), files.ends, strict=True))
    return np.concatenate([*(shuffled(rows[a:b], MinStd0(seed)) for a, b in bounds), rows[files.ends[-1] :]])


def _mixed_partly(rows: Array, seed: int) -> Array:
    """Rows of which those that are near each other are mixed."""
    parts = [shuffled(rows[k : k + _PART], MinStd0(seed)) for k in range(0, len(rows), _PART)]
    return np.concatenate(parts) if parts else rows


class _Random(BuiltinSampler):
    """Rows in a random order, or with replacement drawn one by one."""

    def __init__(self, of: RandomSampler, files: Files | None) -> None:
        super().__init__(of.num_samples)
        self._of, self._files = of, files

    def is_shuffled(self) -> bool:
        return True

    def count(self, size: int, labels: Labels) -> int:
        return self.num_samples or size if self._drawn(size) else self._at_most(size)

    def _drawn(self, size: int) -> bool:
        """Whether rows are drawn one by one: there may be more of them than there are rows."""
        return self._of.replacement and _level(self._of.level, size) is Shuffle.GLOBAL

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        files = self._files or Files((size,))
        level, count = _level(self._of.level, size), self.count(size, labels)
        rows, turn, drawn = np.arange(size), 0, self._drawn(size)

        def next_pass() -> Array:
            nonlocal rows, turn
            if turn and not self._of.reshuffle:
                return rows
            turn += 1
            if drawn:
                first = seed + 1 + (turn - 1) * count
                rows = firsts(np.arange(first, first + count), size)
            elif level is Shuffle.FILES:
                rows = _mixed_files(files, seed + turn)[:count]
            elif level is Shuffle.INFILE:
                rows = _mixed_inside(rows, files, seed + turn)
            elif level is Shuffle.PARTIAL:
                rows = _mixed_partly(_mixed_files(files, seed + turn)[:count], seed + turn)
            else:
                rows = shuffled(rows, MinStd0(seed + turn))[:count]
            return rows[:count]

        return next_pass


class _Shares(BuiltinSampler):
    """The rows of one of several processes, in order or after they have been mixed alike for all."""

    def __init__(self, of: DistributedSampler, files: Files | None) -> None:
        super().__init__(of.num_samples)
        self._of, self._files = of, files

    def is_shuffled(self) -> bool:
        return self._of.is_shuffled() or super().is_shuffled()

    def is_sharded(self) -> bool:
        return True

    def count(self, size: int, labels: Labels) -> int:
        return self._of.count(size, labels)

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        files, places = self._files or Files((size,)), self._of.places(size)
        level, turn = _level(self._of.level, size), 0

        def next_pass() -> Array:
            nonlocal turn
            turn += 1
            rows = np.arange(size)
            if level is Shuffle.FILES or level is Shuffle.PARTIAL:
                rows = _mixed_files(files, seed + turn)
            elif level is Shuffle.INFILE:
                rows = _mixed_inside(rows, files, seed + turn)
            elif level is Shuffle.GLOBAL:
                rows = shuffled(rows, MinStd0(seed + turn))
            return _mixed_partly(rows[places], seed + turn) if level is Shuffle.PARTIAL else rows[places]

        return next_pass


class _Subset(BuiltinSampler):
    """The given rows in a random order, the same one in each pass."""

    def __init__(self, of: SubsetRandomSampler) -> None:
        super().__init__(of.num_samples)
        self._of = of

    def is_shuffled(self) -> bool:
        return True

    def count(self, size: int, labels: Labels) -> int:
        return self._of.count(size, labels)

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        rows = shuffled(self._of.indices[: self._of.count(size, labels)], MinStd0(seed + 1))
        return lambda: rows
