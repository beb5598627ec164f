"""Which of the processors that this process may use are cores of their own, as far as Linux tells.

Two threads of one core share what computes: a step that keeps it busy with one is no faster with both, and waits for what each
takes from the other's caches. https://docs.kernel.org/admin-guide/cputopology.html
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")
#: What lists the processors of one's core, by its names in newer and older kernels.
_LISTS = ("core_cpus_list", "thread_siblings_list")


def first_of_cores(processors: Iterable[int] | None = None) -> list[int]:
    """The first processor of each core among these, or among those that this process may use, in ascending order. All of them
    where the system does not say which belong together, as on many virtual machines.
    """
    if processors is None:
        has = hasattr(os, "sched_getaffinity")
        processors = os.sched_getaffinity(0) if has else range(os.cpu_count() or 1)
    first: dict[str, int] = {}
    for number in sorted(processors):
        first.setdefault(_together(number), number)
    return list(first.values())


def _together(number: int) -> str:
    """What all processors of one core have in common."""
    for name in _LISTS:
        try:
            return (_TOPOLOGY / f"cpu{number}" / "topology" / name).read_text().strip() or f"alone {number}"
        except (OSError, ValueError):
            continue
    return f"alone {number}"
