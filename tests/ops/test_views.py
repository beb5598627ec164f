"""Tensors that share memory: what MindSpore 2.10 does in its two modes (`tests/data/ms_views.py`), and the gradients of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, jit, mint, nn, ops
from tests.recorders import DATA, recorder

RECORDER = recorder("ms_views")
RECORD = json.loads((DATA / "ms_views.json").read_text())
NAMES = {"Tensor": Tensor, "Parameter": Parameter, "ops": ops, "mint": mint, "mindspore": graphc}
KINDS = ("in order", "transposed", "parameter")
#: Where a diagonal's elements do not have equal steps, it is a copy.
OTHERS = {
    d: ["both", "none", "both"]
    for d in ("x.diagonal()", "x.diagonal(1, 0, 1)", "ops.diagonal(x)", "mindspore.numpy.diagonal(x)")
}
#: What MindSpore's graph mode does otherwise: two names of a tensor are two tensors once one is written by an index, and one
#: where it is written by `+=`; some views of parameters follow these; an index of an index is written, but no further one.
OTHERS_IN_GRAPH_MODE = {
    *(f"x = x * 1; y = {y}; y[0] = 7.0; return x * 1" for y in ("x", "x.data")),
    "x = x * 1; y = x; x[0] = 7.0; return y * 1", "y = x; y[0] = 5.0; return x * 1", "x = x * 1; y = x; y += 1; return x * y",
    *(f"y = {y}; self.p[0] = 7.0; return y * 1" for y in ("self.p.reshape(-1)", "self.p.data")),
    *(f"y = {y}; ops.assign(self.p, x); return y * 1" for y in ("self.p.reshape(-1)", "self.p[1:]", "self.p.data")),
    *(f"y = {y}; y += 1; return self.p * x" for y in ("self.p.value()", "self.p.data")),
    "x = x * 1; x[0:2][1][2] = 9.0; return x * 1",
}  # fmt: skip


@pytest.mark.parametrize("view", RECORDER.views())
def test_who_sees_what_is_written(view):
    recorded = OTHERS.get(view, RECORD["views"][view])
    assert {k: RECORDER.shared(view, k, NAMES) for k in KINDS} == dict(zip(KINDS, recorded, strict=True))


def programs(mode):
    return [p for p in RECORDER.programs() if RECORD[mode][p]]


@pytest.mark.parametrize("program", programs("pynative"))
def test_programs_in_pynative_mode(program, tmp_path, mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    assert RECORDER.outcome(program, tmp_path, NAMES, "graphc") == RECORD["pynative"][program]


@pytest.mark.parametrize("program", programs("graph"))
def test_programs_in_graph_mode(program, tmp_path, mode_again):
    graphc.set_context(mode=graphc.GRAPH_MODE)
    same = RECORDER.outcome(program, tmp_path, NAMES, "graphc") == RECORD["graph"][program]
    assert same == (program not in OTHERS_IN_GRAPH_MODE)


def differences(net, x):
    """The gradient of the sum of what a Cell returns, by differences; powers of at most three are exact."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        sums = []
        for step in (-2, -1, 1, 2):
            moved = x.copy()
            moved[at] += step
            sums.append(float(net(Tensor(moved)).asnumpy().astype(np.float64).sum()))
        found[at] = (sums[0] - 8 * sums[1] + 8 * sums[2] - sums[3]) / 12
    return found


GRADIENTS = [
    p for p in RECORDER.programs() if p.startswith("x = x * 1") and ">" not in p and "stop" not in p and "data" not in p
]


@pytest.mark.parametrize("program", GRADIENTS)
def test_gradients_are_those_of_the_values(program, tmp_path, mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    x = RECORDER.elements((3, 3), 1)
    net = RECORDER.network(program, tmp_path, "graphc")
    found = graphc.grad(net)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, differences(net, x), rtol=2e-4, atol=2e-3)


class Kept(nn.Cell):
    def construct(self, x):
        x = x * 1
        self.view, self.whole = x.T, x
        x[0] = 4.0
        return x.sum()


