"""Ops that NumPy or SciPy computes, in compiled steps, which call Python back."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops


class Calls(nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.svd(x)[0], lambda x: ops.qr(x)[1], ops.matrix_exp, ops.bessel_k0, ops.bessel_i0,
        lambda x: ops.igamma(x, x + 1), lambda x: ops.polygamma(Tensor(1), x), lambda x: ops.norm(x, "nuc"),
    ],
)  # fmt: skip
def test_what_python_computes_is_called_back(function, mode_again):
    """The bits of eager calls, gradients too, in loops and under vmap."""

    def loop(x):
        n = Tensor(2)
        while n > 0:
            x, n = x + function(x).sum() * 0.01, n - 1
        return x

    def total(x):
        return function(x).sum()

    def total_of_loop(x):
        return loop(x).sum()

    given = Tensor(np.random.default_rng(0).uniform(0.1, 2.0, (3, 3)).astype(np.float32))
    rows = ops.stack([given, given + 1])
    functions = [function, loop, graphc.grad(total), graphc.grad(total_of_loop), ops.vmap(function)]
    inputs = [given] * 4 + [rows]
    made = [graphc.jit(Calls(f))(x).asnumpy() for f, x in zip(functions, inputs, strict=True)]
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    for got, f, x in zip(made, functions, inputs, strict=True):
        np.testing.assert_allclose(got, f(x).asnumpy(), rtol=2e-5, atol=2e-5)


def test_what_python_computes_is_not_exported(tmp_path):
    class Bessel(nn.Cell):
        def construct(self, x):
            return ops.bessel_i0(x)

    with pytest.raises(graphc.ExportError, match="the step calls BesselI0, which this process alone has"):
        graphc.compile(Bessel(), np.ones(3, np.float32)).export(tmp_path / "a")
