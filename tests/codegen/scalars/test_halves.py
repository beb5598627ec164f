"""float16 and bfloat16 in loop kernels against NumPy and ml_dtypes, op by op, on 16, 8 and 4 lanes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphc_codegen.object_code import llvm_modules, loading
from graphc_codegen.program import Instr, LoopKernel, Output, symbol
from graphc_codegen.scalars.halves import nearest, numpy_dtype
from graphc_codegen.target import Target, describe
from graphc_codegen.text import render
from tests.codegen.loop_harness import AVX2, HOST, contiguous, expected, pointwise, run, run_many

#: On ARM NumPy says so of signalling NaN.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")

Array = np.ndarray[Any, np.dtype[Any]]
#: A processor without conversion instructions: 4 lanes.
SSE = describe(HOST.triple, "nehalem", {"sse4.1": True, "avx": False})
TARGETS = [pytest.param(HOST, id="host"), pytest.param(AVX2, id="avx2"), pytest.param(SSE, id="sse")]
TYPES: dict[str, np.dtype[Any]] = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
PATTERNS = np.arange(65536, dtype=np.uint16)
SPECIALS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -2.5, 7.0, 16.0, 0.1, -0.3, 11.0, -11.0, 2048.0, 65504.0, -65504.0,
    40000.0, 6.1035156e-05, 5.9604645e-08, -5.9604645e-08, 3e-05, math.inf, -math.inf, math.nan,
]  # fmt: skip

half_types = pytest.mark.parametrize("dtype", TYPES)
targets = pytest.mark.parametrize("target", TARGETS)


def values(dtype: str, count: int, seed: int = 3) -> Array:
    """Special values, then random ones of all magnitudes, among them float16's denormals."""
    rng = np.random.default_rng(seed)
    random = rng.normal(0, 1, count) * 2.0 ** rng.integers(-24, 15, count)
    return np.concatenate([SPECIALS, random])[:count].astype(np.float32).astype(TYPES[dtype])


def pairs(dtype: str) -> tuple[Array, Array]:
    """All combinations of special values and as many random pairs; an odd number, so that tails occur."""
    a, b = np.meshgrid(values(dtype, len(SPECIALS)), values(dtype, len(SPECIALS)))
    more = values(dtype, 800, 5)[len(SPECIALS) :], values(dtype, 800, 6)[len(SPECIALS) :]
    return np.concatenate([a.ravel(), more[0]]), np.concatenate([b.ravel(), more[1]])


def ulps(got: Array, want: Array, *, denormals: bool = True) -> int:
    """The largest distance in steps of the half type; NaN only equals NaN. Zeros of both signs are equal.

    Without `denormals` those of bfloat16 count as zero: elementary functions flush them.
    """
    assert got.dtype == want.dtype
    nan = np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), nan)
    sides = [x.view(np.uint16).astype(np.int64) for x in (got[~nan], want[~nan])]
    if not denormals:
        sides = [np.where(bits & 0x7FFF < 0x0080, 0, bits) for bits in sides]
    places = [np.where(bits & 0x8000, -(bits & 0x7FFF), bits) for bits in sides]
    return int(np.abs(places[0] - places[1]).max(initial=0))


def keeps_denormals(dtype: str, target: Target) -> bool:
    """Whether rounding to the half type keeps them: the instruction for bfloat16 does not."""
    return dtype == "float16" or not target.bfloat16


def exact(kernel: LoopKernel, arrays: list[Array], target: Target, want: Array) -> None:
    """Native code and twin both give `want`, signs of zeros included; but for denormals that native code need not keep."""
    arrays = [*arrays, np.zeros(kernel.outputs[0].access.size, want.dtype)]
    denormals = keeps_denormals(want.dtype.name, target)
    for got, all in ((run(kernel, arrays, target)[-1], denormals), (expected(kernel, arrays)[-1], True)):
        assert got.dtype == want.dtype
        if want.dtype.itemsize != 2:
            np.testing.assert_array_equal(got, want)
            continue
        assert ulps(got, want, denormals=all) == 0
        number = ~np.isnan(want.astype(np.float32))
        if not all:
            number &= np.abs(want.astype(np.float32)) >= np.float32(2.0**-126)
        np.testing.assert_array_equal(got.view(np.uint16)[number], want.view(np.uint16)[number])


