"""Layers of graphc.mint.nn against torch's in float64 (tests/data/torch_layers.py): results, gradients, state, names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, mint, nn, ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from graphc.mint import nn as layers
from tests.data.torch_layers import LAYERS, filled

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "torch_layers.json").read_text())


class Summed(nn.Cell):
    """The result, and what is differentiated."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def construct(self, *operands):
        result = self.layer(*operands)
        cotangent = np.cos(np.arange(result.size)).reshape(result.shape).astype(np.float32)
        return ops.reduce_sum(result * Tensor(cotangent)), result


@pytest.mark.parametrize("case", LAYERS)
def test_layers_are_torchs(case):
    layer, args, kwargs, operands, training = LAYERS[case]
    made, wanted = getattr(layers, layer)(*args, **kwargs).set_train(training), RECORDED[case]
    held = dict(made.parameters_and_names())
    assert set(held) == {*wanted["parameters"], *wanted["state"]}
    for name, parameter in held.items():
        parameter.set_data(Tensor(filled(name, parameter.shape)))
    trained = [held[n] for n in wanted["parameters"]]
    position = 0 if wanted["gradient"] is not None else None
    step = ops.value_and_grad(Summed(made), position, trained or None, has_aux=True)
    if position is None and not trained:
        pytest.fail("nothing to differentiate")
    (_, result), gradients = step(*map(Tensor, operands))
    np.testing.assert_allclose(result.asnumpy().ravel(), wanted["result"], rtol=1e-5, atol=1e-5)
    assert list(result.shape) == wanted["shape"]
    if position is None:
        of_parameters = gradients
    elif trained:
        of_input, of_parameters = gradients
    else:
        of_input, of_parameters = gradients, ()
    if position is not None:
        np.testing.assert_allclose(of_input.asnumpy().ravel(), wanted["gradient"], rtol=2e-5, atol=2e-5)
    for name, gradient in zip(wanted["parameters"], of_parameters, strict=True):
        np.testing.assert_allclose(
            gradient.asnumpy().ravel(), wanted["parameters"][name], rtol=2e-5, atol=2e-5, err_msg=name
        )
    for name, values in wanted["state"].items():
        np.testing.assert_allclose(held[name].asnumpy().ravel(), values, rtol=1e-5, atol=1e-6, err_msg=name)


def test_layers_start_as_torchs():
    graphc.set_seed(0)
    linear, table = layers.Linear(400, 50), layers.Embedding(1000, 20, padding_idx=-1)
    bound = 1 / np.sqrt(400)
    for held in (linear.weight, linear.bias):
        values = held.asnumpy()
        assert np.abs(values).max() <= bound
        assert np.abs(values).max() > 0.9 * bound
    values = table.weight.asnumpy()
    assert abs(values.std() - 1) < 0.02
    assert not values[-1].any()
    norm = layers.BatchNorm2d(3)
    assert [p.name for p in norm.trainable_params()] == ["weight", "bias"]
    assert not layers.GroupNorm(1, 3, affine=False).trainable_params()


def test_a_transposed_convolution_of_a_named_size():
    x = Tensor(filled("x", (1, 2, 6, 6)))
    up = layers.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    wider = layers.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=(0, 1))
    wider.weight.set_data(up.weight)
    wider.bias.set_data(up.bias)
    want = wider(x).asnumpy()
    assert want.shape == (1, 3, 11, 12)
    np.testing.assert_allclose(up(x, output_size=(11, 12)).asnumpy(), want, rtol=1e-5)
    for size in ((11, 12), [1, 3, 11, 12]):
        np.testing.assert_allclose(up.construct(x, output_size=size).asnumpy(), want, atol=1e-6)
    for size in ((13, 12), (11, 10), (12,)):
        with pytest.raises(ArgumentValueError, match="output_size must be"):
            up.construct(x, size)


def test_a_padding_row_gets_no_gradient():
    table = layers.Embedding(4, 2, padding_idx=1)
    gradient = ops.grad(lambda i: ops.reduce_sum(table(i)), None, table.weight)(Tensor([0, 1, 1, 3]))
    np.testing.assert_array_equal(gradient.asnumpy(), [[1, 1], [0, 0], [0, 0], [1, 1]])


def test_dropout_drops_in_training_only():
    layer, x = layers.Dropout(0.25), Tensor(np.ones((100, 100), np.float32))
    assert layer.set_train(False)(x).asnumpy().all()
    kept = layer.set_train(True)(x).asnumpy()
    assert abs((kept == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(kept[kept != 0], 1 / 0.75, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: layers.Conv2d(3, 4, 3, groups=2), ArgumentValueError, "groups must be a divisor"),
        (lambda: layers.Conv2d(2, 4, 3, stride=2, padding="same"), ArgumentValueError, "needs stride 1"),
        (lambda: layers.Conv2d(2, 4, (3, 3, 3)), ArgumentValueError, "an int or 2 of them"),
        (lambda: layers.Conv1d(2, 4, 3, padding_mode="mirror"), ArgumentValueError, "padding_mode='mirror'"),
        (lambda: layers.Linear(2.0, 3), ArgumentTypeError, "in_features must be an int"),
        (lambda: layers.ReLU6(inplace=True), ArgumentValueError, "inplace=True is not supported"),
        (lambda: layers.Embedding(3, 2, padding_idx=3), ArgumentValueError, "padding_idx must be below 3"),
        (lambda: layers.Embedding(3, 2, max_norm=-1), ArgumentValueError, "max_norm must be a finite number >= 0"),
        (lambda: layers.Dropout(1.5), ArgumentValueError, "from 0 to 1"),
        (lambda: layers.SyncBatchNorm(3, process_group="x"), ArgumentValueError, "process_group='x'"),
        (lambda: layers.BatchNorm2d(3)(Tensor(np.zeros((2, 3), np.float32))), ShapeError, "expected 4 axes"),
        (lambda: layers.ReflectionPad1d((1, 2, 3)), ArgumentValueError, "an int or 2 of them"),
        (lambda: layers.MSELoss("median"), ArgumentValueError, "reduction"),
        (lambda: mint.nn.functional.linear(Tensor([1.0]), Tensor([1.0, 2.0])), ShapeError, "must agree"),
    ],
)
def test_bad_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()
