"""Integers among the arguments of a Cell that axes, sizes and shapes are made of: there is a step for each of their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from graphc.errors import GraphcError
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure, unflatten
from graphc.trace.dynamic.known_values import Told, asked, can_be_told

Made = TypeVar("Made")
#: Errors of a tensor that stands where a number is needed, and of sizes that do not fit as long as only the run tells them.
_CODES = frozenset(("GC100", "GC102", "GC103", "GC110", "GC120", "GC130", "GC131", "GC172"))


class ToldInputs:
    """Which tensors among the arguments of one Cell are such, by how the arguments nest."""

    def __init__(self) -> None:
        self._places: dict[Hashable, set[int]] = {}

    def contents(self, leaves: list[Tensor], nesting: Hashable) -> tuple[tuple[int, bytes], ...]:
        """What such tensors hold, by their places."""
        places = sorted(self._places.get(nesting, ()))
        return tuple((i, require_array(leaves[i]).tobytes()) for i in places)

    def compiled(
        self, make: Callable[[Any, Any], Made], leaves: list[Tensor], structure: Structure, nesting: Hashable
    ) -> Made:
        """What is made of (args, kwargs). Where it turns out to need what a tensor holds, it is told."""
        first: GraphcError | None = None
        while True:
            told = self._places.get(nesting, set())
            given = [Told.of(x) if i in told else x for i, x in enumerate(leaves)]
            seen: set[int] = set()
            token = asked.set(seen)
            try:
                return make(*unflatten(structure, given))
            except GraphcError as error:
                more = _needed(seen, leaves) - told
                if error.code not in _CODES or not more:
                    if first is None:
                        raise
                    break
                first = first or error
                self._places[nesting] = told | more
            finally:
                asked.reset(token)
        # It has not helped.
        self._places.pop(nesting, None)
        raise first


def _needed(seen: set[int], leaves: list[Tensor]) -> set[int]:
    """The tensors that a value is made of which was asked for; where none was, the numbers that `mutable` has made."""
    found = {i for i in seen if not isinstance(leaves[i], Parameter)}
    return found or {i for i, x in enumerate(leaves) if x.is_number and can_be_told(x.tensor_type)}
