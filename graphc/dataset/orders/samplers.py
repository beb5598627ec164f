"""Samplers: which samples of a source are read in a pass, and in which order (MindSpore: mindspore.dataset.samplers)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import FunctionType
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, INT64_MAX, LateError, WideError, integer, truth
from graphc.dataset.orders.mersenne import Mt19937, canonical, integers, shuffled
from graphc.dataset.shuffle import Shuffle, is_level, of_records_only
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.validation.checks import string
from graphc.validation.unused_arguments import refusal

Array = np.ndarray[Any, np.dtype[Any]]

#: What gives the indices of one pass after the other, int64 [m] each.
Plan = Callable[[], Array]


#: The values of a column of all samples, for samplers that ask; None where they are not known before they are read.
Labels = Callable[[str], Array] | None


class Order:
    """The indices of one pass after the other of a source of `size` samples, read from `seed`."""

    def __init__(self, sampler: BuiltinSampler, size: int, seed: int, labels: Labels = None) -> None:
        children = sampler.children
        self.child = Order(children[0], size, seed, labels) if children else None
        self._sampler, self._seed, self._labels = sampler, seed, labels
        self._size: int = self.child.length if self.child else size
        self.length: int = sampler.count(self._size, labels)
        self._plan: Plan | None = None
        self._indices: Array = np.empty(0, np.int64)
        self._place = 0

    def begin(self) -> None:
        """Start the next pass, from which `take` and `skip` go on. DataError as `next_pass`."""
        self._indices, self._place = self.next_pass(), 0

    def take(self, count: int) -> Array:
        """int64: the next indices of the pass, at most `count`, none at its end."""
        chosen = self._indices[self._place : self._place + count]
        self._place += len(chosen)
        return chosen

    def skip(self, count: int) -> int:
        """Leave out the next `count` indices; returns how many there were."""
        return len(self.take(count))

    def next_pass(self) -> Array:
        """int64 [length]: the indices of the next pass. DataError if one lies outside of the source."""
        below = self.child.next_pass() if self.child else None
        if self._plan is None:
            self._plan = self._sampler.plan(self._size, self._seed, self._labels)
        own = self._plan()
        outside = (own < 0) | (own >= self._size)
        if outside.any():
            raise DataError(
                f"{type(self._sampler).__name__}: index {own[outside][0]} lies outside of the data set, which has "
                f"{self._size} samples",
                code="GC204",
            )
        return own if below is None else below[own]


class BuiltinSampler:
    """Base of graphc's own samplers. num_samples: how many indices at most; None or 0 for all."""

    def __init__(self, num_samples: int | None = None) -> None:
        owner = type(self).__name__
        self.num_samples = None if num_samples is None else integer(owner, "num_samples", num_samples, 0) or None
        self.children: list[BuiltinSampler] = []

    def add_child(self, sampler: BuiltinSampler | None) -> None:
        """Let `sampler` choose first, and this one among what it has chosen. RuntimeError if there is one already."""
        if self.children:
            raise DataError(f"{type(self).__name__}: there is a child sampler already", code="GC204", loc=user_loc())
        if sampler is not None:
            self.children.append(as_sampler(type(self).__name__, sampler))

    def get_child(self) -> BuiltinSampler | None:
        """The sampler that chooses first, or None."""
        return self.children[0] if self.children else None

    def get_num_samples(self) -> int | None:
        """How many indices this and its child give at most; None for all."""
        below = self.children[0].get_num_samples() if self.children else None
        numbers = [n for n in (self.num_samples, below) if n is not None]
        return min(numbers) if numbers else None

    def is_shuffled(self) -> bool:
        """Whether it or its child draws at random."""
        return any(c.is_shuffled() for c in self.children)

    def is_sharded(self) -> bool:
        """Whether it or its child takes one of several shares."""
        return any(c.is_sharded() for c in self.children)

    def is_whole(self) -> bool:
        """Whether each pass has every sample once, in order or mixed."""
        return False

    def count(self, size: int, labels: Labels) -> int:
        """How many indices a pass over `size` samples has."""
        return self._at_most(size)

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        """The passes over `size` samples. labels: what samples of a column hold, for those who ask."""
        raise NotImplementedError

    def _at_most(self, count: int) -> int:
        return count if self.num_samples is None else min(count, self.num_samples)


