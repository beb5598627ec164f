"""Linear maps, embeddings, normalization, dropout, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ShapeError, user_loc
from graphc.mint.shapes import flatten
from graphc.ops import embedding, fold, group_norm, pixel_shuffle, unfold
from graphc.ops.functional.core import Axis, Ints, Operand
from graphc.ops.functional.sliding import per_axis
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input [..., n] times weight [m, n] transposed, plus bias [m]."""
    if weight.ndim not in (1, 2) or input.ndim < 1 or input.shape[-1] != weight.shape[-1]:
        raise ShapeError(
            f"linear: input is {input.tensor_type}, weight {weight.tensor_type}: their last axes must agree",
            loc=user_loc(),
        )
    made = ops.matmul(input, weight, transpose_b=weight.ndim == 2)
    return made if bias is None else made + bias


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64: 1 at the index along a new last axis, else 0. num_classes -1, the greatest index and one, needs an eager call."""
    if num_classes == -1:
        num_classes = max(tensor.asnumpy().ravel().tolist(), default=-1) + 1
    return ops.one_hot(tensor, num_classes, Tensor(1, "int64"), Tensor(0, "int64"))


def normalize(input: Tensor, p: float = 2.0, dim: Axis = 1, eps: Operand = 1e-12) -> Tensor:
    """input over its p-norm along axes, which counts as eps where it is less."""
    norm = ops.norm(input, p, dim, True)
    return input / ops.maximum(norm, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: Operand = 1e-5,
) -> Tensor:
    """input [N, C, ...] standardized per channel, times weight plus bias, each [C].

    training: by the statistics of the batch, to which the running ones, Parameters, tensors or None, move by momentum.
    Otherwise by the running ones.
    """
    if running_mean is None or running_var is None:
        if not training or running_mean is not running_var:
            raise ArgumentTypeError(
                "batch_norm: running_mean and running_var are both None while training only", loc=user_loc()
            )
        fresh = ops.zeros(input.shape[1:2], "float32")
        return ops.batch_norm(input, fresh, fresh, weight, bias, True, 0.0, eps)
    return ops.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def layer_norm(
    input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: Operand = 1e-5
) -> Tensor:
    """input standardized over its last axes, whose lengths normalized_shape gives, times weight plus bias of that shape."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    return ops.layer_norm(input, shape, weight, bias, eps)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros with probability p, the other elements over 1 - p; input itself unless training."""
    only("dropout", "inplace", inplace, False)
    return ops.dropout(input, p, training)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Operand | None = None) -> Tensor:
    """input with a border: (before, after) of the last axis, then of the one before it, and so on; negative ones cut."""
    border = tuple(pad)
    for place, (before, after) in enumerate(zip(border[::2], border[1::2], strict=False)):
        if before < 0 or after < 0:
            axis = input.ndim - 1 - place
            start = max(-before, 0)
            input = ops.narrow(input, axis, start, input.shape[axis] - start - max(-after, 0))
    return ops.pad(input, tuple(max(n, 0) for n in border), mode, value)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Any = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences [N, C, L], or of one [C, L], with windows [out, C / groups, k]. padding: see `conv2d`."""
    batch, alone = _batched(input, 3)
    if batch.ndim != 3 or weight.ndim != 3:
        raise ShapeError(
            f"conv1d: input is {input.tensor_type}, weight {weight.tensor_type}, expected [N, C, L] or [C, L] and"
            " [out, C / groups, k]",
            loc=user_loc(),
        )
    along = padding if isinstance(padding, str) else (0, *per_axis("conv1d", "padding", padding, 1, least=0))
    wide, windows = ops.expand_dims(batch, 2), ops.expand_dims(weight, 2)
    steps, spread = (per_axis("conv1d", n, v, 1) for n, v in (("stride", stride), ("dilation", dilation)))
    made = conv2d(wide, windows, bias, (1, *steps), along, (1, *spread), groups)
    return ops.squeeze(made, (0, 2) if alone else 2)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences [L, N, C] with windows [k, C, out], framed in `pad` zeros at both ends: [L', N, out]."""
    if input.ndim != 3 or weight.ndim != 3:
        raise ShapeError(
            f"conv_tbc: input is {input.tensor_type}, weight {weight.tensor_type}, expected three axes each",
            loc=user_loc(),
        )
    made = conv1d(ops.transpose(input, (1, 2, 0)), ops.transpose(weight, (2, 1, 0)), bias, 1, pad)
    return ops.transpose(made, (2, 0, 1))


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Any = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images [N, C, H, W], or of one [C, H, W], with windows [out, C / groups, kh, kw]. padding: numbers,
    "valid" or "same".
    """
    batch, alone = _batched(input, 4)
    made = ops.conv2d(batch, weight, bias, stride, *_border(padding), dilation, groups)
    return ops.squeeze(made, 0) if alone else made


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Any = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes [N, C, D, H, W], or of one, with windows [out, C / groups, kd, kh, kw].

    padding: see `conv2d`.
    """
    batch, alone = _batched(input, 5)
    made = ops.conv3d(batch, weight, bias, stride, *_border(padding), dilation, groups)
    return ops.squeeze(made, 0) if alone else made


def _batched(input: Tensor, axes: int) -> tuple[Tensor, bool]:
    """A batch of so many axes, and whether it stands for one sample that was given alone."""
    alone = input.ndim == axes - 1
    return (ops.expand_dims(input, 0), True) if alone else (input, False)


def _border(padding: Any) -> tuple[str, Any]:
    """pad_mode and padding as graphc.ops takes them."""
    return (padding, 0) if isinstance(padding, str) else ("pad", padding)


__all__ = [
    "batch_norm", "conv1d", "conv2d", "conv3d", "dropout", "embedding", "flatten", "fold", "group_norm", "layer_norm",
    "linear", "normalize", "one_hot", "pad", "pixel_shuffle", "unfold",
]  # fmt: skip
