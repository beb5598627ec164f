"""float64, int8, int16 and uint8 in loop kernels against NumPy, op by op, on 16, 8 and 4 lanes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import Instr, LoopKernel, Output
from graphc_codegen.target import Target, describe
from tests.codegen.loop_harness import AVX2, HOST, contiguous, expected, pointwise, run, run_many

Array = np.ndarray[Any, np.dtype[Any]]
#: A processor without conversion instructions and without a fused multiply-add: 4 lanes.
SSE = describe(HOST.triple, "nehalem", {"sse4.1": True, "avx": False})
targets = pytest.mark.parametrize(
    "target", [pytest.param(HOST, id="host"), pytest.param(AVX2, id="avx2"), pytest.param(SSE, id="sse")]
)
SMALL = ["int8", "int16", "uint8"]
small_types = pytest.mark.parametrize("dtype", SMALL)
DOUBLES = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5, 3.5, 7.0, -7.0, 0.1, 1e-5, 1e17, -1e17, 1e300,
     -1e300, 1.7e308, 2.3e-308, 1e-200, 2.0**53, 2.0**53 - 1, -(2.0**52) - 1, 127.5, -128.5, 255.5, 256.0, -0.9, 32768.0,
     2147483648.0, 9.3e18, -9.3e18, 709.0, -707.0, 1 + 2.0**-52, 1 - 2.0**-53, np.inf, -np.inf, np.nan],
)  # fmt: skip


def numpy_type(dtype: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def integers(dtype: str) -> Array:
    """All numbers of a byte, special ones of a wider type."""
    limits = np.iinfo(dtype)
    if limits.bits == 8:
        return np.arange(limits.min, limits.max + 1).astype(dtype)
    special = [0, 1, -1, 2, -2, 3, 7, -7, 10, 100, 255, 256, -128, 181, 182, 12345]
    ends = [limits.max, limits.min, limits.max - 1, limits.min + 1]
    return np.array([*(v for v in special if limits.min <= v <= limits.max), *map(int, ends)], dtype)


def pairs(values: Array, seed: int = 1) -> tuple[Array, Array]:
    """All pairs of values and, for doubles, random ones of all magnitudes; an odd number, so that tails occur."""
    a, b = (g.ravel() for g in np.meshgrid(values, values))
    rng = np.random.default_rng(seed)
    if values.dtype == np.float64:
        more = [rng.normal(0, 1, 1000) * 2.0 ** rng.integers(-60, 60, 1000) for _ in range(2)]
    else:
        limits = np.iinfo(values.dtype)
        more = [rng.integers(limits.min, limits.max, 1001, values.dtype, endpoint=True) for _ in range(2)]
    return np.concatenate([a, more[0]]), np.concatenate([b, more[1]])


def exact(jobs: Iterable[tuple[LoopKernel, list[Array], Array]], target: Target) -> None:
    """Native code and twin both give the wanted array, signs of zeros included; NaN equals NaN."""
    jobs = [(kernel, [*arrays, np.zeros(want.size, want.dtype)], want) for kernel, arrays, want in jobs]
    native = run_many([(kernel, arrays) for kernel, arrays, _ in jobs], target)
    for (kernel, arrays, want), got in zip(jobs, native, strict=True):
        for result in (got[-1], expected(kernel, arrays)[-1]):
            assert result.dtype == want.dtype
            message = str(kernel.body[-1])
            if want.dtype.kind in "iub":
                np.testing.assert_array_equal(result, want, err_msg=message)
                continue
            wide = [x.astype(np.float64) for x in (result, want)]  # NumPy does not know bfloat16's NaN
            np.testing.assert_array_equal(*wide, err_msg=message)
            number = ~np.isnan(wide[1])
            np.testing.assert_array_equal(*(np.signbit(x[number]) for x in wide), err_msg=message)


def binary(op: str, a: Array, b: Array, want: Array) -> tuple[LoopKernel, list[Array], Array]:
    return pointwise(op, [a.dtype.name, b.dtype.name], want.dtype.name, a.size), [a, b], want


def unary(op: str, a: Array, want: Array) -> tuple[LoopKernel, list[Array], Array]:
    return pointwise(op, [a.dtype.name], want.dtype.name, a.size), [a], want


COMPARE: dict[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


# ---- integers


@targets
@small_types
def test_integer_arithmetic(dtype: str, target: Target) -> None:
    a, b = pairs(integers(dtype))
    functions: dict[str, Callable[..., Array]] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
        "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor, **COMPARE,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        exact([binary(op, a, b, function(a, b)) for op, function in functions.items()], target)


@targets
@small_types
def test_integer_powers_and_shifts(dtype: str, target: Target) -> None:
    a, b = pairs(integers(dtype))
    limits = np.iinfo(dtype)

    def power(x: int, y: int) -> int:
        if y < 0:
            return (-1) ** (y & 1) if x == -1 else int(x == 1)
        z = pow(x % 2**limits.bits, y, 2**limits.bits)
        return z - 2**limits.bits if z > limits.max else z

    powers = np.array([power(int(x), int(y)) for x, y in zip(a, b, strict=True)], dtype)
    places = (b.astype(np.int64) % limits.bits).astype(dtype)
    shifted = ((a.astype(np.int64) % 2**limits.bits) >> places.astype(np.int64)).astype(dtype)
    exact([binary("pow", a, b, powers), binary("shr", a, places, shifted)], target)


@targets
@small_types
def test_integer_signs_and_choices(dtype: str, target: Target) -> None:
    a, b = pairs(integers(dtype))
    functions: dict[str, Callable[[Array], Array]] = {
        "neg": np.negative, "abs": np.abs, "sign": np.sign, "not": np.invert, "floor": np.copy, "round": np.copy,
        "isfinite": np.isfinite,
    }  # fmt: skip
    jobs = [unary(op, a, function(a)) for op, function in functions.items()]
    chosen = np.arange(a.size) % 3 == 0
    kernel = pointwise("select", ["bool", dtype, dtype], dtype, a.size)
    exact([*jobs, (kernel, [chosen, a, b], np.where(chosen, a, b))], target)


def test_the_edges_of_bytes() -> None:
    """The table that a reader expects, without NumPy."""
    low, minus = np.array([-128], np.int8), np.array([-1], np.int8)
    big, zero = np.array([250], np.uint8), np.array([0], np.uint8)
    ten = np.array([10], np.uint8)
    jobs = [
        binary("floordiv", low, minus, low), binary("mod", low, minus, np.array([0], np.int8)), unary("abs", low, low),
        unary("neg", low, low), binary("add", big, ten, np.array([4], np.uint8)), unary("neg", ten, np.array([246], np.uint8)),
        binary("sub", zero, ten, np.array([246], np.uint8)), binary("floordiv", big, ten, np.array([25], np.uint8)),
        binary("floordiv", big, zero, zero), binary("mod", big, zero, zero), binary("max", big, ten, big),
        binary("gt", big, ten, np.array([True])), unary("sign", big, np.array([1], np.uint8)),
        binary("pow", minus, low, np.array([1], np.int8)), unary("cast", big, np.array([-6], np.int8)),
        unary("cast", big, np.array([250], np.int16)), unary("cast", big, np.array([250.0])),
    ]  # fmt: skip
    exact(jobs, HOST)


@pytest.mark.parametrize(("dtype", "number"), [("uint8", 200), ("uint8", 255), ("int8", -128), ("int16", -32768)])
def test_constants(dtype: str, number: int) -> None:
    a = integers(dtype)
    half = np.full(a.size, number, dtype)
    kernels = [pointwise(op, [dtype] * 2, dtype, a.size, (1, number)) for op in ("add", "mul", "max", "min")]
    functions = (np.add, np.multiply, np.maximum, np.minimum)
    exact([(k, [a], f(a, half)) for k, f in zip(kernels, functions, strict=True)], HOST)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("uint8", 256), ("uint8", -1), ("int8", 128), ("int16", 40000), ("int32", 2**31), ("int64", 2**63),
     ("int8", math.nan), ("int64", math.inf)],
)  # fmt: skip
def test_constants_must_be_numbers_of_their_dtype(dtype: str, number: float) -> None:
    kernel = pointwise("add", [dtype] * 2, dtype, 4, (1, number))
    with pytest.raises(CodegenError, match=r"instruction 1 \(const\)"):
        run(kernel, [np.zeros(4, dtype)] * 2)


# ---- doubles


@targets
def test_double_arithmetic(target: Target) -> None:
    a, b = pairs(DOUBLES)
    functions: dict[str, Callable[..., Array]] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
        "floordiv": np.floor_divide, "mod": np.remainder, **COMPARE,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        wants = {op: function(a, b) for op, function in functions.items()}
    for op in ("max", "min"):  # of two zeros any
        wants[op] = wants[op] + 0.0
    jobs = [binary(op, a, b, want) for op, want in wants.items() if op not in ("max", "min")]
    exact(jobs, target)
    for op in ("max", "min"):
        kernel = pointwise(op, ["float64"] * 2, "float64", a.size)
        np.testing.assert_array_equal(run(kernel, [a, b, np.zeros_like(a)], target)[-1], wants[op])


@targets
def test_double_signs_roots_and_choices(target: Target) -> None:
    a, b = pairs(DOUBLES)
    with np.errstate(all="ignore"):
        jobs = [
            unary("neg", a, -a), unary("abs", a, np.abs(a)), unary("floor", a, np.floor(a)), unary("sqrt", a, np.sqrt(a)),
            unary("round", a, np.rint(a)), unary("isfinite", a, np.isfinite(a)), unary("sign", a, np.sign(a)),
        ]  # fmt: skip
    chosen = np.arange(a.size) % 3 == 0
    kernel = pointwise("select", ["bool", "float64", "float64"], "float64", a.size)
    exact([*jobs, (kernel, [chosen, a, b], np.where(chosen, a, b))], target)


def _erf(x: Array) -> Array:
    return np.array([math.erf(v) for v in x])


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _sample(*ranges: tuple[float, float]) -> Array:
    """The special numbers, then 2000 of every range and 2000 small ones."""
    rng = np.random.default_rng(2)
    small = rng.normal(0, 1, 2000) * 2.0 ** rng.integers(-40, 3, 2000)
    return np.concatenate([DOUBLES, small, *(rng.uniform(low, high, 2000) for low, high in ranges)])


FUNCTIONS: dict[str, tuple[Callable[[Array], Array], Array]] = {
    "exp": (np.exp, _sample((-708, 709))),
    "log": (np.log, np.concatenate([_sample((0, 10), (0, 1e300)), 1 + _sample((-1e-3, 1e-3)) * 1e-6])),
    "tanh": (np.tanh, _sample((-20, 20))), "sigmoid": (_sigmoid, _sample((-700, 700))), "erf": (_erf, _sample((-6, 6))),
    "rsqrt": (_rsqrt, _sample((0, 1e6))),
    "sin": (np.sin, _sample((-100, 100), (-1e12, 1e12))), "cos": (np.cos, _sample((-100, 100), (-1e12, 1e12))),
}  # fmt: skip


@targets
def test_double_functions(target: Target) -> None:
    jobs = [(pointwise(op, ["float64"], "float64", x.size), [x, np.zeros_like(x)]) for op, (_, x) in FUNCTIONS.items()]
    for (op, (function, x)), (kernel, arrays), got in zip(FUNCTIONS.items(), jobs, run_many(jobs, target), strict=True):
        with np.errstate(all="ignore"):
            want = function(x)
        np.testing.assert_array_equal(expected(kernel, arrays)[-1], want, err_msg=op)
        if op in ("sin", "cos"):  # out of reach, and documented so
            want = np.where(np.abs(x) < 2.0**51, want, np.nan)
        # Denormal results may be flushed.
        np.testing.assert_allclose(got[-1], want, rtol=1e-15, atol=2.3e-308, err_msg=op)
        zero = (x == 0) & (want == 0)
        np.testing.assert_array_equal(np.signbit(got[-1][zero]), np.signbit(want[zero]), err_msg=op)


def test_the_harder_arguments_of_sine() -> None:
    """Arguments whose distance from a multiple of pi is far below their last place's size."""
    x = np.array([math.pi, 2 * math.pi, 1e6 * math.pi, 355.0, 103993.0, 80143857.0, 6381956970095103.0 / 2**3])
    want = np.array([math.sin(v) for v in x])
    got = run(pointwise("sin", ["float64"], "float64", x.size), [x, np.zeros_like(x)])[-1]
    np.testing.assert_allclose(got, want, rtol=1e-14)


