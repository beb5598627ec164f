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
#: What MindSpore's kernels for CPUs leave out: Nesterov's step, the sign of what l1 takes off, slots that stay.
LEFT_OUT = ("use_nesterov=True, gradient_scale", "0.01, 0.02, -0.5", "ApplyAdagrad(update_slots=False)")
RECORD = json.loads((DATA / "ms_updates.json").read_text())["cases"]
CASES = [case for case in RECORD if not any(text in case["make"] + case["call"] for text in LEFT_OUT)]


values = recorder("ms_updates").values


class Update(nn.Cell):
    """One call of a primitive."""

    def __init__(self, make, call):
        super().__init__()
        self.op = eval(make, vars(ops))
        self.held = {n: Parameter(v, name=n) for n, v in values().items() if n != "g"}
        self.insert_param_to_cell("a", self.held["a"])
        self.code = compile(call.replace("(", "op(", 1), "call", "eval")

    def construct(self, g):
        scope = {**self.held, "g": g, "t": lambda x: Tensor(x, graphc.float32), "op": self.op}
        return eval(self.code, scope)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["make"])
@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_two_updates_are_mindspores(case, mode, mode_again):
    graphc.set_context(mode=mode)
    cell, g = Update(case["make"], case["call"]), Tensor(values()["g"])
    for _ in range(2):
        cell(g)
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
