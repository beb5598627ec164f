"""Numbers and gradients, in float64, of functions for which MindSpore 2.10 has no CPU kernel, or one that is coarse or wrong;
from torch, for tests/ops/test_network_recorded.py.

Run with torch's Python in the checkout: python -m tests.data.torch_network OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from tests.data.ms_network import IMAGES, OTHERS, ROWS, THIRDS, VOLUMES, array, int32, listed

LABELS = int32([1, 0, -1, 2, 3], [4, -1, 0, 0, 0], [0, 1, 2, 3, 4], [-1, 0, 0, 0, 0])
SEQUENCES = (array(6, 3, 4, low=-3), int32([1, 2, 2], [1, 1, 1], [2, 0, 0]), int32(6, 3, 6), int32(3, 3, 1))

#: name -> (graphc's expression, torch's expression, operands); gradients for the operands of float32.
CASES: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "bicubic": (
        "ops.interpolate(a, (8, 4), None, 'bicubic', True)",
        "F.interpolate(a, (8, 4), mode='bicubic', align_corners=True)",
        (IMAGES,),
    ),
    "bilinear, a factor": (
        "ops.interpolate(a, None, (1.7, 0.6), 'bilinear')",
        "F.interpolate(a, None, (1.7, 0.6), mode='bilinear')",
        (IMAGES,),
    ),
    "nearest, a factor": ("ops.interpolate(a, None, (2.3, 0.6))", "F.interpolate(a, None, (2.3, 0.6))", (IMAGES,)),
    "nearest-exact, a factor": (
        "ops.interpolate(a, None, (2.3, 0.6), 'nearest-exact')",
        "F.interpolate(a, None, (2.3, 0.6), mode='nearest-exact')",
        (IMAGES,),
    ),
    "area of a size that does not divide": (
        "ops.interpolate(a, 4, None, 'area')", "F.interpolate(a, 4, mode='area')", (array(1, 2, 7),),
    ),
    "avg_pool2d, a divisor": (
        "ops.avg_pool2d(a, 3, 2, 1, True, False, 2)", "F.avg_pool2d(a, 3, 2, 1, True, False, 2)", (IMAGES,),
    ),
    "avg_pool3d, a divisor": (
        "ops.avg_pool3d(a, 2, 1, 1, True, False, 3)", "F.avg_pool3d(a, 2, 1, 1, True, False, 3)", (VOLUMES,),
    ),
    "conv_transpose2d": (
        "ops.conv_transpose2d(a, b, c, (2, 1), 1, (1, 0), 2, (1, 2))",
        "F.conv_transpose2d(a, b, c, (2, 1), 1, (1, 0), 2, (1, 2))",
        (array(1, 4, 3, 4), array(4, 3, 3, 2), array(6)),
    ),
    "conv3d_transpose, groups": (
        "ops.conv3d_transpose(a, b, 'pad', (1, 1, 0, 0, 0, 0), (2, 1, 1), (2, 1, 1), 2)",
        "F.conv_transpose3d(a, b, None, (2, 1, 1), (1, 0, 0), 0, 2, (2, 1, 1))",
        (array(1, 2, 2, 3, 2), array(2, 2, 2, 2, 1)),
    ),
    "multilabel_margin_loss": (
        "ops.multilabel_margin_loss(a, b)", "F.multilabel_margin_loss(a, b.long())", (ROWS, LABELS),
    ),
    "multilabel_margin_loss of a row": (
        "ops.multilabel_margin_loss(a, b, 'none')",
        "F.multilabel_margin_loss(a, b.long(), reduction='none')",
        (array(5), int32(3, 1, -1, 0, 0)),
    ),
    "MultilabelMarginLoss": (
        "nn.MultilabelMarginLoss('sum')(a, b)", "F.multilabel_margin_loss(a, b.long(), reduction='sum')", (ROWS, LABELS),
    ),
    "triplet_margin_loss": (
        "ops.triplet_margin_loss(a, b, c)", "F.triplet_margin_loss(a, b, c)", (ROWS, OTHERS, THIRDS),
    ),
    "triplet_margin_loss, swapped": (
        "ops.triplet_margin_loss(a, b, c, 0.5, 1, 1e-3, True, 'none')",
        "F.triplet_margin_loss(a, b, c, 0.5, 1, 1e-3, True, reduction='none')",
        (ROWS, OTHERS, THIRDS),
    ),
    "TripletMarginLoss": (
        "P.TripletMarginLoss(2, True, 1e-4, 'sum')(a, b, c, T(np.float32(0.7)))",
        "F.triplet_margin_loss(a, b, c, 0.7, 2, 1e-4, True, reduction='sum')",
        (ROWS, OTHERS, THIRDS),
    ),
    "multi_margin_loss, weights": (
        "ops.multi_margin_loss(a, b, 2, 0.5, T(np.float32([1, 2, 3, 4, 5])))",
        "F.multi_margin_loss(a, b, 2, 0.5, torch.arange(1.0, 6).double())",
        (ROWS, np.array([1, 0, 4, 2])),
    ),
    "ctc_loss of a target that does not fit": (
        "ops.ctc_loss(a, b, c, d, 0, 'none', True)[0]",
        "F.ctc_loss(a, b, c, d, 0, 'none', True)",
        SEQUENCES,
    ),
    "ctc_loss, normalized": (
        "ops.ctc_loss(ops.log_softmax(a, 2), b, c, d, 3, 'mean')[0]",
        "F.ctc_loss(F.log_softmax(a, 2), b, c, d, 3, 'mean')",
        (SEQUENCES[0], int32([1, 2, 2], [0, 1, 0], [2, 0, 0]), int32(6, 5, 6), int32(3, 2, 0)),
    ),
    "max_unpool2d": (
        "ops.max_unpool2d(*ops.max_pool2d(a, 2, return_indices=True), 2, output_size=(5, 6))",
        "F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2, output_size=(5, 6))",
        (IMAGES,),
    ),
    "fractional_max_pool2d": (
        "ops.fractional_max_pool2d(a, (3, 2), (2, 4), None, False, T(np.float32([[[0.2, 0.9], [0.55, 0.4]]])))",
        "F.fractional_max_pool2d(a, (3, 2), (2, 4), None, False, torch.tensor([[[0.2, 0.9], [0.55, 0.4]]]).double())",
        (IMAGES,),
    ),
}  # fmt: skip


def main() -> None:
    """Record all cases."""
    import torch
    import torch.nn.functional

    made = {}
    for name, (_, expression, operands) in CASES.items():
        given = [torch.from_numpy(x) for x in operands]
        given = [x.double().requires_grad_() if x.dtype == torch.float32 else x for x in given]
        scope = dict(zip("abcd", given, strict=False))
        y = eval(expression, {"F": torch.nn.functional, "torch": torch, **scope})
        waves = torch.from_numpy(np.cos(np.arange(y.numel()))).reshape(y.shape)
        (y * waves).sum().backward()
        made[name] = {
            "results": [listed(y.detach().numpy())],
            "gradients": [listed(x.grad.numpy())["values"] for x in given if x.requires_grad],
        }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
