"""PyTorch with torch.compile around the forward pass and the loss; AOTAutograd compiles their gradient with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import peer_torch
import torch
from workloads import Array


def version() -> str:
    return f"torch.compile {torch.__version__}"


def start() -> None:
    x = torch.ones(8, requires_grad=True)
    torch.compile(lambda: (x * 2).sum())().backward()


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    return peer_torch.build(workload, variant, weights, x, y, wrap=torch.compile)
