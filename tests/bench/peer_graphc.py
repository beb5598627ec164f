"""graphc: one compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads import LEARNING_RATE, MOMENTUM, SCALE, Array

import graphc
from graphc import Tensor, nn, ops
from graphc.examples.lenet import LeNet5


class MLP(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Dense(784, 512), nn.Dense(512, 512), nn.Dense(512, 10)

    def construct(self, x: Tensor) -> Any:
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


def version() -> str:
    return f"graphc {graphc.__version__}"


def start() -> None:
    """What Numba does once per process, whatever is compiled."""
    import numba

    numba.njit("int64(int64)")(lambda x: x)


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    network = LeNet5() if workload == "lenet" else MLP()
    for p in network.get_parameters():
        p.set_data(weights[p.name])
    with_loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(network.trainable_params(), LEARNING_RATE, MOMENTUM)
    if variant == "scaled":
        scale = nn.DynamicLossScaleUpdateCell(SCALE, 2, 1_000_000)
        cell: nn.Cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, scale)
    else:
        cell = nn.TrainOneStepCell(with_loss, optimizer)
    cell.set_train()
    inputs = Tensor(x), Tensor(y)

    def compile() -> Callable[[], float]:
        step = graphc.compile(cell, *inputs)
        if variant == "scaled":
            return lambda: float(step(*inputs)[0])
        return lambda: float(step(*inputs))

    return compile
