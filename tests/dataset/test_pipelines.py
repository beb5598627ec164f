"""What pipelines do beside giving rows, against what MindSpore 2.10 did (tests/data/ms_pipelines.py): callbacks of map, rows
that wait for the training, hooks."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
from graphc import DataError, nn
from tests.recorders import DATA, recorder

RECORDED = json.loads((DATA / "ms_pipelines.json").read_text())
probe = recorder("ms_pipelines")


@pytest.mark.parametrize("title", probe.PROGRAMS)
def test_programs(title):
    assert json.loads(json.dumps(probe.PROGRAMS[title](graphc))) == RECORDED[title]


def numbers(n=5):
    return probe.numbers(graphc, n)


def read(dataset):
    return probe.values(probe.once(dataset))


# ---- callbacks


class Steps(ds.DSCallback):
    def __init__(self, size=1):
        super().__init__(size)
        self.order = []

    def ds_step_begin(self, ds_run_context):
        self.order.append(f"begin {ds_run_context.cur_step_num}")

    def ds_step_end(self, ds_run_context):
        self.order.append(f"end {ds_run_context.cur_step_num}")


@pytest.mark.parametrize("debug", [False, True])
def test_a_row_ends_before_the_next_begins(debug):
    ds.config.set_debug_mode(debug, [])
    calls = Steps()
    data = numbers(3).map(lambda x: calls.order.append("row") or x, num_parallel_workers=2, callbacks=[calls])
    assert read(data) == [0, 1, 2]
    assert calls.order == [w for k in (1, 2, 3) for w in (f"begin {k}", "row", f"end {k}")]
    # Questions call no callbacks.
    calls.order.clear()
    assert (data.output_shapes(), data.get_dataset_size()) == ([[]], 3)
    assert calls.order == ["row"]


def test_callbacks_that_are_none():
    class Nothing(ds.DSCallback):
        pass

    class Broken(ds.DSCallback):
        def ds_step_end(self, ds_run_context):
            raise KeyError("k")

    for bad, error, text in (
        (3, TypeError, "callbacks must be a DSCallback"),
        ([Steps(), None], TypeError, "got NoneType"),
        (Nothing(), ValueError, "Nothing overrides none of ds_begin"),
        (ds.WaitedDSCallback(), ValueError, "none of sync_step_begin"),
    ):
        with pytest.raises(error, match=text):
            numbers().map(lambda x: x, callbacks=bad)
    for bad, error in ((0, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="Steps: step_size"):
            Steps(bad)
    with pytest.raises(DataError, match="map: ds_step_end of the callback Broken raised KeyError"):
        read(numbers().map(lambda x: x, callbacks=Broken()))


class Waits(ds.WaitedDSCallback):
    def sync_step_begin(self, train_run_context, ds_run_context):
        pass


class Same(nn.Cell):
    def construct(self, x):
        return x


def test_a_training_that_is_waited_for_cannot_sink_and_must_be_there():
    waits = Waits()
    source = ds.NumpySlicesDataset(np.ones((3, 2), np.float32), ["x"], shuffle=False)
    data = source.map(lambda x: x, callbacks=waits)
    with pytest.raises(DataError, match=r"its steps cannot be gathered(?s:.*)dataset_sink_mode=False"):
        graphc.Model(Same()).train(1, data, callbacks=[waits], dataset_sink_mode=True)
    ds.config.set_callback_timeout(1)
    assert ds.config.get_callback_timeout() == 1
    start = time.monotonic()
    with pytest.raises(DataError, match=r"Waits: the training has not ended its step for 1 seconds(?s:.*)Model.train"):
        read(source.map(lambda x: x, callbacks=Waits()))
    assert 0.9 < time.monotonic() - start < 5


# ---- sync_wait


def test_rows_wait_with_workers_before_and_behind():
    data = numbers(8).map(lambda x: x, num_parallel_workers=2).sync_wait("a", num_batch=2)
    data = data.map(lambda x: x + 1, num_parallel_workers=2).sync_wait("b").batch(2, per_batch_map=lambda x, info: (x,))
    seen = []
    for (row,) in probe.once(data):
        seen.append(row.tolist())
        data.sync_update("a", num_batch=1)
        data.sync_update("b")
    assert seen == [[1, 2], [3, 4], [5, 6], [7, 8]]


@pytest.mark.parametrize("debug", [False, True])
def test_rows_that_wait_are_made_for_their_turn(debug):
    ds.config.set_debug_mode(debug, [])
    state = [0]
    data = numbers(4).sync_wait("a").map(lambda x: x * 10 + state[0])
    rows = []
    for (row,) in probe.once(data):
        rows.append(row.item())
        state[0] += 1
        data.sync_update("a")
    assert rows == [0, 11, 22, 33]


def test_waiting_ends_with_the_iterator_and_after_a_time(caplog):
    with probe.once(numbers(4).sync_wait("a")) as rows:
        next(rows)
    assert not [t for t in threading.enumerate() if t.name == "graphc-dataset" and t.is_alive()]
    ds.config.set_callback_timeout(1)
    assert read(numbers(4).sync_wait("a")) == [0, 1, 2, 3]
    assert "no sync_update('a') for 1 seconds" in caplog.text


def test_what_sync_refuses():
    data = numbers().sync_wait("a")
    with pytest.raises(DataError, match="there is a condition 'a' already"):
        data.batch(2).sync_wait("a")
    with pytest.raises(DataError, match="behind sync_wait cannot be gathered"):
        data.shuffle(3)
    for given, error, text in (
        ({"condition_name": "b"}, RuntimeError, "no condition 'b', there are 'a'"),
        ({"condition_name": 1}, TypeError, "must be a str"),
        ({"condition_name": "a", "num_batch": 0}, ValueError, "num_batch must be from 1"),
    ):
        with pytest.raises(error, match=text):
            data.sync_update(**given)
    assert read(data) == [0, 1, 2, 3, 4]  # Nothing waits any more.
    for given, error in ((("a", 0), ValueError), ((1,), TypeError), (("c", 1, 3), TypeError)):
        with pytest.raises(error):
            numbers().sync_wait(*given)


# ---- flat_map, samples that are left out, hooks


def test_flat_map_refuses():
    for function, error, text in (
        (3, TypeError, "func must be callable"),
        (lambda x: x, TypeError, "must return a data set, got ndarray"),
    ):
        with pytest.raises(error, match=text):
            numbers().flat_map(function)
    with pytest.raises(DataError, match="no rows"):
        numbers().filter(lambda x: False).flat_map(lambda x: numbers())


def broken(x):
    if int(x) % 3 == 2:
        raise ValueError("bad")
    return x * 10


def test_samples_that_fail_are_left_out():
    modes = ds.config.ErrorSamplesMode
    assert ds.config.get_error_samples_mode() is modes.RETURN
    with pytest.raises(DataError, match="ValueError: bad"):
        read(numbers().map(broken))
    with pytest.raises(TypeError):
        ds.config.set_error_samples_mode(0)
    ds.config.set_error_samples_mode(modes.SKIP)
    assert ds.config.get_error_samples_mode() is modes.SKIP
    for workers in (1, 2):
        data = numbers(20).map(broken, num_parallel_workers=workers)
        assert read(data) == [10 * k for k in range(20) if k % 3 < 2]
        assert (data.get_dataset_size(), read(data.skip(3))[:2]) == (14, [40, 60])
    assert read(numbers().map(lambda x: 1 / 0)) == []


def test_samples_that_stand_in_go_on_in_turn_behind_a_state_and_a_pass_left_early():
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
    data = numbers(7).map(broken)
    assert data.get_dataset_size() == 7
    iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
    passes = [[row[0].item() for row in iterator] for _ in range(3)]
    assert [p[5:] for p in passes] == [[0, 10], [30, 40], [60, 0]]
    again = numbers(7).map(broken)
    iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
    list(iterator)
    rows = iter(iterator)
    assert [next(rows)[0].item() for _ in range(6)] == passes[1][:6]
    again.load_state_dict(iterator.state_dict())
    rest = again.create_tuple_iterator(num_epochs=3, output_numpy=True)
    assert [[row[0].item() for row in rest] for _ in range(2)] == [passes[1][6:], passes[2]]
    assert read(data.skip(6).take(1)) == [10]


def test_samples_that_stand_in_are_nobody_elses_and_the_same_with_any_workers():
    def more(x):
        x += 1000
        return x

    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
    found = []
    for changed in (lambda x: x + 1000, more):
        for workers in (1, 3):
            data = numbers(40).map(lambda x: np.atleast_1d(broken(x)), num_parallel_workers=workers).map(changed)
            iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
            found.append([[row[0].item() for row in iterator] for _ in range(3)])
    assert found == [found[0]] * 4


def test_hooks_that_are_none_or_stand_where_none_may():
    for bad in (3, [3]):
        with pytest.raises(TypeError, match="debug_hook_list must be a list of DebugHooks"):
            ds.config.set_debug_mode(True, bad)
    with pytest.raises(ValueError, match=r"debug mode is off(?s:.*)set_debug_mode\(True\)"):
        read(numbers().map([lambda x: x, ds.debug.PrintDataHook()]))
    with pytest.raises(TypeError):
        ds.debug.DebugHook()


@pytest.mark.parametrize("kinds", ["lengths", "dtypes"])
def test_rows_that_differ_stay_whole_in_a_buffer(kinds):
    def row(i):
        odd = i % 5 == 4
        full = np.full(2 + odd if kinds == "lengths" else 2, i, np.float32 if odd and kinds == "dtypes" else np.int64)
        return full, i

    rows = ds.NumpySlicesDataset(np.arange(60), "i", shuffle=False).map(row, "i", ["x", "i"])
    for size in (3, 4, 9):
        got = list(rows.shuffle(size).create_tuple_iterator(num_epochs=1, output_numpy=True))
        assert sorted(int(i) for _, i in got) == list(range(60))
        assert all((x == i).all() and x.dtype == row(i)[0].dtype and x.shape == row(i)[0].shape for x, i in got)