@targets
def test_double_powers(target: Target) -> None:
    rng = np.random.default_rng(4)
    a, b = pairs(DOUBLES)
    whole = [g.ravel() for g in np.meshgrid(np.arange(-9.0, 10.0), np.arange(-7.0, 8.0))]
    a = np.concatenate([a, rng.uniform(0, 50, 3000), 1 + rng.normal(0, 1, 1000) * 1e-3, whole[0]])
    b = np.concatenate([b, rng.uniform(-100, 100, 3000), rng.uniform(-1e5, 1e5, 1000), whole[1]])
    kernel = pointwise("pow", ["float64"] * 2, "float64", a.size)
    arrays = [a, b, np.zeros_like(a)]
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    np.testing.assert_array_equal(expected(kernel, arrays)[-1], want)
    got = run(kernel, arrays, target)[-1]
    np.testing.assert_allclose(got, want, rtol=2e-15 if target.fused else 1e-12, atol=2.3e-308)
    normal = ~np.isnan(want) & (np.abs(want) > 2.3e-308)
    np.testing.assert_array_equal(np.signbit(got[normal]), np.signbit(want[normal]))
    if target.fused:
        count = whole[0].size
        sure = b[-count:] >= 0
        np.testing.assert_array_equal(got[-count:][sure], want[-count:][sure])


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 16.0, -1.0, -2.0, 0.5, -0.5, 17.0, 2.5, np.inf, np.nan])
def test_double_powers_with_a_constant_exponent(exponent: float) -> None:
    a = np.array([x for x in DOUBLES if abs(exponent) != 0.5 or x != -np.inf])
    with np.errstate(all="ignore"):
        want = np.power(a, exponent)
    got = run(pointwise("pow", ["float64"] * 2, "float64", a.size, (1, exponent)), [a, np.zeros_like(a)])[-1]
    np.testing.assert_allclose(got, want, rtol=4e-15, atol=2.3e-308)


