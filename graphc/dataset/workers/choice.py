"""Which workers compute the rows of a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphc.dataset.core.streams import Done, Pool, Run
from graphc.dataset.workers.threads import ThreadWorkers
from graphc.validation.unused_arguments import no_effect

if TYPE_CHECKING:
    from graphc.dataset.workers.processes import ProcessWorkers


def pool_of(owner: str, job: Callable[[Any], Done], workers: int, processes: bool, run: Run) -> tuple[Pool | None, int]:
    """A pool, or None where the caller does everything, and how many tasks it may have at a time.

    processes: worker processes; threads stand in for them, and it is said why, where the job cannot be sent to a process.
    """
    if workers == 1 or not run.parallel:
        return None, 0
    ahead = max(workers, min(2 * workers, run.prefetch))
    pool = processes_of(owner, "python_multiprocessing", job, workers, ahead, run) if processes else None
    return pool or ThreadWorkers(job, workers, run), ahead


def processes_of(
    owner: str,
    argument: str,
    job: Callable[[Any], Done],
    workers: int,
    ahead: int,
    run: Run,
    method: str | None = None,
    patience: float | None = None,
) -> ProcessWorkers | None:
    """Worker processes; None, and it is said why, where the job cannot be sent to one. method: how they begin, by default as
    `config` says; patience: how many seconds a result may take.
    """
    from graphc.dataset.workers.processes import ProcessWorkers, Unpicklable  # Few data sets have worker processes.

    try:
        return ProcessWorkers(job, workers, ahead, run, method, patience)
    except Unpicklable as reason:
        no_effect(owner, argument, f"there are no processes, for it cannot be sent to one: {reason}")
        return None
