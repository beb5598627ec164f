"""The turns of k of a tile: which of them count where a matrix is a triangle, and how many are written one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphc_codegen.kernels.base import Params
from graphc_codegen.kernels.gemm.pack import TOGETHER
from graphc_codegen.kernels.gemm.plan import Way
from graphc_codegen.kernels.microkernel import Segment
from graphc_codegen.writer import Writer

#: The first one and the end of a loop.
Bounds = tuple[str | int, str | int]
#: Batch index, row and column of a tile.
Place = tuple[str | int, str | int, str | int]


class Triangle(NamedTuple):
    """Which part of a product does not count: tiles above the diagonal of C if `result`; else turns of k, from behind the
    rows of A that a tile reads, or before them if `behind`. A's rows lie along the vectors if `swapped`.
    """

    result: bool
    behind: bool
    swapped: bool


def triangle_of(p: Params, way: Way) -> Triangle | None:
    """That of a product with the parameter `triangle`."""
    kind = p.get("triangle")
    return None if kind is None else Triangle(kind == "c", bool(p["ta"]), way.swaps)


def unless_above(w: Writer, triangle: Triangle | None, at: Place, size: int, body: Callable[[], None]) -> None:
    """Run `body` unless a tile of `size` rows of C lies above the diagonal and that does not count."""
    if triangle is None or not triangle.result or triangle.swapped:
        body()
        return
    _, i, j = at
    if isinstance(i, int) and isinstance(j, int):
        if j < i + size:
            body()
    else:
        w.when(w.op(f"icmp slt i64 {j}, {w.add(i, size)}"), body)


class Turns(NamedTuple):
    """The turns of a product: `a` and `b` elements lie from one to the next in the factors, and there are `number` of them, of
    two terms each if these are `pairs`. All count for every tile unless there is a `triangle`. Sums that are kept short (`short`)
    are so turn by turn.
    """

    a: int
    b: int
    number: int
    pairs: bool
    triangle: Triangle | None
    short: bool

    @property
    def together(self) -> int:
        """How many are written one after the other, so that what comes beside them does not come in every one."""
        whole = self.number >= TOGETHER if self.triangle is None else self.number % TOGETHER == 0
        return TOGETHER if whole and not self.short else 1

    def counting(self, w: Writer, at: Place, size: int, columns: int) -> Bounds:
        """Which ones count for a tile of so many rows and columns, in numbers of those `together`; some of these multiply by
        zeros that the triangle holds."""
        end = self.number // self.together
        if self.triangle is None:
            return 0, end
        _, i, j = at
        start, count = (j, columns) if self.triangle.swapped else (i, size)
        each = (2 if self.pairs else 1) * self.together
        if self.triangle.behind:
            return w.divided(start, each)[0], end
        return 0, w.divided(w.add(start, count + each - 1), each)[0]

    def least(self, size: int) -> int:
        """In how many to fetch what a tile of so many rows wants: as there are, or where that varies a few, as most tiles have
        more."""
        if self.triangle is None:
            return self.number // self.together
        return max(size // (2 if self.pairs or self.together > 1 else 1), 1)

    def segments(
        self, w: Writer, loop: Bounds, fetch: Callable[[str | int], None] | None = None
    ) -> tuple[Segment, ...]:
        """The loop, which fetches beside its turns, told how many were before, what comes later; and the turns that are left."""
        (first, end), some = loop, self.together

        def taps(begin: int, stop: int) -> tuple[tuple[int, int], ...]:
            return tuple((n * self.a, n * self.b) for n in range(begin, stop))

        told = None if fetch is None else lambda number: fetch(w.subtracted(number, first))
        segment = Segment(end, some * self.a, some * self.b, taps(0, some), first=first, beside=told)
        rest = taps(self.number // some * some, self.number)
        return (segment, Segment(1, 0, 0, rest)) if rest else (segment,)
