"""Layers, losses and functions against numbers recorded from MindSpore, compiled and op by op (tests/data/ms_layers.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from tests.data.ms_layers import runs

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_layers.json").read_text())["cases"]
RUNS = runs()


def compare(got: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, dict):
        assert list(got) == list(wanted), what
        for name in wanted:
            compare(got[name], wanted[name], f"{what} {name}")
    elif isinstance(got, list):
        assert len(got) == len(wanted), what
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            compare(a, b, f"{what} {i}")
    else:
        assert got.shape == np.shape(wanted), what
        np.testing.assert_allclose(got, np.asarray(wanted, got.dtype), rtol=2e-5, atol=4e-6, err_msg=what)


def test_every_case_is_recorded() -> None:
    assert list(RECORDED) == list(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_compiled(name: str) -> None:
    compare(RUNS[name](graphc), RECORDED[name], name)


@pytest.mark.parametrize("name", [n for n in RUNS if n.startswith("function")])
def test_op_by_op(name: str) -> None:
    mode = graphc.get_context("mode")
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        compare(RUNS[name](graphc), RECORDED[name], name)
    finally:
        graphc.set_context(mode=mode)
