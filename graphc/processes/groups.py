"""Groups of processes by name, as MindSpore has them. Each has a communicator of its own; the group of all is number 0."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.errors.suggestions import nearest, question
from graphc.processes.group_calls import Talk
from graphc.processes.shared_memory import close_windows, windows_of
from graphc.processes.transfers import is_expected
from graphc.processes.world import is_member, started, waiting
from graphc.validation.checks import string
from graphc_codegen.links import GROUPS, add_group, add_windows, remove_group

WORLD = "hccl_world_group"

#: The groups of a training whose layers are cut: the processes that hold parts of the same layers, and those that hold the same
#: parts, of which each has other data.
MODEL, DATA = "graphc_model_group", "graphc_data_group"

#: What MindSpore calls the group of all processes on its kinds of devices.
WORLDS = (WORLD, "nccl_world_group", "mccl_world_group")


@dataclass(frozen=True)
class Group:
    """Some processes, or all. `ranks` are their numbers among all in the group's order, `rank` is this one's place there.

    number        its place in the table of compiled steps (`graphc_codegen.links`)
    communicator  mpi4py's; None for a process that is alone
    windows       where its processes' memory is that all of them read, see `graphc.processes.shared_memory`; none
    talk          the calls of its processes
    """

    name: str
    number: int
    ranks: tuple[int, ...]
    rank: int
    communicator: Any = None
    windows: tuple[int, ...] = ()
    talk: Talk | None = None

    @property
    def size(self) -> int:
        return len(self.ranks)


_groups: dict[str, Group] = {}
#: The next number, and those of groups that are no more and that no compiled step knows.
_next, _free = 1, list[int]()
#: The numbers that compiled steps know: they are never given again.
_known: set[int] = set()
#: Groups that have been destroyed, of which something may still be under way.
_ended: list[Group] = []


def group(name: str = WORLD) -> Group:
    """The group of that name. Alone, a process is the only one of every group. ArgumentValueError for an unknown one."""
    world = started()
    if world is None:
        return Group(name, 0, (0,), 0)
    if name in WORLDS:
        if WORLD not in _groups:
            _add(WORLD, 0, tuple(range(world.size)), world.rank, (world.steps, world.talk), world.windows)
        return _groups[WORLD]
    if name not in _groups:
        near = question(nearest(name, [*_groups, WORLD], 3))
        raise ArgumentValueError(
            f"this process is in no group {name!r}", loc=user_loc(), help=near or "create_group(name, rank_ids) first"
        )
    return _groups[name]


def is_group(name: str) -> bool:
    """Whether this process is in a group of that name."""
    return started() is None or name in WORLDS or name in _groups


def rank(name: str = WORLD) -> int:
    """This process's number in a group."""
    return group(name).rank


def size(name: str = WORLD) -> int:
    """How many processes a group has."""
    return group(name).size


def local(name: str = WORLD) -> tuple[int, int]:
    """This process's number among those of a group on its machine, and how many these are."""
    world, found = started(), group(name)
    if world is None:
        return 0, 1
    near = [each for each in found.ranks if world.hosts[each] == world.hosts[world.rank]]
    return near.index(world.rank), len(near)


def create_group(name: str, ranks: Iterable[int]) -> None:
    """Make a group of these processes: each of them calls this, with the same ranks in the same order.

    Others need not, and get no group. Raises ArgumentTypeError or ArgumentValueError for anything but distinct ranks, and
    for a name that is there already.
    """
    string("create_group", "group", name)
    wanted = list(ranks)
    world = started()
    count = world.size if world is not None else 1
    if not wanted or len(set(wanted)) < len(wanted) or not all(type(r) is int and 0 <= r < count for r in wanted):
        if count == 1:
            problem = f"rank_ids must be [0], got {wanted}: there is one process"
        else:
            problem = f"rank_ids must be distinct numbers from 0 to {count - 1}, got {wanted}"
        raise ArgumentValueError(f"create_group: {problem}", loc=user_loc())
    if world is None:
        return
    if name in _groups or name in WORLDS:
        raise ArgumentValueError(f"create_group: there is a group {name!r} already", loc=user_loc())
    if world.rank not in wanted:
        return
    everyone = world.everybody.Get_group()
    number = _numbered()
    # Groups that are made at the same time are told apart by their names.
    with waiting():
        made = world.everybody.Create_group(everyone.Incl(wanted), zlib.crc32(name.encode()) & 0x7FFF)
        talk, windows = made.Dup(), windows_of(made)
    _add(name, number, tuple(wanted), wanted.index(world.rank), (made, talk), windows)


def _numbered() -> int:
    """A number that no group has. ArgumentValueError where there is none."""
    global _next
    if _free:
        return _free.pop()
    if _next == GROUPS:
        raise ArgumentValueError(
            f"create_group: {GROUPS - 1} groups are there, or are known to compiled steps: there can be no more",
            loc=user_loc(),
            help="destroy those that are not needed before they are used in steps, and make others once",
        )
    _next += 1
    return _next - 1


def divide(parts: int, in_a_row: bool = True) -> None:
    """From now on so many processes hold parts of one network: make the groups MODEL and DATA.

    They follow each other where they hold parts of the same layers (`in_a_row`); where they are stages of a pipeline those that
    are the same stage do, as in MindSpore.
    """
    world = started()
    if world is None:
        return
    count = world.size // parts
    row = world.rank - world.rank % parts, world.rank - world.rank % count
    near, far = range(row[0], row[0] + parts), range(world.rank % parts, world.size, parts)
    if not in_a_row:
        near, far = range(world.rank % count, world.size, count), range(row[1], row[1] + count)
    if MODEL in _groups and (_groups[MODEL].ranks, _groups[DATA].ranks) == (tuple(near), tuple(far)):
        return
    for name in (MODEL, DATA):
        _groups.pop(name, None)
    create_group(MODEL, near)
    create_group(DATA, far)


def _add(
    name: str, number: int, ranks: tuple[int, ...], place: int, communicators: tuple[Any, Any], windows: tuple[int, ...]
) -> None:
    world = started()
    assert world is not None
    communicator, talk = communicators
    # Compiled steps do not look at what MPI's functions return.
    communicator.Set_errhandler(world.mpi.ERRORS_ARE_FATAL)
    add_group(number, int(world.mpi._handleof(communicator)))
    if windows:
        add_windows(number, place, windows)
    _groups[name] = Group(name, number, ranks, place, communicator, windows, Talk(talk, ranks))


def destroy_group(name: str) -> None:
    """Forget a group: what it has of MPI and of memory is given back, unless a compiled step knows it or something is under way.

    ArgumentValueError for the group of all, and for an unknown one.
    """
    if name in WORLDS and started() is not None:
        raise ArgumentValueError("destroy_group: the group of all processes stays", loc=user_loc())
    if started() is not None:
        ended = group(name)
        del _groups[name]
        _ended.append(ended)
        _ended[:] = [each for each in _ended if not _given_back(each)]


def known_to_steps(found: Group) -> int:
    """The number of a group, which stays that group's."""
    _known.add(found.number)
    return found.number


def _given_back(ended: Group) -> bool:
    """Whether nothing of a group is left."""
    talk = ended.talk
    if not is_member() or ended.number in _known or talk is None or is_expected(talk.communicator) or not talk.end():
        return False
    talk.communicator.Free()
    ended.communicator.Free()
    close_windows(ended.windows)
    remove_group(ended.number)
    _free.append(ended.number)
    return True


def by_number(number: int) -> Group:
    """The group that has this number. KeyError where there is none any more."""
    if number == 0:
        return group(WORLD)
    return next(g for g in _groups.values() if g.number == number)
