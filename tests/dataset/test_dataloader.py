"""dataset.dataloader against what MindSpore 2.10 did (tests/data/ms_dataloader.py), with its own workers and without."""

from __future__ import annotations

import gc
import json
import time

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
from graphc import DataError, Tensor
from graphc.dataset import dataloader
from graphc.dataset.dataloader import DataLoader
from graphc.dataset.workers import choice
from tests.dataset.sources import Samples
from tests.recorders import DATA, recorder

RECORDED = json.loads((DATA / "ms_dataloader.json").read_text())
probe = recorder("ms_dataloader")
WITH_WORKERS = [t for t in probe.PROGRAMS if "workers" in t or t.startswith("random")]


@pytest.fixture(autouse=True)
def _fork():
    ds.config.set_multiprocessing_start_method("fork")
    yield
    gc.collect()


@pytest.mark.parametrize("title", probe.PROGRAMS)
def test_programs(title):
    assert json.loads(json.dumps(probe.PROGRAMS[title](graphc))) == RECORDED[title]


@pytest.mark.parametrize("title", WITH_WORKERS)
def test_the_same_without_processes(title, monkeypatch):
    """Where the work cannot be sent to a process, in the caller's thread; its random states stay as they are."""
    monkeypatch.setattr(dataloader.loader, "processes_of", lambda *args: None)
    graphc.set_seed(9)
    assert json.loads(json.dumps(probe.PROGRAMS[title](graphc))) == RECORDED[title]
    assert (graphc.get_seed(), dataloader.get_worker_info()) == (9, None)


def test_spawned_workers_and_one_that_cannot_be_sent(caplog):
    batches = list(DataLoader(Samples(5), batch_size=2, num_workers=1, multiprocessing_context="spawn"))
    assert [labels.asnumpy().tolist() for _, labels in batches] == [[0, 1], [2, 3], [4]]
    caplog.clear()
    choice.no_effect.__globals__["_said"].discard(("DataLoader", "num_workers"))
    loader = DataLoader(
        Samples(2), num_workers=1, multiprocessing_context="spawn", collate_fn=lambda samples: len(samples)
    )
    assert list(loader) == [1, 1]
    assert "there are no processes, for it cannot be sent to one" in caplog.text


def broken(worker):
    raise OSError("no scale")


def test_what_fails_in_a_worker_is_raised_where_its_turn_comes():
    seen = []
    with pytest.raises(DataError, match="DataLoader: worker 1 raised KeyError: 'no such sample'") as error:
        seen.extend(DataLoader(Samples(6, bad=3), num_workers=2))
    assert "no such sample" in str(error.value.__cause__)
    with pytest.raises(KeyError, match="no such sample"):
        list(DataLoader(Samples(6, bad=3)))
    with pytest.raises(DataError, match="was killed by signal 9"):
        list(DataLoader(Samples(6, killer=3), num_workers=2))
    with pytest.raises(DataError, match="worker 0 raised OSError: no scale"):
        list(DataLoader(Samples(6), num_workers=1, worker_init_fn=broken))
    start = time.monotonic()
    with pytest.raises(DataError, match=r"has given nothing for 0\.2 seconds"):
        list(DataLoader(Samples(6, slow=5), num_workers=1, timeout=0.2))
    assert time.monotonic() - start < 4


def test_a_pass_that_is_left_early():
    loader = DataLoader(Samples(8), num_workers=2, persistent_workers=True)
    assert [int(labels) for _, (_, labels) in zip(range(3), loader, strict=False)] == [0, 1, 2]
    assert [int(labels) for _, labels in loader] == list(range(8))
    for _ in DataLoader(Samples(8), num_workers=2):
        break


class Shared(dataloader.IterableDataset):
    def __iter__(self):
        return iter(range(3))


@pytest.mark.parametrize(
    ("data", "given", "error", "text"),
    [
        (Samples(3), {"batch_size": 0}, ValueError, "batch_size must be 1 or more"),
        (Samples(3), {"batch_size": True}, TypeError, "batch_size"),
        (Samples(3), {"shuffle": 1}, TypeError, "shuffle"),
        (Samples(3), {"sampler": [1], "shuffle": True}, ValueError, "sampler and shuffle exclude each other"),
        (Samples(3), {"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler and batch_size"),
        (Samples(3), {"num_workers": -1}, ValueError, "num_workers"),
        (Samples(3), {"timeout": -1}, ValueError, "timeout"),
        (Samples(3), {"prefetch_factor": 2}, ValueError, "prefetch_factor goes with num_workers"),
        (Samples(3), {"persistent_workers": True}, ValueError, "persistent_workers goes with num_workers"),
        (Samples(3), {"multiprocessing_context": "fork"}, ValueError, "goes with num_workers"),
        (Samples(3), {"multiprocessing_context": "bad", "num_workers": 1}, ValueError, "must be one of spawn"),
        (Samples(3), {"multiprocessing_context": 3, "num_workers": 1}, TypeError, "must be one of spawn"),
        (Samples(3), {"generator": 3}, TypeError, r"numpy\.random\.Generator"),
        (Samples(3), {"collate_fn": 3}, TypeError, "collate_fn must be callable"),
        (Samples(3), {"in_order": 3}, TypeError, "in_order"),
        (Samples(3), {"pin_memory": 1}, TypeError, "pin_memory"),
        (Shared(), {"shuffle": True}, ValueError, "IterableDataset and shuffle"),
        (Shared(), {"sampler": [1]}, ValueError, "IterableDataset and sampler"),
        (iter([1]), {}, TypeError, "has no __getitem__"),
    ],
)
def test_refused(data, given, error, text):
    with pytest.raises(error, match=text):
        DataLoader(data, **given)


def test_values_that_make_no_batch():
    for samples, error in (([None], TypeError), ([np.array("a")], TypeError), ([[1], [1, 2]], RuntimeError)):
        with pytest.raises(error, match="default_collate"):
            dataloader.default_collate(samples)
    for given, error in (((), TypeError), ((Tensor(1),), TypeError), ((Tensor([1]), Tensor([1, 2])), ValueError)):
        with pytest.raises(error, match="TensorDataset"):
            dataloader.TensorDataset(*given)
    for base in (dataloader.Dataset(), dataloader.IterableDataset()):
        with pytest.raises(NotImplementedError):
            base[0]
    with pytest.raises(ValueError, match="rank must be from 0 to 1"):
        dataloader.DistributedSampler(range(4), 2, 2)
    assert list(dataloader.DistributedSampler(range(4), shuffle=False)) == [0, 1, 2, 3]
