"""Cell: a network or a part of one, its tree of parameters and children, its hooks. No layers."""

from graphc.nn.cell.cell import Cell

__all__ = ["Cell"]
