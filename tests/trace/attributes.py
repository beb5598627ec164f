"""Cells whose construct changes what they hold, run compiled and op by op."""

import numpy as np

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
ZEROS = np.zeros((2, 3), np.float32)


class Base(nn.Cell):
    """With a weight, and attributes that begin as they are given."""

    def __init__(self, **attributes):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
        for name, value in attributes.items():
            setattr(self, name, value)


def values(x):
    """A nest with arrays in place of tensors."""
    if isinstance(x, Tensor):
        return x.asnumpy()
    if isinstance(x, dict):
        return {k: values(v) for k, v in x.items()}
    return type(x)(map(values, x)) if isinstance(x, (tuple, list)) else x


def attributes(cell):
    """What a cell and those in it hold."""
    return {
        f"{path}.{name}": values(value)
        for path, each in cell.cells_and_names()
        for name, value in sorted(vars(each).items())
        if not name.startswith("_") and not isinstance(value, (Parameter, nn.Cell)) and name != "cells"
    }


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for k in a:
            assert_same(a[k], b[k])
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6)
    else:
        assert a == b


def assert_as_op_by_op(make, between=lambda turn, cell: None):
    """Results, attributes and gradients of several calls, of the cell and of a function of it; `between` is what a user does."""
    cells = {mode: make() for mode in (GRAPH_MODE, PYNATIVE_MODE)}
    gradients = {
        mode: graphc.value_and_grad(lambda x, cell=cell: (cell(x) * x).sum(), 0, cell.trainable_params())
        for mode, cell in cells.items()
    }
    for turn, scale in enumerate((1.0, 1.5, 0.5, -1.0, 2.0, 0.25)):
        made = {}
        for mode, cell in cells.items():
            graphc.set_context(mode=mode)
            x = Tensor(X * np.float32(scale))
            result = gradients[mode](x) if turn in (2, 4) else cell(x)
            made[mode] = values((result, attributes(cell)))
            between(turn, cell)
        assert_same(made[GRAPH_MODE], made[PYNATIVE_MODE])
