"""Lists and dicts of Cells that construct puts tensors into: a compiled Cell leaves in them what it does op by op."""

import warnings
from collections import OrderedDict, defaultdict

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.steps.calls import step_of
from tests.trace.attributes import ZEROS, Base, X, assert_as_op_by_op, assert_same, attributes


class Appends(Base):
    """Never read."""

    def construct(self, x):
        y = x * self.w
        self.rows.append(y)
        self.rows.extend([y.sum(), {"y": (y, 1)}])
        self.rows += [x]
        return y


class Grows(Base):
    """Read, and longer each time."""

    def construct(self, x):
        self.rows.append(x * self.w)
        return self.rows[-1] * len(self.rows) + sum(self.rows)


class Sets(Base):
    def construct(self, x):
        self.rows[0] = self.rows[1] * 0.5 + x * self.w
        self.rows[1], self.rows[0] = self.rows[0], self.rows[1]
        return self.rows[1] * 2


class Writes(Base):
    """A tensor that a list holds."""

    def construct(self, x):
        self.rows[0][1] = x[0] * self.w
        return self.rows[0] + x


class Caches(Base):
    """There from the first call on."""

    def construct(self, x):
        y = x * self.w
        if "y" in self.held:
            y = y + self.held["y"]
        self.held["y"] = y
        return y


class Collects(Base):
    """In lists of a dict."""

    def construct(self, x):
        self.held["rows"].append(x.sum())
        self.held["last"]["x"] = x * self.w
        self.held["names"] = ("a", x[0])
        return x * len(self.held["rows"])


class Fills(Base):
    """Anew each time."""

    def construct(self, x):
        self.rows.clear()
        for k in range(3):
            self.rows.append(x * self.w * k)
        return ops.stack(self.rows).sum(0)


class Queue(Base):
    def construct(self, x):
        self.rows.append(x * self.w)
        if len(self.rows) > 2:
            self.rows.pop(0)
        return sum(self.rows)


class Chooses(Base):
    """By a value that only the run has."""

    def construct(self, x):
        if x.sum() > 21:
            self.rows[0] = self.rows[0] + x * self.w
            self.held["x"] = x
        else:
            self.held["x"] = x - 1
        return self.rows[0] + self.held["x"]


class Repeats(Base):
    def construct(self, x):
        k = 0
        while k < x[0, 0]:
            self.rows[0] = self.rows[0] + x * self.w
            k += 1
        return self.rows[0] * 1


class Appended(Base):
    def construct(self, x):
        if x.sum() > 21:
            self.rows.append(x * self.w)
        else:
            self.rows.append(x - 1)
        return x * 1


class Queues(Base):
    """In a Cell that a branch calls."""

    def construct(self, x):
        self.rows.append(x * self.w)
        return x + self.rows.pop(0)


class Way(Base):
    def construct(self, x):
        return self.inner(x) if x.sum() > 21 else x * 3


class Entries(Base):
    def construct(self, x):
        if x.sum() > 21:
            self.held["y"] = x * self.w
        else:
            self.held["y"] = x - 1
        return self.held["y"] + 1


class Notes(Base):
    """By methods that construct calls, and of another cell's."""

    def note(self, name, x):
        self.held.setdefault(name, []).append(x)
        return len(self.held[name])

    def construct(self, x):
        y = x * self.w
        n = self.note("y", y)
        self.note("x", x)
        return y * n


class Layer(Base):
    def construct(self, x):
        y = x * self.w
        self.store.append(y)
        return y


class Shares(Base):
    """One list in several cells."""

    def construct(self, x):
        for cell in self.cells:
            x = cell(x)
        return x + self.store[-1] * 0.5


class Keeps(Base):
    """A list that goes from one attribute to another."""

    def construct(self, x):
        self.held["rows"][0] = x * self.w
        self.held = {"rows": self.held["rows"], "more": [x]}
        return self.held["rows"][0] * 1


def sharing():
    store = []
    layers = nn.CellList([Layer(store=store), Layer(store=store)])
    return Shares(store=store, layers=layers, cells=list(layers))


def zeros():
    return [Tensor(ZEROS), Tensor(ZEROS + 1)]


