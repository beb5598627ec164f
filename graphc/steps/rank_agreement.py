"""What the processes of a training make sure of when a step is compiled: all are about to do the same, from the same state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from graphc import processes
from graphc.context import is_data_parallel, parallel_settings
from graphc.errors import DisagreementError, LoweringError
from graphc.ir import Graph
from graphc.ir import walk as walk_nodes
from graphc.ops.functional.printing import PrintLog
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.passes.replicated import (
    BETWEEN_DATA,
    BETWEEN_PARTS,
    EVERYWHERE,
    NOWHERE,
    PEERS,
    Axes,
    check_alike,
    is_collective,
)
from graphc.passes.stages import is_staged, owners
from graphc.processes import AxisCut, Cut, StageCut

#: How far apart the random states of processes are: each draw moves a state on by one.
_APART = 1 << 48

#: Where a node comes from, at the end of its line: files may lie elsewhere on another machine.
_ORIGIN = re.compile(r"  ; .*$", re.MULTILINE)


def meet(graph: Graph, apart: Graph, whole: Graph, params: Mapping[int, Parameter], given: Sequence[Tensor]) -> bool:
    """Before a step of several processes is lowered: whether it talks to others. Nothing for one, and for a step that does not.

    apart: the same graph while its collectives stand apart. whole: before it was cut into stages of a pipeline, of which each
    process has its own. params: the Parameters by node id. given: what the step is compiled
    for, which processes that hold parts of the same layers must all have.
    DisagreementError GC191 in all processes if one of them has other collectives. In a data-parallel mode the whole graph must
    be the same, and VerifyError GC164 if updates could differ. Then all parameters become those of the first process, but for
    those with `layerwise_parallel` and for parts; random states become different ones, whose difference is the same for ever.
    """
    world = processes.started()
    if world is None:
        return False
    stages = is_data_parallel() and parallel_settings().pipeline_stages > 1 and is_staged(whole)
    if stages:
        graph = apart = whole
    if is_data_parallel():
        check_alike(apart, {id: _differs(p) for id, p in params.items()})
    talking = [node for _, node in walk_nodes(graph) if is_collective(node)]
    joint = [node for node in talking if node.op.name not in PEERS]
    groups = (processes.MODEL, processes.DATA) if is_data_parallel() else ()
    if not stages and not any(
        node.attrs.get("size", world.size) == world.size or node.attrs["group"] in groups for node in joint
    ):
        return bool(talking)
    lines = _ORIGIN.sub("", str(graph)).splitlines()
    if not is_data_parallel():
        # Each process may compute what it likes, and be in other groups: what all say together must be the same.
        everybody = [n for n in joint if n.attrs.get("size") == world.size]
        lines = [f"{n.op.name}: {', '.join(map(str, n.types))} {dict(n.attrs)}" for n in everybody]
    processes.agree(f"graph of {graph.name}", lines, hashlib.sha256("\n".join(lines).encode()).hexdigest())
    if is_data_parallel():
        _same_data(given)
        if stages:
            _divide(params, owners(whole))
        parts = parallel_settings().parts > 1
        share(
            [p for p in params.values() if not isinstance(p, PrintLog)],
            processes.rank(processes.DATA) if parts else world.rank,
        )
    return True


def _differs(p: Parameter) -> Axes:
    """Between which processes a parameter may differ."""
    if p.layerwise_parallel or isinstance(p.cut, Cut):
        return EVERYWHERE
    if isinstance(p.cut, AxisCut):
        return BETWEEN_PARTS
    return BETWEEN_DATA if p.is_random_state else NOWHERE


def _same_data(given: Sequence[Tensor]) -> None:
    """DisagreementError GC191 in all processes if two that hold parts of the same layers are given other data."""
    parts = parallel_settings().parts
    if parts == 1:
        return
    arrays = [require_array(x) for x in given if not isinstance(x, Parameter)]
    found = processes.gather("data of a step", [hashlib.sha256(a.tobytes()).hexdigest() for a in arrays])
    count, staged = len(found) // parts, parallel_settings().pipeline_stages > 1
    first = [rank % count if staged else rank - rank % parts for rank in range(len(found))]
    other = next((rank for rank in range(len(found)) if found[rank] != found[first[rank]]), None)
    if other is not None:
        what = "are stages of one pipeline" if staged else "hold parts of the same layers"
        place = f"% {count}" if staged else f"// {parts}"
        raise DisagreementError(
            f"rank {other} has other data than rank {first[other]}: both {what}",
            help=f"num_shards=get_group_size() // {parts}, shard_id=get_rank() {place}",
        )


def _divide(params: Mapping[int, Parameter], owned: Mapping[int, int]) -> None:
    """Note which stage has each parameter from now on, behind the first process's start values."""
    new = [params[id] for id in owned if params[id].cut is None]
    processes.share_from_first([p.storage for p in new])
    for id, stage in owned.items():
        p = params[id]
        if isinstance(p.cut, StageCut) and p.cut.stage != stage:
            raise LoweringError(
                f"{p.name!r} is held by stage {p.cut.stage}, this step updates it in stage {stage}",
                code="GC112",
                help="keep cell.pipeline_stage as it was in the first step that was compiled",
            )
        p.cut = StageCut(p.shape, stage)


def share(params: Sequence[Parameter], rank: int) -> None:
    """Give all processes the first one's parameters; of layers that are cut, those that hold the same part. rank: which data
    this process has.
    """
    if parallel_settings().parts > 1:
        cut = [p.storage for p in params if isinstance(p.cut, AxisCut) or _is_own(p)]
        processes.share_from_first([a.view(np.uint8) if a.ndim else a for a in cut], processes.DATA)
    shared = [p for p in params if p.is_random_state or not (p.layerwise_parallel or p.cut is not None)]
    processes.share_from_first([p.storage for p in shared])
    for p in shared:
        if p.is_random_state:
            with np.errstate(over="ignore"):
                p.storage[...] += np.int64(rank * _APART)


def _is_own(p: Parameter) -> bool:
    """Whether it is held by this process's stage of a pipeline."""
    return isinstance(p.cut, StageCut) and p.cut.is_here


def agree_on_batches(count: int) -> None:
    """DisagreementError GC191 in all processes of a data-parallel training if one has another number of batches."""
    if is_data_parallel():
        processes.agree("number of batches", [f"{count} batches"], str(count))
