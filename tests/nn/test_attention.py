"""Attention: what masks mean."""

from __future__ import annotations

import numpy as np

from graphc import Tensor, nn
from tests.data.ms_layer_gradients import LINES, array


def test_attention_masks():
    """A key that is masked counts nothing: the result is that of the others alone."""
    layer = nn.MultiheadAttention(7, 1)
    query, keys = Tensor(LINES[:, :1].copy()), array(5, 1, 7)
    kept = np.array([True, False, True, True, False])
    padding = Tensor(~kept[None])
    wanted, _ = layer(query, *[Tensor(keys[kept])] * 2)
    for options in ({"key_padding_mask": padding}, {"attn_mask": Tensor(np.tile(~kept, (2, 1)))}):
        got, weights = layer(query, Tensor(keys), Tensor(keys), **options)
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
        assert weights.asnumpy()[..., ~kept].max() == 0


def test_initial_values_of_the_projection():
    """As MindSpore's: weights and bias uniform within 1 / sqrt(embed_dim)."""
    projection = nn.MultiheadAttention(16, 2).out_proj
    for p in (projection.weight, projection.bias):
        values = abs(p.asnumpy())
        assert 0.1 < values.max() <= 0.25
