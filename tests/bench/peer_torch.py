"""PyTorch, eager; loss scaling by torch.amp.GradScaler, which a fused optimizer understands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from workloads import LEARNING_RATE, MOMENTUM, SCALE, Array

torch.set_num_threads(1)


class LeNet5(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 6, 5), torch.nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = torch.nn.Linear(400, 120), torch.nn.Linear(120, 84), torch.nn.Linear(84, 10)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x.flatten(1))))))


class MLP(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = torch.nn.Linear(784, 512), torch.nn.Linear(512, 512), torch.nn.Linear(512, 10)

    def forward(self, x: Any) -> Any:
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def version() -> str:
    return f"torch {torch.__version__}"


def start() -> None:
    torch.ones(1, requires_grad=True).square().backward()


def build(
    workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array, wrap: Callable[..., Any] = lambda f: f
) -> Callable[[], Any]:
    network = LeNet5() if workload == "lenet" else MLP()
    network.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()})
    optimizer = torch.optim.SGD(network.parameters(), LEARNING_RATE, momentum=MOMENTUM, fused=True)
    images, labels = torch.from_numpy(x), torch.from_numpy(y).long()

    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE, growth_interval=1_000_000, enabled=variant == "scaled")

    def compile() -> Callable[[], float]:
        loss_of = wrap(lambda: F.cross_entropy(network(images), labels))

        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of()
            # A scaler that is not enabled does nothing.
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return float(loss.item())

        return step

    return compile