class SequentialSampler(BuiltinSampler):
    """Every index from start_index (0) on, in order."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index = (
            0 if start_index is None else integer("SequentialSampler", "start_index", start_index, 0, error=LateError)
        )

    def is_whole(self) -> bool:
        return self.start_index == 0 and self.num_samples is None and all(c.is_whole() for c in self.children)

    def count(self, size: int, labels: Labels) -> int:
        if self.start_index >= max(size, 1):
            raise DataError(
                f"SequentialSampler: start_index is {self.start_index}, the data set has {size} samples", code="GC204"
            )
        return self._at_most(size - self.start_index)

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        indices = np.arange(self.start_index, self.start_index + self.count(size, labels))
        return lambda: indices


class RandomSampler(BuiltinSampler):
    """Every index in a new random order in each pass; drawn independently of each other with `replacement`.

    shuffle: Shuffle.GLOBAL, and for MindDataset the others of its levels.
    """

    def __init__(
        self, replacement: bool = False, num_samples: int | None = None, shuffle: Shuffle = Shuffle.GLOBAL
    ) -> None:
        super().__init__(num_samples)
        self.replacement = truth("RandomSampler", "replacement", replacement)
        self.level = is_level("RandomSampler", shuffle)
        if self.level is Shuffle.FALSE:
            raise refusal("RandomSampler", "shuffle", shuffle, Shuffle.GLOBAL)
        #: Whether each pass has its own order.
        self.reshuffle = True

    def is_whole(self) -> bool:
        return not self.replacement and self.num_samples is None and all(c.is_whole() for c in self.children)

    def is_shuffled(self) -> bool:
        return True

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        of_records_only("RandomSampler", self.level)
        order, turn = np.arange(size), -1
        count = self._at_most(size)

        def next_pass() -> Array:
            nonlocal order, turn
            if turn >= 0 and not self.reshuffle:
                return order[:count]
            turn += 1
            generator = Mt19937(seed + turn)
            if self.replacement:
                return integers(generator, np.full(count, max(size, 1)))
            order = shuffled(order, generator)
            return order[:count]

        return next_pass


class DistributedSampler(BuiltinSampler):
    """The share of one of `num_shards` processes: every num_shards-th sample, from shard_id on, after a common shuffle.

    shuffle: a bool, and for MindDataset one of Shuffle's levels. offset: which shard the first sample goes to, -1 for shard 0;
    with -1 every share has as many samples as the largest and the last ones start again from the first sample, else shares may
    differ by one. ArgumentValueError if shard_id is not below num_shards.
    """

    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool | Shuffle = True,
        num_samples: int | None = None,
        offset: int = -1,
    ) -> None:
        super().__init__(num_samples)
        self.num_shards = integer("DistributedSampler", "num_shards", num_shards, 1, INT32_MAX, LateError)
        self.shard_id = shard(self.num_shards, shard_id, "DistributedSampler")
        self.level = is_level("DistributedSampler", shuffle, or_bool=True)
        self.shuffle = self.level is not Shuffle.FALSE
        self.offset = integer("DistributedSampler", "offset", offset, -1)
        if self.offset > self.num_shards:
            raise ArgumentValueError(
                f"DistributedSampler: offset is {offset}, there are only {num_shards} shards", loc=user_loc()
            )

    def is_shuffled(self) -> bool:
        return self.shuffle or super().is_shuffled()

    def is_sharded(self) -> bool:
        return True

    def places(self, size: int) -> Array:
        """int64 [m]: places in the common order."""
        if self.offset == -1:
            count = -(-size // self.num_shards)
            places = (np.arange(count) * self.num_shards + self.shard_id) % max(size, 1)
        else:
            first = (self.shard_id - self.offset) % self.num_shards
            places = np.arange(first, size, self.num_shards)
        return places[: self._at_most(len(places))]

    def count(self, size: int, labels: Labels) -> int:
        return len(self.places(size))

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        of_records_only("DistributedSampler", self.level)
        order, turn, places = np.arange(size), 0, self.places(size)

        def next_pass() -> Array:
            nonlocal order, turn
            if self.shuffle:
                turn += 1
                order = shuffled(order, Mt19937(seed + turn))
            return order[places]

        return next_pass


class SubsetSampler(BuiltinSampler):
    """The given indices, in their order."""

    def __init__(self, indices: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        owner = type(self).__name__
        given = [indices] if isinstance(indices, (int, np.integer)) else indices
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise ArgumentTypeError(
                f"{owner}: indices must be ints in a sequence, got {type(indices).__name__}", loc=user_loc()
            )
        given = list(given)
        self.indices = _indices(owner, given)

    def get_num_samples(self) -> int:
        return self._at_most(super().get_num_samples() or len(self.indices))

    def count(self, size: int, labels: Labels) -> int:
        return self._at_most(len(self.indices))

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        chosen = self.indices[: self._at_most(len(self.indices))]
        return lambda: chosen


class SubsetRandomSampler(SubsetSampler):
    """The given indices, the first num_samples of them, in a new random order in each pass."""

    def is_shuffled(self) -> bool:
        return True

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        order = self.indices[: self._at_most(len(self.indices))]

        def next_pass() -> Array:
            nonlocal order
            # The same numbers in each pass, as in MindSpore: they mix the order of the pass before.
            order = shuffled(order, Mt19937(seed))
            return order

        return next_pass


class WeightedRandomSampler(BuiltinSampler):
    """Indices drawn with these weights, with or without replacement; the same ones in each pass.

    weights: numbers >= 0 in a sequence, not all 0, one per sample. Without replacement by the keys of Efraimidis and
    Spirakis (Information Processing Letters 97, 2006): exponential variates divided by weights, the least ones.
    """

    def __init__(self, weights: Any, num_samples: int | None = None, replacement: bool = True) -> None:
        super().__init__(num_samples)
        if isinstance(weights, (str, bytes)) or not isinstance(weights, Iterable):
            raise ArgumentTypeError(
                f"WeightedRandomSampler: weights must be numbers in a sequence, got {type(weights).__name__}",
                loc=user_loc(),
            )
        listed = list(weights)
        for w in listed:
            if isinstance(w, (bool, np.bool_)) or not isinstance(w, (int, float, np.number)):
                raise ArgumentTypeError(f"WeightedRandomSampler: weights must be numbers, one is {w!r}", loc=user_loc())
            if not 0 <= w < float("inf"):
                raise LateError(
                    f"WeightedRandomSampler: weights must be 0 or more and finite, one is {w}", loc=user_loc()
                )
        self.weights = np.array(listed, np.float64)
        if not self.weights.any():
            raise LateError("WeightedRandomSampler: all weights are 0", loc=user_loc())
        self.replacement = truth("WeightedRandomSampler", "replacement", replacement)

    def is_shuffled(self) -> bool:
        return True

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        count = self._at_most(size)
        generator = Mt19937(seed)
        if self.replacement:
            parts = self.weights / self.weights.sum()
            bounds = np.cumsum(parts)
            bounds[-1] = 1.0
            drawn = np.searchsorted(bounds, canonical(generator, count), side="left")
        else:
            with np.errstate(divide="ignore"):
                keys = -np.log(1.0 - canonical(generator, len(self.weights))) / self.weights
            positive = int(np.count_nonzero(self.weights))
            if count > positive:
                raise DataError(
                    f"WeightedRandomSampler: {count} samples without replacement, but only {positive} weights are above 0",
                    code="GC204",
                )
            drawn = np.argsort(keys, kind="stable")[:count]
        return lambda: drawn.astype(np.int64)


class _NotThereError(ArgumentValueError, NotImplementedError, shown_as="NotImplementedError"):
    """What MindSpore has an argument for and has not implemented, either."""


class PKSampler(BuiltinSampler):
    """num_val samples of each class, drawn with replacement: for sources that know their labels before they are read.

    num_class: None, for all classes; MindSpore accepts nothing else, either. shuffle: the classes come in a random order, the
    same one in each pass, instead of their own. class_column: the column of the labels.
    """

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:
        super().__init__(num_samples)
        self.num_val = integer("PKSampler", "num_val", num_val, 1, INT32_MAX, LateError)
        if num_class is not None:
            raise _NotThereError(
                f"PKSampler: num_class={num_class!r} is not supported, only None", code="GC112", loc=user_loc()
            )
        self.shuffle = truth("PKSampler", "shuffle", shuffle)
        string("PKSampler", "class_column", class_column)
        self.class_column = class_column

    def is_shuffled(self) -> bool:
        return self.shuffle or super().is_shuffled()

    def count(self, size: int, labels: Labels) -> int:
        return self._at_most(self.num_val * len(np.unique(self._labels(labels))))

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        # Classes may have names, not numbers alone.
        found, of = np.unique(self._labels(labels), return_inverse=True)
        classes = np.arange(len(found))
        members = [np.flatnonzero(of == c) for c in classes]
        count, turn, order = self._at_most(self.num_val * len(classes)), -1, classes

        def next_pass() -> Array:
            nonlocal turn, order
            turn += 1
            generator = Mt19937(seed + turn)
            if self.shuffle and turn == 0:
                order = shuffled(classes, generator)
            drawn = integers(generator, np.repeat([len(members[c]) for c in order], self.num_val))
            chosen = [members[c][drawn[k * self.num_val : (k + 1) * self.num_val]] for k, c in enumerate(order)]
            return np.concatenate(chosen)[:count]

        return next_pass

    def _labels(self, labels: Labels) -> Array:
        if labels is None:
            raise ArgumentValueError(
                "PKSampler needs a data set whose labels are known before it is read",
                loc=user_loc(),
                help="MnistDataset, Cifar10Dataset, Cifar100Dataset and ImageFolderDataset know theirs",
            )
        return labels(self.class_column)


class Sampler(BuiltinSampler):
    """Base of users' own samplers: `__iter__` yields ints; `self.dataset_size` and `self.num_samples` are known by then."""

    def __init__(self, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.dataset_size = 0

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__}: a Sampler must have an __iter__ that yields indices")

    def reset(self) -> None:
        """Called before each pass but the first."""

    def count(self, size: int, labels: Labels) -> int:
        self.dataset_size = size
        return self._at_most(len(self._indices()))

    def plan(self, size: int, seed: int, labels: Labels) -> Plan:
        self.dataset_size, turn = size, -1

        def next_pass() -> Array:
            nonlocal turn
            turn += 1
            if turn:
                self.reset()
            indices = self._indices()
            return indices[: self._at_most(len(indices))]

        return next_pass

    def _indices(self) -> Array:
        return _collected(type(self).__name__, self, self.num_samples)


