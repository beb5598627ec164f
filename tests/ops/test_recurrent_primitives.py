"""The primitive LSTM against the recurrence written out; its layout of weights is that of MindSpore's on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

draw = np.random.default_rng(3)


def floats(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def by_hand(x, h, c, inner, outer, bias, backwards):
    made = []
    for row in x[::-1] if backwards else x:
        i, f, g, o = np.split(row @ inner.T + h @ outer.T + bias, 4, 1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        made.append(h)
    return np.stack(made[::-1] if backwards else made), h, c


class Run(nn.Cell):
    def __init__(self, *attributes):
        super().__init__()
        self.lstm = ops.LSTM(*attributes)

    def construct(self, *operands):
        return self.lstm(*operands)[:3]


@pytest.mark.parametrize(
    ("sizes", "layers", "has_bias", "both"),
    [((3, 4), 1, True, False), ((3, 4), 1, False, True), ((3, 4), 1, True, True), ((4, 4), 2, True, False)],
)
def test_lstm(sizes, layers, has_bias, both):
    (n, m), ways = sizes, 1 + both
    count = layers * ways
    x, h, c = floats(5, 2, n), floats(count, 2, m), floats(count, 2, m)
    inner, outer = ([floats(4 * m, k) for _ in range(count)] for k in (n, m))
    bias = [floats(4 * m) * has_bias for _ in range(count)]
    rows, wanted_h, wanted_c = x, [], []
    for layer in range(layers):
        made = []
        for way in range(ways):
            k = layer * ways + way
            y, last_h, last_c = by_hand(rows, h[k], c[k], inner[k], outer[k], bias[k], way == 1)
            made.append(y)
            wanted_h.append(last_h)
            wanted_c.append(last_c)
        rows = np.concatenate(made, -1)
    parts = [*inner, *outer, *(bias if has_bias else [])]
    w = np.concatenate([p.ravel() for p in parts]).reshape(-1, 1, 1)
    attributes = (n, m, layers, has_bias, both, 0.0)
    operands = [Tensor(v) for v in (x, h, c, w)]
    for found in (ops.LSTM(*attributes)(*operands)[:3], Run(*attributes)(*operands)):
        for a, b in zip(found, (rows, np.stack(wanted_h), np.stack(wanted_c)), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-5, atol=1e-6)
    assert graphc.grad(lambda w: Run(*attributes)(*operands[:3], w)[0].sum())(operands[3]).shape == w.shape


def test_second_biases_are_left_out():
    x, state, w = Tensor(floats(5, 2, 3)), Tensor(floats(1, 2, 4)), floats(128, 1, 1)
    both = np.concatenate([w, floats(16, 1, 1)])
    with pytest.warns(
        graphc.GraphcWarning, match="LSTM: of the 144 elements of w the last 16, second biases, are left out"
    ):
        found = ops.LSTM(3, 4, 1, True, False, 0.0)(x, state, state, Tensor(both))[0]
    assert (found == ops.LSTM(3, 4, 1, True, False, 0.0)(x, state, state, Tensor(w))[0]).all()


def test_what_lstm_does_not_take():
    x, state = Tensor(floats(5, 2, 3)), Tensor(floats(1, 2, 4))
    with pytest.raises(ValueError, match=r"LSTM: x f32\[5,2,3\].*w of 128 elements"):
        ops.LSTM(3, 4, 1, True, False, 0.0)(x, state, state, Tensor(floats(100, 1, 1)))
    with pytest.raises(ValueError, match="several layers need one direction"):
        ops.LSTM(3, 4, 2, True, False, 0.0)(x, state, state, x)
    with pytest.raises(ValueError, match=r"dropout=0.5 is not supported"):
        ops.LSTM(3, 4, 1, True, False, 0.5)


def test_what_is_handed_on():
    x, y = Tensor([1.0, 2.0]), Tensor([3])
    assert [v.asnumpy().tolist() for v in ops.IdentityN()((x, y))] == [[1.0, 2.0], [3]]
    assert ops.operations.CheckNumerics()(x).asnumpy().tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"CheckNumerics: .* has an infinite element or NaN"):
        ops.operations.CheckNumerics()(x / 0)


class Checked(nn.Cell):
    def construct(self, x):
        return (ops.operations.CheckNumerics()(x) * x).sum()


@pytest.mark.usefixtures("mode_again")
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_numbers_are_checked_in_cells_and_for_gradients(mode):
    graphc.set_context(mode=mode)
    finite, infinite = Tensor([1.0, 2.0]), Tensor([1.0, np.inf])
    for call in (Checked(), graphc.grad(Checked())):
        expected = call(finite).asnumpy()
        with pytest.raises(ValueError, match=r"CheckNumerics: .* has an infinite element or NaN"):
            call(infinite)
        assert np.array_equal(call(finite).asnumpy(), expected)


def test_a_check_of_numbers_is_refused_where_it_could_not_be_seen():
    with pytest.raises(graphc.TransformError, match="raises under a condition on tensors"):
        graphc.vmap(ops.operations.CheckNumerics())(Tensor([[1.0, 2.0]]))
