"""Matrix products against float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels.microkernel import blocks, strips

from .kernel_harness import Array, random, run_all

SIZE = st.one_of(st.integers(1, 20), st.sampled_from([28, 31, 32, 33, 48, 65]))


def _params(m: int, n: int, k: int, ta: bool, tb: bool, accumulate: bool, batch: int) -> dict[str, object]:
    return {"m": m, "n": n, "k": k, "ta": ta, "tb": tb, "accumulate": accumulate, "batch": batch}


def _operands(seed: int, m: int, n: int, k: int, batch: int) -> tuple[Array, Array]:
    return random(seed, batch, m, k), random(seed + 1, batch, k, n)


def _stored(x: Array, transposed: bool) -> Array:
    return np.ascontiguousarray(x.transpose(0, 2, 1) if transposed else x)


@settings(max_examples=60, deadline=None)
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    accumulate=st.booleans(),
    batch=st.integers(1, 3),
)
def test_product(m: int, n: int, k: int, ta: bool, tb: bool, accumulate: bool, batch: int) -> None:
    a, b = _operands(m + n + k, m, n, k, batch)
    before = random(9, batch, m, n)
    exact = a.astype(np.float64) @ b.astype(np.float64) + accumulate * before
    scale = np.abs(a).astype(np.float64) @ np.abs(b) + 1
    results = run_all(
        "gemm", _params(m, n, k, ta, tb, accumulate, batch), _stored(a, ta), _stored(b, tb), before=[before]
    )
    for where, (c,) in results.items():
        error = np.abs(c.reshape(exact.shape) - exact)
        assert (error <= 1e-6 * scale).all(), where


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_larger_product(ta: bool, tb: bool) -> None:
    m, n, k = 64, 131, 400
    a, b = _operands(0, m, n, k, 1)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for where, (c,) in run_all("gemm", _params(m, n, k, ta, tb, False, 1), _stored(a, ta), _stored(b, tb)).items():
        assert np.abs(c.reshape(exact.shape) - exact).max() <= 1e-6 * k, where


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_reaches_exactly_its_row(ta: bool, tb: bool, bad: float) -> None:
    a, b = _operands(3, 19, 21, 18, 1)
    a[0, 7, 17] = bad
    for where, (c,) in run_all("gemm", _params(19, 21, 18, ta, tb, False, 1), _stored(a, ta), _stored(b, tb)).items():
        finite = np.isfinite(c.reshape(19, 21))
        assert not finite[7].any(), where
        assert np.delete(finite, 7, axis=0).all(), where


@given(total=st.integers(1, 1000), limit=st.integers(1, 40))
def test_blocks_cover_and_balance(total: int, limit: int) -> None:
    covered = [start + i * size for start, count, size in blocks(total, limit) for i in range(count)]
    sizes = [size for _, count, size in blocks(total, limit) for _ in range(count)]
    assert covered == [sum(sizes[:i]) for i in range(len(sizes))]
    assert sum(sizes) == total
    assert max(sizes) <= limit
    assert max(sizes) - min(sizes) <= 1


@given(total=st.integers(1, 1000), lanes=st.sampled_from([8, 16]), vectors=st.integers(1, 3))
def test_strips_cover(total: int, lanes: int, vectors: int) -> None:
    covered = 0
    for start, count, widths in strips(total, lanes, vectors):
        assert start == covered
        assert all(width == lanes for width in widths[:-1])
        covered += count * sum(widths)
    assert covered == total
