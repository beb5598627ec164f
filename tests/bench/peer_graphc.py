"""graphc: one compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cells import training_cell
from workloads import Array

import graphc
from graphc import Tensor, nn


def version() -> str:
    return f"graphc {graphc.__version__}"


def start() -> None:
    """What Numba does once per process, whatever is compiled; and the imports of graphc that wait for the first compilation."""
    import numba

    import graphc.steps.compiled_step  # noqa: F401

    numba.njit("int64(int64)")(lambda x: x)


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    cell = training_cell(workload, variant, weights, nn.AdamW)
    inputs = Tensor(x), Tensor(y)

    def compile() -> Callable[..., float]:
        step = graphc.compile(cell, *inputs)
        if variant == "scaled":
            return lambda *fresh: float(step(*(fresh or inputs))[0])
        return lambda *fresh: float(step(*(fresh or inputs)))

    return compile
