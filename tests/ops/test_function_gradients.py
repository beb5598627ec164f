"""Gradients of functions against finite differences; functions that undo each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphc import GraphcError, Tensor, nn, ops
from graphc.ops.declared.windows import windows
from tests.data.ms_functions import IMAGES, X, array


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (ops.lgamma, array(3, 4, low=0.2, high=5.0)),
        (ops.digamma, array(3, 4, low=0.6, high=5.0)),
        (lambda x: ops.lrn(ops.reshape(x, (1, 12, 1, 1)), 2), X),
        (lambda x: ops.logcumsumexp(x, 1), X),
        (lambda x: ops.diag_embed(x, -1), X),
        (lambda x: ops.space_to_batch_nd(ops.reshape(x, (1, 1, 3, 4)), [3, 2], [[0, 0], [1, 1]]), X),
        (lambda x: ops.unfold(ops.reshape(x, (1, 1, 3, 4)), 2, padding=1), X),
        (lambda x: ops.cov(x), X),
        (lambda x: ops.renorm(x, 2, 0, 0.7), X),
        (lambda x: ops.matrix_set_diag(x, x[:, 0] * 2), X),
        (lambda x: ops.matmul(Tensor(X[:1]), x.T) + ops.matmul(Tensor(X[:1]), x, transpose_b=True) ** 2, X),
        (lambda x: ops.matmul(Tensor(X[:, :1].T), ops.tanh(x)), X),
        (lambda x: ops.pad(x, (1, 2, 0, 1), "constant", x[0, 0] * 2), X),
        (lambda x: ops.PadV3()(x, Tensor([1, -1, 0, 2]), x[2, 1]), X),
        (lambda x: ops.linspace(x[0, 0], x[1, 3], 5), X),
        (lambda x: ops.logspace(x[0, 0], x[2, 1], 5, 2), X),
        (lambda x: ops.LogSpace(5, 3)(x[0, 0], 1.5), X),
    ],
)
def test_gradients(function, x):
    class Total(nn.Cell):
        def construct(self, x):
            y = function(x)
            return ops.reduce_sum(y * ops.cos(ops.reshape(ops.cast(ops.arange(y.size), "float32"), y.shape)))

    got = ops.grad(Total())(Tensor(x)).asnumpy()
    for at in ((0, 0), (1, 3), (2, 1)):
        ends = []
        for step in (-1e-2, 1e-2):
            moved = x.copy()
            moved[at] += step
            ends.append(float(Total()(Tensor(moved))))
        assert got[at] == pytest.approx((ends[1] - ends[0]) / 2e-2, rel=2e-2, abs=5e-3)


def test_numbers_of_spaces():
    """Of tensors the same as of numbers, compiled or not: in float64, rounded once."""

    def spaces(x):
        return ops.linspace(x[0], x[1], 7), ops.logspace(x[0], x[1], 7), ops.LogSpace(7, 2)(x[0], 3.0)

    class Spaces(nn.Cell):
        def construct(self, x):
            return spaces(x)

    x = Tensor(np.array([0.25, 2.0], np.float32))
    even = np.linspace(0.25, 2, 7), 10 ** np.linspace(0.25, 2, 7), 2 ** np.linspace(0.25, 3, 7)
    for made in (spaces(x), Spaces()(x)):
        for got, want in zip(made, even, strict=True):
            np.testing.assert_array_max_ulp(got.asnumpy(), want.astype(np.float32), 1)
    for function in (ops.linspace, ops.logspace):
        with pytest.raises(GraphcError, match=r"space: f32\[2\] is not one number"):
            function(x, 3.0, 4)


def test_what_undoes_what():
    there = ops.space_to_batch_nd(Tensor(IMAGES), [2, 2], [[0, 0], [0, 0]])
    assert (ops.batch_to_space_nd(there, [2, 2], [[0, 0], [0, 0]]).asnumpy() == IMAGES).all()
    columns = ops.unfold(Tensor(IMAGES), 2, stride=2)
    assert (ops.fold(columns, (4, 6), 2, stride=2).asnumpy() == IMAGES).all()
    channels = ops.reshape(columns, (columns.shape[0], -1, 4, columns.shape[2]))  # As MindSpore's fold takes them.
    assert (ops.fold(channels, Tensor(np.array([4, 6], np.int32)), 2, stride=2).asnumpy() == IMAGES).all()
    counts = ops.fold(ops.ones_like(ops.unfold(Tensor(IMAGES), 3)), (4, 6), 3).asnumpy()
    assert counts.max() == 6
    assert counts.sum() == 2 * 3 * 9 * 2 * 4
    assert (ops.matrix_diag_part(ops.matrix_diag(Tensor(X))).asnumpy() == X).all()


@pytest.mark.parametrize("kernel", [(3, 3), (5, 4), (7, 2), (1, 11)])
@pytest.mark.parametrize(
    ("dilation", "padding", "stride"), [(1, 0, 1), ((1, 2), (2, 3), (2, 1)), (1, 3, 3), (1, 2, (8, 12)), (2, 0, 13)]
)
def test_windows_as_columns_and_back(kernel, dilation, padding, stride):
    """unfold against NumPy's windows; fold is what makes its gradient, and the other way round."""
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, 14, 23)).astype(np.float32)
    attrs = {"pad": tuple(np.repeat(np.broadcast_to(padding, 2), 2))}
    attrs |= {name: tuple(np.broadcast_to(v, 2)) for name, v in (("stride", stride), ("dilation", dilation))}
    seen = windows(x, kernel, attrs)
    wanted = seen.transpose(0, 1, 4, 5, 2, 3).reshape(2, 3 * math.prod(kernel), -1)
    sizes = (kernel, dilation, padding, stride)

    class Both(nn.Cell):
        def construct(self, x, columns):
            there = ops.unfold(x, *sizes)
            back = ops.fold(columns, x.shape[2:], *sizes)
            of_x = ops.grad(lambda x: ops.reduce_sum(ops.unfold(x, *sizes) * columns))(x)
            of_columns = ops.grad(lambda c: ops.reduce_sum(ops.fold(c, x.shape[2:], *sizes) * x))(columns)
            return there, back, of_x, of_columns

    columns = random.standard_normal(wanted.shape).astype(np.float32)
    there, back, of_x, of_columns = (y.asnumpy() for y in Both()(Tensor(x), Tensor(columns)))
    assert (there == wanted).all()
    assert (of_columns == wanted).all()
    assert np.allclose(back, of_x, atol=1e-4)
    # The sum of products is the same on both sides.
    assert np.vdot(columns.astype(np.float64), wanted) == pytest.approx(
        np.vdot(back.astype(np.float64), x), rel=1e-4, abs=1e-2
    )