@pytest.mark.parametrize("constant", [0.0, 1.5, -np.inf, np.nan])
@pytest.mark.parametrize("position", [0, 1])
def test_double_extrema_with_a_constant_keep_nan(position: int, constant: float) -> None:
    jobs = []
    for op, function in (("max", np.maximum), ("min", np.minimum)):
        kernel = pointwise(op, ["float64"] * 2, "float64", DOUBLES.size, (position, constant))
        jobs.append((kernel, function(DOUBLES, constant)))
    for kernel, want in jobs:
        np.testing.assert_array_equal(run(kernel, [DOUBLES, np.zeros_like(DOUBLES)])[-1], want)


# ---- conversions


def _cast(x: Array, dtype: str) -> Array:
    """What a cast is to give, number by number where NumPy leaves it open."""
    target = numpy_type(dtype)
    single = x.astype(np.float32) if x.dtype.name in ("float16", "bfloat16") else x
    if single.dtype.kind == "f" and target.kind in "iu":
        limits = np.iinfo(target)
        numbers = [0 if math.isnan(v) else v for v in single.astype(np.float64).tolist()]
        return np.array([int(min(max(v, limits.min), limits.max)) for v in numbers], object).astype(target)
    if dtype in ("float16", "bfloat16") and single.dtype != np.float64:
        single = single.astype(np.float32)
    return np.asarray(single.astype(target))


