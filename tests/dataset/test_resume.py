"""A data set goes on where it was left: at every row, to the bit, whatever stands in the pipeline."""

from __future__ import annotations

import json

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import ArgumentTypeError, DataError
from tests.dataset.sources import Growing, Samples, noisy, numbers


def source(count=10, **options):
    return ds.GeneratorDataset(Samples(count), ["x", "y"], **options)


def arrays(count=10, **options):
    return ds.NumpySlicesDataset({"x": np.arange(2 * count).reshape(count, 2), "y": np.arange(count)}, **options)


PIPELINES = {
    "arrays": lambda: arrays().batch(3),
    "source": lambda: source(),
    "threads": lambda: source(num_parallel_workers=2, python_multiprocessing=False).map(noisy, "x").batch(3),
    "iterable": lambda: ds.GeneratorDataset(numbers, ["x", "y"]).batch(6),
    "random map": lambda: arrays().map(noisy, "x").shuffle(4).batch(3, drop_remainder=True),
    "map of batches": lambda: arrays().batch(3).map(noisy, "x"),
    "repeat": lambda: source(4).repeat(3).map(noisy, "x").batch(5),
    "repeat, cut": lambda: (
        arrays(4).map(noisy, "x").shuffle(3).repeat(5).map(noisy, "x", num_parallel_workers=2).batch(2).take(3)
    ),
    "repeats, cut": lambda: (arrays(3).repeat(2).concat(arrays(3).repeat(2))).take(4).repeat(2).take(7),
    "repeat beside fewer rows": lambda: ds.zip((arrays(4).repeat(5), arrays(6).project("x").rename("x", "z"))),
    "filter": lambda: arrays().map(noisy, "x").filter(lambda y: y % 3 != 0, "y").batch(2),
    "sizes": lambda: arrays().batch(lambda info: info.get_batch_num() + 1 + info.get_epoch_num()),
    "buckets": lambda: ds.GeneratorDataset(Growing(8), ["x", "y"]).bucket_batch_by_length(["x"], [4], [3, 2]),
    "zip and concat": lambda: ds.zip(
        (arrays(), arrays(7).concat(arrays(2)).rename(["x", "y"], ["a", "b"]).skip(1).take(6))
    ),
    "shards": lambda: arrays(num_shards=3, shard_id=2).shuffle(2),
    "split": lambda: arrays().split([6, 4])[0].map(noisy, "x"),
    "weighted": lambda: arrays(sampler=ds.WeightedRandomSampler(range(10), 6)),
    "batch_sampler": lambda: source(4, batch_sampler=[[0, 1], [2], [3, 0]]),
}


def taken(iterator):
    return [[v.tolist() for v in row] for row in iterator]


