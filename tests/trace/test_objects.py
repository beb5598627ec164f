"""Objects of users' classes, and dicts of other classes than dict, keep their class as arguments and results, compiled or not."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Tensor, nn

X = Tensor(np.float32([1, -2, 3]))


class Output(OrderedDict):
    """Its items are attributes, too, as in published models."""

    def __init__(self, **items: Any) -> None:
        super().__init__()
        for name, value in items.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.__dict__[name] = value


@dataclass(frozen=True)
class Frozen:
    a: Any
    b: int = 2


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v: Any) -> None:
        self.v = v


@pytest.fixture(params=[GRAPH_MODE, PYNATIVE_MODE], autouse=True)
def _modes(request, mode_again, monkeypatch):
    monkeypatch.setenv("GRAPHC_JIT", "0")
    graphc.set_context(mode=request.param)


def test_dicts_of_other_classes():
    class Net(nn.Cell):
        def construct(self, x, given=None):
            made = Output(a=x * 2, n=3, inner=(x, Output(z=x if x.sum() > 0 else -x)))
            if given is not None:
                made["a"] = given.a + given["a"] * given.n
            return made

    net = Net()
    for k in (1, -1):
        made = net(X * k)
        assert type(made) is type(made.inner[1]) is Output
        assert list(made) == ["a", "n", "inner"]
        assert made.a is made["a"]
        assert made.a.asnumpy().tolist() == [2 * k, -4 * k, 6 * k]
        assert made.inner[1].z.asnumpy().tolist() == [1, -2, 3]
    assert net(X, Output(a=X, n=4)).a.asnumpy().tolist() == [5, -10, 15]
    assert net(X, Output(a=X * 2, n=0)).a.asnumpy().tolist() == [2, -4, 6]


def test_dicts_of_collections():
    class Net(nn.Cell):
        def construct(self, x):
            found = defaultdict(list)
            found["k"].append(x * 2)
            return found, Counter("aab")

    found, counts = Net()(X)
    found["new"].append(1)
    assert found["k"][0].asnumpy().tolist() == [2, -4, 6]
    assert (found["new"], counts["a"], counts["z"]) == ([1], 2, 0)


def test_objects_that_hold_results():
    settings = Slotted(5)

    class Net(nn.Cell):
        def construct(self, x):
            return Frozen(x * 2, 3), [Slotted(Frozen(x, x + 1))], settings

    net = Net()
    for k in (1, 2):
        first, (second,), same = net(X * k)
        assert (type(first), type(second), first.b, same is settings) == (Frozen, Slotted, 3, True)
        assert first.a.asnumpy().tolist() == [2 * k, -4 * k, 6 * k]
        assert second.v.b.asnumpy().tolist() == [k + 1, -2 * k + 1, 3 * k + 1]
