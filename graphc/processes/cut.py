"""How one tensor is cut over all processes, of which each holds its own part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.processes.agreement import gather

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


def part_length(size: int, count: int) -> int:
    """How many elements each of `count` parts has: the same number, of which the last ones may need fewer."""
    return -(-size // count)
