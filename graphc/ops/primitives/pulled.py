"""Gradients as primitives of their own: of activations, of losses, of elements taken, of padding, of greater and smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.primitives.arrays import MirrorPad, Slice, StridedSlice
from graphc.ops.primitives.images import PadV3
from graphc.ops.primitives.losses import MultiMarginLoss
from graphc.ops.primitives.network import BinaryCrossEntropy, KLDivLoss, NLLLoss, SmoothL1Loss
from graphc.ops.primitives.pull import pulled
from graphc.ops.tensor.primitive import REQUIRED, declare
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import one_of

# ---- activations

SoftmaxGrad = declare(
    "SoftmaxGrad",
    lambda y, dy: y * (dy - F.reduce_sum(dy * y, -1, keep_dims=True)),
    "The gradient of Softmax along the last axis, from its result and dy",
)
GeLUGrad = pulled("GeLUGrad", "dy x y", "x", lambda x: F.gelu(x, "tanh"), "The gradient of GeLU, from dy, x and y")
FastGeLUGrad = pulled("FastGeLUGrad", "dy x", "x", lambda x: F.fast_gelu(x), "The gradient of FastGeLU, from dy and x")
HSwishGrad = pulled("HSwishGrad", "dy x", "x", lambda x: F.hardswish(x), "The gradient of HSwish, from dy and x")
HShrinkGrad = pulled(
    "HShrinkGrad",
    "dy x",
    "x",
    lambda x, lambd: F.hardshrink(x, lambd),
    "The gradient of HShrink, from dy and x",
    lambd=0.5,
)
SoftShrinkGrad = pulled(
    "SoftShrinkGrad",
    "dy x",
    "x",
    lambda x, lambd: F.softshrink(x, lambd),
    "The gradient of SoftShrink, from dy and x",
    lambd=0.5,
)


def _logit_grad(dy: Tensor, x: Tensor, eps: float) -> Tensor:
    """The gradient of Logit, from dy and x: NaN outside of [0, 1], or with an eps zero outside of [eps, 1 - eps]."""
    low, outside = (0.0, float("nan")) if eps < 0 else (eps, 0.0)
    inside = F.logical_and(x >= low, x <= 1 - low)
    return F.select(inside, dy / (x * (1 - x)), F.full_like(dy, outside))


LogitGrad = declare("LogitGrad", _logit_grad, eps=-1.0)
PReLUGrad = pulled(
    "PReLUGrad",
    "dy x weight",
    "x weight",
    lambda x, weight: F.prelu(x, weight),
    "The gradients of PReLU for x and weight",
)
GluGrad = pulled(
    "GluGrad", "dy x", "x", lambda x, axis: F.glu(x, axis), "The gradient of ops.glu, from dy and x", axis=REQUIRED
)
DropoutGrad = declare(
    "DropoutGrad",
    lambda dy, mask, keep_prob: dy * F.cast(F.stop_gradient(mask), dy.dtype) / keep_prob,
    "The gradient of Dropout, from dy and the mask of what was kept",
    keep_prob=0.5,
)

# ---- losses

SmoothL1LossGrad = pulled(
    "SmoothL1LossGrad",
    "x target dy",
    "x",
    lambda x, target, beta, reduction: SmoothL1Loss(beta, reduction)(x, target),
    "The gradient of SmoothL1Loss, from x, target and dy",
    beta=1.0,
    reduction="none",
)
BinaryCrossEntropyGrad = pulled(
    "BinaryCrossEntropyGrad",
    "x target dy weight?",
    "x",
    lambda x, target, weight, reduction: BinaryCrossEntropy(reduction)(x, target, weight),
    "The gradient of BinaryCrossEntropy, from x, target, dy and weight",
    reduction="mean",
)
KLDivLossGrad = pulled(
    "KLDivLossGrad",
    "dy x target",
    "x",
    lambda x, target, reduction: KLDivLoss(reduction)(x, target),
    "The gradient of KLDivLoss, from dy, x and target",
    reduction="mean",
)


def _nll(x: Tensor, labels: Tensor, weight: Tensor, total_weight: Tensor, reduction: str, ignore_index: int) -> Tensor:
    """NLLLoss, its mean by what the weights of the labels are said to add up to."""
    made: Tensor = NLLLoss("sum" if reduction == "mean" else reduction, ignore_index)(x, labels, weight)[0]
    return made / total_weight if reduction == "mean" else made


NLLLossGrad = pulled(
    "NLLLossGrad",
    "x dy labels weight total_weight",
    "x",
    _nll,
    "The gradient of NLLLoss, from x, dy, labels, weight and what the weights of the labels add up to",
    reduction="mean",
    ignore_index=-100,
)
MultiMarginLossGrad = pulled(
    "MultiMarginLossGrad",
    "dy x target weight?",
    "x",
    lambda x, target, weight, p, margin, reduction: MultiMarginLoss(p, margin, reduction)(x, target, weight),
    "The gradient of MultiMarginLoss, from dy, x, target and weight",
    p=1,
    margin=1.0,
    reduction="mean",
)

# ---- elements taken

StridedSliceGrad = pulled(
    "StridedSliceGrad",
    "dy x_shape begin end strides",
    "x",
    lambda x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask: StridedSlice(
        begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )(x, begin, end, strides),
    "The gradient of StridedSlice, from dy and the shape of x",
    known="begin end strides",
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)
SliceGrad = pulled(
    "SliceGrad",
    "dy x begin size",
    "x",
    lambda x, begin, size: Slice()(x, begin, size),
    "The gradient of Slice, from dy, x, begin and size",
    known="begin size",
)
GatherDGradV2 = pulled(
    "GatherDGradV2",
    "x dim index dy",
    "x",
    lambda x, dim, index: F.gather_elements(x, dim, index),
    "The gradient of GatherD, from x, dim, index and dy",
)


def _masked(dy: Tensor, x: Tensor, mask: Tensor) -> Tensor:
    """The elements of x, spread over the shape that x and mask have together, where the mask is true, one behind the other; dy
    says how many they are."""
    both = F.broadcast_to(x, F.logical_or(F.zeros_like(x) != 0, mask).shape)
    flat = F.reshape(F.broadcast_to(mask, both.shape), (-1,))
    place = F.select(flat, F.cumsum(F.cast(flat, "int64"), 0) - 1, dy.shape[0])
    return F.unsorted_segment_sum(F.reshape(both, (-1,)), place, dy.shape[0] + 1)[: dy.shape[0]]


MaskedSelectGrad = pulled(
    "MaskedSelectGrad", "x mask dy", "x", _masked, "The gradient of MaskedSelect, from x, its mask and dy"
)

# ---- padding


def _less(shape: Sequence[int], pairs: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """What was padded to this shape by (before, after) of the last axes."""
    whole = [(0, 0)] * (len(shape) - len(pairs)) + list(pairs)
    return tuple(d - a - b for d, (a, b) in zip(shape, whole, strict=True))


MirrorPadGrad = pulled(
    "MirrorPadGrad",
    "dy paddings",
    "x",
    lambda x, paddings, mode: MirrorPad(mode)(x, paddings),
    "The gradient of MirrorPad, from dy and the paddings",
    known="paddings",
    shape=lambda dy, paddings: _less(dy.shape, paddings),
    mode="REFLECT",
)


def _before_padding(dy: Tensor, paddings: Any, paddings_contiguous: bool) -> tuple[int, ...]:
    """The shape of what PadV3 made dy's shape of."""
    if not isinstance(paddings, tuple) or len(paddings) % 2 or len(paddings) > 2 * dy.ndim:
        raise ArgumentValueError(
            f"PadV3Grad: paddings must be two numbers for each of at most {dy.ndim} axes, got {paddings!r}",
            loc=user_loc(),
        )
    half = len(paddings) // 2
    parts = (paddings[::2], paddings[1::2]) if paddings_contiguous else (paddings[:half], paddings[half:])
    return _less(dy.shape, list(zip(*parts, strict=True))[::-1])


