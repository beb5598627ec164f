"""Shifts, exclusive or and rounding in loop kernels, on 16 and 8 lanes, and in their twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphc_codegen.loops.twin import twin
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.target import Target
from tests.codegen.loop_harness import AVX2, HOST, pointwise, run

TARGETS = [pytest.param(HOST, id="host"), pytest.param(AVX2, id="avx2")]


def both(op: str, operands: list[Any], dtype: str, target: Target) -> list[Any]:
    kernel = pointwise(op, [dtype] * len(operands), dtype, operands[0].size)
    out = np.zeros_like(operands[0])
    native = run(kernel, [*operands, out], target)[-1]
    checked = np.zeros_like(out)
    twin(kernel, *operands, checked)
    return [native, checked]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_bits_of_integers(dtype: str, target: Target) -> None:
    width = np.dtype(dtype).itemsize * 8
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    x = np.concatenate([rng.integers(limits.min, limits.max, 200), [0, -1, limits.min, limits.max]]).astype(dtype)
    y = x[::-1].copy()
    shifts = (np.arange(x.size) % width).astype(dtype)
    logical = [_signed((int(a) % 2**width) >> int(n), width) for a, n in zip(x, shifts, strict=True)]
    for got in both("shr", [x, shifts], dtype, target):
        np.testing.assert_array_equal(got, logical)
    for got in both("xor", [x, y], dtype, target):
        np.testing.assert_array_equal(got, x ^ y)
    for got in both("round", [x], dtype, target):
        np.testing.assert_array_equal(got, x)


def _signed(value: int, width: int) -> int:
    return value - 2**width if value >= 2 ** (width - 1) else value


@pytest.mark.parametrize("target", TARGETS)
def test_exclusive_or_of_bools(target: Target) -> None:
    x, y = np.arange(40) % 2 == 0, np.arange(40) % 3 == 0
    for got in both("xor", [x, y], "bool", target):
        np.testing.assert_array_equal(got, x ^ y)


@pytest.mark.parametrize("target", TARGETS)
def test_round_takes_halves_to_even(target: Target) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388607.5, 1e30, np.inf, -np.inf, np.nan, -0.0], np.float32)
    for got in both("round", [x], "float32", target):
        np.testing.assert_array_equal(got, np.round(x))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(np.round(x)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_a_constant_keeps_the_sign_of_zero(dtype: str) -> None:
    access = Access(dtype, (1,), 0, 3)
    kernel = LoopKernel((3,), (False,), (), (Instr("const", (), dtype, -0.0),), (Output(access, 0),))
    (native,) = run(kernel, [np.ones(3, dtype)])
    checked = np.ones(3, dtype)
    twin(kernel, checked)
    assert np.signbit(native).all()
    assert np.signbit(checked).all()
