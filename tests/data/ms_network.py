"""Numbers and gradients of pooling, resizing, sampling, padding, image functions and losses from MindSpore, for
tests/ops/test_network_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_network.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


def ints(*shape: int, below: int, seed: int = 0) -> Any:
    """int32 numbers from 0."""
    return np.random.default_rng(seed + sum(shape)).integers(0, below, shape).astype(np.int32)


def int32(*values: Any) -> Any:
    return np.array(values, np.int32)


def float32(*values: Any) -> Any:
    return np.array(values, np.float32)


LINES, IMAGES, VOLUMES = array(1, 2, 7), array(1, 2, 5, 6), array(1, 1, 4, 5, 3)
COLORS = array(1, 2, 4, 5, low=0.0, high=1.0)
GRID, GRID3 = array(1, 4, 3, 2, low=-1.3, high=1.3), array(1, 2, 3, 2, 3, low=-1.3, high=1.3)
ROWS, OTHERS, THIRDS = array(4, 5), array(4, 5, seed=1), array(4, 5, seed=2)
TURNED = float32([0.0, 0.0, 1.0, 1.0], [0.8, 0.9, 0.2, 0.1])
BOXES = float32([0.1, 0.2, 0.8, 0.9], [0.9, 0.1, 0.2, 1.2], [0.4, 0.4, 0.4, 0.4])
REGIONS = float32([0, 0.5, 0.3, 4.2, 3.7], [0, 1.2, 2.1, 2.0, 2.4])
PIXELS = float32([2, 3, 7, 9], [10, 2, 14, 12], [1, 1, 5, 6])

#: MindSpore's expression of operands a, b, ... -> operands. A gradient is recorded for each float operand, unless the
#: expression begins with "!", or for the first alone if it begins with "1:".
CASES: dict[str, tuple[Any, ...]] = {
    # ---- resizing
    "ops.interpolate(a, 11)": (LINES,),
    "ops.interpolate(a, (3, 13))": (IMAGES,),
    "ops.interpolate(a, (3, 7, 4))": (VOLUMES,),
    "ops.interpolate(a, None, (1.7, 0.6, 2.3))": (VOLUMES,),
    "P.ResizeNearestNeighbor((3, 13))(a)": (IMAGES,),
    "ops.interpolate(a, None, 1.7, 'nearest', None, True)": (IMAGES,),
    "ops.interpolate(a, 11, None, 'nearest-exact')": (LINES,),
    "ops.interpolate(a, (3, 13), None, 'nearest-exact')": (IMAGES,),
    "ops.interpolate(a, 11, None, 'linear')": (LINES,),
    "ops.interpolate(a, 4, None, 'linear', True)": (LINES,),
    "ops.interpolate(a, 1, None, 'linear')": (LINES,),
    "ops.interpolate(a, 1, None, 'linear', True)": (LINES,),
    "ops.interpolate(a, (3, 13), None, 'bilinear')": (IMAGES,),
    "ops.interpolate(a, (8, 1), None, 'bilinear', True)": (IMAGES,),
    "ops.interpolate(a, (1, 9), None, 'bilinear')": (IMAGES,),
    "ops.interpolate(a, None, 1.7, 'bilinear', False, True)": (IMAGES,),
    "ops.interpolate(a, (3, 13), None, 'bicubic')": (IMAGES,),
    "ops.interpolate(a, (8, 4), None, 'bicubic', True)": (IMAGES,),
    "ops.interpolate(a, (1, 9), None, 'bicubic')": (IMAGES,),
    "ops.interpolate(a, (3, 7, 4), None, 'trilinear')": (VOLUMES,),
    "ops.interpolate(a, (6, 1, 5), None, 'trilinear', True)": (VOLUMES,),
    "ops.interpolate(a, None, (1.7, 0.6, 2.3), 'trilinear')": (VOLUMES,),
    "ops.interpolate(a, None, (1.7, 0.6, 2.3), 'trilinear', True)": (VOLUMES,),
    "ops.interpolate(a, 4, None, 'area')": (array(1, 2, 8),),
    "ops.interpolate(a, (3, 8), None, 'area')": (IMAGES,),
    "ops.interpolate(a, None, (0.6, 0.7, 2.0), 'area')": (VOLUMES,),
    "ops.upsample(a, None, 2.5, 'bilinear', True, True)": (IMAGES,),
    "nn.Upsample((3, 13), None, 'bilinear', True)(a)": (IMAGES,),
    "!P.ResizeArea()(a, T(int32(3, 7)))": (array(1, 4, 5, 2),),
    "!P.ResizeArea(True)(a, T(int32(3, 7)))": (array(1, 4, 5, 2),),
    "P.ResizeBicubic()(a, (3, 13))": (IMAGES,),
    "P.ResizeBicubic(True)(a, (8, 4))": (IMAGES,),
    "P.ResizeBicubic(False, True)(a, (3, 13))": (IMAGES,),
    "P.ResizeLinear1D()(a, (5,))": (LINES,),
    "P.ResizeLinear1D('half_pixel')(a, (5,))": (LINES,),
    "P.ResizeNearestNeighborV2()(a, (3, 13))": (IMAGES,),
    "P.ResizeNearestNeighborV2(True)(a, (3, 13))": (IMAGES,),
    "P.ResizeNearestNeighborV2(False, True)(a, (3, 13))": (IMAGES,),
    "P.UpsampleTrilinear3D()(a, (3, 7, 4), None)": (VOLUMES,),
    "P.UpsampleTrilinear3D(True)(a, None, (1.7, 0.6, 2.3))": (VOLUMES,),
    # ---- pooling
    "ops.avg_pool1d(a, 3, 2, 1)": (LINES,),
    "ops.avg_pool1d(a, 3, 2, 1, True, False)": (LINES,),
    "ops.avg_pool2d(a, (2, 3), (2, 1))": (IMAGES,),
    "ops.avg_pool2d(a, 3, 2, (1, 0, 0, 1), True)": (IMAGES,),
    "ops.avg_pool2d(a, 2, 2, 1, False, False)": (IMAGES,),
    "ops.avg_pool2d(a, 2, 2, 0, True, True, 3)": (IMAGES,),
    "ops.avg_pool3d(a, 2, 2, 1)": (VOLUMES,),
    "ops.avg_pool3d(a, (2, 3, 2), 1, (1, 0, 1, 1, 0, 1), True, False)": (VOLUMES,),
    "ops.avg_pool3d(a, 2, 1, 0, False, True, 5)": (VOLUMES,),
    "P.AvgPool3D(2, 2, 'same')(a)": (VOLUMES,),
    "P.AvgPool3D(2, 2, 'valid')(a)": (VOLUMES,),
    "!P.AvgPool3D(2, 1, 'pad', 1, True, False, 3)(a)": (VOLUMES,),
    "ops.max_pool2d(a, 2)": (IMAGES,),
    "ops.max_pool2d(a, (3, 2), (2, 1), (1, 0))": (IMAGES,),
    "ops.max_pool2d(a, 2, 2, 1, 2, True)": (IMAGES,),
    "ops.max_pool2d(a, 3, 2, 1, 1, True, True)": (IMAGES,),
    "ops.max_pool2d(a, 2, 3, 0, 1, False, True)": (IMAGES,),
    "ops.max_pool3d(a, 2)": (VOLUMES,),
    "ops.max_pool3d(a, 2, 2, 1, 1, True, True)": (VOLUMES,),
    "ops.max_pool3d(a, (2, 3, 2), 1, (1, 1, 0), (1, 2, 1), False, True)": (VOLUMES,),
    "P.MaxPool3D(2, 2, 'same')(a)": (VOLUMES,),
    "P.MaxPool3D((2, 3, 2), 1, 'pad', (1, 1, 1, 1, 0, 1), False)(a)": (VOLUMES,),
    "P.MaxPool3D(2, 2, 'pad', 1, True)(a)": (VOLUMES,),
    "nn.AvgPool3d(2, 2, 'same')(a)": (VOLUMES,),
    "nn.AvgPool3d(2, 2, 'pad', 1, True, False)(a)": (VOLUMES,),
    "nn.MaxPool3d(2, 2, 'same')(a)": (VOLUMES,),
    "nn.MaxPool3d(2, 2, 'pad', 1, 1, True, True)(a)": (VOLUMES,),
    "nn.MaxPool2d(2, 2, 'pad', 1, 1, True, True)(a)": (IMAGES,),
    "nn.MaxPool1d(3, 2, 'pad', 1, 1, True, True)(a)": (LINES,),
    "!nn.AvgPool2d(3, 2, 'pad', 1, True, False, 2)(a)": (IMAGES,),
    "nn.AvgPool1d(3, 2, 'pad', 1, True, False)(a)": (LINES,),
    "ops.adaptive_avg_pool3d(a, (2, None, 2))": (VOLUMES,),
    "!ops.adaptive_max_pool3d(a, (2, 3, 2), True)": (VOLUMES,),
    "ops.adaptive_max_pool2d(a, (2, 4), True)": (IMAGES,),
    "nn.AdaptiveMaxPool2d((None, 4), True)(a)": (IMAGES,),
    "!nn.AdaptiveMaxPool3d(2, True)(a)": (VOLUMES,),
    "P.MaxPoolWithArgmax(2, 2, 'same')(a)": (IMAGES,),
    "P.MaxPoolWithArgmaxV2(3, 2, 1, (1, 1), True)(a)": (IMAGES,),
    "P.MaxPool3DWithArgmax(2, 2, 1, (1, 1, 1), True)(a)": (VOLUMES,),
    "ops.max_unpool1d(a, b, 2, 2)": (array(1, 2, 3), int32([[0, 3, 5], [1, 2, 4]])),
    "ops.max_unpool1d(a, b, 3, 2, 0, (8,))": (array(1, 2, 3), int32([[0, 3, 5], [1, 2, 4]])),
    "ops.max_unpool2d(a, b, 2)": (array(1, 2, 2, 2), int32([[[0, 3], [9, 15]], [[1, 2], [12, 14]]])),
    "nn.MaxUnpool2d(2, 2)(a, b, (1, 2, 5, 4))": (array(1, 2, 2, 2), int32([[[0, 3], [9, 15]], [[1, 2], [12, 14]]])),
    "ops.max_unpool3d(a, b, 2, 1)": (array(1, 1, 2, 2, 2), int32([[[[0, 3], [9, 15]], [[1, 2], [25, 26]]]])),
    "P.MaxUnpool2D(2, 2)(a, b)": (array(1, 2, 2, 2), int32([[[0, 3], [9, 15]], [[1, 2], [12, 14]]])),
    "!ops.fractional_max_pool2d(a, 2, (2, 3), None, True, b)": (IMAGES, array(1, 2, 2, low=0, high=0.99)),
    "!ops.fractional_max_pool3d(a, 2, (2, 3, 1), None, True, b)": (VOLUMES, array(1, 1, 3, low=0, high=0.99)),
    "!ops.fractional_max_pool2d(a, (3, 2), None, (0.5, 0.7), False, b)": (IMAGES, array(1, 2, 2, low=0, high=0.99)),
    "!P.FractionalMaxPoolWithFixedKsize((2, 3), (3, 2))(a, b)": (IMAGES, array(1, 2, 2, low=0, high=0.99)),
    "!P.FractionalMaxPool3DWithFixedKsize(2, (2, 3, 1))(a, b)": (VOLUMES, array(1, 1, 3, low=0, high=0.99)),
    "ops.lp_pool1d(a, 2, 3, 2)": (array(1, 2, 7, low=0.1),),
    "ops.lp_pool2d(a, 3, (2, 3), 2, True)": (array(1, 2, 5, 6, low=0.1),),
    "nn.LPPool1d(1, 2)(a)": (array(1, 2, 7, low=0.1),),
    "nn.LPPool2d(2, 2, 1)(a)": (array(1, 2, 5, 6, low=0.1),),
    # ---- convolution
    "ops.conv1d(a, b, c, 2, 'pad', 1, 2)": (LINES, array(4, 2, 2), array(4)),
    "ops.conv1d(a, b, None, 1, 'same', 0, 1, 2)": (LINES, array(6, 1, 3)),
    "ops.conv3d_transpose(a, b)": (array(1, 2, 2, 3, 2), array(2, 3, 2, 1, 2)),
    "ops.conv3d_transpose(a, b, 'pad', (1, 0, 0, 1, 1, 1), 2, 1, 1, (0, 1, 0))": (array(1, 2, 2, 3, 3), array(2, 3, 2, 3, 3)),
    "ops.conv3d_transpose(a, b, 'same', 0, 2)": (array(1, 2, 2, 3, 2), array(2, 3, 3, 2, 2)),
    "P.Conv3DTranspose(2, 3, (2, 1, 2))(a, b)": (array(1, 2, 2, 3, 2), array(2, 3, 2, 1, 2)),
    "P.Conv2DTranspose(4, 3, group=2)(a, b, (1, 6, 6, 7))": (array(1, 4, 4, 5), array(4, 3, 3, 3)),
    "ops.col2im(a, T(int32(4, 5)), (2, 2), (1, 1), (0, 0), (1, 1))": (array(1, 2, 4, 12),),
    "P.Im2Col((2, 3), 1, (1, 1), (1, 0))(a)": (IMAGES,),
    "P.Col2Im((2, 2), (1, 1), (0, 1), (2, 1))(a, T(int32(4, 5)))": (array(1, 2, 4, 12),),
    "!ops.channel_shuffle(a, 3)": (array(1, 6, 2, 2),),
    "!P.ChannelShuffle(2)(a)": (array(1, 6, 2, 2),),
    "ops.deformable_conv2d(a, b, c, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0))": (
        array(1, 2, 4, 5), array(3, 2, 2, 2), array(1, 12, 3, 4),
    ),
    "ops.deformable_conv2d(a, b, c, (2, 2), (1, 1, 2, 1), (1, 0, 1, 1), d, (1, 1, 1, 1), 1, 2)": (
        array(1, 2, 4, 5), array(3, 2, 2, 2), array(1, 24, 2, 6), array(3),
    ),
    # ---- padding
    "P.PadV3()(a, (1, 2, 0, 1), T(np.float32(7)))": (IMAGES,),
    "P.PadV3('reflect')(a, (1, 2, 0, 1))": (IMAGES,),
    "P.PadV3('edge')(a, (1, 2, 0, 1))": (IMAGES,),
    "P.PadV3('circular')(a, (1, 2, 0, 1))": (IMAGES,),
    "P.PadV3('edge', False)(a, (1, 0, 2, 1))": (IMAGES,),
    "ops.pad(a, (1, 2, 3, 1), 'circular')": (IMAGES,),
    "ops.padding(a, 4)": (array(3, 2, 1),),
    "nn.LRN(2, 1.5, 0.5, 0.75)(a)": (IMAGES,),
    # ---- sampling, colors, boxes
    "ops.grid_sample(a, b)": (IMAGES, GRID),
    "ops.grid_sample(a, b, 'nearest', 'border')": (IMAGES, GRID),
    "ops.grid_sample(a, b, 'bilinear', 'border', True)": (IMAGES, GRID),
    "ops.grid_sample(a, b, 'bilinear', 'reflection')": (IMAGES, 2 * GRID),
    "ops.grid_sample(a, b, 'bilinear', 'reflection', True)": (IMAGES, 2 * GRID),
    "ops.grid_sample(a, b, 'bilinear', 'zeros', True)": (VOLUMES, GRID3),
    "ops.grid_sample(a, b, 'nearest', 'reflection')": (VOLUMES, GRID3),
    "ops.affine_grid(a, (2, 3, 4, 5))": (array(2, 2, 3),),
    "ops.affine_grid(a, (1, 3, 2, 3, 4), True)": (array(1, 3, 4),),
    "P.AffineGrid(True)(a, (2, 3, 4, 1))": (array(2, 2, 3),),
    "!ops.crop_and_resize(a, b, c, (3, 4))": (array(1, 5, 6, 2), BOXES, int32(0, 0, 0)),
    "!ops.crop_and_resize(a, b, c, (3, 1), 'nearest', 0.5)": (array(1, 5, 6, 2), BOXES, int32(0, 0, 0)),
    "!ops.crop_and_resize(a, b, c, (7, 9), 'nearest', 0.5)": (array(2, 5, 6, 1), TURNED, int32(0, 1)),
    "!ops.crop_and_resize(a, b, c, (7, 9), 'bilinear_v2')": (array(2, 5, 6, 1), TURNED, int32(0, 1)),
    "!ops.crop_and_resize(a, b, c, (3, 1), 'bilinear_v2')": (array(1, 5, 6, 2), BOXES, int32(0, 0, 0)),
    "!P.ROIAlign(2, 3, 0.75)(a, b)": (IMAGES, REGIONS),
    "!P.ROIAlign(2, 3, 1.0, 1, 0)(a, b)": (IMAGES, REGIONS),
    "!P.HSVToRGB()(a)": (array(1, 3, 5, 3, low=0.0),),
    "!P.RGBToHSV()(a)": (array(1, 3, 5, 3, low=0.0),),
    "!P.AdjustHue()(a, b)": (array(3, 5, 3, low=0.0), float32(0.3)[0]),
    "!P.AdjustSaturation()(a, b)": (array(3, 5, 3, low=0.0), float32(1.7)[0]),
    "!ops.bounding_box_encode(a, b, (0.0, 0.1, 0.0, 0.0), (0.1, 0.1, 0.2, 0.2))": (PIXELS, PIXELS[::-1].copy()),
    "!ops.bounding_box_decode(a, b, (9, 12), (0.0, 0.1, 0.0, 0.0), (1.0, 0.5, 1.0, 1.0))": (PIXELS, array(3, 4, high=3.0)),
    "!ops.check_valid(a, b)": (PIXELS, float32(12, 13, 1)),
    "!P.NMSWithMask(0.3)(a)": (
        float32([1, 1, 5, 5, 0.4], [1.5, 1, 5, 5, 0.9], [7, 7, 9, 8, 0.1], [4, 4, 8, 8, 0.5], [7, 7, 9, 9, 0.2]),
    ),
    "nn.CentralCrop(0.5)(a)": (COLORS,),
    "nn.CentralCrop(0.6)(a)": (array(2, 7, 8),),
    "nn.ImageGradients()(a)": (COLORS,),
    # ---- losses
    "ops.gaussian_nll_loss(a, b, c)": (ROWS, OTHERS, array(4, 5, low=0.1)),
    "ops.gaussian_nll_loss(a, b, c, True, 0.2, 'none')": (ROWS, OTHERS, array(4, 5, low=0.1)),
    "ops.gaussian_nll_loss(a, b, c, False, 1e-6, 'sum')": (ROWS, OTHERS, array(4, low=0.1)),
    "ops.multi_margin_loss(a, b)": (ROWS, np.array([1, 0, 4, 2])),
    "1:ops.multi_margin_loss(a, b, 2, 1, c, 'sum')": (ROWS, np.array([1, 0, 4, 2]), array(5, low=0.1)),
    "1:P.MultiMarginLoss(2, 0.5, 'none')(a, b, c)": (ROWS, np.array([1, 0, 4, 2]), array(5, low=0.1)),
    "ops.multilabel_soft_margin_loss(a, b)": (ROWS, ints(4, 5, below=2).astype(np.float32)),
    "ops.multilabel_soft_margin_loss(a, b, c, 'none')": (ROWS, ints(4, 5, below=2).astype(np.float32), array(5, low=0.1)),
    "nn.TripletMarginWithDistanceLoss()(a, b, c)": (ROWS, OTHERS, THIRDS),
    "nn.TripletMarginWithDistanceLoss(lambda x, y: ops.reduce_sum(ops.abs(x - y), -1), True, 'none', 0.5)(a, b, c)": (
        ROWS, OTHERS, THIRDS,
    ),
    "ops.ctc_loss(a, b, c, d, 0, 'none')": (
        array(6, 3, 4, low=-3), int32([1, 2, 2], [3, 1, 0], [2, 0, 0]), int32(6, 5, 6), int32(3, 2, 1),
    ),
    "ops.ctc_loss(a, b, c, d, 3, 'mean', True)": (
        array(6, 3, 4, low=-3), int32([1, 2, 2], [0, 1, 0], [2, 0, 0]), int32(6, 4, 6), int32(3, 2, 1),
    ),
    "nn.CTCLoss(0, 'sum')(a, b, c, d)": (
        array(6, 3, 4, low=-3), int32([1, 2, 2], [3, 1, 0], [2, 0, 0]), int32(6, 5, 6), int32(3, 2, 1),
    ),
    "P.CTCLossV2()(a, b, c, d)": (
        array(6, 3, 4, low=-3), int32([1, 2, 2], [3, 1, 0], [2, 0, 0]), int32(6, 5, 6), int32(3, 2, 1),
    ),
    "!ops.ctc_greedy_decoder(a, b)": (array(6, 2, 4), int32(6, 4)),
    "!ops.ctc_greedy_decoder(a, b, False)": (array(6, 2, 4), int32(6, 4)),
}  # fmt: skip


def function(ops: Any, primitives: Any, nn: Any, tensor: Any, name: str) -> Any:
    """The case's expression as a function of its operands."""
    names = "abcd"[: len(CASES[name])]
    scope = {"ops": ops, "P": primitives, "nn": nn, "T": tensor, "np": np, "int32": int32}
    return eval(f"lambda {', '.join(names)}: {name.removeprefix('!').removeprefix('1:')}", scope)


