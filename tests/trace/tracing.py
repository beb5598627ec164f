"""Shared by the tests of tracing."""

from __future__ import annotations

import numpy as np

from graphc import Parameter, Tensor, nn
from graphc.ir import verify, walk
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def cell(construct, **attributes):
    """A Cell with these attributes and this construct."""

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            for name, value in attributes.items():
                setattr(self, name, value)

    Net.construct = construct
    return Net()


def traced(net, *args, **kwargs):
    """The graph as the tracer leaves it, verified."""
    leaves, structure = flatten((tuple(map(as_tensor, args)), kwargs))
    graph = trace(net, leaves, structure).graph
    verify(graph)
    return graph


def as_tensor(x):
    return Tensor(x) if isinstance(x, np.ndarray) else x


def names(graph):
    """The ops in order, inputs and parameters left out."""
    return [n.op.name for n in graph if n.op.name not in ("Input", "Param")]


def count(graph, *ops_named):
    return sum(n.op.name in ops_named for _, n in walk(graph))


def weight(*shape, name="w"):
    return Parameter(np.ones(shape, np.float32), name=name)
