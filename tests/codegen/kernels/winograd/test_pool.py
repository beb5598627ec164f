"""Convolutions that pool their result, and gradients that read that of a pooled result, against the separate kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels.winograd.batch_pool import BLOCK, pool_twin, unpool_twin
from graphc_codegen.program import NamedKernel, result_domain, written
from tests.codegen.conv_harness import BODY
from tests.codegen.kernel_harness import Array, random, run_kernel, run_twin
from tests.codegen.kernels.winograd.test_batch import Case

FORWARD, FILTER = "conv2d_batch_winograd", "conv2d_filter_grad_batch_winograd"
Window = tuple[int, int]
CASES = [
    (Case(32, 6, 16, 14, 14, points=8, rows=3), (2, 2)),
    (Case(48, 1, 6, 12, 12, pad=(2, 2, 2, 2), parts=3), (2, 2)),
    (Case(37, 2, 3, 11, 9, (3, 3), (1, 1, 1, 1)), (3, 2)),
    (Case(5, 3, 2, 6, 5, (4, 3), (3, 0, 1, 1), parts=4), (1, 3)),
    (Case(1, 1, 1, 5, 5), (1, 1)),
    (Case(17, 2, 4, 9, 8, (2, 2), parts=1), (4, 4)),
]


def _pooled(case: Case, window: Window) -> tuple[int, int]:
    return case.out[0] // window[0], case.out[1] // window[1]


def _index(case: Case, window: Window) -> tuple[Array, Array]:
    """A winner for each window, [n, co, windows], and the index that tells so."""
    count = _pooled(case, window)[0] * _pooled(case, window)[1]
    winner = np.random.default_rng(7).integers(0, window[0] * window[1], (case.n, case.co, count))
    images = np.minimum(np.arange(-(-case.n // BLOCK) * BLOCK), case.n - 1)
    index = winner[images].reshape(-1, BLOCK, case.co, count).transpose(0, 2, 3, 1)
    return winner, np.ascontiguousarray(index).astype(np.uint8)


def _winners(index: Array, n: int, channels: int) -> Array:
    """The inverse: [n, channels, windows]"""
    blocks = index.reshape(-(-n // BLOCK), channels, -1, BLOCK).transpose(0, 3, 1, 2)
    return blocks.reshape(len(blocks) * BLOCK, channels, -1)[:n]


def _everywhere(name: str, params: dict[str, Any], *inputs: Array) -> dict[str, list[Array]]:
    """All outputs but scratch memory."""
    made = {f"{lanes} lanes": run_kernel(name, params, *inputs, lanes=lanes) for lanes in (16, 8, 4)}
    made["3 threads"] = run_kernel(name, params, *inputs, divided=True)
    made["twin"] = run_twin(name, params, *inputs)
    return {where: outputs[1:] for where, outputs in made.items()}


def _check_forward(case: Case, window: Window, x: Array, weight: Array) -> None:
    """The maxima are those of what the kernel makes without pooling, bit for bit, and so are their places."""
    params, bias = case.params(False) | {"pool": window}, random(4, case.co)
    plain = case.run(x, weight)
    for where, (index, y) in _everywhere(FORWARD, params | {"indexed": True}, x, weight).items():
        wanted, places = pool_twin(plain[where], window)
        np.testing.assert_array_equal(y.reshape(wanted.shape), wanted, err_msg=where)
        winners = (_winners(i, case.n, case.co) for i in (index, places))
        np.testing.assert_array_equal(*winners, err_msg=where)
    for where, (y,) in _everywhere(FORWARD, params | {"bias": True, "indexed": False}, x, weight, bias).items():
        wanted, _ = pool_twin(plain[where] + bias[:, None, None], window)
        np.testing.assert_array_equal(y.reshape(wanted.shape), wanted, err_msg=where)


def _check_backward(case: Case, window: Window) -> None:
    """The gradients are those of the kernels that are given the whole gradient, bit for bit."""
    x, _, dy = case.operands()
    winner, index = _index(case, window)
    small = random(5, case.n, case.co, *_pooled(case, window))
    whole = unpool_twin(small, index.reshape(-1), dy.shape, window)
    n, c, y, column = np.indices(small.shape)
    down, right = np.divmod(winner.reshape(small.shape), window[1])
    np.testing.assert_array_equal(whole[n, c, y * window[0] + down, column * window[1] + right], small)
    assert np.count_nonzero(whole) == np.count_nonzero(small)
    plain = case.run_filter_grad(x, whole)
    for where, (dw,) in _everywhere(
        FILTER, case.filter_params() | {"unpool": window}, x, small, index.reshape(-1)
    ).items():
        np.testing.assert_array_equal(dw.reshape(plain[where].shape), plain[where], err_msg=where)
    # The gradient of the images is a convolution of that of the result.
    (top, _, left, _), (kh, kw), (oh, ow) = case.pad, case.kernel, case.out
    pads = kh - 1 - top, case.h + top - oh, kw - 1 - left, case.w + left - ow
    if min(pads[0], pads[2]) < 0:
        return
    back = Case(case.n, case.co, case.ci, oh, ow, case.kernel, pads, case.parts, points=case.points)
    weight, params = random(2, case.co, case.ci, kh, kw), back.params(True)
    plain = back.run(whole, weight, True)
    for where, (dx,) in _everywhere(FORWARD, params | {"unpool": window}, small, index.reshape(-1), weight).items():
        np.testing.assert_array_equal(dx.reshape(plain[where].shape), plain[where], err_msg=where)


@pytest.mark.parametrize(("case", "window"), CASES, ids=str)
def test_known_shapes(case: Case, window: Window) -> None:
    x, weight, _ = case.operands()
    _check_forward(case, window, x, weight)
    _check_backward(case, window)


@settings(max_examples=10, deadline=None)
@given(
    n=st.integers(1, 40), ci=st.integers(1, 4), co=st.integers(1, 6), h=st.integers(1, 12), w=st.integers(1, 12),
    kh=st.integers(2, 5), kw=st.integers(1, 5), pad=st.tuples(*[st.integers(0, 3)] * 4), parts=st.integers(1, 4),
    window=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)  # fmt: skip
def test_random_shapes(
    n: int,
    ci: int,
    co: int,
    h: int,
    w: int,
    kh: int,
    kw: int,
    pad: tuple[int, int, int, int],
    parts: int,
    window: Window,
) -> None:
    top, bottom, left, right = min(pad[0], kh - 1), *pad[1:]
    size = max(h, kh - 1 + window[0] - top - bottom), max(w, kw - 1 + window[1] - left - right)
    case = Case(n, ci, co, *size, (kh, kw), (top, bottom, left, right), parts)
    x, weight, _ = case.operands()
    _check_forward(case, window, x, weight)
    _check_backward(case, window)


def test_ties_go_to_the_first_and_not_a_number_wins() -> None:
    case = Case(18, 1, 2, 9, 8, (2, 1), points=6)
    x, weight, _ = case.operands()
    x[:] = np.random.default_rng(1).integers(0, 2, x.shape)
    weight[:, :, 0], weight[:, :, 1] = 1, 0
    for value in (np.nan, np.inf, -np.inf):
        x[17, 0, 4, 3] = value
        _check_forward(case, (2, 2), x, weight)
    x[:] = 1
    (index, y) = _everywhere(FORWARD, case.params(False) | {"pool": (4, 4), "indexed": True}, x, 0 * weight)["16 lanes"]
    assert not y.any()
    assert not index.any()


def test_the_epilogue_is_applied_to_the_maxima() -> None:
    case, window = Case(18, 2, 3, 9, 7, (3, 3), (1, 1, 1, 1)), (2, 3)
    x, weight, _ = case.operands()
    shape = (case.n, case.co, *_pooled(case, window))
    plane, bias, residual = shape[2] * shape[3], random(4, case.co), random(6, *shape)
    pooled = case.params(False) | {"pool": window, "indexed": True}
    params = pooled | {"epilogue": BODY, "extras": ((0, 1, 0), (case.co * plane, plane, 1)), "stores": (6, 0)}
    kernel = NamedKernel(FORWARD, tuple(params.items()))
    assert written(kernel) == 4
    assert written(NamedKernel(FORWARD, tuple(pooled.items()))) == 3
    assert result_domain(kernel) == (case.n, case.co, plane)
    plain = _everywhere(FORWARD, pooled, x, weight)
    for where, (index, activated, same) in _everywhere(FORWARD, params, x, weight, bias, residual).items():
        wanted = np.maximum(plain[where][1].reshape(shape) + bias[:, None, None] + residual, 0)
        np.testing.assert_allclose(activated.reshape(shape), wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(same, plain[where][1])
        np.testing.assert_array_equal(_winners(index, case.n, case.co), _winners(plain[where][0], case.n, case.co))
