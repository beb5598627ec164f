"""The buffers of a program while it is built, and how long each lives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from graphc.errors import LoweringError
from graphc.ir import TensorType
from graphc.lower.lifetimes import Lives
from graphc.lower.memory import Lifetime, lower_bound, plan
from graphc_codegen.program import ITEMSIZE, Buffer, Space


@dataclass(slots=True)
class Buffers:
    """Numbers buffers, and places those of the arena."""

    made: list[tuple[TensorType, Space, int]] = field(default_factory=list)

    def new(self, type: TensorType, space: Space = "arena", index: int = 0) -> int:
        """A new buffer; `index` is its place among the arrays of a space other than the arena."""
        if type.dtype not in ITEMSIZE:
            raise LoweringError(f"there are no kernels for {type.dtype}: the value is {type}", code="GC181")
        self.made.append((type, space, index))
        return len(self.made) - 1

    def type(self, buffer: int) -> TensorType:
        return self.made[buffer][0]

    def space(self, buffer: int) -> Space:
        return self.made[buffer][1]

    def constants(self) -> list[tuple[int, int]]:
        """The buffers that hold constants, each with the number of its array."""
        return [(b, index) for b, (_, space, index) in enumerate(self.made) if space == "const"]

    def place(self, found: Lives, gap: int, reuse: bool) -> tuple[tuple[Buffer, ...], int, int]:
        """The placed buffers, the arena's size and the lower bound of any plan."""
        lifetimes = {
            b: Lifetime(found.first[b], found.last[b], math.prod(type.shape) * ITEMSIZE[type.dtype])
            for b, (type, space, _) in enumerate(self.made)
            if space == "arena" and b in found.first
        }
        offsets, size = plan(lifetimes, gap=gap, reuse=reuse)
        placed = tuple(
            Buffer(b, type.dtype, type.shape, space, offsets[b] if space == "arena" else index)
            for b, (type, space, index) in enumerate(self.made)
            if space != "arena" or b in offsets
        )
        return placed, size, lower_bound(lifetimes)
