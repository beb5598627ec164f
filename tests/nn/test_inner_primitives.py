"""The primitives inside layers: scripts ask for them, shard them, call them, and put others in their place."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

RNG = np.random.default_rng(0)
IMAGES, LINES, ROWS = (RNG.standard_normal(s).astype(np.float32) for s in ((2, 3, 6, 6), (2, 3, 7), (4, 5)))

#: Layer, attributes that hold primitives, input.
LAYERS = {
    "Dense": (lambda: nn.Dense(5, 3, activation="relu"), ("matmul", "bias_add"), ROWS),
    "Conv2d": (lambda: nn.Conv2d(3, 4, (3, 2), 2, has_bias=True), ("conv2d", "bias_add"), IMAGES),
    "Conv2d pad": (
        lambda: nn.Conv2d(3, 6, 3, (1, 2), "pad", (1, 2, 0, 1), (1, 2), 3),
        ("conv2d", "bias_add"),
        IMAGES,
    ),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, 2, has_bias=True), ("conv2d", "bias_add"), LINES),
    "Conv1d pad": (lambda: nn.Conv1d(3, 4, 3, 1, "pad", 2, 2), ("conv2d",), LINES),
    "LayerNorm": (lambda: nn.LayerNorm((6, 6), 2, 2), ("layer_norm",), IMAGES),
    "Softmax": (lambda: nn.Softmax(1), ("softmax",), IMAGES),
    "LogSoftmax": (nn.LogSoftmax, ("log_softmax",), ROWS),
    "ReLU": (nn.ReLU, ("relu",), ROWS),
    "ReLU6": (nn.ReLU6, ("relu6",), ROWS),
    "Tanh": (nn.Tanh, ("tanh",), ROWS),
    "Sigmoid": (nn.Sigmoid, ("sigmoid",), ROWS),
    "HSwish": (nn.HSwish, ("hswish",), ROWS),
    "HSigmoid": (nn.HSigmoid, ("hsigmoid",), ROWS),
    "FastGelu": (nn.FastGelu, ("fast_gelu",), ROWS),
    "SeLU": (nn.SeLU, ("selu",), ROWS),
    "Softsign": (nn.Softsign, ("softsign",), ROWS),
}


class Plus100(ops.Primitive):
    """100 more than another primitive gives, of several results in the first."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __call__(self, *operands):
        y = self.inner(*operands)
        return (y[0] + 100, *y[1:]) if isinstance(y, tuple) else y + 100


@pytest.mark.parametrize("name", LAYERS)
def test_asking_for_them_changes_nothing(name):
    make, inner, x = LAYERS[name]
    layer = make()
    before = layer(Tensor(x)).asnumpy()
    for attribute in inner:
        held = getattr(layer, attribute)
        assert isinstance(held, ops.Primitive)
        assert held.shard(((1, 1), (1, 1))) is held is getattr(layer, attribute)
    np.testing.assert_array_equal(layer(Tensor(x)).asnumpy(), before)
    np.testing.assert_array_equal(copy.deepcopy(layer)(Tensor(x)).asnumpy(), before)


@pytest.mark.parametrize("name", [n for n in LAYERS if n != "Dense"])
def test_another_one_is_what_the_layer_computes_with(name):
    make, inner, x = LAYERS[name]
    layer = make()
    before = layer(Tensor(x)).asnumpy()
    setattr(layer, inner[0], Plus100(getattr(layer, inner[0])))
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), before + 100, rtol=1e-5)


def test_dense_with_another_product():
    layer = nn.Dense(5, 3)
    before = layer(Tensor(ROWS)).asnumpy()
    layer.matmul = Plus100(layer.matmul)
    layer.bias_add = Plus100(layer.bias_add)
    np.testing.assert_allclose(layer(Tensor(ROWS)).asnumpy(), before + 200, rtol=1e-5)
    with pytest.raises(AttributeError, match="Dense has no attribute 'bias_add'"):
        nn.Dense(5, 3, has_bias=False).bias_add  # noqa: B018


def test_dropout_draws_from_the_state_of_the_layer():
    x = Tensor(np.ones((50, 40), np.float32))
    made = []
    for ask in (False, True):
        graphc.set_seed(3)
        layer = nn.Dropout(p=0.25).set_train()
        if ask:
            layer.dropout.shard(((1, 1),))
        made.append([layer(x).asnumpy(), layer(x).asnumpy()])
    np.testing.assert_array_equal(made[0], made[1])
    y, mask = layer.dropout(x)
    np.testing.assert_allclose(y.asnumpy(), mask.asnumpy() / 0.75, rtol=1e-6)
    assert mask.dtype == graphc.float32
    assert 0.7 < mask.asnumpy().mean() < 0.8
    layer.dropout = Plus100(layer.dropout)
    assert layer(x).asnumpy().min() == 100
    np.testing.assert_array_equal(layer.set_train(False)(x).asnumpy(), x.asnumpy())


def test_a_subclass_may_have_its_own():
    class Own(nn.Dense):
        def __init__(self):
            super().__init__(5, 3)
            self.matmul = ops.MatMul()

        def construct(self, x):
            return self.matmul(x, self.weight.T)

    layer = Own()
    np.testing.assert_allclose(layer(Tensor(ROWS)).asnumpy(), ROWS @ layer.weight.asnumpy().T, rtol=1e-5, atol=1e-6)


def test_convolutions_of_lines_are_of_images_of_one_row():
    layer = nn.Conv1d(2, 3, 4, 2, "pad", 1, 2)
    line = Tensor(LINES[:, :2])
    padded = layer.conv2d(layer.expand_dims(layer.cast(line, graphc.float32), 2), layer.weight)
    np.testing.assert_array_equal(layer.squeeze(padded).asnumpy(), layer(line).asnumpy())
    assert (layer.kernel_size, layer.stride, layer.padding, layer.dilation) == ((1, 4), (1, 2), (0, 0, 1, 1), (1, 2))
