"""What the workers of a DataLoader do: one task after the other, a batch or a sample each."""

from __future__ import annotations

import copy
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import Done
from graphc.dataset.dataloader.collate import default_collate, default_convert
from graphc.dataset.dataloader.datasets import IterableDataset
from graphc.errors import DataError
from graphc.ops.tensor.seed import set_seed

_IDS = np.zeros(1, np.int64)


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this is: number `id` of num_workers, with its seed and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_current = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader calls this; None outside of them."""
    return getattr(_current, "info", None)


@dataclass(frozen=True)
class Task:
    """What one worker is to fetch: `indices`, a batch or one; of a data set that is iterated, as many as there are."""

    worker: int
    #: Which pass it belongs to: with another one a data set is iterated from its beginning.
    turn: int
    indices: Any


class Fetcher:
    """The samples of a data set, batched or not."""

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any] | None, drop_last: bool) -> None:
        self.dataset, self._batched, self._drop_last = dataset, batched, drop_last
        self._collate = collate or (default_collate if batched else default_convert)
        self._samples: Any = None
        self._ended = False

    def begin(self) -> None:
        """Start a pass."""
        self._ended = False
        if isinstance(self.dataset, IterableDataset):
            self._samples = iter(self.dataset)

    def fetch(self, indices: Any) -> Any:
        """The batch, or sample, of indices; StopIteration where the samples have come to their end."""
        if self._samples is None:
            found = [self.dataset[k] for k in indices] if self._batched else self.dataset[indices]
        elif not self._batched:
            found = next(self._samples)
        else:
            found = self._next_batch(len(indices))
        return self._collate(found)

    def _next_batch(self, size: int) -> list[Any]:
        found = []
        for _ in range(0 if self._ended else size):
            try:
                found.append(next(self._samples))
            except StopIteration:
                self._ended = True
                break
        if not found or (len(found) < size and self._drop_last):
            raise StopIteration
        return found


class Job:
    """The work of the processes of a DataLoader; it goes to each of them as it is. A result is one row of one value, and no row
    where the data set has come to its end.
    """

    def __init__(self, fetcher: Fetcher, workers: int, seed: int, init: Callable[[int], Any] | None) -> None:
        self._fetcher, self._workers, self._seed, self._init = fetcher, workers, seed, init
        #: Whether nobody else draws of the process's random states.
        self.in_a_process = True
        self._turn: int | None = None
        self._broken: DataError | None = None

    def __call__(self, task: Task) -> Done:
        try:
            if self._broken is not None:
                raise self._broken
            if self._turn is None:
                self._start(task.worker)
            if self._turn != task.turn:
                self._turn = task.turn
                self._fetcher.begin()
            return Done(Rows(1, [[self._fetcher.fetch(task.indices)]], _IDS))
        except StopIteration:
            return Done(None)
        except interrupts():
            raise
        except BaseException as raised:
            error = fault(f"DataLoader: worker {task.worker}", None, raised)
            error.__cause__ = raised
            self._broken = error if self._turn is None else None
            return Done(None, error)

    def _start(self, worker: int) -> None:
        seed = self._seed + worker
        if self.in_a_process:
            set_seed(seed & 0xFFFFFFFF)
        random.seed(seed & 0xFFFFFFFF)
        words = [worker, self._seed & 0xFFFFFFFF, self._seed >> 32, 0]
        np.random.seed(np.random.SeedSequence(words).generate_state(4))
        _current.info = WorkerInfo(worker, self._workers, seed, self._fetcher.dataset)
        if self._init is not None:
            self._init(worker)


class InTurn:
    """A Pool (graphc.dataset.core.streams) without processes: copies of what would go to them work in the caller's thread."""

    def __init__(self, job: Job, workers: int) -> None:
        self._jobs = [copy.deepcopy(job) for _ in range(workers)]
        for each in self._jobs:
            each.in_a_process = False
        self._states: list[Any] = [None] * workers
        self._tasks: deque[Task] = deque()

    def from_the_first(self) -> None:
        """Tasks say themselves whose they are."""

    def submit(self, task: Task) -> None:
        self._tasks.append(task)

    def result(self) -> Done:
        task = self._tasks.popleft()
        outside = _state()
        try:
            if self._states[task.worker] is not None:
                _enter(self._states[task.worker])
            return self._jobs[task.worker](task)
        finally:
            self._states[task.worker] = _state()
            _enter(outside)


def _state() -> tuple[Any, ...]:
    """What each process has of its own: which worker it is, and random states."""
    return get_worker_info(), random.getstate(), np.random.get_state()


def _enter(state: tuple[Any, ...]) -> None:
    _current.info = state[0]
    random.setstate(state[1])
    np.random.set_state(state[2])
