"""Dropout and its random state, normalization in training steps, embedding, groups of channels, arguments refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, ParameterTuple, Tensor, nn, ops
from graphc.ops.declared.random import mix64
from graphc.ops.tensor.seed import generator, new_state

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# ---- Dropout


def mask(layer: nn.Dropout, shape: tuple[int, ...]) -> Array:
    return np.asarray(layer(Tensor(np.ones(shape, np.float32))).asnumpy())


@pytest.fixture
def seeded() -> None:
    graphc.set_seed(3)


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_right_share_and_scales_it(p: float) -> None:
    layer = nn.Dropout(p=p)
    layer.set_train()
    y = mask(layer, (300, 700))
    np.testing.assert_allclose(np.unique(y), [0, 1 / (1 - p)], rtol=1e-6)
    # Five standard deviations of a binomial share.
    assert abs((y == 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / y.size)
    for axis in (0, 1):
        share = (y == 0).mean(axis)
        assert np.abs(share - p).max() < 6 * np.sqrt(p * (1 - p) / y.shape[axis])


@pytest.mark.usefixtures("seeded")
def test_masks_of_steps_and_layers_are_unrelated() -> None:
    first, second = nn.Dropout(p=0.5), nn.Dropout(p=0.5)
    masks = []
    for layer in (first, second):
        layer.set_train()
        masks += [mask(layer, (200, 300)).ravel() - 1 for _ in range(3)]
    correlation = np.corrcoef(masks)
    np.testing.assert_allclose(correlation, np.eye(6), atol=5 / np.sqrt(masks[0].size))
    # Nor is one mask another one moved along.
    for shift in (1, 300, 16):
        assert abs(np.mean(masks[0][shift:] * masks[1][:-shift])) < 5 / np.sqrt(masks[0].size)


def test_same_seed_same_masks_in_every_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def masks() -> Array:
        graphc.set_seed(11)
        layer = nn.Dropout(p=0.4)
        layer.set_train()
        return np.stack([mask(layer, (5, 33)) for _ in range(2)])

    native = masks()
    np.testing.assert_array_equal(masks(), native)
    graphc.set_seed(12)
    other = nn.Dropout(p=0.4)
    other.set_train()
    assert (mask(other, (5, 33)) != native[0]).any()
    from graphc import dispatch

    monkeypatch.setattr(dispatch, "execute_cell", lambda cell, args, kwargs: cell.construct(*args, **kwargs))
    np.testing.assert_array_equal(masks(), native)


def test_initial_weights_do_not_depend_on_dropout() -> None:
    graphc.set_seed(5)
    plain = nn.Dense(3, 4).weight.asnumpy()
    graphc.set_seed(5)
    nn.Dropout(p=0.5)
    np.testing.assert_array_equal(nn.Dense(3, 4).weight.asnumpy(), plain)


def test_dropout_is_identity_in_evaluation_and_for_p_0() -> None:
    x = random(3, 4)
    for layer, train in ((nn.Dropout(p=0.5), False), (nn.Dropout(p=0.0), True), (nn.Dropout(1.0), True)):
        layer.set_train(train)
        before = layer.state.asnumpy()
        np.testing.assert_array_equal(layer(Tensor(x)).asnumpy(), x)
        assert layer.state.asnumpy() == before


def test_dropout_has_no_parameters_but_its_state_can_be_kept() -> None:
    layer = nn.Dropout()
    assert list(layer.get_parameters()) == []
    assert repr(layer) == "Dropout(keep_prob=0.5)"
    assert repr(nn.Dropout(p=0.3)) == "Dropout(p=0.3)"
    layer.set_train()
    state = layer.state.asnumpy()
    first = mask(layer, (4, 5))
    assert layer.state.asnumpy() == state + 1
    layer.state.set_data(state)
    np.testing.assert_array_equal(mask(layer, (4, 5)), first)


def test_states_of_layers_made_after_the_same_seed_have_different_names() -> None:
    graphc.set_seed(1)
    first = new_state("Dropout")
    graphc.set_seed(1)
    second = new_state("Dropout")
    assert first.asnumpy() == second.asnumpy()
    assert first.name != second.name


def test_key_of_splitmix64() -> None:
    # The first two outputs of SplitMix64 for state 1234567 (published test vector of the generator).
    gamma = 0x9E3779B97F4A7C15
    outputs = [mix64(1234567 + i * gamma) % 2**64 for i in range(2)]
    assert outputs == [6457827717110365317, 3203168211198807973]


def test_random_functions() -> None:
    graphc.set_seed(2)
    x = Tensor(np.ones((40, 50), np.float32))
    first, second = ops.dropout(x, 0.3).asnumpy(), ops.dropout(x, 0.3).asnumpy()
    assert (first != second).any()
    graphc.set_seed(2)
    np.testing.assert_array_equal(ops.dropout(x, 0.3).asnumpy(), first)
    of_seed = ops.dropout(x, 0.3, seed=7).asnumpy()
    assert (of_seed != first).any()
    assert generator(7) is generator(7)
    assert ops.dropout(x, 0.3, training=False) is x
    assert not ops.dropout(x, 1.0).asnumpy().any()
    numbers = ops.rand(100, 200).asnumpy()
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 5 / np.sqrt(12 * numbers.size)
    assert np.histogram(numbers, 16, (0, 1))[0].min() > numbers.size / 16 * 0.85
    with pytest.raises(graphc.ArgumentValueError, match=r"p must lie in \[0, 1\], got 1.5"):
        ops.dropout(x, 1.5)
    with pytest.raises(graphc.ArgumentTypeError, match="p must be a number, got str"):
        ops.dropout(x, "0.5")  # type: ignore[arg-type]


class Noisy(nn.Cell):
    """A network whose mask shows: the output is its only multiplier of the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(np.ones((6, 40), np.float32), name="weight")
        self.drop = nn.Dropout(p=0.5)
        self.norm = nn.BatchNorm1d(40)

    def construct(self, x: Any) -> Any:
        return self.drop(x * self.weight), self.norm(x)


