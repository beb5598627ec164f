"""Attributes of Cells that construct sets: a compiled Cell leaves in them what it does op by op."""

import copy
import threading

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.steps.calls import step_of
from tests.trace.attributes import ZEROS, Base, X, assert_as_op_by_op, assert_same, attributes, values


class First(Base):
    """Set before it is read, and read afterwards."""

    def construct(self, x):
        self.last = x * self.w
        self.size = x.shape[0]
        return self.last.sum() * self.size


class State(Base):
    """Read before it is set."""

    def construct(self, x):
        self.state = self.state * 0.5 + x * self.w
        return self.state * 2


class Grows(Base):
    """Of another shape after each call."""

    def construct(self, x):
        self.rows = ops.concat((self.rows, x * self.w))
        return self.rows.sum()


class Counts(Base):
    """A Python value."""

    def construct(self, x):
        self.count += 1
        return x * self.w * self.count


class Default(Base):
    """Of the class, until it is set."""

    state = None

    def construct(self, x):
        self.state = x * self.w if self.state is None else self.state + x
        return self.state * 1


class Missing(Base):
    """There only from the first call on."""

    def construct(self, x):
        before = self.state if hasattr(self, "state") else x
        self.state = before * self.w
        return before


class Nests(Base):
    """In containers, of several dtypes, with Python values."""

    def construct(self, x):
        y = x * self.w
        self.parts = [y > 2, {"sum": y.sum(), "names": ("a", None)}, y.astype(graphc.float16)]
        self.gathered = []
        for k in range(3):
            self.gathered.append(y * k)
        return self.parts[1]["sum"] + self.gathered[2].sum()


class Chooses(Base):
    """By a value that only the run has."""

    def construct(self, x):
        if x.sum() > 21:
            self.state = self.state + x * self.w
        else:
            self.state = x - 1
        return self.state * 2


class Repeats(Base):
    """In a loop of as many turns as only the run tells."""

    def construct(self, x):
        self.turns = 0
        while self.state.sum() < 100:
            self.state = self.state + x * self.w
            self.turns = self.turns + 1
        return self.state * self.turns


class Fills(Base):
    """In place."""

    def construct(self, x):
        self.rows[0] = self.rows[1] + x[0] * self.w
        return self.rows.sum()


class Asks(Base):
    """Past its own way of finding attributes."""

    def construct(self, x):
        before = vars(self).get("state")
        self.state = x * self.w if before is None else before + x
        return self.state * 1


class Sets(Base):
    """By a property."""

    @property
    def state(self):
        return self.held * 2

    @state.setter
    def state(self, value):
        self.held = value + 1

    def construct(self, x):
        self.state = self.state + x * self.w
        return self.state * 1


class Listed(Base):
    """In a Cell that only a list holds."""

    def construct(self, x):
        return self.cells[0](x) + self.cells[0].seen


class Inner(Base):
    """In a Cell, by a method."""

    def note(self, x):
        self.seen = x * self.w

    def construct(self, x):
        self.note(x)
        return x * x


class Outer(Base):
    def construct(self, x):
        return self.inner(x) * self.inner.seen


class Way(Base):
    """By a Cell that a branch calls: on the other way it keeps what it held."""

    def construct(self, x):
        return self.inner(x) if x.sum() > 0 else x * 3


class Ways(Base):
    """By Cells that branches in branches call, of which one leaves the function; read behind them."""

    def construct(self, x):
        if x.sum() > 0:
            if x.sum() > 25:
                return self.one(x)
            y = self.other(x)
        else:
            y = self.one(x) + self.one.state
        return y + self.one.state


class Running(nn.Cell):
    """With numbers that NumPy has, too."""

    def __init__(self):
        super().__init__()
        self.inner = Average(mean=Tensor([0.0]), calls=Tensor(0))

    def construct(self, x):
        if x.sum() > 0:
            x = self.inner(x)
        for _ in range(2):
            if x.max() < 8:
                x = x + self.inner(x * 2)
        return x


class Average(Base):
    def construct(self, x):
        self.mean = self.mean * 0.5 + x * 0.5
        self.calls += 1
        return self.mean + x


