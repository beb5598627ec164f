"""Losses of margins: between classes, between labels, between the distances of triplets; and that of a normal distribution."""

from __future__ import annotations

import math

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.functional.activation import softplus
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.bounds import as_index, classes_in_bounds
from graphc.ops.functional.core import Operand, cast_to
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    less,
    log,
    logical_and,
    logical_not,
    maximum,
    minimum,
    mul,
    pow_,
    relu,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.loss import reduced
from graphc.ops.functional.reduce import reduce_any, reduce_min, reduce_sum
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import expand_dims, squeeze
from graphc.ops.functional.slicing import rows_at
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.checks import boolean


def gaussian_nll_loss(
    x: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: Operand = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log(v) + (x - target)^2 / v) / 2 with v = max(var, eps), plus log(2 pi) / 2 if full; reduced (Nix and Weigend, 1994;
    MindSpore: ops.gaussian_nll_loss).

    target and var are broadcast against x; a var without x's last axis counts for all of that axis. Raises ArgumentTypeError,
    ArgumentValueError.
    """
    boolean("gaussian_nll_loss", "full", full)
    eps = scalar("gaussian_nll_loss", "eps", eps, (">", 0), wanted="be a positive float")
    var = as_tensor(var, "gaussian_nll_loss: var")
    if var.shape != x.shape and var.shape == x.shape[:-1]:
        var = expand_dims(var, -1)
    bounded = maximum(var, eps)
    loss = mul(add(log(bounded), div(square(sub(x, target)), bounded)), 0.5)
    return reduced("gaussian_nll_loss", add(loss, 0.5 * math.log(2 * math.pi)) if full else loss, reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: Operand = 1,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over the other classes j of max(0, margin - x[target] + x[j])^p, times the weight of the target, divided by the
    number of classes; reduced (MindSpore: ops.multi_margin_loss).

    input: [N, C]; target: class numbers [N]; weight: [C]. p is 1 or 2. Raises ShapeError, ArgumentTypeError, ArgumentValueError.
    """
    if isinstance(p, bool) or p not in (1, 2):
        raise ArgumentValueError(f"multi_margin_loss: p must be 1 or 2, got {p!r}", loc=user_loc())
    margin = scalar("multi_margin_loss", "margin", margin)
    x, target = as_tensor(input, "multi_margin_loss: input"), as_tensor(target, "multi_margin_loss: target")
    if x.ndim != 2 or target.shape != x.shape[:1] or target.tensor_type.dtype not in INTEGERS:
        raise ShapeError(
            f"multi_margin_loss: the input is {x.tensor_type} and the target {target.tensor_type}, expected [N, C]"
            f" and class numbers [N]",
            loc=user_loc(),
        )
    classes = x.shape[1]
    target = classes_in_bounds("multi_margin_loss", as_index(target), x, 1)
    own = equal(expand_dims(target, 1), Tensor(np.arange(classes, dtype=target.tensor_type.numpy)))
    at_target = reduce_sum(select(own, x, 0.0), 1, keep_dims=True)
    loss = relu(add(sub(x, at_target), margin))
    loss = select(own, 0.0, loss if p == 1 else square(loss))
    if weight is not None:
        if weight.shape != (classes,):
            raise ShapeError(
                f"multi_margin_loss: weight is {weight.tensor_type}, expected {classes} numbers", loc=user_loc()
            )
        loss = mul(loss, expand_dims(rows_at(weight, target), 1))
    return reduced("multi_margin_loss", div(reduce_sum(loss, 1), float(classes)), reduction)


def label_margins(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """(a loss per row, bool: which classes are labels) of multilabel_margin_loss, for [N, C]."""
    classes = input.shape[1]
    numbers = Tensor(np.arange(classes, dtype=np.int32))
    end = reduce_min(select(less(target, 0), numbers, classes), 1, keep_dims=True)
    counts = less(numbers, end)
    of_label = logical_and(equal(expand_dims(target, 2), numbers), expand_dims(counts, 2))
    labelled = reduce_any(of_label, 1)
    at_labels = reduce_sum(select(of_label, expand_dims(input, 1), 0.0), 2)
    pairs = relu(add(sub(expand_dims(input, 1), expand_dims(at_labels, 2)), 1.0))
    counted = logical_and(expand_dims(counts, 2), logical_not(expand_dims(labelled, 1)))
    loss = div(reduce_sum(select(counted, pairs, 0.0), (1, 2)), float(classes))
    return loss, labelled


def labels_of(owner: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Input and labels as [N, C], and whether they had no axis N."""
    x, target = as_tensor(input, f"{owner}: input"), as_tensor(target, f"{owner}: target")
    if target.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(f"{owner}: the target is {target.tensor_type}, expected int32 class numbers", loc=user_loc())
    if x.ndim not in (1, 2) or x.shape != target.shape or 0 in x.shape:
        raise ShapeError(
            f"{owner}: the input is {x.tensor_type}, the target {target.tensor_type}, expected [N, C] or [C]",
            loc=user_loc(),
        )
    alone, target = x.ndim == 1, cast_to(target, "int32")
    return (expand_dims(x, 0), expand_dims(target, 0), True) if alone else (x, target, False)


def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """sum over the labels l and the other classes j of max(0, 1 - x[l] + x[j]), divided by the number of classes; reduced
    (MindSpore: ops.multilabel_margin_loss).

    input: [N, C] or [C]; target: int32 of the same shape, a row's labels up to the first negative number. Raises ShapeError,
    DTypeError, ArgumentValueError.
    """
    x, labels, alone = labels_of("multilabel_margin_loss", input, target)
    loss = label_margins(x, labels)[0]
    return reduced("multilabel_margin_loss", squeeze(loss, 0) if alone else loss, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes, the last axis, of -weight (target log s + (1 - target) log(1 - s)), s = sigmoid(input); reduced
    (MindSpore: ops.multilabel_soft_margin_loss).
    """
    loss = sub(softplus(input), mul(input, target))
    loss = loss if weight is None else mul(loss, weight)
    return reduced("multilabel_soft_margin_loss", div(reduce_sum(loss, -1), float(input.shape[-1])), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: Operand = 1.0,
    p: int | Tensor = 2,
    eps: Operand = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), reduced, with d the p-norm of the difference plus eps along the
    last axis (Balntas et al., 2016; MindSpore: ops.triplet_margin_loss).

    swap: the smaller of d(anchor, negative) and d(positive, negative). margin may be a tensor. Raises ShapeError,
    ArgumentTypeError, ArgumentValueError.
    """
    owner = "triplet_margin_loss"
    p, eps = scalar(owner, "p", p, (">=", 1), wanted="be at least 1"), scalar(owner, "eps", eps)
    if isinstance(p, float) or isinstance(eps, int) or not isinstance(swap, bool):
        raise ArgumentTypeError(
            f"{owner}: expected p an int, eps a float, swap a bool, got {p!r}, {eps!r}, {swap!r}", loc=user_loc()
        )
    if max(anchor.ndim, positive.ndim, negative.ndim) < 1:
        raise ShapeError("triplet_margin_loss: the tensors have no axes", loc=user_loc())

    def distance(a: Tensor, b: Tensor) -> Tensor:
        size = abs_(add(sub(a, b), eps))
        return pow_(reduce_sum(pow_(size, p), -1), 1 / p)

    far = distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced("triplet_margin_loss", relu(add(sub(distance(anchor, positive), far), margin)), reduction)


__all__ = [
    "gaussian_nll_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "triplet_margin_loss",
]
