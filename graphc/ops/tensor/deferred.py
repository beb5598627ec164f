"""Numbers that Python sees while a Cell is traced, and lists of them or of tensors, of which only the run of the step tells the
values, or how many there are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from graphc.errors import TraceTypeError, user_loc

if TYPE_CHECKING:
    from graphc.ops.tensor.tensor import Tensor


class Deferred(int):
    """The number is that of the trace: whoever computes with it as with any int gets what is right for this trace."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number it may be."""

    @property
    def is_room(self) -> bool:
        """Whether an axis may have it as its size as it is."""
        return False

    @property
    def is_given(self) -> bool:
        """Whether the call of the step brings it, and nothing is counted."""
        return False

    def at_most(self, other: int) -> int:
        """The smaller of this and another number."""
        return min(int(self), int(other))

    def at_least(self, other: int) -> int:
        """The larger of this and another number."""
        return max(int(self), int(other))

    @abstractmethod
    def tensor(self) -> Tensor:
        """The number of the run, as a tensor that stands for a number."""


def least_of(x: int) -> int:
    """The least number that x may be."""
    return x.bounds[0] if isinstance(x, Deferred) else x


def most_of(x: int) -> int:
    """The largest number that x may be."""
    return x.bounds[1] if isinstance(x, Deferred) else x


class Stacked:
    """A list of items of one structure, as many as the run tells.

    rows       of each tensor in an item those of all items, one after the other
    structure  of an item
    numbers    which of the tensors stand for Python's numbers
    """

    def __init__(self, rows: Sequence[Tensor], structure: Any, numbers: Sequence[bool]) -> None:
        self.rows, self.structure, self.numbers = tuple(rows), structure, tuple(numbers)

    @property
    def tensor(self) -> Tensor:
        """The items, which are tensors or numbers. TraceTypeError GC120 for others."""
        if len(self.rows) != 1 or getattr(self.structure, "number", None) != 0:
            raise TraceTypeError(
                f"a list of tensors or numbers is expected, each item of this one has {len(self.rows)} tensors",
                code="GC120",
                loc=user_loc(),
                help="take one of each: [item[0] for item in items]",
            )
        return self.rows[0]

    @property
    def are_numbers(self) -> bool:
        """Whether the items are Python's numbers."""
        return all(self.numbers)

    def with_rows(self, rows: Sequence[Tensor]) -> Self:
        """A list of other items of the same structure."""
        return type(self)(rows, self.structure, self.numbers)

    def __iter__(self) -> Iterator[Any]:
        raise self.refused()

    def __len__(self) -> int:
        raise self.refused()

    def __getattr__(self, name: str) -> Any:
        raise self.refused(f", and has no {name}")

    def refused(self, more: str = "") -> TraceTypeError:
        """The error of whoever asks for the list itself."""
        return TraceTypeError(
            f"a list of as many items as only the run tells is no Python list{more}",
            code="GC120",
            loc=user_loc(),
            help="use the tensor of its items, ops.stack([...]), or their sum(...)",
        )