CELLS = {
    "on both ways": lambda: Appended(rows=[Tensor(ZEROS)]),
    "entries on both ways": lambda: Entries(held={}),
    "on one way, as many": lambda: Way(inner=Queues(rows=[Tensor(ZEROS), Tensor(ZEROS + 1)])),
    "appends": lambda: Appends(rows=[]),
    "appends to others": lambda: Appends(rows=[1, "a", Tensor(ZEROS)]),
    "grows": lambda: Grows(rows=[]),
    "sets": lambda: Sets(rows=zeros()),
    "writes": lambda: Writes(rows=zeros()),
    "caches": lambda: Caches(held={}),
    "caches in order": lambda: Caches(held=OrderedDict()),
    "collects": lambda: Collects(held={"rows": [], "last": {}}),
    "fills": lambda: Fills(rows=[]),
    "queue": lambda: Queue(rows=[]),
    "chooses": lambda: Chooses(rows=zeros(), held={"x": Tensor(ZEROS)}),
    "repeats": lambda: Repeats(rows=zeros()),
    "notes": lambda: Notes(held={}),
    "notes by default": lambda: Notes(held=defaultdict(list)),
    "inside": lambda: nn.SequentialCell(Layer(store=[]), Caches(held={})),
    "shares": sharing,
    "keeps": lambda: Keeps(held={"rows": zeros()}),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.filterwarnings(
    "error::graphc.GraphcWarning", "ignore::graphc.RecompileWarning", "ignore::graphc.UntrainedWarning"
)
def test_as_op_by_op(name, mode_again):
    """In between a user changes what is held."""

    def between(turn, cell):
        if turn == 3:
            for held in (getattr(cell, n, None) for n in ("rows", "held", "store")):
                if isinstance(held, list) and held and isinstance(held[0], Tensor):
                    held[0] = Tensor(ZEROS + 5)
                elif isinstance(held, dict) and "y" in held:
                    del held["y"]

    assert_as_op_by_op(CELLS[name], between)


@pytest.mark.parametrize(
    "name", ["appends", "sets", "writes", "chooses", "repeats", "caches", "fills", "queue", "keeps"]
)
def test_one_step_serves_all_calls(name):
    """Where what is held is of one kind, and where it is only appended to."""
    cell = CELLS[name]()
    for _ in range(3):
        cell(Tensor(X))
    step = step_of(cell, (Tensor(X),))
    for _ in range(3):
        cell(Tensor(X))
    assert step_of(cell, (Tensor(X),)) is step
    if name == "appends":
        assert len(cell.rows) == 6 * 4


def test_what_grows_is_said():
    cell = Grows(rows=[])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            cell(Tensor(X))
    assert len([w for w in caught if issubclass(w.category, graphc.RecompileWarning)]) == 1


def test_who_else_holds_it_sees_it():
    """Containers stay the objects that they are, and so do tensors that a step leaves where they were."""
    cell = Sets(rows=zeros())
    rows = cell.rows
    cell(Tensor(X))
    assert cell.rows is rows
    cell = Collects(held={"rows": [], "last": {}, "names": ()})
    held, parts = cell.held, [cell.held["rows"], cell.held["last"]]
    first = Tensor(X)
    parts[0].append(first)
    for _ in range(3):
        cell(Tensor(X))
    assert cell.held is held
    assert cell.held["rows"] is parts[0]
    assert cell.held["last"] is parts[1]
    assert len(parts[0]) == 4
    assert parts[0][0] is first
    writes = Writes(rows=zeros())
    one, other = writes.rows
    writes(Tensor(X))
    assert writes.rows[0] is one
    assert writes.rows[1] is other
    assert one.asnumpy()[1].tolist() == [1, 4, 9]
    shares = sharing()
    store = shares.store
    shares(Tensor(X))
    assert all(cell.store is store for cell in shares.cells)
    assert len(store) == 2


def test_who_reads_it_elsewhere_sees_it():
    cell = Sets(rows=zeros())
    reads = graphc.jit(lambda x: x + cell.rows[1])
    for _ in range(3):
        np.testing.assert_array_equal(reads(Tensor(X)).asnumpy(), X + cell.rows[1].asnumpy())
        cell(Tensor(X))


def test_a_value_of_another_kind():
    """Past the Cell, as by the list itself: another step is compiled."""
    cell = Sets(rows=zeros())
    cell(Tensor(X))
    cell(Tensor(X))
    cell.rows[:] = [Tensor(ZEROS[:1]), Tensor(ZEROS[:1])]
    np.testing.assert_allclose(cell(Tensor(X)).asnumpy(), X * [1, 2, 3] * 2)


def test_steps_that_are_compiled_for_good():
    cell = Appends(rows=[])
    step = graphc.compile(cell, Tensor(X))
    assert cell.rows == []
    for _ in range(3):
        step(Tensor(X))
    assert len(cell.rows) == 12
    cell.rows = None
    with pytest.raises(graphc.SignatureError, match=r"self.rows holds something else than this step was compiled for"):
        step(Tensor(X))
    with pytest.raises(graphc.TraceError, match=r"GC133.*self.rows holds something else after each run"):
        graphc.compile(Grows(rows=[]), Tensor(X))
    with pytest.raises(graphc.ExportError, match=r"GC193.*the step sets self.rows"):
        graphc.compile(Appends(rows=[]), Tensor(X)).export("step.onnx")


@pytest.mark.parametrize("sink", [False, True])
def test_models(sink):
    """In loops that do not come back to Python, too."""

    class Net(Base):
        def construct(self, x):
            y = (x * self.w).sum(-1, keepdims=True)
            self.rows.append(y.sum())
            self.held["sum"] = self.held["sum"] + x.sum()
            return y

    net = Net(rows=[], held={"sum": Tensor(0.0)})
    model = graphc.train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.001))
    rows = [(X[k % 2] * (k + 1), np.ones(1, np.float32)) for k in range(8)]
    data = graphc.dataset.GeneratorDataset(rows, ["x", "y"], shuffle=False).batch(2)
    model.train(2, data, dataset_sink_mode=sink)
    assert len(net.rows) == 8
    assert len({float(x) for x in net.rows}) == 8
    assert float(net.held["sum"]) == 2 * sum(float(x.sum()) for x, _ in rows)


