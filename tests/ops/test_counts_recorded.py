"""Counting, ordering and scattering functions against MindSpore's recorded numbers (tests/data/ms_counts.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from tests.data.ms_counts import CASES, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_counts.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    made = measured(ops, ops, Tensor, graphc.int64, name)
    assert len(made) == len(RECORDED[name])
    for got, wanted in zip(made, RECORDED[name], strict=True):
        assert (list(got.shape), str(got.dtype)) == (wanted["shape"], wanted["dtype"])
        np.testing.assert_allclose(got.ravel().astype(np.float64), wanted["values"], rtol=2e-6, atol=2e-6)
