"""Numbers of torch's layers in float64 for tests/nn/test_mint_layers.py.

Run with a Python that has torch: python torch_layers.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
import zlib
from typing import Any

import numpy as np


def filled(name: str, shape: tuple[int, ...]) -> Any:
    """float32 numbers that name and shape decide; variances are positive, counts zero."""
    if name == "num_batches_tracked":
        return np.zeros(shape, np.int64)
    made = np.random.default_rng(zlib.crc32(f"{name}{shape}".encode())).uniform(-1, 1, shape).astype(np.float32)
    return np.abs(made) + np.float32(0.5) if name == "running_var" else made


X, SEQUENCE, IMAGE, VOLUME = (filled("x", s) for s in ((3, 4), (2, 4, 7), (2, 4, 5, 6), (2, 4, 3, 4, 2)))
INDICES, CLASSES = np.array([[0, 3, 1], [3, 3, 4]], np.int64), np.array([1, 3, 0], np.int64)
POSITIVE = np.abs(X) / 2 + np.float32(0.1)

#: name of the case -> (layer, arguments by position, by name, operands, whether it is in training mode).
LAYERS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...], bool]] = {
    "ELU": ("ELU", (0.5,), {}, (X,), False),
    "GELU": ("GELU", (), {}, (X,), False),
    "GELU tanh": ("GELU", (), {"approximate": "tanh"}, (X,), False),
    "GLU": ("GLU", (), {}, (X,), False),
    "Hardshrink": ("Hardshrink", (0.3,), {}, (X,), False),
    "Hardsigmoid": ("Hardsigmoid", (), {}, (4 * X,), False),
    "Hardswish": ("Hardswish", (), {}, (4 * X,), False),
    "Hardtanh": ("Hardtanh", (-0.2, 0.5), {}, (X,), False),
    "LogSigmoid": ("LogSigmoid", (), {}, (X,), False),
    "LogSoftmax": ("LogSoftmax", (), {"dim": 0}, (X,), False),
    "Mish": ("Mish", (), {}, (X,), False),
    "PReLU": ("PReLU", (), {"num_parameters": 4}, (IMAGE,), False),
    "ReLU": ("ReLU", (), {}, (X,), False),
    "ReLU6": ("ReLU6", (), {}, (9 * X,), False),
    "SELU": ("SELU", (), {}, (X,), False),
    "SiLU": ("SiLU", (), {}, (X,), False),
    "Sigmoid": ("Sigmoid", (), {}, (X,), False),
    "Softmax": ("Softmax", (), {"dim": 1}, (SEQUENCE,), False),
    "Softshrink": ("Softshrink", (0.3,), {}, (X,), False),
    "Tanh": ("Tanh", (), {}, (X,), False),
    "Threshold": ("Threshold", (0.1, 7.0), {}, (X,), False),
    "BCELoss": ("BCELoss", (), {}, (POSITIVE, np.abs(X)), False),
    "BCEWithLogitsLoss": ("BCEWithLogitsLoss", (), {"reduction": "sum"}, (X, np.abs(X)), False),
    "CosineEmbeddingLoss": ("CosineEmbeddingLoss", (0.1,), {}, (X, X[::-1].copy(), np.array([1, -1, -1])), False),
    "CrossEntropyLoss": ("CrossEntropyLoss", (), {"label_smoothing": 0.2}, (X, CLASSES), False),
    "KLDivLoss": ("KLDivLoss", (), {"reduction": "batchmean", "log_target": True}, (X, X[::-1].copy()), False),
    "L1Loss": ("L1Loss", (), {"reduction": "none"}, (X, X[::-1].copy()), False),
    "MSELoss": ("MSELoss", (), {}, (X, X[::-1].copy()), False),
    "NLLLoss": ("NLLLoss", (), {"ignore_index": 3}, (X, CLASSES), False),
    "SmoothL1Loss": ("SmoothL1Loss", (), {"beta": 0.4}, (X, X[::-1].copy()), False),
    "SmoothL1Loss 0": ("SmoothL1Loss", (), {"reduction": "sum", "beta": 0.0}, (X, 2 * X), False),
    "SoftMarginLoss": ("SoftMarginLoss", (), {}, (X, np.sign(X)), False),
    "Conv1d": ("Conv1d", (4, 6, 3), {"groups": 2, "padding": 1, "stride": 2}, (SEQUENCE,), False),
    "Conv1d of one": ("Conv1d", (4, 6, 3), {"stride": 2}, (SEQUENCE[0],), False),
    "Conv1d same": ("Conv1d", (4, 2, 3), {"padding": "same", "dilation": 2, "bias": False}, (SEQUENCE,), False),
    "Conv1d reflect": ("Conv1d", (4, 2, 3), {"padding": 2, "padding_mode": "reflect"}, (SEQUENCE,), False),
    "Conv2d": ("Conv2d", (4, 6, (2, 3)), {"groups": 2, "padding": (1, 0), "stride": (1, 2)}, (IMAGE,), False),
    "Conv2d circular": ("Conv2d", (4, 2, 3), {"padding": (1, 2), "padding_mode": "circular"}, (IMAGE,), False),
    "Conv2d of one": ("Conv2d", (4, 6, 3), {"groups": 2, "padding": 1}, (IMAGE[0],), False),
    "Conv2d same": ("Conv2d", (4, 2, (2, 3)), {"padding": "same", "padding_mode": "replicate"}, (IMAGE,), False),
    "Conv3d of one": ("Conv3d", (4, 2, 2), {"padding": 1}, (VOLUME[0],), False),
    "Conv3d": ("Conv3d", (4, 2, 2), {"padding": (0, 1, 1), "stride": (1, 2, 1)}, (VOLUME,), False),
    "Embedding": ("Embedding", (5, 3), {}, (INDICES,), False),
    "Flatten": ("Flatten", (), {}, (IMAGE,), False),
    "Fold": ("Fold", ((4, 5), (2, 2)), {"stride": 2, "padding": (0, 1)}, (filled("f", (1, 8, 6)),), False),
    "Identity": ("Identity", (), {}, (X,), False),
    "Linear": ("Linear", (4, 3), {}, (X,), False),
    "Linear without bias": ("Linear", (7, 3), {"bias": False}, (SEQUENCE,), False),
    "PixelShuffle": ("PixelShuffle", (2,), {}, (IMAGE,), False),
    "Unfold": ("Unfold", ((2, 3),), {"padding": 1, "dilation": (1, 2)}, (IMAGE,), False),
    "AdaptiveAvgPool1d": ("AdaptiveAvgPool1d", (3,), {}, (SEQUENCE,), False),
    "AdaptiveAvgPool2d": ("AdaptiveAvgPool2d", ((2, 3),), {}, (IMAGE,), False),
    "BatchNorm1d": ("BatchNorm1d", (4,), {}, (X,), True),
    "BatchNorm1d in evaluation": ("BatchNorm1d", (4,), {}, (SEQUENCE,), False),
    "BatchNorm2d": ("BatchNorm2d", (4,), {"momentum": None}, (IMAGE,), True),
    "BatchNorm2d of the batch": ("BatchNorm2d", (4,), {"track_running_stats": False, "affine": False}, (IMAGE,), False),
    "BatchNorm3d": ("BatchNorm3d", (4,), {"momentum": 0.3, "eps": 1e-3}, (VOLUME,), True),
    "AdaptiveAvgPool3d": ("AdaptiveAvgPool3d", ((2, 3, 1),), {}, (VOLUME,), False),
    "AdaptiveMaxPool1d": ("AdaptiveMaxPool1d", (3,), {}, (SEQUENCE,), False),
    "AdaptiveMaxPool2d": ("AdaptiveMaxPool2d", ((2, 3),), {}, (IMAGE,), False),
    "AvgPool1d": ("AvgPool1d", (3, 2, 1), {"count_include_pad": False}, (SEQUENCE,), False),
    "AvgPool2d": ("AvgPool2d", ((2, 3),), {"padding": 1, "ceil_mode": True}, (IMAGE,), False),
    "AvgPool2d divided": ("AvgPool2d", (2, 1), {"divisor_override": 3}, (IMAGE,), False),
    "AvgPool3d": ("AvgPool3d", (2,), {"padding": (1, 0, 1), "stride": (1, 2, 1)}, (VOLUME,), False),
    "MaxPool2d": ("MaxPool2d", ((2, 3),), {"padding": 1, "dilation": (1, 2), "stride": 1}, (IMAGE,), False),
    "ConvTranspose2d": (
        "ConvTranspose2d",
        (4, 6, (2, 3)),
        {"stride": 2, "padding": 1, "output_padding": (1, 0), "groups": 2},
        (IMAGE,),
        False,
    ),
    "Upsample cubic": ("Upsample", (), {"size": (7, 4), "mode": "bicubic"}, (IMAGE,), False),
    "Upsample cubic by factors": (
        "Upsample",
        (),
        {"scale_factor": (1.5, 2.0), "mode": "bicubic", "align_corners": False},
        (IMAGE,),
        False,
    ),
    "Upsample": ("Upsample", (), {"scale_factor": 2.0, "mode": "bilinear", "align_corners": False}, (IMAGE,), False),
    "UpsamplingNearest2d": ("UpsamplingNearest2d", ((7, 9),), {}, (IMAGE,), False),
    "UpsamplingBilinear2d": ("UpsamplingBilinear2d", (), {"scale_factor": 2}, (IMAGE,), False),
    "GroupNorm": ("GroupNorm", (2, 4), {}, (IMAGE,), False),
    "LayerNorm": ("LayerNorm", ((5, 6),), {}, (IMAGE,), False),
    "LayerNorm without bias": ("LayerNorm", (4,), {"bias": False}, (X,), False),
    "ConstantPad1d": ("ConstantPad1d", ((2, -1), 3.0), {}, (SEQUENCE,), False),
    "ConstantPad2d": ("ConstantPad2d", (1, 0.5), {}, (IMAGE,), False),
    "ConstantPad3d": ("ConstantPad3d", ((1, 0, 2, 1, 0, 1), 2.0), {}, (VOLUME,), False),
    "ReflectionPad1d": ("ReflectionPad1d", (2,), {}, (SEQUENCE,), False),
    "ReflectionPad2d": ("ReflectionPad2d", ((1, 2, 0, 3),), {}, (IMAGE,), False),
    "ReflectionPad3d": ("ReflectionPad3d", (1,), {}, (VOLUME,), False),
    "ReplicationPad1d": ("ReplicationPad1d", ((1, 3),), {}, (SEQUENCE,), False),
    "ReplicationPad2d": ("ReplicationPad2d", (2,), {}, (IMAGE,), False),
    "ReplicationPad3d": ("ReplicationPad3d", ((1, 0, 2, 1, 0, 1),), {}, (VOLUME,), False),
    "ZeroPad1d": ("ZeroPad1d", ((1, 2),), {}, (SEQUENCE,), False),
    "ZeroPad2d": ("ZeroPad2d", ((1, 2, -1, 0),), {}, (IMAGE,), False),
    "ZeroPad3d": ("ZeroPad3d", (1,), {}, (VOLUME,), False),
}


def numbers(values: Any) -> list[Any]:
    """Rounded, as they are kept."""
    return [round(v, 6) if isinstance(v, float) else v for v in values.reshape(-1).tolist()]


def main() -> None:
    import torch

    found: dict[str, Any] = {}
    for case, (layer, args, kwargs, operands, training) in LAYERS.items():
        made = getattr(torch.nn, layer)(*args, **kwargs).double().train(training)
        with torch.no_grad():
            for name, held in made.state_dict().items():
                held.copy_(torch.from_numpy(filled(name, tuple(held.shape))))
        given = [torch.from_numpy(o).double() if o.dtype == np.float32 else torch.from_numpy(o) for o in operands]
        if given[0].is_floating_point():
            given[0].requires_grad_()
        result = made(*given)
        ((result * torch.cos(torch.arange(result.numel()).double()).reshape(result.shape)).sum()).backward()
        found[case] = {
            "shape": list(result.shape),
            "result": numbers(result),
            "gradient": numbers(given[0].grad) if given[0].is_floating_point() else None,
            "parameters": {n: numbers(p.grad) for n, p in made.named_parameters()},
            "state": {n: numbers(b) for n, b in made.named_buffers()},
        }
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
