"""What the compiled steps of called Cells hold in this process, and which of them go when that is too much.

A Cell keeps the steps that were called last, as many as the switch `signatures` says; a BucketedStep one for each bucket. Beyond
that all of them together may hold `steps_mb`; then those steps go that were not called for longest, but never the latest of an
owner. A step that goes gives back its
machine code, its arena and its graphs; called again, it is compiled again, or comes from the object cache.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary, WeakSet

from graphc.debug import switches
from graphc_codegen.forks import lock

if TYPE_CHECKING:
    from graphc.steps.compiled_step import CompiledStep


class Owner(Protocol):
    """What keeps steps."""

    def earlier(self) -> Sequence[CompiledStep]:
        """The steps but for the one called last."""
        ...

    def held(self) -> int:
        """Bytes that the steps hold."""
        ...

    def drop(self, step: CompiledStep) -> None:
        """Keep a step no longer."""
        ...


_all: WeakSet[Owner] = WeakSet()
_last: WeakKeyDictionary[CompiledStep, int] = WeakKeyDictionary()
_turn = count()
#: Threads make cells while others add up what is held.
_registering = lock()


def register(owner: Owner) -> None:
    """Count the steps of one more owner."""
    with _registering:
        _all.add(owner)


def called(step: CompiledStep) -> None:
    """Note that a step is the one called last."""
    _last[step] = next(_turn)


def limit() -> int:
    """Bytes that steps may hold together."""
    return switches().steps_mb * 2**20 or _memory() // 4


def held() -> int:
    """Bytes that the steps of all owners hold."""
    return sum(owner.held() for owner in _owners())


def _owners() -> list[Owner]:
    with _registering:
        return list(_all)


def shrink() -> None:
    """Let steps go until the rest fits."""
    over = held() - limit()
    if over <= 0:
        return
    steps = [(_last.get(step, 0), step, owner) for owner in _owners() for step in owner.earlier()]
    for _, step, owner in sorted(steps, key=lambda each: each[0]):
        owner.drop(step)
        over -= step.held
        if over <= 0:
            return


def _memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
