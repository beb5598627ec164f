"""State dicts, buffers and conversions of Cells, and what MindSpore notes on them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn, ops

X = Tensor(np.array([1.0, -2.0, 3.0], np.float32))


class Scaled(nn.Cell):
    """x * scale + shift + w, scale and shift buffers."""

    def __init__(self, scale=2.0):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
        self.register_buffer("scale", Tensor([scale] * 3))
        self.register_buffer("shift", Tensor([0.0, 0.0, 0.0]), persistent=False)
        self.register_buffer("nothing", None)

    def construct(self, x):
        return x * self.scale + self.shift + self.w


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = Scaled(), Scaled(3.0)

    def construct(self, x):
        return self.second(self.first(x))


def test_buffers_are_constants_that_may_be_changed():
    net = Net()
    assert net(X).asnumpy().tolist() == [10, -4, 30]
    net.first.scale = Tensor([0.0, 0.0, 0.0])
    assert net(X).asnumpy().tolist() == [4, 8, 12]
    net.first.shift = Tensor([1.0, 1.0, 1.0])
    assert net(X).asnumpy().tolist() == [7, 11, 15]
    net.first.shift[0] = 0.0  # In place.
    assert net(X).asnumpy().tolist() == [4, 11, 15]
    copied = copy.deepcopy(net)
    copied.first.shift = Tensor([9.0, 9.0, 9.0])
    assert net(X).asnumpy().tolist() == [4, 11, 15]
    assert copied.first.shift.asnumpy()[0] == 9


def test_a_tensor_written_in_place_is_another_constant():
    """Not a buffer, either."""

    class Masked(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mask = Tensor([1.0, 1.0, 1.0])

        def construct(self, x):
            return x * self.mask

    net = Masked()
    assert net(X).asnumpy().tolist() == [1, -2, 3]
    net.mask[1] = 0.0
    assert net(X).asnumpy().tolist() == [1, 0, 3]


class Added(nn.Cell):
    def __init__(self, constant):
        super().__init__()
        self.constant = constant

    def construct(self, x):
        return x + self.constant


@pytest.mark.parametrize(
    "write",
    [
        lambda c: c[1:].__setitem__(0, 7.0),
        lambda c: c[1:].reshape(1, 2)[0].__setitem__(0, 7.0),
        lambda c: c.view(3, 1).copy_(Tensor([[0.0], [7.0], [0.0]])),
        lambda c: np.asarray(c, copy=False).__setitem__(1, 7.0),
        lambda c: np.asarray(c[1:], copy=False).__setitem__(0, 7.0),
    ],
    ids=["part", "part of a part", "view", "array", "array of a part"],
)
def test_a_constant_written_through_what_shares_its_memory_is_another(write):
    whole = Tensor([0.0, 0.0, 0.0])
    nets = Added(whole), Added(whole[1:2])
    assert [net(X).asnumpy()[1] for net in nets] == [-2, -2]
    write(whole)
    assert [float(net(X).asnumpy()[1]) for net in nets] == [5, 5]


def test_a_constant_whose_memory_was_given_away_is_compared_at_each_call():
    whole = Tensor([0.0, 0.0, 0.0])
    net = Added(whole)
    taken = np.asarray(whole, copy=False)
    for k in (1.0, 2.0, 1.0):
        taken[1] = k
        assert net(X).asnumpy()[1] == -2 + k


def test_buffers_by_name():
    net = Net()
    assert [n for n, _ in net.named_buffers()] == ["first.scale", "first.shift", "second.scale", "second.shift"]
    assert [n for n, _ in net.named_buffers("net", recurse=False)] == []
    assert [n for n, _ in net.first.named_buffers("net")] == ["net.scale", "net.shift"]
    net.second.scale = net.first.scale
    assert len(list(net.buffers())) == 3
    assert len(list(net.named_buffers(remove_duplicate=False))) == 4
    assert net.get_buffer("first.scale") is net.first.scale
    assert net.get_buffer("first.nothing") is None
    assert net.get_sub_cell("first") is net.first
    assert net.get_sub_cell("") is net
    assert [p.name for p in net.get_parameters()] == ["first.w", "second.w"]
    del net.first.scale
    assert [n for n, _ in net.first.named_buffers()] == ["shift"]
    with pytest.raises(AttributeError, match="'third' of Net is not there"):
        net.get_sub_cell("third.scale")
    with pytest.raises(AttributeError, match="'w' of Scaled is not a Cell"):
        net.get_sub_cell("first.w")
    with pytest.raises(AttributeError, match="'w' of Scaled is not a buffer"):
        net.get_buffer("first.w")


def test_buffers_that_cannot_be():
    cell = Scaled()
    for name, message in (("w", "already has an attribute 'w'"), ("a.b", "cannot name a buffer"), ("", "cannot name")):
        with pytest.raises(KeyError, match=message):
            cell.register_buffer(name, X)
    with pytest.raises(TypeError, match="must be a string"):
        cell.register_buffer(3, X)
    with pytest.raises(TypeError, match="must be a Tensor or None, got float"):
        cell.register_buffer("b", 1.0)
    with pytest.raises(TypeError, match="'scale' is a buffer, and is given a float"):
        cell.scale = 1.0
    with pytest.raises(TypeError, match="'scale' is a buffer, and is given a Parameter"):
        cell.scale = Parameter(X, name="p")


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", Tensor([0.0, 0.0, 0.0]))

    def construct(self, x):
        self.count = self.count + x
        return self.count * 2


class Keeping(nn.Cell):
    """x * w + what the last call has computed, which an attribute and a list keep."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
        self.last, self.all = None, []

    def construct(self, x):
        y = x * self.w if self.last is None else x * self.w + self.last
        self.last = y
        self.all.append(y)
        return y.sum()


