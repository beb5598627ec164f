"""Cell: a network or a part of one, and what it is made of. No layers."""

from graphc.nn.cell.cell import Cell

__all__ = ["Cell"]
