"""MindSpore in graph mode on the CPU.

`TrainOneStepWithLossScaleCell` asks for an NPU operator there and fails. The two switches that `build` sets make it
look at the gradients with IsFinite instead, which has CPU kernels; without them there would be no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn, ops
from workloads import LEARNING_RATE, MOMENTUM, SCALE, Array

ms.set_context(mode=ms.GRAPH_MODE)


class LeNet5(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.pool, self.flatten = nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.flatten(self.pool(ops.relu(self.conv2(x))))
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


class MLP(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Dense(784, 512), nn.Dense(512, 512), nn.Dense(512, 10)

    def construct(self, x: Any) -> Any:
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


def version() -> str:
    return f"mindspore {ms.__version__}"


class _Nothing(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x + 1


def start() -> None:
    _Nothing()(Tensor([1.0])).asnumpy()


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    network = LeNet5() if workload == "lenet" else MLP()
    for p in network.get_parameters():
        p.set_data(Tensor(weights[p.name]))
    with_loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(network.trainable_params(), LEARNING_RATE, MOMENTUM)
    if variant == "scaled":
        scale = nn.DynamicLossScaleUpdateCell(SCALE, 2, 1_000_000)
        cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, scale)
        cell.ascend_910b_target, cell.enable_allfinite = True, False
    else:
        cell = nn.TrainOneStepCell(with_loss, optimizer)
    cell.set_train()
    inputs = Tensor(x), Tensor(y)

    def compile() -> Callable[[], float]:
        if variant == "scaled":
            return lambda: float(cell(*inputs)[0].asnumpy())
        return lambda: float(cell(*inputs).asnumpy())

    return compile