CELLS = {
    "first": lambda: First(),
    "first, of a tensor": lambda: First(last=Tensor(ZEROS)),
    "state": lambda: State(state=Tensor(ZEROS)),
    "state, of a number": lambda: State(state=1.0),
    "grows": lambda: Grows(rows=Tensor(ZEROS)),
    "counts": lambda: Counts(count=0),
    "default": lambda: Default(),
    "missing": lambda: Missing(),
    "nests": lambda: Nests(),
    "chooses": lambda: Chooses(state=Tensor(ZEROS)),
    "repeats": lambda: Repeats(state=Tensor(ZEROS), turns=0),
    "fills": lambda: Fills(rows=Tensor(ZEROS)),
    "asks": lambda: Asks(),
    "inner": lambda: Outer(inner=Inner()),
    "sets": lambda: Sets(held=Tensor(ZEROS)),
    "listed": lambda: Listed(cells=[Inner()]),
    "way": lambda: Way(inner=State(state=Tensor(ZEROS))),
    "way, a number": lambda: Way(inner=Counts(count=1)),
    "ways": lambda: Ways(one=State(state=Tensor(ZEROS)), other=Inner(seen=Tensor(ZEROS))),
}


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.filterwarnings("ignore::graphc.RecompileWarning", "ignore::graphc.UntrainedWarning")
def test_as_op_by_op(name, hooked, mode_again):
    """In between a user sets an attribute. hooked: construct sees other parameters than its Cell holds."""

    def make():
        cell = CELLS[name]()
        if hooked:
            cell.register_parameter_forward_hook(lambda w: w * 2)
        return cell

    def between(turn, cell):
        if turn == 3 and isinstance(start.get(".state"), np.ndarray):
            cell.state = Tensor(ZEROS + 5)

    start = attributes(CELLS[name]())
    assert_as_op_by_op(make, between)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_what_is_assigned_is_the_parameter_behind_the_one_that_is_seen(mode, mode_again):
    class Assigns(Base):
        def construct(self, x):
            self.w += 1
            ops.assign(self.w, self.w * 2)
            self.w[0] = 7
            return x * self.w

    graphc.set_context(mode=mode)
    cell = Assigns().to_float(graphc.float16)
    for expected in ([7, 6, 8], [7, 14, 18]):
        result = cell(Tensor(X[:1]))
        assert_same(values(result), (X[:1] * expected).astype(np.float16))
        assert_same(values(cell.w), np.float32(expected))


def test_what_branches_set_is_as_numpy_has_it():
    cell, mean, calls = Running(), np.zeros(1), 0
    for given in ([1.0], [-2.0], [9.0], [3.0]):
        x = np.array(given)
        for may, scale in ((x.sum() > 0, 0), (None, 2), (None, 2)):
            if x.max() < 8 if may is None else may:
                mean, calls = mean * 0.5 + x * (scale or 1) * 0.5, calls + 1
                x = mean + x if not scale else x + mean + x * 2
        assert_same(values(cell(Tensor(np.float32(given)))), np.float32(x))
        assert_same(values((cell.inner.mean, cell.inner.calls)), (np.float32(mean), np.array(calls)))


def test_one_step_serves_all_calls():
    """What is set anew each time costs no compilation; nor does a state of one type."""
    for cell in (First(), State(state=Tensor(ZEROS)), Fills(rows=Tensor(ZEROS))):
        cell(Tensor(X))
        step = step_of(cell, (Tensor(X),))
        for _ in range(3):
            cell(Tensor(X))
        assert step_of(cell, (Tensor(X),)) is step


def test_who_reads_it_elsewhere_sees_it():
    """A function that was compiled for what an attribute held sees what a step has set since."""
    for cell, name in ((First(last=Tensor(ZEROS), size=0), "last"), (Fills(rows=Tensor(ZEROS)), "rows")):
        reads = graphc.jit(lambda x, cell=cell, name=name: x + getattr(cell, name))
        for scale in (0.0, 1.0, 2.0):
            held = getattr(cell, name).asnumpy().copy()
            np.testing.assert_array_equal(reads(Tensor(X)).asnumpy(), X + held)
            cell(Tensor(X * np.float32(scale)))


def test_a_value_that_was_taken_stays():
    """Each call sets another tensor, except where the tensor itself is written."""
    state, fills = State(state=Tensor(ZEROS)), Fills(rows=Tensor(ZEROS.copy()))
    state(Tensor(X))
    first, before = state.state, state.state.asnumpy().copy()
    state(Tensor(X))
    np.testing.assert_array_equal(first.asnumpy(), before)
    rows = fills.rows
    fills(Tensor(X))
    assert fills.rows is rows
    assert rows.asnumpy()[0].tolist() == [1, 4, 9]


def test_steps_that_are_compiled_for_good():
    cell = State(state=Tensor(ZEROS))
    step = graphc.compile(cell, Tensor(X))
    assert not cell.state.asnumpy().any()
    step(Tensor(X))
    step(Tensor(X))
    np.testing.assert_allclose(cell.state.asnumpy(), X * [1, 2, 3] * 1.5)
    assert {p.name for p in step.parameters} == {"w", "state"}
    cell.state = Tensor(ZEROS[:1])
    with pytest.raises(graphc.SignatureError, match=r"self.state holds something else than this step was compiled for"):
        step(Tensor(X))
    with pytest.raises(graphc.ExportError, match=r"GC193.*the step sets self.state"):
        step.export("step.onnx")
    with pytest.raises(graphc.ArgumentValueError, match="cannot be called by address"):
        _ = step.entry


