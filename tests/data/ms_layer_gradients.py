"""Numbers of layers and losses, and of their gradients, from MindSpore, for tests/nn/test_layer_gradients_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_layer_gradients.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


IMAGES, LINES, VOLUMES = array(2, 4, 5, 6), array(2, 4, 7), array(1, 2, 4, 5, 5)
ROWS, LABELS = array(4, 3), np.array([0, 2, 1, 1], np.int32)
CLASSES = np.arange(60, dtype=np.int32).reshape(2, 5, 6) % 4
SHARES = array(4, 3, seed=5, low=0.1, high=0.9)

#: name -> (class, arguments, keyword arguments, inputs). Gradients of inputs and parameters are for the sum of the results.
CASES: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]] = {
    "conv2d_transpose_same": ("Conv2dTranspose", (4, 6, 3), {"stride": 2, "has_bias": True, "group": 2}, (IMAGES,)),
    "conv2d_transpose_valid": ("Conv2dTranspose", (4, 2, (2, 3)), {"stride": 3, "pad_mode": "valid"}, (IMAGES,)),
    "conv2d_transpose_pad": (
        "Conv2dTranspose",
        (4, 3, 3),
        {"stride": 2, "pad_mode": "pad", "padding": (1, 0, 1, 1), "dilation": 2},
        (IMAGES,),
    ),
    "conv1d_transpose": ("Conv1dTranspose", (4, 3, 3), {"stride": 2, "pad_mode": "pad", "padding": 1}, (LINES,)),
    "conv3d_same": ("Conv3d", (2, 4, (2, 3, 3)), {"has_bias": True, "stride": (1, 2, 2)}, (VOLUMES,)),
    "conv3d_pad": ("Conv3d", (2, 2, 2), {"pad_mode": "pad", "padding": (1, 0, 1, 1, 0, 1)}, (VOLUMES,)),
    "max_pool1d": ("MaxPool1d", (3, 2), {"pad_mode": "same"}, (LINES,)),
    "avg_pool1d": ("AvgPool1d", (3, 2), {}, (LINES,)),
    "adaptive_avg_pool2d": ("AdaptiveAvgPool2d", ((2, 4),), {}, (IMAGES,)),
    "adaptive_max_pool2d": ("AdaptiveMaxPool2d", ((2, 4),), {}, (IMAGES,)),
    "adaptive_avg_pool1d": ("AdaptiveAvgPool1d", (7,), {}, (LINES,)),
    "pad_symmetric": ("Pad", (((1, 2), (2, 1)), "SYMMETRIC"), {}, (ROWS,)),
    "pad_reflect": ("Pad", (((1, 2), (2, 1)), "REFLECT"), {}, (ROWS,)),
    "constant_pad2d": ("ConstantPad2d", ((1, 3, 0, 2), 0.5), {}, (IMAGES,)),
    "replication_pad2d": ("ReplicationPad2d", ((1, 2, 3, 0),), {}, (IMAGES,)),
    "reflection_pad1d": ("ReflectionPad1d", ((2, 1),), {}, (LINES,)),
    "pixel_shuffle": ("PixelShuffle", (2,), {}, (IMAGES,)),
    "channel_shuffle": ("ChannelShuffle", (2,), {}, (IMAGES,)),
    "bi_dense": ("BiDense", (3, 4, 2), {}, (ROWS, array(4, 4))),
    "rnn_cell": ("RNNCell", (3, 4), {"nonlinearity": "relu"}, (ROWS, array(4, 4))),
    "gru_cell": ("GRUCell", (3, 4), {}, (ROWS, array(4, 4))),
    "rnn": ("RNN", (7, 3), {"num_layers": 2}, (LINES, array(2, 4, 3))),
    "gru": ("GRU", (7, 3), {"bidirectional": True}, (LINES, array(2, 4, 3))),
    "attention": ("MultiheadAttention", (7, 1), {}, (LINES, LINES, LINES)),
    "attention_sizes": (
        "MultiheadAttention",
        (6, 2),
        {"kdim": 4, "vdim": 3, "batch_first": True, "add_bias_kv": True},
        (array(2, 5, 6), array(2, 3, 4), array(2, 3, 3), np.array([[False, True, False], [False, False, True]])),
    ),
    "attention_zeros": ("MultiheadAttention", (7, 1), {"add_zero_attn": True, "add_bias_kv": True}, (LINES,) * 3),
    "encoder_layer": ("TransformerEncoderLayer", (6, 2, 5), {"dropout": 0.0}, (array(3, 2, 6),)),
    "encoder_layer_norm_first": (
        "TransformerEncoderLayer",
        (6, 3, 5),
        {"dropout": 0.0, "norm_first": True, "batch_first": True},
        (array(3, 2, 6),),
    ),
    "dice": ("DiceLoss", (), {}, (SHARES, SHARES[::-1].copy())),
    "dice_smooth": ("DiceLoss", (0.5,), {}, (SHARES, SHARES[::-1].copy())),
    "multi_class_dice": ("MultiClassDiceLoss", (), {"ignore_indiex": 1}, (ROWS, SHARES)),
    "focal": ("FocalLoss", (), {"gamma": 1.5}, (ROWS, LABELS[:, None])),
    "focal_places": ("FocalLoss", (), {"reduction": "none"}, (IMAGES, CLASSES[:, None])),
    "focal_shares": ("FocalLoss", (), {"reduction": "sum"}, (ROWS, SHARES)),
    "gaussian_nll": ("GaussianNLLLoss", (), {"full": True, "reduction": "sum"}, (ROWS, SHARES, SHARES[::-1].copy())),
    "gaussian_nll_bound": ("GaussianNLLLoss", (), {"eps": 0.5}, (ROWS, SHARES, SHARES[::-1].copy())),
    "poisson_nll": ("PoissonNLLLoss", (), {}, (ROWS, SHARES)),
    "poisson_nll_full": ("PoissonNLLLoss", (), {"log_input": False, "full": True}, (SHARES, SHARES * 4)),
    "multi_label_soft_margin": ("MultiLabelSoftMarginLoss", (), {}, (ROWS, (SHARES > 0.5).astype(np.float32))),
    "multi_margin": ("MultiMarginLoss", (), {"p": 2, "margin": 0.5}, (ROWS, LABELS.astype(np.int64))),
}


def fill(parameters: Any, tensor: Any) -> None:
    """Give every parameter values that depend on its place only."""
    for i, p in enumerate(parameters):
        p.set_data(tensor(array(*p.shape, seed=10 + i, low=-0.5, high=0.5)))


def differentiable(x: Any) -> bool:
    """Whether a gradient is asked for."""
    return isinstance(x, np.ndarray) and x.dtype == np.float32


def first(result: Any) -> Any:
    """The result that is compared: of a pair of outputs and state, or weights, the outputs."""
    return result[0] if isinstance(result, tuple) else result


def measured(nn: Any, ops: Any, tensor: Any, name: str) -> list[Any]:
    """Result and gradients of a case, in either framework."""
    kind, args, kwargs, inputs = CASES[name]
    cell = getattr(nn, kind)(*args, **kwargs)
    cell.set_train()
    parameters = cell.trainable_params()
    fill(parameters, tensor)
    given = [tensor(x) if isinstance(x, (np.ndarray, float)) else x for x in inputs]
    at = tuple(i for i, x in enumerate(inputs) if differentiable(x))

    def total(*xs: Any) -> Any:
        y = first(cell(*xs))
        return (y * ops.cos(ops.reshape(ops.arange(y.size), y.shape).astype(y.dtype))).sum() if y.shape else y

    by_input = ops.grad(total, at)(*given)
    found = [first(cell(*given)), *(by_input if isinstance(by_input, tuple) else (by_input,))]
    if parameters:
        found += ops.grad(total, None, parameters)(*given)
    return [x.asnumpy() for x in found]


def main() -> None:
    """Record all cases."""
    import mindspore as ms

    ms.set_context(mode=ms.PYNATIVE_MODE)
    made = {}
    for name in CASES:
        arrays = measured(ms.nn, ms.ops, ms.Tensor, name)
        made[name] = [{"shape": a.shape, "values": [float(f"{v:.6g}") for v in a.ravel().tolist()]} for a in arrays]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