def test_a_view_that_is_kept_behind_the_call_follows(mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    net = Kept()
    net(Tensor([[1.0, 2.0], [3.0, 5.0]]))
    assert net.view.asnumpy().tolist() == [[4, 3], [4, 5]]
    net.whole[1] = 7.0
    assert net.view.asnumpy().tolist() == [[4, 7], [4, 7]]


class Writes(nn.Cell):
    def construct(self, x):
        x[0] = 5.0
        return x.sum()


def test_an_argument_is_written_but_no_array(mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    array = np.ones(3, np.float32)
    x = Tensor(array)
    part = x[:2]
    assert float(Writes()(x)) == float(Writes()(array)) == 7
    assert (x.asnumpy().tolist(), part.asnumpy().tolist(), array.tolist()) == ([5, 1, 1], [5, 1], [1, 1, 1])


class Outside(nn.Cell):
    """Tensors from outside of the call that share memory, one of which is written after both were read."""

    def __init__(self):
        super().__init__()
        self.x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        self.view = self.x.T

    def construct(self, y):
        before = self.x * 1 + self.view * 1
        self.view[0] = y
        return before, self.x * 1, self.view * 1


def test_views_from_outside_of_the_call(mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    net = Outside()
    before, x, view = net(Tensor([8.0, 9.0]))
    assert before.asnumpy().tolist() == [[2, 5], [5, 8]]
    assert x.asnumpy().tolist() == net.x.asnumpy().tolist() == [[8, 2], [9, 4]]
    assert view.asnumpy().tolist() == [[8, 9], [2, 4]]


class Branches(nn.Cell):
    def construct(self, x):
        x = x * 1
        y = x.reshape(-1)

        def written(z):
            y[0] = 9.0
            return z + y[0]

        return ops.cond(x.sum() > 0, written, lambda z: z, x.sum()), x, y


@pytest.mark.parametrize(("sign", "first"), [(1, 9), (-1, -1)])
def test_a_view_written_in_a_branch(sign, first, mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    _, x, y = Branches()(Tensor([[1.0, 2.0]]) * sign)
    assert (x.asnumpy()[0, 0], y.asnumpy()[0]) == (first, first)


@pytest.mark.parametrize("dtype", [graphc.float16, graphc.bfloat16, graphc.int8, graphc.bool_, graphc.complex64])
def test_of_every_dtype(dtype, mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)

    def written(x):
        x.T[1][0] = 1
        return x

    wanted = [[False, True], [False, False]]
    assert written(ops.zeros((2, 2), dtype)).astype(graphc.bool_).asnumpy().tolist() == wanted

    class Net(nn.Cell):
        def construct(self, x):
            return written(ops.logical_not(x) if dtype == graphc.bool_ else x * 1)

    x = ops.ones((2, 2), dtype) if dtype == graphc.bool_ else ops.zeros((2, 2), dtype)
    assert Net()(x).astype(graphc.bool_).asnumpy().tolist() == wanted


def test_a_compiled_step_sees_what_is_written_to_a_view_of_a_parameter_and_the_view_what_it_writes():
    class Net(nn.Cell):
        def __init__(self, constant=None):
            super().__init__()
            self.p = Parameter(np.zeros(3, np.float32), name="p")
            self.constant = constant

        def construct(self, x):
            ops.assign(self.p, self.p + x)
            return self.p * 1

    net = Net()
    part = net.p[1:]
    part[0] = 5.0
    assert net(Tensor([1.0, 1.0, 1.0])).asnumpy().tolist() == [1, 6, 1]
    assert part.asnumpy().tolist() == [6, 1]

    class Reads(nn.Cell):
        def construct(self, x):
            return x + part

    reads = Reads()
    assert reads(Tensor([0.0, 0.0])).asnumpy().tolist() == [6, 1]
    net(Tensor([1.0, 1.0, 1.0]))
    assert reads(Tensor([0.0, 0.0])).asnumpy().tolist() == [7, 2]


def test_where_elements_lie():
    x = Tensor(np.arange(24, dtype=np.float32).reshape(3, 2, 4))
    # As MindSpore 2.10 gives them.
    wanted = {
        "x": (True, [8, 4, 1], 0), "x[1]": (True, [4, 1], 8), "x.T": (False, [1, 4, 8], 0), "x[:, 1]": (False, [8, 1], 4),
        "x[::2]": (False, [16, 4, 1], 0), "x[0:1].T": (False, [1, 4, 8], 0), "x.unsqueeze(1)": (True, [8, 8, 4, 1], 0),
        "x.T + 1": (True, [6, 3, 1], 0), "x.T.contiguous()": (True, [6, 3, 1], 0), "x[1:, :, 2]": (False, [8, 4], 10),
        "x.broadcast_to((2, 3, 2, 4))": (False, [0, 8, 4, 1], 0),
    }  # fmt: skip
    made = {e: eval(e, {"x": x}) for e in wanted}
    assert {e: (y.is_contiguous(), y.stride(), y.storage_offset()) for e, y in made.items()} == wanted
    p = Parameter(x, name="p")
    assert (p[1].storage_offset(), p.T.stride()) == (8, [1, 4, 8])


def test_what_is_repeated_is_a_value(mode_again):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)

    class Net(nn.Cell):
        def construct(self, x):
            full, wide = ops.full((2, 2), 1.0), (x * 1).broadcast_to((2, 2))
            full[0] = 5.0
            wide[0] = 5.0
            return full, wide

    full, wide = Net()(Tensor([1.0, 1.0]))
    assert full.asnumpy().tolist() == wide.asnumpy().tolist() == [[5, 5], [1, 1]]


def test_compiled_functions_take_values():
    @jit
    def function(x):
        x = x * 1
        y, z = x.reshape(-1), x[[0, 1]]
        y[0] = z[0] = 5.0
        return x

    assert function(Tensor([[1.0], [2.0]])).asnumpy().tolist() == [[1], [2]]
