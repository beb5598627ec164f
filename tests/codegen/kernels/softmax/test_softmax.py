"""Softmax family and cross entropy against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.program import Instr
from tests.codegen.kernel_harness import Array, random, run_all

ROWS = st.integers(1, 4)
COLS = st.one_of(st.integers(1, 40), st.sampled_from([64, 100, 130]))
BLOCK = st.sampled_from([0, 1, 2, 3])

_TWICE = (Instr("input", (), "float32", 0), Instr("const", (), "float32", 2.0), Instr("mul", (0, 1), "float32"))


def _softmax(x: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    result: Array = e / e.sum(axis=1, keepdims=True)
    return result


def _log_softmax(x: Array) -> Array:
    shifted = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def _compare(name: str, params: dict[str, Any], inputs: tuple[Array, ...], *exact: Array) -> None:
    for where, results in run_all(name, params, *inputs).items():
        for result, right in zip(results, exact, strict=True):
            np.testing.assert_allclose(result.reshape(right.shape), right, rtol=1e-5, atol=2e-6, err_msg=where)


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, cols=COLS, scale=st.sampled_from([1.0, 30.0, 3000.0]), block=BLOCK)
def test_softmax_and_gradients(rows: int, cols: int, scale: float, block: int) -> None:
    p = {"rows": rows, "cols": cols, "block": block}
    x = random(1, rows, cols) * np.float32(scale)
    dy = random(2, rows, cols)
    y, log_y = _softmax(x), _log_softmax(x)
    _compare("softmax", p, (x,), y)
    _compare("log_softmax", p, (x,), log_y)
    y32, log32 = y.astype(np.float32), log_y.astype(np.float32)
    _compare("softmax_grad", p, (y32, dy), y32 * (dy - (y32.astype(np.float64) * dy).sum(axis=1, keepdims=True)))
    total = dy.astype(np.float64).sum(axis=1, keepdims=True)
    _compare("log_softmax_grad", p, (log32, dy), dy - np.exp(log32.astype(np.float64)) * total)


def _loss(rows: int, cols: int, sparse: bool, dtype: str) -> dict[str, Any]:
    return {"rows": rows, "cols": cols, "sparse": sparse, "label_dtype": dtype}


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, cols=COLS, dtype=st.sampled_from(["int32", "int64"]), scale=st.sampled_from([1.0, 30.0]))
def test_sparse_cross_entropy(rows: int, cols: int, dtype: str, scale: float) -> None:
    x = random(1, rows, cols) * np.float32(scale)
    labels = np.random.default_rng(2).integers(0, cols, rows).astype(dtype)
    loss = -_log_softmax(x)[np.arange(rows), labels]
    gradient = _softmax(x) - (np.arange(cols) == labels[:, None])
    _compare("softmax_cross_entropy", _loss(rows, cols, True, dtype), (x, labels), loss, gradient)


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, cols=COLS, scale=st.sampled_from([1.0, 30.0]), block=BLOCK)
def test_dense_cross_entropy(rows: int, cols: int, scale: float, block: int) -> None:
    x = random(1, rows, cols) * np.float32(scale)
    labels = np.random.default_rng(2).uniform(0, 0.3, (rows, cols)).astype(np.float32)
    loss = -(labels * _log_softmax(x)).sum(axis=1)
    gradient = _softmax(x) - labels
    params = _loss(rows, cols, False, "float32") | {"block": block}
    for where, (value, dlogits) in run_all("softmax_cross_entropy", params, x, labels).items():
        np.testing.assert_allclose(value, loss, rtol=1e-5, atol=1e-5, err_msg=where)
        np.testing.assert_allclose(dlogits.reshape(rows, cols), gradient, rtol=1e-4, atol=1e-5, err_msg=where)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("bad", [-1, 10, -(2**31), 2**31 - 1])
def test_label_out_of_range_is_nan_in_its_row_only(dtype: str, bad: int) -> None:
    x, labels = random(1, 3, 10), np.array([3, bad, 9], dtype)
    for where, (loss, dlogits) in run_all("softmax_cross_entropy", _loss(3, 10, True, dtype), x, labels).items():
        assert np.isnan(loss).tolist() == [False, True, False], where
        assert np.isnan(dlogits.reshape(3, 10)).all(axis=1).tolist() == [False, True, False], where
        assert np.isfinite(dlogits.reshape(3, 10)[[0, 2]]).all(), where


@pytest.mark.parametrize("cols", [10, 16, 37])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_logits_are_nan_in_their_row_only(bad: float, cols: int) -> None:
    x = random(1, 3, cols)
    x[1, cols - 1] = bad
    p = {"rows": 3, "cols": cols}
    labels = np.zeros(3, np.int32)
    for name, params, inputs in (
        ("softmax", p, (x,)),
        ("log_softmax", p, (x,)),
        ("softmax_cross_entropy", _loss(3, cols, True, "int32"), (x, labels)),
    ):
        for where, results in run_all(name, params, *inputs).items():
            for result in results:
                rows = result.reshape(3, -1)
                assert np.isnan(rows[1]).all(), (name, where)
                assert np.isfinite(rows[[0, 2]]).all(), (name, where)


@pytest.mark.parametrize("offset", [-1000.0, 1000.0])
def test_a_common_offset_changes_nothing(offset: float) -> None:
    x = random(1, 2, 21) + np.float32(offset)
    _compare("softmax", {"rows": 2, "cols": 21}, (x,), _softmax(x))
    labels = np.array([0, 20], np.int32)
    gradient = _softmax(x) - (np.arange(21) == labels[:, None])
    loss = -_log_softmax(x)[np.arange(2), labels]
    _compare("softmax_cross_entropy", _loss(2, 21, True, "int32"), (x, labels), loss, gradient)


def test_minus_infinity_is_probability_zero() -> None:
    x = np.array([[0.0, -np.inf, 0.0]], np.float32)
    _compare("softmax", {"rows": 1, "cols": 3}, (x,), np.array([[0.5, 0.0, 0.5]]))
    params, labels = _loss(1, 3, True, "int32"), np.array([1], np.int32)
    for where, (loss, dlogits) in run_all("softmax_cross_entropy", params, x, labels).items():
        assert loss[0] == np.inf, where
        np.testing.assert_allclose(dlogits, [0.5, -1.0, 0.5], rtol=1e-6, err_msg=where)


@settings(max_examples=20, deadline=None)
@given(cols=st.one_of(st.integers(1, 40), st.sampled_from([48, 64, 70])), matrices=st.integers(1, 3), block=BLOCK)
def test_causal_rows(cols: int, matrices: int, block: int) -> None:
    """What stands above the diagonal does not matter, not even NaN; the results there are zero."""
    p = {"rows": matrices * cols, "cols": cols, "causal": True, "block": block}
    counts = np.tile(np.tri(cols, dtype=bool), (matrices, 1))
    x, dy = random(1, matrices * cols, cols), random(2, matrices * cols, cols)
    y = _softmax(np.where(counts, x, np.float32(-np.inf)))
    total = (dy.astype(np.float64) * y).sum(axis=1, keepdims=True)
    dx = y * (dy - total)
    rng = np.random.default_rng(3)
    for garbage in (x, rng.choice(np.float32([np.nan, np.inf, -np.inf, 3e38]), x.shape)):
        _compare("softmax", p, (np.where(counts, x, garbage),), y)
        _compare("softmax_grad", p, (y.astype(np.float32), np.where(counts, dy, garbage)), dx)
    scaled = {"epilogue": _TWICE, "extras": (), "stores": (2,)}
    _compare("softmax_grad", p | scaled, (y.astype(np.float32), np.where(counts, dy, np.float32(np.nan))), 2 * dx)


def test_causal_rows_propagate_nan() -> None:
    x = random(1, 40, 40)
    x[7, 3], x[9, 9], x[5, 20] = np.nan, np.inf, np.nan
    for where, (y,) in run_all("softmax", {"rows": 40, "cols": 40, "causal": True}, x).items():
        bad = np.isnan(y.reshape(40, 40)).any(axis=1)
        assert np.flatnonzero(bad).tolist() == [7, 9], where
