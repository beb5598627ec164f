"""Linear algebra, special functions and windows against MindSpore's recorded numbers (tests/data/ms_linalg.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from tests.data.ms_linalg import CASES, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_linalg.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    got = measured(graphc, ops, Tensor, name)
    assert len(got) == len(RECORDED[name])
    for made, wanted in zip(got, RECORDED[name], strict=True):
        assert (list(made.shape), str(made.dtype)) == (wanted["shape"], wanted["dtype"])
        expected = np.array(wanted["values"]).reshape(made.shape)
        np.testing.assert_allclose(made, expected, rtol=5e-5, atol=2e-5)
