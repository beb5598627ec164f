"""What MindSpore has as one kernel of a device, written out: the compiler fuses it."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ops.functional.core import Operand, call, cast_to, halves_widened
from graphc.ops.functional.elementwise import add, mul, neg, rsqrt, square, sub
from graphc.ops.functional.joining import concat, stack
from graphc.ops.functional.reduce import reduce_mean, reduce_sum
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sorting import argsort
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean, exact_int
from graphc.validation.unused_arguments import only


def rotary_position_embedding(x: Tensor, cos: Tensor, sin: Tensor, mode: int = 0) -> Tensor:
    """x cos + r(x) sin (Su et al., 2021; MindSpore: ops.rotary_position_embedding), in the dtype of x.

    x: floats of four axes, the last of an even size; cos and sin are broadcast. r moves halves, (-x2, x1), or with mode 1
    neighbours, (-x1, x0, -x3, x2, ...). Raises ShapeError, DTypeError, ArgumentValueError.
    """
    owner = "rotary_position_embedding"
    if mode not in (0, 1):
        raise ArgumentValueError(f"{owner}: mode must be 0 or 1, got {mode!r}", loc=user_loc())
    if x.ndim != 4 or x.shape[-1] % 2:
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected four axes, the last of an even size", loc=user_loc())
    if not x.tensor_type.is_float:
        raise DTypeError(f"{owner}: x is {x.tensor_type}, expected floats", loc=user_loc())
    half = x.shape[-1] // 2
    if mode == 0:
        turned = concat((neg(getitem(x, (..., slice(half, None)))), getitem(x, (..., slice(half)))), -1)
    else:
        even, odd = (getitem(x, (..., slice(k, None, 2))) for k in (0, 1))
        turned = reshape(stack((neg(odd), even), -1), x.shape)
    return cast_to(add(mul(x, cos), mul(turned, sin)), x.tensor_type.dtype)


def _sum_of(owner: str, x1: Tensor, x2: Tensor) -> Tensor:
    if x1.tensor_type != x2.tensor_type or not x1.tensor_type.is_float:
        raise ShapeError(
            f"{owner}: x1 is {x1.tensor_type} and x2 {x2.tensor_type}, expected floats of one type", loc=user_loc()
        )
    return add(x1, x2)


def add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: Operand = 1e-5, additional_output: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(y, mean, 1 / deviation, x) of the sum x = x1 + x2: y is x standardized over its last axis, times gamma plus beta.

    x1, x2: floats of one type; gamma, beta: [n]. The means are taken in float32 at least, and have the dtype of x1 and a last
    axis of 1. additional_output: accepted, x is always there. Raises ShapeError, ArgumentTypeError.
    """
    owner = "add_layer_norm"
    x = _sum_of(owner, x1, x2)
    for name, p in (("gamma", gamma), ("beta", beta)):
        if p.shape != x.shape[-1:]:
            raise ShapeError(f"{owner}: {name} is {p.tensor_type}, expected shape {x.shape[-1:]}", loc=user_loc())
    boolean(owner, "additional_output", additional_output)
    wide, own = halves_widened(x), x.tensor_type.dtype
    mean = reduce_mean(wide, -1, True)
    centred = sub(wide, mean)
    factor = rsqrt(add(reduce_mean(square(centred), -1, True), epsilon))
    y = add(mul(mul(centred, factor), gamma), beta)
    return cast_to(y, own), cast_to(mean, own), cast_to(factor, own), x


