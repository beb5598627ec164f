"""Scatter, and the log of prints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, run_all, run_twin

MODES = {"add": np.add.at, "mul": np.multiply.at, "max": np.maximum.at, "min": np.minimum.at}


@settings(max_examples=60, deadline=None)
@given(
    outer=st.integers(1, 3), size=st.integers(1, 9), inner=st.sampled_from([1, 3, 8, 16, 21]), count=st.integers(1, 12),
    dtype=st.sampled_from(["float32", "int32", "int64"]), index=st.sampled_from(["int32", "int64"]),
    mode=st.sampled_from(["update", *MODES]), seed=st.integers(0, 99),
)  # fmt: skip
def test_scatter(outer: int, size: int, inner: int, count: int, dtype: str, index: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x: Array = rng.integers(-4, 5, (outer, size, inner)).astype(dtype)
    u: Array = rng.integers(-4, 5, (outer, count, inner)).astype(dtype)
    if dtype == "float32":
        x[rng.random(x.shape) < 0.1] = np.nan
        u[rng.random(u.shape) < 0.1] = np.nan
    idx: Array = rng.integers(-2, size + 2, count).astype(index)
    expected = x.copy()
    inside = (idx >= 0) & (idx < size)
    for o in range(outer):
        if mode == "update":
            for k in np.flatnonzero(inside):
                expected[o, idx[k]] = u[o, k]
        else:
            MODES[mode](expected[o], idx[inside], u[o, inside])
    params = {
        "outer": outer, "size": size, "inner": inner, "count": count, "dtype": dtype, "index_dtype": index, "mode": mode,
    }  # fmt: skip
    wide = {**params, "block": 1} if (mode, dtype) == ("add", "float32") else params
    for made in (params, wide):
        for where, (y,) in run_all("scatter", made, x, idx, u).items():
            np.testing.assert_array_equal(y, expected.reshape(-1), err_msg=where)
    for where, (y,) in run_all("scatter", {**params, "in_place": True}, idx, u, before=[x.reshape(-1)]).items():
        np.testing.assert_array_equal(y, expected.reshape(-1), err_msg=f"{where}, in place")


@pytest.mark.parametrize(("inner", "mode"), [(16, "update"), (70, "add")])
def test_scatter_to_rows_in_memory(inner: int, mode: str) -> None:
    """Rows whose turn comes later are asked for: behind the last one there is none, and some are out of range."""
    rng, size, count = np.random.default_rng(inner), (1 << 18) // inner + 1, 90
    x, u = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((size, inner), (count, inner)))
    idx = rng.integers(-size // 8, size + size // 8, count).astype(np.int32)
    idx[count // 2 :] = idx[: count - count // 2]
    expected = x.copy()
    for k in np.flatnonzero((idx >= 0) & (idx < size)):
        expected[idx[k]] = u[k] + (expected[idx[k]] if mode == "add" else 0)
    params = {"outer": 1, "size": size, "inner": inner, "count": count, "index_dtype": "int32", "mode": mode}
    params["dtype"] = "float32"
    for where, (y,) in run_all("scatter", {**params, "in_place": True}, idx, u, before=[x.reshape(-1)]).items():
        np.testing.assert_array_equal(y, expected.reshape(-1), err_msg=where)


def test_scatter_of_bools() -> None:
    params = {
        "outer": 1, "size": 4, "inner": 19, "count": 2, "dtype": "bool", "index_dtype": "int32", "mode": "update",
    }  # fmt: skip
    rng = np.random.default_rng(0)
    x, u = rng.random((4, 19)) < 0.5, rng.random((2, 19)) < 0.5
    expected = x.copy()
    expected[[3, 0]] = u
    for where, (y,) in run_all("scatter", params, x, np.array([3, 0], np.int32), u).items():
        np.testing.assert_array_equal(y, expected.reshape(-1), err_msg=where)


CAPACITY = 64


def _log(site: int, *arrays: Array) -> dict[str, object]:
    return {
        "site": site,
        "capacity": CAPACITY,
        "dtypes": tuple(str(a.dtype) for a in arrays),
        "sizes": tuple(a.size for a in arrays),
    }


@pytest.mark.parametrize("start", [2, 40, 58, 60])
def test_log(start: int) -> None:
    """An entry is its site and the elements' bits; one that does not fit is counted."""
    log = np.arange(CAPACITY, dtype=np.int64)
    log[:2] = start, 5
    x = np.array([1.5, -0.0, np.inf], np.float32)
    half = np.array([1.0], np.float16)
    operands = (x, np.array([-7], np.int32), np.array([True]), half, np.array([-2.0]))
    for where, (out,) in run_all("log", _log(9, *operands), log, *operands).items():
        expected = log.copy()
        words = [9, 0x3FC00000, 0x80000000, 0x7F800000, -7, 1, 0x3C00, -(1 << 62)]
        if start + len(words) <= CAPACITY:
            expected[start : start + len(words)] = words
            expected[0] = start + len(words)
        else:
            expected[1] = 6
        np.testing.assert_array_equal(out, expected, err_msg=where)


def test_log_without_operands() -> None:
    log = np.zeros(CAPACITY, np.int64)
    log[0] = 2
    (out,) = run_twin("log", _log(3), log)
    assert list(out[:3]) == [3, 0, 3]
    for (native,) in run_all("log", _log(3), log).values():
        np.testing.assert_array_equal(native, out)
