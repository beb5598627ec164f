"""Distributions and bijectors against numbers from MindSpore (tests/data/ms_probability.py), SciPy and finite differences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.nn.probability import bijector as msb
from graphc.nn.probability import distribution as msd
from tests.data.ms_probability import BIJECTORS, DISTRIBUTIONS, answers, bijected, transformed

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_probability.json").read_text())
#: Questions that MindSpore answers with numbers that are no answer.
WRONG = {
    # 1 - igamma(1 + 2.5, rate), and of float32's cancelled digits the logarithm.
}


def compare(got, wanted, what):
    expected = np.array(wanted["values"]).reshape(wanted["shape"])
    assert list(got.shape) == wanted["shape"], what
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=3e-4, atol=2e-5, err_msg=what)


def test_every_case_is_recorded():
    assert list(RECORDED["distributions"]) == list(DISTRIBUTIONS)
    assert list(RECORDED["bijectors"]) == list(BIJECTORS)


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_distributions(kind):
    wanted = RECORDED["distributions"][kind]
    found = answers(msd, Tensor, kind, wanted)
    for name in wanted:
        compare(found[name], wanted[name], f"{kind} {name}")
