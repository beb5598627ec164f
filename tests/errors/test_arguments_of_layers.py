"""Arguments and operands of layers and functions that do not fit: which, and what was meant."""

from __future__ import annotations

import inspect
import re
from enum import Enum

import numpy as np
import pytest

import graphc
from graphc import Tensor, amp, checkpoint, common, dataset, experimental, mint, nn, ops, parallel, train
from graphc import numpy as mnp
from graphc.errors import GraphcError
from graphc.nn.probability import bijector, distribution
from tests.errors.messages import X, refused

#: Where users find what they call.
OWNERS = (
    graphc, amp, bijector, checkpoint, common.initializer, dataset, dataset.audio, dataset.config,
    dataset.transforms, dataset.vision,
    distribution, experimental.optim, experimental.optim.lr_scheduler, mint, mint.linalg, mint.nn, mint.nn.functional,
    mint.optim, mint.special, mnp, mnp.fft, nn, ops, parallel, train,
)  # fmt: skip


def called():
    """(name, function or class, what it is called with in any case) of all that users call; methods with an object of none."""
    seen = set()
    for owner in OWNERS:
        for name in getattr(owner, "__all__", [n for n in dir(owner) if n.startswith(("get_", "set_"))]):
            member = getattr(owner, name)
            if (
                id(member) in seen
                or member is graphc.debug
                or not getattr(member, "__module__", "").startswith("graphc")
            ):
                continue
            seen.add(id(member))
            if inspect.isfunction(member):
                yield f"{owner.__name__}.{name}", member, ()
            elif inspect.isclass(member) and not issubclass(member, (BaseException, Enum)):
                if not inspect.isabstract(member):
                    yield f"{owner.__name__}.{name}", member, ()
                for key in dir(member):
                    held = inspect.getattr_static(member, key)
                    ours = inspect.isfunction(held) and held.__module__.startswith("graphc")
                    if ours and id(held) not in seen and not key.startswith("_") and key not in ("construct", "bprop"):
                        seen.add(id(held))
                        yield f"{owner.__name__}.{name}.{key}", held, (object(),)


def wrong_calls(function, given):
    """Arguments by position and by name that a function cannot be called with: unknown, missing, doubled, too many."""
    parameters = list(inspect.signature(function).parameters.values())[len(given) :]
    kinds = [p.kind for p in parameters]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        yield (), {"no_such_argument": 1}
    if any(p.default is p.empty and "VAR" not in p.kind.name for p in parameters):
        yield (), {}
    if kinds and kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        yield (None,), {parameters[0].name: None}
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        yield (None,) * (len(kinds) + 1), {}


def test_arguments_that_nothing_has():
    """Of everything that users call: one error with a code, a name and the user's line."""
    wrong, count = {}, 0
    for name, function, given in called():
        for args, kwargs in wrong_calls(function, given):
            count += 1
            try:
                function(*given, *args, **kwargs)
                wrong[name, args, *kwargs] = "nothing raised"
            except Exception as error:
                told = isinstance(error, GraphcError) and isinstance(error, TypeError) and error.loc is not None
                if not told or not re.match(r"\[GC100\] \w+: (got|missing|takes|needs) ", str(error)):
                    wrong[name, args, *kwargs] = f"{type(error).__name__}: {error}".partition("\n")[0]
    assert not wrong
    assert count > 6000


