"""Cell: a network or a part of one, its tree of parameters and children, its hooks. No layers."""

from graphc.nn.cell.cell import Cell
from graphc.nn.cell.uninitialized import no_init_parameters

__all__ = ["Cell", "no_init_parameters"]
