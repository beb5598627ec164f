"""Layers of functions, layers with other names and stacks of layers by NumPy's formulas; what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.nn.layer.functions import log_beta

RNG = np.random.default_rng(0)
MATRICES = RNG.standard_normal((2, 3, 3)).astype(np.float32)


def test_matrices():
    x = Tensor(MATRICES)
    np.testing.assert_allclose(nn.MatDet()(x).asnumpy(), np.linalg.det(MATRICES), rtol=1e-4)
    np.testing.assert_allclose(nn.MatInverse()(x).asnumpy(), np.linalg.inv(MATRICES), rtol=1e-3, atol=1e-4)
    diagonal = nn.MatrixDiagPart()(x)
    np.testing.assert_array_equal(diagonal.asnumpy(), np.diagonal(MATRICES, 0, 1, 2))
    np.testing.assert_array_equal(nn.MatrixDiagPart()(nn.MatrixDiag()(diagonal)).asnumpy(), diagonal.asnumpy())
    made = nn.MatrixSetDiag()(x, diagonal * 2).asnumpy()
    np.testing.assert_array_equal(made, MATRICES + MATRICES * np.eye(3, dtype=np.float32))
    rolled = nn.Roll((1, -1), (0, 2))(x).asnumpy()
    np.testing.assert_array_equal(rolled, np.roll(MATRICES, (1, -1), (0, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_beta_over_its_domain(dtype):
    """Against differences of log gamma in float64, which are exact where the numbers are small."""
    sizes = np.array([1e-3, 0.2, 1, 3.5, 9.9, 10, 10.1, 40, 1e3], np.float64)
    x, y = (a.ravel() for a in np.meshgrid(sizes, sizes))
    wanted = np.array([math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) for a, b in zip(x, y, strict=True)])
    got = log_beta(Tensor(x.astype(dtype)), Tensor(y.astype(dtype))).asnumpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if dtype is np.float32 else 1e-9, atol=3e-6)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_incomplete_gamma_function(mode, mode_again):
    graphc.set_context(mode=mode)
    given = Tensor([1.5, 1.0]), Tensor([1.0, 3.0])
    np.testing.assert_allclose(nn.IGamma()(*given).asnumpy(), [0.4275933, 1 - math.exp(-3)], rtol=1e-5)


def test_an_embedding_leaves_its_padding_alone():
    layer = nn.EmbeddingExt(4, 2, padding_idx=-1)
    assert layer.weight.asnumpy()[3].tolist() == [0, 0]
    ids = Tensor([[0, 3], [3, 1]])
    assert layer(ids).shape == (2, 2, 2)
    (gradient,) = graphc.grad(lambda i: layer(i).sum(), None, [layer.weight])(ids)
    assert gradient.asnumpy().tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]
    given = nn.EmbeddingExt(2, 2, _weight=Tensor(np.ones((2, 2), np.float32)), _freeze=True)
    assert given.trainable_params() == []


def test_dropout_with_other_arguments():
    graphc.set_seed(1)
    x = Tensor(np.ones((4, 50, 5), np.float32))
    for layer, whole in ((nn.DropoutExt(0.4), False), (nn.Dropout2dExt(0.4), True)):
        assert layer(x).asnumpy().tolist() == x.asnumpy().tolist()  # In evaluation.
        made = layer.set_train()(x).asnumpy()
        assert set(np.round(np.unique(made), 4)) == {0, np.float32(1.6667)}
        assert 0.5 < (made > 0).mean() < 0.7
        assert (np.ptp(made, axis=2) == 0).all() == whole
    assert nn.DropoutExt(1.0).set_train()(x).asnumpy().max() == 0


def test_layers_with_other_names():
    x = Tensor(MATRICES)
    np.testing.assert_allclose(nn.LayerNormExt((3, 3))(x).asnumpy().mean((1, 2)), 0, atol=1e-6)
    assert list(nn.LayerNormExt(3, bias=False).parameters_dict()) == ["weight"]
    assert nn.LayerNormExt(3, elementwise_affine=False).trainable_params() == []
    np.testing.assert_allclose(np.exp(nn.LogSoftmaxExt()(x).asnumpy()).sum(0), 1, rtol=1e-6)
    np.testing.assert_allclose(np.exp(nn.LogSoftmaxExt(-1)(x).asnumpy()).sum(-1), 1, rtol=1e-6)
    assert nn.L1LossExt("sum")(x, x * 0).item() == pytest.approx(np.abs(MATRICES).sum())
    assert nn.Linear(3, 2, bias=False, dtype=graphc.float16).weight.dtype == graphc.float16
    assert nn.Dense(3, 2, dtype=graphc.float16).bias.dtype == graphc.float16


def test_stacks_drop_different_elements():
    graphc.set_seed(1)
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.5), 3)
    states = [layer.dropout.state for layer in stack.layers]
    assert len({int(s.asnumpy()) for s in states}) == 3
    first, *rest = (layer.dense1.weight.asnumpy() for layer in stack.layers)
    assert all((w == first).all() for w in rest)  # As in MindSpore.


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Range(1, 3, 0), ValueError, "delta must be another number than 0"),
        (lambda: nn.Roll((1, 2), 0), ValueError, "shift must be 1 numbers"),
        (lambda: nn.Norm("1"), TypeError, "axis must be an int or a tuple of ints"),
        (lambda: nn.LGamma()(Tensor([1])), TypeError, "operands must be float16"),
        (lambda: nn.LBeta()(Tensor([1.0]), Tensor([1.0], graphc.float16)), TypeError, "of one dtype"),
        (lambda: nn.DropoutExt(1.5), ValueError, r"p must be in \[0, 1\]"),
        (lambda: nn.DropoutExt(0.5, inplace=True), ValueError, "GC112"),
        (lambda: nn.EmbeddingExt(3, 2, scale_grad_by_freq=True), ValueError, "GC112"),
        (lambda: nn.EmbeddingExt(3, 2, padding_idx=3), ValueError, "less than num_embeddings = 3"),
        (lambda: nn.EmbeddingExt(3, 2)(Tensor([1.0])), TypeError, "expected int32 or int64"),
        (lambda: nn.LayerNormExt(()), ValueError, "at least one size"),
        (lambda: nn.TimeDistributed(ops.relu, 1), TypeError, "layer must be a Cell or a Primitive"),
        (lambda: nn.TimeDistributed(nn.ReLU(), 1)(Tensor([[1.0]])), ValueError, "at least 3 axes"),
        (lambda: nn.TimeDistributed(nn.ReLU(), 1, 1)(Tensor(MATRICES)), ValueError, "is the time axis itself"),
        (lambda: nn.DenseBnAct(3, 2, activation=abs), TypeError, "activation must be a name, a Cell or a Primitive"),
        (lambda: nn.TransformerEncoder(nn.ReLU(), 2), TypeError, "the layer must be a TransformerEncoderLayer"),
        (lambda: nn.Transformer(4, 2, 1, 1, 8)(Tensor(MATRICES), Tensor(MATRICES)), ValueError, "d_model = 4"),
        (lambda: nn.MultiheadAttention(3, 1)(*[Tensor(MATRICES)] * 3, Tensor([[1, 0]] * 3)), TypeError, "a mask is"),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
