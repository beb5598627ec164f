"""Indices and labels out of range: an IndexError with the user's line, and nothing of the run is done."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, mint, nn, ops
from graphc.debug import debug
from tests.cells import Of

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)
ONES = np.ones((2, 3), np.float32)
FAIR = Tensor(np.zeros((2, 4), np.float32))


def rows(index):
    """An index of elements beside one of rows."""
    return ops.stack((index, index, index), 1)


def write(table, index):
    table = table + 0
    table[index] = 1.0
    return table


#: What reads or writes at indices [2] of a table with 4 rows; negative ones count from the end.
PLACES = {
    "gather": lambda t, i: ops.gather(t, i, 0),
    "Embedding": lambda t, i: nn.Embedding(4, 3, embedding_table=Tensor(TABLE))(i),
    "embedding": lambda t, i: mint.nn.functional.embedding(i, t),
    "index_select": lambda t, i: ops.index_select(t, 0, i),
    "x[...]": lambda t, i: t[i],
    "x[...], other axes": lambda t, i: t[:, 0][i],
    "x[...], rows of several": lambda t, i: t.reshape(2, 2, 3)[ops.clamp(i, -1, 1), i],
    "gather_nd": lambda t, i: ops.gather_nd(t, ops.expand_dims(i, 1)),
    "gather_elements": lambda t, i: ops.gather_elements(t, 0, rows(i)),
    "tensor_scatter": lambda t, i: ops.tensor_scatter_add(t, ops.expand_dims(i, 1), Tensor(ONES)),
    "scatter_nd": lambda t, i: ops.scatter_nd(ops.expand_dims(i, 1), Tensor(ONES), (4, 3)),
    "index_add": lambda t, i: ops.index_add(t, i, Tensor(ONES), 0),
    "index_fill": lambda t, i: ops.index_fill(t, 0, i, 2.0),
    "x[...], written": write,
}
#: What picks labels [2] of 4 classes.
LABELS = {
    "cross_entropy": lambda i: ops.cross_entropy(FAIR, i),
    "nll_loss, of cross_entropy": lambda i: ops.cross_entropy(FAIR, i, label_smoothing=0.1),
    "nll_loss": lambda i: ops.nll_loss(ops.log_softmax(FAIR), i),
    "multi_margin_loss": lambda i: ops.multi_margin_loss(FAIR, i, weight=Tensor(np.ones(4, np.float32))),
    "cross entropy": lambda i: nn.SoftmaxCrossEntropyWithLogits(sparse=True)(FAIR, i),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_places(name, compiled):
    function = Of(PLACES[name]) if compiled else PLACES[name]
    size = 2 if "several" in name else 4
    for dtype in (np.int32, np.int64):
        good = np.array([1, -1], dtype)
        function(Tensor(TABLE), Tensor(good))
        for wrong in (size, -size - 1):
            said = f"{'' if '[' in name else name}.*index {wrong} is out of range for a size of {size}"
            with pytest.raises(IndexError, match=said) as caught:
                function(Tensor(TABLE), Tensor(np.array([1, wrong], dtype)))
            assert "test_out_of_range.py" in str(caught.value)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LABELS)
def test_labels(name, compiled):
    function = Of(LABELS[name]) if compiled else LABELS[name]
    function(Tensor(np.array([0, 3], np.int32)))
    for wrong in (4, -1):
        with pytest.raises(IndexError, match=f"{name.split(',')[0]}: label {wrong} is out of range for 4 classes"):
            function(Tensor(np.array([0, wrong], np.int32)))
    if name not in ("cross entropy", "multi_margin_loss"):
        assert float(function(Tensor(np.array([0, -100], np.int32)))) == pytest.approx(np.log(4))


class Words(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.out = nn.Embedding(10, 8), nn.BatchNorm1d(8), nn.Dense(8, 5)
        self.dropout = nn.Dropout(p=0.3)

    def construct(self, x):
        return self.out(self.dropout(self.norm(self.table(x).mean(1))))


def training():
    graphc.set_seed(1)
    network = Words()
    optimizer = nn.AdamWeightDecay(network.trainable_params(), 0.01)
    cell = nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer).set_train()
    rng = np.random.default_rng(0)
    return cell, rng.integers(0, 10, (3, 6)).astype(np.int32), rng.integers(0, 5, 3).astype(np.int32)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_that_has_changed_nothing(threads):
    """Neither weights nor the optimizer's state; later steps go on."""
    with debug(threads=threads):
        cell, x, y = training()
        step = graphc.compile(cell, Tensor(x), Tensor(y))
        for _ in range(2):
            assert np.isfinite(step(Tensor(x), Tensor(y)).asnumpy())
            for wrong in ((x + 5, y), (x, y - 5), (x - 11, y + 9)):
                before = {p.name: p.asnumpy().copy() for p in cell.get_parameters()}
                with pytest.raises(IndexError, match="out of range"):
                    step(*map(Tensor, wrong))
                for p in cell.get_parameters():
                    if "moving" not in p.name:  # The norm stands in front of what looks at the labels.
                        np.testing.assert_array_equal(p.asnumpy(), before[p.name], err_msg=p.name)


