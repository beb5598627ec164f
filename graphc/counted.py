"""Steps in which sizes depend on values, as of `x[mask]`: places are counted while the step runs, and results are cut.

The graph has room for all there can be, and is masked by the counts as that of a bucket is by lengths
(`graphc/passes/padding.py`). Python sees the room as the size; traces with none, one, some and all show whether it does anything
else for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphc.errors import ArgumentValueError, GraphcError, PaddingError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure
from graphc.passes.padding import Masked, Sizes, masked, real_part
from graphc.trace import Traced, trace

#: Counts that are tried, besides half of all and all.
_TRIED = (0, 1, 2, 3)


@dataclass
class Counted:
    """How a step with counts cuts its results. `wrong`: by the number of a count and what it may not be, why."""

    masked: Masked
    wrong: dict[tuple[int, int], Exception] = field(default_factory=dict)

    @property
    def results(self) -> int:
        """How many results are the cell's own; the counts follow."""
        return len(self.masked.results)

    def check(self, outputs: Sequence[Tensor]) -> list[int]:
        """The counts, which come last among the outputs. Raises what the cell raises for these."""
        counts = [int(require_array(x).item()) for x in outputs[self.results :]]
        for k, count in enumerate(counts):
            least, error = self.masked.least.get(k, (0, None))
            raised = self.wrong.get((k, count)) or (error if count < least else None)
            if raised is not None:
                raise raised.with_traceback(None)
        return counts

    def cut(self, outputs: Sequence[Tensor]) -> list[Any]:
        """The cell's results as large as they are."""
        counts = self.check(outputs)
        return [
            Tensor.wrap(real_part(require_array(x), axes, counts)) if any(axes) else x
            for x, axes in zip(outputs, self.masked.results, strict=False)
        ]

    def refuse_kept(self, kept: Sequence[int]) -> None:
        """ArgumentValueError where results are to be kept of every step whose sizes differ from step to step."""
        for k in kept:
            if any(f.symbol >= 0 for axis in self.masked.results[k] for f in axis):
                raise ArgumentValueError(
                    f"result {k} has another size in every step, so the results of several are no array",
                    loc=user_loc(),
                    help="call the step for each batch",
                )


def trace_counted(cell: Cell, leaves: list[Tensor], structure: Structure) -> tuple[Traced, Counted | None]:
    """The trace of a cell; where it counts, with a graph that is right for all counts, and what the step needs to know."""
    traced = trace(cell, leaves, structure, _room)
    if not traced.counted:
        return traced, None
    try:
        probe = trace(cell, leaves, structure, _probe)
        made = Counted(masked(traced.graph, probe.graph, {}, Sizes()))
        for counts in _tries(made.masked):
            _try(made, cell, leaves, structure, counts)
    except PaddingError as error:
        places = dict.fromkeys(str(n.loc) for n in traced.graph if n.op.name == "Nonzero")
        error.details = [*error.details, f"how many elements there are is counted at {', '.join(places)}"]
        error.help = "keep the shape: ops.where(mask, x, 0), or call it outside the compiled Cell"
        raise
    return replace(traced, graph=made.masked.graph), made


def _room(number: int, size: int) -> int:
    """Never a size that something else has, such as the mask: more than there can be, another one for each."""
    return size + 2 + 2 * number


def _probe(number: int, size: int) -> int:
    return size + 1 + 2 * number


def _tries(made: Masked) -> Iterator[tuple[int, ...]]:
    """Counts to try: the same for all places, and none of one of them."""
    rooms = made.rooms
    for count in _TRIED:
        yield tuple(min(count, room) for room in rooms)
    yield tuple(room // 2 for room in rooms)
    for k in range(len(rooms) if len(rooms) > 1 else 0):
        for count in (0, 1):
            yield (*rooms[:k], count, *rooms[k + 1 :])


def _try(made: Counted, cell: Cell, leaves: list[Tensor], structure: Structure, counts: tuple[int, ...]) -> None:
    """Note what the cell raises for some counts, or that it does something else; PaddingError where these are no special case."""

    def room(number: int, size: int) -> int:
        return counts[number]

    least = made.masked.least
    try:
        made.masked.check(trace(cell, leaves, structure, room).graph, counts)
    except Exception as error:
        few = [k for k, count in enumerate(counts) if count < least.get(k, (2, None))[0]]
        for k in few if len(few) == 1 else ():
            if k in least:
                least[k] = least[k][0], error
            else:
                made.wrong[k, counts[k]] = error
        if few:
            return
        if isinstance(error, GraphcError):
            raise
        raise PaddingError(f"construct cannot be traced for {counts} elements: {error}", loc=user_loc()) from error
