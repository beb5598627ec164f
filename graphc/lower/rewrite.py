"""What a rewrite of statements is: statements in, statements out, with what else it may know of the program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphc.errors import LoweringError
from graphc.ir.types import Array
from graphc.lower.buffers import Buffers
from graphc.lower.cost import Apart
from graphc_codegen.program import Buffer, Kernel, Stmt

T = TypeVar("T")
Statements = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where buffers lie: the arena's size in bytes, and what no plan could have done with less."""

    buffers: tuple[Buffer, ...]
    arena: int
    lower_bound: int


@dataclass(slots=True)
class Context:
    """What rewrites know of a program beside its statements, and what they decide beside these.

    buffers         all buffers; a rewrite may make new ones
    results         the buffers that are read after the end
    constants       the arrays of buffers that hold constants
    most_threads    how many threads the program may have
    apart           measures how far processors are apart; without it they are near, and cores of their own
    cache           bytes of a processor's second cache, 0 where that is not known
    canary          bytes that stay free after each buffer; with any, no two buffers share memory
    layout          where the buffers lie; set by `place_buffers`
    threads         how many threads the program has; set by `share_calls`
    """

    buffers: Buffers
    results: tuple[int, ...] = ()
    constants: Mapping[int, Array] = field(default_factory=dict)
    most_threads: int = 1
    apart: Callable[[], Apart] | None = None
    cache: int = 0
    canary: int = 0
    layout: Layout | None = None
    threads: int = 1
    _once: dict[tuple[Hashable, ...], tuple[tuple[Kernel, ...], Any]] = field(default_factory=dict)

    def once(self, make: Callable[..., T], *kernels: Kernel, how: tuple[Hashable, ...] = ()) -> T:
        """make(*kernels, *how), which depends on nothing else: once for the calls of equal layers, which share their kernels.

        Kernels are told apart by identity: 0.0 and -0.0 are equal. They are kept, so that their ids stay theirs.
        """
        key = make, *map(id, kernels), how
        if key not in self._once:
            self._once[key] = kernels, make(*kernels, *how)
        made: T = self._once[key][1]
        return made

    def placed(self) -> Layout:
        """Where the buffers lie. Raises LoweringError as long as no rewrite has placed them."""
        if self.layout is None:
            raise LoweringError("no rewrite has given the buffers their places")
        return self.layout


#: A plain function with a name of its own: that is the name of the stage in timings, dumps and errors.
Rewrite = Callable[[Statements, Context], Statements]
