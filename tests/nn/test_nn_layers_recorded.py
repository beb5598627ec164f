"""The transformer, layers of functions and layers around others against numbers from MindSpore (tests/data/ms_nn_layers.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphc import Tensor, nn, ops
from tests.data.ms_nn_layers import CASES, NAMED, measured, names

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_nn_layers.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == ["names", *CASES]


@pytest.mark.parametrize("kind", NAMED)
def test_names_and_order_of_parameters(kind):
    assert names(nn, kind) == RECORDED["names"][kind]


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name):
    found = measured(nn, ops, Tensor, name)
    assert len(found) == len(RECORDED[name])
    for i, (got, wanted) in enumerate(zip(found, RECORDED[name], strict=True)):
        assert list(got.shape) == wanted["shape"], i
        expected = np.array(wanted["values"]).reshape(got.shape)
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=3e-5, err_msg=f"{name} {i}")
