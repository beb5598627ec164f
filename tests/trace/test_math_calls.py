"""Functions of `math` of numbers that only the run tells give what Python's give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import nn
from graphc.trace.conversion.math_calls import MATH


class Applied(nn.Cell):
    """A function of a tensor's number, of a size, and of what Python knows."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def construct(self, x: Any) -> Any:
        n = len(x[x > 0])
        y = x.sum() if n > 3 else x.mean()
        return self.function(y), self.function(n * 0.25), self.function(0.5)


@pytest.mark.parametrize("function", MATH, ids=lambda f: f.__name__)
def test_functions_of_math_are_pythons(function: Any) -> None:
    step = graphc.compile(Applied(function), np.ones(4, np.float32))
    for x in ([0.9, -0.5, 0.2, 0.1], [0.3, 0.2, 0.1, 0.1]):
        given = np.array(x, np.float32)
        made = step(given)
        count = (given > 0).sum()
        wanted = [function(float(v)) for v in (given.sum() if count > 3 else given.mean(), count * 0.25, 0.5)]
        np.testing.assert_allclose([float(v) for v in made], [float(v) for v in wanted], rtol=2e-6, atol=1e-6)


def test_a_logarithm_has_any_base_and_what_is_out_of_range_is_nan() -> None:
    class Logarithms(nn.Cell):
        def construct(self, x: Any) -> Any:
            n = len(x[x > 0])
            return math.log(n + 2, n + 3), math.log(8, n + 2), math.sqrt(n - 3), math.isnan(math.sqrt(n - 3))

    step = graphc.compile(Logarithms(), np.ones(4, np.float32))
    log, base, root, is_nan = step(np.array([1, 1, -1, -1], np.float32))
    assert float(log) == pytest.approx(math.log(4, 5))
    assert float(base) == pytest.approx(1.5)
    assert math.isnan(float(root))
    assert bool(is_nan)
