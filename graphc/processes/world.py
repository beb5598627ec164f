"""All processes, once this one has joined them."""

from __future__ import annotations

from typing import Any, NamedTuple


class World(NamedTuple):
    """All processes: this one's number, how many there are, the same on its machine, and who talks to whom.

    mpi          the module mpi4py.MPI
    everybody    the communicator of graphc's own messages between all processes: nobody else uses it
    steps        that of the group of all, for the collectives of steps and of eager calls
    pulse        that of the watch, see `graphc.processes.watch`
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    mpi: Any
    everybody: Any
    steps: Any
    pulse: Any


_world: World | None = None


def started() -> World | None:
    """All processes; None as long as this one is alone."""
    return _world


def joined(world: World) -> None:
    """From now on this process is one of several."""
    global _world
    _world = world


def local() -> tuple[int, int]:
    """This process's number among those of its machine, and how many these are."""
    return (_world.local_rank, _world.local_size) if _world is not None else (0, 1)
