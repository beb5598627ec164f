"""Gradients that are rows of a table: what makes them, what they are for everybody else, optimizers that move rows alone."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import GraphcError, Parameter, Tensor, nn, ops
from graphc.ir.types import TensorType
from graphc.ops.functional.table_rows import merged_rows
from graphc.ops.tensor.row_tensor import RowTensor

TABLE = np.arange(24).reshape(8, 3).astype(np.float32) / 10
SIDES = np.linspace(0.5, 1.5, 12).reshape(4, 3).astype(np.float32)
FIRST, SECOND = np.array([1, 3, 5, 6], np.int32), np.array([0, 3, 7, 6], np.int32)
#: Indices that stand twice, and two out of range.
REPEATED = np.array([3, 6, 3, 3], np.int32), np.array([-1, 6, 8, 6], np.int32)


class Net(nn.Cell):
    def __init__(self, sparse=True):
        super().__init__()
        self.table = nn.EmbeddingLookup(8, 3, param_init=Tensor(TABLE), sparse=sparse, target="DEVICE")

    def construct(self, ids, sides):
        return ops.reduce_sum(ops.square(self.table(ids) * sides))


def adam(w, m, v, g, t, rate):
    m[:], v[:] = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    w -= rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)


def expected(steps, rate=0.1, decay=0.0):
    """LazyAdam in float64: of each step only the rows in range that it names move."""
    w = TABLE.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, ids in enumerate(steps, 1):
        g = np.zeros_like(w)
        inside = (ids >= 0) & (ids < 8)
        np.add.at(g, ids[inside], 2 * w[ids[inside]] * SIDES[inside].astype(np.float64) ** 2)
        rows = np.unique(ids[inside])
        part = [x[rows] for x in (w, m, v)]
        adam(*part, g[rows] + decay * w[rows], t, rate)
        w[rows], m[rows], v[rows] = part
    return w


def train(make, steps, cell=nn.TrainOneStepCell, *args):
    net = Net()
    step = cell(net, make(net.trainable_params()), *args)
    for ids in steps:
        step(Tensor(ids), Tensor(SIDES))
    return net.table.embedding_table.asnumpy()


@pytest.fixture(params=["compiled", "eager"], autouse=True)
def mode(request):
    graphc.set_context(mode=graphc.PYNATIVE_MODE if request.param == "eager" else graphc.GRAPH_MODE)
    yield request.param
    graphc.set_context(mode=graphc.GRAPH_MODE)


# ---- optimizers


@pytest.mark.parametrize("steps", [(FIRST, SECOND), REPEATED, (FIRST, FIRST, REPEATED[0])])
@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_lazy_adam_moves_the_rows_that_are_used(steps, decay):
    made = train(lambda p: nn.LazyAdam(p, 0.1, weight_decay=decay), steps)
    np.testing.assert_allclose(made, expected(steps, decay=decay), rtol=1e-5, atol=1e-6)
    lazy = train(lambda p: nn.Adam(p, 0.1, weight_decay=decay, use_lazy=True), steps)
    np.testing.assert_array_equal(lazy, made)


def test_rows_as_mindspore_moves_them():
    """MindSpore 2.10 on a CPU, graph mode, of rows that are named once: its kernels do not add up what is named twice."""
    ftrl = train(lambda p: nn.FTRL(p, learning_rate=0.1, l1=0.01), (np.array([1, 3, 3, 6]), np.array([0, 3, 6, 6])))
    np.testing.assert_allclose(ftrl[0], [0.0, -0.01612, -0.02037], atol=1e-5)
    np.testing.assert_allclose(ftrl[1], [-0.01105, 0.03164, 0.13431], atol=1e-5)
    np.testing.assert_array_equal(ftrl[[2, 4, 5, 7]], TABLE[[2, 4, 5, 7]])
    adam = train(lambda p: nn.LazyAdam(p, 0.1), (np.array([1, 3, 3, 6]), np.array([0, 3, 6, 6])))
    np.testing.assert_allclose(adam[0], [0.0, 0.02559, 0.12559], atol=1e-5)
    np.testing.assert_allclose(adam[1], [0.2, 0.3, 0.4], atol=1e-6)


def test_other_optimizers_take_the_whole_tensor():
    for make in (
        lambda p: nn.Adam(p, 0.1),
        lambda p: nn.Momentum(p, 0.1, 0.9),
        lambda p: nn.SGD(p, 0.1),
        lambda p: nn.SGD(p, 0.1, 0.5),
        lambda p: nn.RMSProp(p, 0.1),
    ):
        net = Net(sparse=False)
        step = nn.TrainOneStepCell(net, make(net.trainable_params()))
        for ids in REPEATED:
            step(Tensor(ids), Tensor(SIDES))
        np.testing.assert_allclose(train(make, REPEATED), net.table.embedding_table.asnumpy(), rtol=2e-6, atol=1e-6)


def test_untouched_rows_of_ftrl_and_proximal_adagrad_stay():
    for make in (lambda p: nn.FTRL(p, l1=0.1, l2=0.1), lambda p: nn.ProximalAdagrad(p, l1=0.1, l2=0.1)):
        made = train(make, REPEATED)
        np.testing.assert_array_equal(made[[0, 1, 2, 4, 5, 7]], TABLE[[0, 1, 2, 4, 5, 7]])
        assert (made[[3, 6]] != TABLE[[3, 6]]).all()


# ---- loss scaling


def test_a_scaled_step_is_the_plain_one_and_a_bad_row_skips_it():
    lazy = lambda p: nn.LazyAdam(p, 0.1)  # noqa: E731
    scaled = train(lazy, REPEATED, nn.TrainOneStepWithLossScaleCell, Tensor(1024.0))
    np.testing.assert_allclose(scaled, train(lazy, REPEATED), rtol=1e-6)
    net = Net()
    step = nn.TrainOneStepWithLossScaleCell(
        net, lazy(net.trainable_params()), nn.DynamicLossScaleUpdateCell(4.0, 2, 10)
    )
    assert bool(step(Tensor(FIRST), Tensor(np.where(SIDES > 1.4, np.inf, SIDES).astype(np.float32)))[1])
    np.testing.assert_array_equal(net.table.embedding_table.asnumpy(), TABLE)
    assert float(step(Tensor(FIRST), Tensor(SIDES))[2]) == 2.0
    assert (net.table.embedding_table.asnumpy()[FIRST] != TABLE[FIRST]).any()


# ---- what a gradient is


def gradient(net, *args):
    return ops.GradOperation(get_by_list=True)(net, net.trainable_params())(*args)


def test_the_gradient_is_rows_only_where_nothing_else_reads_the_table():
    class Tied(Net):
        def construct(self, ids, sides):
            return ops.reduce_sum(ops.matmul(self.table(ids) * sides, self.table.embedding_table.T))

    class Twice(Net):
        def construct(self, ids, sides):
            return ops.reduce_sum(self.table(ids) * sides) + ops.reduce_sum(self.table(ops.cast(ids + 1, "int64")))

    ids, sides = Tensor(FIRST), Tensor(SIDES)
    for cell, rows in ((Net(), True), (Net(sparse=False), False), (Tied(), False), (Twice(), True)):
        (made,) = gradient(cell, ids, sides)
        assert isinstance(made, RowTensor) is rows
        assert made.shape == (8, 3)
        dense = Tensor(made.asnumpy())
        cell.table.sparse = False
        np.testing.assert_allclose(dense.asnumpy(), gradient(cell, ids, sides)[0].asnumpy(), rtol=1e-6)


def test_everything_else_takes_rows_as_the_tensor_that_they_are():
    index = np.array([3, 8, 3, -1], np.int32)
    rows = RowTensor(Tensor(index), Tensor(SIDES), (8, 3))
    whole = np.zeros((8, 3), np.float32)
    np.add.at(whole, index[[0, 2]], SIDES[[0, 2]])
    assert (rows.tensor_type, rows.shape, rows.dtype) == (TensorType("float32", (8, 3)), (8, 3), graphc.float32)
    functions = [
        lambda x: x,
        lambda x: x + 1.0,
        lambda x: x * 2.0,
        lambda x: 0.5 * x,
        lambda x: x / Tensor([4.0]),
        lambda x: x * Tensor(whole),
        lambda x: -x,
        lambda x: ops.cast(x, "float16"),
        lambda x: ops.square(x),
        lambda x: ops.reduce_sum(ops.square(x)),
        lambda x: ops.reduce_sum(x, 1),
        lambda x: ops.reduce_sum(x, 0, keep_dims=True),
        lambda x: ops.cast(x, "bool").any(1),
        lambda x: ops.vmap(lambda row: row * 2.0)(x),
        lambda x: x[3],
        lambda x: ops.concat((x, x)),
        lambda x: ops.all_finite((x,)),
    ]
    for function in functions:
        for given in (rows, merged_rows(rows)):
            want = function(Tensor(whole)).asnumpy()
            for run in (function, graphc.jit(lambda x, f=function: f(x))):
                np.testing.assert_allclose(run(given).asnumpy(), want, rtol=1e-6)


def test_what_is_written_into_the_parts_is_seen_and_the_whole_is_not_written():
    values = Parameter(Tensor(SIDES), name="values")
    rows, held = (RowTensor(Tensor(FIRST), x, (8, 3)) for x in (Tensor(SIDES), values))
    assert rows.asnumpy()[1, 0] == held.asnumpy()[1, 0] == np.float32(0.5)
    rows.values[0] = 7.0
    values.set_data(Tensor(SIDES + 1))
    assert (rows.asnumpy()[1, 0], held.asnumpy()[1, 0]) == (7.0, 1.5)
    for write in (lambda x: x.add_(1.0), lambda x: x.__setitem__(0, 5.0)):
        with pytest.raises(GraphcError, match="a RowTensor cannot be changed in place"):
            write(rows)


def test_rows_that_were_read_before_the_call_are_no_part_of_its_gradient():
    class Outside(Net):
        def inner(self, given, ids):
            return ops.reduce_sum(given * ops.square(self.table(ids)))

        def construct(self, ids, later):
            for_given, for_table = ops.grad(self.inner, 0, (self.table.embedding_table,))(self.table(ids), later)
            return for_given, for_table[0]

    made, want = (Outside(sparse)(Tensor(FIRST), Tensor(SECOND)) for sparse in (True, False))
    assert isinstance(made[1], RowTensor)
    assert sorted(i for i in made[1].indices.asnumpy().tolist() if i < 8) == sorted(SECOND.tolist())
    for a, b in zip(made, want, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


def test_a_gradient_for_each_index_is_whole():
    def run(sparse):
        net = Net(sparse)
        one = lambda ids: gradient(net, ids, Tensor(SIDES[:2]))[0]  # noqa: E731
        return ops.vmap(one)(Tensor(FIRST.reshape(2, 2))).asnumpy()

    np.testing.assert_allclose(run(True), run(False), rtol=1e-6)


def test_functions_for_rows_are_found_before_those_for_tensors():
    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Tensor", "Tensor")
    def _whole(factor, x):
        return x * factor

    only_tensors = ops.HyperMap()(ops.partial(scale, Tensor(2.0)), gradient(Net(), Tensor(FIRST), Tensor(SIDES)))

    @scale.register("Tensor", "RowTensor")
    def _rows(factor, x):
        return RowTensor(x.indices, x.values * (2 * factor), x.dense_shape)

    rows = ops.HyperMap()(ops.partial(scale, Tensor(2.0)), gradient(Net(), Tensor(FIRST), Tensor(SIDES)))
    np.testing.assert_allclose(rows[0].asnumpy(), 2 * only_tensors[0].asnumpy())


def test_rows_are_made_of_parts_by_name_or_of_other_rows():
    rows = RowTensor(indices=Tensor(FIRST), values=Tensor(SIDES), shape=(8, 3))
    again = RowTensor(row_tensor=rows)
    assert again.dense_shape == (8, 3)
    assert again.indices is rows.indices
    assert again.values is rows.values
    with pytest.raises(GraphcError, match="without other parts"):
        RowTensor(Tensor(FIRST), row_tensor=rows)
    with pytest.raises(GraphcError, match="row_tensor must be a RowTensor"):
        RowTensor(row_tensor=Tensor(SIDES))


def test_rows_that_do_not_fit_are_refused():
    ids = Tensor(FIRST)
    for parts in (
        (ids, Tensor(SIDES), [8, 4]),
        (ids, Tensor(SIDES[:3]), (8, 3)),
        (Tensor(SIDES), Tensor(SIDES), (8, 3)),
        (ids, Tensor(SIDES), "88"),
        (ids, Tensor(SIDES), ()),
        ("ids", Tensor(SIDES), (8, 3)),
    ):
        with pytest.raises(GraphcError):
            RowTensor(*parts)


# ---- what a step reads and writes


def test_no_memory_of_the_table_is_made(mode):
    if mode == "eager":
        pytest.skip("eager steps have no plan of their memory")
    for cell, args in ((nn.TrainOneStepCell, ()), (nn.TrainOneStepWithLossScaleCell, (Tensor(2.0),))):
        net = Net()
        net.table.embedding_table = Parameter(Tensor(np.ones((5000, 3), np.float32)), name="table")
        step = graphc.compile(cell(net, nn.LazyAdam(net.trainable_params()), *args), Tensor(FIRST), Tensor(SIDES))
        big = [b for b in step.record().buffers if b.bytes >= 5000 * 3 * 4]
        assert {b.space for b in big} == {"param"}
