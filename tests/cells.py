"""A Cell of a function: what a test compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import nn


class Of(nn.Cell):
    """Calls a function, or a primitive, with its inputs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def construct(self, *inputs: Any) -> Any:
        return self.function(*inputs)
