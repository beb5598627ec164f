"""How one tensor is cut over processes, of which each holds its own part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.processes.agreement import gather
from graphc.processes.groups import DATA, MODEL, group

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Cut:
    """A tensor of `shape`, flat, in `count` parts of one length, in the order of ranks. Behind its end there are zeros."""

    shape: tuple[int, ...]
    count: int
    rank: int

    @property
    def length(self) -> int:
        """How many elements a part has."""
        return part_length(math.prod(self.shape), self.count)

    def part(self, whole: Array) -> Array:
        """This process's part of the whole tensor."""
        part = np.zeros(self.length, whole.dtype)
        own = whole.reshape(-1)[self.rank * self.length : (self.rank + 1) * self.length]
        part[: own.size] = own
        return part

    def join(self, part: Array) -> Array:
        """The whole tensor, of everybody's parts. All processes call it."""
        parts = gather("part of a tensor", part.view(np.uint8))
        flat: Array = np.concatenate(parts).view(part.dtype)[: math.prod(self.shape)]
        return flat.reshape(self.shape)


@dataclass(frozen=True)
class AxisCut:
    """A tensor of `shape`, cut along one axis over the processes of the group MODEL, in the order of their ranks."""

    shape: tuple[int, ...]
    axis: int

    def part(self, whole: Array) -> Array:
        """This process's part of the whole tensor."""
        mine = group(MODEL)
        return np.array(np.split(whole, mine.size, self.axis)[mine.rank])

    def join(self, part: Array) -> Array:
        """The whole tensor, of the parts of the group. All processes, of all groups, call it."""
        parts = gather("part of a layer", part)
        return np.concatenate([parts[rank] for rank in group(MODEL).ranks], self.axis)


@dataclass(frozen=True)
class StageCut:
    """A tensor of `shape` that one stage of a pipeline updates. Others have what it was when the training began."""

    shape: tuple[int, ...]
    stage: int

    @property
    def is_here(self) -> bool:
        """Whether this process is of that stage."""
        return group(MODEL).rank == self.stage

    def part(self, whole: Array) -> Array:
        """The whole tensor: every process may be given it."""
        return whole

    def join(self, part: Array) -> Array:
        """The tensor as its stage has it. All processes call it."""
        tells = self.is_here and group(DATA).rank == 0
        found = gather("parameter of a stage", part if tells else None)
        whole: Array = next(each for each in found if each is not None)
        return whole


def part_length(size: int, count: int) -> int:
    """How many elements each of `count` parts has: the same number, of which the last ones may need fewer."""
    return -(-size // count)
