"""Primitives of `mindspore.ops.auto_generate` that run on a CPU and have no name in mindspore.ops: functions as objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import mint, ops
from graphc.compat import generated as functions
from graphc.compat.extended import auto_generate, found
from graphc.errors import ShapeError, user_loc
from graphc.ops.functional.resizing import upsample_nearest
from graphc.ops.tensor.primitive import Primitive, declare
from graphc.ops.tensor.tensor import Tensor


def _group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """(y, mean, 1 over the deviation) of input [N, C, ...]: y has groups of channels of the mean 0 and the deviation 1, times
    weight plus bias; the others are [N, num_groups], and have no gradient."""
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeError(
            f"GroupNorm: input is {input.tensor_type}, expected [N, C, ...] with a multiple of {num_groups} channels",
            loc=user_loc(),
        )
    n, channels = input.shape[:2]
    parts = ops.reshape(input, (n, num_groups, -1))
    mean = ops.reduce_mean(parts, -1, True)
    apart = parts - mean
    rate = ops.rsqrt(ops.reduce_mean(ops.square(apart), -1, True) + eps)
    y, shape = ops.reshape(apart * rate, input.shape), (1, channels, *[1] * (input.ndim - 2))
    y = y if weight is None else y * ops.reshape(weight, shape)
    y = y if bias is None else y + ops.reshape(bias, shape)
    mean, rate = (ops.stop_gradient(ops.reshape(x, (n, num_groups))) for x in (mean, rate))
    return y, mean, rate


def _nearest(axes: int) -> Callable[..., Tensor]:
    def upsampled(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
        return upsample_nearest(f"UpsampleNearest{axes}D", axes, x, output_size, scales)

    upsampled.__doc__ = f"[N, C, ...] with {axes} further axes in another size, by nearest neighbours"
    return upsampled


def _trace(input: Tensor, offset: int = 0, axis1: int = 1, axis2: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of two axes, in a dtype, by default that of mint.sum."""
    return mint.sum(ops.diagonal(input, offset, axis1, axis2), -1, dtype=dtype)


def _slice(input: Tensor, dim: int, start: int, end: int, step: int) -> Tensor:
    """Every step-th slice from start to before end along an axis."""
    rank = input.ndim
    if not -rank <= dim < rank:
        raise ShapeError(f"SliceExt: {input.tensor_type} has no axis {dim}", loc=user_loc())
    made: Tensor = input[(slice(None),) * (dim % rank) + (slice(start, end, step),)]
    return made


def _new(fill: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def made(input: Tensor, size: Any, dtype: Any = None) -> Tensor:
        return fill(tuple(size), dtype=input.dtype if dtype is None else dtype)

    made.__doc__ = f"{fill.__name__} of a size in the dtype of a tensor, or in another one"
    return made


_ALIKE_IN = (functions, auto_generate)
#: Primitives that are called as the functions of these names are.
_ALIKE = (
    "add_ext as_strided broadcast_to_view clamp_scalar clamp_tensor contiguous copy divs flatten_ext gather_nd_ext inplace_copy"
    " narrow narrow_view prod_ext select_ext_view softplus_ext solve_triangular sub_ext sum_ext t_ext transpose_ext_view"
    " transpose_view tuple_to_tensor view view_dtype"
)
_TRANSFORMS = "fft fft2 fftn hfft hfft2 hfftn ifft ifft2 ifftn ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftn"
#: By the primitive's name what it calls.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{"".join(part.title() for part in name.split("_")): found(name, _ALIKE_IN) for name in _ALIKE.split()},
    **{name.upper(): getattr(ops, name) for name in _TRANSFORMS.split()},
    "BatchMatMulExt": mint.bmm,
    "Chunk": mint.chunk,
    "ExpandAs": ops.expand_as,
    "FFTFreq": ops.fftfreq,
    "FFTShift": ops.fftshift,
    "GroupNorm": _group_norm,
    "IFFTShift": ops.ifftshift,
    "Lerp": ops.lerp,
    "MatMulExt": mint.matmul,
    "Max": functions.max_,
    "MaxDim": lambda input, dim, keepdim=False: mint.max(input, dim, keepdim),
    "Min": functions.min_,
    "MinDim": lambda input, dim, keepdim=False: mint.min(input, dim, keepdim),
    "NewOnes": _new(ops.ones),
    "NewZeros": _new(ops.zeros),
    "PixelShuffle": ops.pixel_shuffle,
    "PowTensorScalar": mint.pow,
    "RFFTFreq": ops.rfftfreq,
    "SliceExt": _slice,
    "SplitTensor": mint.split,
    "TraceV2": _trace,
    "UpsampleNearest1D": _nearest(1),
    "UpsampleNearest2D": _nearest(2),
    "ViewAs": lambda input, other: ops.reshape(input, other.shape),
}
_CLASSES: dict[str, type[Primitive]] = {
    **{name: declare(name, function, function.__doc__ or name) for name, function in _FUNCTIONS.items()},
    "Correlate": declare("Correlate", functions.correlate, functions.correlate.__doc__, pad_mode="valid"),
    "Diagonal": declare(
        "Diagonal",
        lambda input, offset, dim1, dim2: ops.diagonal(input, offset, dim1, dim2),
        "The diagonal of two axes, as a last one",
        offset=0,
        dim1=0,
        dim2=1,
    ),
}
globals().update(_CLASSES)
__all__ = list(_CLASSES)
