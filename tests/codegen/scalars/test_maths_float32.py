"""Vector functions against float64, in units in the last place, and at their special points."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from graphc_codegen.scalars import maths_float32
from graphc_codegen.writer import Writer
from tests.codegen.kernel_harness import Array, Compiled, compile_text, ir_text

N = 1 << 16
BOUND = 3e38
F32 = np.float32


@cache
def _apply(name: str, lanes: int) -> Compiled:
    function: Callable[[Writer, str], str] = getattr(maths_float32, name)

    def body(w: Writer, p: object) -> None:
        def turn(i: str, _: object) -> None:
            w.vstore(function(w, w.vload(w.at("%p0", i))), w.at("%p1", i))

        w.loop(N, turn, step=lanes)

    return compile_text(ir_text(body, 2, lanes), 2, lanes)


def _values(name: str, x: Array, lanes: int) -> Array:
    padded = np.zeros(N, F32)
    padded[: x.size] = x
    y = np.empty(N, F32)
    _apply(name, lanes).call(padded.ctypes.data, y.ctypes.data)
    return y[: x.size]


def _ulps(y: Array, exact: Array) -> float:
    unit = np.spacing(np.maximum(np.abs(exact), 2.0**-126).astype(F32)).astype(np.float64)
    return float((np.abs(y.astype(np.float64) - exact) / unit).max())


def _sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0.0, -x))


ERF = np.vectorize(math.erf, otypes=[np.float64])
CASES: dict[str, tuple[Callable[[Array], Array], float, float, float]] = {
    "exp": (np.exp, -87.3, 88.7, 2.0),
    "exp_of_negative": (np.exp, -87.3, 0.0, 2.0),
    "log": (np.log, 1e-30, 1e4, 2.0),
    "tanh": (np.tanh, -12.0, 12.0, 3.0),
    "sigmoid": (_sigmoid, -87.0, 87.0, 4.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 2.0),
}


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("name", list(CASES))
def test_ulp(name: str, lanes: int) -> None:
    exact, low, high, bound = CASES[name]
    rng = np.random.default_rng(0)
    wide = rng.uniform(low, high, N // 2)
    sign = rng.choice([-1.0, 1.0], N // 4) if low < 0 else np.ones(N // 4)
    near_zero = sign * 10.0 ** rng.uniform(-30, 0, N // 4)
    near_one = rng.uniform(0.3, 1.7, N // 4)
    x = np.concatenate([wide, near_zero, near_one]).astype(F32)
    with np.errstate(under="ignore"):
        assert _ulps(_values(name, x, lanes), exact(x.astype(np.float64))) <= bound


@pytest.mark.parametrize("lanes", [16, 8])
def test_erf_error(lanes: int) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-6, 6, N // 2), rng.uniform(-1, 1, N // 2)]).astype(F32)
    y = _values("erf", x, lanes).astype(np.float64)
    exact = ERF(x.astype(np.float64))
    assert (np.abs(y - exact) <= 3.3e-7 * np.abs(exact)).all()
    assert np.abs(y).max() == 1


INF, NAN = math.inf, math.nan
SPECIAL = [
    ("exp", [(-0.0, 1), (1e-40, 1), (INF, INF), (-INF, 0), (1e30, INF), (89.0, INF), (-110.0, 0)]),
    ("exp_of_negative", [(0.0, 1), (-0.0, 1), (-1e-40, 1), (-INF, 0), (-1e30, 0), (-87.7, 0), (-110.0, 0)]),
    ("log", [(1.0, 0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN)]),
    ("tanh", [(0.0, 0), (INF, 1), (-INF, -1), (100.0, 1), (-BOUND, -1)]),
    ("sigmoid", [(0.0, 0.5), (INF, 1), (-INF, 0), (BOUND, 1), (-BOUND, 0)]),
    ("erf", [(0.0, 0), (INF, 1), (-INF, -1), (10.0, 1), (-BOUND, -1)]),
    ("rsqrt", [(1.0, 1), (4.0, 0.5), (0.0, INF), (INF, 0), (-1.0, NAN)]),
]  # fmt: skip


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize(("name", "points"), SPECIAL, ids=[name for name, _ in SPECIAL])
def test_special_points(name: str, points: list[tuple[float, float]], lanes: int) -> None:
    x, expected = zip(*points, strict=True)
    y = _values(name, np.array([*x, NAN], F32), lanes)
    np.testing.assert_array_equal(y, np.array([*expected, NAN], F32))


def test_odd_functions_keep_negative_zero() -> None:
    for name in ("tanh", "erf"):
        assert math.copysign(1.0, _values(name, np.array([-0.0], F32), 16)[0]) == -1.0


def test_exp_bounds_and_denormals() -> None:
    x = np.array([88.72283, 88.72284, -87.33654, -87.4, -100.0, -103.9], F32)
    exact = np.exp(x.astype(np.float64))
    y = _values("exp", x, 16).astype(np.float64)
    assert np.isfinite(y[0])
    assert y[1] == math.inf
    # Denormal results are either right or flushed to zero.
    assert ((np.abs(y[3:] - exact[3:]) <= 3e-45) | (y[3:] == 0)).all()
    np.testing.assert_allclose(y[2], exact[2], rtol=1e-6)


def test_denormal_argument_of_log_counts_as_zero() -> None:
    y = _values("log", np.array([1e-40, -1e-40, 1.1754944e-38], F32), 16)
    assert y[0] == y[1] == -math.inf
    np.testing.assert_allclose(y[2], math.log(1.1754944e-38), rtol=1e-6)
