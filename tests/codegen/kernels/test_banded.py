"""Products with bands against those with the matrices that they are of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import random, run_all, run_kernel


@settings(max_examples=80, deadline=None)
@given(
    outer=st.integers(1, 4), have=st.sampled_from([1, 2, 3, 5, 8, 21, 40]), inner=st.sampled_from([1, 1, 1, 3, 8, 37]),
    wanted=st.sampled_from([1, 3, 7, 8, 16, 17, 33, 50]), width=st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 16, 21]),
    dtype=st.sampled_from(["float32", "float64"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_banded(outer: int, have: int, inner: int, wanted: int, width: int, dtype: str, seed: int) -> None:
    width = min(width, have)
    x, weights = random(seed, outer, have, inner).astype(dtype), random(seed + 1, width, wanted).astype(dtype)
    starts = np.random.default_rng(seed).integers(0, have - width + 1, wanted).astype(np.int32)
    matrix = np.zeros((wanted, have))
    for t in range(width):
        matrix[np.arange(wanted), starts + t] += weights[t]
    expected = np.einsum("rh,ohi->ori", matrix, x.astype(np.float64))
    params = {"outer": outer, "have": have, "inner": inner, "wanted": wanted, "width": width, "dtype": dtype}
    bound = 1e-5 if dtype == "float32" else 1e-13
    for where, (y,) in run_all("banded", params, x, starts, weights).items():
        np.testing.assert_allclose(y.reshape(expected.shape), expected, rtol=bound, atol=bound, err_msg=where)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [2, 4, 7])
def test_short_vectors(width: int, dtype: str) -> None:
    """Of a processor without AVX."""
    x, weights = random(0, 3, 20).astype(dtype), random(1, width, 9).astype(dtype)
    starts = np.arange(9, dtype=np.int32)
    params = {"outer": 3, "have": 20, "inner": 1, "wanted": 9, "width": width, "dtype": dtype}
    (y,) = run_kernel("banded", params, x, starts, weights, lanes=4)
    expected = sum(x[:, starts + t].astype(np.float64) * weights[t] for t in range(width))
    np.testing.assert_allclose(y.reshape(3, 9), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inner", [1, 5])
def test_starts_are_brought_into_range(inner: int) -> None:
    """Whatever they are, nothing beside x is read."""
    x, weights = random(0, 2, 9, inner), np.ones((3, 20), np.float32)
    starts = np.array([-(2**31), -1, 7, 2**31 - 1] * 5, np.int32)
    params = {"outer": 2, "have": 9, "inner": inner, "wanted": 20, "width": 3, "dtype": "float32"}
    first = np.clip(starts, 0, 6)
    expected = sum(x[:, first + t].astype(np.float64) for t in range(3))
    for where, (y,) in run_all("banded", params, x, starts, weights).items():
        np.testing.assert_allclose(y.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6, err_msg=where)


@pytest.mark.parametrize("inner", [1, 5])
def test_what_is_not_finite_reaches_its_bands_only(inner: int) -> None:
    x, weights = random(0, 1, 30, inner), np.ones((2, 29), np.float32)
    x[0, 11, 0], x[0, 20, -1] = np.nan, np.inf
    starts = np.arange(29, dtype=np.int32)
    params = {"outer": 1, "have": 30, "inner": inner, "wanted": 29, "width": 2, "dtype": "float32"}
    for where, (y,) in run_all("banded", params, x, starts, weights).items():
        np.testing.assert_allclose(y.reshape(29, inner), x[0, :-1] + x[0, 1:], rtol=1e-6, err_msg=where)
