"""Functions and primitives against MindSpore's recorded numbers (tests/data/ms_functions.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from graphc.ops import primitives
from tests.data.ms_functions import CALLS, CASES, GRADIENTS, measured, of_call

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_functions.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == [*CASES, *GRADIENTS, *CALLS]


@pytest.mark.parametrize("name", [*CASES, *GRADIENTS])
def test_results(name):
    got, wanted = measured(ops, primitives, Tensor, name), RECORDED[name]
    assert (list(got.shape), str(got.dtype)) == (wanted["shape"], wanted["dtype"])
    expected = np.array(wanted["values"]).reshape(got.shape)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=4e-6)


def same(got, wanted):
    if isinstance(wanted, list):
        assert isinstance(got, list)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, dict):
        assert (got["shape"], got["dtype"]) == (wanted["shape"], wanted["dtype"])
        rtol = {"Float16": 2e-3, "Float64": 1e-7}.get(wanted["dtype"], 2e-5)
        np.testing.assert_allclose(got["values"], wanted["values"], rtol=rtol, atol=4e-6)
    else:
        assert got == wanted


@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    same(of_call(graphc, text), RECORDED[text])
