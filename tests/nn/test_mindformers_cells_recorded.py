"""nn.MFTrainOneStepCell, its optimizers, schedules and managers against what MindFormers 1.3.2 gave on MindSpore 2.10."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import nn
from tests.recorders import recorder

DATA = Path(__file__).parents[1] / "data"
script = recorder("ms_mindformers")
RECORDED = json.loads((DATA / "ms_mindformers.json").read_text())["cases"]


def agree(want, got, where=""):
    """Equal structures, shapes and dtypes; numbers as far as float32 and other orders of sums allow."""
    if isinstance(want, dict) and "dtype" in want:
        assert (got["dtype"], got["shape"]) == (want["dtype"], want["shape"]), where
        np.testing.assert_allclose(got["data"], want["data"], rtol=1e-4, atol=2e-5, err_msg=where)
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            agree(a, b, f"{where}[{i}]")
    else:
        assert type(got) is type(want), where
        assert got == want, where


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE], ids=["graph", "pynative"])
@pytest.mark.parametrize("case", script.CASES)
def test_same_as_mindformers(case, mode):
    graphc.set_context(mode=mode)
    try:
        made = script.Library(graphc, nn).run(case)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    want = RECORDED[case]
    agree(want["rows"], made["rows"], "rows")
    assert set(made["state"]) == set(want["state"])
    for name, value in want["state"].items():
        agree(value, made["state"][name], name)
