"""Which workers compute the rows of a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.arguments import no_effect
from graphc.dataset.core.streams import Done, Pool, Run
from graphc.dataset.workers.threads import ThreadWorkers


def pool_of(owner: str, job: Callable[[Any], Done], workers: int, processes: bool, run: Run) -> tuple[Pool | None, int]:
    """A pool, or None where the caller does everything, and how many tasks it may have at a time.

    processes: worker processes; threads stand in for them, and it is said why, where the job cannot be sent to a process.
    """
    if workers == 1 or not run.parallel:
        return None, 0
    ahead = max(workers, min(2 * workers, run.prefetch))
    if processes:
        from graphc.dataset.workers.processes import ProcessWorkers, Unpicklable

        try:
            return ProcessWorkers(job, workers, ahead, run), ahead
        except Unpicklable as reason:
            no_effect(
                owner, "python_multiprocessing", f"threads are used, for it cannot be sent to a process: {reason}"
            )
    return ThreadWorkers(job, workers, run), ahead
