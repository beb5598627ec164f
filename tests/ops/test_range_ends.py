"""Functions at the ends of their ranges, and to the last digits of float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphc import Tensor, ops
from tests.cells import Of

INF, NAN = math.inf, math.nan


def both(function, *arrays):
    """The compiled result, and the one outside a Cell."""
    return Of(function)(*map(Tensor, arrays)).asnumpy(), function(*map(Tensor, arrays)).asnumpy()


#: name: (function, dtype, inputs, results)
ENDS = {
    "lgamma": (
        ops.lgamma,
        "float32",
        ([1e7, INF, -INF, 0, -1, -2, 1e30, -1.5, 1e-30, NAN],),
        [1.5118096e8, INF, INF, INF, INF, INF, 6.8077553e31, 0.86004704, 69.077553, NAN],
    ),
    "lgamma of float16": (ops.lgamma, "float16", ([1000, 5.26, -3.34],), [5904, 3.579, -0.9574]),
    "digamma": (
        ops.digamma,
        "float32",
        ([1e7, INF, -INF, 0, -1, 1e30, -1.5, NAN],),
        [16.118095, INF, NAN, -INF, NAN, 69.077553, 0.70315665, NAN],
    ),
    "acosh": (ops.acosh, "float32", ([-1e4, 0.5, 1, INF, 3e38],), [NAN, NAN, 0, INF, 89.28999]),
    "asinh": (ops.asinh, "float32", ([-1e4, INF, 3e38],), [-9.903487, INF, 89.28999]),
    "asinh of float16": (ops.asinh, "float16", ([300, -60000, INF],), [6.3969, -11.695, INF]),
    "acosh of float16": (ops.acosh, "float16", ([300, 60000, INF],), [6.3969, 11.695, INF]),
    "hypot": (
        ops.hypot,
        "float32",
        ([1e30, 1e-30, INF, 0, INF, 3], [1e30, 1e-30, INF, 0, 1, -4]),
        [1.4142135e30, 1.4142136e-30, INF, 0, INF, 5],
    ),
    "logaddexp": (ops.logaddexp, "float32", ([-INF, INF, -INF], [-INF, INF, 1]), [-INF, INF, 1]),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, 0), "float32", ([-200, 100, -INF],), [-200, 100, 100]),
    "cummax, its places": (
        lambda x: ops.cummax(x, 0)[1],
        "float32",
        ([NAN, NAN, 1, 2, INF, NAN],),
        [0, 1, 1, 1, 1, 5],
        "int64",
    ),
    "cummin, its places": (
        lambda x: ops.cummin(x, 0)[1],
        "float32",
        ([1, 3, 1, NAN, 0, NAN],),
        [0, 0, 2, 3, 3, 5],
        "int32",
    ),
    "cumprod": (lambda x: ops.cumprod(x, 0), "float32", ([1e30, 1e30, 1e-30, 0],), [1e30, INF, INF, NAN]),
    "erfinv": (ops.erfinv, "float32", ([1, -1, 2, 0, 0.999999],), [INF, -INF, NAN, 0, 3.4570746]),
    "erfc": (ops.erfc, "float64", ([INF, -INF, 30, 26],), [0, 2, 0, math.erfc(26)]),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_ends_of_the_range(name):
    function, dtype, inputs, expected, *result = ENDS[name]
    rtol = 2e-3 if dtype == "float16" else 1e-6
    for got in both(function, *(np.array(x, dtype) for x in inputs)):
        assert got.dtype == (result[0] if result else dtype)
        np.testing.assert_allclose(got, np.array(expected), rtol=rtol)


def test_powers_of_two_are_exact():
    x = np.arange(-120, 128).astype(np.float32)
    for got in both(ops.exp2, x):
        np.testing.assert_array_equal(got, np.exp2(x.astype(np.float64)))


def test_integers_have_no_end_that_turns_around():
    least = -(2**31)
    for got in both(ops.argmin, np.array([5, least, 3], np.int32)):
        assert got == 1
    for got in both(ops.truncate_div, np.array([least, 7, -7, 7, -6], np.int32), np.array([2, 2, 2, -2, 2], np.int32)):
        np.testing.assert_array_equal(got, [least // 2, 3, -3, -3, -3])
    for got in both(ops.fmod, np.array([least, 7, -7, 7, -6], np.int32), np.array([3, 2, 2, -2, 2], np.int32)):
        np.testing.assert_array_equal(got, [-2, 1, -1, 1, 0])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float64"])
def test_running_extrema_keep_the_dtype(dtype):
    x = np.array([[3, 1, 5], [3, 7, 2]], dtype)
    for function, expected in ((ops.cummax, np.maximum), (ops.cummin, np.minimum)):
        for got in both(lambda x, f=function: f(x, 1)[0], x):
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, expected.accumulate(x, 1))


def test_places_of_float64_are_told_apart_beyond_float32():
    x = np.array([1, 1 + 1e-12, 1 + 1e-12, 1 - 1e-12])
    for got in both(lambda x: ops.stack((ops.argmax(x), ops.cast(ops.argmin(x), "int64"))), x):
        np.testing.assert_array_equal(got, [1, 3])
    for got in both(ops.argmax, np.array([1, NAN, 3])):
        assert got == 1


def _acosh(x):
    return math.acosh(x) if x >= 1 else NAN


#: Functions of which float64 has more than float32's digits, with Python's own to compare.
DOUBLES = {
    "atan": (ops.atan, math.atan, (-9, 9)),
    "asin": (ops.asin, math.asin, (-1, 1)),
    "acos": (ops.acos, math.acos, (-1, 1)),
    "erf": (ops.erf, math.erf, (-6, 6)),
    "erfc": (ops.erfc, math.erfc, (-6, 26)),
    "erfinv": (lambda x: ops.erf(ops.erfinv(x)), lambda x: x, (-0.99, 0.99)),
    "lgamma": (ops.lgamma, math.lgamma, (2.5, 40)),
    "lgamma, reflected": (ops.lgamma, math.lgamma, (-3.9, -3.1)),
    "asinh": (ops.asinh, math.asinh, (-9, 9)),
    "acosh": (ops.acosh, _acosh, (1, 9)),
    "atanh": (ops.atanh, math.atanh, (-0.99, 0.99)),
    "log1p": (ops.log1p, math.log1p, (-0.9, 9)),
    "expm1": (ops.expm1, math.expm1, (-9, 9)),
    "tan": (ops.tan, math.tan, (-1.5, 1.5)),
    "exp2": (ops.exp2, lambda x: 2.0**x, (-20, 20)),
    "log10": (ops.log10, math.log10, (0.1, 99)),
}


@pytest.mark.parametrize("name", DOUBLES)
def test_float64_has_all_its_digits(name):
    function, exact, (low, high) = DOUBLES[name]
    x = np.concatenate([np.random.default_rng(0).uniform(low, high, 3000), [low, high]])
    expected = np.array([exact(v) for v in x])
    for got in both(function, x):
        np.testing.assert_allclose(got, expected, rtol=3e-14, atol=1e-14 if "lgamma" in name else 3e-16)


def test_digamma_of_float64():
    # psi(1) = -gamma, psi(1/2) = -gamma - 2 log 2, psi(10) = H(9) - gamma.
    gamma = 0.57721566490153286
    x = np.array([1, 0.5, 10, 100])
    harmonic = [sum(1 / k for k in range(1, n)) for n in (10, 100)]
    expected = [-gamma, -gamma - 2 * math.log(2), harmonic[0] - gamma, harmonic[1] - gamma]
    for got in both(ops.digamma, x):
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_atan2_of_float64_in_every_quarter():
    rng = np.random.default_rng(0)
    y, x = rng.uniform(-2, 2, 999), rng.uniform(-2, 2, 999)
    for got in both(ops.atan2, y, x):
        np.testing.assert_allclose(got, np.arctan2(y, x), rtol=1e-15)


def test_an_unknown_reduction_of_processes_is_named():
    with pytest.raises(
        ValueError, match="all_reduce: op must be one of 'sum', 'prod', 'max', 'min', 'avg', got 'bogus'"
    ):
        ops.all_reduce(Tensor([1.0]), "bogus")


@pytest.mark.parametrize("function", [ops.sort, lambda x: ops.sort(x, -1, True), lambda x: ops.topk(x, 3)])
def test_nan_is_sorted_to_the_end(function):
    x = Tensor(np.array([1, NAN, 3], np.float32))
    for got in (Of(function)(x)[0].asnumpy(), function(x)[0].asnumpy()):
        assert np.isnan(got[2])
        assert set(got[:2]) == {1, 3}
