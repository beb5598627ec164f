"""Of `mindspore.ops.function`."""

from __future__ import annotations

from graphc.compat.extended import same

_SAME = same("arange_ext relu_")
globals().update(_SAME)
__all__ = list(_SAME)
