"""What containers of MindSpore's check of what they are given, in `mindspore.nn.layer.container`."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.declared.bounds import IndexRangeError


def _said(op_name: str | None) -> str:
    return f"{op_name}: " if op_name else ""


def _valid_cell(cell: Any, op_name: str | None = None) -> bool:
    """True. ArgumentTypeError for what is no Cell."""
    if isinstance(cell, Cell):
        return True
    raise ArgumentTypeError(f"{_said(op_name)}each cell must be a Cell, got {type(cell).__name__}", loc=user_loc())


def _place(cell_num: int, index: Any, op_name: str | None, end: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise ArgumentTypeError(f"{_said(op_name)}index must be an int, got {type(index).__name__}", loc=user_loc())
    if not -cell_num <= index < end:
        raise IndexRangeError(f"{_said(op_name)}index {index} is out of range for {cell_num} cells", loc=user_loc())
    return index + cell_num if index < 0 else index


def _valid_index(cell_num: int, index: Any, op_name: str | None = None) -> int:
    """The place of an index among so many cells. ArgumentTypeError, IndexRangeError."""
    return _place(cell_num, index, op_name, cell_num)


def _valid_index_for_inserting(cell_num: int, index: Any, op_name: str | None = None) -> int:
    """The place of an index to insert at among so many cells, the end among them. ArgumentTypeError, IndexRangeError."""
    return _place(cell_num, index, op_name, cell_num + 1)


__all__: list[str] = []  # What it has is private.
