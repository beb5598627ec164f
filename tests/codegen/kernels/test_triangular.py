"""Triangular systems and Cholesky's factor against NumPy in float64: all shapes of tiles, the other half of matrices unread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, run_all, run_kernel

TOLERANCES = {"float32": 3e-5, "float64": 1e-13}


def system(batch: int, size: int, cols: int, dtype: str, seed: int) -> tuple[Array, Array]:
    """Matrices that are well conditioned, and right sides."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((batch, size, size)) / np.sqrt(size) / 4
    a[:, range(size), range(size)] = rng.choice([-1, 1], (batch, size)) * rng.uniform(0.5, 2, (batch, size))
    return a.astype(dtype), rng.standard_normal((batch, size, cols)).astype(dtype)


def half(a: Array, *, lower: bool, unit: bool = False) -> Array:
    """The triangle that counts, in float64."""
    made = (np.tril if lower else np.triu)(a.astype(np.float64), 0)
    if unit:
        made[:, range(a.shape[-1]), range(a.shape[-1])] = 1
    return made


def only(a: Array, *, lower: bool, unit: bool = False) -> Array:
    """The matrices with NaN where nothing is read."""
    size = a.shape[-1]
    read = np.tri(size, k=-1 if unit else 0, dtype=bool)
    return np.where(read if lower else read.T, a, np.nan).astype(a.dtype)


def solve_params(b: Array, *, lower: bool = True, transposed: bool = False, unit: bool = False) -> dict[str, Any]:
    batch, size, cols = b.shape
    sizes = {"batch": batch, "size": size, "cols": cols, "dtype": b.dtype.name}
    return {**sizes, "lower": lower, "transposed": transposed, "unit": unit}


@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(1, 3),
    size=st.sampled_from([1, 2, 3, 7, 8, 13, 31, 64]),
    cols=st.sampled_from([1, 2, 5, 8, 17, 24, 31, 48, 101]),
    dtype=st.sampled_from(["float32", "float64"]),
    lower=st.booleans(),
    transposed=st.booleans(),
    unit=st.booleans(),
    seed=st.integers(0, 99),
)
def test_solve(
    batch: int, size: int, cols: int, dtype: str, lower: bool, transposed: bool, unit: bool, seed: int
) -> None:
    a, b = system(batch, size, cols, dtype, seed)
    whole = half(a, lower=lower, unit=unit)
    want = np.linalg.solve(whole.swapaxes(1, 2) if transposed else whole, b.astype(np.float64)).reshape(-1)
    params = solve_params(b, lower=lower, transposed=transposed, unit=unit)
    for where, (made,) in run_all("triangular_solve", params, only(a, lower=lower, unit=unit), b).items():
        tolerance = TOLERANCES[dtype]
        np.testing.assert_allclose(made, want, rtol=tolerance, atol=tolerance * abs(want).max(), err_msg=where)


@pytest.mark.parametrize(("size", "cols"), [(397, 1), (397, 75), (512, 512)])
@pytest.mark.parametrize("transposed", [False, True])
def test_solve_of_several_hundred_rows(size: int, cols: int, transposed: bool) -> None:
    a, b = system(1, size, cols, "float32", 0)
    whole = half(a, lower=True)
    want = np.linalg.solve(whole.swapaxes(1, 2) if transposed else whole, b.astype(np.float64)).reshape(-1)
    for where, (made,) in run_all("triangular_solve", solve_params(b, transposed=transposed), a, b).items():
        np.testing.assert_allclose(made, want, atol=2e-6 * abs(want).max(), err_msg=where)


def test_a_zero_on_the_diagonal() -> None:
    a = np.array([[[2, 9], [1, 0]]], np.float32)
    b = np.array([[[4, 2, 0], [1, 1, 0]]], np.float32)
    for where, (made,) in run_all("triangular_solve", solve_params(b), a, b).items():
        np.testing.assert_array_equal(made, [2, 1, 0, -np.inf, np.nan, np.nan], err_msg=where)


@pytest.mark.parametrize("cols", [1, 3, 19])
def test_short_vectors(cols: int) -> None:
    a, b = system(2, 21, cols, "float64", 1)
    (made,) = run_kernel("triangular_solve", solve_params(b), a, b, lanes=4)
    np.testing.assert_allclose(made, np.linalg.solve(half(a, lower=True), b).reshape(-1), rtol=1e-12)


# ---- Cholesky's factor


def positive(batch: int, size: int, dtype: str, seed: int) -> Array:
    x = np.random.default_rng(seed).standard_normal((batch, size, size))
    return np.asarray(x @ x.swapaxes(1, 2) / size + np.eye(size)).astype(dtype)


def factors(a: Array, **how: Any) -> dict[str, Array]:
    """The upper factors by where they were made; NaN is what stands in the room, and below the diagonal of the matrices."""
    batch, size, _ = a.shape
    lead = size + 47
    rows = np.full((batch, size, lead), np.nan, a.dtype)
    rows[..., :size] = np.where(np.tri(size, dtype=bool).T, a, np.nan)
    params = {"batch": batch, "size": size, "lead": lead, "dtype": a.dtype.name}
    if how:
        return {str(how): np.triu(run_kernel("cholesky", params, rows, **how)[0].reshape(rows.shape)[..., :size])}
    return {w: np.triu(u.reshape(rows.shape)[..., :size]) for w, (u,) in run_all("cholesky", params, rows).items()}


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 5),
    size=st.sampled_from([1, 2, 3, 4, 7, 8, 9, 13, 31, 48, 64, 101]),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 99),
)
def test_cholesky(batch: int, size: int, dtype: str, seed: int) -> None:
    a = positive(batch, size, dtype, seed)
    want = np.linalg.cholesky(a.astype(np.float64)).swapaxes(1, 2)
    for where, made in factors(a).items():
        np.testing.assert_allclose(made, want, atol=TOLERANCES[dtype] / 10, err_msg=where)


@pytest.mark.parametrize("size", [397, 512])
def test_cholesky_of_several_hundred_rows(size: int) -> None:
    a = positive(1, size, "float32", 0)
    want = np.linalg.cholesky(a.astype(np.float64)).swapaxes(1, 2)
    for where, made in factors(a).items():
        np.testing.assert_allclose(made, want, atol=6e-7, err_msg=where)
    for where, made in factors(a[:, :21, :21], lanes=4).items():
        np.testing.assert_allclose(made, want[:, :21, :21], atol=3e-6, err_msg=where)


@pytest.mark.parametrize("pivot", [-1.0, 0.0, np.nan])
@pytest.mark.parametrize("row", [0, 3, 5, 18])
def test_what_is_not_positive_definite(row: int, pivot: float) -> None:
    """Its rows before are those of the matrix up to there; from that row on there are no numbers."""
    a = np.eye(19, dtype=np.float32)[None] * 4
    a[:, row, row] = pivot
    for where, made in factors(a).items():
        np.testing.assert_array_equal(made[0, :row], 2 * np.eye(19)[:row], err_msg=where)
        assert np.isnan(made[0, range(row, 19), range(row, 19)]).all(), where


def test_rows_of_a_factor_want_room() -> None:
    params = {"batch": 1, "size": 4, "lead": 50, "dtype": "float32"}
    with pytest.raises(ValueError, match="too little room"):
        run_kernel("cholesky", params, np.zeros((4, 50), np.float32))
