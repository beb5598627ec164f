"""Where an update reads and writes a parameter and its states."""

from __future__ import annotations

from typing import NamedTuple

from graphc import ops
from graphc.ops.functional.core import call
from graphc.ops.functional.table_rows import assign_rows
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class Everywhere:
    """All of a parameter."""

    def read(self, parameter: Parameter) -> Tensor:
        """What stands there."""
        return parameter

    def write(self, parameter: Parameter, value: Tensor) -> Tensor:
        """Write a value there; returns the result of the assignment."""
        return ops.assign(parameter, value)


class InRows(NamedTuple):
    """Rows of a parameter, int32 or int64 [n]. Those out of range read as zeros, and are not written."""

    indices: Tensor

    def read(self, parameter: Parameter) -> Tensor:
        rows: Tensor = call("Gather", parameter, self.indices, axis=0)
        return rows

    def write(self, parameter: Parameter, value: Tensor) -> Tensor:
        return assign_rows(parameter, self.indices, value)


Place = Everywhere | InRows
EVERYWHERE = Everywhere()

__all__ = ["EVERYWHERE", "Everywhere", "InRows", "Place"]