def _continued(x: Tensor, paddings: Any, mode: str, paddings_contiguous: bool) -> Tensor:
    """PadV3 by elements of x."""
    modes = ("reflect", "edge", "circular")
    one_of("PadV3Grad", "mode", mode, modes)
    made: Tensor = PadV3(mode, paddings_contiguous)(x, paddings)
    return made


PadV3Grad = pulled(
    "PadV3Grad",
    "dy paddings",
    "x",
    _continued,
    "The gradient of PadV3, from dy and the paddings",
    known="paddings",
    shape=_before_padding,
    mode="reflect",
    paddings_contiguous=True,
)

# ---- the greater and the smaller of two


def _extreme_grad(name: str, extreme: Callable[[Tensor, Tensor], Tensor]) -> type[Any]:
    return pulled(
        f"{name}Grad",
        "x y dy",
        "x y",
        lambda x, y: extreme(x, y),
        f"The gradients of {name}, from x, y and dy",
        grad_x=True,
        grad_y=True,
    )


MaximumGrad, MinimumGrad = _extreme_grad("Maximum", F.maximum), _extreme_grad("Minimum", F.minimum)


def _extreme_second(name: str, first: Callable[[Tensor, Tensor], Tensor], **attrs: Any) -> type[Any]:
    """The primitive that gives what flows back through the gradients of Maximum or Minimum: for x, y (none) and dy."""

    def second(x: Tensor, y: Tensor, dx: Tensor, dy: Tensor, **_: Any) -> tuple[Tensor, Tensor, Tensor]:
        return F.zeros_like(x), F.zeros_like(y), F.select(first(x, y), dx, dy)

    doc = f"The gradients of {name}Grad, from x, y, and what flows into its results; of two that are equal x counts"
    return declare(f"{name}GradGrad", second, doc, **attrs)


MaximumGradGrad = _extreme_second("Maximum", F.greater_equal, grad_x=True, grad_y=True)
MinimumGradGrad = _extreme_second("Minimum", F.less_equal)
