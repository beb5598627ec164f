"""`mindspore.communication._comm_helper`: what carries what processes tell each other, which is MPI."""

from __future__ import annotations

from graphc import parallel, processes
from graphc.ops.declared.collective import WORLD


def _is_available() -> bool:
    """Whether processes can tell each other something: True."""
    return True


def _is_initialized() -> bool:
    """Whether this process has joined the others."""
    return processes.started() is not None


def _is_mpi_available() -> bool:
    """Whether MPI has started this process."""
    return processes.is_launched()


def _is_hccl_available() -> bool:
    """False: there are no Ascend chips."""
    return False


def _is_nccl_available() -> bool:
    """False: there are no GPUs."""
    return False


def _get_backend() -> str:
    """ "mpi"."""
    return "mpi"


def _get_rank_helper(group: str = WORLD) -> int:
    """This process's number in a group."""
    return parallel.get_rank(group)


def _get_size_helper(group: str = WORLD) -> int:
    """How many processes a group has."""
    return parallel.get_group_size(group)


def _get_group_ranks(group: str = WORLD) -> list[int]:
    """The numbers among all processes of those of a group."""
    return list(processes.group(group).ranks)


__all__: list[str] = []  # What it has is private.
