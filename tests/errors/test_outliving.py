"""What tracing changes for good is said, where the next call does not change it again."""

from __future__ import annotations

import logging

import numpy as np

from graphc import Tensor, nn
from tests.trace.tracing import cell

X = Tensor(np.arange(3, dtype=np.float32) + 1)


def said(caplog, net, *inputs):
    caplog.clear()
    with caplog.at_level(logging.WARNING, "graphc"):
        net(*inputs)
    return [r.getMessage() for r in caplog.records]


class Log:
    def __init__(self):
        self.lines, self.count = [], 0

    def add(self, line):
        self.lines.append(line)

    def called(self):
        self.count += 1
        return self.count


def test_objects_that_are_changed_once(caplog):
    """Whoever changes them; what the next call does again, as it has been compiled for it, is not said."""

    def adds(self, x):
        log.add(x.shape)
        return x * 2

    def collects(self, x):
        return x * len(sorted(["b", "a"], key=lambda k: log.lines.append(k) or k))

    def counts(self, x):
        return x * log.called()

    def makes(self, x):
        made = Log()
        made.add(1)
        return x * made.called()

    log = Log()
    assert said(caplog, cell(makes), X) == []
    (found,) = said(caplog, cell(adds), X)
    assert "log.lines is changed once, when the Cell is compiled" in found
    assert "log.add(x.shape)" in found
    (found,) = said(caplog, cell(collects), X)
    assert "key=lambda k: log.lines" in found
    net = cell(counts)
    assert said(caplog, net, X) == []
    assert [net(X).asnumpy()[0] / X.asnumpy()[0] for _ in range(2)] == [2, 3]


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.log = Log()

    def construct(self, x):
        self.log.add(1)
        return x * 2


def test_each_cell_is_looked_at(caplog):
    first, second = Counting(), Counting()
    first.log.lines = None
    first.log.add = abs
    net = nn.SequentialCell(first, second)
    (found,) = said(caplog, net, X)
    assert "self.log.lines is changed once" in found


def test_arguments_that_are_changed_for_the_function_alone(caplog):
    def changes(self, x, cache, options):
        cache[0][1] = x
        options["n"] = 2
        return x, options

    given, options = [[X, X]], {}
    (found,) = said(caplog, cell(changes), X, given, options)
    assert "the list cache[0] is changed for this function alone, not for who calls it" in found
    assert "cache[0][1] = x" in found
    assert (given, options) == ([[X, X]], {})
