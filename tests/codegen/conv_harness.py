"""What the tests of convolution kernels share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from graphc_codegen.program import Instr, NamedKernel, written
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


class Convolution(Protocol):
    """A convolution: exact results in float64, and those of its kernels by where they ran."""

    def forward(self, x: Array, weight: Array) -> Array: ...
    def filter_grad(self, x: Array, dy: Array) -> Array: ...
    def run(self, x: Array, weight: Array, transposed: bool) -> dict[str, Array]: ...
    def run_filter_grad(self, x: Array, dy: Array) -> dict[str, Array]: ...


def turned(weight: Array) -> Array:
    """Weights [co, ci, ...] as those of the convolution that is this one's input gradient."""
    return np.ascontiguousarray(np.flip(weight, tuple(range(2, weight.ndim))).swapaxes(0, 1))


def check_convolution(case: Convolution, x: Array, weight: Array, dy: Array, limit: float = 1e-6) -> None:
    """All that a convolution's kernels make is within `limit` of the largest sum of sizes."""
    exact = case.forward(x, weight)
    # An output has the rounding errors of its whole tile.
    scale = 1 + case.forward(np.abs(x), np.abs(weight)).max()
    for transposed, given_weight in ((False, weight), (True, turned(weight))):
        for where, y in case.run(x, given_weight, transposed).items():
            assert np.abs(y - exact).max() <= limit * scale, (where, transposed)
    exact = case.filter_grad(x, dy)
    scale = 1 + case.filter_grad(np.abs(x), np.abs(dy)).max()
    for where, dw in case.run_filter_grad(x, dy).items():
        assert np.abs(dw - exact).max() <= limit * scale, where


def check_errors(found: dict[str, Array], exact: Array, direct: Array, limit: Any) -> None:
    """What kernels have made is off by at most `limit` times as much as what the direct one has: the largest error and the root
    of the mean square. The twin, which is exact, is not asked.
    """
    for where, made in found.items():
        assert where == "twin" or (_errors(made, exact) <= limit * _errors(direct, exact)).all(), where


def _errors(made: Array, exact: Array) -> Array:
    error = np.abs(made.reshape(exact.shape) - exact)
    return np.array([error.max(), np.sqrt(np.square(error).mean())])


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


def check_epilogue(name: str, p: dict[str, Any], x: Array, weight: Array, bias: Array, residual: Array) -> NamedKernel:
    """The kernel with BODY as its epilogue stores that and the plain result, everywhere; returns the fused kernel.

    Its result has the shape of `residual`, [n, co, oh, ow].
    """
    _, plain = run_kernel(name, p, x, weight)
    co, plane = residual.shape[1], residual.shape[2] * residual.shape[3]
    params = p | {"epilogue": BODY, "extras": ((0, 1, 0), (co * plane, plane, 1)), "stores": (6, 0)}
    kernel = NamedKernel(name, tuple(params.items()))
    assert written(kernel) == 3
    wanted = np.maximum(plain.reshape(residual.shape) + bias[:, None, None] + residual, 0)
    for lanes, divided in ((16, False), (8, False), (16, True)):
        made = run_kernel(name, params, x, weight, bias, residual, lanes=lanes, divided=divided)
        np.testing.assert_allclose(made[1].reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(made[2], plain, rtol=1e-4, atol=1e-4)
    _, activated, same = run_twin(name, params, x, weight, bias, residual)
    np.testing.assert_allclose(activated.reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(same, plain, rtol=1e-4, atol=1e-4)
    return kernel
