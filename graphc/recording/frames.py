"""How the user's code got to a node: its line, and the lines that called the Cells around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphc.errors import Loc
from graphc.inspect.document import Rewrite
from graphc.ir import Node
from graphc.trace.cells import CellCall


@dataclass(slots=True)
class Frames:
    """The user's frames of nodes. Of one that a pass has made, those of the node that it was made from."""

    calls: Sequence[CellCall]
    sources: Mapping[int, int]
    _of: dict[int, CellCall] = field(default_factory=dict)

    @staticmethod
    def of(calls: Sequence[CellCall], history: Sequence[Rewrite], traced: Sequence[int]) -> Frames:
        """For the ids of the traced nodes, and what the passes made of them."""
        sources = {id: row.from_[0] for row in reversed(history) if row.from_ for id in row.to if id != row.from_[0]}
        made = Frames(calls, sources)
        made._place(sorted(traced))
        return made

    def _place(self, ids: Sequence[int]) -> None:
        """Find the innermost call in which each node was made: calls lie in each other as their ranges of ids do."""
        waiting = list(reversed(self.calls))
        current: list[CellCall] = []
        for id in ids:
            while waiting and waiting[-1].first <= id:
                current.append(waiting.pop())
            while current and not current[-1].first <= id < current[-1].end:
                current.pop()
            if current:
                self._of[id] = current[-1]

    def __call__(self, node: Node) -> tuple[Loc, ...]:
        call = self._call(node)
        frames = [node.loc] if node.loc is not None else []
        while call is not None:
            for loc in (call.own, call.caller):
                if loc is not None and loc not in frames:
                    frames.append(loc)
            call = call.around
        return tuple(frames)

    def _call(self, node: Node) -> CellCall | None:
        id: int | None = node.fwd if node.fwd is not None and node.fwd in self._of else node.id
        seen: set[int] = set()
        while id is not None and id not in self._of and id not in seen:
            seen.add(id)
            id = self.sources.get(id)
        return self._of.get(id) if id is not None else None
