"""What is called before and after each run of a compiled step."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

from graphc.debug import switches
from graphc.ir import Graph
from graphc.lower import Lowered
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter

if TYPE_CHECKING:
    from graphc.find_nan import Hunt


def around(cell: Cell, written: Set[Parameter], hunt: Hunt | None) -> tuple[list[Any], list[Any]]:
    """(before, after): what optimizers and managers of the loss scale want to look at around a step that writes these
    parameters, and the hunt for bad values.

    before: called with nothing, each gives the number of steps that may follow before it wants to look again, None for any
    number. after: called with the number of steps that have been made; `limit()` says how many may follow.
    """
    before, after = (_made(cell, name, written) for name in ("check_before", "check_after"))
    return (before, after) if hunt is None else ([*before, hunt.before], [hunt, *after])


def _made(cell: Cell, name: str, written: Set[Parameter]) -> list[Any]:
    makers = ((getattr(type(c), name, None), c) for _, c in cell.cells_and_names())
    made = (make(c, written) for make, c in makers if make is not None)
    return [check for check in made if check is not None]


def watched(graph: Graph) -> Graph:
    """The graph to be lowered: with `find_nan` it has one result more."""
    if not switches().find_nan:
        return graph
    from graphc import find_nan  # Few steps are watched.

    return find_nan.watched(graph)


def hunt(graph: Graph, lowered: Lowered, params: Sequence[Parameter]) -> Hunt | None:
    """The hunt for bad values in a step; None without `find_nan`. lowered: of the `watched` graph."""
    if not switches().find_nan:
        return None
    from graphc import find_nan  # Few steps are watched.

    return find_nan.Hunt(graph, lowered, params)