# ---- conversions


@targets
@half_types
def test_every_pattern_survives_the_way_to_float32_and_back(dtype: str, target: Target) -> None:
    x = PATTERNS.view(TYPES[dtype])
    there, back = pointwise("cast", [dtype], "float32", 65536), pointwise("cast", ["float32"], dtype, 65536)
    wide = run(there, [x, np.zeros(65536, np.float32)], target)[-1]
    want = x.astype(np.float32)
    nan = np.isnan(want)
    np.testing.assert_array_equal(wide.view(np.uint32)[~nan], want.view(np.uint32)[~nan])
    assert np.isnan(wide[nan]).all()
    got = run(back, [wide, np.zeros(65536, x.dtype)], target)[-1].view(np.uint16)
    # A signalling NaN may have become quiet; sign and payload are those of before.
    quiet = np.uint16(0x0200 if dtype == "float16" else 0x0040)
    kept = np.where(nan, PATTERNS | quiet, PATTERNS)
    if not keeps_denormals(dtype, target):
        kept = np.where(PATTERNS & 0x7F80, kept, PATTERNS & 0x8000)
    np.testing.assert_array_equal(got, kept)


@targets
@half_types
def test_float32_is_rounded_to_nearest_even(dtype: str, target: Target) -> None:
    rng = np.random.default_rng(1)
    middle = 12 if dtype == "float16" else 15
    steps = [s << k for k in (0, middle, middle + 1) for s in (-1, 0, 1)] + [(1 << middle) + 1, (1 << middle) - 1]
    near = PATTERNS.view(TYPES[dtype]).astype(np.float32).view(np.uint32)
    bits = np.concatenate([near + np.uint32(s % 2**32) for s in steps])
    x = np.concatenate([bits, rng.integers(0, 2**32, 1 << 18, dtype=np.uint32)]).view(np.float32)
    if not keeps_denormals(dtype, target):
        # Not those of float32 either, of which the largest would be rounded to a normal number.
        x = x[~(np.abs(x) < np.float32(2.0**-126))]
    with np.errstate(all="ignore"):
        want = x.astype(TYPES[dtype])
    exact(pointwise("cast", ["float32"], dtype, x.size), [x], target, want)


@targets
@half_types
def test_casts_to_and_from_every_dtype(dtype: str, target: Target) -> None:
    half = TYPES[dtype]
    x = values(dtype, 301)
    other = "bfloat16" if dtype == "float16" else "float16"
    with np.errstate(all="ignore"):
        exact(pointwise("cast", [dtype], other, x.size), [x], target, x.astype(np.float32).astype(TYPES[other]))
    exact(pointwise("cast", [dtype], "bool", x.size), [x], target, x.astype(np.float32) != 0)
    for name in ("int32", "int64"):
        limits = np.iinfo(name)
        wide = [0 if math.isnan(v) else v if math.isinf(v) else math.trunc(v) for v in map(float, x)]
        want = np.array([int(min(max(v, limits.min), limits.max)) for v in wide], name)
        exact(pointwise("cast", [dtype], name, x.size), [x], target, want)
        numbers = np.array([0, 1, -1, 2047, 2049, 2051, 257, 259, 65504, 65519, 65520, -65520, limits.min, limits.max])
        n = numbers.astype(name)
        with np.errstate(all="ignore"):
            want = n.astype(np.float32).astype(half)
        exact(pointwise("cast", [name], dtype, n.size), [n], target, want)
    flags = np.array([True, False, True])
    exact(pointwise("cast", ["bool"], dtype, 3), [flags], target, flags.astype(half))


