"""Places that sort rows, and binary search, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, run_all

DTYPES = ["float32", "float64", "int32", "int64", "uint32", "uint64"]


def values(dtype: str, count: int, seed: int) -> Array:
    """Many equal ones, and the ends of the range."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        x: Array = (rng.standard_normal(count) * 10.0 ** rng.integers(-40, 38, count)).astype(dtype)
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 1.5, 1.5], dtype)
        return np.where(rng.random(count) < 0.3, rng.choice(special, count), x)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, count, dtype, endpoint=True)
    return np.where(rng.random(count) < 0.4, rng.choice(np.array([info.min, info.max, 0, 7], dtype), count), x)


#: What rows are like: among them those whose small elements stand in one column, and those of elements that differ by little.
HOW = ["random", "sorted", "equal", "NaN", "column", "near", "few"]


def arranged(x: Array, how: str, seed: int) -> Array:
    """Rows like that of some values."""
    rng, size = np.random.default_rng(seed), x.shape[1]
    if how == "sorted":
        return np.sort(x, axis=1)[:, :: -1 if seed % 2 else 1].copy()
    if how == "equal":
        x[:, seed % size :] = x[0, 0]
    elif how == "NaN" and x.dtype.kind == "f":
        x[:, :: 1 + seed % 5] = np.nan
    elif how == "column":
        ends = np.sort(x, axis=None)
        x[:, :: max(1, size // 8 // 8 * 8)] = ends[0]
        x[:, 1 :: max(1, size // 8 // 8 * 8)] = ends[-1]
    elif how == "near":
        x[:] = 1000 + rng.random(x.shape) if x.dtype.kind == "f" else rng.integers(10**6, 10**6 + 5000, x.shape)
    elif how == "few":
        x[:] = rng.integers(0, 7, x.shape)
    return x


def ordered(x: Array, descending: bool) -> Array:
    """Stable, NaN last, one element after the other."""
    nan, listed = np.isnan(x), x.tolist()
    numbers = [i for i in range(len(x)) if not nan[i]]
    first = sorted(numbers, key=lambda i: -listed[i] if descending else listed[i])
    return np.array([*first, *np.flatnonzero(nan)], np.int32)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 7), size=st.sampled_from([1, 2, 7, 8, 15, 16, 17, 33, 63, 64, 65, 100, 257, 1000]),
    dtype=st.sampled_from(DTYPES), descending=st.booleans(), parts=st.integers(1, 3), seed=st.integers(0, 99),
)  # fmt: skip
def test_argsort(rows: int, size: int, dtype: str, descending: bool, parts: int, seed: int) -> None:
    x = values(dtype, rows * size, seed).reshape(rows, size)
    params = {"rows": rows, "size": size, "parts": min(parts, rows), "dtype": dtype, "descending": descending}
    expected = np.concatenate([ordered(row, descending) for row in x])
    for where, outputs in run_all("argsort", params, x).items():
        np.testing.assert_array_equal(outputs[-1], expected, err_msg=where)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 5), size=st.sampled_from([1, 2, 15, 16, 17, 33, 65, 100, 257, 1000]),
    count=st.sampled_from([1, 2, 8, 9, 17, 64]),
    dtype=st.sampled_from(DTYPES), descending=st.booleans(), how=st.sampled_from(HOW),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_first_places(rows: int, size: int, count: int, dtype: str, descending: bool, how: str, seed: int) -> None:
    x = arranged(values(dtype, rows * size, seed).reshape(rows, size), how, seed)
    count = min(count, size)
    params = {"rows": rows, "size": size, "count": count, "dtype": dtype, "descending": descending}
    expected = np.concatenate([ordered(row, descending)[:count] for row in x])
    for where, (places,) in run_all("first_places", params, x).items():
        np.testing.assert_array_equal(places, expected, err_msg=where)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.integers(1, 4), size=st.sampled_from([1, 2, 15, 16, 17, 33, 65, 101, 257, 1009, 2503]),
    count=st.sampled_from([1, 2, 9, 17, 65, 100, 503, 2503]),
    dtype=st.sampled_from(DTYPES), descending=st.booleans(), last=st.booleans(), how=st.sampled_from(HOW),
    parts=st.integers(1, 3), seed=st.integers(0, 99),
)  # fmt: skip
def test_partial_argsort(
    rows: int, size: int, count: int, dtype: str, descending: bool, last: bool, how: str, parts: int, seed: int
) -> None:
    x, count = arranged(values(dtype, rows * size, seed).reshape(rows, size), how, seed), min(count, size)
    order = {"rows": rows, "size": size, "count": count, "dtype": dtype, "descending": descending, "last": last}
    expected = np.concatenate([ordered(row, descending)[count - 1 if last else 0 : count] for row in x])
    for where, outputs in run_all("partial_argsort", order | {"parts": min(parts, rows)}, x).items():
        np.testing.assert_array_equal(outputs[-1], expected, err_msg=where)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 3), size=st.sampled_from([1, 2, 3, 7, 8, 9, 64, 100]), count=st.integers(1, 19),
    dtype=st.sampled_from(DTYPES), right=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_search(rows: int, size: int, count: int, dtype: str, right: bool, seed: int) -> None:
    table = np.sort(values(dtype, rows * size, seed).reshape(rows, size), axis=1)
    wanted = values(dtype, rows * count, seed + 1).reshape(rows, count)
    wanted[:, 0] = table[:, size // 2]
    compare = np.less_equal if right else np.less
    expected = compare(table[:, None, :], wanted[:, :, None]).sum(-1)
    params = {"rows": rows, "size": size, "count": count, "dtype": dtype, "right": right}
    for where, (found,) in run_all("search", params, table, wanted).items():
        np.testing.assert_array_equal(found, expected.reshape(-1), err_msg=where)


@pytest.mark.parametrize("descending", [False, True])
def test_a_long_row(descending: bool) -> None:
    x = np.random.default_rng(0).integers(0, 1000, 300_000).astype(np.float32)
    params = {"rows": 1, "size": x.size, "parts": 1, "dtype": "float32", "descending": descending}
    expected = np.argsort(-x if descending else x, kind="stable")
    for where, outputs in run_all("argsort", params, x).items():
        np.testing.assert_array_equal(outputs[-1], expected, err_msg=where)
