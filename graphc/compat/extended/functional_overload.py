"""Of `mindspore.ops.functional_overload`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(
    globals(),
    "add addcdiv any bitwise_not clamp conv1d conv3d div empty empty_like eq floor_divide fmod gelu "
    "greater_equal imag index_add kthvalue lerp less lt max min mul nansum pixel_shuffle real remainder "
    "repeat_interleave sub where xlogy",
)