def results(made: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(made, (tuple, list)):
        return [t for part in made for t in results(part)]
    return [made]


def weighted(ops: Any, tensor: Any, made: Any) -> Any:
    """A number of all float results, whose gradient is recorded."""
    total: Any = 0.0
    for y in results(made):
        if "Float" in str(y.dtype):
            waves = np.cos(np.arange(int(np.prod(y.shape)))).astype(np.float32).reshape(y.shape)
            total = total + ops.reduce_sum(y * tensor(waves))
    return total


def total_of(ops: Any, tensor: Any, call: Any) -> Any:
    """The function whose gradient is recorded."""
    return lambda *operands: weighted(ops, tensor, call(*operands))


def floats(name: str) -> tuple[int, ...]:
    """Places of the operands with a gradient."""
    places = tuple(i for i, x in enumerate(CASES[name]) if x.dtype == np.float32)
    return () if name.startswith("!") else places[:1] if name.startswith("1:") else places


def main() -> None:
    """Record all cases."""
    import mindspore as ms

    made = {}
    for name, operands in CASES.items():
        call = function(ms.ops, ms.ops.operations, ms.nn, ms.Tensor, name)
        given = [ms.Tensor(x) for x in operands]
        made[name] = {"results": [listed(y.asnumpy()) for y in results(call(*given))]}
        if floats(name):
            grads = ms.grad(total_of(ms.ops, ms.Tensor, call), floats(name))(*given)
            made[name]["gradients"] = [listed(g.asnumpy())["values"] for g in results(grads)]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file, separators=(",", ":"))
        file.write("\n")


def listed(x: Any) -> dict[str, Any]:
    return {"shape": x.shape, "dtype": str(x.dtype), "values": [float(f"{v:.5g}") for v in np.ravel(x).tolist()]}


if __name__ == "__main__":
    main()
