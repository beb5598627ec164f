"""What scripts with callbacks and checkpoints of their own take from the inside of MindSpore's."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.ops.tensor.tensor import Tensor


def set_cur_net(net: Any) -> None:
    """Nothing is kept: a checkpoint is written from the network that is saved, not from the last one that was named."""


def _get_merged_param_data(
    net: Any, parameter_layout_dict: Any, param_name: str, param_data: Tensor, integrated_save: bool
) -> Tensor:
    """param_data itself: every process has the whole of a parameter."""
    return param_data


def _handle_loss(loss: Any) -> Any:
    """What a step returned, for a callback: the first of several tensors, the mean of one as a float, anything else itself."""
    if isinstance(loss, (tuple, list)):
        return loss[0] if isinstance(loss[0], Tensor) else loss
    return float(np.mean(loss.asnumpy())) if isinstance(loss, Tensor) else loss
