"""Steps in which sizes depend on values, as of `x[mask]`: places are counted while the step runs, and results are cut.

The graph has room for all there can be, and is masked by the counts as that of a bucket is by lengths
(`graphc/passes/padding.py`). Python sees the room as the size; traces with none, one, some and all of each show whether it does
anything else for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from graphc.errors import ArgumentValueError, ExportError, GraphcError, PaddingError, TraceError, user_loc
from graphc.ir import Graph
from graphc.nn.cell.cell import Cell
from graphc.ops.declared.padding import Axes
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure, fixed_values
from graphc.passes.padded_arrays import real_part
from graphc.passes.padded_view import HELP
from graphc.passes.padding import Masked, Sizes, masked
from graphc.trace import RoomOf, Traced, trace


class Rooms:
    """The sizes that two traces give to what is counted.

    Larger than there can be, so that nothing else has them, such as the mask; and no two of them are alike, nor do they differ
    alike between the traces, nor by a multiple of another difference: these are odd primes.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._rooms: list[int] = []

    def room(self, number: int, size: int) -> int:
        """Of the first trace; `sizes` notes how many there may be."""
        made = size + 1 + _prime(number)
        while made in self._rooms:
            made += 1
        self.sizes.append(size)
        self._rooms.append(made)
        return made

    def probe(self, number: int, size: int) -> int:
        """Of the second trace, in which `size` may be another one."""
        return self._rooms[number] - (self.sizes[number] - size) - _prime(number)


def _prime(number: int) -> int:
    """Odd primes: 3 is number 0."""
    found = 1
    for _ in range(number + 1):
        found += 2
        while any(found % d == 0 for d in range(3, math.isqrt(found) + 1, 2)):
            found += 2
    return found


@dataclass(frozen=True)
class Wrong:
    """What the cell raises for some lengths: those that it is about, by symbol."""

    lengths: Mapping[int, int]
    error: Exception

    def is_of(self, lengths: Sequence[int]) -> bool:
        """Whether it is raised for these lengths of all symbols."""
        return all(lengths[symbol] == count for symbol, count in self.lengths.items())


@dataclass
class Counted:
    """How a step with counts cuts its results. `wrong`: what it raises where there are few."""

    masked: Masked
    wrong: list[Wrong] = field(default_factory=list)

    @classmethod
    def tried(
        cls,
        masked: Masked,
        again: Callable[[RoomOf], Traced],
        first: Traced,
        sizes: Sequence[int],
        given: Sequence[int] = (),
    ) -> Counted:
        """With what the cell raises for few.

        again: its trace, with lengths `given`; first: the one that `masked` is made of; sizes: how many there may be of each.
        Raises PaddingError where Python does something else for other counts.
        """
        made, count = cls(masked), len(given)
        for symbol, (least, error) in list(masked.least.items()):
            raised = _raised(again, [least - 1 if s == symbol - count else size for s, size in enumerate(sizes)])
            if raised is None:
                raise error  # The cell does not mind.
            masked.least[symbol] = least, raised
        for counts in _tries(sizes):
            made._try(again, first, given, counts)
        return made

    @property
    def results(self) -> int:
        """How many results are the cell's own; the counts follow."""
        return len(self.masked.results)

    def check(self, counts: Sequence[Any], given: Sequence[int] = ()) -> list[int]:
        """All lengths: those that the call brought, and the counts, which come last among the outputs of a step.

        Raises what the cell raises for these counts.
        """
        lengths = [*given, *(int(x.item()) for x in counts)]
        for wrong in self.wrong:
            if wrong.is_of(lengths):
                raise wrong.error.with_traceback(None)
        for symbol, (least, error) in self.masked.least.items():
            if lengths[symbol] < least:
                raise error.with_traceback(None)
        return lengths

    def cut(self, outputs: Sequence[Any], given: Sequence[int] = ()) -> list[Any]:
        """The cell's results as large as they are."""
        return cut(outputs[: self.results], self.masked.results, self.check(outputs[self.results :], given))

    def refuse_kept(self, kept: Sequence[int], given: int = 0) -> None:
        """ArgumentValueError where results are to be kept of every step whose sizes differ from step to step."""
        for k in kept:
            if any(f.symbol >= given for axis in self.masked.results[k] for f in axis):
                raise ArgumentValueError(
                    f"result {k} has another size in every step, so the results of several are no array",
                    loc=user_loc(),
                    help="call the step for each batch",
                )

    def refuse_export(self) -> None:
        """ExportError where results would have to be cut outside of graphc."""
        for k, axes in enumerate(self.masked.results):
            if any(f.symbol >= 0 for axis in axes for f in axis):
                raise ExportError(
                    f"result {k} has another size in every step, which files cannot say",
                    loc=user_loc(),
                    help="return what has a fixed size: a sum, or ops.where(mask, x, 0)",
                )

    def _try(
        self, again: Callable[[RoomOf], Traced], first: Traced, given: Sequence[int], counts: Sequence[int]
    ) -> None:
        """Note what the cell raises for these counts; PaddingError where it does something else, or raises for many."""
        lengths = (*given, *counts)
        if any(lengths[s] < least for s, (least, _) in self.masked.least.items() if s < len(lengths)):
            return
        try:
            traced = again(_fixed(counts))
        except TraceError:
            raise  # What cannot be compiled for these counts is nothing that the cell raises.
        except Exception as error:
            if any(wrong.is_of(lengths) for wrong in self.wrong):
                return
            known = {s: n for s, n in enumerate(lengths) if s >= len(given) and n < 2}
            if not known:
                if isinstance(error, GraphcError):
                    raise
                raise PaddingError(
                    f"construct cannot be traced for {counts} elements: {error}", loc=user_loc()
                ) from error
            self.wrong.append(Wrong(known, error))
            return
        same_values(first, traced)
        self.masked.check(traced.graph, lengths)


