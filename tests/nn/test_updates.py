"""Primitives of optimizers against what MindSpore computes (tests/data/ms_updates.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from tests.recorders import recorder

DATA = Path(__file__).parents[1] / "data"
#: What MindSpore's kernels for CPUs leave out: Nesterov's step, the sign of what l1 takes off, slots that stay. Of rows that
#: have no gradient it reads memory that nothing was written to.
LEFT_OUT = (
    "use_nesterov=True, gradient_scale",
    "SparseApplyMomentum(use_nesterov=True)",
    "ApplyFtrl()(a, b, c, g, 0.1, 0.01, 0.02, -0.5)",
    "ApplyAdagrad(update_slots=False)",
    "ApplyAdagradDA()(a, b, c, g, 0.1, 0.01",
    "FusedSparseAdam(use_nesterov=True)(a, b, c, t(0.9), t(0.99), t(0.1), t(0.9), t(0.99), t(1e-3), h, j)",
)
RECORD = json.loads((DATA / "ms_updates.json").read_text())["cases"]
CASES = [case for case in RECORD if not any(text in case["make"] + case["call"] for text in LEFT_OUT)]


values, GIVEN = recorder("ms_updates").values, recorder("ms_updates").GIVEN


class Update(nn.Cell):
    """One call of a primitive."""

    def __init__(self, make, call):
        super().__init__()
        self.op = eval(make, vars(ops))
        self.held = {n: Parameter(v, name=n) for n, v in values().items() if n not in GIVEN}
        self.insert_param_to_cell("a", self.held["a"])
        self.code = compile(call.replace("(", "op(", 1), "call", "eval")

    def construct(self, *given):
        scope = {**self.held, **dict(zip(GIVEN, given, strict=True)), "op": self.op, "mindspore": graphc}
        scope["t"] = lambda x, dtype=graphc.float32: Tensor(x, dtype)
        return eval(self.code, scope)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["make"])
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_two_updates_are_mindspores(case, mode, mode_again):
    graphc.set_context(mode=mode)
    cell, given = Update(case["make"], case["call"]), [Tensor(values()[n]) for n in GIVEN]
    for _ in range(2):
        result = cell(*given)
    if "result" in case:
        np.testing.assert_allclose(result.asnumpy(), case["result"], rtol=1e-5, atol=1e-6)
    for name, wanted in case["after"].items():
        np.testing.assert_allclose(cell.held[name].asnumpy(), wanted, rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_mindspores_kernels_leave_out_is_done():
    g, (var, accum, linear) = Tensor(2.0), (Parameter(np.float32(v)) for v in (1.0, 0.5, -0.75))
    ops.ApplyMomentum(use_nesterov=True, gradient_scale=0.5)(var, accum, 0.1, g, 0.9)
    np.testing.assert_allclose([var.asnumpy(), accum.asnumpy()], [1 - 0.1 * (1 + 0.9 * 1.45), 1.45], rtol=1e-6)
    ops.ApplyAdagrad(update_slots=False)(var, accum, 0.1, g)
    np.testing.assert_allclose([var.asnumpy(), accum.asnumpy()], [0.7695 - 0.2 / 1.45**0.5, 1.45], rtol=1e-6)
    at = float(var.asnumpy())
    ops.ApplyFtrl()(var, accum, linear, g, 0.1, 0.25, 0.2, -0.5)
    line = -0.75 + 2 - (5.45**0.5 - 1.45**0.5) / 0.1 * at
    assert line < -0.25
    wanted = (-0.25 - line) / (5.45**0.5 / 0.1 + 0.4)
    np.testing.assert_allclose([var.asnumpy(), linear.asnumpy()], [wanted, line], rtol=1e-5)


def test_kerass_momentum_moves_by_what_it_accumulates():
    var, accum, grad = (Parameter(np.float32(v)) for v in (1.0, 0.5, 2.0))
    ops.ApplyKerasMomentum()(var, accum, 0.1, grad, 0.9)
    np.testing.assert_allclose([var.asnumpy(), accum.asnumpy()], [1.25, 0.25], rtol=1e-6)
    ops.ApplyKerasMomentum(use_nesterov=True)(var, accum, 0.1, grad, 0.9)
    np.testing.assert_allclose([var.asnumpy(), accum.asnumpy()], [1.25 + 0.9 * 0.025 - 0.2, 0.025], rtol=1e-5)


def rows_of(table, *gradients):
    """Parameters of four rows, indices and a gradient for three: row 2 is named twice."""
    held = [Parameter(np.array(v, np.float32), name=f"p{i}") for i, v in enumerate(table)]
    return held, Tensor(np.array([2, 0, 2], np.int32)), Tensor(np.array(gradients, np.float32))


SPARSE = {
    "Adagrad": (ops.SparseApplyAdagradV2(0.1, 1e-2), 2, ()),
    "Ftrl": (ops.SparseApplyFtrl(0.1, 0.2, 0.3, -0.5), 3, ()),
    "FtrlV2": (ops.SparseApplyFtrlV2(0.1, 0.2, 0.3, 0.0, -0.5), 3, ()),
    "ProximalAdagrad": (ops.SparseApplyProximalAdagrad(), 2, (0.1, 0.2, 0.3)),
    "Adadelta": (ops.SparseApplyAdadelta(1e-2), 3, (0.1, 0.9)),
    "RMSProp": (ops.SparseApplyRMSProp(0.9, 0.5, 1e-2), 3, (0.1,)),
}
DENSE = {
    "Adagrad": lambda v, a, g: (ops.assign_add(a, g * g), ops.assign_sub(v, 0.1 * g / ops.sqrt(a + 1e-2))),
    "Ftrl": lambda v, a, b, g: ops.ApplyFtrl()(v, a, b, g, 0.1, 0.2, 0.3, -0.5),
    "FtrlV2": lambda v, a, b, g: ops.ApplyFtrl()(v, a, b, g, 0.1, 0.2, 0.3, -0.5),
    "ProximalAdagrad": lambda v, a, g: ops.ApplyProximalAdagrad()(v, a, 0.1, 0.2, 0.3, g),
    "Adadelta": lambda v, a, b, g: ops.ApplyAdadelta()(v, a, b, 0.1, 0.9, 1e-2, g),
    "RMSProp": lambda v, a, b, g: ops.ApplyRMSProp()(v, a, b, 0.1, g, 0.9, 0.5, 1e-2),
}


@pytest.mark.parametrize("name", SPARSE)
def test_rows_move_as_the_whole_and_others_stay(name):
    draws = np.random.default_rng(1)
    op, count, numbers = SPARSE[name]
    table = draws.uniform(0.1, 1, (count, 4, 2)).astype(np.float32)
    given = draws.standard_normal((3, 2)).astype(np.float32)
    held, indices, gradient = rows_of(table, *given)
    whole = [Parameter(x, name="w") for x in table]
    made = op(*held, *numbers, gradient, indices)
    dense = np.zeros((4, 2), np.float32)
    np.add.at(dense, [2, 0, 2], given)
    DENSE[name](*whole, Tensor(dense))
    for parameter, result, wanted, before in zip(held, made, whole, table, strict=True):
        np.testing.assert_allclose(parameter.asnumpy()[[0, 2]], wanted.asnumpy()[[0, 2]], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(parameter.asnumpy()[[1, 3]], before[[1, 3]])
        np.testing.assert_array_equal(result.asnumpy(), parameter.asnumpy())
    with pytest.raises(IndexError, match="index 4 is out of range for a size of 4"):
        op(*held, *numbers, gradient, Tensor(np.array([0, 1, 4], np.int32)))


def test_shrinkage_is_no_part_of_the_square():
    var, accum, linear = (Parameter(np.full((1, 1), v, np.float32)) for v in (1.0, 0.5, 0.0))
    one = Tensor(np.full((1, 1), 2.0, np.float32)), Tensor(np.zeros(1, np.int32))
    ops.SparseApplyFtrlV2(0.1, 0.0, 0.0, 0.25, -0.5)(var, accum, linear, *one)
    np.testing.assert_allclose(accum.asnumpy(), [[4.5]])
    np.testing.assert_allclose(linear.asnumpy(), [[2 + 0.5 - (4.5**0.5 - 0.5**0.5) / 0.1]], rtol=1e-5)


def test_what_does_not_fit_rows_is_said():
    held, indices, gradient = rows_of(np.ones((2, 4, 2)), [1, 1], [1, 1], [1, 1])
    with pytest.raises(graphc.ShapeError, match=r"SparseApplyAdagrad: grad is .*one row of it per index"):
        ops.SparseApplyAdagrad(0.1)(*held, gradient, indices[:2])
    with pytest.raises(graphc.ShapeError, match="SparseApplyAdagrad: a state is"):
        ops.SparseApplyAdagrad(0.1)(held[0], Parameter(Tensor([1.0])), gradient, indices)
    with pytest.raises(graphc.ArgumentTypeError, match="SparseApplyAdagrad: indices are f32"):
        ops.SparseApplyAdagrad(0.1)(*held, gradient, Tensor([1.0, 1.0, 0.0]))
    with pytest.raises(graphc.ArgumentValueError, match="FusedSparseFtrl: lr_power must be at most 0, got"):
        ops.FusedSparseFtrl(0.1, 0.0, 0.0, 0.5)(*held, held[1], gradient, indices)
    with pytest.raises(graphc.ArgumentTypeError, match="SparseApplyRMSProp: rho must be a float, got int"):
        ops.SparseApplyRMSProp(1, 0.0, 0.5)(*held, held[1], 0.1, gradient, indices)


def test_a_layers_rate_is_that_of_its_norms():
    w = np.array([[0.5, 0.8, 0.2], [0.6, 0.4, 0.2]], np.float32)
    g = np.array([[0.4, 0.4, 0.5], [0.2, 0.4, 0.3]], np.float32)
    given = (Tensor(w), Tensor(g), Tensor((w * w).sum()), Tensor((g * g).sum()))
    # The example of MindSpore's documentation.
    wanted = [[0.0005265, 0.0005265, 0.00065813], [0.00026325, 0.0005265, 0.00039488]]
    np.testing.assert_allclose(ops.LARSUpdate()(*given, 0.0, 1.0).asnumpy(), wanted, rtol=1e-4)
    for rate, factor in ((1e-2, 0.0013163 / 0.01), (1e-4, 1.0)):
        clipped = ops.LARSUpdate(use_clip=True)(*given, 0.0, rate)
        np.testing.assert_allclose(clipped.asnumpy(), g * factor, rtol=1e-3)


def test_dual_averaging_shrinks_towards_zero():
    var, total, squares = (Parameter(np.full(2, v, np.float32)) for v in (1.0, 0.0, 0.0))
    ops.ApplyAdagradDA()(var, total, squares, Tensor([0.5, -0.5]), 0.1, 0.1, 0.2, 2)
    wanted = 0.1 * (0.5 - 0.2) / (0.2 * 2 * 0.1 + 0.5)
    np.testing.assert_allclose(var.asnumpy(), [-wanted, wanted], rtol=1e-5)


def test_nesterovs_step_in_rows_is_that_of_the_whole():
    """MindSpore's kernel leaves it out; one step by hand."""
    a, b = Parameter(Tensor([[1.0], [7.0]]), name="a"), Parameter(Tensor([[10.0], [7.0]]), name="b")
    ops.SparseApplyMomentum(use_nesterov=True)(a, b, 0.1, Tensor([[100.0]]), Tensor([0]), 0.5)
    np.testing.assert_allclose(b.asnumpy(), [[105.0], [7.0]])
    np.testing.assert_allclose(a.asnumpy(), [[1.0 - 0.1 * (100 + 0.5 * 105)], [7.0]], rtol=1e-6)
