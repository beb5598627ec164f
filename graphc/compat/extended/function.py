"""Of `mindspore.ops.function`."""

from __future__ import annotations

from graphc.compat.extended import put

__all__ = put(globals(), "arange_ext relu_")