class NoisyLoss(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net

    def construct(self, x: Any) -> Any:
        a, b = self.net(x)
        return ops.reduce_sum(a) + ops.reduce_sum(b) * 0.0


@pytest.mark.parametrize("scale", [2.0, 3e38])
def test_one_forward_per_step(scale: float) -> None:
    """Forward and backward see the same mask; state and statistics move once, on overflow steps too."""
    net = Noisy()
    net.norm.moving_mean.set_data(np.full(40, 2.0, np.float32))
    optimizer = nn.SGD([net.weight], 1.0)
    manager = nn.FixedLossScaleUpdateCell(scale)
    step = nn.TrainOneStepWithLossScaleCell(NoisyLoss(net), optimizer, manager)
    step.set_train()
    x = np.full((6, 40), 3.0, np.float32)
    state, weight = net.drop.state.asnumpy(), net.weight.asnumpy()
    loss, overflow, _ = step(Tensor(x))
    assert bool(overflow.asnumpy()) == (scale > 2)
    assert net.drop.state.asnumpy() == state + 1
    np.testing.assert_allclose(net.norm.moving_mean.asnumpy(), 0.9 * 2 + 0.1 * 3, rtol=1e-6)
    kept = float(loss.asnumpy()) / 6  # 3 / keep_prob each
    assert kept == pytest.approx(round(kept))
    moved = weight - net.weight.asnumpy()
    if scale > 2:
        assert not moved.any()
    else:
        np.testing.assert_allclose(np.unique(moved), [0, 6])
        assert int((moved > 0).sum()) == round(kept)


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


# ---- Embedding


@pytest.mark.parametrize("use_one_hot", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_embedding(use_one_hot: bool, dtype: str) -> None:
    layer = nn.Embedding(7, 3, use_one_hot, padding_idx=2)
    table = layer.embedding_table.asnumpy()
    assert not table[2].any()
    assert [p.name for p in layer.get_parameters()] == ["embedding_table"]
    ids = np.array([[0, 6, 6], [2, 1, 0]], dtype)
    np.testing.assert_allclose(layer(Tensor(ids)).asnumpy(), table[ids], rtol=1e-6)
    sens = random(2, 3, 3)
    grad = ops.GradOperation(get_by_list=True, sens_param=True)(layer, ParameterTuple([layer.embedding_table]))
    wanted = np.zeros_like(table)
    np.add.at(wanted, ids, sens)
    np.testing.assert_allclose(grad(Tensor(ids), Tensor(sens))[0].asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_embedding_table_is_drawn_from_a_normal_distribution() -> None:
    table = nn.Embedding(200, 50).embedding_table.asnumpy()
    assert table.std() == pytest.approx(0.01, rel=0.05)
    given = random(4, 3)
    np.testing.assert_array_equal(nn.Embedding(4, 3, embedding_table=Tensor(given)).embedding_table.asnumpy(), given)


# ---- convolutions made of others


def direct(x: Array, w: Array, pads: Any, stride: Any, dilation: Any, groups: int) -> Array:
    """Cross-correlation pixel by pixel, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pads[:2], pads[2:]))
    (kh, kw), (sh, sw), (dh, dw) = w.shape[2:], stride, dilation
    oh, ow = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    per, out_per = x.shape[1] // groups, w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], oh, ow))
    for o in range(w.shape[0]):
        first = o // out_per * per
        for i in range(oh):
            for j in range(ow):
                window = x[:, first : first + per, i * sh :, j * sw :][:, :, : dh * kh : dh, : dw * kw : dw]
                y[:, o, i, j] = (window[:, :, :kh, :kw] * w[o]).sum((1, 2, 3))
    return y


@pytest.mark.parametrize(
    ("x", "w", "pads", "stride", "dilation", "groups"),
    [
        ((2, 4, 7, 8), (6, 2, 3, 3), (1, 1, 1, 1), (1, 1), (1, 1), 2),
        ((2, 4, 9, 8), (4, 1, 3, 2), (1, 0, 2, 1), (2, 2), (1, 1), 4),
        ((1, 3, 9, 8), (6, 1, 2, 3), (0, 0, 0, 0), (1, 2), (2, 1), 3),
        ((1, 2, 9, 10), (3, 2, 3, 3), (1, 1, 1, 1), (2, 1), (1, 1), 1),
        ((1, 2, 11, 10), (3, 2, 3, 2), (0, 1, 1, 1), (4, 2), (1, 1), 1),
        ((1, 2, 11, 10), (3, 2, 3, 2), (2, 2, 1, 1), (1, 1), (3, 2), 1),
        ((1, 2, 12, 12), (3, 2, 2, 3), (1, 1, 1, 1), (3, 2), (4, 2), 1),
        ((1, 9, 12, 12), (9, 1, 9, 9), (0, 0, 0, 0), (1, 1), (1, 1), 9),
    ],
)
def test_convolution(x: Any, w: Any, pads: Any, stride: Any, dilation: Any, groups: int) -> None:
    class Apply(nn.Cell):
        def construct(self, a: Any, b: Any) -> Any:
            return ops.convolution(a, b, pads, stride, dilation, groups)

    a, b = random(*x), random(*w, seed=1)
    wanted = direct(a, b, pads, stride, dilation, groups)
    y = Apply()(Tensor(a), Tensor(b)).asnumpy()
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=2e-5)
    sens = random(*wanted.shape, seed=2)
    grad = ops.GradOperation(get_all=True, sens_param=True)(Apply())
    gradients = grad(Tensor(a), Tensor(b), Tensor(sens))
    for k, (value, got) in enumerate(zip((a, b), gradients, strict=True)):
        direction = random(*value.shape, seed=3 + k)
        # The convolution is linear in each operand.
        moved = direct(*((direction, b) if k == 0 else (a, direction)), pads, stride, dilation, groups)
        assert float((got.asnumpy() * direction).sum()) == pytest.approx(
            float((moved * sens).sum()), rel=1e-4, abs=1e-4
        )


def test_functional_conv2d() -> None:
    a, b, bias = random(2, 4, 6, 6), random(6, 2, 3, 3), random(6)
    for pad_mode, padding, pads in (
        ("valid", 0, (0, 0, 0, 0)),
        ("same", 0, (1, 1, 1, 1)),
        ("pad", 2, (2, 2, 2, 2)),
        ("pad", (1, 2), (1, 1, 2, 2)),
        ("pad", (1, 0, 2, 1), (1, 0, 2, 1)),
    ):
        got = ops.conv2d(Tensor(a), Tensor(b), Tensor(bias), 1, pad_mode, padding, 1, 2).asnumpy()
        wanted = direct(a, b, pads, (1, 1), (1, 1), 2) + bias[:, None, None]
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=2e-5)
    with pytest.raises(graphc.ShapeError, match="do not divide into 3 groups"):
        ops.conv2d(Tensor(a), Tensor(b), groups=3)
    with pytest.raises(graphc.ShapeError, match=r"x is f32\[6\] and weight is"):
        ops.conv2d(Tensor(bias), Tensor(b))
    with pytest.raises(graphc.ArgumentValueError, match="pad_mode must be"):
        ops.conv2d(Tensor(a), Tensor(b), pad_mode="full")
    with pytest.raises(graphc.ShapeError, match="the window reaches over 9 x 9 pixels, the padded image has 6 x 6"):
        ops.conv2d(Tensor(a), Tensor(random(4, 1, 3, 3)), dilation=4, groups=4)


# ---- normalization


def test_batch_norm_learns_and_evaluates_with_its_moving_statistics() -> None:
    layer = nn.BatchNorm2d(2)
    assert [p.name for p in layer.trainable_params()] == ["gamma", "beta"]
    assert [p.requires_grad for p in nn.BatchNorm2d(2, affine=False).get_parameters()] == [False] * 4
    layer.set_train()
    x = random(8, 2, 3, 3) * 3 + 5
    for _ in range(200):
        layer(Tensor(x))
    np.testing.assert_allclose(layer.moving_mean.asnumpy(), x.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance.asnumpy(), x.var((0, 2, 3), ddof=1), rtol=1e-5)
    by_batch = layer(Tensor(x)).asnumpy()
    layer.set_train(False)
    before = layer.moving_mean.asnumpy()
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), by_batch, atol=0.03)
    np.testing.assert_array_equal(layer.moving_mean.asnumpy(), before)


def test_gradient_of_a_gradient_through_batch_norm() -> None:
    """The variance's gradient leaves the mean out where it sums to zero; a second gradient must not miss it."""

    class Norm(nn.Cell):
        def construct(self, x: Any) -> Any:
            return ops.reduce_sum(ops.layer_norm(x, (5,), eps=0.1) * Tensor(random(3, 5, seed=4)))

    class GradientNorm(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm = Norm()
            self.grad = ops.GradOperation()

        def construct(self, x: Any) -> Any:
            return ops.reduce_sum(ops.square(self.grad(self.norm)(x)))

    x = random(3, 5).astype(np.float64)
    direction = random(3, 5, seed=1)

    def first(at: Array) -> float:
        """Sum of the squared gradient, by the formula of layer normalization, in float64."""
        w = random(3, 5, seed=4).astype(np.float64)
        centred = at - at.mean(-1, keepdims=True)
        inverse = 1 / np.sqrt(at.var(-1, keepdims=True) + 0.1)
        y = centred * inverse
        g = inverse * (w - w.mean(-1, keepdims=True) - y * (w * y).mean(-1, keepdims=True))
        return float((g**2).sum())

    cell = GradientNorm()
    assert float(cell(Tensor(x.astype(np.float32))).asnumpy()) == pytest.approx(first(x), rel=1e-4)
    numeric = (first(x + 1e-6 * direction) - first(x - 1e-6 * direction)) / 2e-6
    second = ops.GradOperation()(cell)(Tensor(x.astype(np.float32))).asnumpy()
    assert float((second * direction).sum()) == pytest.approx(numeric, rel=1e-3)


# ---- activations whose gradient MindSpore has not, or not right, on a CPU


@pytest.mark.parametrize(
    ("layer", "value", "slope"),
    [
        (nn.SeLU(), lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)), None),
        (nn.Tanhshrink(), lambda x: x - np.tanh(x), lambda x: np.tanh(x) ** 2),
        (nn.Softplus(), lambda x: np.log1p(np.exp(x)), lambda x: 1 / (1 + np.exp(-x))),
        (nn.Softplus(0.5, 1.0), lambda x: np.where(x > 2, x, 2 * np.log1p(np.exp(x / 2))), None),
        (nn.ELU(0.3), lambda x: np.where(x > 0, x, 0.3 * np.expm1(x)), None),
        (nn.CELU(-0.7), lambda x: np.maximum(x, 0) + np.minimum(-0.7 * np.expm1(x / -0.7), 0), None),
    ],
    ids=lambda v: repr(v) if isinstance(v, nn.Cell) else "",
)
def test_activation(layer: nn.Cell, value: Any, slope: Any) -> None:
    x = np.linspace(-6, 6, 53).astype(np.float32)  # Without the kinks.
    exact = x.astype(np.float64)
    slope = slope or (lambda at: (value(at + 1e-6) - value(at - 1e-6)) / 2e-6)
    kinks = [0.0, 2.0]
    inside = np.min([np.abs(exact - k) for k in kinks], axis=0) > 1e-3
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), value(exact), rtol=2e-5, atol=1e-6)
    grad = ops.GradOperation()(layer)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(grad[inside], slope(exact)[inside], rtol=2e-5, atol=1e-6)


def test_activations_and_their_gradients_at_extremes() -> None:
    x = np.array([-1e4, -90.0, 0.0, 90.0, 1e4], np.float32)
    cells = (
        nn.GELU(),
        nn.GELU(False),
        nn.FastGelu(),
        nn.ELU(),
        nn.SeLU(),
        nn.CELU(),
        nn.SiLU(),
        nn.Mish(),
        nn.HSwish(),
    )
    for cell in (*cells, nn.Softplus(), nn.LogSigmoid(), nn.Softsign(), nn.ReLU6(), nn.HSigmoid()):
        assert np.isfinite(cell(Tensor(x)).asnumpy()).all(), cell
        assert np.isfinite(ops.GradOperation()(cell)(Tensor(x)).asnumpy()).all(), cell
        assert np.isnan(cell(Tensor([float("nan")])).asnumpy()).all(), cell


@pytest.mark.parametrize("name", ["relu", "GELU", "leakyrelu", "silu", "hswish", "softmin"])
def test_activation_by_name(name: str) -> None:
    cell = nn.get_activation(name)
    assert type(cell).__name__.lower() == name.lower()