def test_what_fails_leaves_everything():
    class Fails(Base):
        def construct(self, x):
            self.rows.append(x)
            self.held["x"] = x * self.rows[0]
            return self.fails(x) if self.late else x

        def fails(self, x):
            return x.reshape(7)

    cell = Fails(rows=zeros(), held={}, late=False)
    cell(Tensor(X))
    before = attributes(cell)
    cell.late = True
    with pytest.raises(graphc.ShapeError):
        cell(Tensor(X))
    assert_same(attributes(cell), {**before, ".late": True})


class Holder:
    pass


class InObject(Base):
    def construct(self, x):
        self.rows[0].x = x
        return x


class InSet(Base):
    def construct(self, x):
        self.rows[0].add(x)
        return x


class Vmaps(Base):
    def construct(self, x):
        def row(each):
            self.rows.append(each * 2)
            return each.sum()

        return graphc.vmap(row)(x)


class Rows(Base):
    def construct(self, x):
        if x.sum() > 21:
            self.rows[0].append(x)
        else:
            self.rows[0].append(x * 2)
        return x


class Loops(Base):
    def construct(self, x):
        while x.sum() < 100:
            x = x + self.inner(x)
        return x


class Uneven(Base):
    def construct(self, x):
        if x.sum() > 0:
            self.rows.append(x)
        return x


REFUSED = {
    "object": (lambda: InObject(rows=[Holder()]), r"GC133.*self.rows\[0\].x is given a tensor"),
    "set": (lambda: InSet(rows=[set()]), r"GC133.*self.rows\[0\] is given a tensor"),
    "vmap": (lambda: Vmaps(rows=[]), r"self.rows"),
    "on one way": (
        lambda: Uneven(rows=[]),
        "GC122.*self.rows' is a list of 1 if the condition holds and a list of 0 if not",
    ),
    "in a list, on both ways": (
        lambda: Rows(rows=[[]]),
        r"GC124.*self.rows\[0\] is changed in place under a condition",
    ),
    "in a loop": (
        lambda: Loops(rows=[], inner=Queues(rows=[Tensor(ZEROS)])),
        "GC124.*self.inner.rows is changed in place under a cond",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, message = REFUSED[name]
    cell = make()
    with pytest.raises(graphc.GraphcError, match=message) as caught:
        cell(Tensor(X))
    assert caught.value.loc is not None
    assert caught.value.loc.file.endswith("test_attributes_in_place.py")
    assert not any(isinstance(x, Tensor) for x in cell.rows)
