"""Worker threads: tasks done several at a time, their results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from graphc.dataset.core.streams import Done, Run


class ThreadWorkers:
    """A Pool (graphc.dataset.core.streams) of threads."""

    def __init__(self, job: Callable[[Any], Done], workers: int, run: Run) -> None:
        self._job = job
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="graphc-dataset-worker")
        self._futures: deque[Future[Done]] = deque()
        executor = self._executor
        run.closers.append(lambda: executor.shutdown(wait=True, cancel_futures=True))

    def submit(self, task: Any) -> None:
        self._futures.append(self._executor.submit(self._job, task))

    def result(self) -> Done:
        return self._futures.popleft().result()
