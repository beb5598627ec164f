"""What layers and losses of published scripts derive from, and look up, beneath MindSpore's public names."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from graphc import compat, nn


@pytest.fixture
def ms():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()


def test_layers_and_losses_of_scripts_derive_from_mindspores_bases(ms):
    base = importlib.import_module("mindspore.nn.layer.conv")._Conv
    norm = importlib.import_module("mindspore.nn.layer.normalization")._BatchNorm
    loss = importlib.import_module("mindspore.nn.loss.loss")._Loss

    class Gated(base):
        def __init__(self, inputs, outputs):
            super().__init__(inputs, outputs, (3, 3), (1, 1), "pad", 1, (1, 1), 2, True, "ones", "zeros")
            self.conv2d = ms.ops.Conv2D(outputs, 3, pad_mode="pad", pad=1, group=2)

        def construct(self, x):
            return self.conv2d(x, self.weight) + self.bias.view(1, -1, 1, 1)

    class Squares(loss):
        def construct(self, x):
            return self.get_loss(x * x)

    net = Gated(4, 6)
    assert [(p.name, p.shape) for p in net.get_parameters()] == [("weight", (6, 2, 3, 3)), ("bias", (6,))]
    np.testing.assert_array_equal(net(ms.ops.ones((1, 4, 1, 1))).asnumpy().ravel(), [2] * 6)
    assert float(Squares("sum")(ms.Tensor([1.0, 2.0]))) == 5
    convolutions = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose)
    assert all(isinstance(kind(2, 2, 1), base) for kind in convolutions)
    assert not isinstance(nn.Dense(2, 2), base)
    assert isinstance(nn.BatchNorm1d(2), norm)
    assert isinstance(nn.MSELoss(), loss)
    with pytest.raises(ValueError, match="Gated: in_channels must be a multiple of group = 2, got 3"):
        Gated(3, 6)


def test_activations_have_mindspores_names(ms):
    made = importlib.import_module("mindspore.nn.layer.activation")._activation
    assert nn.get_activation("logsoftmaxExt").cls_name == "LogSoftmaxExt"
    x = ms.Tensor([[0.5, -2.0]])
    for name, wanted in (
        ("tanhshrink", [0.5 - np.tanh(0.5), np.tanh(2.0) - 2]),
        ("hardtanh", [0.5, -1]),
        ("preluExt", [0.5, -0.5]),
    ):
        np.testing.assert_allclose(made[name]()(x).asnumpy()[0], wanted, rtol=1e-5)
        dense = nn.Dense(2, 2, weight_init=ms.Tensor(np.eye(2, dtype=np.float32)), bias_init="zeros", activation=name)
        np.testing.assert_allclose(dense(x).asnumpy()[0], wanted, rtol=1e-5)


def test_kinds_of_dtypes(ms):
    assert isinstance(ms.int32, ms.Int)
    assert not isinstance(ms.float32, ms.Int)
    assert isinstance(ms.uint8, ms.uint)
