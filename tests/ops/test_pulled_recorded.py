"""Gradients that are primitives of their own give what MindSpore's give (tests/data/ms_gradients.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor
from graphc.ops import primitives
from tests.data.ms_gradients import Names, floats, parts, results, weighted

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_gradients.json").read_text())
NAMES = Names(Tensor, [primitives])


def close(found, wanted):
    for a, recorded in zip(found, wanted, strict=True):
        assert (list(a.shape), str(a.dtype)) == (recorded["shape"], recorded["dtype"])
        np.testing.assert_allclose(a.ravel().astype(np.float64), recorded["values"], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("case", RECORDED)
def test_as_mindspore(case):
    primitive, operands = parts(case, NAMES)
    close(results(primitive(*operands)), RECORDED[case]["results"])


@pytest.mark.parametrize("case", [case for case, found in RECORDED.items() if found["gradients"]])
def test_its_own_gradients_are_mindspores(case):
    primitive, operands = parts(case, NAMES)
    made = graphc.grad(lambda *xs: weighted(primitive(*xs), Tensor), floats(operands))(*operands)
    close(results(made), RECORDED[case]["gradients"])
