"""Copies of parameters, what MindSpore keeps beside their data, and the primitives of fused optimizer rules."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import graphc
from graphc import Parameter, ParameterTuple, Tensor, nn, ops


def test_a_deep_copy_has_its_own_data_and_the_same_name():
    p = Parameter(Tensor([1.0, 2.0]), name="w", requires_grad=False)
    q = copy.deepcopy(p)
    assert (q.name, q.requires_grad, q.storage.ctypes.data % 64) == ("w", False, 0)
    p.set_data(Tensor([3.0, 4.0]))
    np.testing.assert_array_equal(q.asnumpy(), [1, 2])


def test_a_copy_is_a_parameter_of_the_same_name():
    p = Parameter(Tensor([1.0, 2.0]), name="w", requires_grad=False)
    q = p.copy()
    p.set_data(Tensor([3.0, 4.0]))
    assert isinstance(q, Parameter)
    assert (q.name, q.requires_grad, q.asnumpy().tolist()) == ("w", False, [1, 2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("one", [0, 1, -0.0])
def test_a_number_that_is_repeated_gets_memory_of_its_own(one, dtype):
    array = np.broadcast_to(np.asarray(one, dtype), (3, 5))
    p, q = Parameter(array), Parameter(array)
    assert p.storage.tobytes() == np.ascontiguousarray(array).tobytes()
    assert p.storage.ctypes.data % 64 == 0
    p.storage[...] = 1
    assert np.array_equal(q.asnumpy(), array)


@pytest.mark.filterwarnings("error")
def test_what_a_dtype_lacks_is_infinite_without_a_word():
    half = Parameter(Tensor([1.0], graphc.float16), name="w")
    half.set_data(Tensor([1e10]))
    made = (half, Tensor(-1e10, graphc.float16), Tensor([1e40]), Tensor(np.array([1e300]), graphc.float32))
    assert [float(t.asnumpy().item()) for t in made] == [np.inf, -np.inf, np.inf, np.inf]


def test_data_that_are_set_are_copied():
    array = np.ones(4, np.float32)
    p, t = Parameter(array), Tensor(array)
    p.set_data(t)
    array[0], t.array[1] = 5, 6
    assert p.asnumpy().tolist() == [1, 1, 1, 1]
    assert Tensor(array, graphc.float32).asnumpy() is not array
    p.set_data(p[::-1])
    assert p.asnumpy().tolist() == [1, 1, 1, 1]


def test_a_parameter_and_its_copy_in_one_step():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rate = Parameter(Tensor(0.5), name="rate")
            self.kept, self.other = copy.deepcopy(self.rate), copy.deepcopy(self.rate)

        def construct(self, x):
            ops.assign(self.rate, self.rate + x)
            return self.rate, self.kept, self.other

    net = Net()
    assert [float(x) for x in net(Tensor(1.0))] == [1.5, 0.5, 0.5]
    names = [n.name for n in graphc.compile(net, Tensor(1.0)).graph if n.op.name == "Param"]
    assert len(set(names)) == 3
    assert "rate" in names


class Copying(nn.Cell):
    """Adds x to w; returns what a copy of w, made before, holds."""

    def __init__(self, way):
        super().__init__()
        self.w, self.way = Parameter(Tensor([1.0, 2.0]), name="w"), way

    def construct(self, x):
        before = self.way(self.w)
        self.w += x
        return self.w - before, before


@pytest.mark.filterwarnings("ignore:.*GC155")
@pytest.mark.parametrize(
    ("way", "trained"),
    [
        (lambda p: p.copy(), True),
        (lambda p: p.clone(), True),
        (copy.copy, False),
        (copy.deepcopy, False),
        (lambda p: copy.deepcopy({"of": [p]})["of"][0], False),
        (lambda p: p.__deepcopy__(memodict={}), False),
    ],
)
def test_a_copy_in_construct_holds_what_the_parameter_held_there_at_each_step(way, trained):
    net = Copying(way)
    for held in ([1, 2], [4, 6], [7, 10]):
        difference, before = net(Tensor([3.0, 4.0]))
        np.testing.assert_array_equal(before.asnumpy(), held)
        np.testing.assert_array_equal(difference.asnumpy(), [3, 4])
    grads = graphc.grad(lambda x: net(x)[1], None, net.trainable_params())(Tensor([3.0, 4.0]))
    assert grads[0].asnumpy().tolist() == [float(trained)] * 2


def test_data_are_a_tensor_that_shares_the_memory_of_the_parameter():
    p = Parameter(Tensor([1.0, 2.0]), name="w")
    data = p.data
    assert (type(data), str(data)) == (Tensor, "[1. 2.]")
    data[0] = 5
    assert p.asnumpy().tolist() == [5, 2]
    p.set_data(Tensor([7.0, 8.0]))
    assert data.asnumpy().tolist() == [7, 8]
    ops.assign(p.data, Tensor([3.0, 4.0]))
    p.data += 1
    assert p.asnumpy().tolist() == [4, 5]
    p.data = Tensor([0.0, 1.0])
    assert p.asnumpy().tolist() == [0, 1]


def write_in_place(net, x):
    net.w.data.add_(x)


def write_an_element(net, x):
    net.w.data[0] = x[1]


def assign_data(net, x):
    ops.assign(net.w.data, x)


def set_them(net, x):
    net.w.data = net.w.data * 2 + x


def scale_twice(net, x):
    for _ in range(2):
        net.w.data *= 2


def write_both(net, x):
    data = net.w.data
    data[0] = 5.0
    net.w.add_(x)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
@pytest.mark.parametrize(
    ("write", "held"),
    [
        (write_in_place, [7, 10]),
        (write_an_element, [4, 2]),
        (assign_data, [3, 4]),
        (set_them, [13, 20]),
        (scale_twice, [16, 32]),
        (write_both, [8, 10]),
    ],
)
def test_what_construct_writes_to_data_is_written_to_the_parameter(mode, write, held):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([1.0, 2.0]), name="w")

        def construct(self, x):
            write(self, x)
            return self.w * x

    before = graphc.get_context("mode")
    graphc.set_context(mode=mode)
    try:
        net, x = Net(), Tensor([3.0, 4.0])
        made = [net(x) for _ in range(2)][1]
    finally:
        graphc.set_context(mode=before)
    assert net.w.asnumpy().tolist() == held
    np.testing.assert_array_equal(made.asnumpy(), np.array(held) * [3, 4])


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_data_are_a_constant_of_differentiation(mode):
    before = graphc.get_context("mode")
    graphc.set_context(mode=mode)
    try:
        p = Parameter(Tensor([1.0, 2.0]), name="w")
        grads = graphc.grad(lambda x: (p * p.data * x).sum(), 0, [p])(Tensor([3.0, 4.0]))
    finally:
        graphc.set_context(mode=before)
    assert grads[0].asnumpy().tolist() == [1, 4]
    assert grads[1][0].asnumpy().tolist() == [3, 8]


@pytest.mark.filterwarnings("ignore:.*GC171")
def test_a_step_that_holds_the_data_sees_what_another_writes():
    p = Parameter(Tensor([1.0, 2.0]), name="w")
    data, optimizer = p.data, nn.SGD([p], 1.0)

    @graphc.jit
    def scaled(x):
        return data * x

    x = Tensor([1.0, 1.0])
    found = [scaled(x).asnumpy().tolist()]
    for _ in range(2):
        optimizer((x,))
        found.append(scaled(x).asnumpy().tolist())
    assert found == [[1, 2], [0, 1], [-1, 0]]


class Using(nn.Cell):
    """Hands its parameters, whose values change between steps, to a function of construct."""

    def __init__(self, use):
        super().__init__()
        self.n = Parameter(Tensor(2, graphc.int32), name="n", requires_grad=False)
        self.mask = Parameter(Tensor([True, False, True]), name="mask", requires_grad=False)
        self.use = use

    def construct(self, x):
        return self.use(self, x)


@pytest.mark.parametrize(
    ("use", "first", "second"),
    [
        (lambda net, x: x[: net.n], [3, 5], [3]),
        (lambda net, x: x[net.n :], [4], [5, 4]),
        (lambda net, x: x[net.mask], [3, 4], [5, 4]),
        (lambda net, x: ops.nonzero(net.mask), [[0], [2]], [[1], [2]]),
        (lambda net, x: ops.quantile(x, net.n * 0.25), 4, 3.5),
    ],
)
def test_what_a_parameter_says_of_slices_and_masks_is_read_at_each_step(use, first, second):
    net, x = Using(use), Tensor([3.0, 5.0, 4.0])
    assert net(x).asnumpy().tolist() == first
    net.n.set_data(Tensor(1, graphc.int32))
    net.mask.set_data(Tensor([False, True, True]))
    assert net(x).asnumpy().tolist() == second


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda net, x: ops.tile(x, (net.n,)), "GC100.* whose value only the run tells"),
        (lambda net, x: ops.zeros(net.n), "GC100.* whose value only the run tells"),
        (lambda net, x: ops.roll(x, net.n), "GC100.* roll: shifts must be an int"),
        (lambda net, x: x * Tensor(np.array(net.n)), "GC131.* a NumPy function was applied to a traced tensor"),
        (lambda net, x: x * Tensor(np.add(net.n, 1)), "GC131.* a NumPy function was applied to a traced tensor"),
    ],
)
def test_what_must_be_known_when_a_cell_is_compiled_is_no_parameter(use, match):
    with pytest.raises((graphc.errors.ArgumentTypeError, graphc.errors.TraceTypeError), match=match):
        Using(use)(Tensor([3.0, 5.0, 4.0]))


def test_what_a_copy_in_construct_starts_with_and_copies_that_would_be_named():
    assert Copying(lambda p: p.clone("ones"))(Tensor([3.0, 4.0]))[1].asnumpy().tolist() == [1, 1]
    assert Copying(lambda p: p.clone("zeros"))(Tensor([3.0, 4.0]))[1].asnumpy().tolist() == [0, 0]
    with pytest.raises(graphc.TraceError, match=r"GC141.* a Parameter is made inside construct"):
        Copying(lambda p: ParameterTuple([p]).clone("old")[0])(Tensor([3.0, 4.0]))


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: x.__deepcopy__(memodict={})])
def test_copies_of_tensors_have_memory_of_their_own(way):
    class Net(nn.Cell):
        def construct(self, x):
            made = way(x)
            made[0] = 9
            return x * made

    x = Tensor([1.0, 2.0])
    made = way(x)
    made[0] = 9
    assert (x.asnumpy().tolist(), made.asnumpy().tolist()) == ([1, 2], [9, 2])
    assert Net()(x).asnumpy().tolist() == [9, 4]
    assert graphc.grad(Net())(x).asnumpy().tolist() == [9, 4]


def test_param_info():
    p = Parameter(Tensor([1.0]), name="w", requires_grad=False, layerwise_parallel=True)
    q = Parameter(Tensor([2.0]))
    p.param_info.cloned_obj = [q]
    assert p.param_info.cloned_obj == [q]
    q.param_info = p.param_info.clone()
    assert (q.name, q.requires_grad, q.layerwise_parallel) == ("w", False, True)
    assert not hasattr(q.param_info, "cloned_obj")
    q.name = "state.w"
    assert (q.param_info.name, p.param_info.name) == ("state.w", "w")
    assert repr(q.param_info) == "ParamInfo(name='state.w', requires_grad=False)"
    assert (p.is_init, p.cache_enable, p.cache_shape, p.requires_aggr) == (False, False, (), True)


def test_parameters_that_only_a_tuple_holds_belong_to_the_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, 1)
            self.weights = ParameterTuple(self.fc.trainable_params())
            self.averages = self.weights.clone("average")

        def construct(self, x):
            return self.fc(x)

    net = Net()
    assert list(net.parameters_dict()) == ["fc.weight", "fc.bias", "average.fc.weight", "average.fc.bias"]
    assert [n for n, _ in net.parameters_and_names()][2] == "average.fc.weight"


def test_flags_of_cells():
    net = nn.SequentialCell(nn.Dense(2, 1))
    assert net.add_flags(strict=True) is net
    assert net.add_flags_recursive(fast=False) is net
    assert (net.get_flags(), net[0].get_flags(), net.strict) == ({"strict": True, "fast": False}, {"fast": False}, True)
    assert (net.cls_name, nn.Cell.cls_name.fget(net[0])) == ("SequentialCell", "Dense")


def test_reciprocal_of_integers():
    made = ops.Reciprocal()(Tensor([4, -2]))
    assert made.dtype == graphc.float32
    np.testing.assert_array_equal(made, [0.25, -0.5])
    assert ops.reciprocal(Tensor([4.0], "float64")).dtype == graphc.float64


# ---- fused rules, in float64


def rms(x):
    return np.sqrt(np.mean(x**2))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("flags", [(False,) * 3, (True, False, False), (False, True, False), (True, True, True)])
def test_fused_ada_factor(shape, flags):
    rng = np.random.default_rng(0)
    weight, mean, gradient = (rng.normal(size=shape) for _ in range(3))
    row, column, whole = (rng.random(s) for s in (shape[:-1] or (1,), shape[:-2] + shape[-1:], shape))
    states = [
        Parameter(Tensor(x.astype(np.float32)), name=n)
        for n, x in zip("wmrcv", (weight, mean, row, column, whole), strict=True)
    ]
    scaled, first, decayed = flags
    rule = ops.FusedAdaFactor(enable_scale_parameter=scaled, enable_first_moment=first, enable_weight_decay=decayed)
    numbers = [Tensor(x, "float32") for x in ([1e-30, 1e-3], 1.0, 0.9, [0.3], 0.05, 0.1)]
    rule(*numbers, Tensor(gradient.astype(np.float32)), *states)
    rate = 0.1 * (max(1e-3, rms(weight)) if scaled else 1)
    if len(shape) > 1:
        row = 0.3 * row + 0.7 * np.mean(gradient**2, -1)
        column = 0.3 * column + 0.7 * np.mean(gradient**2, -2)
        square = (row / row.mean(-1, keepdims=True))[..., None] * column[..., None, :]
        np.testing.assert_allclose(states[2], row, rtol=1e-5)
        np.testing.assert_allclose(states[3], column, rtol=1e-5)
    else:
        square = whole = 0.3 * whole + 0.7 * gradient**2
        np.testing.assert_allclose(states[4], whole, rtol=1e-5)
    update = gradient / np.sqrt(square)
    update = update / max(1, rms(update)) * rate
    if first:
        update = mean = 0.9 * mean + 0.1 * update
    np.testing.assert_allclose(states[1], mean, rtol=1e-5, atol=1e-6)
    want = weight - update - (rate * 0.05 * weight if decayed else 0)
    np.testing.assert_allclose(states[0], want, rtol=1e-5, atol=1e-6)


def test_fused_ada_factor_wants_two_epsilons():
    p = Parameter(Tensor([1.0]), name="p")
    with pytest.raises(graphc.ArgumentValueError, match="epsilon must have 2 elements, it has 3"):
        ops.FusedAdaFactor()(Tensor([1.0, 1.0, 1.0]), 1.0, 0.9, 0.3, 0.0, 0.1, Tensor([1.0]), p, p, p, p, p)


def test_fused_cast_adam_weight_decay():
    p, m, v = (Parameter(Tensor([1.0, 2.0]), name=n) for n in "pmv")
    ops.FusedCastAdamWeightDecay()(p, m, v, 0.1, 0.9, 0.99, 1e-3, 0.05, Tensor([1.0, 2.0], "float16"), Tensor([2.0]))
    g, w = np.array([0.5, 1.0]), np.array([1.0, 2.0])
    first, second = 0.9 * w + 0.1 * g, 0.99 * w + 0.01 * g**2
    np.testing.assert_allclose(m, first, rtol=1e-5)
    np.testing.assert_allclose(v, second, rtol=1e-5)
    np.testing.assert_allclose(p, w - 0.1 * (first / (np.sqrt(second) + 1e-3) + 0.05 * w), rtol=1e-5)
