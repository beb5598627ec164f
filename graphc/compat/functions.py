"""Functions of files of `mindspore.ops.function` that are mint's or methods of Tensor under names and arguments of their own."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.compat.extended import put
from graphc.compat.generated import add_ext, sub_ext
from graphc.internal_errors import doors
from graphc.ops.tensor.autocast import mark
from graphc.ops.tensor.tensor import Tensor

#: MindSpore has functions of its own for these, with the arguments of mint's.
_ALIKE = put(
    globals(),
    "addcmul_ext chunk_ext l1_loss_ext linspace_ext matrix_inverse_ext=inverse max_ext min_ext mul_ext one_hot_ext "
    "remainder_ext repeat_interleave_ext split_ext unique_ext",
)


def mean_ext(input: Tensor, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """The mean along axes, by default all of them; of integers without its fraction. dtype: what to cast to before."""
    return ops.mean(input if dtype is None else ops.cast(input, dtype), axis, keep_dims)


def new_ones(input: Tensor, size: Any, *, dtype: Any = None) -> Tensor:
    """Ones, by default of input's dtype."""
    made: Tensor = input.new_ones(size, dtype=dtype)
    return made


def new_zeros(input: Tensor, size: Any, *, dtype: Any = None) -> Tensor:
    """Zeros, by default of input's dtype."""
    made: Tensor = input.new_zeros(size, dtype=dtype)
    return made


def uniform_ext(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    """Numbers between a and b in the shape and dtype of a tensor."""
    made: Tensor = tensor.uniform(a, b, generator)
    return made


__all__ = [*_ALIKE, "add_ext", "mean_ext", "new_ones", "new_zeros", "sub_ext", "uniform_ext"]

mark(globals(), ["mean_ext", "new_ones", "new_zeros", "uniform_ext"])
doors(globals(), ["mean_ext", "new_ones", "new_zeros", "uniform_ext"], __name__)
