"""What users do that once ended in dozens of lines: each ends in the house's form, or works."""

from __future__ import annotations

import linecache
import logging
import random
import re
import sys
import time
from enum import Enum

import numpy as np
import pytest

import graphc
from graphc import Tensor, internal_errors, nn, ops
from graphc.errors import MOST_LINES, GraphcError
from tests.errors.messages import X, cell, refused

N = 0
SEEN: list[int] = []


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
        error = refused(action, "GC110", f"cannot be {array.dtype}", TypeError)
        assert "float32" in error.details[0]


def test_inputs_nested_too_deeply():
    circular = [X]
    circular.append(circular)
    deep = X
    for _ in range(6000):
        deep = [deep]
    net = cell(lambda self, x: ops.zeros((2,)))
    for nest in (circular, deep):
        refused(lambda nest=nest: net(nest), "GC125", "reading the arguments", RecursionError, RuntimeError)
        refused(lambda nest=nest: graphc.compile(net, nest), "GC125", "reading the arguments")
        refused(lambda nest=nest: net(nest), "GC125", "reading the arguments")


# ---- recursion


def endless(x):
    return endless(x)


def test_recursion(monkeypatch):
    before = sys.getrecursionlimit()
    error = refused(lambda: cell(lambda self, x: endless(x))(X), "GC125", "tracing Net", RecursionError)
    assert error.details == ("the last calls are in endless",)

    def construct(self, x):
        if x.sum() > 0:
            return self.construct(x)
        return x

    refused(lambda: cell(construct)(X), "GC125", "tracing Net")
    net = cell(lambda self, x: self(x))

    # Wherever the limit is met, in graphc's own or in what Python has written for its tuples: the user's line is said.
    for limit in range(5000, 5032):
        monkeypatch.setattr(internal_errors._Depth, "LIMIT", limit)
        error = refused(lambda: net(X), "GC125", "tracing Net")
        assert error.details == ("the last calls are in <lambda>",)
    assert sys.getrecursionlimit() == before


def test_many_cells_in_each_other():
    net = cell(lambda self, x: x * 2)
    # Python 3.12 has a limit of its own, which nobody can raise, for calls through C.
    for _ in range(100 if sys.version_info[:2] == (3, 12) else 300):
        net = cell(lambda self, x: self.inner(x), inner=net)
    np.testing.assert_array_equal(net(X).asnumpy(), X * 2)


# ---- attributes


def test_attributes_that_are_not_there():
    refused(lambda: cell(lambda self, x: x.typo)(X), "GC140", "Tensor has no attribute 'typo'", AttributeError)
    assert refused(lambda: Tensor(X).reshap(3, 2), "GC140", "reshap").help == "did you mean x.reshape?"
    error = refused(lambda: cell(lambda self, x: ops.sofmax(x))(X), "GC140", "graphc.ops has", AttributeError)
    assert error.help == "did you mean ops.softmax?"
    assert refused(lambda: nn.Sequential, "GC140", "'Sequential'").help == "did you mean nn.SequentialCell?"
    assert refused(lambda: ops.sofmax, "GC140", "'sofmax'").help == "did you mean ops.softmax?"
    assert refused(lambda: nn.Dense(3, 3).wieght, "GC140", "'wieght'").help == "did you mean self.weight?"
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
    refused(lambda: step(X, X), "GC100", "learning_rate is 0.0 now", TypeError)


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
        (lambda: ops.mirror_pad(x, ((1, 1), (1, 1), (0, 0)), "REFLECT"), "paddings have the shape (3, 2)", ValueError),
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
        refused(action, caught.value.code, words, kind)


def test_what_nobody_has_tried_keeps_its_class(monkeypatch):
    """A function that fails in its own insides: with the user's line, and still caught as what it is."""
    monkeypatch.setattr("graphc.ops.functional.activation.call", abs)
    error = refused(lambda: ops.softplus(Tensor(X)), "GC185", "softplus failed: TypeError: abs() takes", TypeError)
    assert error.help.startswith("look at the arguments in this line")


