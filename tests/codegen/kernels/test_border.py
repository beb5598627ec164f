"""Borders that repeat what is inside, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import random, run_all

MODES = ["reflect", "symmetric", "edge", "wrap"]


@st.composite
def _axes(draw: st.DrawFn) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    mode = draw(st.sampled_from(MODES))
    made = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.sampled_from([1, 2, 3, 5, 8, 19]))
        most = min(3, {"reflect": size - 1, "edge": 3}.get(mode, size))
        made.append((size, draw(st.integers(0, most)), draw(st.integers(0, most))))
    if draw(st.booleans()):
        size, *_ = made[-1]
        long = {"reflect": size - 1, "edge": 11}.get(mode, size)
        made[-1] = (size, long, long)
    return mode, tuple(made)


@settings(max_examples=60, deadline=None)
@given(axes=_axes(), outer=st.integers(1, 5), dtype=st.sampled_from(["float32", "float64", "int32", "bool"]))
def test_borders(axes: tuple[str, tuple[tuple[int, int, int], ...]], outer: int, dtype: str) -> None:
    mode, sizes = axes
    params = {"outer": outer, "axes": sizes, "mode": mode, "dtype": dtype}
    x = (random(1, outer, *(size for size, _, _ in sizes)) * 3).astype(dtype)
    pads = [(0, 0), *((before, after) for _, before, after in sizes)]
    expected = np.pad(x, pads, mode)  # type: ignore[call-overload]
    for where, (y,) in run_all("border_pad", params, x).items():
        np.testing.assert_array_equal(y.reshape(expected.shape), expected, err_msg=where)


@settings(max_examples=60, deadline=None)
@given(axes=_axes(), outer=st.integers(1, 5), dtype=st.sampled_from(["float32", "float64"]))
def test_gradients_of_borders(axes: tuple[str, tuple[tuple[int, int, int], ...]], outer: int, dtype: str) -> None:
    mode, sizes = axes
    params = {"outer": outer, "axes": sizes, "mode": mode, "dtype": dtype}
    shape = (outer, *(size for size, _, _ in sizes))
    pads = [(0, 0), *((before, after) for _, before, after in sizes)]
    # Each element of x as its number: where it is shown, its gradient goes.
    places = np.pad(np.arange(int(np.prod(shape))).reshape(shape), pads, mode)  # type: ignore[call-overload]
    dy = random(1, *places.shape).astype(dtype)
    expected = np.zeros(int(np.prod(shape)))
    np.add.at(expected, places.reshape(-1), dy.reshape(-1).astype(np.float64))
    for where, (dx,) in run_all("border_pad_grad", params, dy).items():
        np.testing.assert_allclose(dx, expected, rtol=1e-5, atol=1e-5, err_msg=where)


@pytest.mark.parametrize("mode", MODES)
def test_not_finite_gradients_stay_where_they_are(mode: str) -> None:
    params = {"outer": 1, "axes": ((4, 1, 1), (9, 1, 1)), "mode": mode, "dtype": "float32"}
    dy = np.ones((6, 11), np.float32)
    dy[3, 5] = np.nan
    for where, (dx,) in run_all("border_pad_grad", params, dy).items():
        assert np.argwhere(np.isnan(dx.reshape(4, 9))).tolist() == [[2, 4]], where
