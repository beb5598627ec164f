"""Products, images, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ops import dispatch
from graphc.ops.functional.core import call
from graphc.ops.functional.math import mul
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shape import broadcast_to, expand_dims, reshape, swapaxes
from graphc.ops.shape import check_axis
from graphc.ops.tensor import Tensor


def matmul(x: Tensor, y: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product; leading axes are broadcast, and vectors are treated as NumPy does."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"matmul: operands are {x.type} and {y.type}, expected at least one axis", loc=user_loc())
    if x.ndim == 1 or y.ndim == 1:
        a = expand_dims(x, 0) if x.ndim == 1 else x
        b = expand_dims(y, 1) if y.ndim == 1 else y
        product = matmul(a, b, transpose_a and x.ndim > 1, transpose_b and y.ndim > 1)
        shape = product.shape
        if y.ndim == 1:
            shape = shape[:-1]
        if x.ndim == 1:
            shape = (*shape[: product.ndim - 2], *shape[product.ndim - 1 :])
        return reshape(product, shape)
    if not (x.type.is_float or y.type.is_float):
        return _integer_product(x, y, transpose_a, transpose_b)
    flags = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    if x.ndim == y.ndim == 2:
        return call("MatMul", x, y, **flags)
    if y.ndim == 2 and not transpose_a:
        # One product for all leading indices.
        product = call("MatMul", reshape(x, (-1, x.shape[-1])), y, **flags)
        return reshape(product, (*x.shape[:-1], product.shape[-1]))
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = x if x.shape[:-2] == lead else broadcast_to(x, (*lead, *x.shape[-2:]))
    y = y if y.shape[:-2] == lead else broadcast_to(y, (*lead, *y.shape[-2:]))
    return call("BatchMatMul", x, y, **flags)


def _integer_product(x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """A matrix product as a sum of products: there is no matrix kernel for integers."""
    x = swapaxes(x, -1, -2) if transpose_a else x
    y = swapaxes(y, -1, -2) if transpose_b else y
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(
            f"matmul: {x.type} has rows of {x.shape[-1]}, {y.type} has columns of {y.shape[-2]}", loc=user_loc()
        )
    return reduce_sum(mul(expand_dims(x, -1), expand_dims(y, -3)), -2)


def max_pool2d(x: Tensor, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int] = (0, 0, 0, 0)) -> Tensor:
    """Largest pixel of each window."""
    return call("MaxPool", x, kernel=tuple(kernel), stride=tuple(stride), pad=tuple(pad))


def avg_pool2d(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int] = (0, 0, 0, 0),
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window."""
    attrs = {"kernel": tuple(kernel), "stride": tuple(stride), "pad": tuple(pad)}
    return call("AvgPool", x, **attrs, count_include_pad=bool(count_include_pad))


def _over_last(op: str, x: Tensor, axis: int) -> Tensor:
    at = check_axis(op, axis, x.ndim)
    if at == x.ndim - 1:
        return call(op, x)
    return swapaxes(call(op, swapaxes(x, at, -1)), at, -1)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) / sum exp(x) along an axis."""
    return _over_last("Softmax", x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """log of softmax along an axis."""
    return _over_last("LogSoftmax", x, axis)


def softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(loss per row, its gradient for the logits) with labels that are probabilities."""
    return cast_pair(dispatch.call("SoftmaxCrossEntropyWithLogits", logits, labels))


def sparse_softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(loss per row, its gradient for the logits) with labels that are class numbers."""
    return cast_pair(dispatch.call("SparseSoftmaxCrossEntropyWithLogits", logits, labels))


def cast_pair(results: Any) -> tuple[Tensor, Tensor]:
    first, second = results
    return first, second
