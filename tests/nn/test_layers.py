"""Small layers against NumPy, and the arguments and inputs that layers refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, mint, nn
from tests.data.ms_layer_gradients import LINES

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.usefixtures("eager")
def test_flatten_and_identity() -> None:
    x = Tensor(random(2, 3, 4, 5))
    assert nn.Flatten().construct(x).shape == (2, 60)
    assert nn.Flatten(0, 1).construct(x).shape == (6, 4, 5)
    assert np.array_equal(nn.Flatten().construct(x).asnumpy(), x.asnumpy().reshape(2, 60))
    assert nn.Identity().construct(x) is x
    with pytest.raises(graphc.ArgumentTypeError, match="start_dim must be an int"):
        nn.Flatten("1")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Dropout(1), TypeError, "keep_prob must be a float, got int"),
        (lambda: nn.Dropout(0.0), ValueError, r"keep_prob must be in \(0, 1\], got 0.0"),
        (lambda: nn.Dropout(p=1), ValueError, r"p must be in \[0, 1\), got 1"),
        (lambda: nn.Dropout(p=-0.1), ValueError, "p must be in"),
        (lambda: nn.Dropout(p="a"), TypeError, "p must be a number, got str"),
        (lambda: nn.BatchNorm2d(0), ValueError, "num_features must be at least 1"),
        (lambda: nn.BatchNorm2d(2.0), TypeError, "num_features must be an int"),
        (lambda: nn.BatchNorm2d(2, momentum=1.1), ValueError, r"momentum must be in \[0, 1\]"),
        (lambda: nn.BatchNorm2d(2, use_batch_statistics=1), ValueError, "must be True, False or None, got 1"),
        (lambda: nn.BatchNorm2d(2, data_format="NHWC"), ValueError, "data_format must be 'NCHW'"),
        (lambda: nn.LayerNorm(4), TypeError, "normalized_shape must be a tuple or list, got int"),
        (lambda: nn.LayerNorm(()), ValueError, "normalized_shape must be at least one size"),
        (lambda: nn.LayerNorm((4,), begin_norm_axis=1.0), TypeError, "begin_norm_axis must be an int"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "num_channels must be a multiple of num_groups = 3, got 4"),
        (lambda: nn.Embedding(0, 2), ValueError, "vocab_size must be at least 1"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError, "padding_idx must be less than vocab_size = 3"),
        (lambda: nn.Embedding(3, 2, use_one_hot=1), TypeError, "use_one_hot must be a bool"),
        (lambda: nn.PReLU(2, [0.1]), ValueError, "w must be 2 numbers"),
        (lambda: nn.GELU("tanh"), TypeError, "approximate must be a bool"),
        (lambda: nn.CELU(0.0), ValueError, "alpha must be a number other than 0"),
        (lambda: nn.Hardtanh(1.0, 1.0), ValueError, "max_val must be greater than min_val"),
        (lambda: nn.Conv2d(4, 6, 3, group=4), ValueError, "out_channels must be a multiple of group = 4, got 6"),
        (lambda: nn.Conv1d(4, 6, (3,)), TypeError, "kernel_size must be an int, got tuple"),
        (lambda: nn.Conv1d(4, 6, 3, padding=1), ValueError, "padding must be 0 with pad_mode 'same', got 1"),
    ],
)
def test_arguments_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("layer", "x", "error", "message"),
    [
        (nn.BatchNorm2d(3), random(2, 3), ValueError, "x has 2 axes, expected 4"),
        (nn.BatchNorm1d(3), random(2, 4), ValueError, r"x has 4 channels \(axis 1\), the layer expects 3"),
        (nn.LayerNorm((4,)), random(2, 3), ValueError, r"have shape \(3,\), the layer expects \(4,\)"),
        (nn.LayerNorm((4,), begin_norm_axis=3), random(2, 4), ValueError, "begin_norm_axis = 3 is no axis of x"),
        (nn.GroupNorm(2, 4), random(2, 6, 3), ValueError, r"x is f32\[2,6,3\], the layer expects \[N, 4, ...\]"),
        (nn.Embedding(4, 2), random(3), TypeError, r"ids are f32\[3\], expected int32 or int64"),
        (nn.Conv1d(2, 3, 3), random(2, 2), ValueError, "x has 2 axes, expected 3"),
        (nn.GLU(), random(2, 3), ValueError, "cannot be halved"),
        (nn.PReLU(3), random(2, 2), ValueError, "expected one number or one per channel"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_inputs_refused(layer: nn.Cell, x: Array, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        layer(Tensor(x))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.Conv2dTranspose(3, 4, 3, output_padding=1), ValueError),
        (lambda: nn.Conv3d(2, 3, 3, group=2), ValueError),
        (lambda: nn.Pad(3), TypeError),
        (lambda: nn.ReflectionPad1d((9, 0))(Tensor(LINES)), ValueError),
        (lambda: nn.LSTM(2, 3, dropout=1.0), ValueError),
        (lambda: nn.MultiheadAttention(5, 2), ValueError),
        (lambda: nn.GRU(4, 3)(Tensor(LINES)), ValueError),
        (lambda: nn.ParameterUpdate(Tensor(1.0)), TypeError),
        (lambda: nn.SampledSoftmaxLoss(9, 7), ValueError),
        (lambda: nn.MultiMarginLoss(p=3), ValueError),
    ],
)
def test_what_does_not_fit(make, error):
    with pytest.raises(error) as caught:
        make()
    assert isinstance(caught.value, graphc.GraphcError)


BIASED: dict[str, tuple[nn.Cell, tuple[int, ...]]] = {
    "Dense": (nn.Dense(2, 3, bias_init="ones"), (4, 2)),
    "Conv1d": (nn.Conv1d(2, 3, 1, has_bias=True, bias_init="ones"), (1, 2, 4)),
    "Conv2d": (nn.Conv2d(2, 3, 1, has_bias=True, bias_init="ones"), (1, 2, 4, 4)),
    "Conv3d": (nn.Conv3d(2, 3, 1, has_bias=True, bias_init="ones"), (1, 2, 2, 4, 4)),
    "Conv2dTranspose": (nn.Conv2dTranspose(2, 3, 1, has_bias=True, bias_init="ones"), (1, 2, 4, 4)),
    "Conv3dTranspose": (nn.Conv3dTranspose(2, 3, 1, has_bias=True, bias_init="ones"), (1, 2, 2, 4, 4)),
}


@pytest.mark.parametrize("name", BIASED)
def test_a_bias_can_be_turned_off(name: str) -> None:
    layer, shape = BIASED[name]
    x = Tensor(random(*shape))
    before = layer(x).asnumpy()
    layer.has_bias = False
    np.testing.assert_allclose(layer(x).asnumpy(), before - 1, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.MaxPool2d, nn.AvgPool2d])
def test_windows_that_are_set_later(kind: Any) -> None:
    layer, x = kind(2, 2), Tensor(random(1, 2, 6, 6))
    layer(x)
    layer.kernel_size, layer.stride = [3, 3], 1
    np.testing.assert_array_equal(layer(x).asnumpy(), kind(3, 1)(x).asnumpy())


def shown(value):
    return value if isinstance(value, (int, float, str, tuple, type(None))) else type(value).__name__


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (
            lambda: nn.Conv2d(2, 4, 3),
            {"padding": 0, "weight_init": "HeUniform", "bias_init": None, "data_format": "NCHW"},
        ),
        (lambda: nn.Conv2d(2, 4, 3, pad_mode="pad", padding=1, has_bias=True), {"padding": 1, "bias_init": "Uniform"}),
        (lambda: nn.Conv2d(2, 4, 3, pad_mode="pad", padding=(1, 0, 2, 1)), {"padding": (1, 0, 2, 1)}),
        (lambda: nn.Conv2d(2, 4, 3, weight_init="ones"), {"weight_init": "ones"}),
        (lambda: nn.Conv1d(2, 4, 3, pad_mode="pad", padding=2), {"padding": (0, 0, 2, 2), "data_format": "NCHW"}),
        (lambda: nn.Conv2dTranspose(2, 4, 3, pad_mode="pad", padding=1), {"padding": 1, "weight_init": "HeUniform"}),
        (lambda: nn.Conv3d(2, 4, 3, pad_mode="pad", padding=1), {"padding": 1, "data_format": "NCDHW"}),
        (lambda: nn.BatchNorm2d(4, momentum=0.75), {"momentum": 0.25}),
        (lambda: nn.MultiheadAttention(4, 2, 0.1), {"head_dim": 2, "dropout": 0.1}),
        (
            lambda: nn.TransformerEncoderLayer(4, 2, 8),
            {"d_model": 4, "nhead": 2, "dim_feedforward": 8, "batch_first": False},
        ),
        (lambda: mint.nn.Embedding(5, 3), {"num_embeddings": 5, "embedding_dim": 3, "padding_idx": None}),
    ],
)
def test_layers_tell_their_arguments(layer, expected):
    """Programs that put another layer in the place of one read them; values are MindSpore's."""
    made = layer()
    assert {name: shown(getattr(made, name)) for name in expected} == expected


@pytest.mark.parametrize("make", [nn.Conv1d, nn.Conv1dTranspose])
def test_windows_of_sequences_are_given_with_three_axes(make: Any) -> None:
    weight = random(4, 4, 3)
    np.testing.assert_array_equal(make(4, 4, 3, weight_init=Tensor(weight)).weight.asnumpy(), weight[:, :, None])
