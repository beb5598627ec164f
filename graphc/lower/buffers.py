"""The buffers of a program while it is built."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphc.errors import LoweringError
from graphc.ir import Graph, TensorType, Value
from graphc.ir.types import Array
from graphc_codegen.program import ITEMSIZE, LoopKernel, Space


class Held(NamedTuple):
    """Which buffers hold the values of a graph; `views` are the nodes whose result is operand 0's memory with other strides."""

    graph: Graph
    buffers: dict[Value, int]
    views: Set[int]


@dataclass(slots=True)
class Buffers:
    """Numbers buffers, and knows the type and the space of each, and what values fusion has put there.

    `loops` has the loop kernels by all that they are made of, with the numbers of the buffers that they read among the different
    ones of their groups: equal layers share theirs. `bfloat16` says how the processor multiplies bfloat16: by
    "pairs", by AMX' "tiles", or not (""); if "all by tiles", others by these, too.
    """

    made: list[tuple[TensorType, Space, int]] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    loops: dict[tuple[Any, ...], tuple[LoopKernel, tuple[int, ...]]] = field(default_factory=dict)
    bfloat16: Callable[[], str] = str

    def new(self, type: TensorType, space: Space = "arena", index: int = 0) -> int:
        """A new buffer; `index` is its place among the arrays of a space other than the arena.

        Complex numbers are pairs of floats along a last axis.
        """
        if type.is_complex:
            type = TensorType(type.part, (*type.shape, 2))
        if type.dtype not in ITEMSIZE:
            raise LoweringError(f"there are no kernels for {type.dtype}: the value is {type}", code="GC181")
        self.made.append((type, space, index))
        return len(self.made) - 1

    def type(self, buffer: int) -> TensorType:
        return self.made[buffer][0]

    def space(self, buffer: int) -> Space:
        return self.made[buffer][1]

    def windows(self) -> set[int]:
        """The buffers that lie elsewhere in each turn of a loop; the index of each is the buffer that it moves in."""
        return {b for b, (_, space, _) in enumerate(self.made) if space == "window"}

    def whole(self, buffer: int) -> int:
        """The buffer in which a window lies; any other is its own."""
        while self.made[buffer][1] == "window":
            buffer = self.made[buffer][2]
        return buffer

    def constants(self) -> list[tuple[int, int]]:
        """The buffers that hold constants, each with the number of its array."""
        return [(b, index) for b, (_, space, index) in enumerate(self.made) if space == "const"]


@dataclass(slots=True)
class Constants:
    """Arrays that the program reads but nobody writes; `tables` has the buffers of those that kernels need, by their identity."""

    arrays: list[Array] = field(default_factory=list)
    tables: dict[int, int] = field(default_factory=dict)

    def new(self, array: Array, type: TensorType, buffers: Buffers) -> int:
        """The buffer that holds an array."""
        self.arrays.append(array)
        return buffers.new(type, "const", len(self.arrays) - 1)

    def table(self, array: Array, buffers: Buffers) -> int:
        """The same, once for each array, which must not change."""
        if id(array) not in self.tables:
            self.tables[id(array)] = self.new(array, TensorType.of(array), buffers)
        return self.tables[id(array)]
