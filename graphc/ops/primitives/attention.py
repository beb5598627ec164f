"""Attention as a primitive, and the packed masks of dropout that go with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.attention import FAR, Attention, attend, unpacked_bits
from graphc.ops.functional.core import Operand
from graphc.ops.functional.experts import finalized
from graphc.ops.tensor.primitive import REQUIRED, Hint, declare
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def _flash_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    real_shift: Tensor | None = None,
    drop_mask: Tensor | None = None,
    padding_mask: None = None,
    attn_mask: Tensor | None = None,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    *,
    head_num: int,
    keep_prob: float,
    scale_value: float,
    pre_tokens: int,
    next_tokens: int,
    input_layout: str,
    sparse_mode: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(greatest score, sum of exp(score - greatest), an empty place, attention), see `ops.flash_attention_score`.

    The first two are float32 [B, N1, S1, 8], in the layouts TND and TH [T1, N1, 8], every number eight times; the third is 0.
    """
    only("FlashAttentionScore", "padding_mask", padding_mask, None)
    how = Attention(head_num, keep_prob, scale_value, pre_tokens, next_tokens, input_layout, sparse_mode)
    operands = (real_shift, drop_mask, attn_mask, prefix, actual_seq_qlen, actual_seq_kvlen)
    y, scores = attend(how, query, key, value, *operands)
    greatest = [F.reduce_max(s, -1, True) for s in scores]
    sums = [F.reduce_sum(F.exp(F.sub(s, m)), -1, True) for s, m in zip(scores, greatest, strict=True)]
    told = (_eightfold(x, input_layout) for x in (greatest, sums))
    return (*told, F.zeros((), query.dtype), y)  # type: ignore[return-value]


def _eightfold(parts: list[Tensor], layout: str) -> Tensor:
    if layout not in ("TND", "TH"):
        return F.tile(F.cast(parts[0], "float32"), (1, 1, 1, 8))
    rows = F.concat([F.transpose(F.reshape(x, x.shape[1:]), (1, 0, 2)) for x in parts], 0)
    return F.tile(F.cast(rows, "float32"), (1, 1, 8))


FlashAttentionScore = declare(
    "FlashAttentionScore",
    _flash_attention_score,
    head_num=REQUIRED,
    keep_prob=1.0,
    scale_value=1.0,
    pre_tokens=FAR,
    next_tokens=FAR,
    inner_precise=Hint(0),
    input_layout="BSH",
    sparse_mode=0,
)

# ---- masks of dropout, a bit for an element


def _drop_gen_mask(shape: Sequence[int], keep_prob: Operand, Seed0: int, Seed1: int) -> Tensor:
    """uint8 [n]: a random bit for each element of a shape, 1 with the probability keep_prob, the lowest bit first; up to a
    multiple of 128 bits.
    """
    count = -(-math.prod(shape) // 128) * 128
    bits = F.less(F.uniform_from(generator(Seed0 or Seed1 or None), (count // 8, 8)), F.cast(keep_prob, "float32"))
    weights = Tensor(2 ** np.arange(8, dtype=np.int32))
    return F.cast(F.reduce_sum(F.mul(F.cast(bits, "int32"), weights), 1), "uint8")


def _drop_do_mask(x: Tensor, mask: Tensor, keep_prob: Operand) -> Tensor:
    """x / keep_prob where the mask of DropoutGenMask has a 1, else 0."""
    count = math.prod(x.shape)
    if mask.tensor_type.dtype != "uint8" or mask.ndim != 1 or mask.size * 8 < count:
        raise ShapeError(
            f"DropoutDoMask: mask is {mask.tensor_type}, expected uint8 [n] of {count} bits", loc=user_loc()
        )
    if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
        raise ArgumentValueError(f"DropoutDoMask: keep_prob must lie in (0, 1], got {keep_prob}", loc=user_loc())
    kept = F.reshape(unpacked_bits(mask)[:count], x.shape)
    scaled = F.div(x, F.cast(keep_prob, x.dtype) if isinstance(keep_prob, Tensor) else keep_prob)
    return F.select(kept, scaled, F.zeros_like(x))


DropoutGenMask = declare("DropoutGenMask", _drop_gen_mask, Seed0=0, Seed1=0)
DropoutDoMask = declare("DropoutDoMask", _drop_do_mask)


MoeFinalizeRouting = declare("MoeFinalizeRouting", finalized)
