"""`mindspore.device_context.ascend` and `.gpu`: devices that are not there. What is set for them has no effect."""

from __future__ import annotations

from typing import NoReturn

from graphc.compat.toplevel import _without_effect
from graphc.errors import ArgumentValueError, user_loc

_WHY = "there is no such device"
#: Settings of both, of their modules op_precision, op_tuning and op_debug.
_SETTINGS = (
    "aclinit_config", "aclnn_cache", "aoe_job_type", "aoe_tune_mode", "args_type_check", "conv_allow_hf32",
    "conv_allow_tf32", "conv_dgrad_algo", "conv_fprop_algo", "conv_wgrad_algo", "debug_option", "execute_timeout",
    "function_status", "matmul_allow_hf32", "matmul_allow_tf32", "op_compile", "op_precision_mode", "precision_mode",
)  # fmt: skip
globals().update({name: _without_effect(name, _WHY) for name in _SETTINGS})


class NoDeviceError(ArgumentValueError, RuntimeError, shown_as="RuntimeError"):
    """A device that is not there."""


def is_available() -> bool:
    """False."""
    return False


def device_count() -> NoReturn:
    """A RuntimeError, as in MindSpore where there are none."""
    raise NoDeviceError("device_count: there is no such device, only a CPU", loc=user_loc())


__all__ = ["device_count", "is_available", *_SETTINGS]
