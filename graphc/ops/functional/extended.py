"""Functions with torch's arguments where MindSpore has others of nearly the same name: mint's, and those called `*_ext`."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.adaptive_pooling import adaptive_avg_pool2d
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.bounds import as_index, in_bounds
from graphc.ops.functional.core import Extents, Ints, cast
from graphc.ops.functional.elementwise import add, equal, greater, mul, sub
from graphc.ops.functional.logic import select
from graphc.ops.functional.loss import mse_loss
from graphc.ops.functional.norms import vector_norm
from graphc.ops.functional.pooling import avg_pool1d, avg_pool2d, avg_pool3d, max_pool2d
from graphc.ops.functional.scattering import rows_updated
from graphc.ops.functional.shapes import expand_dims, squeeze
from graphc.ops.functional.slicing import rows_at
from graphc.ops.functional.sliding import per_axis
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def adaptive_avg_pool2d_ext(input: Tensor, output_size: Extents) -> Tensor:
    """`adaptive_avg_pool2d` by its other name."""
    return adaptive_avg_pool2d(input, output_size)


def mse_loss_ext(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """`mse_loss` by its other name."""
    return mse_loss(input, target, reduction)


def _scaled_down(weight: Tensor, input: Tensor, most: Any, order: Any) -> Tensor:
    """weight, in which the rows that an index is for have no greater norm than `most`. ArgumentTypeError, ArgumentValueError."""
    if any(isinstance(n, bool) or not isinstance(n, (int, float)) for n in (most, order)):
        raise ArgumentTypeError(
            f"embedding: max_norm and norm_type must be numbers, got {most!r} and {order!r}", loc=user_loc()
        )
    if not most >= 0:
        raise ArgumentValueError(f"embedding: max_norm must not be negative, got {most}", loc=user_loc())
    held = add(weight, 0.0)  # Weight itself holds the result below.
    rows = stop_gradient(rows_at(held, input))
    norms = vector_norm(rows, order, -1, True)
    made = rows_updated(weight, input, select(greater(norms, most), mul(rows, div(most, add(norms, 1e-7))), rows))
    # Of a tensor what is written would have no gradient, of a parameter every read has it.
    return made if isinstance(weight, Parameter) else add(held, stop_gradient(sub(made, held)))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of weight [n, m] at the indices. No gradient reaches row padding_idx.

    max_norm: rows that are asked for and whose norm_type-norm is greater are scaled down to it first, in weight itself.
    """
    only("embedding", "scale_grad_by_freq", scale_grad_by_freq, False)
    if weight.ndim != 2:
        raise ShapeError(f"embedding: weight is {weight.tensor_type}, expected two axes", loc=user_loc())
    input = in_bounds("embedding", as_index(input), weight.shape[0])
    if max_norm is not None:
        weight = _scaled_down(weight, input, max_norm, norm_type)
    if padding_idx is None:
        return rows_at(weight, input)
    rows = weight.shape[0]
    if isinstance(padding_idx, bool) or not isinstance(padding_idx, int) or not -rows <= padding_idx < rows:
        raise ArgumentValueError(
            f"embedding: padding_idx must be None or an int from {-rows} to {rows - 1}, got {padding_idx!r}",
            loc=user_loc(),
        )
    found = rows_at(weight, input)
    padded = expand_dims(equal(input, padding_idx % rows), -1)
    return select(padded, stop_gradient(found), found)


def max_pool2d_ext(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    *,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest of each window of [N, C, H, W]; with return_indices also where it is in its plane, int64."""
    made = max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)
    return (made[0], cast(made[1], "int64")) if return_indices else made


def avg_pool1d_ext(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of [N, C, L] or [C, L]. stride: the window's size by default."""
    return _averaged(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d_ext(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of [N, C, H, W] or [C, H, W]; divisor_override: what the sum is divided by instead."""
    return _averaged(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d_ext(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of [N, C, D, H, W] or [C, D, H, W]; see `avg_pool2d_ext`."""
    return _averaged(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _averaged(
    axes: int, input: Tensor, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, *divisor: int | None
) -> Tensor:
    pool: Any = (avg_pool1d, avg_pool2d, avg_pool3d)[axes - 1]
    alone = input.ndim == axes + 1
    kernel = tuple(kernel) if isinstance(kernel, (tuple, list)) else kernel
    border = per_axis(f"avg_pool{axes}d", "padding", padding, axes, least=0)
    # Both ends of each axis; one number for sequences.
    around = border[0] if axes == 1 else border if axes == 2 else tuple(n for b in border for n in (b, b))
    given = expand_dims(input, 0) if alone else input
    made = pool(given, kernel, kernel if stride is None else stride, around, ceil, include, *(d or 0 for d in divisor))
    return squeeze(made, 0) if alone else made


__all__ = ["adaptive_avg_pool2d_ext", "embedding", "mse_loss_ext"]
