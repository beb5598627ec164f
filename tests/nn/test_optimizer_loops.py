"""An update without reductions is one loop over the parameter, and needs no memory of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn
from graphc.lower.fuse import Group, fuse, uniform_values


@pytest.mark.parametrize(
    "make",
    [
        lambda p: nn.SGD(p, momentum=0.9),
        lambda p: nn.Momentum(p, 0.1, 0.9, weight_decay=0.1, use_nesterov=True),
        lambda p: nn.Adam(p),
        lambda p: nn.Adam(p, [0.1, 0.2], weight_decay=0.1, loss_scale=4.0, use_amsgrad=True),
        lambda p: nn.AdamWeightDecay(p, weight_decay=0.1),
        lambda p: nn.AdamW(p, nn.CosineDecayLR(0.01, 0.1, 5), weight_decay=0.1),
        lambda p: nn.AdaMax(p),
        lambda p: nn.Adagrad(p),
        lambda p: nn.Adadelta(p),
        lambda p: nn.RMSProp(p, centered=True, momentum=0.9),
        lambda p: nn.FTRL(p, l1=0.1, l2=0.1),
        lambda p: nn.ASGD(p),
        lambda p: nn.Rprop(p),
    ],
)
def test_one_loop(make: Callable[..., Any]) -> None:
    shapes = [(40, 30), (20,)]
    params = [Parameter(Tensor(np.ones(s, np.float32)), name=f"p{i}") for i, s in enumerate(shapes)]
    step = graphc.compile(make(params), tuple(Tensor(np.ones(s, np.float32)) for s in shapes))
    loops = [g.domain for g in fuse(step.graph, uniform_values(step.graph)) if isinstance(g, Group)]
    assert [loops.count(s) for s in shapes] == [1, 1]
    assert step.memory["arena"] < 40 * 30 * 4
