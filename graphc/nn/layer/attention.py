"""Attention."""

from __future__ import annotations

import math
from typing import Any

from graphc import ops
from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import XavierNormal, XavierUniform
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.linear import Dense
from graphc.nn.layer.regularization import Dropout
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class MultiheadAttention(Cell):
    """softmax(Q K^T / sqrt(d) + mask) V in num_heads parts, projected (Vaswani et al., 2017; MindSpore: nn.MultiheadAttention).

    query [L, N, embed_dim], key [S, N, kdim] and value [S, N, vdim], each embed_dim by default; with batch_first the first two
    axes are swapped. Without the batch axis N all have two axes. key_padding_mask [N, S] and attn_mask [L, S] or
    [N num_heads, L, S]: bool, True where nothing is attended to, or floats, which are added. Returns (outputs, weights [N, L, S]
    averaged over heads, or per head, or None). Behind the S keys and values add_bias_kv puts one more to be trained, and
    add_zero_attn one of zeros; no mask hides them, and the weights have places for them. Parameters: in_proj_weight
    [3 embed_dim, embed_dim], or q_proj_weight, k_proj_weight and v_proj_weight where sizes differ, in_proj_bias, bias_k and
    bias_v, out_proj.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = "MultiheadAttention"
        self.embed_dim = checks.integer(owner, "embed_dim", embed_dim)
        self.num_heads = checks.integer(owner, "num_heads", num_heads)
        self.head_dim, self.dropout = embed_dim // num_heads, dropout
        if embed_dim % num_heads:
            raise checks.wrong_value(owner, "embed_dim", f"a multiple of num_heads = {num_heads}", embed_dim)
        self.kdim = embed_dim if kdim is None else checks.integer(owner, "kdim", kdim)
        self.vdim = embed_dim if vdim is None else checks.integer(owner, "vdim", vdim)
        self.add_zero_attn = checks.boolean(owner, "add_zero_attn", add_zero_attn)
        self.batch_first = checks.boolean(owner, "batch_first", batch_first)

        def weight(name: str, rows: int, columns: int) -> Parameter:
            return Parameter(initializer(XavierUniform(), (rows, columns), dtype), name)

        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = weight("in_proj_weight", 3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = weight("q_proj_weight", embed_dim, embed_dim)
            self.k_proj_weight = weight("k_proj_weight", embed_dim, self.kdim)
            self.v_proj_weight = weight("v_proj_weight", embed_dim, self.vdim)
        self.in_proj_bias: Parameter | None = None
        if checks.boolean(owner, "has_bias", has_bias):
            self.in_proj_bias = Parameter(initializer("zeros", (3 * embed_dim,), dtype), "in_proj_bias")
        self.bias_k = self.bias_v = None
        if checks.boolean(owner, "add_bias_kv", add_bias_kv):
            self.bias_k = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype), "bias_k")
            self.bias_v = Parameter(initializer(XavierNormal(), (1, 1, embed_dim), dtype), "bias_v")
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=dtype)
        self.drop = Dropout(p=float(dropout))

    def construct(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        batched = query.ndim == 3
        if query.ndim not in (2, 3) or query.shape[-1] != self.embed_dim:
            raise ShapeError(
                f"MultiheadAttention: query is {query.tensor_type}, embed_dim {self.embed_dim}", loc=user_loc()
            )
        at = 0 if self.batch_first else 1
        given = [query, key, value]
        if not batched:
            given = [ops.expand_dims(x, at) for x in given]
        given = [x if self.batch_first else ops.swapaxes(x, 0, 1) for x in given]
        q, k, v = (self._projected(x, i) for i, x in enumerate(given))
        k, v = self._with_more(k, self.bias_k), self._with_more(v, self.bias_v)
        scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) / math.sqrt(self.embed_dim // self.num_heads)
        for mask in self._masks(key_padding_mask, attn_mask, scores):
            scores = scores + mask
        weights = ops.softmax(scores, -1)
        joined = ops.swapaxes(ops.matmul(self.drop(weights), v), 1, 2)
        out = self.out_proj(ops.reshape(joined, (*joined.shape[:2], self.embed_dim)))
        out = out if self.batch_first else ops.swapaxes(out, 0, 1)
        if average_attn_weights:
            weights = ops.reduce_mean(weights, 1)
        if not batched:
            out, weights = ops.squeeze(out, at), ops.squeeze(weights, 0)
        return out, (weights if need_weights else None)

    def _projected(self, x: Tensor, part: int) -> Tensor:
        """[N, heads, length, size of a head]."""
        rows = slice(part * self.embed_dim, (part + 1) * self.embed_dim)
        n, length, size = x.shape
        weight: Any
        if self.in_proj_weight is not None:
            weight = self.in_proj_weight[rows]
        else:
            weight = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)[part]
        y = ops.matmul(ops.reshape(x, (n * length, size)), weight, transpose_b=True)
        if self.in_proj_bias is not None:
            y = ops.bias_add(y, self.in_proj_bias[rows])
        return ops.swapaxes(ops.reshape(y, (n, length, self.num_heads, -1)), 1, 2)

    def _with_more(self, x: Tensor, bias: Parameter | None) -> Tensor:
        """Keys or values, and behind them what add_bias_kv and add_zero_attn add."""
        n, heads, _, size = x.shape
        parts = [x]
        if bias is not None:
            parts.append(ops.broadcast_to(ops.reshape(bias, (1, heads, 1, size)), (n, heads, 1, size)))
        if self.add_zero_attn:
            parts.append(ops.zeros((n, heads, 1, size), x.dtype))
        return ops.concat(parts, 2) if len(parts) > 1 else x

    def _masks(self, padding: Any, attention: Any, scores: Tensor) -> list[Tensor]:
        """What is added to the scores [N, heads, L, S]."""
        made = []
        more = (self.bias_k is not None) + self.add_zero_attn
        if padding is not None:
            made.append(ops.reshape(added(padding, scores, more), (-1, 1, 1, scores.shape[3])))
        if attention is not None:
            mask = added(attention, scores, more)
            made.append(ops.reshape(mask, scores.shape) if mask.ndim == 3 else mask)
        return made


def added(mask: Tensor, scores: Tensor, more: int) -> Tensor:
    """A mask as numbers: minus infinity where a bool mask is True, and `more` zeros at the end."""
    if mask.tensor_type.dtype != "bool":
        if not mask.tensor_type.is_float:
            raise DTypeError(
                f"MultiheadAttention: a mask is {mask.tensor_type}, expected bool or floats", loc=user_loc()
            )
    else:
        hidden = ops.full(mask.shape, -math.inf, dtype=scores.dtype)
        mask = ops.select(mask, hidden, ops.zeros(mask.shape, scores.dtype))
    return ops.concat((mask, ops.zeros((*mask.shape[:-1], more), mask.dtype)), -1) if more else mask


__all__ = ["MultiheadAttention"]
