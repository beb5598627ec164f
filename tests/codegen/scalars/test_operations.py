"""Every scalar operation in every dtype against NumPy, special values included, on 16 and 8 lanes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphc_codegen.errors import CodegenError
from graphc_codegen.program import Instr, LoopKernel, Output
from graphc_codegen.scalars.twins import cast
from graphc_codegen.target import Target
from tests.codegen.loop_harness import AVX2, HOST, contiguous, expected, pointwise, run, run_many

TARGETS = [pytest.param(HOST, id="host"), pytest.param(AVX2, id="avx2")]
FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5, 7.0, -7.0, 1e-5, -1e-5,
     1e10, -1e10, 3e38, -3e38, 2e-38, np.inf, -np.inf, np.nan, 0.1, 1.5, 88.0, -87.0, 16777217.0, 1e6,
     0.99999994, 1.0000001],
    np.float32,
)  # fmt: skip
SMALL = [0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 100, -100, 12345]


def _values(dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "float32":
        return FLOATS
    if dtype == "bool":
        return np.array([False, True])
    limits = np.iinfo(dtype)
    return np.array([*SMALL, limits.max, limits.min, limits.max - 1, limits.min + 1], dtype)


def _pairs(dtype: str, count: int) -> list[np.ndarray[Any, Any]]:
    """All combinations of special values, as flat arrays, with random ones behind them."""
    rng = np.random.default_rng(7)
    grids = np.meshgrid(*[_values(dtype)] * count)
    arrays = [g.ravel() for g in grids]
    if dtype == "float32":
        arrays = [np.concatenate([a, rng.normal(0, 4, 301).astype(np.float32)]) for a in arrays]
    return [np.ascontiguousarray(a) for a in arrays]


def _check(kernel: LoopKernel, arrays: list[Any], target: Target, want: Any, ulp: float) -> None:
    out = np.zeros(kernel.outputs[0].access.size, kernel.outputs[0].access.dtype)
    got = run(kernel, [*arrays, out], target)[-1]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    if got.dtype != np.float32 or ulp == 0:
        np.testing.assert_array_equal(got, want)
        return
    # Denormal results may be flushed to zero.
    np.testing.assert_allclose(got, want, rtol=ulp * 1.2e-7, atol=1.2e-38)


_FLOAT_BINARY: dict[str, tuple[Callable[..., Any], float]] = {
    "add": (np.add, 0), "sub": (np.subtract, 0), "mul": (np.multiply, 0), "div": (np.divide, 0),
    "max": (np.maximum, 0), "min": (np.minimum, 0), "pow": (np.power, 1.5),
    "floordiv": (np.floor_divide, 0), "mod": (np.remainder, 0),
}  # fmt: skip
_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", _FLOAT_BINARY)
def test_float_binary(op: str, target: Target) -> None:
    a, b = _pairs("float32", 2)
    function, ulp = _FLOAT_BINARY[op]
    with np.errstate(all="ignore"):
        want = function(a, b)
    _check(pointwise(op, ["float32"] * 2, "float32", a.size), [a, b], target, want, ulp)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("op", "function"),
    [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum),
     ("floordiv", np.floor_divide), ("mod", np.remainder), ("and", np.bitwise_and), ("or", np.bitwise_or)],
)  # fmt: skip
def test_int_binary(op: str, function: Callable[..., Any], dtype: str, target: Target) -> None:
    a, b = _pairs(dtype, 2)
    with np.errstate(all="ignore"):
        want = function(a, b)
    _check(pointwise(op, [dtype] * 2, dtype, a.size), [a, b], target, want, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_int_pow_wraps_and_keeps_units(dtype: str, target: Target) -> None:
    a, b = _pairs(dtype, 2)
    bits = 8 * a.itemsize

    def power(x: int, y: int) -> int:
        if y < 0:
            return (-1) ** (y & 1) if x == -1 else int(x == 1)
        z = pow(x % 2**bits, y, 2**bits)
        return z - 2**bits if z >= 2 ** (bits - 1) else z

    want = np.array([power(int(x), int(y)) for x, y in zip(a, b, strict=True)], dtype)
    _check(pointwise("pow", [dtype] * 2, dtype, a.size), [a, b], target, want, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "bool"])
@pytest.mark.parametrize("op", _COMPARE)
def test_comparisons(op: str, dtype: str, target: Target) -> None:
    a, b = _pairs(dtype, 2)
    _check(pointwise(op, [dtype] * 2, "bool", a.size), [a, b], target, _COMPARE[op](a, b), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("op", "function"),
    [("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum), ("and", np.logical_and),
     ("or", np.logical_or)],
)  # fmt: skip
def test_bool_binary(op: str, function: Callable[..., Any], target: Target) -> None:
    a, b = _pairs("bool", 2)
    _check(pointwise(op, ["bool"] * 2, "bool", a.size), [a, b], target, function(a, b), 0)


_erf = np.vectorize(math.erf)
_UNARY: dict[str, tuple[Callable[..., Any], float]] = {
    "neg": (np.negative, 0), "abs": (np.abs, 0), "sign": (np.sign, 0), "sqrt": (np.sqrt, 0),
    "floor": (np.floor, 0),
    "exp": (np.exp, 5), "log": (np.log, 5), "tanh": (np.tanh, 5), "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 5),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", _UNARY)
def test_float_unary(op: str, target: Target) -> None:
    (a,) = _pairs("float32", 1)
    function, ulp = _UNARY[op]
    with np.errstate(all="ignore"):
        want = function(a.astype(np.float64)).astype(np.float32)
    _check(pointwise(op, ["float32"], "float32", a.size), [a], target, want, ulp)


@pytest.mark.parametrize("target", TARGETS)
def test_erf_and_isfinite(target: Target) -> None:
    (a,) = _pairs("float32", 1)
    kernel = pointwise("erf", ["float32"], "float32", a.size)
    got = run(kernel, [a, np.zeros_like(a)], target)[-1]
    np.testing.assert_allclose(got, _erf(a.astype(np.float64)), atol=1e-6)
    _check(pointwise("isfinite", ["float32"], "bool", a.size), [a], target, np.isfinite(a), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("op", "function"),
    [("neg", np.negative), ("abs", np.abs), ("sign", np.sign), ("floor", np.copy), ("not", np.invert)],
)
def test_int_unary(op: str, function: Callable[..., Any], dtype: str, target: Target) -> None:
    (a,) = _pairs(dtype, 1)
    _check(pointwise(op, [dtype], dtype, a.size), [a], target, function(a), 0)
    _check(pointwise("isfinite", [dtype], "bool", a.size), [a], target, np.ones(a.size, bool), 0)


@pytest.mark.parametrize("target", TARGETS)
def test_bool_unary(target: Target) -> None:
    (a,) = _pairs("bool", 1)
    _check(pointwise("not", ["bool"], "bool", 2), [a], target, ~a, 0)
    _check(pointwise("abs", ["bool"], "bool", 2), [a], target, a, 0)
    _check(pointwise("isfinite", ["bool"], "bool", 2), [a], target, np.ones(2, bool), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "bool"])
def test_select(dtype: str, target: Target) -> None:
    a, b = _pairs(dtype, 2)
    c = np.arange(a.size) % 3 == 0
    kernel = pointwise("select", ["bool", dtype, dtype], dtype, a.size)
    _check(kernel, [c, a, b], target, np.where(c, a, b), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["float32", "int32", "int64", "bool"])
@pytest.mark.parametrize("result", ["float32", "int32", "int64", "bool"])
def test_cast(source: str, result: str, target: Target) -> None:
    (a,) = _pairs(source, 1)
    want = cast(a, np.dtype(result))
    _check(pointwise("cast", [source], result, a.size), [a], target, want, 0)
    if source == "float32" and result != "float32":
        inside = np.isfinite(a) & (np.abs(a) < 2**31)
        np.testing.assert_array_equal(want[inside], a[inside].astype(result))


def test_cast_saturates() -> None:
    a = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483520.0], np.float32)
    kernel = pointwise("cast", ["float32"], "int32", a.size)
    got = run(kernel, [a, np.zeros(a.size, np.int32)])[-1]
    assert got.tolist() == [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 2147483520]


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 5.0, 16.0, -1.0, -2.0, 0.5, -0.5, 17.0, 2.5, np.inf, np.nan])
def test_pow_with_a_constant_exponent(exponent: float) -> None:
    (a,) = _pairs("float32", 1)
    if abs(exponent) == 0.5:
        a = a[a != -np.inf]  # a square root: NaN where C's pow has infinity
    exact = a.astype(np.float64)
    with np.errstate(all="ignore"):
        want = np.power(exact, exponent).astype(np.float32)
    _check(pointwise("pow", ["float32"] * 2, "float32", a.size, (1, exponent)), [a], HOST, want, 9)


@pytest.mark.parametrize("constant", [0.0, 1.5, -np.inf, np.nan])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("op", ["max", "min"])
def test_extrema_with_a_constant_keep_nan(op: str, position: int, constant: float) -> None:
    (a,) = _pairs("float32", 1)
    want = {"max": np.maximum, "min": np.minimum}[op](a, np.float32(constant))
    _check(pointwise(op, ["float32"] * 2, "float32", a.size, (position, constant)), [a], HOST, want, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("op", "low", "high", "function"),
    [("exp", -90, 89, np.exp), ("log", 1e-30, 1e30, np.log), ("tanh", -12, 12, np.tanh),
     ("sigmoid", -80, 80, lambda x: 1 / (1 + np.exp(-x)))],
)  # fmt: skip
def test_accuracy(op: str, low: float, high: float, function: Callable[..., Any], target: Target) -> None:
    a = np.linspace(low, high, 40_001).astype(np.float32)
    got = run(pointwise(op, ["float32"], "float32", a.size), [a, np.zeros_like(a)], target)[-1].astype(np.float64)
    want = function(a.astype(np.float64))
    normal = (np.abs(want) > 1.2e-38) & (np.abs(want) < 3.4e38)
    ulp = np.spacing(np.abs(want[normal]).astype(np.float32)).astype(np.float64)
    assert (np.abs(got[normal] - want[normal]) / ulp).max() <= 5


@pytest.mark.parametrize("target", TARGETS)
def test_pow_accuracy(target: Target) -> None:
    rng = np.random.default_rng(3)
    a = rng.uniform(0, 50, 20_000).astype(np.float32)
    b = rng.uniform(-20, 20, a.size).astype(np.float32)
    got = run(pointwise("pow", ["float32"] * 2, "float32", a.size), [a, b, np.zeros_like(a)], target)[-1]
    want = np.power(a.astype(np.float64), b)
    normal = (want > 1.2e-38) & (want < 3.4e38)
    ulp = np.spacing(want[normal].astype(np.float32)).astype(np.float64)
    assert (np.abs(got[normal] - want[normal]) / ulp).max() <= 1.01


def test_mod_of_far_apart_floats_is_exact() -> None:
    rng = np.random.default_rng(5)
    a = np.ldexp(rng.uniform(-2, 2, 4000), rng.integers(-100, 126, 4000)).astype(np.float32)
    b = np.ldexp(rng.uniform(-2, 2, 4000), rng.integers(-100, 126, 4000)).astype(np.float32)
    _check(pointwise("mod", ["float32"] * 2, "float32", a.size), [a, b], HOST, np.remainder(a, b), 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_iota(dtype: str, target: Target) -> None:
    shape = (5, 1, 37)
    for axis in range(3):
        kernel = LoopKernel(
            shape, (False,) * 3, (), (Instr("iota", (), dtype, axis),), (Output(contiguous(shape, dtype), 0),)
        )
        got = run(kernel, [np.zeros(185, dtype)], target)[0].reshape(shape)
        np.testing.assert_array_equal(got, np.indices(shape)[axis])


@pytest.mark.parametrize(
    ("op", "args", "result"),
    [("div", ["int32"] * 2, "int32"), ("exp", ["int32"], "int32"), ("sub", ["bool"] * 2, "bool"),
     ("neg", ["bool"], "bool"), ("and", ["float32"] * 2, "float32"), ("add", ["int32", "int64"], "int64"),
     ("eq", ["int32"] * 2, "int32"), ("nothing", ["int32"], "int32"), ("abs", ["int32"] * 2, "int32")],
)  # fmt: skip
def test_operations_without_meaning_are_refused(op: str, args: list[str], result: str) -> None:
    kernel = pointwise(op, args, result, 4)
    arrays = [np.zeros(4, t) for t in [*args, result]]
    with pytest.raises(CodegenError, match=op):
        run(kernel, arrays)


def test_twin_agrees_with_numpy_on_every_operation() -> None:
    jobs = []
    for op, (function, _) in _FLOAT_BINARY.items():
        a, b = _pairs("float32", 2)
        with np.errstate(all="ignore"):
            want = function(a, b)
        jobs.append((pointwise(op, ["float32"] * 2, "float32", a.size), [a, b, np.zeros_like(a)], want))
    for kernel, arrays, want in jobs:
        np.testing.assert_array_equal(expected(kernel, arrays)[-1], want)
    assert len(run_many([(k, a) for k, a, _ in jobs])) == len(jobs)
