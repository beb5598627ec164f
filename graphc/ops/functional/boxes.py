"""Boxes around things in images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir import TensorType
from graphc.ops.declared.python_call import PLACE, PythonFunction
from graphc.ops.declared.rules import Array
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.control import while_loop
from graphc.ops.functional.core import Extents, Operand, call, cast
from graphc.ops.functional.create import ones
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elementwise import (
    add,
    exp,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    maximum,
    minimum,
    mul,
    sub,
)
from graphc.ops.functional.joining import stack
from graphc.ops.functional.operand_checks import require_rank
from graphc.ops.functional.shapes import expand_dims
from graphc.ops.functional.slicing import gather, getitem
from graphc.ops.functional.sorting import argsort
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.tensor import Tensor

# ---- boxes


def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """[M, N]: intersection over union of N boxes with M others, each x0, y0, x1, y1; mode "iof": over the second's area."""
    if mode not in ("iou", "iof"):
        raise ArgumentValueError(f"iou: mode must be 'iou' or 'iof', got {mode!r}", loc=user_loc())
    require_rank("iou", "anchor_boxes", anchor_boxes, 2)
    require_rank("iou", "gt_boxes", gt_boxes, 2)
    a, b = expand_dims(anchor_boxes, 0), expand_dims(gt_boxes, 1)

    def extent(low: Tensor, high: Tensor) -> Tensor:
        return add(sub(high, low), 1.0)

    sides = [extent(maximum(a[..., i], b[..., i]), minimum(a[..., i + 2], b[..., i + 2])) for i in (0, 1)]
    common = mul(*(maximum(side, 0.0) for side in sides))
    first, second = (mul(extent(x[..., 0], x[..., 2]), extent(x[..., 1], x[..., 3])) for x in (a, b))
    whole = sub(add(first, second), common) if mode == "iou" else second
    return div(common, add(whole, 1e-10))


