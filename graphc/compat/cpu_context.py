"""`mindspore.device_context.cpu`: the one kind of device that there is."""

from __future__ import annotations

from graphc.compat import checkparam, devices
from graphc.validation.unused_arguments import no_effect


def is_available() -> bool:
    """True."""
    return devices.is_available("CPU")


def device_count() -> int:
    """1."""
    return devices.device_count("CPU")


def threads_num(num: int) -> None:
    """Nothing, said once; an int above 0."""
    checkparam.check_positive_int(num, "num", "threads_num")
    no_effect("device_context.cpu", "threads_num", "GRAPHC_NUM_THREADS says how many threads a step has")


__all__ = ["device_count", "is_available", "threads_num"]
