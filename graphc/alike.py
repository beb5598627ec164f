"""What the processes of a training make sure of when a step is compiled: all are about to do the same, from the same state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphc import processes
from graphc.context import is_data_parallel
from graphc.ir import Graph
from graphc.ir import walk as walk_nodes
from graphc.ops.functional.printing import PrintLog
from graphc.passes.uniform import PEERS, check_alike, is_collective

if TYPE_CHECKING:
    from graphc.ops.tensor.parameter import Parameter

#: How far apart the random states of processes are: each draw moves a state on by one.
_APART = 1 << 48

#: Where a node comes from, at the end of its line: files may lie elsewhere on another machine.
_ORIGIN = re.compile(r"  ; .*$", re.MULTILINE)


def meet(graph: Graph, params: Mapping[int, Parameter]) -> bool:
    """Before a step of several processes is lowered: whether it talks to others. Nothing for one, and for a step that does not.

    params: the Parameters by node id. DisagreementError GC191 in all processes if one of them has other collectives. In a
    data-parallel mode the whole graph must be the same, and VerifyError GC164 if updates could differ. Then all parameters
    become those of the first process, but for those with `layerwise_parallel` and for parts; random states become different
    ones, whose difference is the same for ever.
    """
    world = processes.started()
    if world is None:
        return False
    own = [id for id, p in params.items() if p.is_random_state or p.layerwise_parallel or p.cut is not None]
    if is_data_parallel():
        check_alike(graph, own)
    talking = [node for _, node in walk_nodes(graph) if is_collective(node)]
    joint = [node for node in talking if node.op.name not in PEERS]
    if not any(node.attrs.get("size", world.size) == world.size for node in joint):
        return bool(talking)
    lines = _ORIGIN.sub("", str(graph)).splitlines()
    if not is_data_parallel():
        # Each process may compute what it likes: they must talk about the same.
        lines = [f"{n.op.name}: {', '.join(map(str, n.types))} {dict(n.attrs)}" for n in joint if not n.graphs()]
    processes.agree(f"graph of {graph.name}", lines, hashlib.sha256("\n".join(lines).encode()).hexdigest())
    if is_data_parallel():
        share([p for p in params.values() if not isinstance(p, PrintLog)], world.rank)
    return True


def share(params: Sequence[Parameter], rank: int) -> None:
    """Give all processes the first one's parameters."""
    shared = [p for p in params if p.is_random_state or not (p.layerwise_parallel or p.cut is not None)]
    processes.share_from_first([p.storage for p in shared])
    for p in shared:
        if p.is_random_state:
            with np.errstate(over="ignore"):
                p.storage[...] += np.int64(rank * _APART)


def agree_on_batches(count: int) -> None:
    """DisagreementError GC191 in all processes of a data-parallel training if one has another number of batches."""
    if is_data_parallel():
        processes.agree("number of batches", [f"{count} batches"], str(count))