def test_arguments_that_a_layer_has_not():
    """Which layer, what it takes, and what the argument is called here; a Cell of the user's own is Python's matter."""
    params = nn.Dense(2, 2).trainable_params()
    for call, words, meant in (
        (lambda: nn.Conv2d(8, 8, 3, bias=False), "Conv2d: got an unexpected keyword argument 'bias'; its", "has_bias"),
        (lambda: nn.Conv1d(8, 8, 3, groups=8), "Conv1d: got an unexpected keyword argument 'groups'; its", "group"),
        (lambda: nn.SGD(params, lr=0.1), "SGD: got an unexpected keyword argument 'lr'; its", "learning_rate"),
        (lambda: nn.Dense(2), "Dense: missing 1 required positional argument: 'out_channels'; its", None),
        (lambda: ops.concat([X], dim=0), "concat: got an unexpected keyword argument 'dim'; its", "axis"),
        (lambda: mint.nn.Linear(2, 2, has_bias=True), "Linear: got an unexpected keyword argument 'has_bias'", "bias"),
        (lambda: nn.ReLU(True), "ReLU: takes 0 positional arguments but 1 was given; its", None),
        (lambda: mint.nn.Tanh(X), "Tanh: takes 0 positional arguments but 1 was given; its", None),
        (
            lambda: dataset.NumpySlicesDataset([1, 2], sufle=True),
            "NumpySlicesDataset: got an unexpected keyword argument 'sufle'; its arguments are (data, column_names=None",
            None,
        ),
        (lambda: dataset.DigitsDataset().batch(2, drop_remaindr=True), "batch: got an unexpec", "drop_remainder"),
        (lambda: dataset.DigitsDataset().batch(), "batch: missing 1 required positional argument: 'batch_size'", None),
        (lambda: dataset.vision.Resize(interpolaton=1), "Resize: got an unexpected keyword", "interpolation"),
        (lambda: common.initializer.HeNormal(mod="fan_in"), "HeNormal: got an unexpected keyword argument", "mode"),
        (lambda: common.initializer.initializer("ones", shap=2), "initializer: got an unexpected keyword", "shape"),
        (lambda: graphc.grad(ops.sin, gradposition=0), "grad: got an unexpected keyword argument", "grad_position"),
        (lambda: train.LossMonitor(1, per_print_times=1), "LossMonitor: got multiple values for argument", None),
        (lambda: train.Model(), "Model: missing 1 required positional argument: 'network'", None),
        (lambda: graphc.save_checkpoint(), "save_checkpoint: missing 2 required positional arguments", None),
        (lambda: amp.DynamicLossScaler(scale=1), "DynamicLossScaler: got an unexpected keyword", None),
        (lambda: train.Callback(1), "Callback: takes no arguments", None),
    ):
        error = refused(call, "GC100", words, TypeError)
        assert meant is None or f"did you mean {meant}?" in str(error)

    class Own(nn.Cell):
        def __init__(self, size: int) -> None:
            super().__init__()

    with pytest.raises(TypeError, match="__init__") as caught:
        Own()
    assert not isinstance(caught.value, graphc.GraphcError)

    class Mixed(train.Callback, Own):
        """With a constructor behind that of a class without one."""

    assert isinstance(Mixed(3), nn.Cell)

    class Bare(nn.Cell):
        """Without a constructor: it takes what Cell takes."""

    class Between(nn.ReLU, Bare):
        """A layer without arguments, whose constructor calls the next one."""

    assert not Bare(auto_prefix=False)._auto_prefix
    assert isinstance(Between().relu, ops.ReLU)


def test_padding_and_classes():
    """What was meant, by the layer's own name."""
    images = Tensor(np.ones((1, 1, 1, 3), np.float32))
    for call, words in (
        (
            lambda: nn.Conv2dTranspose(8, 4, 4, 2, padding=1),
            "Conv2dTranspose: padding must be 0 with pad_mode 'same', got 1",
        ),
        (
            lambda: nn.Conv1dTranspose(8, 4, 3, padding=1),
            "Conv1dTranspose: padding must be 0 with pad_mode 'same', got 1",
        ),
        (lambda: nn.Conv3d(8, 4, 3, padding=1), "Conv3d: padding must be 0 with pad_mode 'same', got 1"),
        (lambda: nn.Conv3d(8, 4, 3, pad_mode="pad", padding=(1, 1)), "Conv3d: padding must be an int or 6 ints"),
        (
            lambda: nn.Conv2dTranspose(8, 4, 4, 2, pad_mode="pad", padding=1, output_padding=2),
            "Conv2dTranspose: output_padding must be below (2, 2), the larger of stride and dilation",
        ),
        (
            lambda: ops.interpolate(images, size=2, align_corners=True),
            "interpolate: align_corners is for the modes 'linear',",
        ),
    ):
        refused(call, "GC100", words, ValueError)
    scores = Tensor(np.ones((2, 3), np.float32))
    error = refused(
        lambda: ops.cross_entropy(scores, Tensor(np.ones(2, np.float32))), "GC101", "cross_entropy", ValueError
    )
    assert "class numbers are int32 or int64" in str(error)


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def test_padding_beside_a_mode_that_sets_it():
    """MindSpore refuses it; it would be left out silently."""
    x, w = ones(2, 3, 8, 8), ones(4, 3, 3, 3)
    for call, words in (
        (lambda: ops.conv2d(x, w, padding=1), "conv2d: padding must be 0 with pad_mode 'valid', got 1"),
        (lambda: ops.conv2d(x, w, pad_mode="same", padding=(2, 2)), "conv2d: padding must be 0 with pad_mode 'same'"),
        (lambda: ops.Conv2D(4, 3, pad_mode="valid", pad=1)(x, w), "conv2d: padding must be 0 with pad_mode 'valid'"),
        (
            lambda: ops.conv1d(ones(2, 3, 8), ones(4, 3, 3), padding=1),
            "conv1d: padding must be 0 with pad_mode 'valid'",
        ),
        (lambda: ops.conv3d(ones(2, 3, 8, 8, 8), ones(4, 3, 3, 3, 3), padding=1), "conv3d: padding must be 0"),
        (lambda: ops.conv3d(ones(2, 3, 8, 8, 8), ones(4, 3, 3, 3, 3), pad_mode="full"), "conv3d: pad_mode must be"),
        (
            lambda: ops.Conv2DTranspose(4, 3, pad_mode="same", pad=1)(ones(2, 4, 8, 8), w, (2, 3, 8, 8)),
            "Conv2DTranspose: padd",
        ),
    ):
        refused(call, "GC100", words, ValueError)
    refused(lambda: ops.conv2d(x, w, padding="same"), "GC100", "conv2d: padding must be an int or a tuple", TypeError)
    assert ops.conv2d(x, w, pad_mode="valid", padding=(0, 0)).shape == (2, 4, 6, 6)


