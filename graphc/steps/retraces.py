"""Traces of one Cell, one after the other, until it is known which attributes it sets."""

from __future__ import annotations

from graphc.guards.iterators import anything_taken
from graphc.guards.walk import Names, walk
from graphc.nn.cell.cell import Cell
from graphc.trace.mutation import outliving
from graphc.trace.mutation.attributes import Attributes, Known


class Attempts:
    """Makes what each trace of a Cell notes its attributes in. A trace begins where the one before has begun."""

    def __init__(self, cell: Cell, known: Known, names: Names | None = None) -> None:
        """names: what code that the cell can reach reads, where somebody has looked already."""
        self._cell, self._known, self._names = cell, known, names
        known.expect(cell)
        self._are_more = False

    def __call__(self) -> Attributes:
        """TraceError GC133 where a trace that has ended early has changed something for good, as an iterator."""
        if self._are_more and (anything_taken() or not outliving.put_back()):
            self._known.refuse_latest()
        self._are_more = True
        return Attributes(self._known, self._cell, self._reads_by_any_name)

    def _reads_by_any_name(self) -> bool:
        """Whether code that the cell can reach may read any attribute, as by `vars`."""
        if self._names is None:
            self._names = Names()
            walk(self._names, [("self", self._cell)])
        return self._names.everything
