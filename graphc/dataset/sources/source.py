"""Sources whose samples have numbers: which of them are read, and in which order."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, LateError, integer, truth, workers
from graphc.dataset.core.dataset import Dataset
from graphc.dataset.core.streams import Done, Pool, Worked
from graphc.dataset.orders.samplers import (
    BuiltinSampler,
    DistributedSampler,
    Order,
    RandomSampler,
    SequentialSampler,
    as_sampler,
    shard,
)
from graphc.dataset.shuffle import of_records_only
from graphc.errors import ArgumentValueError, DataError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class Numbered(Worked):
    """The rows that a job makes of the indices of an order."""

    def __init__(self, pool: Pool | None, ahead: int, job: Callable[[Array], Done], order: Order) -> None:
        super().__init__(pool, ahead)
        self._job, self._order = job, order

    def begin(self) -> None:
        self._order.begin()

    def task(self, count: int) -> Array | None:
        chosen = self._order.take(count)
        return chosen if len(chosen) else None

    def do(self, task: Array) -> Done:
        return self._job(task)

    def leave_out(self, count: int) -> int:
        return self._order.skip(count)


class MappableDataset(Dataset):
    """A source of numbered samples, which a sampler puts in order (MindSpore: MappableDataset)."""

    #: What samples may be, for those who ask for the kind of a source: graphc/compat/lacking.py.
    holds = frozenset(("images", "texts", "sounds"))

    def __init__(self, columns: list[str], workers_: int | None, sampler: BuiltinSampler) -> None:
        super().__init__((), columns, workers(type(self).__name__, workers_))
        self.sampler = sampler

    def length(self) -> int:
        """How many samples the source has."""
        raise NotImplementedError

    def labels(self, column: str) -> Array:
        """int [length]: what the samples hold in that column, for PKSampler."""
        raise ArgumentValueError(
            f"PKSampler: {type(self).__name__} does not know column {column!r} of samples before they are read",
            loc=user_loc(),
        )

    def order(self, seed: int) -> Order:
        """The indices of pass after pass."""
        size = self.length()
        if size == 0:
            raise DataError(f"{type(self).__name__}: the data set is empty", loc=user_loc())
        return Order(self.sampler, size, seed, self.labels)

    def count(self) -> int | None:
        return self.order(0).length

    def title(self) -> str:
        return f"{type(self).__name__}[{self.length()}, {type(self.sampler).__name__}]"

    def use_sampler(self, new_sampler: Any) -> None:
        """Let another sampler take the place of the present one: what chooses before that, its child, stays. DataError for one
        that has a child of its own.
        """
        self._sampled_by("use_sampler", new_sampler, self.sampler.get_child())

    def add_sampler(self, new_sampler: Any) -> None:
        """Let another sampler choose among what the present one gives. DataError for one that has a child of its own."""
        self._sampled_by("add_sampler", new_sampler, self.sampler)

    def _sampled_by(self, owner: str, new_sampler: Any, child: BuiltinSampler | None) -> None:
        outer = copy.copy(as_sampler(owner, new_sampler))
        outer.children = list(outer.children)
        outer.add_child(child)
        self.sampler = outer

    def is_shuffled(self) -> bool:
        """Whether samples come in a random order."""
        return self.sampler.is_shuffled()

    def is_sharded(self) -> bool:
        """Whether only one of several shares is read."""
        return self.sampler.is_sharded()

    def share(self, shards: int, first: int) -> Dataset:
        """Every shards-th of the samples that the sampler gives, from number `first` on: the others are never read.

        Where it gives all of them, they come in order, as in MindSpore.
        """
        part = copy.copy(self)
        if self.sampler.is_whole():
            part.sampler = SequentialSampler()
        part.add_sampler(DistributedSampler(shards, 0, False, offset=-first % shards))
        return part

    def _split(self, sizes: list[int], randomize: bool) -> tuple[Dataset, ...]:
        """By numbers of samples: what belongs to other parts is never read."""
        parts = []
        for k, size in enumerate(sizes):
            part = copy.copy(self)
            if randomize:
                fixed = RandomSampler()
                fixed.reshuffle = False
                part.add_sampler(fixed)
            part.add_sampler(SequentialSampler(sum(sizes[:k]), size))
            parts.append(part)
        return tuple(parts)


def chosen_sampler(
    owner: str,
    num_samples: int | None,
    shuffle: bool | None,
    sampler: Any,
    num_shards: int | None,
    shard_id: int | None,
) -> BuiltinSampler:
    """The sampler that these arguments of a source mean (MindSpore: samplers.select_sampler)."""
    number = None if num_samples is None else integer(owner, "num_samples", num_samples, 0) or None
    if shuffle is not None:
        truth(owner, "shuffle", shuffle)
    check_shards(owner, num_shards, shard_id)
    if sampler is not None:
        chosen = as_sampler(owner, sampler, number)
        for name, value in (("shuffle", shuffle), ("num_shards", num_shards)):
            if value is not None:
                raise LateError(f"{owner}: sampler and {name} exclude each other", loc=user_loc())
        if isinstance(sampler, (RandomSampler, DistributedSampler)):
            of_records_only(owner, sampler.level)
        return chosen
    mixed = shuffle is None or shuffle
    if num_shards is not None:
        assert shard_id is not None
        return DistributedSampler(num_shards, shard_id, mixed, number)
    if mixed:
        return RandomSampler(replacement=number is not None, num_samples=number)
    return SequentialSampler(0, number)


def check_shards(owner: str, num_shards: int | None, shard_id: int | None) -> None:
    """Both or none; shard_id below num_shards."""
    for name, value in (("num_shards", num_shards), ("shard_id", shard_id)):
        if value is not None:
            integer(owner, name, value)
    if (num_shards is None) != (shard_id is None):
        raise LateError(f"{owner}: num_shards and shard_id go together", loc=user_loc())
    if num_shards is not None:
        assert shard_id is not None
        shard(integer(owner, "num_shards", num_shards, 1, INT32_MAX), shard_id, owner)


__all__ = ["MappableDataset"]
