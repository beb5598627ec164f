"""Collectives of eager calls and of the checked mode, by mpi4py. Compiled steps call MPI themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.processes.groups import by_number
from graphc.processes.world import started
from graphc_codegen.links import REDUCTIONS

__all__ = ["REDUCTIONS", "exchange"]

Array = np.ndarray[Any, np.dtype[Any]]


def exchange(call: Mapping[str, Any], x: Array, out: Array) -> None:
    """Do the collective `call`["call"] in the group number `call`["group"], on flat contiguous arrays of one dtype.

    What is added up has a dtype that MPI knows: no float16, bfloat16 or bool. Everything else travels as bytes.
    """
    world = started()
    assert world is not None
    mpi, group, kind = world.mpi, by_number(call["group"]).communicator, call["call"]
    reduction = getattr(mpi, call["reduction"].upper())
    root, tag = call["root"], call["tag"]
    if kind == "all_reduce":
        group.Allreduce(x, out, reduction)
    elif kind == "reduce":
        out[...] = 0
        group.Reduce(x, out if group.Get_rank() == root else None, reduction, root)
    elif kind == "reduce_scatter":
        group.Reduce_scatter_block(x, out, reduction)
    elif kind == "all_gather":
        group.Allgather(_bytes(x), _bytes(out))
    elif kind == "all_to_all":
        group.Alltoall(_bytes(x), _bytes(out))
    elif kind == "broadcast":
        out[...] = x
        group.Bcast(_bytes(out), root)
    elif kind == "send":
        group.Send(_bytes(x), root, tag)
    elif kind == "receive":
        group.Recv(_bytes(out), root, tag)
    else:
        group.Barrier()


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