def _every(dtype: str) -> Array:
    """The numbers of a dtype to convert: all of a byte or a half, special ones of the others."""
    if dtype == "bool":
        return np.array([False, True, True])
    if dtype in ("float16", "bfloat16"):
        return np.arange(65536, dtype=np.uint16)[::7].view(numpy_type(dtype))
    if dtype == "float64":
        return pairs(DOUBLES)[0]
    if dtype == "float32":
        with np.errstate(all="ignore"):
            return pairs(DOUBLES)[0].astype(np.float32)
    return pairs(integers(dtype))[0][:4001]


@targets
@pytest.mark.parametrize("source", ITEMSIZE)
def test_casts_between_all_dtypes(source: str, target: Target) -> None:
    x = _every(source)
    with np.errstate(all="ignore"):
        exact([(pointwise("cast", [source], to, x.size), [x], _cast(x, to)) for to in ITEMSIZE], target)


def test_casts_are_what_a_reader_expects() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 300.0, -300.0, 127.9, -128.9, -0.9, 1e10, -1e19, 255.9])
    jobs = [
        unary("cast", x, np.array([0, 127, -128, 127, -128, 127, -128, 0, 127, -128, 127], np.int8)),
        unary("cast", x, np.array([0, 255, 0, 255, 0, 127, 0, 0, 255, 0, 255], np.uint8)),
        unary("cast", x, np.array([0, 32767, -32768, 300, -300, 127, -128, 0, 32767, -32768, 255], np.int16)),
        unary("cast", x, np.array([0, 2**63 - 1, -(2**63), 300, -300, 127, -128, 0, 10**10, -(2**63), 255], np.int64)),
        unary("cast", np.array([300, -1, 65535]), np.array([44, 255, 255], np.uint8)),
        unary("cast", np.array([300, -1, 200], np.int32), np.array([44, -1, -56], np.int8)),
    ]
    exact(jobs, HOST)


