"""Attention of queries to keys, in the layouts and with the masks of MindSpore's FlashAttentionScore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.activation import softmax
from graphc.ops.functional.core import Operand, cast
from graphc.ops.functional.elementwise import add, logical_not, logical_or, mul, not_equal
from graphc.ops.functional.integers import bitwise_and, bitwise_right_shift
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.products import matmul
from graphc.ops.functional.shapes import expand_dims, reshape, transpose
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int
from graphc.validation.unused_arguments import only, refusal

#: Beyond any sequence: how far a query looks if nothing is said.
FAR = 2147483647
#: What a score becomes that does not count. It is finite: a query that may look at nothing looks at everything alike.
_HIDDEN = -1e30
_LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND", "TH")
#: The mask that comes with the modes that say themselves what is hidden.
_TRIANGLE = (2048, 2048)
_MODES = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Attention:
    """How attention is computed; the meaning of each is that of `flash_attention_score`'s argument."""

    head_num: int
    keep_prob: float
    scale: Operand
    pre_tokens: int
    next_tokens: int
    layout: str
    mode: int

    def check(self) -> None:
        """ArgumentTypeError or ArgumentValueError for values that mean nothing."""
        for name in ("head_num", "pre_tokens", "next_tokens", "mode"):
            value = getattr(self, name)
            exact_int(_NAME, name, value)
        if self.head_num < 1:
            _wrong(f"head_num must be at least 1, got {self.head_num}")
        if not 0 < self.keep_prob <= 1:
            _wrong(f"keep_prob must lie in (0, 1], got {self.keep_prob}")
        if self.layout not in _LAYOUTS:
            _wrong(f"input_layout must be one of {', '.join(_LAYOUTS)}, got {self.layout!r}")
        if self.mode not in _MODES:
            raise refusal(_NAME, "sparse_mode", self.mode, *_MODES)


_NAME = "flash_attention_score"


def _wrong(problem: str) -> NoReturn:
    raise ArgumentValueError(f"{_NAME}: {problem}", loc=user_loc())


def attend(
    how: Attention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    real_shift: Tensor | None,
    drop_mask: Tensor | None,
    attn_mask: Tensor | None,
    prefix: Any,
    actual_seq_qlen: Any,
    actual_seq_kvlen: Any,
) -> tuple[Tensor, list[Tensor]]:
    """(result, scores as they go into the softmax). The scores are [B, N1, S1, S2], or in the layouts TND and TH
    [1, N1, S1, S2] for each sequence.
    """
    how.check()
    _check_operands(how, query, key, value)
    if (how.keep_prob < 1) != (drop_mask is not None):
        _wrong(f"keep_prob = {how.keep_prob} {'needs' if how.keep_prob < 1 else 'goes without'} a drop_mask")
    if how.layout in ("TND", "TH"):
        only(_NAME, "real_shift", real_shift, None)
        only(_NAME, "drop_mask", drop_mask, None)
        if how.mode not in (0, 2, 3) or (how.mode == 0 and attn_mask is not None):
            raise refusal(_NAME, f"sparse_mode of input_layout {how.layout}, with a mask", how.mode, 2, 3)
        lengths = _lengths("actual_seq_qlen", actual_seq_qlen), _lengths("actual_seq_kvlen", actual_seq_kvlen)
        return _by_sequence(how, query, key, value, attn_mask, *lengths)
    only(_NAME, "actual_seq_qlen", actual_seq_qlen, None)
    only(_NAME, "actual_seq_kvlen", actual_seq_kvlen, None)
    rows = _heads(query, how.layout, how.head_num)
    width = rows.shape[-1]
    columns, values = (_heads(x, how.layout, _head_count(x, how.layout, width)) for x in (key, value))
    hidden = _hidden(how, rows, columns, attn_mask, prefix)
    y, scores = _attend(how, rows, columns, values, real_shift, drop_mask, hidden)
    return _joined(cast(y, query.dtype), how.layout), [scores]