def cut(outputs: Sequence[Any], results: Sequence[Axes], lengths: Sequence[int]) -> list[Any]:
    """Of outputs with padding what is real."""
    return [
        Tensor.wrap(real_part(require_array(x), axes, lengths)) if any(axes) else x
        for x, axes in zip(outputs, results, strict=True)
    ]


def _raised(again: Callable[[RoomOf], Traced], counts: Sequence[int]) -> Exception | None:
    try:
        again(_fixed(counts))
    except Exception as error:
        return error
    return None


def _fixed(counts: Sequence[int]) -> RoomOf:
    return lambda number, size: counts[number]


def trace_counted(cell: Cell, leaves: list[Tensor], structure: Structure) -> tuple[Traced, Counted | None]:
    """The trace of a cell; where it counts, with a graph that is right for all counts, and what the step needs to know."""
    traced = trace(cell, leaves, structure, Rooms().room)
    if not traced.counted:
        return traced, None
    rooms = Rooms()

    def again(room: RoomOf) -> Traced:
        return trace(cell, leaves, structure, room, apart=True)

    traced = again(rooms.room)
    with saying_where(traced.graph):
        probe = again(rooms.probe)
        same_values(traced, probe)
        made = Counted.tried(masked(traced.graph, probe.graph, {}, Sizes()), again, traced, rooms.sizes)
    return replace(traced, graph=made.masked.graph), made


def same_values(one: Traced, other: Traced) -> None:
    """PaddingError where the traces return other Python values: of one that depends on counts none is right."""
    for a, b in zip(*(list(fixed_values(t.structure)) for t in (one, other)), strict=False):
        if isinstance(a, (bool, int, float, str, tuple, list)) and a != b:
            raise PaddingError(
                f"construct returns the Python value {a!r}, or {b!r} for other counts, which only the run tells",
                loc=user_loc(),
                help="return the count as a tensor: mask.sum(), or ops.dyn_shape(x[mask])",
            )


@contextmanager
def saying_where(graph: Graph) -> Iterator[None]:
    """Let a PaddingError say where a graph counts."""
    try:
        yield
    except PaddingError as error:
        places = dict.fromkeys(str(n.loc) for n in graph if n.op.name == "Nonzero")
        if places:
            error.details = (*error.details, f"how many elements there are is counted at {', '.join(places)}")
            if error.help == HELP:
                error.help = "keep the shape: ops.where(mask, x, 0), or call it outside the compiled Cell"
        raise


def _tries(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Counts to try: all, all but one, half, and few of all; more of one than of the others; none, one and all of each alone."""
    few = [0] * len(sizes), [1] * len(sizes), [2] * len(sizes), [3] * len(sizes)
    alone = [(k, count) for k, size in enumerate(sizes) for count in (0, 1, size)] if len(sizes) > 1 else []
    for k, count in alone:
        yield tuple(count if k == s else size // 2 for s, size in enumerate(sizes))
    some = range(4, 4 + 3 * len(sizes), 3)
    many = sizes, [n - 1 for n in sizes], [n // 2 for n in sizes], list(some), list(some)[::-1]
    for counts in (*few, *many):
        yield tuple(max(min(count, size), 0) for count, size in zip(counts, sizes, strict=True))
