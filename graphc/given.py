"""What a step or a Cell is called with: its tensors, and what there is beside them."""

from __future__ import annotations

import numpy as np

from graphc.guards.walk import Names, walk
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, fixed_values, flatten


def reads(cell: Cell, structure: Structure) -> Names:
    """The names that code reads which a cell can reach, where arguments have to be looked into."""
    names = Names()
    if any(True for _ in fixed_values(structure)):
        walk(names, [("self", cell)])
    return names


def is_plain(structure: Structure, count: int) -> bool:
    """Whether the arguments are just `count` positional tensors."""
    return structure == flatten((tuple(Tensor.wrap(np.zeros(())) for _ in range(count)), {}))[1]
