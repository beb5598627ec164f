"""graphc.scipy against mindspore.scipy's recorded numbers (tests/data/ms_scipy.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
import graphc.scipy
import graphc.scipy.ops
from graphc import Tensor
from graphc.scipy.optimize import line_search, minimize
from tests.data.ms_scipy import CASES, GRADIENTS, LINES, MINIMA, flat, gradients, made, record

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_scipy.json").read_text())


def test_every_case_is_recorded():
    assert [list(RECORDED[kind]) for kind in RECORDED] == [list(cases) for cases in (CASES, GRADIENTS, MINIMA, LINES)]


def check(got, wanted, tolerance):
    assert len(got) == len(wanted)
    for mine, theirs in zip(map(record, got), wanted, strict=True):
        if not isinstance(theirs, dict):
            assert type(mine) is type(theirs)
            assert mine == (pytest.approx(theirs, rel=tolerance, abs=tolerance) if type(theirs) is float else theirs)
            continue
        assert (list(mine["shape"]), mine["dtype"]) == (theirs["shape"], theirs["dtype"])
        np.testing.assert_allclose(mine["values"], theirs["values"], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    check(flat(made(graphc, graphc.scipy, name)), RECORDED["results"][name], 5e-3 if "float16" in name else 5e-5)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, mode_again):
    if name == "lstsq":  # By NumPy.
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
    check(gradients(graphc, graphc.scipy, name), RECORDED["gradients"][name], 1e-4)


@pytest.mark.parametrize("name", MINIMA)
def test_minima(name):
    function, method, x, options = MINIMA[name]
    check(minimize(function, Tensor(x), method=method, options=options), RECORDED["minima"][name], 2e-3)


@pytest.mark.parametrize("name", LINES)
def test_lines(name):
    function, x, p, options = LINES[name]
    check(line_search(function, Tensor(x), Tensor(p), **options), RECORDED["lines"][name], 1e-4)
