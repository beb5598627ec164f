"""A step with branches and loops in its forward part."""

from __future__ import annotations

from functools import cache

import numpy as np

import graphc
from graphc import Tensor, nn, ops
from tests.page.steps import compiled


class Branch(nn.Cell):
    """One of two layers, as the data say."""

    def __init__(self) -> None:
        super().__init__()
        self.yes, self.no = nn.Dense(8, 8), nn.Dense(8, 8)

    def construct(self, x):
        if ops.reduce_mean(x) > 0:
            y = ops.relu(self.yes(x))
        else:
            y = ops.tanh(self.no(x)) * 0.5
        return x + y


class Halving(nn.Cell):
    """A loop until the values are small, through which no gradient goes."""

    def construct(self, x):
        scale = ops.stop_gradient(ops.reduce_max(ops.abs(x)))
        bound = Tensor(1.0)
        while scale > bound:
            scale = scale * 0.5
            bound = bound + 0.125
        return x * scale


class Turns(nn.Cell):
    """A loop of known length over the rows, with a state."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Dense(8, 8)

    def construct(self, x):
        def turn(state, row):
            state = ops.tanh(self.mix(state + row))
            return state, state

        return ops.scan(turn, ops.zeros((1, 8), graphc.float32), ops.reshape(x, (6, 1, 8)))[1]


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.branch, self.halving, self.turns = nn.Dense(4, 8), Branch(), Halving(), Turns()
        self.head = nn.Dense(8, 3)

    def construct(self, x):
        x = self.turns(self.halving(self.branch(self.first(x))))
        return self.head(ops.reshape(x, (6, 8)))


@cache
def control():
    """The training step of it, with a loss scale."""
    graphc.set_seed(1)
    net = Net()
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    cell = nn.TrainOneStepWithLossScaleCell(
        loss, nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.DynamicLossScaleUpdateCell(1024, 2, 100)
    )
    cell.set_train()
    return compiled(cell, np.ones((6, 4), np.float32), np.zeros(6, np.int32))
