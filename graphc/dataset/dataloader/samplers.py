"""Samplers of a DataLoader: which samples come, in which order, and in which batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from graphc import processes
from graphc.dataset.checks import integer, truth
from graphc.errors import ArgumentTypeError, user_loc

T_co = TypeVar("T_co", covariant=True)
#: Indices that are drawn at a time, with replacement.
_DRAWN = 32


class Sampler(Generic[T_co]):
    """Base of samplers: override __iter__, which gives indices, or lists of them for batches."""

    def __init__(self, data_source: Any = None) -> None:
        pass


class SequentialSampler(Sampler[int]):
    """All indices in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        yield from range(len(self.data_source))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random: num_samples (by default as many as there are), each once in a round, or with replacement any.

    generator: a numpy.random.Generator; without one each pass has a new one, seeded by numpy.random.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: np.random.Generator | None = None,
    ) -> None:
        self.data_source, self.generator = data_source, checked_generator("RandomSampler", generator)
        self.replacement = truth("RandomSampler", "replacement", replacement)
        self._num_samples = None if num_samples is None else integer("RandomSampler", "num_samples", num_samples, 1)

    @property
    def num_samples(self) -> int:
        """How many indices a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, wanted = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = np.random.default_rng(np.random.randint(0, np.iinfo(np.int64).max + 1, dtype=np.int64))
        if self.replacement:
            for count in (*(wanted // _DRAWN) * [_DRAWN], wanted % _DRAWN):
                yield from generator.integers(0, size, count, np.int64).tolist()
        elif size:
            for count in (*(wanted // size) * [size], wanted % size):
                yield from generator.permutation(size).tolist()[:count]

    def __len__(self) -> int:
        return self.num_samples


def checked_generator(owner: str, generator: Any) -> np.random.Generator | None:
    """A numpy.random.Generator or None; ArgumentTypeError for anything else."""
    if generator is not None and not isinstance(generator, np.random.Generator):
        raise ArgumentTypeError(
            f"{owner}: generator must be a numpy.random.Generator, got {type(generator).__name__}", loc=user_loc()
        )
    return generator


class BatchSampler(Sampler[list[int]]):
    """Lists of batch_size indices of a sampler; the last one may be shorter, or is left out with drop_last."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        self.sampler = sampler
        self.batch_size = integer("BatchSampler", "batch_size", batch_size, 1)
        self.drop_last = truth("BatchSampler", "drop_last", drop_last)

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


class DistributedSampler(Sampler[int]):
    """The share of one of num_replicas processes, number `rank`: by default those that run, and this one.

    shuffle: mixed by seed + epoch, which set_epoch sets, the same in all processes. All shares have one size: what is left over
    goes with drop_last, else the first indices come again.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        owner = "DistributedSampler"
        self.dataset = dataset
        self.num_replicas = (
            processes.size() if num_replicas is None else integer(owner, "num_replicas", num_replicas, 1)
        )
        self.rank = integer(owner, "rank", processes.rank() if rank is None else rank, 0, self.num_replicas - 1)
        self.shuffle, self.seed = truth(owner, "shuffle", shuffle), integer(owner, "seed", seed, 0)
        self.drop_last, self.epoch = truth(owner, "drop_last", drop_last), 0
        size = len(dataset)
        self.num_samples = size // self.num_replicas if self.drop_last else -(-size // self.num_replicas)
        self.total_samples = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        indices = np.arange(size)
        if self.shuffle:
            indices = np.random.default_rng(self.seed + self.epoch).permutation(size)
        chosen = np.resize(indices, self.total_samples)[self.rank :: self.num_replicas]
        return iter(chosen.tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Which pass is next: passes are mixed differently."""
        self.epoch = integer("DistributedSampler.set_epoch", "epoch", epoch, 0)
