"""Several Python threads, all of them the first to use graphc: what is imported and made late is made once, and whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.at_once import at_once

_WAYS = """
import numpy as np
import graphc
from graphc import Tensor, nn, ops

class Net(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            return x * 3
        return x

def branching(x):
    if x.sum() > 0:
        return x * 3
    return x

x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
ways = {
    "step": lambda: graphc.compile(Net(), x)(x),
    "cell": lambda: Net()(x),
    "jit": lambda: graphc.jit(branching)(x),
    "grad": lambda: x * graphc.grad(branching)(x),
    "operation": lambda: x * ops.GradOperation()(branching)(x),
    "plain": lambda: x * 3,
}

def check(name):
    assert (ways[name]().asnumpy() == x.asnumpy() * 3).all(), name

tasks = [lambda name=name: check(name) for name in ways]
"""

_ONE_CELL = """
import numpy as np
from graphc import Parameter, Tensor, nn

class Count(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(Tensor(np.float32(0)), name="total")

    def construct(self, x):
        self.total += x
        return self.total

count, seen = Count(), []

def work():
    for _ in range(25):
        seen.append(int(count(Tensor(np.float32(1)))))
    if len(seen) == 100:
        assert sorted(seen) == list(range(1, 101)), seen

tasks = [work] * 4
"""


@pytest.mark.parametrize("interval", [1e-5, 1e-4, 1e-3, 5e-3])
def test_every_way_in_at_the_same_time(tmp_path: Path, interval: float) -> None:
    at_once(tmp_path, _WAYS, interval)


@pytest.mark.parametrize("interval", [1e-5, 5e-3])
def test_calls_of_one_cell_take_turns(tmp_path: Path, interval: float) -> None:
    at_once(tmp_path, _ONE_CELL, interval)
