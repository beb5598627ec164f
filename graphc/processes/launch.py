"""Joining the others: what mpiexec tells a process, MPI's start, and the table by which compiled steps call MPI."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from graphc.errors import MissingPackageError, user_loc
from graphc.processes.exchange import exchange
from graphc.processes.shared_memory import windows_of
from graphc.processes.watchdog import watch
from graphc.processes.world import World, joined, started
from graphc_codegen.links import DATATYPES, FUNCTIONS, REDUCTIONS, connect

#: Variables by which launchers tell a process that it is one of several.
_LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
#: Those by which they tell how many processes there are, where they do.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


def is_launched() -> bool:
    """Whether a launcher such as mpiexec has started this process as one of several."""
    sizes = [os.environ[name] for name in _SIZES if name in os.environ]
    return any(name in os.environ for name in _LAUNCHED) and sizes[:1] != ["1"]


def start() -> World | None:
    """Join the others, once: MPI begins, at its thread level "multiple" or the highest that it has.

    None, and nothing happens, in a process that no launcher has started. Raises MissingPackageError without mpi4py.
    """
    if started() is not None or not is_launched():
        return started()
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MissingPackageError(
            f"this is one of several processes, which need mpi4py and an MPI: {error}",
            loc=user_loc(),
            help="pip install 'graphc[mpi]'",
        ) from error
    everyone = MPI.COMM_WORLD
    if everyone.Get_size() == 1:
        return None
    near, everybody = everyone.Split_type(MPI.COMM_TYPE_SHARED), everyone.Dup()
    rank = everyone.Get_rank()
    world = World(
        rank,
        everyone.Get_size(),
        MPI,
        everybody,
        steps=everyone.Dup(),
        pulse=everyone.Dup(),
        talk=everyone.Dup(),
        windows=windows_of(everybody),
        hosts=tuple(everybody.allgather(near.bcast(rank))),
    )
    _connect(MPI)
    joined(world)
    watch()
    return world


def _connect(mpi: Any) -> None:
    """Give compiled steps the addresses of MPI's functions and its handles: those of the library that mpi4py uses."""
    library = ctypes.CDLL(mpi.__file__)
    words = {
        name: int(ctypes.cast(getattr(library, function), ctypes.c_void_p).value or 0)
        for name, function in FUNCTIONS.items()
    }
    words["in_place"] = int(mpi.IN_PLACE)
    words |= {name: int(mpi._handleof(datatype(mpi, name))) for name in DATATYPES}
    words |= {name: int(mpi._handleof(getattr(mpi, name.upper()))) for name in REDUCTIONS}
    connect(words, exchange)


def datatype(mpi: Any, name: str) -> Any:
    """MPI's datatype of a dtype; "bytes" is one, too."""
    if name == "bytes":
        return mpi.BYTE
    floats = {"float32": "FLOAT", "float64": "DOUBLE"}
    return getattr(mpi, floats.get(name) or f"{name.upper()}_T")
