"""`concat(...).use_sampler`: each process has its share of all rows, whatever gives them."""

from __future__ import annotations

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError


def numbers(dataset, passes=1):
    rows = dataset.create_tuple_iterator(num_epochs=passes, output_numpy=True)
    return [[row[0].item() for row in rows] for _ in range(passes)]


def source(begin, count, shuffle=False):
    return ds.NumpySlicesDataset({"a": list(range(begin, begin + count))}, shuffle=shuffle)


#: What is put one after the other: 0, 1, 2 and so on.
WHOLE = {
    "sources": lambda: source(0, 7) + source(7, 4),
    "small ones": lambda: source(0, 1) + source(1, 2) + source(3, 4),
    "shuffled": lambda: source(0, 5, shuffle=True) + source(5, 3),
    "filled up": lambda: source(0, 5) + ds.PaddedDataset([{"a": np.array(k)} for k in (5, 6, 7)]),
    "mapped": lambda: source(0, 5).map(lambda a: a, "a") + source(5, 3).map(lambda a: a, "a"),
    "mapped and not": lambda: source(0, 150).map(lambda a: a, "a") + source(150, 3),
}


@pytest.mark.parametrize("title", WHOLE)
@pytest.mark.parametrize("shards", [1, 2, 3, 4])
def test_every_process_has_its_share(title, shards):
    size = WHOLE[title]().get_dataset_size()
    for shard in range(shards):
        dataset = WHOLE[title]()
        dataset.use_sampler(ds.DistributedSampler(shards, shard, shuffle=False))
        wanted = list(range(shard, size, shards))
        assert numbers(dataset, 2) == [wanted] * 2
        assert dataset.get_dataset_size() == len(wanted)


def test_what_was_put_together_stays_as_it_was():
    first, second = source(0, 4), source(4, 3)
    both = first + second
    both.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
    assert numbers(both) == [[1, 3, 5]]
    assert numbers(first) + numbers(second) == [[0, 1, 2, 3], [4, 5, 6]]


#: Sources that give something else than all samples: numbers of what is put one after the other.
CHOSEN = {
    "num_samples": (lambda: ds.NumpySlicesDataset(list(range(10)), shuffle=False, num_samples=4), [0, 1, 2, 3]),
    "subset": (lambda: ds.NumpySlicesDataset(list(range(10)), sampler=ds.SubsetSampler([5, 2, 8])), [5, 2, 8]),
    "from the third on": (
        lambda: ds.NumpySlicesDataset(list(range(5)), sampler=ds.SequentialSampler(2)),
        [2, 3, 4],
    ),
    "a share": (lambda: ds.NumpySlicesDataset(list(range(5)), shuffle=False, num_shards=2, shard_id=1), [1, 3, 0]),
    "iterable": (lambda: ds.GeneratorDataset(lambda: ((np.array(k),) for k in range(5)), ["column_0"]), list(range(5))),
    "batches": (
        lambda: ds.GeneratorDataset([(np.array(k),) for k in range(6)], ["column_0"], batch_sampler=[[3], [1], [5]]),
        [3, 1, 5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", CHOSEN)
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_shares_are_of_what_the_sampler_of_a_source_gives(title, shards):
    made, rows = CHOSEN[title]
    for shard in range(shards):
        dataset = made() + made()
        dataset.use_sampler(ds.DistributedSampler(shards, shard, shuffle=False))
        assert numbers(dataset, 2) == [(rows + rows)[shard::shards]] * 2


def test_the_last_sampler_counts():
    dataset = source(0, 7) + source(7, 4)
    for shard in (1, 0, 1):
        dataset.use_sampler(ds.DistributedSampler(2, shard, shuffle=False))
        assert numbers(dataset) == [list(range(shard, 11, 2))]


def test_going_on_where_it_was_left():
    def whole():
        made = source(0, 9).map(lambda a: a, "a") + source(9, 4)
        made.use_sampler(ds.DistributedSampler(2, 0, shuffle=False))
        return made

    iterator = whole().create_tuple_iterator(num_epochs=1, output_numpy=True)
    given = [int(next(iterator)[0]) for _ in range(3)]
    again = whole()
    again.load_state_dict(iterator.state_dict())
    assert given + numbers(again)[0] == list(range(0, 13, 2))


def test_samplers_that_are_refused():
    both = source(0, 4) + source(4, 3)
    with pytest.raises(ArgumentTypeError, match="a DistributedSampler or a RandomSampler, got SequentialSampler"):
        both.use_sampler(ds.SequentialSampler())
    for sampler in (ds.RandomSampler(True), ds.RandomSampler(num_samples=2)):
        with pytest.raises(ArgumentValueError, match="no replacement and no num_samples"):
            both.use_sampler(sampler)
    for sampler in (ds.DistributedSampler(2, 0), ds.DistributedSampler(2, 0, False, num_samples=1)):
        with pytest.raises(ArgumentValueError, match="shuffle=False and no num_samples"):
            both.use_sampler(sampler)
