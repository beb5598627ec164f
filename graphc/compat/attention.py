"""`mindspore.ops.function.nn_func`: parts of attention, borders and resizing that scripts with layers of their own import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphc import mint, ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.mint.nn.functional import pad as pad_ext
from graphc.nn.layer.attention import added
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only

__all__ = [
    "_check_attn_mask_shape", "_check_kpm_shape", "_check_qkv_shape", "_in_projection", "_in_projection_packed", "_inner_dropout",
    "_inner_pad", "_interploate_ext_make_tuple", "_interpolate_ext_scale_factor_convert_size", "linear",
    "multi_head_attention_forward", "pad_ext",
]  # fmt: skip


def _wrong(message: str) -> ArgumentValueError:
    return ArgumentValueError(message, loc=user_loc())


def _check_qkv_shape(query_ndim: int, key_ndim: int, value_ndim: int) -> bool:
    """Whether query, key and value have a batch: all have three axes, or two. Raises ArgumentValueError."""
    if query_ndim not in (2, 3):
        raise _wrong(f"attention: the query has {query_ndim} axes, expected 2 or 3")
    if (key_ndim, value_ndim) != (query_ndim, query_ndim):
        raise _wrong(f"attention: key and value have {key_ndim} and {value_ndim} axes, the query {query_ndim}")
    return query_ndim == 3


def _check_kpm_shape(query_ndim: int, kmp_ndim: int) -> None:
    """Raises ArgumentValueError unless a mask of keys has one axis less than the query."""
    if query_ndim in (2, 3) and kmp_ndim != query_ndim - 1:
        raise _wrong(f"attention: key_padding_mask has {kmp_ndim} axes, expected {query_ndim - 1}")


def _check_attn_mask_shape(
    query_ndim: int,
    query_shape: Sequence[int],
    key_shape: Sequence[int],
    attn_mask_ndim: int,
    attn_mask_shape: Sequence[int],
    num_heads: int,
) -> None:
    """Raises ArgumentValueError for a mask of pairs that does not fit query and keys."""
    if query_ndim in (2, 3) and attn_mask_ndim not in (2, 3):
        raise _wrong(f"attention: attn_mask has {attn_mask_ndim} axes, expected 2 or 3")
    wanted = (num_heads, query_shape[0], key_shape[0])
    if query_ndim == 2 and attn_mask_ndim == 3 and tuple(attn_mask_shape) != wanted:
        raise _wrong(f"attention: attn_mask is {tuple(attn_mask_shape)}, expected {wanted}")


def linear(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """x w' + b, for x [..., in], w [out, in]; b [out] or None."""
    made: Tensor = ops.matmul(x, w.swapaxes(-1, -2))
    return made if b is None else made + b


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value by layers of their own, all as wide as the query. Raises ArgumentValueError for other shapes."""
    width = q.shape[-1]
    for name, x, w, b in (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v)):
        if w.shape != (width, x.shape[-1]):
            raise _wrong(f"attention: the weight of the {name} is {w.shape}, expected {(width, x.shape[-1])}")
        if b is not None and b.shape != (width,):
            raise _wrong(f"attention: the bias of the {name} is {b.shape}, expected {(width,)}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None, k_is_v: bool, q_is_k: bool
) -> tuple[Tensor, ...]:
    """Query, key and value by one layer of three parts: w [3 * E, E], b [3 * E] or None."""
    width = q.shape[-1]
    if k_is_v and q_is_k:
        return tuple(mint.chunk(linear(q, w, b), 3, -1))
    weights: list[Tensor] = [w[i * width : (i + 1) * width] for i in range(3)]
    biases = [None if b is None else b[i * width : (i + 1) * width] for i in range(3)]
    return tuple(linear(x, wide, bias) for x, wide, bias in zip((q, k, v), weights, biases, strict=True))


def _inner_dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """x, with elements left out with probability p in training."""
    return ops.dropout(x, p) if 0.0 < p <= 1.0 and training else x


def _inner_pad(x: Tensor, padding: Any, value: Any = None) -> Tensor:
    """x with a border, flags too."""
    flags = x.tensor_type.dtype == "bool"
    made: Tensor = ops.pad(ops.cast(x, "int32") if flags else x, padding, value=value)
    return ops.cast(made, "bool") if flags else made


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    k_is_v: bool = False,
    q_is_k: bool = False,
    dtype: Any = None,
) -> tuple[Tensor, Tensor]:
    """(outputs [L, N, E], weights [N, L, S], or [N, heads, L, S] if not averaged) of attention in num_heads parts.

    query [L, N, E], key [S, N, E], value [S, N, E], or without the axis N; masks as `nn.MultiheadAttention` has them. dtype has
    no effect: results have the dtype of the operands. Raises ArgumentValueError for other shapes, and for static_k, static_v and
    is_causal.
    """
    for name, given, wanted in (
        ("static_k", static_k, None),
        ("static_v", static_v, None),
        ("is_causal", is_causal, False),
    ):
        only("multi_head_attention_forward", name, given, wanted)
    batched = _check_qkv_shape(query.ndim, key.ndim, value.ndim)
    width = query.shape[-1]
    if width != embed_dim_to_check or width % num_heads:
        raise _wrong(
            f"attention: the query is {query.shape}, expected {embed_dim_to_check} at the end, in {num_heads} heads"
        )
    query, key, value = (x if batched else ops.expand_dims(x, 1) for x in (query, key, value))
    if use_separate_proj_weight:
        biases = (None,) * 3 if in_proj_bias is None else mint.chunk(in_proj_bias, 3)
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _in_projection(query, key, value, *weights, *biases)
    else:
        packed: Any = in_proj_weight
        q, k, v = _in_projection_packed(query, key, value, packed, in_proj_bias, k_is_v, q_is_k)
    more = int(bias_k is not None) + int(add_zero_attn)
    for bias, name in ((bias_k, "k"), (bias_v, "v")):
        if bias is not None:
            row = ops.broadcast_to(ops.reshape(bias, (1, 1, width)), (1, k.shape[1], width))
            k, v = (ops.concat((k, row)), v) if name == "k" else (k, ops.concat((v, row)))
    if add_zero_attn:
        k, v = (ops.concat((x, ops.zeros((1, *x.shape[1:]), x.dtype))) for x in (k, v))
    q, k, v = (ops.transpose(ops.reshape(x, (*x.shape[:2], num_heads, -1)), (1, 2, 0, 3)) for x in (q, k, v))
    scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) / math.sqrt(width // num_heads)
    if key_padding_mask is not None:
        scores = scores + ops.reshape(added(key_padding_mask, scores, more), (-1, 1, 1, scores.shape[3]))
    if attn_mask is not None:
        mask = added(attn_mask, scores, more)
        scores = scores + (ops.reshape(mask, scores.shape) if mask.ndim == 3 else mask)
    shares = _inner_dropout(ops.softmax(scores, -1), dropout_p, training)
    joined = ops.reshape(ops.transpose(ops.matmul(shares, v), (2, 0, 1, 3)), query.shape)
    out, shown = (
        linear(joined, out_proj_weight, out_proj_bias),
        ops.reduce_mean(shares, 1) if average_attn_weights else shares,
    )
    return (out, shown) if batched else (ops.squeeze(out, 1), ops.squeeze(shown, 0))


def _interploate_ext_make_tuple(input: Tensor, value: Any) -> Any:
    """value, once for each axis behind the first two, unless it is a tuple or list already."""
    return value if isinstance(value, (list, tuple)) else (value,) * (input.ndim - 2)


def _interpolate_ext_scale_factor_convert_size(input: Tensor, scale_factor: Sequence[float]) -> tuple[int, ...]:
    """The sizes of an image, times the factors, rounded down."""
    return tuple(math.floor(n * factor) for n, factor in zip(input.shape[2:], scale_factor, strict=False))