def test_what_construct_keeps_is_a_value_later_in_pynative_mode(mode_again):
    graphc.set_context(mode=PYNATIVE_MODE)
    net, first = Keeping(), X.asnumpy() * [1, 2, 3]
    assert float(net(X)) == first.sum()
    step = graphc.value_and_grad(net, None, net.trainable_params())
    for turn in (2, 3):
        value, (gradient,) = step(X)
        assert float(value) == turn * first.sum()
        np.testing.assert_array_equal(gradient.asnumpy(), X.asnumpy())
    np.testing.assert_array_equal((net.last + net.all[0]).asnumpy(), 4 * first)
    graphc.set_context(mode=GRAPH_MODE)
    np.testing.assert_array_equal(graphc.jit(lambda x: x * net.last)(X).asnumpy(), X.asnumpy() * 3 * first)


TOTALS = Tensor([0.0, 0.0])


class Filling(nn.Cell):
    """Rows of a tensor that the cell holds, filled in place, and a sum of a global's."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
        self.rows = Tensor(np.ones((2, 3), np.float32))

    def construct(self, x):
        rows = self.rows
        before = rows * x
        for i in range(2):
            rows[i] = rows[i] + x * self.w * (i + 1)
        TOTALS[0] = TOTALS[0] + x.sum()
        return (before + rows * self.rows).sum()


def test_tensors_from_outside_are_written_in_pynative_mode(mode_again):
    """By the call that writes them, whose gradient knows what they were before and what they are since."""
    graphc.set_context(mode=PYNATIVE_MODE)
    net, x, w = Filling(), X.asnumpy(), np.array([1.0, 2.0, 3.0])
    step = graphc.value_and_grad(net, 0, net.trainable_params())
    rows = np.ones((2, 3))
    for turn in (1, 2):
        value, (of_x, (of_w,)) = step(X)
        before, rows = rows, rows + np.outer([1, 2], x * w)
        np.testing.assert_allclose(float(value), (before * x + rows**2).sum(), rtol=1e-6)
        np.testing.assert_allclose(of_x.asnumpy(), (before + 2 * rows * np.outer([1, 2], w)).sum(0), rtol=1e-6)
        np.testing.assert_allclose(of_w.asnumpy(), (2 * rows * np.outer([1, 2], x)).sum(0), rtol=1e-6)
        np.testing.assert_allclose(net.rows.asnumpy(), rows, rtol=1e-6)
        assert TOTALS.asnumpy().tolist() == [turn * 2.0, 0.0]
    graphc.set_context(mode=GRAPH_MODE)
    with pytest.raises(graphc.TraceError, match=r"GC133.*a constant of the compiled Cell cannot be changed"):
        net(X)


@pytest.mark.parametrize("mode", [GRAPH_MODE, PYNATIVE_MODE])
def test_a_buffer_set_in_construct(mode, mode_again):
    graphc.set_context(mode=mode)
    net = Counting()
    net(X)
    assert net(X).asnumpy().tolist() == [4, -8, 12]
    assert net.count.asnumpy().tolist() == [2, -4, 6]
    assert net.state_dict()["count"].asnumpy().tolist() == [2, -4, 6]


# ---- state dicts


def test_a_state_dict_goes_around():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["first.w", "first.scale", "second.w", "second.scale"]
    assert state["first.w"] is net.first.w
    assert list(net.first.state_dict(prefix="a.")) == ["a.w", "a.scale"]
    net.first.w.set_data(Tensor([7.0, 7.0, 7.0]))
    net.first.scale = Tensor([5.0, 5.0, 5.0])
    weights = other.first.w
    assert other(X).asnumpy().tolist() == [10, -4, 30]
    found = other.load_state_dict(net.state_dict())
    assert found.missing_keys == found.unexpected_keys == []
    assert other.first.w is weights
    assert other(X).asnumpy().tolist() == net(X).asnumpy().tolist()
    with pytest.warns(FutureWarning, match="by name"):
        assert list(net.first.state_dict({}, "b.")) == ["b.w", "b.scale"]


def test_a_state_dict_that_does_not_fit_changes_nothing():
    net = Net()
    state = dict(net.state_dict())
    state["first.w"] = Tensor([9.0, 9.0, 9.0])
    del state["second.w"]
    state["third"] = state["second.more"] = X
    with pytest.raises(RuntimeError, match=r"(?s)GC190.*missing: second.w.*unexpected: third, second.more"):
        net.load_state_dict(state)
    assert net.first.w.asnumpy()[0] == 1
    found = net.load_state_dict(state, strict=False)
    assert found == (["second.w"], ["third", "second.more"])
    assert net.first.w.asnumpy()[0] == 9
    with pytest.raises(RuntimeError, match=r"(?s)first.w: its shape is \(2,\), the cell's \(3,\).*expected a Tensor"):
        net.load_state_dict({**net.state_dict(), "first.w": Tensor([1.0, 2.0]), "second.w": 3}, strict=False)
    with pytest.raises(TypeError, match="state_dict must be a dict, got list"):
        net.load_state_dict([])


def test_values_are_cast_if_they_stay_what_they_are():
    cell = nn.Cell()
    cell.register_buffer("steps", Tensor([1, 2], graphc.int32))
    cell.load_state_dict({"steps": Tensor([3.0, 4.0])})
    assert cell.steps.asnumpy().tolist() == [3, 4]
    with pytest.raises(graphc.GraphcError, match="steps: its values are no int32"):
        cell.load_state_dict({"steps": Tensor([3.5, 4.0])})


class Extended(Scaled):
    note = "a"

    def get_extra_state(self):
        return self.note

    def set_extra_state(self, state):
        object.__setattr__(self, "note", state)


def test_extra_state():
    cell, other = Extended(), Extended()
    object.__setattr__(cell, "note", "b")
    state = cell.state_dict()
    assert state["_extra_state"] == "b"
    other.load_state_dict(state)
    assert other.note == "b"
    with pytest.raises(RuntimeError, match="unexpected: _extra_state"):
        Scaled().load_state_dict(state)
    with pytest.raises(RuntimeError, match="missing: _extra_state"):
        other.load_state_dict(Scaled().state_dict())
    for name, args in (("get_extra_state", ()), ("set_extra_state", (1,))):
        with pytest.raises(RuntimeError, match=f"does not define {name}"):
            getattr(Scaled(), name)(*args)


def test_hooks_of_state_dicts():
    net, said = Net(), []
    handles = [
        net.first.register_state_dict_pre_hook(lambda cell, prefix, keep: said.append((type(cell), prefix, keep))),
        net.register_state_dict_post_hook(lambda cell, state, prefix, meta: state.__delitem__("second.w")),
        net.first.register_load_state_dict_pre_hook(lambda cell, state, prefix, *rest: state.pop(prefix + "old", None)),
        net.register_load_state_dict_post_hook(lambda cell, keys: keys.missing_keys.clear()),
    ]
    state = net.state_dict(keep_vars=True)
    assert said == [(Scaled, "first.", True)]
    assert "second.w" not in state
    state["first.old"] = X  # The hook takes it out of what is left to load.
    net.load_state_dict(state, strict=False)
    del state["first.old"]
    assert net.load_state_dict(state) == ([], [])
    for handle in handles:
        handle.remove()
    with pytest.raises(RuntimeError, match=r"missing: second\.w"):
        net.load_state_dict(state)
    assert said == [(Scaled, "first.", True)]
    net.register_load_state_dict_post_hook(lambda cell, keys: 3)
    with pytest.raises(RuntimeError, match="the hook must return None, it returned a int"):
        net.load_state_dict(net.state_dict())
    with pytest.raises(TypeError, match="the hook must be a function"):
        net.register_state_dict_pre_hook(3)


# ---- other dtypes


def test_to_another_dtype():
    net = Net()
    net.first.register_buffer("steps", Tensor([1], graphc.int32))
    weights = net.first.w
    assert net(X).dtype == graphc.float32
    assert net.to(graphc.float16) is net
    assert net.first.w is weights
    assert {str(x.dtype) for x in (*net.get_parameters(), net.first.scale)} == {"Float16"}
    assert net.first.steps.dtype == graphc.int32
    made = net(ops.cast(X, graphc.float16))
    assert made.dtype == graphc.float16
    assert made.asnumpy().tolist() == [10, -4, 30]
    net.to(X)
    net.to("cpu", non_blocking=True)
    assert net.to(device="CPU", dtype=graphc.float32).first.w.dtype == graphc.float32
    net.first.to_empty(recurse=False)
    assert net(X).dtype == graphc.float32
    with pytest.raises(TypeError, match="dtype must be a float, got int32"):
        net.to(graphc.int32)
    with pytest.raises(ValueError, match=r"(?s)GC112.*device='Ascend'"):
        net.to("Ascend")
    with pytest.raises(ValueError, match=r"(?s)GC112.*device='meta'"):
        net.to_empty(device="meta")
    for args, kwargs in (
        (("CPU", graphc.float16, True, 4), {}),
        ((), {"typ": 3}),
        ((X,), {"device": "CPU", "dtype": 3}),
    ):
        with pytest.raises(TypeError):
            net.to(*args, **kwargs)


# ---- what is noted, and what is left out


def test_marks():
    net = Net()
    net.update_cell_prefix()
    assert net.second.param_prefix == "second"
    net.update_cell_type("quant")
    assert net.cell_type == "quant"
    assert (net.phase, net.set_train(False).phase, net.first.phase, net.set_train().phase) == (
        "train",
        "predict",
        "train",
        "train",
    )
    net.first.w.name = net.second.w.name = "w"
    net.check_names_and_refresh_name()
    assert [p.name for p in net.get_parameters()] == ["first.w", "second.w"]
    net.first.w.layerwise_parallel = True
    assert list(net.parameters_broadcast_dict()) == ["second.w"]
    assert nn.ReLU().parameters_broadcast_dict() is None
    assert net.get_inputs() is None
    net.set_inputs(X)
    assert net.get_inputs() == (X,)
    assert net.cast_inputs((X, Tensor([1])), graphc.float16)[0].dtype == graphc.float16
    assert net.run_construct((X,), {}).asnumpy().tolist() == net(X).asnumpy().tolist()
    assert net.set_broadcast_flag().second.get_flags() == {"broadcast_flag": True}
    net.bprop_debug, net.pipeline_stage, net.pipeline_segment = True, 1, 2
    assert (net.bprop_debug, net.pipeline_stage, net.pipeline_segment) == (True, 1, 2)
    net.set_data_parallel()
    net.remove_redundant_parameters()
    with pytest.raises(ValueError, match="pipeline_stage must be at least 0"):
        net.pipeline_stage = -1
    with pytest.raises(TypeError, match="pipeline_segment must be an int"):
        net.pipeline_segment = "1"
    with pytest.raises(TypeError, match="bprop_debug must be a bool"):
        net.bprop_debug = 1


def test_compile_ahead():
    traced = []

    class Told(nn.Cell):
        def construct(self, x, y=1.0):
            traced.append(x.shape)
            return x * y

    cell = Told()
    cell.compile(X)
    assert traced == [(3,)]
    cell(X)
    assert traced == [(3,)]
    cell.compile(X, y=2.0)
    assert cell(X, y=2.0).asnumpy().tolist() == [2, -4, 6]
    assert len(traced) == 2


def test_walks_behind_a_prefix():
    net = Net()
    assert [n for n, _ in net.parameters_and_names("a")] == ["a.first.w", "a.second.w"]
    assert [n for n, _ in net.first.parameters_and_names("a", False)] == ["a.w"]
    left_out = {net.first}
    assert [n for n, _ in net.cells_and_names(left_out, "a")] == ["a", "a.second"]
    assert left_out == {net, net.first, net.second}


def test_what_was_found_is_printed_in_mindspores_words():
    net = nn.Dense(2, 2)
    assert str(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    found = net.load_state_dict({"bias": net.bias, "more": net.bias}, strict=False)
    assert str(found) == "_IncompatibleKeys(missing_keys=['weight'], unexpected_keys=['more'])"


class Held(nn.Cell):
    """A parameter that construct writes by set_data between two reads."""

    def __init__(self, value):
        super().__init__()
        self.p = Parameter(Tensor(np.ones(2, np.float32)), name="p")
        self.value = value

    def construct(self, x):
        before = self.p * 2
        self.p.set_data(self.value(x))
        return before + self.p * x


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
@pytest.mark.parametrize(
    "value", [lambda x: x * 3, lambda x: Tensor([6, 9], "float64"), lambda x: np.array([6.0, 9.0]), lambda x: [6, 9]]
)
def test_set_data_in_construct_is_an_assignment(mode, value):
    """It was made once, while the cell was compiled."""
    x, before = Tensor([2.0, 3.0]), graphc.get_context("mode")
    graphc.set_context(mode=mode)
    try:
        net = Held(value)
        for held in (1.0, 4.0):
            net.p.set_data(Tensor([held, held]))
            assert net(x).asnumpy().tolist() == [2 * held + 12, 2 * held + 27]
            assert net.p.asnumpy().tolist() == [6, 9]
            net.p.set_data(Tensor([held, held]))
            assert graphc.grad(net)(x).asnumpy().tolist() == [6, 9]
            assert net.p.asnumpy().tolist() == [6, 9]
        with pytest.raises(graphc.ShapeError, match="a parameter keeps its shape"):
            Held(lambda x: ops.ones(3))(x)
    finally:
        graphc.set_context(mode=before)
