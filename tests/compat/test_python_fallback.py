"""Programs of MindSpore's that set no mode: a Cell that only Python can run is run by it, and a warning says so."""

import importlib
import warnings

import numpy as np
import pytest

import graphc
from graphc import compat, context
from graphc.steps.calls import step_of

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def ms(mode_again):
    """MindSpore's name, in a process where nobody has set a mode."""
    context._chosen.discard("mode")
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()


class Holder:
    """An object of the user's."""


class Keeps(graphc.nn.Cell):
    """Keeps a value between calls, in an object."""

    def __init__(self):
        super().__init__()
        self.fc = graphc.nn.Dense(3, 1, weight_init="ones", has_bias=False)
        self.kept = Holder()

    @property
    def last(self):
        return self.kept.last

    def construct(self, x):
        self.kept.last = self.fc(x)
        return self.kept.last * 2


class Asks(graphc.nn.Cell):
    """Goes on by a value."""

    def construct(self, x):
        return x * 2 if float(x.asnumpy().sum()) > 0 else x - 1


class Draws(graphc.nn.Cell):
    """Another number at every call."""

    def construct(self, x):
        return x + np.random.rand()


class Prints(graphc.nn.Cell):
    """Text of a value."""

    def construct(self, x):
        print(f"sum {x.sum()}")
        return x


def op_by_op(code, call):
    """What `call` returns; it says that it runs op by op, because of an error of that code."""
    with pytest.warns(graphc.OpByOpWarning, match=rf"\[{code}\].*\n.*test_python_fallback.py"):
        return call()


class Divides(graphc.nn.Cell):
    """A size that values tell."""

    def construct(self, x):
        return x[x > 1].reshape(2, -1) * 2


def test_sizes_that_are_divided(ms):
    divides = Divides()
    made = op_by_op("GC103", lambda: divides(ms.Tensor(X)))
    assert np.array_equal(made.asnumpy(), [[4, 6], [8, 10]])
    with pytest.raises(ValueError, match=r"GC103.*cannot be divided into shape \(2, -1\)"):
        divides(ms.Tensor(X + 1))


def test_the_mode_is_as_mindspore_has_it(ms):
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    assert np.array_equal(graphc.nn.ReLU()(ms.Tensor(X)).asnumpy(), X)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        ms.set_context(mode=mode)
        assert ms.get_context("mode") == mode


def test_attributes_and_values(ms):
    keeps, asks = Keeps(), Asks()
    made = op_by_op("GC133", lambda: keeps(ms.Tensor(X)))
    assert np.array_equal(made.asnumpy(), X.sum(1, keepdims=True) * 2)
    assert np.array_equal(keeps.last.asnumpy(), X.sum(1, keepdims=True))
    assert np.array_equal(op_by_op("GC130", lambda: asks(ms.Tensor(X))).asnumpy(), X * 2)
    # Said once.
    assert np.array_equal(asks(ms.Tensor(-X)).asnumpy(), -X - 1)
    assert np.array_equal(keeps(ms.Tensor(X[:1])).asnumpy(), [[6.0]])


def test_what_would_happen_once_happens_at_every_call(ms, capsys):
    draws = Draws()
    np.random.seed(0)
    first = op_by_op("GC134", lambda: draws(ms.Tensor(X))).asnumpy()
    second = draws(ms.Tensor(X)).asnumpy()
    wanted = np.random.RandomState(0).rand(2)
    assert np.allclose([first - X, second - X], wanted[:, None, None])
    prints = Prints()
    op_by_op("GC134", lambda: prints(ms.Tensor(X)))
    prints(ms.Tensor(X * 2))
    assert capsys.readouterr().out == "sum 15.0\nsum 30.0\n"


def test_gradients(ms):
    keeps = Keeps()
    weights = keeps.trainable_params()
    step = ms.value_and_grad(lambda x: keeps(x).sum(), 0, weights)
    value, (by_x, by_weights) = op_by_op("GC133", lambda: step(ms.Tensor(X)))
    assert value == 30.0
    assert np.array_equal(by_x.asnumpy(), np.full((2, 3), 2.0))
    assert np.array_equal(by_weights[0].asnumpy(), 2 * X.sum(0, keepdims=True))
    assert np.array_equal(keeps.last.asnumpy(), X.sum(1, keepdims=True))


@pytest.mark.parametrize("sink", [False, True])
def test_models(ms, sink):
    keeps = Keeps()
    model = ms.Model(keeps, ms.nn.MSELoss(), ms.nn.SGD(keeps.trainable_params(), 0.01))
    columns = {"x": X, "y": np.zeros((2, 1), np.float32)}
    data = ms.dataset.NumpySlicesDataset(columns, shuffle=False).batch(2)
    op_by_op("GC133", lambda: model.train(1, data, dataset_sink_mode=sink))
    # The gradient of the mean of (2 w x)^2.
    made = np.ones(3) - 0.01 * (8 * X.sum(1, keepdims=True) * X).mean(0)
    assert np.allclose(keeps.fc.weight.asnumpy(), made, rtol=1e-5)


