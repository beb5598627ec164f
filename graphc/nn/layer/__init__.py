"""Layers: Cells with parameters, activations, pooling, containers."""

from graphc.nn.layer.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, get_activation
from graphc.nn.layer.basic import Dense, Flatten, Identity
from graphc.nn.layer.container import CellList, SequentialCell
from graphc.nn.layer.conv import Conv2d
from graphc.nn.layer.pooling import AvgPool2d, MaxPool2d

__all__ = [
    "AvgPool2d", "CellList", "Conv2d", "Dense", "Flatten", "Identity", "LogSoftmax", "MaxPool2d", "ReLU",
    "SequentialCell", "Sigmoid", "Softmax", "Tanh", "get_activation",
]  # fmt: skip
