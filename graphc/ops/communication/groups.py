"""Joining the other processes, and groups of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphc import processes
from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.communication.checks import name_of
from graphc.processes import WORLD
from graphc.validation.checks import exact_int
from graphc.validation.unused_arguments import no_effect, only

#: Whether `init_process_group` has been called, and not `destroy_process_group` after it; None: neither.
_begun: bool | None = None
#: The groups that `new_group` has made, in all processes alike, and who is in them.
_made: dict[str, tuple[int, ...]] = {}


def is_available() -> bool:
    """Whether processes can tell each other something: True."""
    return True


def is_initialized() -> bool:
    """Whether this process has joined the others, by `init_process_group` or otherwise."""
    return processes.started() is not None if _begun is None else _begun


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the processes that mpiexec has started, which tells them their numbers; other ways to find each other have no effect.

    world_size, rank: -1, or what they are. Raises ArgumentValueError, and MissingPackageError GC207 in one of several processes
    without mpi4py.
    """
    global _begun
    given = {
        "backend": backend,
        "init_method": init_method,
        "timeout": timeout,
        "store": store,
        "group_name": group_name or None,
        "pg_options": pg_options,
        "device_id": device_id,
    }
    for name, value in given.items():
        if value is not None:
            no_effect("init_process_group", name, "MPI carries what processes tell each other")
    processes.start()
    only("init_process_group", "world_size", world_size, -1, processes.size())
    only("init_process_group", "rank", rank, -1, processes.rank())
    _begun = True


def get_rank(group: str | None = None) -> int:
    """This process's number in a group, from 0; -1 if it is not in there."""
    processes.start()
    name = name_of("get_rank", group)
    return processes.rank(name) if processes.is_group(name) else -1


def get_world_size(group: str | None = None) -> int:
    """How many processes a group has; -1 for one that is not known here."""
    processes.start()
    name = name_of("get_world_size", group)
    return len(_ranks(name)) if name in _made or processes.is_group(name) else -1


def new_group(
    ranks: Iterable[int] | None = None,
    timeout: Any = None,
    backend: Any = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: Any = None,
) -> str:
    """The name of a group of these processes, in the order of their ranks; by default of all. Of the same ones there is one.

    Its processes must call it; others may, and get the name, too. MPI has no options. ArgumentValueError for ranks that are no
    distinct numbers of processes.
    """
    options = {"timeout": timeout, "backend": backend, "pg_options": pg_options, "group_desc": group_desc}
    for name, value in (options | {"use_local_synchronization": use_local_synchronization or None}).items():
        if value is not None:
            no_effect("new_group", name, "MPI carries what processes tell each other")
    processes.start()
    if ranks is None:
        return WORLD
    members = tuple(sorted(exact_int("new_group", "a rank", each) for each in ranks))
    made = f"ranks_{'_'.join(map(str, members))}"
    if made not in _made:
        processes.create_group(made, members)
        _made[made] = members
    return made


def destroy_process_group(group: str | None = None) -> None:
    """Forget a group; without one, or that of all, those that `new_group` has made."""
    global _begun
    everything = group is None or name_of("destroy_process_group", group) == WORLD
    for name in sorted(_made) if everything else [name_of("destroy_process_group", group)]:
        if processes.is_group(name) or name not in _made:
            processes.destroy_group(name)
        _made.pop(name, None)
    if everything:
        _begun = False


def get_backend(group: str | None = None) -> str:
    """What carries the tensors of a group: "mpi"."""
    _ranks(name_of("get_backend", group))
    return "mpi"


def get_global_rank(group: str | None, group_rank: int) -> int:
    """The number among all processes of a group's process."""
    owner = "get_global_rank"
    ranks = _ranks(name_of(owner, group))
    if exact_int(owner, "group_rank", group_rank) not in range(len(ranks)):
        raise ArgumentValueError(f"{owner}: there is no rank {group_rank} in a group of {len(ranks)}", loc=user_loc())
    return ranks[group_rank]


def get_group_rank(group: str | None, global_rank: int) -> int:
    """The number in a group of a process."""
    owner = "get_group_rank"
    ranks = _ranks(name_of(owner, group))
    if exact_int(owner, "global_rank", global_rank) not in ranks:
        known = ", ".join(map(str, ranks))
        raise ArgumentValueError(f"{owner}: there is no rank {global_rank}, only {known}", loc=user_loc())
    return ranks.index(global_rank)


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The numbers among all processes of those of a group."""
    return list(_ranks(name_of("get_process_group_ranks", group)))


def _ranks(name: str) -> tuple[int, ...]:
    """Who is in a group, this process or not. ArgumentValueError for an unknown one."""
    processes.start()
    return _made[name] if name in _made and processes.started() is not None else processes.group(name).ranks