@pytest.mark.parametrize("title", PIPELINES)
@pytest.mark.parametrize("seed", [ds.config.UNSET, 3])
def test_any_row_of_three_passes(title, seed):
    ds.config.set_seed(seed)
    dataset = PIPELINES[title]()
    whole, states = [], []
    iterator = dataset.create_tuple_iterator(num_epochs=3, output_numpy=True)
    for _ in range(3):
        states.append((iterator.state_dict(), len(whole), 0))
        rows = []
        for row in iterator:
            rows.append([v.tolist() for v in row])
            states.append((iterator.state_dict(), len(whole), len(rows)))
        whole.append(rows)
    for state, epoch, position in states[:: max(1, len(states) // 9)]:
        again = PIPELINES[title]()
        again.load_state_dict(json.loads(json.dumps(state)))
        rest = again.create_tuple_iterator(num_epochs=3, output_numpy=True)
        assert taken(rest) == whole[epoch][position:]
        for later in whole[epoch + 1 :]:
            assert taken(rest) == later


@pytest.mark.parametrize("title", [t for t in PIPELINES if t != "batch_sampler"])
def test_a_pass_left_early_leaves_the_next_as_one_that_was_read(title):
    ds.config.set_seed(3)
    whole = PIPELINES[title]().create_tuple_iterator(num_epochs=3, output_numpy=True)
    early = PIPELINES[title]().take(1).create_tuple_iterator(num_epochs=3, output_numpy=True)
    assert [taken(early) for _ in range(3)] == [taken(whole)[:1] for _ in range(3)]


@pytest.mark.parametrize(
    "behind", [lambda d: d, lambda d: d.shuffle(2), lambda d: d.batch(2), lambda d: d.map(noisy, "x")]
)
def test_a_state_behind_an_endless_repeat_is_refused_once_a_pass_is_over(behind):
    dataset = behind(arrays(4).repeat(-1).take(6))
    with dataset.create_tuple_iterator(num_epochs=3) as iterator:
        list(iterator)
    again = behind(arrays(4).repeat(-1).take(6))
    again.load_state_dict(iterator.state_dict())
    with pytest.raises(DataError, match="endless repeat") as error:
        list(again.create_tuple_iterator(num_epochs=3))
    assert error.value.code == "GC206"


def test_a_pass_after_an_endless_one_goes_on_behind_what_was_read():
    ds.config.set_seed(3)
    endless = arrays(4).repeat(-1).shuffle(3)
    for dataset in (endless.take(6), endless.take(3).repeat(2), endless.concat(arrays(2)).take(6)):
        iterator = dataset.create_tuple_iterator(num_epochs=3, output_numpy=True)
        assert [len(taken(iterator)) for _ in range(3)] == [6, 6, 6]


def test_blocks_are_the_batches_and_count_as_such():
    ds.config.set_seed(3)
    dataset = arrays(23).map(noisy, "x").batch(4)
    whole = [[v.tolist() for v in row] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    iterator = dataset.create_tuple_iterator(num_epochs=2)
    blocks = []
    while (block := iterator.blocks(steps=2)) is not None:
        assert all(column.flags.c_contiguous for column in block)
        blocks.append(block[0].shape[:2])
        expected = whole[: len(block[0])]
        assert [[x.tolist(), y.tolist()] for x, y in zip(*block, strict=True)] == expected
        whole = whole[len(block[0]) :]
    assert blocks == [(2, 4), (2, 4), (1, 4), (1, 3)]
    (labels,) = iterator.blocks(["y"], 3)
    assert labels.shape == (3, 4)
    assert iterator.state_dict()["position"] == 3


def test_blocks_of_an_ahead_read_source():
    iterator = source(10, shuffle=False).batch(4).create_tuple_iterator(num_epochs=1)
    shapes = []
    while (block := iterator.blocks(None, 8)) is not None:
        shapes.append(block[1].tolist())
    assert shapes == [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9]]]


def test_blocks_hold_batches_of_one_shape():
    rows = [np.zeros(k) for k in (2, 2, 3, 3, 3, 3, 2, 2)]
    iterator = ds.GeneratorDataset(rows, ["x"], shuffle=False).batch(2).create_tuple_iterator(num_epochs=1)
    shapes = []
    while (block := iterator.blocks(None, 8)) is not None:
        shapes.append(block[0].shape)
        position = iterator.state_dict()["position"]
    assert (shapes, position) == ([(1, 2, 2), (2, 2, 3), (1, 2, 2)], 4)
    ds.config.set_debug_mode(True, [])
    again = ds.GeneratorDataset(rows, ["x"], shuffle=False).batch(2).create_tuple_iterator(num_epochs=1)
    assert [again.blocks(None, 8)[0].shape for _ in range(3)] == shapes


def test_states_that_do_not_fit():
    dataset = arrays().batch(3)
    state = dataset.create_tuple_iterator().state_dict()
    with pytest.raises(DataError, match=r"\[GC206\] .* another pipeline"):
        arrays().load_state_dict(state)
    with pytest.raises(ArgumentTypeError, match="GC206"):
        dataset.load_state_dict({"epoch": 1})
    dataset.load_state_dict({**state, "position": 2})
    dataset.reset()
    assert len(list(dataset)) == 4
    dataset.load_state_dict({**state, "position": 2})
    assert [len(list(dataset)), len(list(dataset))] == [2, 4]
