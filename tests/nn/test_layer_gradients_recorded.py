"""Layers, losses and their gradients against numbers recorded from MindSpore (tests/data/ms_layer_gradients.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphc import Tensor, nn, ops
from tests.data.ms_layer_gradients import CASES, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_layer_gradients.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name):
    found = measured(nn, ops, Tensor, name)
    assert len(found) == len(RECORDED[name])
    for i, (got, wanted) in enumerate(zip(found, RECORDED[name], strict=True)):
        assert list(got.shape) == wanted["shape"]
        expected = np.array(wanted["values"]).reshape(got.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5, err_msg=f"{name} {i}")