def test_what_compiles_is_compiled(ms):
    dense = ms.nn.Dense(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense(ms.Tensor(X))
        assert step_of(dense, (ms.Tensor(X),)) is not None
    keeps = Keeps()
    assert step_of(keeps, (ms.Tensor(X),)) is None
    op_by_op("GC133", lambda: keeps(ms.Tensor(X)))


def test_a_mode_that_is_set_holds(ms):
    keeps = Keeps()
    op_by_op("GC133", lambda: keeps(ms.Tensor(X)))
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(graphc.TraceError, match="GC133"):
        keeps(ms.Tensor(X))
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert keeps(ms.Tensor(X)).shape == (2, 1)


def test_what_jit_marks_is_compiled_or_refused(ms):
    jitted = ms.jit(Keeps())
    with pytest.raises(graphc.TraceError, match="GC133"):
        jitted(ms.Tensor(X))


class Log:
    """An object of the user's."""

    def __init__(self):
        self.number, self.kept, self.names = 0, [], {"first": 1}

    def put(self, x):
        self.number += 1
        self.kept.append(x)
        self.names.pop("first", None)
        self.late = True


class Logs(graphc.nn.Cell):
    """Tells an object of every call."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    def construct(self, x):
        self.log.put(x * 3)
        return x * 2


class LogsAndAsks(Logs):
    def construct(self, x):
        self.log.put(x * 3)
        return Asks.construct(self, x)


@pytest.mark.parametrize(("kind", "code"), [(Logs, "GC133"), (LogsAndAsks, "GC130")])
def test_what_compiling_has_changed_goes_back(ms, kind, code):
    log = Log()
    logs = kind(log)
    assert np.array_equal(op_by_op(code, lambda: logs(ms.Tensor(X))).asnumpy(), X * 2)
    assert (log.number, log.late, log.names) == (1, True, {})
    logs(ms.Tensor(X + 1))
    assert log.number == 2
    assert [np.array_equal(a.asnumpy(), b) for a, b in zip(log.kept, (X * 3, X * 3 + 3), strict=True)] == [True, True]


class CountsAlone(graphc.nn.Cell):
    """Changes what nobody reads, with nothing that keeps it from being compiled."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    def construct(self, x):
        self.log.up()
        return x * 2


class Counter:
    def __init__(self):
        self.number = 0

    def up(self):
        self.number += 1


def test_what_would_change_once_changes_at_every_call(ms):
    counter = Counter()
    counts = CountsAlone(counter)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", graphc.OpByOpWarning)
            counts(ms.Tensor(X))
    assert counter.number == 3


class Memo(graphc.nn.Cell):
    """Makes something at the first call of each shape, and reads it later."""

    def __init__(self):
        super().__init__()
        self.made = {}

    def construct(self, x):
        if x.shape not in self.made:
            self.made[x.shape] = float(len(self.made) + 1)
        return x * self.made[x.shape]


def test_what_is_made_once_is_compiled(ms):
    memo = Memo()
    for _ in range(3):
        assert np.array_equal(memo(ms.Tensor(X)).asnumpy(), X)
    assert memo.made == {(2, 3): 1.0}
    assert step_of(memo, (ms.Tensor(X),)) is not None


class Collects(graphc.nn.Cell):
    """Appends to a list of its own."""

    def __init__(self):
        super().__init__()
        self.kept, self.number = [], []

    def construct(self, x):
        self.kept.append(x * 2)
        self.number.append(1)
        return x


class Numbers(Collects):
    def construct(self, x):
        self.number.append(len("x"))
        return x


@pytest.mark.parametrize(("kind", "code"), [(Collects, "GC134"), (Numbers, "GC134")])
def test_lists_that_grow(ms, kind, code):
    cell = kind()
    op_by_op(code, lambda: cell(ms.Tensor(X)))
    cell(ms.Tensor(X))
    assert cell.number == [1, 1]
    assert all(np.array_equal(kept.asnumpy(), X * 2) for kept in cell.kept)


class Takes(graphc.nn.Cell):
    """The next item of an iterator, and a value."""

    def __init__(self):
        super().__init__()
        self.items = iter([2.0, 3.0])

    def construct(self, x):
        return Asks.construct(self, x) * next(self.items)


def test_what_cannot_go_back_is_an_error(ms):
    class TakesFirst(Takes):
        def construct(self, x):
            return next(self.items) * Asks.construct(self, x)

    with pytest.raises(graphc.TraceError, match="GC130"):
        TakesFirst()(ms.Tensor(X))
    takes = Takes()
    assert np.array_equal(op_by_op("GC130", lambda: takes(ms.Tensor(X))).asnumpy(), X * 4)
    assert np.array_equal(takes(ms.Tensor(X)).asnumpy(), X * 6)


class Sized(graphc.nn.Cell):
    """As many ones as a value says."""

    def construct(self, x):
        self.last = graphc.ops.ones((int(x.sum()), 2))
        return self.last


def test_numbers_of_values(ms):
    sized = Sized()
    assert op_by_op("GC120", lambda: sized(ms.Tensor(X))).shape == (15, 2)
    assert sized(ms.Tensor(X[:1])).shape == (3, 2)


class Squares(graphc.nn.Cell):
    """The square of a matrix, by a value."""

    def construct(self, x):
        return graphc.ops.matmul(x, x) * float(x.asnumpy()[0, 0])


def test_what_python_refuses_is_its_error(ms):
    squares = Squares()
    with pytest.raises(graphc.ShapeError):
        squares(ms.Tensor(X))
    made = op_by_op("GC130", lambda: squares(ms.Tensor(X[:, 1:])))
    assert np.array_equal(made.asnumpy(), X[:, 1:] @ X[:, 1:])


def test_wrong_operands_are_errors(ms):
    keeps = Keeps()
    with pytest.raises(graphc.ShapeError):
        keeps(ms.Tensor(X.T.copy()))
    with pytest.raises(graphc.TraceError, match="GC133"):
        graphc.compile(keeps, ms.Tensor(X))


def test_under_its_own_name_nothing_changes(mode_again):
    context._chosen.discard("mode")
    with pytest.raises(graphc.TraceError, match="GC133"):
        Keeps()(graphc.Tensor(X))
