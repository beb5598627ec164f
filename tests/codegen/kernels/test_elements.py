"""Elements read and written at places along an axis, against a loop."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, run_all

COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
SHAPES = {
    "outer": st.sampled_from([1, 2, 5, 8, 19]), "size": st.integers(1, 9), "inner": st.sampled_from([1, 1, 3, 8, 21, 40, 300]),
    "count": st.sampled_from([1, 2, 7, 8, 19]), "index": st.sampled_from(["int32", "int64"]), "seed": st.integers(0, 99),
}  # fmt: skip


def drawn(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    x: Array = rng.integers(0, 2 if dtype == "bool" else 7, shape).astype(dtype)
    if dtype.startswith("float"):
        x[rng.random(x.shape) < 0.1] = np.nan
    return x


@settings(max_examples=60, deadline=None)
@given(dtype=st.sampled_from(["float32", "float64", "int64", "int16", "bool"]), **SHAPES)
def test_gather_elements(outer: int, size: int, inner: int, count: int, dtype: str, index: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, idx = (
        drawn((outer, size, inner), dtype, rng),
        rng.integers(-size - 2, size + 2, (outer, count, inner)).astype(index),
    )
    want: Array = np.zeros(idx.shape, dtype)
    for o, k, j in itertools.product(*map(range, idx.shape)):
        if -size <= idx[o, k, j] < size:
            want[o, k, j] = x[o, idx[o, k, j], j]
    params = {"outer": outer, "size": size, "inner": inner, "count": count, "dtype": dtype, "index_dtype": index}
    for where, (y,) in run_all("gather_elements", params, x, idx).items():
        np.testing.assert_array_equal(y, want.reshape(-1), err_msg=where)


@settings(max_examples=60, deadline=None)
@given(dtype=st.sampled_from(["float32", "float64", "int64"]), mode=st.sampled_from(["update", *COMBINE]), **SHAPES)
def test_scatter_elements(
    outer: int, size: int, inner: int, count: int, dtype: str, mode: str, index: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, u = drawn((outer, size, inner), dtype, rng), drawn((outer, count, inner), dtype, rng)
    idx = rng.integers(-size - 2, size + 2, u.shape).astype(index)
    want = x.copy()
    for o, k, j in itertools.product(range(outer), range(count), range(inner)):
        at = (o, idx[o, k, j], j)
        if -size <= at[1] < size:
            want[at] = u[o, k, j] if mode == "update" else COMBINE[mode](want[at], u[o, k, j])
    params = {
        "outer": outer, "size": size, "inner": inner, "count": count, "dtype": dtype, "index_dtype": index, "mode": mode,
    }  # fmt: skip
    wide = {**params, "block": 1} if (mode, dtype) == ("add", "float32") else params
    for made in (params, wide):
        for where, (y,) in run_all("scatter_elements", made, x, idx, u).items():
            np.testing.assert_array_equal(y, want.reshape(-1), err_msg=where)
    for where, (y,) in run_all(
        "scatter_elements", {**params, "in_place": True}, idx, u, before=[x.reshape(-1)]
    ).items():
        np.testing.assert_array_equal(y, want.reshape(-1), err_msg=f"{where}, in place")
    from_zeros = run_all("scatter_elements", params, np.zeros_like(x), idx, u)
    for where, (y,) in run_all("scatter_elements", {**params, "of_zeros": True}, idx, u).items():
        np.testing.assert_array_equal(y, from_zeros[where][0], err_msg=f"{where}, of zeros")


def test_rows_far_apart() -> None:
    """Offsets of neighbouring rows that no int32 holds. Nothing lies between the elements that are read."""
    size = 1 << 28
    x = np.zeros(9 * size, np.int8)
    x[::size] = np.arange(9)
    params = {"outer": 9, "size": size, "inner": 1, "count": 1, "dtype": "int8", "index_dtype": "int32"}
    for where, (y,) in run_all("gather_elements", params, x, np.zeros(9, np.int32)).items():
        np.testing.assert_array_equal(y, np.arange(9), err_msg=where)
