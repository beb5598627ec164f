"""The static memory plan: an offset in the arena for every buffer, reusing the bytes of buffers that are dead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from graphc_codegen.program import ALIGNMENT


class Lifetime(NamedTuple):
    """Positions (in execution order) of the first write and the last use, and the size in bytes."""

    first: int
    last: int
    nbytes: int


def _round(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT


def plan(lifetimes: Mapping[int, Lifetime], *, gap: int = 0, reuse: bool = True) -> tuple[dict[int, int], int]:
    """Offsets by buffer id and the arena's size, both multiples of 64 bytes.

    Largest first, each at the lowest offset free during its whole life (Pisarchyk and Lee, 2020, "greedy by size").
    With `gap`, that many bytes stay free after every buffer; without `reuse` no two buffers share bytes.
    """
    order = sorted(lifetimes, key=lambda id: (-lifetimes[id].nbytes, lifetimes[id].first, id))
    count = len(order)
    first, last, start, end = (np.zeros(count, np.int64) for _ in range(4))
    offsets: dict[int, int] = {}
    size = 0
    for n, id in enumerate(order):
        life = lifetimes[id]
        room = _round(life.nbytes) + gap
        if reuse:
            clash = np.flatnonzero((first[:n] <= life.last) & (last[:n] >= life.first))
            clash = clash[np.argsort(start[clash], kind="stable")]
        else:
            clash = np.arange(n)
        at = 0
        for other in clash:
            if start[other] - at >= room:
                break
            at = max(at, int(end[other]))
        offsets[id] = at
        first[n], last[n], start[n], end[n] = life.first, life.last, at, at + room
        size = max(size, at + room)
    return offsets, size


def lower_bound(lifetimes: Mapping[int, Lifetime]) -> int:
    """The bytes alive at the fullest moment: no plan can need less."""
    change: dict[int, int] = {}
    for life in lifetimes.values():
        change[life.first] = change.get(life.first, 0) + _round(life.nbytes)
        change[life.last + 1] = change.get(life.last + 1, 0) - _round(life.nbytes)
    peak = now = 0
    for position in sorted(change):
        now += change[position]
        peak = max(peak, now)
    return peak
