"""Worker threads: tasks done several at a time, their results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from graphc.dataset.core.streams import Done, Run


class ThreadWorkers:
    """A Pool (graphc.dataset.core.streams) of threads."""

    def __init__(self, job: Callable[[Any], Done], workers: int, run: Run) -> None:
        self._job = job
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="graphc-dataset-worker")
        self._futures: deque[Future[Done]] = deque()
        run.closers.append(partial(_shut_down, self._executor, os.getpid()))

    def submit(self, task: Any) -> None:
        self._futures.append(self._executor.submit(self._job, task))

    def result(self) -> Done:
        return self._futures.popleft().result()


def _shut_down(executor: ThreadPoolExecutor, owner: int) -> None:
    # The child of a fork has none of these threads, but the executor's lock as it was: one of them may have held it.
    if os.getpid() == owner:
        executor.shutdown(wait=True, cancel_futures=True)
