"""`mindspore._c_expression`: what scripts ask MindSpore's native library about the device and the run."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from graphc.compat.signature import Signature as Signature
from graphc.compat.signature import sig_dtype, sig_kind, sig_rw
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.tensor.tensor import Tensor


class MSContext:
    """The device, as scripts ask for it: no Ascend chip is there."""

    _instance: Any = None

    @classmethod
    def get_instance(cls) -> Self:
        """The only object."""
        if cls._instance is None:
            cls._instance = cls()
        made: Self = cls._instance
        return made

    def get_ascend_soc_version(self) -> str:
        """The version of the Ascend chip: "", there is none."""
        return ""

    def get_ascend_soc_name(self) -> str:
        """The name of the Ascend chip: "", there is none."""
        return ""


signature_dtype, signature_kind, signature_rw = sig_dtype, sig_kind, sig_rw
#: What tensors are made of.
TensorPy = Tensor


def is_reboot_node() -> bool:
    """Whether this process takes the place of one that has failed: False."""
    return False


def swap_cache(host: Tensor, device: Tensor, block_mapping: Tensor, is_device_to_host: bool) -> None:
    """Copy blocks of one cache of keys or values to the other, in place.

    host, device: [blocks, ...], of the same dtype and blocks of the same shape; both lie in the memory of the process.
    block_mapping: int64[n, 2], blocks that are copied and those that they become; from `device` to `host` if is_device_to_host,
    else the other way. Raises ArgumentTypeError, ShapeError, and ArgumentValueError for blocks that are not there.
    """
    named = (("host", host), ("device", device), ("block_mapping", block_mapping))
    for name, x in named:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(f"swap_cache: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
    source, target = (device, host) if is_device_to_host else (host, device)
    if source.shape[1:] != target.shape[1:] or not source.ndim or source.dtype != target.dtype:
        raise ShapeError(
            f"swap_cache: host is {host.tensor_type}, device {device.tensor_type}: their blocks must be alike",
            loc=user_loc(),
        )
    pairs = np.asarray(block_mapping.asnumpy())
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind != "i":
        raise ShapeError(
            f"swap_cache: block_mapping is {block_mapping.tensor_type}, expected integers [n, 2]", loc=user_loc()
        )
    if pairs.size and (pairs.min() < 0 or (pairs.max(0) >= (source.shape[0], target.shape[0])).any()):
        raise ArgumentValueError(
            f"swap_cache: block_mapping names blocks that are not there: {source.shape[0]} and {target.shape[0]} are",
            loc=user_loc(),
        )
    blocks = target.asnumpy().copy()
    blocks[pairs[:, 1]] = source.asnumpy()[pairs[:, 0]]
    target.copy_(Tensor(blocks))


__all__ = [
    "MSContext", "Signature", "TensorPy", "is_reboot_node", "signature_dtype", "signature_kind", "signature_rw", "swap_cache",
]  # fmt: skip
