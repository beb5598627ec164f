"""LU factors and systems solved by them against NumPy in float64: all shapes of tiles, exchanges, what is singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, run_all, run_kernel

TOLERANCES = {"float32": 3e-6, "float64": 1e-14}


def factors(a: Array, parts: int = 1, **how: Any) -> dict[str, tuple[Array, Array, Array]]:
    """(packed, order, sign) of matrices [batch, size, size] by where they were made."""
    params = {"batch": len(a), "size": a.shape[-1], "parts": parts, "dtype": a.dtype.name}
    made = {str(how): run_kernel("lu", params, a, **how)} if how else run_all("lu", params, a)
    return {
        where: (packed.reshape(a.shape), order.reshape(a.shape[:2]), sign)
        for where, (_, packed, order, sign) in made.items()
    }


def check(a: Array, made: dict[str, tuple[Array, Array, Array]]) -> None:
    size = a.shape[-1]
    for where, (packed, order, sign) in made.items():
        packed = packed.astype(np.float64)
        lower, upper = np.tril(packed, -1) + np.eye(size), np.triu(packed)
        assert (abs(np.tril(packed, -1)) <= 1).all(), where
        assert (np.sort(order) == np.arange(size)).all(), where
        rows = np.take_along_axis(a.astype(np.float64), order[..., None], 1)
        tolerance = TOLERANCES[a.dtype.name] * max(1, abs(upper).max(initial=0))
        np.testing.assert_allclose(lower @ upper, rows, atol=tolerance, err_msg=where)
        assert sign.tolist() == [np.linalg.det(np.eye(size)[o]).round() for o in order], where


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 5),
    size=st.sampled_from([1, 2, 3, 4, 7, 8, 9, 12, 13, 24, 27, 31, 48, 53, 64, 101]),
    parts=st.integers(1, 3),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 99),
)
def test_factors(batch: int, size: int, parts: int, dtype: str, seed: int) -> None:
    a = np.random.default_rng(seed).standard_normal((batch, size, size)).astype(dtype)
    check(a, factors(a, parts))


@pytest.mark.parametrize("size", [397, 512])
def test_factors_of_several_hundred_rows(size: int) -> None:
    a = np.random.default_rng(size).standard_normal((1, size, size)).astype(np.float32)
    check(a, factors(a))
    check(a[:, :21, :21], factors(a[:, :21, :21], lanes=4))


@pytest.mark.parametrize("size", [5, 30, 61])
def test_exchanges(size: int) -> None:
    """Small integers: equal pivots, of which the first is taken, and permuted identities, which come back exactly."""
    rng = np.random.default_rng(size)
    a = rng.integers(-1, 2, (3, size, size)).astype(np.float32)
    a[0] = np.eye(size, dtype=np.float32)[rng.permutation(size)]
    a[1] = np.eye(size, dtype=np.float32)[::-1]
    made = factors(a)
    check(a, made)
    for where, (packed, order, _) in made.items():
        np.testing.assert_array_equal(packed[:2], np.broadcast_to(np.eye(size), (2, size, size)), err_msg=where)
        np.testing.assert_array_equal(order, made["twin"][1], err_msg=where)
        assert order[1].tolist() == list(range(size))[::-1], where


@pytest.mark.parametrize("size", [2, 9, 50])
def test_singular_matrices(size: int) -> None:
    """Nothing is divided by zero: rows and columns that are equal leave zeros."""
    a = np.random.default_rng(0).integers(-4, 5, (4, size, size)).astype(np.float32)
    a[0], a[1] = 0, 1
    a[2, :, -1] = a[2, :, 0]
    a[3, :, size // 2] = 0
    for where, (packed, order, _) in factors(a).items():
        assert np.isfinite(packed).all(), where
        diagonal = packed[:, range(size), range(size)]
        assert (diagonal[:2, 1:] == 0).all(), where
        assert abs(diagonal[2, -1]) < 1e-5, where
        assert diagonal[3, size // 2] == 0, where
        assert order[0].tolist() == list(range(size)), where


def test_what_is_not_finite() -> None:
    nan, inf = np.nan, np.inf
    a = np.array([[[1, 2], [nan, 3]], [[nan, 1], [2, nan]], [[1, 2], [inf, 3]], [[1, 2], [-inf, 3]]], np.float32)
    for where, (packed, order, sign) in factors(a).items():
        assert order.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]], where
        assert sign.tolist() == [-1, 1, -1, -1], where
        assert np.isnan(packed[:2, [0, 1], [0, 1]]).all(), where
        np.testing.assert_array_equal(packed[2:], [[[inf, 3], [0, 2]], [[-inf, 3], [-0.0, 2]]], err_msg=where)


# ---- systems


def solved(a: Array, b: Array, parts: int = 1, **params: Any) -> dict[str, Array]:
    """x with a x = b by the twin's factors of a, by where it was made."""
    _, (packed, order, _) = factors(a, parts).popitem()
    batch, size, cols = b.shape
    params = {"batch": batch, "size": size, "cols": cols, "parts": parts, "dtype": b.dtype.name, **params}
    return {w: x.reshape(b.shape) for w, (_, x) in run_all("lu_solve", params, packed, order, b).items()}


@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(1, 3),
    size=st.sampled_from([1, 2, 3, 4, 7, 8, 13, 31, 64]),
    cols=st.sampled_from([1, 2, 4, 8, 17, 24, 31, 48, 101]),
    parts=st.integers(1, 4),
    dtype=st.sampled_from(["float32", "float64"]),
    transposed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_solve(batch: int, size: int, cols: int, parts: int, dtype: str, transposed: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = (rng.standard_normal((batch, size, size)) / size + np.eye(size)[rng.permutation(size)]).astype(dtype)
    b = rng.standard_normal((batch, size, cols)).astype(dtype)
    exact = a.astype(np.float64)
    want = np.linalg.solve(exact.swapaxes(1, 2) if transposed else exact, b.astype(np.float64))
    for where, made in solved(a, b, parts, transposed=transposed).items():
        tolerance = 10 * TOLERANCES[dtype] * np.linalg.cond(exact).max()
        np.testing.assert_allclose(made, want, atol=tolerance * abs(want).max(), err_msg=where)


@pytest.mark.parametrize("cols", [1, 75])
@pytest.mark.parametrize("transposed", [False, True])
def test_solve_of_several_hundred_rows(cols: int, transposed: bool) -> None:
    rng = np.random.default_rng(cols)
    a = (rng.standard_normal((1, 397, 397)) / 40 + np.eye(397)).astype(np.float32)
    b = rng.standard_normal((1, 397, cols)).astype(np.float32)
    exact = a.astype(np.float64)
    want = np.linalg.solve(exact.swapaxes(1, 2) if transposed else exact, b.astype(np.float64))
    for where, made in solved(a, b, transposed=transposed).items():
        np.testing.assert_allclose(made, want, atol=4e-6 * abs(want).max(), err_msg=where)


@pytest.mark.parametrize("cols", [1, 3])
def test_a_singular_system_has_no_numbers(cols: int) -> None:
    a, b = np.ones((1, 2, 2), np.float32), np.arange(1, 1 + 2 * cols, dtype=np.float32).reshape(1, 2, cols)
    for where, made in solved(a, b, transposed=False).items():
        assert not np.isfinite(made).any(), where