def test_what_fails_leaves_everything():
    class Fails(Base):
        def construct(self, x):
            self.state = x
            return x.reshape(7)

    cell = Fails(state="before", other=1)
    with pytest.raises(graphc.ShapeError):
        cell(Tensor(X))
    assert cell.state == "before"
    assert [name for name in vars(cell) if name in ("w", "state", "other")] == ["w", "state", "other"]


@pytest.mark.parametrize("sink", [False, True])
def test_models(sink):
    """In loops that do not come back to Python, too."""

    class Net(Base):
        def construct(self, x):
            self.seen = self.seen + 1
            self.last = (x * self.w).sum(-1, keepdims=True)
            return self.last

    net = Net(seen=Tensor(0.0), last=None)
    model = graphc.train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.001))
    rows = [(X[k % 2] * (k + 1), np.ones(1, np.float32)) for k in range(8)]
    data = graphc.dataset.GeneratorDataset(rows, ["x", "y"], shuffle=False).batch(2)
    model.train(2, data, dataset_sink_mode=sink)
    assert (float(net.seen), net.last.shape) == (8.0, (2, 1))


def test_threads():
    """Each call finds what one of the others has left."""

    class Adds(Base):
        def construct(self, x):
            self.state = self.state + x
            return self.state * 1

    cell, seen = Adds(state=Tensor(ZEROS)), []

    def run():
        for _ in range(50):
            seen.append(float(cell(Tensor(X * 0 + 1)).asnumpy()[0, 0]))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(seen) == list(range(1, 151))


def test_copies_have_attributes_of_their_own():
    cell = State(state=Tensor(ZEROS))
    cell(Tensor(X))
    other = copy.deepcopy(cell)
    other(Tensor(X))
    np.testing.assert_allclose(cell.state.asnumpy(), X * [1, 2, 3])
    np.testing.assert_allclose(other.state.asnumpy(), X * [1, 2, 3] * 1.5)


def test_items_of_iterators():
    """Where the code says what is set, an item is taken once; where it does not, that is an error."""

    class Takes(Base):
        def construct(self, x):
            self.last = x * next(self.items)
            return self.last * 1

    class Notes(Base):
        def construct(self, x):
            y = x * next(self.items)
            Inner.note(self, y)
            return y

    takes = Takes(items=iter([2.0, 3.0]))
    assert [float(takes(Tensor(X))[0, 0]) for _ in range(2)] == [2.0, 3.0]
    with pytest.raises(graphc.TraceError, match=r"GC133.*self.seen is set inside construct, which has changed by then"):
        Notes(items=iter([2.0, 3.0]))(Tensor(X))


class Vmaps(Base):
    def construct(self, x):
        def row(each):
            self.last = each * 2
            return each.sum()

        return graphc.vmap(row)(x)


class Conditionally(Base):
    """By a Cell that a branch calls, which holds nothing on the other way."""

    def construct(self, x):
        return self.inner(x) if x.sum() > 0 else x


class Deletes(Base):
    def construct(self, x):
        del self.state
        return x


class Trains(Base):
    def construct(self, x):
        self.training = True
        return x


class Weights(Base):
    def construct(self, x):
        self.state = self.w
        return x


class Sized(Base):
    """How much is set is counted by the step."""

    def construct(self, x):
        self.state = x[x > 2]
        return self.state * 1


REFUSED = {
    "vmap": (lambda: Vmaps(), "self.last is set inside of a branch, loop or function that is traced by itself"),
    "branch": (lambda: Conditionally(inner=Inner()), "self.inner.seen is set under a condition"),
    "del": (lambda: Deletes(state=1), "self.state is deleted inside construct"),
    "mode": (lambda: Trains(), "self.training is set inside construct"),
    "Parameter": (lambda: Weights(), "self.state is set inside construct"),
    "counted": (lambda: Sized(), "self.state is set inside construct"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, message = REFUSED[name]
    cell = make()
    before = attributes(cell)
    with pytest.raises(graphc.TraceError, match=f"GC133.*{message}") as caught:
        cell(Tensor(X))
    assert caught.value.loc is not None
    assert caught.value.loc.file.endswith("test_attributes.py")
    assert_same(attributes(cell), before)


def test_buckets_refuse_it():
    with pytest.raises(graphc.TraceError, match=r"GC133.*self.last is set inside construct"):
        graphc.compile(First(), Tensor(X), buckets=(2, 4))


def test_a_called_cell_is_looked_through_once(monkeypatch):
    """Who calls it knows already what its code reads."""
    looked = []
    monkeypatch.setattr("graphc.steps.retraces.walk", lambda *args: looked.append(args))
    State(state=Tensor(ZEROS))(Tensor(X))
    assert looked == []
    graphc.compile(State(state=Tensor(ZEROS)), Tensor(X))
    assert len(looked) == 1
