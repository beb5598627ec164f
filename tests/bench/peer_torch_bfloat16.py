"""PyTorch, eager, with the loss computed under autocast in bfloat16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import peer_torch
import torch
from peer_torch import start, version
from workloads import Array

__all__ = ["build", "start", "version"]


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    def cast(loss_of: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                return loss_of(*given)

        return run

    return peer_torch.build(workload, variant, weights, x, y, wrap=cast)
