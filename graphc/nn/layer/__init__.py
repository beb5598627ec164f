"""Layers: Cells with parameters, activations, pooling, containers."""

from graphc.nn.layer.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    FastGelu,
    Hardtanh,
    HShrink,
    HSigmoid,
    HSwish,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    SeLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    SoftShrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
    get_activation,
)  # fmt: skip
from graphc.nn.layer.basic import Dense, Flatten, Identity
from graphc.nn.layer.container import CellList, SequentialCell
from graphc.nn.layer.conv import Conv1d, Conv2d
from graphc.nn.layer.dropout import Dropout
from graphc.nn.layer.embedding import Embedding
from graphc.nn.layer.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, LayerNorm
from graphc.nn.layer.pooling import AvgPool2d, MaxPool2d

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CellList", "Conv1d",
    "Conv2d", "Dense", "Dropout", "Embedding", "FastGelu", "Flatten", "GroupNorm", "HShrink", "HSigmoid", "HSwish",
    "Hardtanh", "Identity", "LayerNorm", "LeakyReLU", "LogSigmoid", "LogSoftmax", "MaxPool2d", "Mish", "PReLU", "ReLU",
    "ReLU6", "SeLU", "SequentialCell", "SiLU", "Sigmoid", "SoftShrink", "Softmax", "Softmin", "Softplus", "Softsign",
    "Tanh", "Tanhshrink", "Threshold", "get_activation",
]  # fmt: skip
