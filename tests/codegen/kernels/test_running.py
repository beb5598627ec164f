"""Products, recurrences and extrema up to each element, against a loop in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, random, run_all

SHAPES = {
    "outer": st.integers(1, 9), "size": st.sampled_from([1, 2, 7, 8, 16, 33, 61]),
    "inner": st.sampled_from([1, 1, 2, 8, 33, 40, 130]), "seed": st.integers(0, 99),
}  # fmt: skip


def params(x: Array, **more: Any) -> dict[str, Any]:
    return {"outer": x.shape[0], "size": x.shape[1], "inner": x.shape[2], "dtype": x.dtype.name, **more}


@settings(max_examples=40, deadline=None)
@given(dtype=st.sampled_from(["float32", "float64", "int8", "int64", "uint16"]), **SHAPES)
def test_cumprod(outer: int, size: int, inner: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x: Array = (rng.uniform(0.5, 2, (outer, size, inner)) * rng.choice([-1, 1], (outer, size, inner))).astype(dtype)
    if not dtype.startswith("float"):
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, x.shape, dtype, endpoint=True)
    want = np.cumprod(x, axis=1, dtype="float64" if x.dtype.kind == "f" else dtype).astype(dtype).reshape(-1)
    for where, (made,) in run_all("cumprod", params(x), x).items():
        np.testing.assert_allclose(made, want, rtol={"float32": 3e-6, "float64": 1e-14}.get(dtype, 0), err_msg=where)


@settings(max_examples=40, deadline=None)
@given(dtype=st.sampled_from(["float32", "float64"]), reverse=st.booleans(), own=st.booleans(), **SHAPES)
def test_recurrence(outer: int, size: int, inner: int, dtype: str, reverse: bool, own: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(-1, 1, (outer, size, inner)).astype(dtype) for _ in range(2))
    way = range(size)[::-1] if reverse else range(size)
    want, last = np.zeros(a.shape), np.zeros((outer, inner))
    for before, i in zip([None, *way], way, strict=False):
        last = b[:, i].astype(np.float64) + (0 if before is None else a[:, i if own else before] * last)
        want[:, i] = last
    # What the first element would be multiplied by is nobody's.
    a[:, way[0 if own else -1]] = np.nan
    for where, (made,) in run_all("recurrence", params(a, reverse=reverse, own=own), a, b).items():
        np.testing.assert_allclose(
            made, want.reshape(-1), rtol=2e-7 if dtype == "float32" else 1e-13, atol=1e-7, err_msg=where
        )


@settings(max_examples=40, deadline=None)
@given(
    dtype=st.sampled_from(["float32", "float64", "int16", "int64", "uint8"]),
    mode=st.sampled_from(["max", "min"]),
    **SHAPES,
)
def test_cumextremum(outer: int, size: int, inner: int, dtype: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x: Array = rng.integers(-3, 4, (outer, size, inner)).astype(dtype)
    if dtype.startswith("float"):
        x[rng.random(x.shape) < 0.05] = np.nan
    values, places = x.copy(), np.zeros(x.shape, np.int64)
    for o, i, j in np.ndindex(x.shape):
        here = x[o, : i + 1, j]
        best = np.max(here) if mode == "max" else np.min(here)
        values[o, i, j] = best
        places[o, i, j] = np.flatnonzero(np.isnan(here) if best != best else here == best)[-1]
    for where, made in run_all("cumextremum", params(x, mode=mode), x).items():
        np.testing.assert_array_equal(made[0], values.reshape(-1), err_msg=where)
        np.testing.assert_array_equal(made[1], places.reshape(-1), err_msg=where)


@pytest.mark.parametrize("inner", [1, 9])
def test_a_long_recurrence_is_exact(inner: int) -> None:
    """A total in float32 is off by 1e-3."""
    b = (1 + random(3, 1, 300_000, inner) / 8).astype(np.float32)
    want = np.cumsum(b, 1, dtype=np.float64).reshape(-1)
    for where, (made,) in run_all("recurrence", params(b, reverse=False, own=True), np.ones_like(b), b).items():
        np.testing.assert_allclose(made, want, rtol=1e-6, err_msg=where)
