"""Eigenvalues of symmetric matrices against NumPy's in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import run_all, run_kernel

TOLERANCES = {"float32": 4e-7, "float64": 2e-14}


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 3),
    size=st.sampled_from([1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 33]),
    dtype=st.sampled_from(["float32", "float64"]),
    lower=st.booleans(),
    kind=st.sampled_from(["numbers", "equal values", "zeros", "large", "one"]),
    seed=st.integers(0, 99),
)
def test_values_and_vectors(batch: int, size: int, dtype: str, lower: bool, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((batch, size, size))
    if kind == "equal values":
        q = np.linalg.qr(x)[0]
        x = q * rng.integers(-1, 2, (batch, 1, size)) @ q.swapaxes(1, 2)
    x = (x * {"zeros": 0, "large": 1e30, "one": 1e-9}.get(kind, 1)).astype(dtype)
    if kind == "one":
        x[:, 0, 0] = 1
    half = np.tril(x.astype(np.float64)) if lower else np.triu(x.astype(np.float64))
    whole = half + half.swapaxes(1, 2) - half * np.eye(size)
    want, scale = np.linalg.eigvalsh(whole), max(abs(whole).max(), 1e-300) * size
    for where, (_, values, vectors) in run_all(
        "eigh", {"batch": batch, "size": size, "dtype": dtype, "lower": lower}, x
    ).items():
        v, w = vectors.reshape(x.shape).astype(np.float64), values.reshape(batch, size).astype(np.float64)
        np.testing.assert_allclose(w / scale, want / scale, atol=TOLERANCES[dtype], err_msg=where)
        np.testing.assert_allclose(whole @ v / scale, v * w[:, None] / scale, atol=TOLERANCES[dtype], err_msg=where)
        np.testing.assert_allclose(v.swapaxes(1, 2) @ v, np.broadcast_to(np.eye(size), x.shape), atol=TOLERANCES[dtype])
        large = abs(v) >= abs(v).max(1, keepdims=True) * (0.5 + 1e-6)
        assert (np.take_along_axis(v, large.argmax(1)[:, None], 1) > 0).all() or kind == "equal values", where


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_nan_where_it_is_read(wrong: float) -> None:
    x = np.ones((2, 3, 3), np.float32)
    x[0, 2, 1] = wrong
    for lower in (True, False):
        _, values, vectors = run_kernel("eigh", {"batch": 2, "size": 3, "dtype": "float32", "lower": lower}, x)
        assert np.isnan(values[:3]).all() == lower
        assert np.isnan(vectors[:9]).all() == lower
        assert np.isfinite(values[3:]).all()
        assert np.isfinite(vectors[9:]).all()
