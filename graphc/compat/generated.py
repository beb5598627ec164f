"""Functions of `mindspore.ops.auto_generate`, of which the file is generated: most are those of mindspore.mint and mindspore.ops
under names and arguments of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import mint, ops
from graphc import numpy as mnp
from graphc.compat.extended import put
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.internal_errors import doors
from graphc.ops.functional.element_updates import masked_scatter
from graphc.ops.primitives import AdaptiveMaxPool2DGrad, SoftShrinkGrad
from graphc.ops.tensor.autocast import mark
from graphc.ops.tensor.tensor import Tensor
from graphc.scipy import linalg

#: Functions that are others' here alone: MindSpore has own ones, called alike.
_ALIKE = [
    *put(globals(), "clamp_scalar=clamp clamp_tensor=clamp matmul_ext narrow softplus_ext t_ext"),
    *put(
        globals(),
        "cast_op=cast gather_nd_ext=gather_nd scalar_to_tensor_op=scalar_to_tensor transpose_view=transpose view=reshape",
        ops,
    ),
]


def add_ext(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """input + alpha other."""
    return mint.add(input, other, alpha=alpha)


def sub_ext(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """input - alpha other."""
    return mint.sub(input, other, alpha=alpha)


def divs(input: Tensor, other: Any) -> Tensor:
    """input / other."""
    return mint.div(input, other)


def sum_ext(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The sum along axes, by default all of them; of integers in int64, unless dtype says otherwise."""
    return mint.sum(input, dim, keepdim, dtype=dtype)


def prod_ext(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The product along an axis, by default of all; of integers in int64, unless dtype says otherwise."""
    return mint.prod(input, dim, keepdim, dtype=dtype)


def max_(input: Tensor) -> Tensor:
    """The greatest of all."""
    made: Tensor = mint.max(input)
    return made


def min_(input: Tensor) -> Tensor:
    """The least of all."""
    made: Tensor = mint.min(input)
    return made


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0) -> Tensor:
    """The elements at storage_offset plus multiples of the strides, in the order of input's elements: a tensor of that size.

    It has a memory of its own. ArgumentValueError for places beyond the elements.
    """
    if len(size) != len(stride):
        raise ArgumentValueError(f"as_strided: {len(size)} sizes and {len(stride)} strides", loc=user_loc())
    places = np.full(tuple(size), int(storage_offset), np.int64)
    for axis, step in enumerate(stride):
        places += (np.arange(size[axis]) * step).reshape(-1, *[1] * (len(size) - axis - 1))
    if places.size and not 0 <= places.min() <= places.max() < input.size:
        raise ArgumentValueError(
            f"as_strided: size {tuple(size)}, stride {tuple(stride)} and storage_offset {storage_offset} reach"
            f" from {places.min()} to {places.max()}, {input.tensor_type} has {input.size} elements",
            loc=user_loc(),
        )
    return ops.gather(ops.reshape(input, (-1,)), Tensor(places), 0)


def flip(input: Tensor, axis: Sequence[int]) -> Tensor:
    """The elements in the reverse order along axes."""
    return ops.flip(input, axis)


def smooth_l1_loss(prediction: Tensor, target: Tensor, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """The losses of SmoothL1Loss, by default one for each element."""
    return ops.smooth_l1_loss(prediction, target, beta, reduction)


def tensor_scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduce: str = "none"
) -> Tensor:
    """A copy of data with elements of `updates` at places along an axis, or added to them (reduce: "add")."""
    return ops.tensor_scatter_elements(data, indices, updates, axis, reduce)


def contiguous(input: Tensor) -> Tensor:
    """The tensor."""
    made: Tensor = input.contiguous()
    return made


def copy(input: Tensor) -> Tensor:
    """A copy, through which gradients pass."""
    return input.copy()


def inplace_copy(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """The tensor, holding another's elements, cast to its dtype and broadcast to its shape."""
    made: Tensor = input.copy_(src, non_blocking)
    return made


def correlate(a: Tensor, v: Tensor, pad_mode: str = "valid") -> Tensor:
    """sum over k of a[n + k] v[k] of two vectors; pad_mode: "valid", "same" or "full"."""
    return mnp.correlate(a, v, pad_mode)


def solve_triangular(
    a: Tensor, b: Tensor, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """x with a x = b for triangular matrices a; see scipy.linalg.solve_triangular."""
    return linalg.solve_triangular(a, b, trans, lower, unit_diagonal)


def tuple_to_tensor(input_tuple: Sequence[Any], dtype: Any = None) -> Tensor:
    """Numbers as a vector: integers in int64, floats in float32, or in a dtype."""
    if not isinstance(input_tuple, (tuple, list)):
        raise ArgumentTypeError(
            f"tuple_to_tensor: input_tuple must be a tuple, got {type(input_tuple).__name__}", loc=user_loc()
        )
    return Tensor(list(input_tuple), dtype)


def view_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The same bytes in another dtype, not in a compiled Cell."""
    made: Tensor = input.view(dtype=dtype)
    return made


def adaptive_max_pool2d_grad(y_grad: Tensor, x: Tensor, argmax: Tensor) -> Tensor:
    """The gradient of AdaptiveMaxPool2D."""
    made: Tensor = AdaptiveMaxPool2DGrad()(y_grad, x, argmax)
    return made


def softshrink_grad(input_grad: Tensor, input_x: Tensor, lambd: float = 0.5) -> Tensor:
    """The gradient of SoftShrink, from dy and x."""
    made: Tensor = SoftShrinkGrad(lambd)(input_grad, input_x)
    return made


__all__ = [
    *_ALIKE,
    "adaptive_max_pool2d_grad",
    "add_ext",
    "as_strided",
    "contiguous",
    "copy",
    "correlate",
    "divs",
    "flip",
    "inplace_copy",
    "masked_scatter",
    "max_",
    "min_",
    "prod_ext",
    "smooth_l1_loss",
    "softshrink_grad",
    "solve_triangular",
    "sub_ext",
    "sum_ext",
    "tensor_scatter_elements",
    "tuple_to_tensor",
    "view_dtype",
]

mark(globals(), __all__)
doors(globals(), __all__, __name__)
