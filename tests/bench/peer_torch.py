"""PyTorch, eager."""

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
    parameters = list(network.parameters())
    optimizer = torch.optim.SGD(parameters, LEARNING_RATE, momentum=MOMENTUM, fused=True)
    images, labels = torch.from_numpy(x), torch.from_numpy(y).long()

    def compile() -> Callable[[], float]:
        loss_of = wrap(lambda: F.cross_entropy(network(images), labels))

        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of()
            if variant == "scaled":
                (loss * SCALE).backward()
                gradients = [p.grad for p in parameters]
                torch._foreach_mul_(gradients, 1 / SCALE)
                # What torch.amp.GradScaler does on a GPU: one look at all gradients, then the update or none.
                norms = torch._foreach_norm(gradients, float("inf"))
                if torch.isfinite(torch.stack(norms)).all():
                    optimizer.step()
            else:
                loss.backward()
                optimizer.step()
            return float(loss.item())

        return step

    return compile