def flash_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    real_shift: Tensor | None = None,
    drop_mask: Tensor | None = None,
    padding_mask: None = None,
    attn_mask: Tensor | None = None,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    keep_prob: float = 1.0,
    scalar_value: Operand = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    inner_precise: int = 0,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> Tensor:
    """dropout(softmax(scalar_value (query key^T + real_shift), masked)) value, of query's shape and dtype (MindSpore:
    ops.flash_attention_score).

    input_layout: B batch, S sequence, N heads, D features of a head, H = N D; in TND and TH, T = all sequences one behind the
    other, which end at actual_seq_qlen and actual_seq_kvlen. query has head_num heads; key and value a divisor of that, each
    for as many neighbouring heads. The float dtypes; float64 is computed in float64, the others in float32.
    real_shift: [B or 1, N, S1, S2]. drop_mask: uint8 [B, N, S1, S2 / 8], a bit per score, the lowest first: 1 keeps it and
    divides it by keep_prob. attn_mask: bool or uint8, 1 hides: [B, N, S1, S2], [B, 1, S1, S2], [S1, S2]; in modes 2, 3 and 4
    [2048, 2048], which is not read. sparse_mode: 0 hides by attn_mask what is not also within pre_tokens back and next_tokens
    ahead; 1 by attn_mask alone; 2 what is ahead, counted from the first query and key; 3 from the last ones; 4 all but
    pre_tokens back and next_tokens ahead, counted from the last; 5 what mode 3 hides, but for the first prefix[b] keys, and by
    attn_mask. A query all of whose keys are hidden gets the mean of the values. inner_precise says how, not what.
    Raises ArgumentTypeError, ArgumentValueError, ShapeError or DTypeError.
    """
    only(_NAME, "padding_mask", padding_mask, None)
    how = Attention(head_num, keep_prob, scalar_value, pre_tokens, next_tokens, input_layout, sparse_mode)
    operands = (real_shift, drop_mask, attn_mask, prefix, actual_seq_qlen, actual_seq_kvlen)
    return attend(how, query, key, value, *operands)[0]


def unpacked_bits(packed: Tensor) -> Tensor:
    """bool [..., 8 n] of the bits in uint8 [..., n], the lowest first."""
    bytes_ = expand_dims(cast(packed, "int32"), -1)
    bits = bitwise_and(bitwise_right_shift(bytes_, Tensor(np.arange(8, dtype=np.int32))), 1)
    return not_equal(reshape(bits, (*packed.shape[:-1], packed.shape[-1] * 8)), 0)


# ---- layouts


