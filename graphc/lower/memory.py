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
    # What is placed, from the lowest offset up.
    first, last, start, end = placed = np.zeros((4, len(order)), np.int64)
    offsets: dict[int, int] = {}
    size = 0
    for n, id in enumerate(order):
        life = lifetimes[id]
        room = _round(life.nbytes) + gap
        clash = (first[:n] <= life.last) & (last[:n] >= life.first) if reuse else np.ones(n, bool)
        # Up to where bytes are taken before each of them, and by all.
        ends = end[:n][clash]
        taken = np.zeros(len(ends) + 1, np.int64)
        np.maximum.accumulate(ends, out=taken[1:])
        (wide,) = (start[:n][clash] - taken[:-1] >= room).nonzero()
        at = int(taken[wide[0] if len(wide) else -1])
        place = int(start[:n].searchsorted(at))
        placed[:, place + 1 : n + 1] = placed[:, place:n]
        placed[:, place] = life.first, life.last, at, at + room
        offsets[id] = at
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