def test_states_of_recurrent_layers():
    """One that has another shape was broadcast, or its layers were left out."""
    x, options = ones(3, 6, 4), {"batch_first": True}
    for call, words in (
        (lambda: nn.GRU(4, 5, **options)(x, ones(4, 3, 5)), "GRU: hx is f32[4,3,5], expected [1, 3, 5]: layers times"),
        (lambda: nn.GRU(4, 5, **options)(x, ones(1, 1, 5)), "GRU: hx is f32[1,1,5], expected [1, 3, 5]"),
        (lambda: nn.RNN(4, 5, **options)(x, ones(3, 5)), "RNN: hx is f32[3,5], expected [1, 3, 5]"),
        (
            lambda: nn.GRU(4, 5, bidirectional=True, **options)(x, ones(1, 3, 5)),
            "GRU: hx is f32[1,3,5], expected [2, 3, 5]",
        ),
        (
            lambda: nn.GRUCell(4, 5)(ones(3, 4), ones(3, 6)),
            "GRUCell: hx is f32[3,6], expected [3, 5]: batch, hidden_size",
        ),
        (lambda: nn.RNNCell(4, 5)(ones(3, 3), ones(3, 5)), "RNNCell: x is f32[3,3], expected [N, 4]"),
        (
            lambda: nn.GRU(4, 5, **options)(x, None, Tensor([3.0, 5.0, 2.0])),
            "GRU: seq_length is f32[3], expected int32 or int64",
        ),
        (
            lambda: nn.GRU(4, 5, **options)(x, None, Tensor([3, 5])),
            "GRU: seq_length is i64[2], expected int32 or int64 of [3]",
        ),
    ):
        refused(call, "GC101", words, ValueError)
    for call, words in (
        (lambda: nn.LSTM(4, 5, 2, **options)(x, ones(2, 3, 5)), "LSTM: hx must be a pair (h, c) of Tensors"),
        (lambda: nn.LSTMCell(4, 5)(ones(3, 4), ones(3, 5)), "LSTMCell: hx must be a pair (h, c) of Tensors"),
        (lambda: nn.LSTM(4, 5, **options)(x, None, [3, 5, 1]), "LSTM: seq_length must be a Tensor, got list"),
        (lambda: nn.LSTM(4, 5, proj_size=3), "LSTM: got an unexpected keyword argument 'proj_size'"),
    ):
        refused(call, "GC100", words, TypeError)


def test_shapes_that_do_not_fit_are_told_by_the_function():
    x = ones(2, 3, 8, 8)
    for call, words in (
        (
            lambda: ops.pixel_shuffle(x, 2),
            "pixel_shuffle: x is f32[2,3,8,8], expected [..., C, H, W] with a multiple of 4",
        ),
        (
            lambda: ops.space_to_depth(x, 3),
            "space_to_depth: x is f32[2,3,8,8], expected [..., C, H, W] with multiples of 3",
        ),
        (lambda: ops.stack((x, ones(2, 3))), "stack: tensors are f32[2,3,8,8], f32[2,3], expected equal shapes"),
    ):
        refused(call, "GC101", words, ValueError)
    refused(lambda: ops.roll(x, (1, 1), (2,)), "GC100", "roll: shifts are 2 and dims 1, expected as many", ValueError)
    refused(
        lambda: ops.affine_grid(ones(2, 2, 3), x.size), "GC100", "affine_grid: size must be (N, C, H, W)", TypeError
    )
