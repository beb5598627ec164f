"""Attention and its gradients against float64: random shapes, masks, dropout, views, several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels.attention import plan
from tests.codegen.kernel_harness import Array, random, run_all

KEY = np.array([0x1234_5678_9ABC_DEF0], np.int64)
#: One, primes, what fills strips and tiles, and what lies in several blocks.
QUERIES, KEYS = st.sampled_from([1, 2, 17, 32, 70, 131]), st.sampled_from([1, 3, 14, 37, 128, 139, 300])
WIDTHS = st.sampled_from([1, 5, 16, 33])


def params(l: int, s: int, d: int, e: int, **more: Any) -> dict[str, Any]:
    return {"axes": (2,), "l": l, "s": s, "d": d, "e": e, "scale": 0.4, "ahead": -1, "keep": 1.0, "masks": (), **more}


def operands(p: dict[str, Any]) -> tuple[list[Array], list[Array]]:
    """(q, k, v and dy, what is read behind q, k and v), all contiguous."""
    shapes = plan.shapes(p)
    dtype = plan.dtype_of(p)
    arrays = [random(i, *p["axes"], *shapes[name]).astype(dtype) for i, name in enumerate(("q", "k", "v", "dy"))]
    rest = [random(9 + i, plan.mask_size(p, m)).astype(dtype) for i, m in enumerate(p["masks"])]
    return arrays, rest + [KEY] * plan.dropped(p)


def exact(
    p: dict[str, Any], q: Array, k: Array, v: Array, dy: Array, rest: list[Array]
) -> tuple[list[Array], list[Array], list[Array]]:
    """Results and gradients in float64, by formulas of their own, and how large the gradients' terms are together.

    A gradient that is 0 because its terms cancel is as far off as they are large: the root of the sum of their squares, as
    rounding errors that know nothing of each other add up.
    """
    q, k, v, dy, *masks = (x.astype(np.float64) for x in (q, k, v, dy, *rest[: len(p["masks"])]))
    scores = p["scale"] * np.einsum("...ld,...sd->...ls", q, k)
    for strides, mask in zip(p["masks"], masks, strict=True):
        bytes_ = [8 * stride for stride in strides]
        scores = scores + np.lib.stride_tricks.as_strided(mask, scores.shape, bytes_)
    if p["ahead"] >= 0:
        scores = np.where(np.tri(*scores.shape[-2:], k=p["ahead"], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - top)
    shares = e / e.sum(-1, keepdims=True)
    kept = plan.kept(p, rest[-1]) / p["keep"] if plan.dropped(p) else 1.0
    y = np.einsum("...ls,...se->...le", shares * kept, v)
    d = np.einsum("...le,...se->...ls", dy, v) * kept
    error = p["scale"] * shares * (d - (d * shares).sum(-1, keepdims=True))
    d_terms = np.einsum("...le,...se->...ls", dy**2, v**2) * kept**2
    error_terms = (p["scale"] * shares) ** 2 * (d_terms + (d_terms * shares**2).sum(-1, keepdims=True))
    sums = ("...ls,...sd->...ld", "...ls,...ld->...sd", "...ls,...le->...se")
    gradients = [np.einsum(*terms) for terms in zip(sums, (error, error, shares * kept), (k, q, dy), strict=True)]
    squares = zip(sums, (error_terms, error_terms, (shares * kept) ** 2), (k**2, q**2, dy**2), strict=True)
    return [y, top[..., 0], e.sum(-1)], gradients, [np.sqrt(np.einsum(*terms)) for terms in squares]


def check(p: dict[str, Any]) -> None:
    (q, k, v, dy), rest = operands(p)
    results, gradients, sizes = exact(p, q, k, v, dy, rest)
    close = {"rtol": 1e-4, "atol": 1e-5} if plan.dtype_of(p) == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    for where, made in run_all("attention", p, q, k, v, *rest).items():
        for got, want in zip(made, results, strict=True):
            np.testing.assert_allclose(got.reshape(want.shape), want, err_msg=where, **close)
    known = [x.astype(plan.dtype_of(p)) for x in results]
    for where, made in run_all("attention_grad", p, q, k, v, *rest, *known, dy).items():
        for got, want, size in zip(made, gradients, sizes, strict=True):
            off = np.abs(got.reshape(want.shape) - want) - close["rtol"] * np.abs(want)
            assert (off <= 32 * np.finfo(got.dtype).eps * size).all(), where


@settings(max_examples=8, deadline=None)
@given(l=QUERIES, s=KEYS, d=WIDTHS, e=WIDTHS, ahead=st.sampled_from([-1, 0, 5, 64]), keep=st.sampled_from([1.0, 0.6]))
def test_shapes(l: int, s: int, d: int, e: int, ahead: int, keep: float) -> None:
    check(params(l, s, d, e, ahead=ahead, keep=keep))


@pytest.mark.parametrize(
    "more",
    [
        {"masks": ((150, 0, 1),)},  # of keys, for each matrix
        {"masks": ((0, 150, 1), (70, 1, 0))},  # of both, for all; of queries
        {"masks": ((70 * 150, 150, 1),), "ahead": 80, "keep": 0.5},
        {"masks": ((0, 0, 0),), "dtype": "float64"},
        {"ahead": 3, "keep": 0.9, "dtype": "float64"},
    ],
)
def test_masks(more: dict[str, Any]) -> None:
    check(params(70, 150, 16, 8, **more))


def test_hidden_keys_are_left_out_and_rows_without_any_are_nan() -> None:
    p = params(33, 300, 8, 8, masks=((0, 300, 1),))
    (q, k, v, _), _ = operands(p)
    mask = np.where(np.random.default_rng(0).random((33, 300)) < 0.5, -np.inf, 0).astype(np.float32)
    # All of the first block, all of the last one, all.
    mask[1, :160] = mask[2, 100:] = mask[3] = -np.inf
    # What is hidden may be larger than anything by far.
    k = np.where((mask == -np.inf).all(0)[:, None], np.float32(1e4), k)
    results, *_ = exact(p, q, k, v, q, [mask.reshape(-1)])
    for where, (y, *_) in run_all("attention", p, q, k, v, mask.reshape(-1)).items():
        np.testing.assert_allclose(y.reshape(2, 33, 8), results[0], rtol=1e-4, atol=1e-5, err_msg=where)
    assert np.isnan(results[0][:, 3]).all()
    assert np.isfinite(np.delete(results[0], 3, 1)).all()


def test_far_scores_do_not_overflow() -> None:
    p = params(17, 139, 5, 5, scale=300.0)
    (q, k, v, dy), rest = operands(p)
    results, *_ = exact(p, q, k, v, dy, rest)
    for where, (y, *_) in run_all("attention", p, q, k, v).items():
        np.testing.assert_allclose(y.reshape(results[0].shape), results[0], rtol=2e-2, atol=2e-3, err_msg=where)


def test_views() -> None:
    """Heads that lie side by side: [rows, heads, width] as matrices of each head."""
    l, s, d, heads = 37, 51, 8, 3

    def side_by_side(rows: int) -> tuple[int, ...]:
        return (rows * heads * d, 0, heads * d, d)

    names = {"q": l, "k": s, "v": s, "y": l, "dy": l, "dq": l, "dk": s, "dv": s}
    views = {name: side_by_side(rows) for name, rows in names.items()}
    plain = params(l, s, d, d, axes=(heads,))
    p = {**plain, **views}
    (q, k, v, dy), _ = operands(plain)
    results, gradients, _ = exact(plain, q, k, v, dy, [])
    q, k, v, dy, y = (np.ascontiguousarray(x.swapaxes(0, 1)) for x in (q, k, v, dy, results[0].astype(np.float32)))
    for where, (got, *_) in run_all("attention", p, q, k, v).items():
        np.testing.assert_allclose(got.reshape(l, heads, d), y, rtol=1e-4, atol=1e-5, err_msg=where)
    statistics = [x.astype(np.float32) for x in results[1:]]
    for where, made in run_all("attention_grad", p, q, k, v, y, *statistics, dy).items():
        for got, want in zip(made, gradients, strict=True):
            want = want.swapaxes(0, 1)
            np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-4, atol=1e-5, err_msg=where)
