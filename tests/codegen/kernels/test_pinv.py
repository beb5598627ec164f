"""Pseudoinverses against NumPy's in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import run_all, run_kernel

TOLERANCES = {"float32": 2e-6, "float64": 1e-12}


@settings(max_examples=40, deadline=None)
@given(
    batch=st.integers(1, 3),
    rows=st.sampled_from([1, 2, 3, 8, 17, 33]),
    cols=st.sampled_from([1, 2, 4, 9, 16, 31]),
    dtype=st.sampled_from(["float32", "float64"]),
    kind=st.sampled_from(["numbers", "deficient", "zeros", "large", "small"]),
    seed=st.integers(0, 99),
)
def test_pseudoinverses(batch: int, rows: int, cols: int, dtype: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    few = min(rows, cols)
    u, v = (np.linalg.qr(rng.standard_normal((batch, n, few)))[0] for n in (rows, cols))
    s = np.linspace(1, 2, few) * {"zeros": 0, "large": 1e30, "small": 1e-30}.get(kind, 1)
    s[: few // 2] *= 0 if kind == "deficient" else 1
    x = ((u * s) @ v.swapaxes(1, 2)).astype(dtype)
    params = {"batch": batch, "rows": rows, "cols": cols, "dtype": dtype, "atol": 0.0, "rtol": 1e-4}
    want = np.linalg.pinv(x.astype(np.float64), rcond=1e-4)
    for where, (_, y) in run_all("pinv", params, x).items():
        close = TOLERANCES[dtype] * abs(want).max() + 1e-300
        np.testing.assert_allclose(y.reshape(want.shape), want, atol=close, err_msg=where)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_nan(wrong: float) -> None:
    x = np.ones((2, 3, 2), np.float32)
    x[0, 2, 1] = wrong
    params = {"batch": 2, "rows": 3, "cols": 2, "dtype": "float32", "atol": 0.0, "rtol": 1e-6}
    _, y = run_kernel("pinv", params, x)
    assert np.isnan(y[:6]).all()
    np.testing.assert_allclose(y[6:], 1 / 6, rtol=1e-6)


def test_values_that_count_as_zero() -> None:
    x = np.diag([4.0, 1.0, 0.25])
    for atol, rtol, kept in ((0.0, 0.1, 2), (0.5, 0.0, 2), (2.0, 0.1, 1), (0.0, 0.0, 3)):
        params = {"batch": 1, "rows": 3, "cols": 3, "dtype": "float64", "atol": atol, "rtol": rtol}
        for where, (_, y) in run_all("pinv", params, x).items():
            want = np.array([0.25, 1, 4]) * (np.arange(3) < kept)
            np.testing.assert_allclose(y.reshape(3, 3), np.diag(want), atol=1e-15, err_msg=where)
