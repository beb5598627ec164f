"""`mindspore.mint`, as far as its functions are those of graphc.ops: those of one or two tensors, and shapes.

Operands go by position.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphc import ops
from graphc.ops import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    broadcast_to,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    expm1,
    floor,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    maximum,
    minimum,
    mul,
    neg,
    not_equal,
    ones_like,
    pow,
    reciprocal,
    reshape,
    round,
    rsqrt,
    scatter,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    tril,
    triu,
    where,
    zeros_like,
)
from graphc.ops.tensor.tensor import Tensor

eq, ne, gt, ge, lt, le = ops.equal, not_equal, greater, greater_equal, less, less_equal


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along an axis."""
    return ops.concat(tensors, dim)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along a new axis."""
    return ops.stack(tensors, dim)


__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "broadcast_to", "cat", "ceil", "cos", "cosh",
    "eq", "erf", "exp", "expm1", "floor", "ge", "greater", "greater_equal", "gt", "isfinite", "le", "less",
    "less_equal", "log", "log1p", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "matmul",
    "maximum", "minimum", "mul", "ne", "neg", "not_equal", "ones_like", "pow", "reciprocal", "reshape", "round",
    "rsqrt", "scatter", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "stack", "tan", "tanh", "tril", "triu", "where",
    "zeros_like",
]  # fmt: skip
