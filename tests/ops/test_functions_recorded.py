"""Functions and primitives against MindSpore's recorded numbers (tests/data/ms_functions.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphc import Tensor, ops
from graphc.ops import primitives
from tests.data.ms_functions import CASES, GRADIENTS, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_functions.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == [*CASES, *GRADIENTS]


@pytest.mark.parametrize("name", [*CASES, *GRADIENTS])
def test_results(name):
    got, wanted = measured(ops, primitives, Tensor, name), RECORDED[name]
    assert (list(got.shape), str(got.dtype)) == (wanted["shape"], wanted["dtype"])
    expected = np.array(wanted["values"]).reshape(got.shape)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=4e-6)
