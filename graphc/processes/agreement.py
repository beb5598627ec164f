"""What processes compare before they go on together, so that a difference is an error and not a wait without end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import DisagreementError, Loc, user_loc
from graphc.processes.groups import WORLD, group
from graphc.processes.world import started, waiting

Array = np.ndarray[Any, np.dtype[Any]]


def gather(what: str, value: Any) -> list[Any]:
    """Every process's value, by rank; `what` it is. All processes call it.

    DisagreementError GC191, in all of them, if they do not all mean the same.
    """
    world = started()
    if world is None:
        return [value]
    with waiting():
        found = world.everybody.allgather((what, value))
    other = next((rank for rank, (means, _) in enumerate(found) if means != found[0][0]), None)
    if other is not None:
        raise DisagreementError(
            f"rank 0 waits for everybody's {found[0][0]}, rank {other} for {found[other][0]}",
            loc=user_loc(),
            help="every process must make the same calls: what one of them saves, for instance, all must save",
        )
    return [each for _, each in found]


def anybody(what: str, flag: bool) -> bool:
    """Whether a flag is set in any process. All processes call it, see `gather`."""
    return any(gather(what, flag))


def agree(what: str, lines: Sequence[str], digest: str, loc: Loc | None = None) -> None:
    """Raise DisagreementError GC191, in all processes, unless all have given the same digest.

    One small message each; only where they differ are the `lines` compared, that `what` is made of: the error has the first
    line in which a process differs from the first one.
    """
    if started() is None:
        return
    digests = gather(what, digest)
    if len(set(digests)) == 1:
        return
    texts = gather(f"lines of the {what}", list(lines))
    other = next(rank for rank, made in enumerate(digests) if made != digests[0])
    here = next((k for k, (a, b) in enumerate(zip(texts[0], texts[other], strict=False)) if a != b), None)
    if here is None:
        here = min(len(texts[0]), len(texts[other]))
    shown = [f"rank {r}: {texts[r][here] if here < len(texts[r]) else '(nothing more)'}" for r in (0, other)]
    raise DisagreementError(
        f"rank {other} has another {what} than rank 0",
        loc=loc,
        details=shown,
        help="every process must make the same calls with the same shapes; only the data of a batch may differ",
    )


def share_from_first(arrays: Sequence[Array], name: str = WORLD) -> None:
    """Write what the first process of a group has in these contiguous arrays into those of all its others, all of which call it
    with the same sizes.
    """
    world = started()
    if world is None:
        return
    communicator = world.everybody if name == WORLD else group(name).communicator
    with waiting():
        for array in filter(np.size, arrays):
            # A view: of a scalar, too.
            communicator.Bcast(np.frombuffer(array.data.cast("B"), np.uint8), 0)
