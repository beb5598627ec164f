"""What the tests of convolution kernels share."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc_codegen.program import Instr
from tests.codegen.kernel_harness import Array, run_kernel, run_twin

#: An epilogue: max(result + bias + residual, 0).
BODY = (
    Instr("input", (), "float32", 0),
    Instr("input", (), "float32", 1),
    Instr("input", (), "float32", 2),
    Instr("add", (0, 1)),
    Instr("add", (3, 2)),
    Instr("const", (), "float32", 0.0),
    Instr("max", (4, 5)),
)


def run_everywhere(name: str, params: dict[str, Any], shape: tuple[int, ...], *inputs: Array) -> dict[str, Array]:
    """The result of the kernel with 16, 8 and 4 lanes, by three threads, and of its twin, without scratch memory."""
    results = {
        "16 lanes": run_kernel(name, params, *inputs, lanes=16),
        "8 lanes": run_kernel(name, params, *inputs, lanes=8),
        "4 lanes": run_kernel(name, params, *inputs, lanes=4),
        "3 threads": run_kernel(name, params, *inputs, divided=True),
        "twin": run_twin(name, params, *inputs),
    }
    return {where: made[-1].reshape(shape) for where, made in results.items()}


def padded(x: Array, pad: tuple[int, int, int, int]) -> Array:
    """Images with (top, bottom, left, right) zeros around them."""
    return np.pad(x, ((0, 0), (0, 0), pad[:2], pad[2:]))
