"""Counts that are tried: a cell is traced with several of each, to see whether Python does something else for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graphc.ir import Node, TensorType, walk
from graphc.passes.padded_graph import Masked, counting_nodes
from graphc.trace import Counting, Traced
from graphc.trace.dynamic.counted_places import Found

#: How much larger than what there can be both sizes are at least: a slice of a few elements takes as many of either.
_BEYOND = 9
#: Beyond what small axes and numbers have as their sizes.
_FAR = 100

#: Whether a cell raises nothing for so many of a length that comes with the call: its symbol, the number, axes that are known.
Takes = Callable[[int, int, Found | None], bool]


class Rooms:
    """The sizes that two traces give to what is counted.

    Larger than there can be, so that nothing else has them, such as the mask; and no two of them are alike, nor do they differ
    alike between the traces, nor by a multiple of another difference: these are odd primes. The sizes of the first are primes,
    too, of which other sizes are multiples rarely.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._rooms: list[int] = []

    def room(self, number: int, size: int) -> int:
        """Of the first trace; `sizes` notes how many there may be."""
        made = size + _BEYOND + _prime(number)
        while made in self._rooms or not _is_prime(made):
            made += 1
        self.sizes.append(size)
        self._rooms.append(made)
        return made

    def probe(self, number: int, size: int) -> int:
        """Of the second trace, in which `size` may be another one."""
        return self._rooms[number] - (self.sizes[number] - size) - _prime(number)


def far_from(sizes: Sequence[int]) -> tuple[int, ...]:
    """A prime for each of these sizes, larger than all of them and than what is mostly multiplied by others."""
    made: list[int] = []
    for _ in sizes:
        found = max((*sizes, *made, _FAR)) + 1
        while not _is_prime(found):
            found += 1
        made.append(found)
    return tuple(made)


def _prime(number: int) -> int:
    """Odd primes: 3 is number 0."""
    found = 1
    for _ in range(number + 1):
        found += 2
        while not _is_prime(found):
            found += 2
    return found


def _is_prime(x: int) -> bool:
    return x % 2 > 0 and all(x % d for d in range(3, math.isqrt(x) + 1, 2))


@dataclass(frozen=True)
class Trials:
    """A cell that is traced again, for counts that are tried.

    again   traces it
    first   the trace that the graph is made of
    places  which of the counts of a trace are in its graph, by symbol: parts of loops are traced and thrown away
    sizes   how many there may be of each
    made    what the first trace has counted, and in which branches
    given   lengths that come with the call
    takes   tells whether the cell raises nothing for so many of these
    """

    again: Callable[[Counting], Traced]
    first: Traced
    places: Sequence[int]
    sizes: Sequence[int]
    made: Counting
    given: Sequence[int] = ()
    takes: Takes | None = None

    @classmethod
    def of(
        cls,
        again: Callable[[Counting], Traced],
        first: Traced,
        made: Counting,
        sizes: Sequence[int],
        given: Sequence[int] = (),
        takes: Takes | None = None,
    ) -> Trials:
        """Of the first trace, what it has counted, and how many there may be of each of these."""
        kept = {n.id for n in counting_nodes(first.graph)}
        places = [k for k, node in enumerate(made.nodes) if node.id in kept]
        return cls(again, first, places, [sizes[k] for k in places], made, given, takes)

    @cached_property
    def owners(self) -> list[int]:
        """In which branch, or body of a loop, each is counted; -1 for those that are counted in every step."""
        return [self.made.owners[k] for k in self.places]

    @cached_property
    def nodes(self) -> dict[int, Node]:
        """Those of the first trace."""
        return {n.id: n for _, n in walk(self.first.graph)}

    def visible(self, symbol: int, inside: int) -> bool:
        """Whether what is done in a branch may have to do with a symbol: it is counted there, or around."""
        return self.owners[symbol] in self.made.around(inside)

    def is_few(self, symbol: int, count: int) -> bool:
        """Whether it may be too few: none, or one of several that there can be."""
        return count < max(min(2, self.sizes[symbol]), 1)

    def counting(self, counts: Sequence[int], masked: Masked) -> Counting:
        """What a trace counts with these counts. What is thrown away has all there can be.

        masked: tells what nodes are to be that cannot be for these counts, so that the trace goes on.
        """
        known = dict(zip(self.places, counts, strict=True))

        def room(number: int, size: int) -> int:
            return known.get(number, size)

        lengths = masked.all_lengths((*self.given, *counts))

        def wanted(id: int, op: str) -> tuple[TensorType, ...] | None:
            node = self.nodes.get(id)
            if node is None:
                return self._thrown_away(id, op, known)
            return masked.types(node, lengths) if node.op.name == op else None

        return Counting(room, wanted, self.made.sizes)

    def _thrown_away(self, id: int, op: str, known: Mapping[int, int]) -> tuple[TensorType, ...] | None:
        """What a node that is thrown away is to be: its sizes alone tell what they have to do with."""
        node = self.made.seen.get(id)
        if node is None or node.op.name != op:
            return None
        return tuple(TensorType(t.dtype, tuple(self._for(size, known) for size in t.shape)) for t in node.types)

    def _for(self, size: int, known: Mapping[int, int]) -> int:
        """A size of the first trace as it is for these counts."""
        rooms = ((n.attrs["size"], known.get(k)) for k, n in enumerate(self.made.nodes))
        return next((size // room * count for room, count in rooms if count is not None and size % room == 0), size)

    def counts(self) -> Iterator[tuple[int, ...]]:
        """Counts to try: all, all but one, half, and few of all; more of one than of the others; none, one and all of each
        alone, or of one of each branch.
        """
        sizes, numbers = self.sizes, range(len(self.sizes))
        few = [0] * len(sizes), [1] * len(sizes), [2] * len(sizes), [3] * len(sizes)
        for alone in self._alone() if len(sizes) > 1 else []:
            for count in (0, 1, None):
                yield tuple(
                    (size if count is None else min(count, size)) if s in alone else max(size // 2, min(size, 2))
                    for s, size in enumerate(sizes)
                )
        some = range(4, 4 + 3 * len(sizes), 3)
        many = sizes, [n - 1 for n in sizes], [n // 2 for n in sizes], list(some), list(some)[::-1]
        for counts in (*few, *many):
            yield tuple(max(min(counts[s], sizes[s]), 0) for s in numbers)

    def _alone(self) -> list[list[int]]:
        """Symbols that are tried together: the first of each branch as deep as others, which do not see each other, and so on."""
        made: dict[tuple[int, int], list[int]] = {}
        for s, owner in enumerate(self.owners):
            depth = len(self.made.around(owner))
            made.setdefault((depth, list(self.owners[:s]).count(owner)), []).append(s)
        return list(made.values())

    def more(self, counts: Sequence[int], inside: int) -> tuple[int, ...]:
        """These counts with more, where there are few, of what a branch counts itself."""
        return tuple(
            min(max(size // 2, 2), size) if inside >= 0 and owner == inside and self.is_few(s, n) else n
            for s, (n, size, owner) in enumerate(zip(counts, self.sizes, self.owners, strict=True))
        )
