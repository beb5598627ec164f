"""Rows that are added up where indices say, listed first."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import Array, random, run_all

F32 = np.float32


def _listed(places: Array, size: int) -> list[list[int]]:
    ends = places[: size + 1]
    return [places[size + 2 + a : size + 2 + b].tolist() for a, b in pairwise(ends)]


@settings(max_examples=60, deadline=None)
@given(
    outer=st.integers(1, 3), size=st.sampled_from([1, 2, 7, 13]), inner=st.sampled_from([1, 16, 17, 61, 128, 131, 300]),
    count=st.sampled_from([1, 5, 40]), index=st.sampled_from(["int32", "int64"]), zeros=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_rows_are_listed_and_added(
    outer: int, size: int, inner: int, count: int, index: str, zeros: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    idx: Array = rng.integers(-2, size + 2, count).astype(index)
    idx[0] = rng.choice([-(2**31), -1, 0, size - 1, size, 2**31 - 1])
    x, u = random(seed, outer, size, inner), random(seed + 1, outer, count, inner)
    u[rng.random(u.shape) < 0.02] = np.nan
    want = np.zeros(x.shape) if zeros else x.astype(np.float64)
    lists: list[list[int]] = [[] for _ in range(size)]
    for k, i in enumerate(idx.tolist()):
        if 0 <= i < size:
            lists[i].append(k)
            want[:, i] += u[:, k]
    params = {"outer": outer, "size": size, "inner": inner, "count": count, "index_dtype": index, "zeros": zeros}
    found = run_all("list_rows", params, idx)
    for where, (places,) in found.items():
        assert _listed(places, size) == lists, where
    for places in [made[0] for made in found.values()][:1]:
        for where, (y,) in run_all("add_rows", params, *([] if zeros else [x]), places, u).items():
            np.testing.assert_array_equal(y, want.astype(F32).reshape(-1), err_msg=where)


def test_sums_are_exact() -> None:
    """In float32 each of 100,000 terms of one row would be rounded."""
    count = 100_000
    params = {"outer": 1, "size": 1, "inner": 16, "count": count, "index_dtype": "int32", "zeros": True}
    places = np.concatenate([[0, count, count], np.arange(count)]).astype(np.int32)
    for where, (y,) in run_all("add_rows", params, places, np.full(count * 16, 0.1, F32)).items():
        np.testing.assert_allclose(y, float(F32(0.1)) * count, rtol=1e-7, err_msg=where)