def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """(x / sqrt(mean x^2 + epsilon) gamma, the factor in float32, x) of the sum x = x1 + x2, over the axes of gamma.

    x1, x2: floats of one type. Raises ShapeError, ArgumentValueError.
    """
    owner = "add_rms_norm"
    x = _sum_of(owner, x1, x2)
    if not gamma.ndim or x.shape[-gamma.ndim :] != gamma.shape:
        raise ShapeError(
            f"{owner}: gamma is {gamma.tensor_type}, expected the last axes of {x.tensor_type}", loc=user_loc()
        )
    if not 0 < epsilon <= 1:
        raise ArgumentValueError(f"{owner}: epsilon must lie in (0, 1], got {epsilon!r}", loc=user_loc())
    wide = halves_widened(x)
    factor = rsqrt(add(reduce_mean(square(wide), tuple(range(-gamma.ndim, 0)), True), epsilon))
    return cast_to(mul(mul(wide, factor), gamma), x.tensor_type.dtype), cast_to(factor, "float32"), x


# ---- tokens and experts


def moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """(rows of tokens in the order of their experts, int32: where each (token, choice) stands among them).

    tokens: [n, width]; indices: int32 or int64 [n] or [n, choices], the experts. Of one expert the first token comes first.
    num_out_tokens: how many rows are kept, all by default. padded_mode must be False. Raises ShapeError, DTypeError,
    ArgumentTypeError, ArgumentValueError.
    """
    owner = "moe_token_permute"
    only(owner, "padded_mode", padded_mode, False)
    if tokens.ndim != 2 or indices.ndim not in (1, 2) or indices.shape[0] != tokens.shape[0]:
        raise ShapeError(
            f"{owner}: tokens are {tokens.tensor_type} and indices {indices.tensor_type}, expected [n, width], and [n] or"
            " [n, choices]",
            loc=user_loc(),
        )
    if indices.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"{owner}: indices are {indices.tensor_type}, expected int32 or int64", loc=user_loc())
    kept = indices.size if num_out_tokens is None else num_out_tokens
    exact_int(owner, "num_out_tokens", kept)
    if kept < 0:
        raise ArgumentValueError(f"{owner}: num_out_tokens must be at least 0, got {kept}", loc=user_loc())
    order = cast_to(argsort(reshape(indices, (-1,))), "int32")
    choices = indices.size // max(tokens.shape[0], 1)
    rows = getitem(order, slice(min(kept, indices.size)))
    return call("Gather", tokens, rows // choices if choices > 1 else rows, axis=0), cast_to(argsort(order), "int32")


def moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: Sequence[int] | None = None,
) -> Tensor:
    """[n, width]: what moe_token_permute put together, in order again, and summed over the choices of a token.

    permuted_tokens: [rows, width]; sorted_indices: int32 [n choices], where each (token, choice) stands; rows that are not there
    count as zeros. probs: [n, choices], factors; without it there is one choice. padded_mode must be False, which restore_shape
    has no meaning for. Raises ShapeError, DTypeError, ArgumentValueError.
    """
    owner = "moe_token_unpermute"
    only(owner, "padded_mode", padded_mode, False)
    only(owner, "restore_shape", restore_shape, None)
    if (
        permuted_tokens.ndim != 2
        or sorted_indices.ndim != 1
        or sorted_indices.tensor_type.dtype not in ("int32", "int64")
    ):
        raise ShapeError(
            f"{owner}: permuted_tokens are {permuted_tokens.tensor_type} and sorted_indices {sorted_indices.tensor_type},"
            " expected [rows, width] and int32 [n]",
            loc=user_loc(),
        )
    rows = call("Gather", permuted_tokens, sorted_indices, axis=0)
    if probs is None:
        return rows
    if probs.ndim != 2 or probs.size != sorted_indices.size:
        raise ShapeError(
            f"{owner}: probs are {probs.tensor_type}, expected [n, choices] for {sorted_indices.size} rows",
            loc=user_loc(),
        )
    weighted = mul(reshape(rows, (*probs.shape, permuted_tokens.shape[1])), expand_dims(probs, -1))
    return cast_to(reduce_sum(weighted, 1), permuted_tokens.tensor_type.dtype)


__all__ = [
    "add_layer_norm",
    "add_rms_norm",
    "moe_token_permute",
    "moe_token_unpermute",
    "rotary_position_embedding",
]
