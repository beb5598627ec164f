"""Cells that MindSpore wraps around others for a training in many processes."""

from __future__ import annotations

from typing import Any

from graphc.nn.cell.cell import Cell


class _VirtualDatasetCell(Cell):
    """The backbone: its inputs are divided over processes, of which there is one."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


__all__: list[str] = []  # What it has is private.
