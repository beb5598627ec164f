"""Primitives that `mindspore.ops.operations.math_ops` alone has."""

from __future__ import annotations

from graphc.ops import functional as F
from graphc.ops.tensor.primitive import declare

AddV2 = declare("AddV2", F.add)

__all__ = ["AddV2"]
