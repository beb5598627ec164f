"""Lists of as many items as only the run tells, with the methods of Python's lists, which change the tensors of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import TraceError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.index import updated
from graphc.ops.tensor.deferred import Deferred, Stacked
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import Structure, flatten, is_named, unflatten
from graphc.trace.conversion.truth import shape_of
from graphc.trace.dynamic.size_numbers import decided
from graphc.trace.flow import merging
from graphc.trace.standins import Joined

#: An item: its tensors, and how they lie in it.
Item = tuple[list[Tensor], Structure]


class Listed(Stacked):
    """A list of as many items as only the run tells."""

    @classmethod
    def of(cls, items: Sequence[Any]) -> Listed:
        """That of one item at least. TraceError GC124 for items of different kinds."""
        made = [item_of(x) for x in items]
        rows = [F.stack(list(each)) for each in zip(*(leaves for leaves, _ in made), strict=True)]
        return cls(rows, require_alike(made), numbers_of(made))

    def __getitem__(self, place: Any) -> Any:
        made = [x[place] for x in self.rows]
        if isinstance(place, slice):
            return self.with_rows(made)
        for x, is_number in zip(made, self.numbers, strict=True):
            x.is_number = is_number
        return unflatten(self.structure, made)

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(place, slice):
            raise self.refused(": a slice of it cannot be set")
        leaves, structure = item_of(value)
        self._require((leaves, structure))
        self.rows = tuple(updated(x, place, new) for x, new in zip(self.rows, leaves, strict=True))

    def __add__(self, other: Any) -> Any:
        return self.joined(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.joined(other, self)

    def __iadd__(self, other: Any) -> Any:
        self.extend(other)
        return self

    def joined(self, one: Any, other: Any) -> Listed:
        """Two lists, of which one may be Python's, one after the other. TypeError for what is no list."""
        parts: list[Listed] = []
        for x in (one, other):
            if not isinstance(x, (list, Listed)):
                raise TypeError(f'can only concatenate list (not "{type(x).__name__}") to list')
            if isinstance(x, Listed) or x:
                parts.append(x if isinstance(x, Listed) else Listed.of(x))
        if len(parts) == 1:
            return parts[0].copy()
        first, second = parts
        first._require((list(second.rows), second.structure), 1)
        numbers = [a and b for a, b in zip(first.numbers, second.numbers, strict=True)]
        rows = [F.concat(pair) for pair in zip(first.rows, second.rows, strict=True)]
        return Listed(rows, first.structure, numbers)

    def copy(self) -> Listed:
        """Another list of the same items."""
        return self.with_rows(self.rows)

    def become(self, other: Stacked) -> None:
        """Hold what another list holds."""
        self.rows, self.structure, self.numbers = other.rows, other.structure, other.numbers

    def append(self, item: Any) -> None:
        self.become(self.joined(self, [item]))

    def extend(self, items: Any) -> None:
        self.become(self + (items if isinstance(items, Listed) else list(items)))

    def insert(self, place: Any, item: Any) -> None:
        if type(place) is int and place == 0:
            self.become(self.joined([item], self))
        else:
            self.become(self.joined(self.joined(self[:place], [item]), self[place:]))

    def pop(self, place: Any = -1) -> Any:
        item = self[place]
        if type(place) is int and place in (0, -1):
            self.become(self[1:] if place == 0 else self[:-1])
        else:
            self.become(self[:place] + self[place + 1 :])
        return item

    def reverse(self) -> None:
        self.become(self[::-1])

    def _require(self, item: Item, axes: int = 0) -> None:
        """TraceError GC124 for an item of another kind; axes: how many come before its own."""
        own = [(x.tensor_type.dtype, x.shape[1:]) for x in self.rows]
        found = [(x.tensor_type.dtype, x.shape[axes:]) for x in item[0]]
        if own != found or not merging.same_structure(self.structure, item[1]):
            raise differing(own, found)


def differing(own: Any = None, found: Any = None) -> TraceError:
    """The error of items of different kinds in one list."""
    return TraceError(
        "a list of as many items as only the run tells has items of different kinds",
        code="GC124",
        loc=user_loc(),
        details=[f"{each}" for each in (own, found) if each],
        help="append items of the same shapes and dtypes in each turn; other ones to another list",
    )


def item_of(value: Any) -> Item:
    """The tensors of an item, with Python's numbers in it as tensors, and how they lie in it. TraceError GC124 for none."""
    leaves, structure = flatten(_lifted(value))
    if not leaves:
        raise differing(value)
    return leaves, structure


def _lifted(value: Any) -> Any:
    if isinstance(value, Joined):
        raise value.error()
    if isinstance(value, Deferred) or merging.is_number(value):
        return as_tensor(decided(value))
    if isinstance(value, dict):
        return type(value)((k, _lifted(x)) for k, x in value.items())
    if isinstance(value, (tuple, list)):
        made = [_lifted(x) for x in value]
        return type(value)(*made) if is_named(value) else type(value)(made)
    return value


def require_alike(items: Sequence[Item]) -> Structure:
    """The structure of all items. TraceError GC124 for items of different kinds."""
    leaves, structure = items[0]
    types = [x.tensor_type for x in leaves]
    for others, other in items[1:]:
        found = [x.tensor_type for x in others]
        if types != found or not merging.same_structure(structure, other):
            raise differing(types, found)
    return structure


def numbers_of(items: Sequence[Item]) -> list[bool]:
    """Which of the tensors of all items are numbers."""
    return [all(x.is_number for x in each) for each in zip(*(leaves for leaves, _ in items), strict=True)]


def merged(x: Tensor) -> Tensor:
    """The first two axes as one."""
    rows, each, *others = shape_of(x)
    return F.reshape(x, (rows * each, *others))
