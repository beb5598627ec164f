"""Cells: layers, losses, optimizers, training steps, with MindSpore's names.

Each is an ordinary Cell over `graphc.ops`. Initial values of parameters are in `graphc.nn.initializer`.
"""

from graphc.nn import initializer
from graphc.nn.cell import Cell
from graphc.nn.layer import (
    AvgPool2d,
    CellList,
    Conv2d,
    Dense,
    Flatten,
    Identity,
    LogSoftmax,
    MaxPool2d,
    ReLU,
    SequentialCell,
    Sigmoid,
    Softmax,
    Tanh,
    get_activation,
)
from graphc.nn.loss import L1Loss, LossBase, MSELoss, SoftmaxCrossEntropyWithLogits
from graphc.nn.loss_scale import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepWithLossScaleCell,
)
from graphc.nn.optim import SGD, Adam, Momentum, Optimizer
from graphc.nn.wrap import ForwardValueAndGrad, TrainOneStepCell, WithEvalCell, WithLossCell

__all__ = [
    "SGD",
    "Adam",
    "AvgPool2d",
    "Cell",
    "CellList",
    "Conv2d",
    "Dense",
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "Flatten",
    "ForwardValueAndGrad",
    "Identity",
    "L1Loss",
    "LogSoftmax",
    "LossBase",
    "MSELoss",
    "MaxPool2d",
    "Momentum",
    "Optimizer",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Tanh",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "WithEvalCell",
    "WithLossCell",
    "get_activation",
    "initializer",
]