@half_types
def test_constants_are_rounded_to_the_type(dtype: str) -> None:
    rng = np.random.default_rng(2)
    edges = [65504.0, 65519.99, 65520.0, -65520.0, 1e6, 1e300, 2.0**-25, 2.0**-25 * 1.001, 2049.0, 2051.0, 257.0, 259.0]
    random = rng.normal(0, 1, 2000) * 2.0 ** rng.integers(-30, 20, 2000)
    x = np.concatenate([SPECIALS, edges, [3.39e38, 3.3961e38, 3.4e38], random])
    with np.errstate(all="ignore"):
        want = x.astype(TYPES[dtype]) if dtype == "float16" else x.astype(np.float32).astype(TYPES[dtype])
    got = np.array([nearest(float(v), dtype) for v in x])
    np.testing.assert_array_equal(got, want.astype(np.float64))
    for number in (0.1, 65519.99, 65520.0, 1e-7, math.nan, -math.inf, 3, True):
        kernel = LoopKernel(
            (5,), (False,), (), (Instr("const", (), dtype, number),), (Output(contiguous((5,), dtype), 0),)
        )
        with np.errstate(all="ignore"):
            exact(kernel, [], HOST, np.full(5, number, np.float32).astype(TYPES[dtype]))


@half_types
def test_a_constant_exponent_is_rounded_too(dtype: str) -> None:
    x = values(dtype, 177)
    with np.errstate(all="ignore"):
        want = np.power(x, np.full(1, 3.0004, np.float32).astype(x.dtype))
    got = run(pointwise("pow", [dtype] * 2, dtype, 177, (1, 3.0004)), [x, np.zeros_like(x)])[-1]
    assert nearest(3.0004, dtype) == 3
    assert ulps(got, want) <= 1


def test_no_conversion_calls_a_function() -> None:
    x = values("float16", 40)
    kernel = pointwise("tanh", ["float16"], "float16", 40)
    for target in (HOST, AVX2, SSE):
        text = render.render_kernels({symbol(kernel): kernel}, target)
        assert (" half" in text) == (target.lanes >= 8)
        # Loading refuses an object with a symbol that does not exist.
        loading.load([llvm_modules.compile_module(text, target)], [symbol(kernel)], target)
        assert ulps(run(kernel, [x, np.zeros_like(x)], target)[-1], np.tanh(x)) <= 1


# ---- operations


def _erf(x: Array) -> Array:
    return np.asarray([math.erf(float(v)) for v in x]).astype(x.dtype)