def _check_operands(how: Attention, query: Tensor, key: Tensor, value: Tensor) -> None:
    operands = {"query": query, "key": key, "value": value}
    for name, x in operands.items():
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(f"{_NAME}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
        if x.ndim != len(how.layout):
            raise ShapeError(
                f"{_NAME}: {name} is {x.tensor_type}, expected the axes {', '.join(how.layout)}", loc=user_loc()
            )
    told = [f"{name}: {x.tensor_type}" for name, x in operands.items()]
    if (
        not query.tensor_type.is_float
        or not query.tensor_type.dtype == key.tensor_type.dtype == value.tensor_type.dtype
    ):
        raise DTypeError(f"{_NAME}: query, key and value must be of one float dtype", loc=user_loc(), details=told)
    batch = how.layout.find("B")
    if key.shape != value.shape or (batch >= 0 and query.shape[batch] != key.shape[batch]):
        raise ShapeError(
            f"{_NAME}: key and value must be of one shape, with as many batches as query", loc=user_loc(), details=told
        )
    if "H" in how.layout and query.shape[-1] % how.head_num:
        _wrong(f"query is {query.tensor_type}: its last axis cannot be divided into {how.head_num} heads")
    if "N" in how.layout and query.shape[how.layout.index("N")] != how.head_num:
        _wrong(f"query is {query.tensor_type} in layout {how.layout}, head_num is {how.head_num}")
    if "D" in how.layout and query.shape[-1] != key.shape[-1]:
        raise ShapeError(f"{_NAME}: heads have other sizes in query and key", loc=user_loc(), details=told)


def _head_count(x: Tensor, layout: str, width: int) -> int:
    """How many heads of that width key and value have."""
    if "N" in layout:
        return x.shape[layout.index("N")]
    if x.shape[-1] % width:
        _wrong(f"key is {x.tensor_type}: its last axis cannot be divided into heads of {width}")
    return x.shape[-1] // width


def _heads(x: Tensor, layout: str, count: int) -> Tensor:
    """[B, N, S, D]."""
    if layout == "BNSD":
        return x
    split = x if layout == "BSND" else reshape(x, (*x.shape[:2], count, x.shape[2] // count))
    return transpose(split, (1, 2, 0, 3) if layout == "SBH" else (0, 2, 1, 3))


def _joined(y: Tensor, layout: str) -> Tensor:
    """[B, N, S, D] in a layout."""
    if layout == "BNSD":
        return y
    moved = transpose(y, (2, 0, 1, 3) if layout == "SBH" else (0, 2, 1, 3))
    return moved if layout == "BSND" else reshape(moved, (*moved.shape[:2], moved.shape[2] * moved.shape[3]))


def _lengths(name: str, ends: Any) -> list[int]:
    if ends is None:
        _wrong(f"the layouts TND and TH need {name}")
    made = [int(e) for e in (ends.asnumpy() if isinstance(ends, Tensor) else ends)]
    if not made or any(b < a for a, b in zip([0, *made], made, strict=False)):
        _wrong(f"{name} must be the ends of sequences one behind the other, got {made}")
    return made


def _by_sequence(
    how: Attention, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, ends: list[int], key_ends: list[int]
) -> tuple[Tensor, list[Tensor]]:
    """Attention within each sequence of [T, N, D], or of [T, H]."""
    whole, total = query.shape, (query.shape[0], key.shape[0])
    if len(ends) != len(key_ends) or (ends[-1], key_ends[-1]) != total:
        _wrong(f"actual_seq_qlen {ends} and actual_seq_kvlen {key_ends} must be as many, and end at {total}")
    if how.layout == "TH":
        width = query.shape[1] // how.head_num
        count = _head_count(key, how.layout, width)
        query = reshape(query, (total[0], how.head_num, width))
        key, value = (reshape(x, (total[1], count, width)) for x in (key, value))
    parts, scores = [], []
    for start, end, first, last in zip([0, *ends], ends, [0, *key_ends], key_ends, strict=False):
        rows, columns, values = (
            transpose(expand_dims(getitem(x, slice(a, b)), 0), (0, 2, 1, 3))
            for x, a, b in ((query, start, end), (key, first, last), (value, first, last))
        )
        y, s = _attend(how, rows, columns, values, None, None, _hidden(how, rows, columns, mask, None))
        parts.append(reshape(transpose(y, (0, 2, 1, 3)), (end - start, *query.shape[1:])))
        scores.append(s)
    return reshape(cast(concat(parts, 0), query.dtype), whole), scores


# ---- masks


def _hidden(how: Attention, query: Tensor, key: Tensor, mask: Tensor | None, prefix: Any) -> Tensor | None:
    """bool, broadcast to [B, N1, S1, S2]: which scores do not count; None if all do."""
    if (prefix is not None) != (how.mode == 5):
        _wrong("prefix goes with sparse_mode 5, and the other way round")
    if mask is None:
        if how.mode:
            _wrong(f"sparse_mode {how.mode} needs an attn_mask")
        return None
    if not isinstance(mask, Tensor) or mask.tensor_type.dtype not in ("bool", "uint8"):
        kind = mask.tensor_type if isinstance(mask, Tensor) else type(mask).__name__
        raise DTypeError(f"{_NAME}: attn_mask must be of bool or uint8, it is {kind}", loc=user_loc())
    (batch, heads, rows, _), columns = query.shape, key.shape[2]
    shapes = ((batch, heads, rows, columns), (batch, 1, rows, columns), (rows, columns))
    known = (_TRIANGLE,) if how.mode in (2, 3, 4) else shapes[: 2 if how.mode == 5 else 3]
    if mask.shape not in known:
        raise ShapeError(
            f"{_NAME}: attn_mask is {mask.tensor_type}, expected {' or '.join(map(str, known))} with sparse_mode {how.mode}",
            loc=user_loc(),
        )
    area = _area(how, rows, columns, prefix)
    if how.mode in (2, 3, 4):
        assert area is not None
        return Tensor(~area)
    given = mask if mask.tensor_type.dtype == "bool" else not_equal(mask, 0)
    return given if area is None or area.all() else logical_or(given, Tensor(~area))


def _area(how: Attention, rows: int, columns: int, prefix: Any) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Which keys the mode lets a query look at: [S1, S2], or [B, 1, S1, S2]; None if it does not say."""
    ahead = np.arange(columns) - np.arange(rows)[:, None]
    from_the_end = ahead - (columns - rows)
    if how.mode == 2:
        return np.asarray(ahead <= 0)
    if how.mode == 3:
        return np.asarray(from_the_end <= 0)
    if how.mode in (0, 4):
        far = ahead if how.mode == 0 else from_the_end
        band = (far <= how.next_tokens) & (-far <= how.pre_tokens)
        if not band.any():
            _wrong(f"pre_tokens = {how.pre_tokens} and next_tokens = {how.next_tokens} leave no key to any query")
        return np.asarray(band)
    if how.mode == 5:
        counts = np.asarray(prefix.asnumpy() if isinstance(prefix, Tensor) else prefix, np.int64)
        return np.asarray((from_the_end <= 0) | (np.arange(columns) < counts.reshape(-1, 1, 1, 1)))
    return None


# ---- the computation


def _attend(
    how: Attention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    shift: Tensor | None,
    drop_mask: Tensor | None,
    hidden: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """(result [B, N1, S1, D], scores [B, N1, S1, S2]), both in float32 or float64."""
    exact = "float64" if query.tensor_type.dtype == "float64" else "float32"
    (batch, heads, rows, width), count, columns = query.shape, key.shape[1], key.shape[2]
    if heads % count:
        _wrong(f"{heads} heads of query do not divide into the {count} of key")
    query, key, value = (cast(x, exact) for x in (query, key, value))
    shape = (batch, heads, rows, columns)
    if shift is not None and shift.shape not in (shape, (1, *shape[1:])):
        raise ShapeError(
            f"{_NAME}: real_shift is {shift.tensor_type}, expected {shape} or {(1, *shape[1:])}", loc=user_loc()
        )
    # The heads that share a key are rows of one product.
    grouped = (batch, count, heads // count * rows)
    product = matmul(reshape(mul(query, how.scale), (*grouped, width)), key, transpose_b=True)
    scores = reshape(product, shape)
    if shift is not None:
        scores = add(scores, mul(cast(shift, exact), how.scale))
    if hidden is not None:
        scores = select(hidden, _HIDDEN, scores)
    shares = softmax(scores, -1)
    if drop_mask is not None:
        if drop_mask.tensor_type.dtype != "uint8" or columns % 8 or drop_mask.shape != (*shape[:3], columns // 8):
            raise ShapeError(
                f"{_NAME}: drop_mask is {drop_mask.tensor_type}, expected uint8 [{batch}, {heads}, {rows}, {columns} / 8]",
                loc=user_loc(),
            )
        shares = select(logical_not(unpacked_bits(drop_mask)), 0.0, mul(shares, 1.0 / how.keep_prob))
    return reshape(matmul(reshape(shares, (*grouped, columns)), value), query.shape), scores


__all__ = ["flash_attention_score"]
