"""Shared by tests that compare what stands in compiled functions with what Python gives in PYNATIVE_MODE."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import GRAPH_MODE, Parameter, Tensor, nn, ops

SAMPLES = ([1.0, 2.0], [-3.0, 1.0], [0.0, 0.0])


class Holder(nn.Cell):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.p = Parameter(Tensor([1.0, 1.0]), name="p")
        self.n = Parameter(Tensor(0), name="n", requires_grad=False)
        self.relu, self.tanh = nn.ReLU(), nn.Tanh()
        # Of one text, and of different weights.
        self.first, self.second = (nn.Dense(2, 2, weight_init=w, has_bias=False) for w in ("ones", "zeros"))

    def counted(self, x):
        ops.assign_add(self.n, 1)
        return x.max() > 0

    def construct(self, x):
        return self.body(self, x)


def outcome(body, sample, mode):
    graphc.set_context(mode=mode)
    try:
        cell = Holder(body)
        result = cell(Tensor(np.asarray(sample, np.float32)))
        return plain(result), plain(cell.n), plain(cell.p)
    finally:
        graphc.set_context(mode=GRAPH_MODE)


def refuses(body, error, message):
    """A compiled Cell with this body is refused so, in the house's form."""
    with pytest.raises(error) as caught:
        outcome(body, SAMPLES[0], GRAPH_MODE)
    assert isinstance(caught.value, graphc.GraphcError)
    assert message in str(caught.value)


def plain(x):
    if isinstance(x, Tensor):
        return str(x.dtype), x.asnumpy().tolist()
    if isinstance(x, (tuple, list)):
        return type(x)(map(plain, x))
    return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else (type(x).__name__, x)
