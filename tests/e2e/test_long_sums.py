"""What is made of long sums, values and gradients, against float64: statistics, norms, losses, gradients of what is broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import graphc
from graphc import Tensor, context, nn, ops
from graphc.debug import debug
from graphc.lower import cost
from graphc.ops.declared import reference

Array = np.ndarray[Any, np.dtype[Any]]
#: Of the largest element, or of 1: a few roundings. One accumulator for all terms is off by 1e-4 here.
CLOSE = 4e-6
N = 1 << 17


def two_valued(*shape: int) -> Array:
    """0.1 and 0.3 along every axis that is not short: all deviations from a mean have the same size."""
    lines = np.add.reduce(np.indices(shape), axis=0) % 2
    return np.where(lines, 0.3, 0.1).astype(np.float32)


def ones(*shape: int) -> Array:
    return np.full(shape, 0.7, np.float32)


def _statistics(x: Tensor) -> Any:
    return (
        ops.std(x, 0),
        ops.var(x, 0),
        ops.norm(x),
        ops.mean(x),
        ops.norm(x, 1, 0),
        ops.logsumexp(x, 0),
        ops.cumsum(x, 0),
    )


def _layer_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> Any:
    return ops.square(ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1)(x, gamma, beta)[0])


def _batch_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> Any:
    zero, one = ops.zeros((2,), graphc.float32), ops.ones((2,), graphc.float32)
    return ops.square(ops.batch_norm(x, zero, one, gamma, beta, training=True))


def _losses(x: Tensor, y: Tensor) -> Any:
    return (
        ops.mse_loss(x, y),
        ops.l1_loss(x, y, reduction="sum"),
        ops.smooth_l1_loss(x, y, reduction="mean"),
        ops.binary_cross_entropy_with_logits(x, y, ops.ones_like(x), ops.ones_like(x)),
        ops.kl_div(ops.log(x), y, "sum"),
        ops.cross_entropy(x, ops.softmax(y)),
    )


def _broadcast(x: Tensor, scale: Tensor, bias: Tensor) -> Any:
    return ops.relu(x * scale + bias)


def _dense(x: Tensor, w: Tensor, bias: Tensor) -> Any:
    return ops.relu(ops.bias_add(ops.matmul(x, w), bias))


def _clipped(x: Tensor, y: Tensor) -> Any:
    return ops.clip_by_global_norm((x, y), 1.0), ops.clip_by_norm(x, 1.0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "statistics": (_statistics, (two_valued(N, 2),)),
    "statistics of rows": (lambda x: _statistics(ops.transpose(x, (1, 0))), (two_valued(2, N),)),
    "layer norm of long rows": (_layer_norm, (two_valued(2, N), ones(N), ones(N))),
    "layer norm of many rows": (_layer_norm, (two_valued(N, 4), ones(4), ones(4))),
    "batch norm": (_batch_norm, (two_valued(N // 32, 2, 4, 16), ones(2), ones(2))),
    "losses": (_losses, (two_valued(N, 3), ones(N, 3))),
    "broadcast": (_broadcast, (two_valued(N, 3), ones(3), ones(1))),
    "dense": (_dense, (two_valued(N, 8), ones(8, 3), ones(3))),
    "clipped": (_clipped, (two_valued(N, 2), two_valued(N))),
}


def _leaves(x: Any) -> list[Array]:
    return [leaf for item in x for leaf in _leaves(item)] if isinstance(x, (tuple, list)) else [x.asnumpy()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    function, arrays = PROGRAMS[name]
    inputs = tuple(map(Tensor, arrays))

    class Program(nn.Cell):
        def construct(self, *x: Tensor) -> Any:
            return graphc.value_and_grad(function, tuple(range(len(x))))(*x)

    for threads in (1, 2):
        with patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9), debug(threads=threads):
            step = graphc.compile(Program(), *inputs)
        wanted = reference.run(step.graph, dict(zip(step.graph.inputs, arrays, strict=True))).results
        _check(_leaves(step(*inputs)), wanted, f"{name} on {threads} threads")
    before = context.get_context("mode")
    context.set_context(mode=context.PYNATIVE_MODE)
    try:
        _check(_leaves(Program()(*inputs)), wanted, f"{name} in PYNATIVE_MODE")
    finally:
        context.set_context(mode=before)


def _check(results: list[Array], wanted: list[Array], where: str) -> None:
    for number, (got, want) in enumerate(zip(results, wanted, strict=True)):
        # Gradients of what is normalized are differences of numbers near 1, divided by a deviation of 0.1, times 0.7.
        largest = max(np.abs(want).max(), 7.0 if " norm" in where else 0.0)
        np.testing.assert_allclose(got, want, 0, CLOSE * largest, err_msg=f"result {number} of {where}")
