"""What a training step returns: loss, overflow and loss scale among it."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.ops.tensor.tensor import Tensor


def loss_of(outputs: Any) -> Any:
    """The loss as callbacks show it: a Tensor's mean as a float; of a tuple the first item, as an array if it is a Tensor."""
    if isinstance(outputs, (tuple, list)) and outputs:
        return outputs[0].asnumpy() if isinstance(outputs[0], Tensor) else outputs[0]
    return float(np.mean(outputs.asnumpy())) if isinstance(outputs, Tensor) else outputs


def mean_loss(outputs: Any) -> float | None:
    """The mean of the loss as a float; None if the step returns no number."""
    loss = loss_of(outputs)
    return None if isinstance(loss, (str, dict)) or loss is None else float(np.mean(loss))


def overflow_of(outputs: Any) -> bool | None:
    """Whether a step (loss, overflow, ...) overflowed; None for other steps."""
    if isinstance(outputs, (tuple, list)) and len(outputs) > 1:
        found = outputs[1]
        if isinstance(found, Tensor) and found.tensor_type.dtype == "bool" and found.size == 1:
            return bool(found.asnumpy().all())
    return None


def scale_of(outputs: Any) -> float | None:
    """The loss scale of a step (loss, overflow, scale, ...); None for other steps."""
    if overflow_of(outputs) is not None and len(outputs) > 2:
        found = outputs[2]
        if isinstance(found, Tensor) and found.tensor_type.is_float and found.size == 1:
            return float(found.asnumpy().reshape(()))
    return None
