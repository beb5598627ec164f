"""Cells: layers, losses, optimizers, training steps, with MindSpore's names. Each is an ordinary Cell over
`graphc.ops`.
"""

from graphc.nn.cell import Cell
from graphc.nn.initializer import (
    Constant,
    HeNormal,
    HeUniform,
    Initializer,
    Normal,
    One,
    TruncatedNormal,
    Uniform,
    XavierUniform,
    Zero,
    initializer,
)  # fmt: skip
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
)  # fmt: skip
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
    "Constant",
    "Conv2d",
    "Dense",
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "Flatten",
    "ForwardValueAndGrad",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "L1Loss",
    "LogSoftmax",
    "LossBase",
    "MSELoss",
    "MaxPool2d",
    "Momentum",
    "Normal",
    "One",
    "Optimizer",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Tanh",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "TruncatedNormal",
    "Uniform",
    "WithEvalCell",
    "WithLossCell",
    "XavierUniform",
    "Zero",
    "get_activation",
    "initializer",
]  # fmt: skip
