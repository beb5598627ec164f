"""DynamicRNN and DynamicGRUV2 against the cells of graphc.nn, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from tests.cells import Of

DRAWS = np.random.default_rng(2)
STEPS, BATCH, WIDTH, UNITS = 4, 3, 5, 2


def made(*shape, dtype="float32"):
    return DRAWS.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
def test_an_lstm_is_that_of_the_cell(forget_bias):
    x, w, b = made(STEPS, BATCH, WIDTH), made(WIDTH + UNITS, 4 * UNITS), made(4 * UNITS)
    h, c = made(BATCH, UNITS), made(BATCH, UNITS)
    cell = nn.LSTMCell(WIDTH, UNITS)
    # The cell's gates are i, f, j, o.
    i, j, f, o = (np.arange(k * UNITS, (k + 1) * UNITS) for k in range(4))
    order = np.concatenate([i, f, j, o])
    cell.weight_ih.set_data(Tensor(w[:WIDTH].T[order]))
    cell.weight_hh.set_data(Tensor(w[WIDTH:].T[order]))
    bias = b + forget_bias * np.repeat([0, 0, 1, 0], UNITS)
    cell.bias_ih.set_data(Tensor(bias[order].astype(np.float32)))
    cell.bias_hh.set_data(Tensor(np.zeros_like(b)))
    op = ops.DynamicRNN(forget_bias=forget_bias)
    given = (Tensor(x), Tensor(w), Tensor(b), None, Tensor(h[None]), Tensor(c[None]))
    for call in (op, Of(op)):
        results = [r.asnumpy() for r in call(*given)]
        assert {r.shape for r in results} == {(STEPS, BATCH, UNITS)}
        y, hs, cs, gate_i, gate_j, gate_f, gate_o, bent = results
        at, state = Tensor(h), Tensor(c)
        for t in range(STEPS):
            at, state = cell(Tensor(x[t]), (at, state))
            for got, wanted in ((y[t], at), (hs[t], at), (cs[t], state)):
                np.testing.assert_allclose(got, wanted.asnumpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(gate_o * bent, y, rtol=1e-5)
        np.testing.assert_allclose(cs[1:], gate_f[1:] * cs[:-1] + gate_i[1:] * gate_j[1:], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("gate_order", ["rzh", "zrh"])
@pytest.mark.parametrize("reset_after", [True, False])
def test_a_gru_is_that_of_its_formula(biased, gate_order, reset_after):
    x, wi, wh = made(STEPS, BATCH, WIDTH), made(WIDTH, 3 * UNITS), made(UNITS, 3 * UNITS)
    bi, bh = (made(3 * UNITS), made(3 * UNITS)) if biased else (None, None)
    h = made(BATCH, UNITS)
    op = ops.DynamicGRUV2(gate_order=gate_order, reset_after=reset_after)
    given = [None if a is None else Tensor(a) for a in (x, wi, wh, bi, bh, None, h)]

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    def part(a, k):
        return a[..., k * UNITS : (k + 1) * UNITS]

    for call in (op, Of(op)):
        results = [r.asnumpy() for r in call(*given)]
        state = h
        for t in range(STEPS):
            left, right = x[t] @ wi + (bi if biased else 0), state @ wh + (bh if biased else 0)
            r, z = (sigmoid(part(left, k) + part(right, k)) for k in map(gate_order.index, "rz"))
            hidden = part(right, 2) if reset_after else (r * state) @ part(wh, 2) + (part(bh, 2) if biased else 0)
            n = np.tanh(part(left, 2) + (r * hidden if reset_after else hidden))
            state = (1 - z) * n + z * state
            for got, wanted in zip(results, (state, state, z, r, n, hidden), strict=True):
                np.testing.assert_allclose(got[t], wanted, rtol=1e-4, atol=1e-5)


def test_dtypes_are_those_of_the_biases():
    half = [
        Tensor(made(*s, dtype="float16"))
        for s in ((STEPS, BATCH, WIDTH), (WIDTH + UNITS, 4 * UNITS), (1, BATCH, UNITS))
    ]
    results = ops.DynamicRNN()(half[0], half[1], Tensor(made(4 * UNITS)), None, half[2], half[2])
    assert [str(r.dtype) for r in results] == ["Float32", "Float16", *["Float32"] * 6]
    weights = [Tensor(made(n, 3 * UNITS, dtype="float16")) for n in (WIDTH, UNITS)]
    results = ops.DynamicGRUV2()(half[0], *weights, None, None, None, Tensor(made(BATCH, UNITS)))
    assert {str(r.dtype) for r in results} == {"Float32"}


def test_gradients_reach_weights():
    x, w, b, h = (
        Tensor(made(STEPS, BATCH, WIDTH)),
        made(WIDTH + UNITS, 4 * UNITS),
        Tensor(made(4 * UNITS)),
        Tensor(made(1, BATCH, UNITS)),
    )

    def loss(w):
        return ops.DynamicRNN()(x, w, b, None, h, h)[0].sum()

    grad = graphc.grad(loss)(Tensor(w)).asnumpy()
    for at in ((0, 0), (3, 5), (6, 7)):
        moved = []
        for step in (1e-2, -1e-2):
            other = w.copy()
            other[at] += step
            moved.append(float(loss(Tensor(other)).asnumpy()))
        np.testing.assert_allclose(grad[at], (moved[0] - moved[1]) / 2e-2, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x, w: ops.DynamicRNN()(x, w, w[0], None, x[:1], x[:1]), graphc.ShapeError, "w is f32"),
        (lambda x, w: ops.DynamicRNN()(w, w, w[0], None, x, x), graphc.ShapeError, "expected 3 and 3 axes"),
        (lambda x, w: ops.DynamicRNN()(x, w, w[0], x, x, x), graphc.ArgumentValueError, "seq_length"),
        (lambda x, w: ops.DynamicRNN(keep_prob=0.5), graphc.ArgumentValueError, "keep_prob"),
        (
            lambda x, w: ops.DynamicGRUV2(gate_order="hrz")(x, w, w, None, None, None, w),
            graphc.ArgumentValueError,
            "gate_order",
        ),
        (lambda x, w: ops.DynamicGRUV2()(x, w, w, None, None, None, w), graphc.ShapeError, "weight_input is f32"),
    ],
)
def test_what_does_not_fit_is_said(call, error, says):
    with pytest.raises(error, match=says):
        call(ops.ones((2, 3, 4)), ops.ones((3, 4)))
