"""Boxes around things in images."""

from __future__ import annotations

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.elementwise import add, maximum, minimum, mul, sub
from graphc.ops.functional.shapes import expand_dims
from graphc.ops.tensor.tensor import Tensor

# ---- boxes


def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """[M, N]: intersection over union of N boxes with M others, each x0, y0, x1, y1; mode "iof": over the second's area."""
    if mode not in ("iou", "iof"):
        raise ArgumentValueError(f"iou: mode must be 'iou' or 'iof', got {mode!r}", loc=user_loc())
    a, b = expand_dims(anchor_boxes, 0), expand_dims(gt_boxes, 1)

    def extent(low: Tensor, high: Tensor) -> Tensor:
        return maximum(add(sub(high, low), 1.0), 0.0)

    sides = [extent(maximum(a[..., i], b[..., i]), minimum(a[..., i + 2], b[..., i + 2])) for i in (0, 1)]
    common = mul(*sides)
    first, second = (mul(extent(x[..., 0], x[..., 2]), extent(x[..., 1], x[..., 3])) for x in (a, b))
    whole = sub(add(first, second), common) if mode == "iou" else second
    return div(common, whole)


__all__ = [
    "iou",
]
