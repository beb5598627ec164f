"""All processes, once this one has joined them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from graphc.errors import DisagreementError, user_loc
from graphc_codegen.links import WORDS, table


class World(NamedTuple):
    """All processes: this one's number, how many there are, and who talks to whom.

    mpi          the module mpi4py.MPI
    everybody    the communicator of graphc's own messages between all processes: nobody else uses it
    steps        that of the group of all, for the collectives of steps and of eager calls
    pulse        that of the watch, see `graphc.processes.watchdog`
    talk         that of the group of all, for `graphc.processes.group_calls`
    windows      where the memory is that all share, see `graphc.processes.shared_memory`
    hosts        of each process the first one on its machine
    """

    rank: int
    size: int
    mpi: Any
    everybody: Any
    steps: Any
    pulse: Any
    talk: Any
    windows: tuple[int, ...]
    hosts: tuple[int, ...]


_world: World | None = None
#: Whether this process is the child of one of them by a fork: then it is none of them, and MPI must not be called.
_is_child = False


def started() -> World | None:
    """All processes; None as long as this one is alone."""
    return _world


def joined(world: World) -> None:
    """From now on this process is one of several."""
    global _world
    _world = world
    os.register_at_fork(after_in_child=_leave)


def _leave() -> None:
    global _is_child
    _is_child = True


def is_member() -> bool:
    """Whether this process is one of those that train together, and no child of one."""
    return _world is not None and not _is_child


def require_membership() -> None:
    """DisagreementError GC191 in the child of a fork: what it tells the others would be taken for its parent's words."""
    if _is_child:
        raise DisagreementError(
            "this process was forked from one of those that train together, and is none of them",
            loc=user_loc(),
            help="communicate in the process that the launcher has started",
        )


@contextmanager
def waiting() -> Iterator[None]:
    """Within it the watch counts this process among those that wait for the others.

    DisagreementError as `require_membership`.
    """
    require_membership()
    table[WORDS["waits"]] = 1
    try:
        yield
    finally:
        table[WORDS["waits"]] = 0
        table[WORDS["done"]] += 1