def test_arguments_that_make_a_function_fail():
    """Where an argument is of another kind than the signature says, or has too few axes, eagerly and compiled."""
    for call, code, words, kind in (
        (lambda x: ops.tril_indices(None, 3), "GC100", "tril_indices: row must be an int, got NoneType", TypeError),
        (lambda x: ops.median(X), "GC100", "median: input must be a Tensor, got ndarray", TypeError),
        (lambda x: x.narrow(0, 1.5, 2), "GC100", "narrow: start must be an int or a Tensor, got float", TypeError),
        (lambda x: ops.Median()([1.0]), "GC100", "Median: x must be a Tensor, got list", TypeError),
        (
            lambda x: ops.sum(x, 1.5),
            "GC100",
            "dim must be an int or a tuple or list of ints or None, got float",
            TypeError,
        ),
        (
            lambda x: ops.stack((x, 2)),
            "GC100",
            "tensors must be a tuple or list of Tensors, got a tuple with int",
            TypeError,
        ),
        (lambda x: ops.tril(x.sum()), "GC101", "tril of f32[]: an axis is needed that is not there", ValueError),
        (lambda x: ops.arcsin(), "GC100", "arcsin: missing 1 required positional argument: 'x'", TypeError),
    ):
        refused(lambda call=call: call(Tensor(X)), code, words, kind)
        refused(lambda call=call: cell(lambda self, x: call(x))(X), code, words, kind)


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
        refused(lambda call=call: call(Tensor(X)), "GC100", words, TypeError)
        refused(lambda call=call: cell(lambda self, x: call(x))(X), "GC100", words, TypeError)


def test_fill_with_nothing():
    refused(lambda: cell(lambda self, x: ops.fill(x.dtype, x.shape, None))(X), "GC100", "must be a number, got None")


def test_a_cell_without_construct():
    refused(lambda: type("Empty", (nn.Cell,), {})()(X), "GC100", "Empty does not define construct", TypeError)


def test_an_arena_that_cannot_be_had():
    net = cell(lambda self, x: ops.broadcast_to(x.sum(), (1 << 20, 1 << 20)).cumsum(0).sum())
    error = refused(lambda: net(X), "GC184", "the step needs 8.0 TiB", MemoryError)
    assert error.details[0].startswith("%2 BroadcastTo: f32[1048576,1048576] takes 4.0 TiB  tests/")


# ---- statements


class Colour(Enum):
    RED = 1


def test_match():
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

    refused(lambda: cell(yields)(X), "GC124", "Net.construct is a generator")
    refused(lambda: cell(waits)(X), "GC124", "Net.construct is async")
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

    def layers(self, x):
        return nn.Dense(3, 2)(x)

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
    (made,) = said(caplog, cell(layers), X)
    assert "initial values of a layer are drawn once" in made
    assert "return nn.Dense(3, 2)(x)" in made
    assert said(caplog, cell(plain), X) == []


def test_what_a_step_calls_back_is_done_at_every_step(caplog):
    """Whatever the function is given to under, and not if it is called beside that."""

    def drawn(x):
        return (x + np.random.rand(*x.shape)).astype(np.float32)

    def back(self, x):
        return ops.Custom(drawn, lambda a: a, lambda a: a)(x)

    def row(x):
        return ops.PyFunc(drawn, [x.dtype], [x.shape], [x.dtype], [x.shape], False)(x)[0]

    def beside(self, x):
        return ops.Custom(drawn, lambda a: a, lambda a: a)(x) + drawn(np.ones(3))

    assert said(caplog, cell(back), X) == []
    assert said(caplog, cell(lambda self, x: ops.vmap(row)(x)), Tensor(np.ones((2, 3), np.float32))) == []
    assert ["np.random.rand is called once" in f for f in said(caplog, cell(beside), X)] == [True]


def test_items_that_are_set_once(caplog):
    """By whatever statement, in the methods that construct calls, too; not what the call has made itself, and what makes the next
    call compile and set it again.
    """

    def construct(self, x):
        return self.helped(x)

    def helped(self, x):
        self.array[0] += 1
        self.array[0:2] = 5
        self.array[:1] -= x.shape[0]
        self.table["k"] = self.table.get("k", 0) + 1
        local, made = [0, 0], {"a": 1}
        local[0] += 1
        local[:1] = [3]
        made["a"] *= local[0]
        return x * made["a"]

    net = cell(construct, array=np.zeros(3), table={})
    type(net).helped = helped
    found = said(caplog, net, X)
    assert ["an item of an object that outlives the call is set once" in f for f in found] == [True] * 3
    for text, line in zip(found, ("+= 1", "= 5", "-= x.shape[0]"), strict=True):
        assert line in text
    count = net.table["k"]
    net(X)
    assert net.table["k"] == count + 1


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
    error = refused(lambda: train(X[:, :2], X), "GC101", "the last axis of x has 2 features")
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
        refused(lambda: cell(lambda self, x: x.reshape(7))(X), "GC103", "shape (7,) needs 7", ValueError)
        far = Tensor([0, 7])
        says = "gather: index 7 is out of range for a size of"
        refused(lambda: cell(lambda self, x, i: ops.gather(x, i, 0))(X, far), "GC100", says, IndexError)
        refused(lambda: cell(lambda self, x, i: x[i])(X, far), "GC100", says.removeprefix("gather: "), IndexError)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
