"""Further functions and primitives against MindSpore's recorded numbers (tests/data/ms_more_functions.py); gradients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.ops import primitives
from tests.data.ms_more_functions import CASES, GRADIENTS, IMAGES, X, array, measured

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_more_functions.json").read_text())


def test_every_case_is_recorded():
    assert list(RECORDED) == [*CASES, *GRADIENTS]


@pytest.mark.parametrize("name", [*CASES, *GRADIENTS])
def test_results(name):
    got, wanted = measured(ops, primitives, Tensor, name), RECORDED[name]
    assert (list(got.shape), str(got.dtype)) == (wanted["shape"], wanted["dtype"])
    expected = np.array(wanted["values"]).reshape(got.shape)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=4e-6)


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


def test_what_undoes_what():
    there = ops.space_to_batch_nd(Tensor(IMAGES), [2, 2], [[0, 0], [0, 0]])
    assert (ops.batch_to_space_nd(there, [2, 2], [[0, 0], [0, 0]]).asnumpy() == IMAGES).all()
    columns = ops.unfold(Tensor(IMAGES), 2, stride=2)
    assert (ops.fold(columns, (4, 6), 2, stride=2).asnumpy() == IMAGES).all()
    counts = ops.fold(ops.ones_like(ops.unfold(Tensor(IMAGES), 3)), (4, 6), 3).asnumpy()
    assert counts.max() == 6
    assert counts.sum() == 2 * 3 * 9 * 2 * 4
    assert (ops.matrix_diag_part(ops.matrix_diag(Tensor(X))).asnumpy() == X).all()


def test_searching():
    edges, x = [-0.5, 0.0, 0.25], np.array([-0.5, -0.1, 0.25, 3.0], np.float32)
    assert ops.bucketize(Tensor(x), edges).asnumpy().tolist() == np.searchsorted(edges, x, "left").tolist()
    assert ops.bucketize(Tensor(x), edges, right=True).asnumpy().tolist() == np.searchsorted(edges, x, "right").tolist()
    order = np.array([2, 0, 1])
    found = ops.searchsorted(
        Tensor(np.array(edges, np.float32)[[1, 2, 0]]), Tensor(x), sorter=Tensor(order), side="right"
    )
    assert found.asnumpy().tolist() == np.searchsorted(edges, x, "right").tolist()


def test_casts_outside_a_step_saturate_as_those_in_it():
    x = np.array([2.7, -2.7, 1e20, -1e20, np.nan, np.inf], np.float32)
    for dtype in ("int8", "uint8", "int32", "int64"):
        assert (
            ops.cast(Tensor(x), dtype).asnumpy() == graphc.jit(lambda t, d=dtype: ops.cast(t, d))(Tensor(x)).asnumpy()
        ).all()


def test_integer_products():
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    assert (ops.matmul(Tensor(a), Tensor(b)).asnumpy() == a @ b).all()
    assert (Tensor(a[0]) @ Tensor(b)).asnumpy().tolist() == (a[0] @ b).tolist()
    with pytest.raises(ValueError, match="rows of 3"):
        ops.matmul(Tensor(a), Tensor(a))


def test_an_index_that_an_axis_does_not_have():
    class Beyond(nn.Cell):
        def construct(self, x):
            return x[5]

    for call in (lambda: Beyond()(Tensor(X)), lambda: Tensor(X)[0, 0, 0]):
        with pytest.raises(IndexError) as caught:
            call()
        assert isinstance(caught.value, graphc.GraphcError)
        assert "test_more_functions.py" in str(caught.value)


def test_the_methods_that_give_places_and_values_give_values_first():
    values, places = Tensor(X).argmax_with_value(1)
    assert (values.asnumpy() == X.max(1)).all()
    assert (places.asnumpy() == X.argmax(1)).all()
    assert places.dtype == graphc.int64
    values, places = Tensor(X).argmin_with_value(0, keep_dims=True)
    assert (values.asnumpy() == X.min(0, keepdims=True)).all()
    assert places.shape == (1, 4)
