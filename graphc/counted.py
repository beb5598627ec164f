"""Steps in which sizes depend on values, as of `x[mask]`: places are counted while the step runs, and results are cut.

The graph has room for all there can be, and is masked by the counts as that of a bucket is by lengths
(`graphc/passes/padding.py`). Python sees the room as the size; traces with none, one, some and all show whether it does anything
else for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from graphc.errors import ArgumentValueError, ExportError, GraphcError, PaddingError, user_loc
from graphc.ir import Graph
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure, fixed_values
from graphc.passes.padded_arrays import real_part
from graphc.passes.padding import HELP, Masked, Sizes, masked
from graphc.trace import RoomOf, Traced, trace

#: Counts that are tried, besides half of all and all.
_TRIED = (0, 1, 2, 3)


@dataclass
class Counted:
    """How a step with counts cuts its results. `wrong`: by symbol and what its count may not be, why."""

    masked: Masked
    wrong: dict[tuple[int, int], Exception] = field(default_factory=dict)

    @classmethod
    def tried(cls, masked: Masked, again: Callable[[RoomOf], Graph], given: Sequence[int] = ()) -> Counted:
        """With what the cell raises for few. again: its trace, with lengths `given`.

        Raises PaddingError where Python does something else for other counts.
        """
        made = cls(masked)
        for counts in _tries(masked.rooms[len(given) :]):
            made._try(again, given, counts)
        return made

    @property
    def results(self) -> int:
        """How many results are the cell's own; the counts follow."""
        return len(self.masked.results)

    def check(self, outputs: Sequence[Any], given: Sequence[int] = ()) -> list[int]:
        """All lengths: those that the call brought, and the counts, which come last among the outputs.

        Raises what the cell raises for these counts.
        """
        lengths = [*given, *(int(x.item()) for x in outputs[self.results :])]
        for symbol, count in enumerate(lengths):
            least, error = self.masked.least.get(symbol, (0, None))
            raised = self.wrong.get((symbol, count)) or (error if count < least else None)
            if raised is not None:
                raise raised.with_traceback(None)
        return lengths

    def cut(self, outputs: Sequence[Any], given: Sequence[int] = ()) -> list[Any]:
        """The cell's results as large as they are."""
        lengths = self.check(outputs, given)
        return [
            Tensor.wrap(real_part(require_array(x), axes, lengths)) if any(axes) else x
            for x, axes in zip(outputs, self.masked.results, strict=False)
        ]

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

    def _try(self, again: Callable[[RoomOf], Graph], given: Sequence[int], counts: Sequence[int]) -> None:
        """Note what the cell raises, or that it does something else; PaddingError where these counts are no special case."""
        lengths, least = (*given, *counts), self.masked.least
        try:
            self.masked.check(again(lambda number, size: counts[number]), lengths)
        except Exception as error:
            few = [s for s, n in enumerate(lengths) if s >= len(given) and n < least.get(s, (2, None))[0]]
            for s in few if len(few) == 1 else ():
                if s in least:
                    least[s] = least[s][0], error
                else:
                    self.wrong[s, lengths[s]] = error
            if few:
                return
            if isinstance(error, GraphcError):
                raise
            raise PaddingError(f"construct cannot be traced for {counts} elements: {error}", loc=user_loc()) from error


def trace_counted(cell: Cell, leaves: list[Tensor], structure: Structure) -> tuple[Traced, Counted | None]:
    """The trace of a cell; where it counts, with a graph that is right for all counts, and what the step needs to know."""

    traced = trace(cell, leaves, structure, room)
    if not traced.counted:
        return traced, None
    traced = trace(cell, leaves, structure, room, apart=True)

    def again(room: RoomOf) -> Graph:
        return same_values(traced, trace(cell, leaves, structure, room, apart=True))

    with saying_where(traced.graph):
        made = Counted.tried(masked(traced.graph, again(probe), {}, Sizes()), again)
    return replace(traced, graph=made.masked.graph), made


def same_values(one: Traced, other: Traced) -> Graph:
    """The other graph. PaddingError where the traces return other Python values: of one that depends on counts none is right."""
    for a, b in zip(*(list(fixed_values(t.structure)) for t in (one, other)), strict=False):
        if isinstance(a, (bool, int, float, str, tuple, list)) and a != b:
            raise PaddingError(
                f"construct returns the Python value {a!r}, or {b!r} for other counts, which only the run tells",
                loc=user_loc(),
            )
    return other.graph


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


def room(number: int, size: int) -> int:
    """Never a size that something else has, such as the mask: more than there can be, another one for each."""
    return size + 2 + 2 * number


def probe(number: int, size: int) -> int:
    """That of the second trace."""
    return size + 1 + 2 * number


def _tries(rooms: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Counts to try: the same for all places, and none or one of each alone."""
    for count in _TRIED:
        yield tuple(min(count, room) for room in rooms)
    yield tuple(room // 2 for room in rooms)
    for k in range(len(rooms) if len(rooms) > 1 else 0):
        for count in (0, 1):
            yield (*rooms[:k], count, *rooms[k + 1 :])
