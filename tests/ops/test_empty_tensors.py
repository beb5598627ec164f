"""Tensors without elements: what has a meaning is computed, what has none is refused with a message."""

from __future__ import annotations

import numpy as np
import pytest

from graphc import ShapeError, Tensor, mint, nn, ops
from graphc.debug import debug
from tests.cells import Of

NONE_WIDE, NONE_LONG = np.zeros((3, 0), np.float32), np.zeros((0, 3), np.float32)
ONES = Tensor(np.ones(3, np.float32))


@pytest.mark.parametrize("x", [NONE_WIDE, NONE_LONG])
@pytest.mark.parametrize("axis", [(), 0, 1])
@pytest.mark.parametrize(
    ("reduce", "expected"), [(ops.reduce_sum, np.sum), (ops.prod, np.prod), (lambda x, a: ops.any(x > 0, a), np.any)]
)
def test_a_reduction_beside_what_has_no_elements(reduce, expected, axis, x):
    made, other = Of(lambda x: (reduce(x, axis), x * 2))(Tensor(x))
    np.testing.assert_array_equal(made.asnumpy(), expected(x, None if axis == () else axis))
    assert other.shape == x.shape


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: ops.mean(x, 1), NONE_LONG),
        (lambda x: ops.mean(x, 0), NONE_WIDE),
        (lambda x: ops.layer_norm(x, (3,), ONES, ONES, 1e-5), NONE_LONG),
        (nn.LayerNorm((3,)), NONE_LONG),
        (ops.softmax, NONE_LONG),
        (lambda x: ops.matmul(x, ops.transpose(x, (1, 0))), NONE_WIDE),
        (lambda x: ops.matmul(x, ops.transpose(x, (1, 0))), NONE_LONG),
        (lambda x: ops.concat((x, x), 1), NONE_WIDE),
        (lambda x: ops.reduce_max(x, 1), NONE_LONG),
        (lambda x: ops.cumsum(x, 1), NONE_WIDE),
    ],
)
def test_gradients_of_no_elements_are_no_elements(function, x):
    (made,) = ops.GradOperation(get_all=True)(Of(function))(Tensor(x))
    assert made.shape == x.shape


def zeros(*shape):
    return Tensor(np.zeros(shape, np.float32))


@pytest.mark.parametrize(
    ("function", "x", "y", "shape"),
    [
        (ops.matmul, (2, 3, 0), (0, 3), (2, 3, 3)),
        (ops.matmul, (2, 3, 0), (0,), (2, 3)),
        (ops.matmul, (0,), (2, 0, 3), (2, 3)),
        (ops.matmul, (0, 3, 4), (4, 2), (0, 3, 2)),
        (mint.matmul, (5, 2, 3, 0), (0, 3), (5, 2, 3, 3)),
        (ops.bmm, (2, 3, 0), (2, 0, 3), (2, 3, 3)),
        (ops.dense, (2, 3, 0), (4, 0), (2, 3, 4)),
        (mint.nn.functional.linear, (2, 3, 0), (4, 0), (2, 3, 4)),
        (lambda x, y: ops.tensor_dot(x, y, 1), (2, 3, 0), (0, 3), (2, 3, 3)),
        (lambda x, y: ops.tensor_dot(x, y, ((0,), (0,))), (2, 0), (2, 3), (0, 3)),
        (ops.inner, (2, 0), (3, 0), (2, 3)),
        (ops.dot, (2, 3, 0), (4, 0, 2), (2, 3, 4, 2)),
        (ops.kron, (0, 2), (2, 2), (0, 4)),
        (lambda x, y: ops.batch_dot(x, y, (2, 1)), (2, 3, 0), (2, 0, 3), (2, 3, 3)),
        (lambda x, y: ops.einsum("abk,kc->abc", x, y), (2, 3, 0), (0, 3), (2, 3, 3)),
        (lambda x, y: mint.norm(x, 2, (1, 2)) + y, (2, 3, 0), (2,), (2,)),
    ],
)
def test_products_over_no_elements_are_zeros(function, x, y, shape):
    for step in (lambda f: f, Of):
        np.testing.assert_array_equal(step(function)(zeros(*x), zeros(*y)).asnumpy(), np.zeros(shape, np.float32))


@pytest.mark.parametrize("x", [NONE_WIDE, NONE_LONG])
def test_the_mean_of_nothing_is_nan_and_its_maximum_refused(x):
    assert np.isnan(Of(ops.mean)(Tensor(x)).item())
    assert np.isnan(ops.mean(Tensor(x)).item())
    with pytest.raises(ShapeError, match="has nothing to reduce"):
        Of(ops.reduce_max)(Tensor(x))


def test_checked_mode_does_not_miss_what_has_no_elements():
    """The gradient of `b` sums a buffer of no bytes, which no kernel writes."""
    a, b, dy = (Tensor(np.ones(shape, np.float32)) for shape in ((0,), (33, 1), (33, 0)))
    gradients = ops.GradOperation(get_all=True, sens_param=True)
    with debug(jit=False):
        of_a, of_b = Of(lambda a, b, dy: gradients(ops.maximum)(a, b, dy))(a, b, dy)
    assert of_a.shape == (0,)
    np.testing.assert_array_equal(of_b.asnumpy(), np.zeros((33, 1)))
