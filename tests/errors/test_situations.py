"""What users do that once ended in dozens of lines: each ends in the house's form, or works."""

from __future__ import annotations

import linecache
import logging
import random
import re
import sys
import time
import traceback
from enum import Enum

import numpy as np
import pytest

import graphc
from graphc import Tensor, mint, nn, ops
from graphc.errors import MOST_LINES, GraphcError, is_hidden
from tests.errors.messages import X, cell

HERE = "tests/errors/test_situations.py"
N = 0
SEEN: list[int] = []


def check(action, code, words, *classes):
    """The error of an action: its code, words in its message, the user's line, few lines, none of graphc's frames."""
    with pytest.raises(GraphcError) as caught:
        action()
    error = caught.value
    lines = str(error).splitlines()
    assert len(lines) <= MOST_LINES
    assert (error.code, lines[0].startswith(f"[{code}]")) == (code, True), error
    assert words in lines[0], lines[0]
    assert lines[1].startswith(f"  {HERE}:"), lines
    assert not [f for f in traceback.extract_tb(error.__traceback__) if is_hidden(f.filename)]
    for kind in classes:
        assert isinstance(error, kind)
    assert len(traceback.format_exception(error)) <= 8
    return error


# ---- inputs

ARRAYS = {
    "object": np.array([None, 1]),
    "clongdouble": np.zeros(3, np.clongdouble),
    "longdouble": np.zeros(3, np.longdouble),
    "datetime64": np.zeros(3, "datetime64[s]"),
    "timedelta64": np.zeros(3, "timedelta64[s]"),
    "S3": np.array([b"abc"]),
    "U3": np.array(["abc"]),
    "void": np.zeros(2, [("a", "f4")]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_dtypes_that_no_tensor_has(name):
    net, array = cell(lambda self, x: x * 2), ARRAYS[name]
    for action in (lambda: net(array), lambda: graphc.compile(net, array), lambda: Tensor(array), lambda: net([array])):
        error = check(action, "GC110", f"cannot be {array.dtype}", TypeError)
        assert "float32" in error.details[0]


def test_inputs_nested_too_deeply():
    circular = [X]
    circular.append(circular)
    deep = X
    for _ in range(6000):
        deep = [deep]
    net = cell(lambda self, x: ops.zeros((2,)))
    for nest in (circular, deep):
        check(lambda nest=nest: net(nest), "GC125", "reading the arguments", RecursionError, RuntimeError)
        check(lambda nest=nest: graphc.compile(net, nest), "GC125", "reading the arguments")
        check(lambda nest=nest: net(nest), "GC125", "reading the arguments")


# ---- recursion


def endless(x):
    return endless(x)


def test_recursion():
    before = sys.getrecursionlimit()
    error = check(lambda: cell(lambda self, x: endless(x))(X), "GC125", "tracing Net", RecursionError)
    assert error.details == ("the last calls are in endless",)

    def construct(self, x):
        if x.sum() > 0:
            return self.construct(x)
        return x

    check(lambda: cell(construct)(X), "GC125", "tracing Net")
    net = cell(lambda self, x: self(x))
    check(lambda: net(X), "GC125", "tracing Net")
    assert sys.getrecursionlimit() == before


def test_many_cells_in_each_other():
    net = cell(lambda self, x: x * 2)
    # Python 3.12 has a limit of its own, which nobody can raise, for calls through C.
    for _ in range(100 if sys.version_info[:2] == (3, 12) else 300):
        net = cell(lambda self, x: self.inner(x), inner=net)
    np.testing.assert_array_equal(net(X).asnumpy(), X * 2)


# ---- attributes


def test_attributes_that_are_not_there():
    check(lambda: cell(lambda self, x: x.typo)(X), "GC140", "Tensor has no attribute 'typo'", AttributeError)
    assert check(lambda: Tensor(X).reshap(3, 2), "GC140", "reshap").help == "did you mean x.reshape?"
    error = check(lambda: cell(lambda self, x: ops.sofmax(x))(X), "GC140", "graphc.ops has", AttributeError)
    assert error.help == "did you mean ops.softmax?"
    assert check(lambda: nn.Sequential, "GC140", "'Sequential'").help == "did you mean nn.SequentialCell?"
    assert check(lambda: ops.sofmax, "GC140", "'sofmax'").help == "did you mean ops.softmax?"
    assert check(lambda: nn.Dense(3, 3).wieght, "GC140", "'wieght'").help == "did you mean self.weight?"
    with pytest.raises(ImportError, match="no 'Sequential'; did you mean SequentialCell"):
        from graphc.nn import Sequential  # noqa: F401
    with pytest.raises(ImportError, match="no 'complie'; did you mean compile"):
        from graphc import complie  # noqa: F401
    assert not hasattr(nn, "Sequential")
    assert not hasattr(Tensor(X), "__cuda_array_interface__")


def test_a_rate_that_is_a_number():
    net = nn.Dense(3, 3)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    object.__setattr__(optimizer, "learning_rate", 0.0)
    check(lambda: step(X, X), "GC100", "learning_rate is 0.0 now", TypeError)


# ---- arguments


def test_wrong_arguments_of_functions_outside_a_cell():
    x = Tensor(X)
    for action, words, kind in (
        (lambda: ops.matmul(x, x), "inner dimensions differ", ValueError),
        (lambda: x @ x, "inner dimensions differ", ValueError),
        (lambda: ops.MatMul()(x, x), "inner dimensions differ", ValueError),
        (lambda: x.reshape(7), "shape (7,) needs 7", ValueError),
        (lambda: ops.pad(x, (1,)), "pairs (before, after)", ValueError),
        (lambda: ops.pad(x, (1, 9), "reflect"), "a border of 9 does not fit axis", ValueError),
        (lambda: ops.mirror_pad(x, ((1, 1), (1, 1), (0, 0)), "REFLECT"), "cannot be continued by", ValueError),
        (lambda: ops.pad(ops.zeros((2, 0)), (1, 1), "replicate"), "cannot be continued by", ValueError),
        (lambda: ops.pad(x, (1, -1), "replicate"), "only constant borders may be negative", ValueError),
        (lambda: ops.pad(x), "expected one of padding and paddings", TypeError),
        (lambda: ops.pad(x, (1, 1), paddings=((0, 0), (1, 1))), "expected one of padding and paddings", TypeError),
        (lambda: ops.linspace(0, 1, -5), "steps must be at least 0, got -5", ValueError),
        (lambda: ops.logspace(0, 1, -5), "steps must be at least 0, got -5", ValueError),
        (lambda: ops.linspace(0, 1, 2.5), "steps must be an int, got float", TypeError),
        (lambda: ops.eye(-1), "n must be at least 0, got -1", ValueError),
        (lambda: ops.eye(1, -1), "m must be at least 0, got -1", ValueError),
        (lambda: ops.fill(graphc.float32, (2,), None), "value must be a number, got None", TypeError),
    ):
        with pytest.raises(GraphcError) as caught:
            action()
        check(action, caught.value.code, words, kind)


def test_what_nobody_has_tried_keeps_its_class():
    """A function that fails in its own insides: with the user's line, and still caught as what it is."""
    error = check(lambda: ops.softplus(Tensor(X), 1, (0, 0)), "GC185", "softplus failed: TypeError", TypeError)
    assert error.help.startswith("look at the arguments in this line")


def test_arguments_that_make_a_function_fail():
    """Where an argument is of another kind than the signature says, or has too few axes, eagerly and compiled."""
    for call, code, words, kind in (
        (lambda x: ops.tril_indices(None, 3), "GC100", "tril_indices: row must be an int, got NoneType", TypeError),
        (lambda x: ops.median(X), "GC100", "median: input must be a Tensor, got ndarray", TypeError),
        (lambda x: x.narrow(0, 1.5, 2), "GC100", "narrow: start must be an int, got float", TypeError),
        (lambda x: ops.Median()([1.0]), "GC100", "Median: x must be a Tensor, got list", TypeError),
        (
            lambda x: ops.sum(x, 1.5),
            "GC100",
            "dim must be an int or a tuple or list of ints or None, got float",
            TypeError,
        ),
        (lambda x: ops.stack((x, 2)), "GC100", "stack: tensors must be Tensors, got int", TypeError),
        (lambda x: ops.tril(x.sum()), "GC101", "tril of f32[]: an axis is needed that is not there", ValueError),
        (lambda x: ops.arcsin(), "GC100", "arcsin: missing 1 required positional argument: 'x'", TypeError),
    ):
        check(lambda call=call: call(Tensor(X)), code, words, kind)
        check(lambda call=call: cell(lambda self, x: call(x))(X), code, words, kind)


def test_arguments_that_a_function_has_not():
    """Eagerly and compiled: which function, what was wrong and what it takes."""
    for call, words in (
        (
            lambda x: ops.softmax(x, axes=1),
            "softmax: got an unexpected keyword argument 'axes'; its arguments are (input, axis=-1,",
        ),
        (
            lambda x: x.sum(axes=1),
            "sum: got an unexpected keyword argument 'axes'; its arguments are (axis=None, dtype=None,",
        ),
        (lambda x: x.reciprocal(1), "reciprocal: takes 1 positional argument but 2 were given"),
        (lambda x: ops.relu(x, x, 1), "relu: takes from 1 to 2 positional arguments but 3 were given"),
        (lambda x: ops.maximum(x), "maximum: missing 1 required positional argument: "),
        (lambda x: ops.Softmax()(x, axes=1), "unexpected keyword argument 'axes'"),
    ):
        check(lambda call=call: call(Tensor(X)), "GC100", words, TypeError)
        check(lambda call=call: cell(lambda self, x: call(x))(X), "GC100", words, TypeError)


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
    ):
        error = check(call, "GC100", words, TypeError)
        assert meant is None or f"did you mean {meant}?" in str(error)

    class Own(nn.Cell):
        def __init__(self, size: int) -> None:
            super().__init__()

    with pytest.raises(TypeError, match="__init__") as caught:
        Own()
    assert not isinstance(caught.value, graphc.GraphcError)


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
        check(call, "GC100", words, ValueError)
    scores = Tensor(np.ones((2, 3), np.float32))
    error = check(
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
        check(call, "GC100", words, ValueError)
    check(lambda: ops.conv2d(x, w, padding="same"), "GC100", "conv2d: padding must be an int or a tuple", TypeError)
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
        check(call, "GC101", words, ValueError)
    for call, words in (
        (lambda: nn.LSTM(4, 5, 2, **options)(x, ones(2, 3, 5)), "LSTM: hx must be a pair (h, c) of Tensors"),
        (lambda: nn.LSTMCell(4, 5)(ones(3, 4), ones(3, 5)), "LSTMCell: hx must be a pair (h, c) of Tensors"),
        (lambda: nn.LSTM(4, 5, **options)(x, None, [3, 5, 1]), "LSTM: seq_length must be a Tensor, got list"),
        (lambda: nn.LSTM(4, 5, proj_size=3), "LSTM: got an unexpected keyword argument 'proj_size'"),
    ):
        check(call, "GC100", words, TypeError)


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
        check(call, "GC101", words, ValueError)
    check(lambda: ops.roll(x, (1, 1), (2,)), "GC100", "roll: shifts are 2 and dims 1, expected as many", ValueError)
    check(lambda: ops.affine_grid(ones(2, 2, 3), x.size), "GC100", "affine_grid: size must be (N, C, H, W)", TypeError)


def test_fill_with_nothing():
    check(lambda: cell(lambda self, x: ops.fill(x.dtype, x.shape, None))(X), "GC100", "must be a number, got None")


def test_a_cell_without_construct():
    check(lambda: type("Empty", (nn.Cell,), {})()(X), "GC100", "Empty does not define construct", TypeError)


def test_an_arena_that_cannot_be_had():
    net = cell(lambda self, x: ops.broadcast_to(x.sum(), (1 << 20, 1 << 20)).cumsum(0).sum())
    error = check(lambda: net(X), "GC184", "the step needs 8.0 TiB", MemoryError)
    assert error.details[0].startswith("%2 BroadcastTo: f32[1048576,1048576] takes 4.0 TiB  tests/")


# ---- statements


class Colour(Enum):
    RED = 1


def test_match():
    def construct(self, x):
        match self.mode:
            case "a" | "b":
                return x * 2
            case Colour.RED:
                return x * 3
            case int(4):
                return x
            case _:
                return x

    def simple(self, x):
        match self.mode:
            case "a" | "b":
                y = x * 2
            case Colour.RED:
                y = x * 3
            case None | True:
                y = x * 4
            case float():
                y = x * 5
            case n if n > 6:
                y = x * n
            case _:
                y = x
        match x.sum():
            case 15:
                return y
        return -y

    for mode, factor in (("b", 2), (Colour.RED, 3), (None, 4), (True, 4), (1.5, 5), (7, 7), (6, 1)):
        net = cell(simple, mode=mode)
        np.testing.assert_array_equal(net(X).asnumpy(), X * factor)
        np.testing.assert_array_equal(net(X + 1).asnumpy(), -(X + 1) * factor)
    error = check(lambda: cell(construct, mode="a")(X), "GC124", "the pattern `int(4)` cannot be converted")
    assert error.loc.line == construct.__code__.co_firstlineno + 6


def turns(x, stop):
    """An `else` of each kind of loop, in plain Python."""
    n = 0
    while x.sum() < 100:
        x = x * 2
        n += 1
        if n > stop:
            break
    else:
        x = x + 1
    for i in range(3):
        if i == stop:
            break
        for j in range(2):
            if j > i:
                break
            x = x + 0.5
        else:
            x = x * 3
    else:
        x = -x
    return x


@pytest.mark.parametrize("stop", [0, 1, 2, 9])
def test_else_of_loops(stop):
    net = cell(lambda self, x: turns(x, stop))
    np.testing.assert_allclose(net(X).asnumpy(), turns(X, stop))


@pytest.mark.parametrize("stop", [0, 1, 2, 9])
def test_a_break_by_a_number_that_the_loop_counts(stop):
    def count(x):
        n, last = 0, 0
        while x.sum() < 100:
            x = x * 2
            last = n
            n += 1
            if n > stop:
                break
        return x + last

    np.testing.assert_array_equal(cell(lambda self, x: count(x))(X).asnumpy(), count(X))


def test_generators_and_coroutines():
    def yields(self, x):
        yield x

    async def waits(self, x):
        return x

    check(lambda: cell(yields)(X), "GC124", "Net.construct is a generator")
    check(lambda: cell(waits)(X), "GC124", "Net.construct is async")
    with pytest.raises(GraphcError) as inner:
        cell(inner_generator)(X)
    assert inner.value.code == "GC124"
    assert inner.value.loc.line == inner_generator.__code__.co_firstlineno + 3

    def helped(self, x):
        return sum(parts(x))

    np.testing.assert_array_equal(cell(helped)(X).asnumpy(), X * 3)


def parts(x):
    for k in (1, 2):
        yield x * k


def inner_generator(self, x):
    def each():
        if x.sum() > 0:
            yield x

    return sum(each())


# ---- what Python does once


def said(caplog, net, *inputs):
    caplog.clear()
    with caplog.at_level(logging.WARNING, "graphc"):
        net(*inputs)
        first = [r.getMessage() for r in caplog.records]
        net(*(x[:1] for x in inputs))
    assert len(caplog.records) == len(first)  # Once.
    return first


def test_what_is_done_once_is_said_once(caplog):
    def draws(self, x):
        x = x + np.random.rand(3).astype(np.float32)
        x = x + random.random()
        return x + self.rng.normal()

    def clocks(self, x):
        return x + time.time() * 0

    def counts(self, x):
        global N
        N += 1
        SEEN.append(1)
        self.box["n"] = 2
        local = []
        local.append(x)
        return local[0]

    def texts(self, x):
        name = f"{x.sum():.3f} {x} {x!s}"
        return x + len(name)

    def plain(self, x):
        return x + np.linspace(0, 1, 3).astype(np.float32) + max(len("a"), 2)

    found = said(caplog, cell(draws, rng=np.random.default_rng(0)), X)
    assert [re.search(r"\] (\S+) is called once", f)[1] for f in found] == [
        "np.random.rand",
        "random.random",
        "self.rng.normal",
    ]
    assert "  tests/errors/test_situations.py:" in found[0]
    assert ["time.time" in f for f in said(caplog, cell(clocks), X)] == [True]
    assert ["global N" in said(caplog, cell(counts, box={}), X)[0], N > 0, SEEN != []] == [True] * 3
    assert len(SEEN) >= 1
    assert ["its type, not its value" in f for f in said(caplog, cell(texts), X)] == [True]
    assert said(caplog, cell(plain), X) == []


def flip(image):
    return image * np.random.random()


def test_a_member_is_not_the_global_of_its_name(caplog):
    """Nobody calls this module's `flip`, which draws a number."""

    def flips(self, x):
        return ops.flip(x, (0,)) + x.flip((0,))

    assert said(caplog, cell(flips), X) == []


def test_code_without_a_file(monkeypatch):
    space = {"ops": ops}
    exec("def construct(self, x):\n    while x.sum() < 9:\n        x = x * 2\n    return x", space)
    with pytest.raises(GraphcError) as caught:
        cell(space["construct"])(X)
    assert caught.value.code == "GC120"
    assert caught.value.help == "save the code to a file, and import or run that"
    # Python 3.13 keeps the text of `python -c`, whose code has the same made-up file; it is not this one's.
    monkeypatch.setitem(linecache.cache, "<string>", (0, None, ["import sys; print(sys)\n", "\n"] * 2, "<string>"))
    with pytest.raises(GraphcError) as caught:
        cell(space["construct"])(X)
    assert caught.value.code == "GC120"


# ---- names of inputs


def test_inputs_are_called_what_construct_calls_them():
    net = cell(lambda self, image: self.dense(image), dense=nn.Dense(3, 3))
    train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    step = graphc.compile(train, X, X)
    assert [step.graph.node(i).name for i in step.graph.inputs if step.graph.node(i).op.name == "Input"] == [
        "image",
        "labels",
    ]
    with pytest.raises(graphc.SignatureError) as caught:
        step(X[:1], X)
    assert caught.value.details == ("input 'image' is f32[1,3], compiled for f32[2,3]",)
    error = check(lambda: train(X[:, :2], X), "GC101", "the last axis of x has 2 features")
    assert error.code == "GC101"


# ---- messages


def test_messages_are_short():
    error = GraphcError("x" * 1000, details=[str(k) for k in range(40)], help="do this")
    lines = str(error).splitlines()
    assert len(lines) == MOST_LINES
    assert max(map(len, lines)) == 400
    assert lines[-2:] == ["  ... and 28 more: see the error's `details`", "  help: do this"]


def test_a_graph_shows_itself():
    step = graphc.compile(cell(lambda self, x: x * 2), X)
    assert repr(step.graph) == "<graph @Net: 3 nodes; print() shows them>"

    class Printer:
        def text(self, text):
            self.said = text

    printer = Printer()
    step.graph._repr_pretty_(printer, False)
    assert printer.said == str(step.graph)


def test_pynative_mode():
    """In PYNATIVE_MODE, too, errors have a line."""
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        check(lambda: cell(lambda self, x: x.reshape(7))(X), "GC103", "shape (7,) needs 7", ValueError)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