def test_a_queue_ends_in_front_of_it():
    (cell, x, y), (other, _, _) = training(), training()
    step, same = graphc.compile(cell, Tensor(x), Tensor(y)), graphc.compile(other, Tensor(x), Tensor(y))
    with pytest.raises(IndexError, match=r"Embedding: index 1. is out of range"):
        step.run_many([np.stack([x, x, x + 10, x]), np.stack([y] * 4)])
    for _ in range(2):
        same(Tensor(x), Tensor(y))
    for p, q in zip(cell.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_array_equal(p.asnumpy(), q.asnumpy(), err_msg=p.name)


def test_the_entry_says_so():
    cell, x, y = training()
    entry = graphc.compile(cell, Tensor(x), Tensor(y)).entry
    told = []
    for indices in (x, x + 10, x):
        entry.inputs[0][...], entry.inputs[1][...] = indices, y
        told.append(entry.call(entry.context))
    assert told == [0, 1, 0]


def test_in_places_that_are_not_reached():
    """A branch that is not taken, alone and where vmap runs both, a loop that vmap goes on with for others, a loop of no turn."""

    def chosen(x, i):
        return x[i] if i < 4 else x[0] * 0.0 - 1.0

    def walked(x, i):
        total = x[0] * 0.0
        while i < 4:
            total = total + x[i]
            i = i + 1
        return total

    x = Tensor(np.arange(4, dtype=np.float32))
    numbers = Tensor(np.array([1, 9, 3], np.int32))
    for function, wanted in ((chosen, [1.0, -1.0, 3.0]), (walked, [6.0, 0.0, 3.0])):
        cell = Of(function)
        np.testing.assert_array_equal([float(cell(x, n)) for n in numbers], wanted)
        np.testing.assert_array_equal(Of(ops.vmap(function, (None, 0)))(x, numbers).asnumpy(), wanted)


def test_vmap_finds_it():
    cell = Of(ops.vmap(lambda i: ops.gather(Tensor(TABLE), i, 0)))
    assert cell(Tensor(np.array([[0, 3], [-1, 2]], np.int32))).shape == (2, 2, 3)
    with pytest.raises(IndexError, match="gather: index 4 is out of range"):
        cell(Tensor(np.array([[0, 3], [4, 2]], np.int32)))


class Lengths(nn.Cell):
    """Tokens of the vocabulary, words of a text by their places from its end, and labels from 1 on."""

    def __init__(self):
        super().__init__()
        self.table = Parameter(Tensor(TABLE), name="table")

    def construct(self, x, labels):
        text = ops.gather(self.table, x, 0)
        last = ops.gather(text, Tensor(np.array([-1, 1], np.int32)), 0)
        return ops.cross_entropy(text, labels - 1), last


def test_buckets():
    """Padding is no index out of range, and what lies behind the real end is."""
    step = graphc.compile(
        Lengths(),
        Tensor(np.zeros(5, np.int32)),
        Tensor(np.ones(5, np.int32)),
        buckets={"x": {0: (4, 8)}, "labels": {0: (4, 8)}},
    )
    for n in (2, 3, 4, 6, 8):
        x = np.arange(n, dtype=np.int32) % 4
        loss, last = step(Tensor(x), Tensor(x % 3 + 1))
        want, rows = Lengths()(Tensor(x), Tensor(x % 3 + 1))
        np.testing.assert_allclose(loss.asnumpy(), want.asnumpy(), rtol=1e-6)
        np.testing.assert_array_equal(last.asnumpy(), rows.asnumpy())
        with pytest.raises(IndexError, match="label -1 is out of range for 3 classes"):
            step(Tensor(x), Tensor(x % 3 * 0))
    with pytest.raises(IndexError, match="index 1 is out of range for a size of 1"):
        step(Tensor(np.zeros(1, np.int32)), Tensor(np.ones(1, np.int32)))


def test_a_kind_of_integers_that_kernels_do_not_know():
    index = Tensor(np.array([1, 200], np.uint8))
    for function in (PLACES["gather"], Of(PLACES["gather"])):
        with pytest.raises(IndexError, match="gather: index 200 is out of range for a size of 4"):
            function(Tensor(TABLE), index)


def test_checked_mode_and_interpreter():
    cell = Of(PLACES["gather"])
    with debug(jit=False), pytest.raises(IndexError, match="gather: index 7 is out of range"):
        cell(Tensor(TABLE), Tensor(np.array([0, 7], np.int32)))


def test_onnx(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    cell = Of(lambda t, i, y: (ops.gather(t, i, 0), ops.cross_entropy(t[:2], y)))
    given = [TABLE, np.array([1, -1], np.int32), np.array([0, 2], np.int32)]
    file = tmp_path / "rows.onnx"
    graphc.export(cell, *map(Tensor, given), file_name=str(file), file_format="ONNX")
    session = onnxruntime.InferenceSession(str(file))
    names = [i.name for i in session.get_inputs()]
    for wanted, made in zip(
        cell(*map(Tensor, given)), session.run(None, dict(zip(names, given, strict=True))), strict=True
    ):
        np.testing.assert_allclose(made, wanted.asnumpy(), rtol=1e-6)
    for k, wrong in ((1, 4), (1, -5), (2, 3), (2, -1)):
        bad = [*given[:k], np.array([0, wrong], np.int32), *given[k + 1 :]]
        with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match="out of data bounds"):
            session.run(None, dict(zip(names, bad, strict=True)))
