"""Sparse tensors against what MindSpore has recorded (tests/data/ms_sparse.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import nn, ops
from tests.data.ms_sparse import CASES, Framework, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_sparse.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    made = measured(Framework(graphc, ops, nn), name)
    assert [kind for kind, _ in made] == [kind for kind, _ in RECORDED[name]]
    for (_, parts), (_, wanted) in zip(made, RECORDED[name], strict=True):
        assert [[list(a.shape), str(a.dtype)] for a in parts] == [w[:2] for w in wanted]
        for got, (_, _, values) in zip(parts, wanted, strict=True):
            np.testing.assert_allclose(got.ravel().astype(np.float64), values, rtol=2e-6, atol=2e-6)
