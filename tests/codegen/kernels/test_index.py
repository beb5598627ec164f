"""argmax, overflow flag, gather and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import EMITTERS
from tests.codegen.kernel_harness import Array, ir_text, random, run_all

F32 = np.float32


@settings(max_examples=80, deadline=None)
@given(
    outer=st.integers(1, 3), size=st.one_of(st.integers(1, 40), st.integers(60, 300)), inner=st.sampled_from([1, 1, 2, 19, 33]),
    dtype=st.sampled_from(["float32", "int32", "int64"]), out=st.sampled_from(["int32", "int64"]),
    mode=st.sampled_from(["max", "min"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_argmax(outer: int, size: int, inner: int, dtype: str, out: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x: Array = rng.integers(-3, 4, (outer, size, inner)).astype(dtype)
    if dtype == "float32":
        x[rng.random(x.shape) < 0.05] = np.nan
        x[rng.random(x.shape) < 0.05] = np.inf if mode == "max" else -np.inf
    params = {"outer": outer, "size": size, "inner": inner, "dtype": dtype, "mode": mode, "out_dtype": out}
    expected = (np.argmax if mode == "max" else np.argmin)(x, axis=1).reshape(-1)
    for where, (y,) in run_all("argmax", params, x).items():
        np.testing.assert_array_equal(y, expected, err_msg=where)


@pytest.mark.parametrize("inner", [1, 8])
def test_argmax_of_more_than_can_be_counted_is_refused(inner: int) -> None:
    params = {
        "outer": 1,
        "size": (1 << 31) + 1,
        "inner": inner,
        "dtype": "float32",
        "mode": "max",
        "out_dtype": "int64",
    }
    with pytest.raises(CodegenError, match="32 bits"):
        ir_text(lambda w, p: EMITTERS["argmax"].emit(w, params, p), 2, 8)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.one_of(st.integers(1, 20), st.integers(60, 200)), min_size=0, max_size=4),
    data=st.data(),
)
def test_float_status(sizes: list[int], data: st.DataObject) -> None:
    params = {"sizes": tuple(sizes)}
    clear = np.zeros(8, np.int32)
    arrays = [np.full(n, 3.4028235e38, F32) * np.where(np.arange(n) % 2, F32(1), F32(-1)) for n in sizes]
    for where, (flag,) in run_all("float_status", params, clear, *arrays).items():
        assert not flag[0], where
    raised = clear.copy()
    raised[data.draw(st.integers(0, 7))] = data.draw(st.sampled_from([1, -1, 1 << 31 - 1]))
    for where, (flag,) in run_all("float_status", params, raised, *arrays).items():
        assert flag.view(np.uint8)[0] == 1, where
    if sizes:
        which = data.draw(st.integers(0, len(sizes) - 1))
        place = data.draw(st.integers(0, sizes[which] - 1))
        arrays[which][place] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        for where, (flag,) in run_all("float_status", params, clear, *arrays).items():
            assert flag.view(np.uint8)[0] == 1, where


GATHER = {
    "outer": st.integers(1, 3), "size": st.integers(1, 9), "inner": st.sampled_from([1, 3, 8, 16, 21, 40]),
    "count": st.integers(1, 40), "index_dtype": st.sampled_from(["int32", "int64"]),
}  # fmt: skip


def _indices(size: int, count: int, dtype: str) -> Array:
    rng = np.random.default_rng(size * count)
    idx = rng.integers(-2, size + 2, count)
    idx[rng.random(count) < 0.1] = -(2**31)
    return idx.astype(dtype)


@settings(max_examples=30, deadline=None)
@given(dtype=st.sampled_from(["float32", "int32", "int64", "bool"]), **GATHER)
def test_gather(outer: int, size: int, inner: int, count: int, dtype: str, index_dtype: str) -> None:
    x = (random(1, outer, size, inner) * 3).astype(dtype)
    idx = _indices(size, count, index_dtype)
    expected = np.zeros((outer, count, inner), dtype)
    for k, i in enumerate(idx.tolist()):
        if 0 <= i < size:
            expected[:, k] = x[:, i]
    params = {
        "outer": outer, "size": size, "inner": inner, "count": count,
        "dtype": dtype, "index_dtype": index_dtype,
    }  # fmt: skip
    for where, (y,) in run_all("gather", params, x, idx).items():
        np.testing.assert_array_equal(y.reshape(expected.shape), expected, err_msg=where)


@settings(max_examples=30, deadline=None)
@given(**GATHER)
def test_gather_grad(outer: int, size: int, inner: int, count: int, index_dtype: str) -> None:
    dy = random(1, outer, count, inner)
    dy[0, 0, 0] = np.nan
    idx = _indices(size, count, index_dtype)
    expected = np.zeros((outer, size, inner))
    for k, i in enumerate(idx.tolist()):
        if 0 <= i < size:
            expected[:, i] += dy[:, k].astype(np.float64)
    params = {"outer": outer, "size": size, "inner": inner, "count": count, "index_dtype": index_dtype}
    for where, (dx,) in run_all("gather_grad", params, dy, idx).items():
        np.testing.assert_allclose(dx.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5, err_msg=where)
    for where, (dx,) in run_all("gather_grad", {**params, "block": 1}, dy, idx).items():
        np.testing.assert_array_equal(dx.reshape(expected.shape), expected, err_msg=where)


@pytest.mark.parametrize("inner", [1, 5])
def test_gather_does_not_read_what_an_index_excludes(inner: int) -> None:
    x = np.full((1, 2, inner), np.nan, F32)
    idx = np.array([5, -1], np.int32)
    params = {"outer": 1, "size": 2, "inner": inner, "count": 2, "dtype": "float32", "index_dtype": "int32"}
    for where, (y,) in run_all("gather", params, x, idx).items():
        np.testing.assert_array_equal(y, np.zeros(2 * inner, F32), err_msg=where)


@pytest.mark.parametrize(("outer", "inner", "dtype"), [(1, 16, "float32"), (2, 300, "int64"), (1, 77, "bool")])
def test_gather_of_rows_from_memory(outer: int, inner: int, dtype: str) -> None:
    """Rows whose turn comes later are asked for: behind the last one there is none, and some are out of range."""
    size, count = (1 << 20) // (inner * np.dtype(dtype).itemsize) + 1, 90
    x = (random(1, outer, size, inner) * 3).astype(dtype)
    idx = _indices(size, count, "int32")
    inside = (idx >= 0) & (idx < size)
    expected = np.where(inside[:, None], x[:, np.where(inside, idx, 0)], np.zeros(1, dtype))
    params = {"outer": outer, "size": size, "inner": inner, "count": count, "dtype": dtype, "index_dtype": "int32"}
    for where, (y,) in run_all("gather", params, x, idx).items():
        np.testing.assert_array_equal(y.reshape(expected.shape), expected, err_msg=where)
