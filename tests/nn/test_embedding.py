"""Embedding: rows of its table, gradients, initial values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphc import ParameterTuple, Tensor, nn, ops

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