def _centers(boxes: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Middles and sizes of boxes [..., (x0, y0, x1, y1)], whose ends are pixels: (x, y), (width, height)."""
    ends = [(getitem(boxes, (..., i)), getitem(boxes, (..., i + 2))) for i in (0, 1)]
    return [mul(add(a, b), 0.5) for a, b in ends], [add(sub(b, a), 1.0) for a, b in ends]


def _four(owner: str, name: str, values: Any) -> list[float]:
    numbers = list(values) if isinstance(values, (tuple, list)) else [values] * 4
    if len(numbers) != 4 or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in numbers):
        raise ArgumentValueError(f"{owner}: {name} must be four numbers, got {values!r}", loc=user_loc())
    return [float(v) for v in numbers]


def bounding_box_encode(
    anchor_box: Tensor,
    groundtruth_box: Tensor,
    means: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    stds: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """[N, 4]: how far a box's middle lies from the anchor's, in sizes of the anchor, and the logarithms of the ratios of their
    sizes, less `means`, divided by `stds` (Girshick et al., 2014; MindSpore: ops.bounding_box_encode). Boxes: x0, y0, x1, y1.
    """
    owner = "bounding_box_encode"
    require_rank(owner, "anchor_box", anchor_box, 2)
    require_rank(owner, "groundtruth_box", groundtruth_box, 2)
    (px, py), (pw, ph) = _centers(anchor_box)
    (gx, gy), (gw, gh) = _centers(groundtruth_box)
    found = [div(sub(gx, px), pw), div(sub(gy, py), ph), log(div(gw, pw)), log(div(gh, ph))]
    scaled = zip(found, _four(owner, "means", means), _four(owner, "stds", stds), strict=True)
    return stack([div(sub(d, mean), std) for d, mean, std in scaled], -1)


def bounding_box_decode(
    anchor_box: Tensor,
    deltas: Tensor,
    max_shape: tuple[int, ...],
    means: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    stds: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """[N, 4]: the boxes that bounding_box_encode made deltas of, inside an image of the height and width max_shape (MindSpore:
    ops.bounding_box_decode). Logarithms of ratios are bounded by that of wh_ratio_clip.
    """
    owner = "bounding_box_decode"
    if not isinstance(max_shape, (tuple, list)) or len(max_shape) < 2:
        raise ArgumentValueError(f"{owner}: max_shape must be a height and a width, got {max_shape!r}", loc=user_loc())
    if not 0 < wh_ratio_clip < 1:
        raise ArgumentValueError(
            f"{owner}: wh_ratio_clip must lie between 0 and 1, got {wh_ratio_clip!r}", loc=user_loc()
        )
    require_rank(owner, "anchor_box", anchor_box, 2)
    require_rank(owner, "deltas", deltas, 2)
    middles, sizes = _centers(anchor_box)
    scaled = zip(_four(owner, "means", means), _four(owner, "stds", stds), strict=True)
    dx, dy, dw, dh = (add(mul(getitem(deltas, (..., i)), std), mean) for i, (mean, std) in enumerate(scaled))
    most = abs(math.log(wh_ratio_clip))
    ends: list[list[Tensor]] = [[], []]
    limits = (float(max_shape[1]), float(max_shape[0]))
    for middle, size, shift, ratio, limit in zip(middles, sizes, (dx, dy), (dw, dh), limits, strict=True):
        at, half = add(middle, mul(size, shift)), mul(mul(size, exp(clamp(ratio, -most, most))), 0.5)
        ends[0].append(clamp(add(sub(at, half), 0.5), 0.0, limit))
        ends[1].append(clamp(sub(add(at, half), 0.5), 0.0, limit))
    return stack([*ends[0], *ends[1]], -1)


def check_valid(bboxes: Tensor, img_metas: Tensor) -> Tensor:
    """bool[N]: whether boxes [N, (x0, y0, x1, y1)] lie inside an image; img_metas: its height, width and what both are multiplied
    by (MindSpore: ops.check_valid).
    """
    if bboxes.ndim != 2 or bboxes.shape[1] != 4 or img_metas.shape != (3,):
        raise ShapeError(
            f"check_valid: bboxes are {bboxes.tensor_type} and img_metas {img_metas.tensor_type}, expected [N, 4] and [3]",
            loc=user_loc(),
        )
    height, width = (sub(mul(img_metas[i], img_metas[2]), 1) for i in (0, 1))
    low = logical_and(greater_equal(bboxes[:, 0], 0), greater_equal(bboxes[:, 1], 0))
    return logical_and(low, logical_and(less_equal(bboxes[:, 2], width), less_equal(bboxes[:, 3], height)))


def nms_with_mask(bboxes: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """(boxes from the highest score to the lowest, int32: 0, 1, ..., bool: which are kept).

    bboxes: [N, (x0, y0, x1, y1, score)]. A box is left out if it and a kept one with a higher score overlap by more than
    iou_threshold of their union.
    """
    if isinstance(iou_threshold, bool) or not isinstance(iou_threshold, (int, float)):
        raise ArgumentTypeError(f"NMSWithMask: iou_threshold must be a number, got {iou_threshold!r}", loc=user_loc())
    if bboxes.ndim != 2 or bboxes.shape[1] != 5 or not bboxes.shape[0] or not bboxes.tensor_type.is_float:
        raise ShapeError(f"NMSWithMask: the boxes are {bboxes.tensor_type}, expected floats [N, 5]", loc=user_loc())
    boxes = stop_gradient(gather(bboxes, cast(argsort(bboxes[:, 4], 0, True), "int32"), 0))
    a, b = expand_dims(boxes, 1), expand_dims(boxes, 0)
    sides = [maximum(sub(minimum(a[..., i + 2], b[..., i + 2]), maximum(a[..., i], b[..., i])), 0.0) for i in (0, 1)]
    common = mul(*sides)
    area = mul(sub(boxes[:, 2], boxes[:, 0]), sub(boxes[:, 3], boxes[:, 1]))
    union = sub(add(expand_dims(area, 1), expand_dims(area, 0)), common)
    count = bboxes.shape[0]
    later = Tensor(np.triu(np.ones((count, count), bool), 1))
    hides = logical_and(greater(common, mul(union, float(iou_threshold))), later)

    def body(i: Any, kept: Any) -> Any:
        hidden = logical_and(gather(hides, i, 0), gather(kept, i, 0))
        return add(i, 1), logical_and(kept, logical_not(hidden))

    start = Tensor(np.zeros((), np.int32)), ones((count,), "bool")
    _, kept = while_loop(lambda i, _: less(i, count), body, *start)
    return boxes, Tensor(np.arange(count, dtype=np.int32)), kept


def nms_by_score(
    boxes: Tensor, scores: Tensor, max_output_size: Extents, iou_threshold: Operand, score_threshold: Operand
) -> Tensor:
    """int32: the boxes to keep, from the highest score to the lowest (MindSpore: NonMaxSuppressionV3). Not in a compiled Cell.

    boxes: floats [N, 4], two opposite corners, y before x; scores: floats [N]. A box counts whose score is above
    score_threshold; it is left out if it and a kept one overlap by more than iou_threshold, in [0, 1], of their union.
    max_output_size: an int >= 0. Of equal scores the first comes first. Raises ShapeError, ArgumentValueError.
    """
    name = "NonMaxSuppressionV3"
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1] or not boxes.tensor_type.is_float:
        raise ShapeError(
            f"{name}: the boxes are {boxes.tensor_type}, the scores {scores.tensor_type}, expected floats [N, 4] and [N]",
            loc=user_loc(),
        )
    corners, points = (known_values(name, x).astype(np.float64) for x in (boxes, scores))
    most, overlap, least = (_plain(name, v) for v in (max_output_size, iou_threshold, score_threshold))
    if not isinstance(most, int) or isinstance(most, bool) or most < 0 or not 0 <= overlap <= 1:
        raise ArgumentValueError(
            f"{name}: max_output_size is {most!r}, iou_threshold {overlap!r}, expected an int of at least 0 and a number in"
            " [0, 1]",
            loc=user_loc(),
        )
    hides = _overlapping(corners, overlap)
    return Tensor(np.array(_kept(points, most, least, hides), np.int32))


def _overlapping(corners: Array, overlap: float) -> Callable[[int, list[int]], bool]:
    """Whether box i of [N, 4] and one of others overlap by more than a share of their union; without an area it does not."""
    low, high = np.sort(corners.reshape(-1, 2, 2), 1).swapaxes(0, 1)
    area = np.prod(high - low, 1)

    def hides(i: int, others: list[int]) -> bool:
        common = np.prod(np.maximum(np.minimum(high[i], high[others]) - np.maximum(low[i], low[others]), 0), 1)
        return bool(np.any((common > 0) & (common > overlap * (area[i] + area[others] - common))))

    return hides


def _kept(points: Array, most: int, least: float, hides: Callable[[int, list[int]], bool]) -> list[int]:
    """The boxes that are kept, from the highest score above `least` on: those that no kept one hides. Of equals the first."""
    kept: list[int] = []
    for i in np.argsort(-points, kind="stable"):
        if len(kept) == most or not points[i] > least:
            break
        if not hides(i, kept):
            kept.append(int(i))
    return kept


def nms_by_overlaps(
    overlaps: Tensor, scores: Tensor, max_output_size: Extents, overlap_threshold: Operand, score_threshold: Operand
) -> Tensor:
    """int32: the boxes to keep, from the highest score to the lowest (MindSpore: NonMaxSuppressionWithOverlaps).

    overlaps: floats [N, N]; scores: floats [N]. A box counts whose score is above score_threshold; it is left out if overlaps[it,
    a kept one] is above overlap_threshold. Not in a compiled Cell. Raises ShapeError, ArgumentValueError.
    """
    name = "NonMaxSuppressionWithOverlaps"
    n = scores.shape[0] if scores.ndim == 1 else -1
    if overlaps.shape != (n, n) or not overlaps.tensor_type.is_float:
        raise ShapeError(
            f"{name}: the overlaps are {overlaps.tensor_type}, the scores {scores.tensor_type}, expected floats [N, N] and [N]",
            loc=user_loc(),
        )
    table, points = (known_values(name, x).astype(np.float64) for x in (overlaps, scores))
    most, overlap, least = (_plain(name, v) for v in (max_output_size, overlap_threshold, score_threshold))
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise ArgumentValueError(f"{name}: max_output_size is {most!r}, expected an int of at least 0", loc=user_loc())
    kept = _kept(points, most, least, lambda i, others: bool(np.any(table[i, others] > overlap)))
    return Tensor(np.array(kept, np.int32))


def _plain(name: str, value: Any) -> Any:
    """A number that is given, or that a tensor is known to hold."""
    return known_values(name, value).item() if isinstance(value, Tensor) else value


def nms_of_classes(
    boxes: Tensor,
    scores: Tensor,
    max_output_size_per_class: Extents,
    max_total_size: Extents,
    iou_threshold: Operand,
    score_threshold: Operand,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(boxes, scores, classes, int32 [batch]: how many of them there are) that are kept of each class, from the highest score on
    (MindSpore: CombinedNonMaxSuppression). A compiled step calls Python for it; there is no gradient.

    boxes: float32 [batch, N, 1 or classes, 4], two opposite corners; scores: float32 [batch, N, classes]. There are
    max_total_size results, with pad_per_class max_output_size_per_class times the classes if that is less; zeros fill the rest.
    clip_boxes: into [0, 1]. Raises ShapeError, ArgumentValueError.
    """
    name = "CombinedNonMaxSuppression"
    b, s = boxes.tensor_type, scores.tensor_type
    fits = (
        b.rank == 4
        and s.rank == 3
        and b.shape[:2] == s.shape[:2]
        and b.shape[2] in (1, s.shape[-1])
        and b.shape[3] == 4
    )
    if not fits or {b.dtype, s.dtype} != {"float32"}:
        raise ShapeError(
            f"{name}: the boxes are {b}, the scores {s}, expected float32 [batch, N, 1 or classes, 4] and [batch, N, classes]",
            loc=user_loc(),
        )
    each, total, overlap, least = (
        _plain(name, v) for v in (max_output_size_per_class, max_total_size, iou_threshold, score_threshold)
    )
    if not all(type(v) is int and v >= 0 for v in (each, total)) or not 0 <= overlap <= 1:
        raise ArgumentValueError(
            f"{name}: the sizes are {each!r} and {total!r}, iou_threshold {overlap!r}, expected ints of at least 0 and a"
            " number in [0, 1]",
            loc=user_loc(),
        )
    classes = s.shape[2]
    count = min(total, each * classes) if pad_per_class else total

    def found(corners: Array, points: Array) -> tuple[Array, ...]:
        made = [_of_image(c, p, (each, total, overlap, least), count) for c, p in zip(corners, points, strict=True)]
        rows, marks, kinds, there = (np.array(part, np.float32) for part in zip(*made, strict=True))
        return np.clip(rows, 0, 1) if clip_boxes else rows, marks, kinds, there.astype(np.int32)

    shapes = ((count, 4), (count,), (count,), ())
    types = [TensorType("int32" if not shape else "float32", (b.shape[0], *shape)) for shape in shapes]
    held = PythonFunction(name, found, (PLACE, PLACE), ("float32", "float32"), types)
    made: Any = call("PythonCall", stop_gradient(boxes), stop_gradient(scores), function=held)
    return made  # type: ignore[no-any-return]


def _of_image(corners: Array, points: Array, limits: tuple[int, int, float, float], count: int) -> tuple[Any, ...]:
    """(boxes [count, 4], scores, classes, their number) of one image; corners: [N, 1 or classes, 4], points: [N, classes]."""
    each, total, overlap, least = limits
    found: list[tuple[float, int, int]] = []
    for kind in range(points.shape[1]):
        own = corners[:, kind if corners.shape[1] > 1 else 0].astype(np.float64)
        found += [(points[i, kind], kind, i) for i in _kept(points[:, kind], each, least, _overlapping(own, overlap))]
    found = sorted(found, key=lambda one: -one[0])[: min(total, count)]
    rows, marks, kinds = np.zeros((count, 4), np.float32), np.zeros(count, np.float32), np.zeros(count, np.float32)
    for at, (mark, kind, i) in enumerate(found):
        rows[at], marks[at], kinds[at] = corners[i, kind if corners.shape[1] > 1 else 0], mark, kind
    return rows, marks, kinds, len(found)


__all__ = [
    "bounding_box_decode",
    "bounding_box_encode",
    "check_valid",
    "iou",
]
