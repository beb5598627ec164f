"""Lists and dicts of a Cell are constants of the step; changing them in place compiles it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import Tensor, nn


class Scaled(nn.Cell):
    """x * scales[0] + table["shift"], once per entry of `more` again."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = [1.0, 2.0]
        self.table = {"shift": 3.0}
        self.more: list[float] = []

    def construct(self, x: Any) -> Any:
        y = x * self.scales[0] + self.table["shift"]
        for number in self.more:
            y = y + number
        return y


def test_changes_in_place_count() -> None:
    net, x = Scaled(), Tensor(np.ones(2, np.float32))

    def value() -> float:
        first, again = net(x).asnumpy()[0], net(x).asnumpy()[0]
        assert first == again
        return float(first)

    assert value() == 4
    net.scales[0] = 5.0
    assert value() == 8
    net.table["shift"] = 0.0
    assert value() == 5
    net.more.append(2.0)
    assert value() == 7
    net.more.clear()
    assert value() == 5
    net.scales[1] = 7.0
    assert value() == 5


def test_children_count_too() -> None:
    inner = Scaled()
    outer, x = nn.SequentialCell(inner), Tensor(np.ones(2, np.float32))
    assert outer(x).asnumpy()[0] == 4
    inner.scales[0] = 2.0
    assert outer(x).asnumpy()[0] == 5
