"""Layers whose weights are distributions: their divergence as MindSpore 2.10 computed it, and what they draw."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.nn.probability import bnn_layers as bnn

X = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]], np.float32)


def test_divergences_and_first_values_are_mindspores():
    graphc.set_seed(3)
    dense, local = bnn.DenseReparam(3, 4), bnn.DenseLocalReparam(3, 4, activation="relu")
    conv = bnn.ConvReparam(2, 3, 3, has_bias=True)
    divergences = [float(layer.compute_kl_loss()) for layer in (dense, local, conv)]
    assert divergences == pytest.approx([3013.4099, 4429.1821, 10703.1465], rel=1e-5)
    assert [p.name for p in conv.get_parameters()] == [
        "weight", "bias", "weight_posterior.mean", "weight_posterior.untransformed_std", "bias_posterior.mean",
        "bias_posterior.untransformed_std",
    ]  # fmt: skip
    assert [p.name for p in conv.trainable_params()] == [p.name for p in conv.get_parameters()][2:]


@pytest.mark.usefixtures("mode_again")
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
@pytest.mark.parametrize("kind", [bnn.DenseReparam, bnn.DenseLocalReparam])
def test_what_is_drawn(kind, mode):
    graphc.set_seed(1)
    graphc.set_context(mode=mode)
    layer = kind(
        3,
        2,
        weight_posterior_fn=lambda name, shape: bnn.NormalPosterior(
            name, shape, untransformed_scale_mean=0, untransformed_scale_std=0
        ),
    )
    weight = layer.weight_posterior.mean.asnumpy()
    drawn = np.stack([layer(Tensor(X)).asnumpy() for _ in range(600)])
    # The deviation of a weight is log 2.
    wanted = np.sqrt((X**2).sum(1, keepdims=True)) * np.log(2)
    np.testing.assert_allclose(drawn.std(0), np.broadcast_to(wanted, (2, 2)), rtol=0.12)
    bias = layer.bias_posterior.mean.asnumpy()
    np.testing.assert_allclose(drawn.mean(0), X @ weight.T + bias, atol=0.4)


def test_a_network_of_them_learns():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv = bnn.ConvReparam(1, 2, 2, pad_mode="valid")
            self.rest = nn.SequentialCell([nn.Flatten(), bnn.DenseReparam(2, 1)])

        def construct(self, x):
            return self.rest(self.conv(x))

    graphc.set_seed(2)
    net = Net()
    loss = bnn.WithBNNLossCell(net, nn.MSELoss(), dnn_factor=1, bnn_factor=0.0)
    step = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.05)).set_train()
    x = np.random.default_rng(0).standard_normal((16, 1, 2, 2)).astype(np.float32)
    y = x.sum((1, 2, 3))[:, None]
    losses = [float(step(Tensor(x), Tensor(y))) for _ in range(60)]
    assert losses[-1] < 0.2 * losses[0]
    whole = bnn.WithBNNLossCell(net, nn.MSELoss(), 0, 2.0)
    both = net.conv.compute_kl_loss() + net.rest[1].compute_kl_loss()
    assert float(whole(Tensor(x), Tensor(y))) == pytest.approx(2 * float(both), rel=1e-5)
    assert whole.backbone_network is net


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: bnn.DenseReparam(0, 1), ValueError, "in_channels must be at least 1"),
        (lambda: bnn.DenseReparam(1, 1, activation=abs), TypeError, "activation must be a name or a Cell"),
        (lambda: bnn.DenseReparam(1, 1, weight_prior_fn=nn.ReLU), TypeError, "weight_prior_fn must give a Cell with a Normal"),
        (lambda: bnn.ConvReparam(1, 1, 1, weight_posterior_fn=lambda name, shape: 1), TypeError, "weight_posterior_fn must give"),
        (lambda: bnn.NormalPosterior(1, (2,)), TypeError, "name must be a str"),
        (lambda: bnn.NormalPosterior("a", (2,), loc_std=-1), ValueError, "loc_std"),
        (lambda: bnn.WithBNNLossCell(nn.ReLU(), nn.MSELoss(), bnn_factor=-1), ValueError, "bnn_factor"),
    ],
)  # fmt: skip
def test_arguments_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
