"""Embedding: rows of its table, gradients, initial values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import ParameterTuple, ShapeError, Tensor, nn, ops

Array = np.ndarray[Any, np.dtype[Any]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("use_one_hot", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_embedding(use_one_hot: bool, dtype: str) -> None:
    layer = nn.Embedding(7, 3, use_one_hot, padding_idx=2)
    table = layer.embedding_table.asnumpy()
    assert not table[2].any()
    assert [p.name for p in layer.get_parameters()] == ["embedding_table"]
    ids = np.array([[0, 6, 6], [2, 1, 0]], dtype)
    np.testing.assert_allclose(layer(Tensor(ids)).asnumpy(), table[ids], rtol=1e-6)
    sens = random(2, 3, 3)
    grad = ops.GradOperation(get_by_list=True, sens_param=True)(layer, ParameterTuple([layer.embedding_table]))
    wanted = np.zeros_like(table)
    np.add.at(wanted, ids, sens)
    np.testing.assert_allclose(grad(Tensor(ids), Tensor(sens))[0].asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_embedding_table_is_drawn_from_a_normal_distribution() -> None:
    table = nn.Embedding(200, 50).embedding_table.asnumpy()
    assert table.std() == pytest.approx(0.01, rel=0.05)
    given = random(4, 3)
    np.testing.assert_array_equal(nn.Embedding(4, 3, embedding_table=Tensor(given)).embedding_table.asnumpy(), given)


#: For 2 samples of 5 indices: rows of a table [6, 3], their weights and fields, of which the last is none of the three.
IDS = np.array([[1, 2, 3, 0, 4], [5, 1, 0, 0, 2]], np.int32)
WEIGHTS = np.array([[1, 2, 0.5, 0, -1.5], [0.5, -0.5, 0, 0, 2]], np.float32)
FIELDS = np.array([[0, 1, 0, 0, 1], [2, 2, 0, 3, 1]], np.int32)


def by_fields(operator: str, table: Array, weights: Array) -> Array:
    """What MultiFieldEmbeddingLookup gives, in float64, row by row."""
    found = np.zeros((2, 3, 3))
    for sample, field in np.ndindex(2, 3):
        here = FIELDS[sample] == field
        rows = table[IDS[sample, here]] * weights[sample, here, None]
        size = np.abs(weights[sample, here]).sum()
        if size:
            found[sample, field] = (
                rows.max(0) if operator == "MAX" else rows.sum(0) / (size if operator == "MEAN" else 1)
            )
    return found


@pytest.mark.parametrize("operator", ["SUM", "MEAN", "MAX"])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_by_fields(operator: str, sparse: bool) -> None:
    table, sens = random(6, 3).astype(np.float64), random(2, 3, 3, seed=1)
    layer = nn.MultiFieldEmbeddingLookup(6, 3, 3, Tensor(table.astype(np.float32)), sparse=sparse, operator=operator)
    inputs = Tensor(IDS), Tensor(WEIGHTS), Tensor(FIELDS)
    np.testing.assert_allclose(layer(*inputs).asnumpy(), by_fields(operator, table, WEIGHTS), rtol=1e-5, atol=1e-6)
    total = graphc.grad(lambda ids, v, f: ops.reduce_sum(layer(ids, v, f) * Tensor(sens)), 1, layer.trainable_params())
    of_weights, (of_table,) = total(*inputs)
    dense = of_table.to_dense() if hasattr(of_table, "to_dense") else of_table
    for array, gradient in ((table, dense), (WEIGHTS.astype(np.float64), of_weights)):
        for place in np.ndindex(array.shape):
            if array is not table and not array[place]:
                continue  # A weight of zero is a kink.
            ends = []
            for step in (1e-5, -1e-5):
                moved = array.copy()
                moved[place] += step
                given = (moved, WEIGHTS.astype(np.float64)) if array is table else (table, moved)
                ends.append((by_fields(operator, *given) * sens).sum())
            assert gradient.asnumpy()[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-3, abs=1e-4)


def test_what_rows_by_fields_refuse() -> None:
    layer = nn.MultiFieldEmbeddingLookup(6, 3, 3)
    with pytest.raises(ShapeError, match=r"must be \[batch, length\] all"):
        layer(Tensor(IDS), Tensor(WEIGHTS[:, :3]), Tensor(FIELDS))
    for options in ({"operator": "sum"}, {"slice_mode": "field_slice"}, {"feature_num_list": (1,)}, {"field_size": 0}):
        with pytest.raises(ValueError, match="MultiFieldEmbeddingLookup"):
            nn.MultiFieldEmbeddingLookup(**{"vocab_size": 6, "embedding_size": 3, "field_size": 3, **options})


def test_a_parameter_that_is_there_twice() -> None:
    """Layers that share a weight: each place of a ParameterTuple has the gradient, a clone is one Parameter, too."""
    layer = nn.Embedding(7, 3)
    twice = ParameterTuple([layer.embedding_table, layer.embedding_table])
    first, second = ops.GradOperation(get_by_list=True)(layer, twice)(Tensor([1, 1]))
    np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    assert first.asnumpy()[1].tolist() == [2, 2, 2]
    copies = twice.clone("old")
    assert copies[0] is copies[1]
    assert copies[0].name == "old.embedding_table"
