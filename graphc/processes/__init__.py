"""The processes of a training: which one this is, of how many, in which groups, and what they tell each other.

MPI starts them (`mpiexec -n 4 python train.py`) and carries what they say, by mpi4py; without it, or for one process, nothing
of it is imported. Everything else of graphc asks here.
"""

from graphc.processes import transfers
from graphc.processes.agreement import agree, anybody, gather, share_from_first
from graphc.processes.exchange import REDUCTIONS, exchange, other_message
from graphc.processes.extrema import EXTREMA
from graphc.processes.group_calls import Act, Talk, Work, require_fit
from graphc.processes.groups import (
    DATA,
    MODEL,
    WORLD,
    WORLDS,
    Group,
    create_group,
    destroy_group,
    divide,
    group,
    is_group,
    known_to_steps,
    local,
    rank,
    size,
)
from graphc.processes.launch import is_launched, start
from graphc.processes.sharding import AxisCut, Cut, StageCut, part_length
from graphc.processes.shared_memory import FOLDED, WINDOW_BYTES
from graphc.processes.watchdog import count_steps
from graphc.processes.world import require_membership, started, waiting

__all__ = [
    "DATA",
    "EXTREMA",
    "FOLDED",
    "MODEL",
    "REDUCTIONS",
    "WINDOW_BYTES",
    "WORLD",
    "WORLDS",
    "Act",
    "AxisCut",
    "Cut",
    "Group",
    "StageCut",
    "Talk",
    "Work",
    "agree",
    "anybody",
    "count_steps",
    "create_group",
    "destroy_group",
    "divide",
    "exchange",
    "gather",
    "group",
    "is_group",
    "is_launched",
    "known_to_steps",
    "local",
    "other_message",
    "part_length",
    "rank",
    "require_fit",
    "require_membership",
    "share_from_first",
    "size",
    "start",
    "started",
    "transfers",
    "waiting",
]