def _through_double(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    return lambda x: np.asarray(function(x.astype(np.float64))).astype(x.dtype)


#: The function in the half type, and how many steps of it native code and twin may be away.
BINARY: dict[str, tuple[Callable[..., Any], int]] = {
    "add": (np.add, 0), "sub": (np.subtract, 0), "mul": (np.multiply, 0), "div": (np.divide, 0),
    "max": (np.maximum, 0), "min": (np.minimum, 0), "floordiv": (np.floor_divide, 0), "mod": (np.remainder, 0),
    "pow": (np.power, 1),
}  # fmt: skip
UNARY: dict[str, tuple[Callable[[Any], Any], int]] = {
    "neg": (np.negative, 0), "abs": (np.abs, 0), "sign": (np.sign, 0), "floor": (np.floor, 0), "sqrt": (np.sqrt, 0),
    "round": (np.rint, 0),
    "exp": (np.exp, 1), "log": (np.log, 1), "tanh": (np.tanh, 1), "erf": (_erf, 1),
    "rsqrt": (_through_double(lambda x: 1 / np.sqrt(x)), 1),
    "sigmoid": (_through_double(lambda x: 1 / (1 + np.exp(-x))), 1),
}  # fmt: skip
COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


@targets
@half_types
def test_binary_operations(dtype: str, target: Target) -> None:
    a, b = pairs(dtype)
    out = np.zeros_like(a)
    jobs = [(pointwise(op, [dtype] * 2, dtype, a.size), [a, b, out]) for op in BINARY]
    for op, (kernel, arrays), got in zip(BINARY, jobs, run_many(jobs, target), strict=True):
        function, allowed = BINARY[op]
        with np.errstate(all="ignore"):
            want = function(a, b)
        assert ulps(got[-1], want, denormals=keeps_denormals(dtype, target)) <= allowed, op
        assert ulps(expected(kernel, arrays)[-1], want) <= allowed, op


@targets
@half_types
def test_unary_operations(dtype: str, target: Target) -> None:
    x = values(dtype, 1501)
    jobs = [(pointwise(op, [dtype], dtype, x.size), [x, np.zeros_like(x)]) for op in UNARY]
    for op, (kernel, arrays), got in zip(UNARY, jobs, run_many(jobs, target), strict=True):
        function, allowed = UNARY[op]
        denormals = dtype == "float16" or allowed == 0
        with np.errstate(all="ignore"):
            want = function(x)
        assert ulps(got[-1], want, denormals=denormals) <= allowed, op
        assert ulps(expected(kernel, arrays)[-1], want, denormals=denormals) <= allowed, op


@targets
@half_types
def test_square_roots_and_reciprocals_of_every_number(dtype: str, target: Target) -> None:
    x = PATTERNS.view(TYPES[dtype])
    one = np.ones(1, x.dtype)
    with np.errstate(all="ignore"):
        roots, reciprocals = np.sqrt(x), one / x
    got = run(pointwise("sqrt", [dtype], dtype, x.size), [x, np.zeros_like(x)], target)[-1]
    assert ulps(got, roots) == 0
    got = run(pointwise("div", [dtype] * 2, dtype, x.size, (0, 1.0)), [x, np.zeros_like(x)], target)[-1]
    assert ulps(got, reciprocals, denormals=keeps_denormals(dtype, target)) == 0


@targets
@half_types
def test_tests_and_choices(dtype: str, target: Target) -> None:
    a, b = pairs(dtype)
    for op, function in COMPARE.items():
        with np.errstate(invalid="ignore"):
            want = function(a, b)
        exact(pointwise(op, [dtype] * 2, "bool", a.size), [a, b], target, want)
    every = PATTERNS.view(TYPES[dtype])
    exact(pointwise("isfinite", [dtype], "bool", 65536), [every], target, np.isfinite(every.astype(np.float32)))
    flags = np.random.default_rng(0).random(a.size) < 0.5
    exact(pointwise("select", ["bool", dtype, dtype], dtype, a.size), [flags, a, b], target, np.where(flags, a, b))


@targets
def test_the_largest_float16(target: Target) -> None:
    a = np.array([65504, 65504, 65504, -65504, 40000, 40000, 65504], np.float16)
    b = np.array([15, 16, 32, -16, 40000, -40000, 1], np.float16)
    with np.errstate(over="ignore"):
        sums, products = a + b, a * np.float16(2)
    assert sums.tolist() == [65504, np.inf, np.inf, -np.inf, np.inf, 0, 65504]
    assert np.isinf(products).all()
    exact(pointwise("add", ["float16"] * 2, "float16", 7), [a, b], target, sums)
    exact(pointwise("mul", ["float16"] * 2, "float16", 7, (1, 2.0)), [a], target, products)


@targets
@half_types
def test_every_operation_of_a_fused_body_is_rounded(dtype: str, target: Target) -> None:
    arrays = [values(dtype, 1003, seed) for seed in (11, 12, 13)]
    body = (
        *(Instr("input", (), dtype, k) for k in range(3)),
        Instr("mul", (0, 1), dtype), Instr("add", (3, 2), dtype), Instr("const", (), dtype, 0.1),
        Instr("mul", (4, 5), dtype), Instr("sub", (6, 0), dtype), Instr("div", (7, 1), dtype),
    )  # fmt: skip
    access = contiguous((1003,), dtype)
    kernel = LoopKernel((1003,), (False,), (access,) * 3, body, (Output(access, 8),))
    a, b, c = arrays
    with np.errstate(all="ignore"):
        want = ((a * b + c) * np.full(1, nearest(0.1, dtype), a.dtype) - a) / b
        unrounded = (a.astype(np.float32) * b + c).astype(a.dtype)
        assert (unrounded != (a * b + c)).sum() > 20  # rounding late is another function
    exact(kernel, arrays, target, want)


@targets
@half_types
@pytest.mark.parametrize("n", [3001, 70000])
def test_iota(dtype: str, n: int, target: Target) -> None:
    access = contiguous((n,), dtype)
    kernel = LoopKernel((n,), (False,), (), (Instr("iota", (), dtype, 0),), (Output(access, 0),))
    with np.errstate(over="ignore"):
        want = np.arange(n).astype(np.float32).astype(TYPES[dtype])
    exact(kernel, [], target, want)


@half_types
def test_numpy_dtypes(dtype: str) -> None:
    assert numpy_dtype(dtype) == TYPES[dtype]
    assert numpy_dtype(dtype).itemsize == 2
