"""Gradients where a function has a kink or a product has a zero: what MindSpore 2.10 gives, or the limit."""

from __future__ import annotations

import numpy as np
import pytest

from graphc import Tensor, nn, ops
from tests.cells import Of

INF, NAN = np.inf, np.nan
ONE, FIRST = Tensor(np.ones(1, np.float32)), Tensor(np.zeros((4, 1), np.int32))
LABELS = Tensor(np.array([0, 1, 0.5, 1, 0, 0.3, 1, 1, 0, 0, 0.7], np.float32))


def gradients(function, *inputs):
    """Of the sum of the results, compiled."""
    made = ops.GradOperation(get_all=True)(Of(function))(*(Tensor(np.array(x, np.float32)) for x in inputs))
    return [g.asnumpy() for g in (made if isinstance(made, tuple) else (made,))]


#: name: (function, inputs, gradients)
CASES = {
    "maximum": (ops.maximum, ([1, 2, 3], [1, 3, 2]), ([0.5, 0, 1], [0.5, 1, 0])),
    "minimum": (ops.minimum, ([1, 2, 3], [1, 3, 2]), ([0.5, 1, 0], [0.5, 0, 1])),
    "maximum, infinite": (lambda x, y: ops.maximum(x, y) * INF, ([1], [2]), ([0], [INF])),
    "reduce_max": (ops.reduce_max, ([1, 3, 3, 2],), ([0, 0.5, 0.5, 0],)),
    "amin": (ops.amin, ([1, 1, 3, 2],), ([0.5, 0.5, 0, 0],)),
    "max along an axis": (lambda x: ops.max(x, 0)[0], ([1, 3, 3, 2],), ([0, 1, 0, 0],)),
    "cummax": (lambda x: ops.cummax(x, 0)[0], ([1, 3, 3, 2],), ([1, 1, 2, 0],)),
    "fmax": (ops.fmax, ([1, 2, 3, NAN, 1], [1, 3, 2, 1, NAN]), ([1, 0, 1, 0, 1], [0, 1, 0, 1, 0])),
    "fmin": (ops.fmin, ([1, 2, 3, NAN, 1], [1, 3, 2, 1, NAN]), ([1, 1, 0, 0, 1], [0, 0, 1, 1, 0])),
    "clip_by_value": (lambda x: ops.clip_by_value(x, 0.0, 1.0), ([-1, 0, 0.5, 1, 2],), ([0, 0.5, 1, 0.5, 0],)),
    "clamp": (lambda x: ops.clamp(x, 0.0, 1.0), ([-1, 0, 0.5, 1, 2],), ([0, 1, 1, 1, 0],)),
    "abs": (ops.abs, ([-1, 0, 2],), ([-1, 0, 1],)),
    "relu": (ops.relu, ([-1, 0, 2],), ([0, 0, 1],)),
    "relu6": (ops.relu6, ([-1, 0, 2, 6, 7],), ([0, 0, 1, 1, 0],)),
    "hardtanh": (ops.hardtanh, ([-2, -1, 0, 1, 2],), ([0, 0.5, 1, 0.5, 0],)),
    "hardsigmoid": (ops.hardsigmoid, ([-4, -3, 0, 3, 4],), ([0, 0, 1 / 6, 0, 0],)),
    "hardswish": (ops.hardswish, ([-4, -3, 0, 3, 4],), ([0, -0.5, 0.5, 1.5, 1],)),
    "elu": (ops.elu, ([-1, 0, 2],), ([np.exp(-1), 1, 1],)),
    "celu": (ops.celu, ([-1, 0, 2],), ([np.exp(-1), 1, 1],)),
    "celu, alpha -1": (lambda x: ops.celu(x, -1.0), ([-1, 0, 2],), ([np.exp(1), 1, 1],)),
    "logaddexp": (ops.logaddexp, ([1, 0, -INF], [1, 0, -INF]), ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])),
    "logaddexp2": (ops.logaddexp2, ([1, 0], [1, 0]), ([0.5, 0.5], [0.5, 0.5])),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, 0), ([-200, 100],), ([1, 1],)),
    "xlogy": (ops.xlogy, ([0, 0, 1, 0], [0.5, 0, 2, -1]), ([np.log(0.5), 0, np.log(2), 0], [0, 0, 0.5, 0])),
    "fmod": (ops.fmod, ([0, 5, -5], [0.5, 3, 3]), ([1, 1, 1], [0, -1, 1])),
    "truncate_mod": (ops.truncate_mod, ([0, 5, -5], [0.5, 3, 3]), ([1, 1, 1], [0, -1, 1])),
    "mul_no_nan": (ops.mul_no_nan, ([3, 0, INF], [0, 2, 0]), ([0, 2, 0], [3, 0, 0])),
    "pow": (ops.pow, ([0, 0, 2], [2, 1, 0]), ([0, 1, 0], [0, 0, np.log(2)])),
    "hypot": (ops.hypot, ([0, 3, 1e30, 2], [0, 4, 1e30, 2]), ([0, 0.6, 0.5**0.5, 0.5**0.5], [0, 0.8, 0.5**0.5, 0.5**0.5])),
    "hypot, twice": (
        ops.GradOperation()(lambda x: ops.hypot(x, Tensor(np.ones(3, np.float32)))), ([0, 1, -1],), ([1, 0.5**1.5, 0.5**1.5],),
    ),
    "logaddexp, twice": (
        ops.GradOperation()(lambda x: ops.logaddexp(x, Tensor(np.ones(2, np.float32)))), ([1, 2],), ([0.25, 0.1966119],),
    ),
    "logcumsumexp, twice": (
        lambda x: ops.GradOperation()(lambda x: ops.logcumsumexp(x, 0)[1])(x)[0], ([0.5, 0.5],), ([0.25, -0.25],),
    ),
    "smooth_l1_loss, twice": (
        ops.GradOperation()(lambda x: ops.smooth_l1_loss(x, ops.zeros_like(x), 0.5)), ([0, 0.25, 1],), ([2, 2, 0],),
    ),
    "huber_loss, twice": (
        ops.GradOperation()(lambda x: ops.huber_loss(x, ops.zeros_like(x), "sum")), ([0, 0.25, 2],), ([1, 1, 0],),
    ),
    "prod, twice": (ops.GradOperation()(ops.prod), ([2, 0, 3, 5],), ([15, 31, 10, 6],)),
    "prod, twice, two zeros": (ops.GradOperation()(ops.prod), ([2, 0, 0, 5],), ([0, 10, 10, 0],)),
    "prod, overflow": (ops.prod, ([1e30, 1e30, 0],), ([0, 0, INF],)),
    "tensor_scatter_mul, twice": (
        ops.GradOperation()(lambda x: ops.tensor_scatter_mul(ONE, FIRST, x).sum()),
        ([2, 0, 3, 5],),
        ([15, 31, 10, 6],),
    ),
    "binary_cross_entropy": (
        lambda p: ops.binary_cross_entropy(p, LABELS, reduction="sum"),
        ([0, 0, 1e-13, 2e-12, 1e-5, 0.3, 0.9, 1, 1, -0.5, 1.5],),
        ([0, -1e12, -5e11, -5e11, 1.00001, 0, -1 / 0.9, 0, 1e12, -5e11, 8e11],),
    ),
    "binary_cross_entropy, twice": (
        ops.GradOperation()(lambda p: ops.binary_cross_entropy(p, LABELS[4:8], reduction="sum")),
        ([0.25, 0.5, 0.75, 1],),
        ([1 / 0.75**2, 0.3 / 0.25 + 0.7 / 0.25, 1 / 0.75**2, 1e12],),
    ),
    "cosine_similarity": (
        lambda x, y: ops.cosine_similarity(x, y, 0), ([0, 0], [1, 1]), ([1e8, 1e8], [0, 0])
    ),
    "MultiLabelSoftMarginLoss": (nn.MultiLabelSoftMarginLoss(), ([[0, 1]], [[1, 0]]), ([[-0.25, 0.3655293]], [[0, -0.5]])),
    "erfinv twice": (
        lambda x: ops.GradOperation()(ops.erfinv)(x), ([0, 0.5],), ([0, 2 * 0.47693628 * 1.1125847**2],)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradient_at_a_tie_or_zero(name):
    function, inputs, expected = CASES[name]
    for got, want in zip(gradients(function, *inputs), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("grad", [ops.ReluGrad(), ops.ReLU6Grad()])
def test_the_gradient_of_relu_as_an_op_hides_what_is_not_finite(grad):
    dy, x = Tensor(np.array([INF, NAN, 2], np.float32)), Tensor(np.array([-1, -1, 1], np.float32))
    np.testing.assert_array_equal(Of(grad)(dy, x).asnumpy(), [0, 0, 2])


def test_fmax_and_fmin_take_the_number_beside_nan():
    x, y = np.array([NAN, 1, NAN, 5], np.float32), np.array([1, NAN, NAN, 3], np.float32)
    np.testing.assert_array_equal(Of(ops.fmax)(Tensor(x), Tensor(y)).asnumpy(), np.fmax(x, y))
    np.testing.assert_array_equal(Of(ops.fmin)(Tensor(x), Tensor(y)).asnumpy(), np.fmin(x, y))
    np.testing.assert_array_equal(Of(ops.Fmax())(Tensor(x), Tensor(y)).asnumpy(), np.fmax(x, y))
    np.testing.assert_array_equal(Of(lambda x, y: x.fmin(y))(Tensor(x), Tensor(y)).asnumpy(), np.fmin(x, y))
