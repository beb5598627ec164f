"""What scripts that save checkpoints of their own take from the inside of MindSpore's saving."""

from __future__ import annotations

from typing import Any

from graphc.ops.tensor.tensor import Tensor


def set_cur_net(net: Any) -> None:
    """Nothing is kept: a checkpoint is written from the network that is saved, not from the last one that was named."""


def _get_merged_param_data(
    net: Any, parameter_layout_dict: Any, param_name: str, param_data: Tensor, integrated_save: bool
) -> Tensor:
    """param_data itself: every process has the whole of a parameter."""
    return param_data
