"""Sums up to each element against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, random, run_all

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def expected(x: Array, reverse: bool) -> Array:
    made = np.cumsum(x[:, ::-1] if reverse else x, axis=1, dtype="float64" if x.dtype.kind == "f" else x.dtype)
    return (made[:, ::-1] if reverse else made).astype(x.dtype)


@settings(max_examples=60, deadline=None)
@given(
    outer=st.integers(1, 5), size=st.sampled_from([1, 2, 7, 8, 9, 15, 16, 17, 33, 100]),
    inner=st.sampled_from([1, 1, 2, 7, 8, 33, 64, 130]), dtype=st.sampled_from(["float32", "float64", *INTEGERS]),
    reverse=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_cumsum(outer: int, size: int, inner: int, dtype: str, reverse: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (outer, size, inner)
    if dtype.startswith("float"):
        x: Array = rng.standard_normal(shape).astype(dtype)
    else:
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    params = {"outer": outer, "size": size, "inner": inner, "dtype": dtype, "reverse": reverse}
    want = expected(x, reverse).reshape(-1)
    for where, (made,) in run_all("cumsum", params, x).items():
        if dtype == "float32":
            np.testing.assert_allclose(made, want, rtol=2e-7, atol=1e-5, err_msg=where)
        elif dtype == "float64":
            np.testing.assert_allclose(made, want, rtol=1e-15, atol=1e-13, err_msg=where)
        else:
            np.testing.assert_array_equal(made, want, err_msg=where)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("inner", [1, 3])
def test_a_long_sum_is_exact(inner: int, reverse: bool) -> None:
    """A total in float32 stays at 2^24, and is off by 1e-3 before."""
    x = (1 + random(3, 1, 300_000, inner) / 8).astype(np.float32)
    params = {"outer": 1, "size": x.shape[1], "inner": inner, "dtype": "float32", "reverse": reverse}
    for where, (made,) in run_all("cumsum", params, x).items():
        np.testing.assert_allclose(made, expected(x, reverse).reshape(-1), rtol=3e-7, err_msg=where)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("inner", [1, 9])
def test_what_is_not_finite_stays_behind_it(inner: int, reverse: bool) -> None:
    x = np.ones((2, 40, inner), np.float32)
    x[0, 17, -1], x[1, 30, 0] = np.nan, np.inf
    params = {"outer": 2, "size": 40, "inner": inner, "dtype": "float32", "reverse": reverse}
    for where, (made,) in run_all("cumsum", params, x).items():
        np.testing.assert_array_equal(made, expected(x, reverse).reshape(-1), err_msg=where)
