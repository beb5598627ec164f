"""Sine and cosine against double precision, on all widths of vector."""

from __future__ import annotations

import numpy as np
import pytest

from graphc_codegen.program import Access, Instr, LoopKernel, Output
from tests.codegen import loop_harness

RNG = np.random.default_rng(0)
ARGUMENTS = np.concatenate(
    [RNG.uniform(-scale, scale, 500) for scale in (0.01, 1, 10, 1e4, 3e5, 1e8, 1e14)]
    + [np.arange(-40, 41) * np.pi / 4, [0.0, -0.0, 1e-30, np.inf, -np.inf, np.nan, 1e30]]
).astype(np.float32)


def evaluate(op, target, arguments=ARGUMENTS):
    size = arguments.size
    access = Access("float32", (1,), 0, size)
    body = (Instr("input", imm=0), Instr(op, (0,)))
    kernel = LoopKernel((size,), (False,), (access,), body, (Output(access, 1),))
    return loop_harness.run(kernel, [arguments, np.zeros(size, np.float32)], target)[1]


@pytest.mark.parametrize("target", [loop_harness.HOST, loop_harness.AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize("op", ["sin", "cos"])
def test_as_good_as_float32_can_be(op, target):
    got = evaluate(op, target)
    with np.errstate(invalid="ignore"):
        expected = getattr(np, op)(ARGUMENTS.astype(np.float64))
    known = np.abs(ARGUMENTS) < 2.0**51
    np.testing.assert_allclose(got[known], expected[known], rtol=2e-7, atol=2e-8)
    assert np.isnan(got[~known]).all()


@pytest.mark.parametrize("other", [1.0, 1e9])
def test_sine_keeps_the_sign_of_zero(other):
    """Beside numbers that are near, and those that are far."""
    got = evaluate("sin", loop_harness.HOST, np.array([0.0, -0.0, other] * 16, np.float32))
    assert np.signbit(got[0::3]).tolist() == [False] * 16
    assert np.signbit(got[1::3]).tolist() == [True] * 16