class IterSampler(Sampler):
    """The indices that an iterable, or an object with `__getitem__`, gives; asked anew in each pass."""

    def __init__(self, sampler: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.sampler = readable_again(_giving("IterSampler", sampler), self.num_samples)

    def __iter__(self) -> Iterator[int]:
        return iter(self.sampler)

    def _indices(self) -> Array:
        return _collected("sampler", self.sampler, self.num_samples)


def readable_again(given: Any, most: int | None = None) -> Any:
    """What the user gave to be iterated in each pass. A generator, or another iterator that is no class of the user's, as a list
    of its first `most` items, or all: it gives them once, and counting takes them.
    """
    once = isinstance(given, Iterator) and not isinstance(getattr(type(given), "__iter__", None), FunctionType)
    return list(islice(given, most)) if once else given


def _collected(owner: str, source: Any, most: int | None) -> Array:
    """The first `most` indices, or all. With a limit the source may be endless."""
    return _indices(owner, list(islice(iter(source), most)))


def _indices(owner: str, given: list[Any]) -> Array:
    """int64 [m]; ArgumentTypeError for what are no ints, or ints of more than 64 bits."""
    for i in given:
        if isinstance(i, (bool, np.bool_)) or not isinstance(i, (int, np.integer)):
            raise ArgumentTypeError(f"{owner}: indices must be ints, one is {i!r}", loc=user_loc())
        if not -INT64_MAX <= i <= INT64_MAX:
            raise WideError(f"{owner}: indices must be ints of 64 bits, one is {i}", loc=user_loc())
    return np.array(given, np.int64)


def shard(num_shards: int, shard_id: int, owner: str) -> int:
    """shard_id, if it is one of num_shards; else ArgumentTypeError or ArgumentValueError."""
    number = integer(owner, "shard_id", shard_id, 0, error=LateError)
    if number >= num_shards:
        raise LateError(f"{owner}: shard_id is {shard_id}, it must be below num_shards, {num_shards}", loc=user_loc())
    return number


def as_sampler(owner: str, sampler: Any, num_samples: int | None = None) -> BuiltinSampler:
    """A sampler of the user's: one of these, an iterable of ints or an object with `__getitem__`."""
    if isinstance(sampler, BuiltinSampler):
        if num_samples is not None and sampler.num_samples is not None and num_samples != sampler.num_samples:
            raise ArgumentValueError(
                f"{owner}: num_samples is {num_samples}, that of the sampler {sampler.num_samples}", loc=user_loc()
            )
        if num_samples is not None:
            outer = SequentialSampler(num_samples=num_samples)
            outer.add_child(sampler)
            return outer
        return sampler
    return IterSampler(_giving(owner, sampler), num_samples)


def _giving(owner: str, sampler: Any) -> Any:
    """What may give ints when it is iterated. ArgumentTypeError for anything else."""
    single = isinstance(sampler, (str, bytes, np.generic))
    if single or not (isinstance(sampler, Iterable) or hasattr(sampler, "__getitem__")):
        raise ArgumentTypeError(
            f"{owner}: sampler must be a sampler or give ints when iterated, got {type(sampler).__name__}",
            loc=user_loc(),
        )
    return sampler


__all__ = [
    "BuiltinSampler", "DistributedSampler", "IterSampler", "PKSampler", "RandomSampler", "Sampler",
    "SequentialSampler", "SubsetRandomSampler", "SubsetSampler", "WeightedRandomSampler",
]  # fmt: skip
