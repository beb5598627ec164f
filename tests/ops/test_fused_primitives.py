"""What MindSpore has as one kernel of a device, against its documentation and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from tests.cells import Of

DRAWS = np.random.default_rng(5)


def both(function, *arrays):
    """The results outside of a Cell, which are those in one."""
    given = [Tensor(a) for a in arrays]
    made, compiled = (f(*given) for f in (function, Of(function)))
    made, compiled = ([x.asnumpy() for x in (y if isinstance(y, tuple) else (y,))] for y in (made, compiled))
    for x, y in zip(made, compiled, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(
            x.astype(np.float64), y.astype(np.float64), rtol=2e-3 if x.itemsize == 2 else 1e-5, atol=1e-6
        )
    return made


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rotary_positions_turn_pairs(mode, dtype):
    x = DRAWS.standard_normal((2, 3, 4, 8)).astype(dtype)
    angles = np.arange(4)[:, None] * 10.0 ** -np.arange(4)
    angles = np.concatenate([angles, angles], 1) if mode == 0 else np.repeat(angles, 2, 1)
    cos, sin = (f(angles).astype(dtype)[None, None] for f in (np.cos, np.sin))
    (made,) = both(lambda *a: ops.rotary_position_embedding(*a, mode), x, cos, sin)
    pairs = (x[..., :4], x[..., 4:]) if mode == 0 else (x[..., ::2], x[..., 1::2])
    turned = (pairs[0] + 1j * pairs[1]) * np.exp(1j * (angles[:, :4] if mode == 0 else angles[:, ::2]))
    parts = [turned.real, turned.imag]
    wanted = np.concatenate(parts, -1) if mode == 0 else np.stack(parts, -1).reshape(x.shape)
    assert made.dtype == dtype
    np.testing.assert_allclose(made.astype(np.float64), wanted, atol=1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_sums_are_normalized(dtype):
    x1, x2, gamma, beta = (DRAWS.standard_normal(s).astype(dtype) for s in ((2, 3, 5), (2, 3, 5), 5, 5))
    x = (x1 + x2).astype(np.float64)
    close = {"rtol": 1e-2, "atol": 1e-2} if dtype == "float16" else {"rtol": 1e-5, "atol": 1e-5}
    y, mean, factor, total = both(lambda *a: ops.add_layer_norm(*a, 1e-5, True), x1, x2, gamma, beta)
    centre, deviation = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    assert {a.dtype.name for a in (y, mean, factor, total)} == {dtype}
    np.testing.assert_allclose(y, (x - centre) / deviation * gamma + beta, **close)
    for got, wanted in ((mean, centre), (factor, 1 / deviation), (total, x)):
        np.testing.assert_allclose(got, wanted, **close)
    y, factor, total = both(ops.add_rms_norm, x1, x2, gamma)
    root = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    assert (y.dtype.name, factor.dtype.name, total.dtype.name) == (dtype, "float32", dtype)
    np.testing.assert_allclose(y, x * root * gamma, **close)
    np.testing.assert_allclose(factor, root, **close)
    np.testing.assert_allclose(total, x, **close)


def test_gradients_pass_through():
    x, g = DRAWS.standard_normal((2, 4)).astype(np.float32), np.ones(4, np.float32)
    weights = DRAWS.standard_normal((2, 4)).astype(np.float32)

    def loss(x1, x2):
        return (ops.add_rms_norm(x1, x2, Tensor(g))[0] * Tensor(weights)).sum()

    made = graphc.grad(loss, (0, 1))(Tensor(x), Tensor(x * 0))
    wanted = graphc.grad(lambda x: (ops.rms_norm(x, Tensor(g))[0] * Tensor(weights)).sum())(Tensor(x))
    for got in made:
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_tokens_go_to_their_experts_and_back():
    tokens = np.array([[1] * 3, [7] * 3, [2] * 3, [1] * 3, [2] * 3, [3] * 3], np.float32)
    experts = np.array([5, 0, 3, 1, 2, 4], np.int32)
    permuted, places = both(ops.moe_token_permute, tokens, experts)
    # The example of MindSpore's documentation.
    assert permuted[:, 0].tolist() == [7, 1, 2, 2, 3, 1]
    assert (places.dtype, places.tolist()) == (np.int32, [5, 0, 3, 1, 2, 4])
    np.testing.assert_array_equal(both(ops.moe_token_unpermute, permuted, places)[0], tokens)


@pytest.mark.parametrize("kept", [None, 5, 0])
def test_tokens_of_two_experts_are_weighted(kept):
    tokens = DRAWS.standard_normal((4, 3)).astype(np.float32)
    experts = np.array([[1, 0], [1, 2], [0, 1], [2, 1]])
    probs = DRAWS.uniform(0, 1, (4, 2)).astype(np.float32)
    permuted, places = both(lambda t, i: ops.moe_token_permute(t, i, kept), tokens, experts)
    order = np.argsort(experts.ravel(), kind="stable")
    np.testing.assert_array_equal(permuted, tokens[order[:kept] // 2])
    there = np.argsort(order) < (8 if kept is None else kept)
    if kept == 0:
        return
    (made,) = both(ops.moe_token_unpermute, permuted, places, probs)
    np.testing.assert_allclose(made, tokens * (probs * there.reshape(4, 2)).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: ops.rotary_position_embedding(x, x, x, 2), graphc.ArgumentValueError, "mode must be 0 or 1"),
        (lambda x: ops.rotary_position_embedding(x, x, x), graphc.ShapeError, "expected four axes"),
        (lambda x: ops.add_layer_norm(x, x[:1], x, x), graphc.ShapeError, "expected floats of one type"),
        (lambda x: ops.add_layer_norm(x, x, x, x), graphc.ShapeError, "gamma is"),
        (lambda x: ops.add_rms_norm(x, x, x[0, :2]), graphc.ShapeError, "gamma is"),
        (lambda x: ops.add_rms_norm(x, x, x[0], 0.0), graphc.ArgumentValueError, "epsilon must lie in"),
        (lambda x: ops.moe_token_permute(x, x), graphc.DTypeError, "indices are"),
        (lambda x: ops.moe_token_permute(x, Tensor([1])), graphc.ShapeError, "tokens are"),
        (lambda x: ops.moe_token_permute(x, Tensor([1, 0]), -1), graphc.ArgumentValueError, "at least 0, got -1"),
        (lambda x: ops.moe_token_permute(x, Tensor([1, 0]), None, True), graphc.ArgumentValueError, "padded_mode"),
        (lambda x: ops.moe_token_unpermute(x, Tensor([1, 0]), x), graphc.ShapeError, "probs are"),
    ],
)
def test_what_does_not_fit_is_said(call, error, says):
    with pytest.raises(error, match=says):
        call(ops.ones((2, 3)))


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (0.5, 9.0), (-np.inf, -2.0), (3.0, 3.5), (7.0, 8.0), (-30.0, -20.0), (-1e9, 1e9)]
)
def test_normal_numbers_between_bounds(low, high, mode_again):
    scipy = pytest.importorskip("scipy.stats")
    graphc.set_seed(3)
    pair = [Tensor(np.array(v, np.float64)) for v in ((1.0, -2.0), (2.0, 0.5))]
    bounds = [Tensor(pair[0].asnumpy() + pair[1].asnumpy() * b) for b in (low, high)]
    for call in (ops.ParameterizedTruncatedNormal(3, 4), Of(ops.ParameterizedTruncatedNormal(3, 4))):
        made = call((2, 4000), *pair, *bounds).asnumpy()
        assert (made.dtype, made.shape) == (np.float64, (2, 4000))
        for row, mean, deviation in zip(made, *(p.asnumpy() for p in pair), strict=True):
            unit = (row - mean) / deviation
            assert scipy.kstest(unit, scipy.truncnorm(low, high).cdf).pvalue > 1e-3
    single = [Tensor(np.float32(v)) for v in (0, 1, -1, 1)]
    again = [ops.ParameterizedTruncatedNormal(1, 2)(Tensor([2, 3], graphc.int32), *single).asnumpy() for _ in range(2)]
    assert (again[0].dtype, again[0].shape) == (np.float32, (2, 3))
    with pytest.raises(graphc.ShapeError, match=r"expected numbers or \[3\]"):
        ops.ParameterizedTruncatedNormal()((3, 2), *pair, *bounds)
    with pytest.raises(graphc.DTypeError, match="floats of one dtype"):
        ops.ParameterizedTruncatedNormal()((2, 2), *pair, *single[2:])
