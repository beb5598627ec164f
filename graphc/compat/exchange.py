"""`mindspore.utils` and its `dlpack`: tensors in the memory of other libraries."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops import Tensor
from graphc.ops.functional.attributes import from_dlpack


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory, which the taker shares; ArgumentTypeError for what is no tensor."""
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(f"to_dlpack: expected a Tensor, got {type(tensor).__name__}", loc=user_loc())
    return tensor.to_dlpack()


__all__ = ["from_dlpack", "to_dlpack"]