@targets
def test_doubles_are_rounded_once_to_float16(target: Target) -> None:
    """Just beside a tie, a detour by float32 would land on the tie and then on the even side."""
    rng = np.random.default_rng(5)
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    ties = (halves[:-1] + halves[1:]) / 2
    x = np.concatenate([ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), [65519.999999, 65520.0, 1e300, -1e300]])
    x = np.concatenate([x, -x, rng.normal(0, 1, 1000)])
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
        detour = x.astype(np.float32).astype(np.float16)
    assert (want != detour).sum() > 1000
    exact([unary("cast", x, want)], target)


# ---- the rest


@pytest.mark.parametrize("dtype", ["float64", *SMALL])
def test_iota(dtype: str) -> None:
    access = contiguous((70001,), dtype)
    kernel = LoopKernel((70001,), (False,), (), (Instr("iota", (), dtype, 0),), (Output(access, 0),))
    exact([(kernel, [], np.arange(70001).astype(dtype))], HOST)


@pytest.mark.parametrize(
    ("op", "dtype"), [("exp", "uint8"), ("div", "int8"), ("sqrt", "int16"), ("and", "float64"), ("shr", "float64")]
)
def test_operations_without_meaning_are_refused(op: str, dtype: str) -> None:
    count = 2 if op in ("div", "and", "shr") else 1
    with pytest.raises(CodegenError, match=op):
        run(pointwise(op, [dtype] * count, dtype, 4), [np.zeros(4, dtype)] * (count + 1))
