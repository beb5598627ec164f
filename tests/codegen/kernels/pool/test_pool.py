"""Pooling and its gradients against plain Python windows in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels import EMITTERS
from tests.codegen.kernel_harness import Array, random, run_all

NAMES = ("planes", "h", "w", "oh", "ow", "kh", "kw", "sh", "sw", "pt", "pl")
CASES = [
    (3, 28, 28, 14, 14, 2, 2, 2, 2, 0, 0),
    (2, 10, 10, 5, 5, 2, 2, 2, 2, 0, 0),
    (2, 7, 37, 3, 18, 2, 2, 2, 2, 0, 0),
    (1, 5, 70, 5, 70, 1, 1, 1, 1, 0, 0),
    (1, 9, 20, 7, 18, 3, 3, 1, 1, 0, 0),
    (2, 9, 41, 4, 20, 3, 3, 2, 2, 0, 0),
    (2, 8, 8, 4, 4, 3, 3, 2, 2, 1, 1),
    (2, 8, 8, 8, 8, 3, 3, 1, 1, 1, 1),
    (2, 9, 9, 3, 3, 3, 3, 3, 3, 0, 0),
    (2, 7, 7, 1, 1, 7, 7, 1, 1, 0, 0),
    (1, 5, 6, 3, 3, 2, 1, 2, 2, 1, 0),
    (1, 6, 9, 3, 9, 2, 1, 2, 1, 0, 0),
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0),
]
Visit = Callable[[tuple[int, int, int], list[tuple[int, int]]], None]


def _params(case: tuple[int, ...]) -> dict[str, Any]:
    return dict(zip(NAMES, case, strict=True))


def _windows(p: dict[str, Any], visit: Visit) -> None:
    for c in range(p["planes"]):
        for oy in range(p["oh"]):
            for ox in range(p["ow"]):
                rows = range(oy * p["sh"] - p["pt"], oy * p["sh"] - p["pt"] + p["kh"])
                columns = range(ox * p["sw"] - p["pl"], ox * p["sw"] - p["pl"] + p["kw"])
                pixels = [(y, x) for y in rows for x in columns if 0 <= y < p["h"] and 0 <= x < p["w"]]
                visit((c, oy, ox), pixels)


def _max_pool(p: dict[str, Any], x: Array, dy: Array) -> tuple[Array, Array]:
    y, dx = np.zeros(dy.shape), np.zeros(x.shape)

    def visit(at: tuple[int, int, int], pixels: list[tuple[int, int]]) -> None:
        values = np.array([x[at[0], r, c] for r, c in pixels])
        winner = int(np.argmax(values))
        y[at] = values[winner]
        dx[(at[0], *pixels[winner])] += dy[at]

    _windows(p, visit)
    return y, dx


def _avg_pool(p: dict[str, Any], x: Array, dy: Array, include: bool) -> tuple[Array, Array]:
    y, dx = np.zeros(dy.shape), np.zeros(x.shape)

    def visit(at: tuple[int, int, int], pixels: list[tuple[int, int]]) -> None:
        count = p["kh"] * p["kw"] if include else len(pixels)
        for r, c in pixels:
            y[at] += x[at[0], r, c].astype(np.float64) / count
            dx[at[0], r, c] += dy[at].astype(np.float64) / count

    _windows(p, visit)
    return y, dx


def _arrays(p: dict[str, Any]) -> tuple[Array, Array]:
    return random(1, p["planes"], p["h"], p["w"]), random(2, p["planes"], p["oh"], p["ow"])


def _compare(name: str, params: dict[str, Any], inputs: tuple[Array, ...], exact: Array) -> None:
    for where, (result,) in run_all(name, params, *inputs).items():
        np.testing.assert_allclose(result.reshape(exact.shape), exact, rtol=1e-5, atol=1e-5, err_msg=where)


def _check(p: dict[str, Any], x: Array, dy: Array) -> None:
    y, dx = _max_pool(p, x, dy)
    _compare("max_pool", p, (x,), y)
    _compare("max_pool_grad", p, (x, dy), dx)
    for include in (False, True):
        y, dx = _avg_pool(p, x, dy, include)
        params = p | {"count_include_pad": include}
        _compare("avg_pool", params, (x,), y)
        _compare("avg_pool_grad", params, (dy,), dx)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_known_shapes(case: tuple[int, ...]) -> None:
    p = _params(case)
    x, dy = _arrays(p)
    _check(p, x, dy)
    in_blocks = p | {"count_include_pad": False, "block": 2}
    _compare("avg_pool", in_blocks, (x,), _avg_pool(p, x, dy, False)[0])


AXIS = st.tuples(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2), st.integers(0, 2))


def _axis(size: int, k: int, s: int, before: int, after: int) -> tuple[int, int, int, int, int]:
    out = (size + before + after - k) // s + 1
    assume(before < k and after < k and out > 0 and (out - 1) * s - before < size)
    return size, out, k, s, before


@settings(max_examples=60, deadline=None)
@given(rows=AXIS, columns=AXIS)
def test_random_shapes(rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
    h, oh, kh, sh, pt = _axis(min(rows[0], 9), *rows[1:])
    w, ow, kw, sw, pl = _axis(*columns)
    p = _params((2, h, w, oh, ow, kh, kw, sh, sw, pt, pl))
    _check(p, *_arrays(p))


@pytest.mark.parametrize("case", [CASES[0], CASES[4], CASES[6]], ids=str)
def test_ties_and_non_finite(case: tuple[int, ...]) -> None:
    p = _params(case)
    x, dy = _arrays(p)
    rng = np.random.default_rng(5)
    x = rng.choice(np.array([-np.inf, -1, 0, 0, 1, 1, np.inf, np.nan], np.float32), x.shape)
    y, dx = _max_pool(p, x, dy)
    _compare("max_pool", p, (x,), y)
    _compare("max_pool_grad", p, (x, dy), dx)


def test_all_minus_infinity_goes_to_the_first_pixel() -> None:
    p = _params((1, 4, 4, 2, 2, 3, 3, 2, 2, 1, 1))
    x, dy = np.full((1, 4, 4), -np.inf, np.float32), random(1, 1, 2, 2)
    _compare("max_pool_grad", p, (x, dy), _max_pool(p, x, dy)[1])


@pytest.mark.parametrize("name", ["max_pool", "max_pool_grad"])
def test_window_outside_the_image_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="outside the image"):
        EMITTERS[name].operands(_params((1, 4, 4, 4, 2, 2, 2, 2, 2, 0, 0)))
