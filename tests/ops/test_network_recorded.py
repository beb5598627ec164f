"""Pooling, resizing, sampling, padding, image functions and losses against recorded numbers and gradients
(tests/data/ms_network.py, tests/data/torch_network.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.errors import TraceError
from graphc.ops import primitives
from tests.cells import Of
from tests.data import ms_network, torch_network
from tests.data.ms_network import results, weighted

DATA = Path(__file__).parents[1] / "data"
MINDSPORE, TORCH = (json.loads((DATA / f"{name}_network.json").read_text()) for name in ("ms", "torch"))
#: MindSpore takes cubic weights from a table of 1024 rows; here they are exact, as in torch.
COARSE = {"rtol": 0, "atol": 3e-3}
CLOSE = {"rtol": 1e-4, "atol": 5e-5}


def test_every_case_is_recorded():
    assert list(MINDSPORE) == list(ms_network.CASES)
    assert list(TORCH) == list(torch_network.CASES)


def compared(got, recorded, dtypes, tolerance):
    for y, wanted in zip(results(got), recorded, strict=True):
        y = y.asnumpy()
        assert list(y.shape) == wanted["shape"]
        if dtypes:
            assert str(y.dtype) == wanted["dtype"]
        np.testing.assert_allclose(y, np.array(wanted["values"]).reshape(y.shape), **tolerance)


def check(function, operands, wrt, recorded, dtypes=True, tolerance=CLOSE):
    given = [Tensor(x) for x in operands]
    eager = function(*given)
    compared(eager, recorded["results"], dtypes, tolerance)
    if not wrt:
        compared(Of(function)(*given), recorded["results"], dtypes, tolerance)
        return
    cell = Of(lambda *xs: weighted(ops, Tensor, function(*xs)))
    total, grads = graphc.value_and_grad(cell, wrt, None)(*given)
    np.testing.assert_allclose(total.asnumpy(), weighted(ops, Tensor, eager).asnumpy(), rtol=1e-4, atol=1e-4)
    for grad, wanted in zip(results(grads), recorded["gradients"], strict=True):
        np.testing.assert_allclose(grad.asnumpy().ravel(), wanted, **tolerance)


@pytest.mark.parametrize("name", [n for n in ms_network.CASES if "greedy" not in n])
def test_as_mindspore(name):
    function = ms_network.function(ops, primitives, nn, Tensor, name)
    tolerance = COARSE if "ubic" in name else CLOSE
    check(function, ms_network.CASES[name], ms_network.floats(name), MINDSPORE[name], tolerance=tolerance)


@pytest.mark.parametrize("name", torch_network.CASES)
def test_as_torch(name):
    expression, _, operands = torch_network.CASES[name]
    scope = {"ops": ops, "nn": nn, "P": primitives, "T": Tensor, "np": np}
    function = eval(f"lambda {', '.join('abcd'[: len(operands)])}: {expression}", scope)
    wrt = tuple(i for i, x in enumerate(operands) if x.dtype == np.float32)
    check(function, operands, wrt, TORCH[name], dtypes=False)


@pytest.mark.parametrize("name", [n for n in ms_network.CASES if "greedy" in n])
def test_the_greedy_decoder_runs_outside_compiled_cells(name):
    function = ms_network.function(ops, primitives, nn, Tensor, name)
    given = [Tensor(x) for x in ms_network.CASES[name]]
    compared(function(*given), MINDSPORE[name]["results"], True, CLOSE)
    with pytest.raises(TraceError, match="ctc_greedy_decoder"):
        Of(function)(*given)
