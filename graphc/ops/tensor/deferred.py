"""Numbers that Python sees while a Cell is traced, and whose values only the run of the step tells."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphc.ops.tensor.tensor import Tensor


class Deferred(int):
    """The number is that of the trace: whoever computes with it as with any int gets what is right for this trace."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number it may be."""

    @abstractmethod
    def tensor(self) -> Tensor:
        """The number of the run, as a tensor that stands for a number."""
