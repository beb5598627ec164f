"""Losses as functions, each with MindSpore's formula and default reduction."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops.declared.indexing import INDEX_DTYPES
from graphc.ops.functional.activation import log_softmax, softplus
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.bounds import classes_in_bounds
from graphc.ops.functional.core import Operand, as_float, cast_pair, cast_to, halves_widened, pair, real_only
from graphc.ops.functional.create import full
from graphc.ops.functional.elements import elements_at
from graphc.ops.functional.elementwise import (
    abs_,
    add,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    maximum,
    mul,
    sqrt,
    square,
    sub,
)
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.functional.reduce import reduce_mean, reduce_sum
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.functional.slicing import rows_at
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import one_of

#: What a probability is at least, where the logarithm is taken or what is divided by.
_LEAST = 1e-12
_REDUCTIONS = ("none", "mean", "sum")


def reduced(op: str, x: Tensor, reduction: str) -> Tensor:
    """x itself, its mean or its sum; ArgumentValueError for another reduction."""
    one_of(op, "reduction", reduction, _REDUCTIONS)
    return x if reduction == "none" else reduce_mean(x) if reduction == "mean" else reduce_sum(x)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)^2, reduced; of integers in float32."""
    real_only("mse_loss", input, target)
    return reduced("mse_loss", square(sub(as_float(input), as_float(target))), reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|input - target|, reduced."""
    return reduced("l1_loss", abs_(sub(input, target)), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, beta: Operand = 1.0, reduction: str = "none") -> Tensor:
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, with d = input - target; reduced."""
    beta = scalar("smooth_l1_loss", "beta", beta, (">", 0), wanted="be positive")
    require_alike("smooth_l1_loss", input=input, target=target)
    d = sub(input, target)
    size = abs_(d)
    loss = select(less(size, beta), mul(square(d), 0.5 / beta), sub(size, 0.5 * beta))
    return reduced("smooth_l1_loss", loss, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: Operand = 1.0) -> Tensor:
    """d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = input - target; reduced."""
    real_only("huber_loss", input, target)
    delta = scalar("huber_loss", "delta", delta, (">", 0), wanted="be positive")
    d = sub(input, target)
    size = abs_(d)
    loss = select(less_equal(size, delta), mul(square(d), 0.5), mul(sub(size, 0.5 * delta), delta))
    return reduced("huber_loss", loss, reduction)


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target input)), reduced; targets are 1 or -1."""
    require_alike("soft_margin_loss", input=input, target=target)
    return reduced("soft_margin_loss", softplus(-mul(input, target)), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: Operand = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, -target (input1 - input2) + margin), reduced."""
    return reduced("margin_ranking_loss", maximum(add(-mul(target, sub(input1, input2)), margin), 0.0), reduction)


def hinge_embedding_loss(inputs: Tensor, targets: Tensor, margin: Operand = 1.0, reduction: str = "mean") -> Tensor:
    """inputs where the target is above 0 (1), max(0, margin - inputs) where it is below (-1), reduced."""
    near = select(greater(targets, 0.0), inputs, 0.0)
    far = select(less(targets, 0.0), maximum(sub(margin, inputs), 0.0), 0.0)
    return reduced("hinge_embedding_loss", add(near, far), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: Operand = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, with the cosine along axis 1; reduced.

    That of a zero vector is NaN.
    """
    if input1.ndim < 2:
        raise ShapeError(
            f"cosine_embedding_loss: the inputs are {input1.tensor_type}, expected [N, features]", loc=user_loc()
        )
    return cosine_loss(input1, input2, target, margin, reduction, 1, 0.0)


def cosine_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: Any, reduction: str, axis: int, eps: float
) -> Tensor:
    """`cosine_embedding_loss` along an axis, the squares of the lengths greater by eps. ArgumentValueError, ShapeError."""
    margin = scalar("cosine_embedding_loss", "margin", margin, (">=", -1), ("<=", 1), wanted="lie in [-1, 1]")
    if input1.shape != input2.shape:
        raise ShapeError(
            f"cosine_embedding_loss: the inputs are {input1.tensor_type} and {input2.tensor_type}, expected equal shapes",
            loc=user_loc(),
        )
    first, second = (sqrt(add(reduce_sum(square(x), axis), eps)) for x in (input1, input2))
    cosine = div(reduce_sum(mul(input1, input2), axis), mul(first, second))
    same = select(equal(target, 1), sub(1.0, cosine), 0.0)
    other = select(equal(target, -1), maximum(sub(cosine, margin), 0.0), 0.0)
    return reduced("cosine_embedding_loss", add(same, other), reduction)


def kl_div(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """labels (log labels - logits), 0 where labels are not positive; reduced. "batchmean" divides the sum by axis 0."""
    require_alike("kl_div", logits=logits, labels=labels)
    present = greater(labels, 0.0)
    weight = select(present, labels, 0.0)
    loss = mul(weight, sub(log(select(present, labels, 1.0)), logits))
    if reduction == "batchmean":
        return div(reduce_sum(loss), float(logits.shape[0]))
    return reduced("kl_div", loss, reduction)


# ---- two classes


def _weighted(loss: Tensor, weight: Tensor | None) -> Tensor:
    return loss if weight is None else mul(loss, weight)


def binary_cross_entropy(
    logits: Tensor, labels: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-weight (labels log p + (1 - labels) log(1 - p)) of probabilities p, reduced; 1e-12 is added to p and 1 - p.

    The gradient is weight (p - labels) / max(p (1 - p), 1e-12).
    """
    real_only("binary_cross_entropy", logits, labels)
    require_alike("binary_cross_entropy", logits=logits, labels=labels)
    dtype = pair("binary_cross_entropy", logits, labels)[0].tensor_type.dtype
    loss = cast_to(_binary_entropy(*map(halves_widened, (logits, labels))), dtype)
    return reduced("binary_cross_entropy", _weighted(loss, weight), reduction)


def _binary_entropy(p: Tensor, labels: Tensor) -> Tensor:
    """-(labels log p + (1 - labels) log(1 - p)), with 1e-12 in the logarithms, whose derivatives are 1 / p and 1 / (1 - p) all
    the same. At the borders, where p (1 - p) is less, that of (p - labels)^2 / 2e-12 stands for them.
    """
    between = greater_equal(mul(p, sub(1.0, p)), _LEAST)
    safe = stop_gradient(select(between, p, 0.5))
    moved = select(between, sub(p, stop_gradient(p)), 0.0)  # 0, with the derivative 1.
    hit = mul(stop_gradient(add(p, _LEAST)), add(div(moved, safe), 1.0))
    miss = mul(stop_gradient(add(sub(1.0, p), _LEAST)), sub(1.0, div(moved, sub(1.0, safe))))
    apart = square(sub(p, stop_gradient(labels)))
    border = select(between, 0.0, mul(sub(apart, stop_gradient(apart)), 0.5 / _LEAST))
    return sub(border, add(mul(labels, log(hit)), mul(sub(1.0, labels), log(miss))))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight (pos_weight target log s + (1 - target) log(1 - s)), s = sigmoid(input), without overflow; reduced.

    The result has the dtype of input and target, whatever the weights'.
    """
    require_alike("binary_cross_entropy_with_logits", input=input, target=target)
    if pos_weight is None:
        loss = sub(softplus(input), mul(input, target))
    else:
        positive = add(mul(sub(pos_weight, 1.0), target), 1.0)
        loss = add(mul(sub(1.0, target), input), mul(positive, softplus(-input)))
    made = reduced("binary_cross_entropy_with_logits", _weighted(loss, weight), reduction)
    return cast_to(made, mul(input, target).tensor_type.dtype)


#: Of a float target without the class axis.
_CLASSES = (
    "class numbers are int32 or int64: target.astype(graphc.int32); a float target has a probability for each class"
)


# ---- many classes


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int | Tensor = -100,
    reduction: str = "mean",
    label_smoothing: Operand = 0.0,
) -> Tensor:
    """-log softmax(input)[target] along the class axis: axis 1 of [N, classes, ...], or the only one.

    target: class numbers (int32, int64) without that axis, or probabilities of input's shape and a float dtype.
    weight: one number per class. Rows whose target is `ignore_index` count nothing; another number out of range is an
    IndexRangeError. "mean" divides by the sum of the weights of the targets. label_smoothing s mixes (1 - s) target with
    s / classes.
    """
    label_smoothing = _smoothing("cross_entropy", label_smoothing)
    if target.tensor_type.is_float:
        return _probability_entropy(input, target, weight, reduction, label_smoothing)
    if input.ndim == 2 and not _smooths(label_smoothing):
        ignore_index = scalar("cross_entropy", "ignore_index", ignore_index)
        _check_classes("cross_entropy", input, target, weight)
        target = classes_in_bounds("cross_entropy", target, input, 1, ignore_index)
        ignored = equal(target, ignore_index)
        safe = select(ignored, 0, target)
        loss, _ = _sparse_entropies(input, safe)
        weights = full(loss.shape, 1.0, dtype=input.dtype) if weight is None else rows_at(weight, safe)
        return _over_targets(loss, select(ignored, 0.0, weights), ignored, reduction, "cross_entropy")
    logp = log_softmax(input, 0 if input.ndim == 1 else 1)
    return nll_loss(logp, target, weight, ignore_index, reduction, label_smoothing)


def _smoothing(owner: str, share: Any) -> Any:
    return scalar(owner, "label_smoothing", share, (">=", 0), ("<=", 1), wanted="lie in [0, 1]")


def _smooths(share: Any) -> bool:
    """Whether labels may be smoothed: by a share that only the run tells, too."""
    return isinstance(share, Tensor) or share > 0


def _over_targets(loss: Tensor, weights: Tensor, ignored: Tensor, reduction: str, op: str) -> Tensor:
    """weights * loss without the ignored rows, reduced; the mean is over the weights."""
    loss = select(ignored, 0.0, mul(loss, weights))
    if reduction == "mean":
        return div(reduce_sum(loss), reduce_sum(weights))
    return reduced(op, loss, reduction)


def _probability_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: Any
) -> Tensor:
    help = _CLASSES if target.ndim < input.ndim else None
    require_alike("cross_entropy", input=input, target=target, help=help)
    axis = 0 if input.ndim == 1 else 1
    classes = input.shape[axis]
    logp = log_softmax(input, axis)
    if _smooths(label_smoothing):
        target = add(mul(target, 1 - label_smoothing), label_smoothing / classes)
    loss = -mul(logp, target)
    if weight is not None:
        loss = mul(loss, _along(weight, axis, input.ndim))
    if reduction == "mean":
        return div(reduce_sum(loss), input.size / classes)
    return reduced("cross_entropy", reduce_sum(loss, axis), reduction)


def _along(v: Tensor, axis: int, rank: int) -> Tensor:
    return reshape(v, tuple(v.size if i == axis else 1 for i in range(rank)))


def _check_classes(op: str, inputs: Tensor, target: Tensor, weight: Tensor | None) -> None:
    axis = 0 if inputs.ndim == 1 else 1
    if target.tensor_type.dtype not in ("int32", "int64"):
        raise DTypeError(
            f"{op}: the target is {target.tensor_type}, expected int32 or int64 class numbers", code="GC111"
        )
    if inputs.ndim == 0 or target.shape != inputs.shape[:axis] + inputs.shape[axis + 1 :]:
        raise ShapeError(
            f"{op}: the input is {inputs.tensor_type} and the target {target.tensor_type},"
            " expected one class number per row of the input",
            code="GC111",
            loc=user_loc(),
            help="cast probabilities to the input's dtype" if target.shape == inputs.shape else None,
        )
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != inputs.shape[axis : axis + 1]):
        kind = str(weight.tensor_type) if isinstance(weight, Tensor) else type(weight).__name__
        raise (ShapeError if isinstance(weight, Tensor) else ArgumentTypeError)(
            f"{op}: weight is {kind}, expected one number per class of {inputs.tensor_type}", loc=user_loc()
        )


def _picked(x: Tensor, axis: int, classes: Tensor) -> Tensor:
    """x's element of a class in each row. In images all classes are looked at, in the sweep that makes x, and its gradient."""
    if x.ndim <= 2:
        return reshape(elements_at(x, axis, expand_dims(classes, axis)), classes.shape)
    numbers = Tensor(np.arange(x.shape[axis], dtype=classes.tensor_type.dtype))
    hit = equal(expand_dims(classes, axis), _along(numbers, axis, x.ndim))
    return reduce_sum(select(hit, x, 0.0), axis)


def nll_loss(
    inputs: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int | Tensor = -100,
    reduction: str = "mean",
    label_smoothing: Operand = 0.0,
) -> Tensor:
    """-inputs[target] along the class axis of log probabilities; arguments as for `cross_entropy`, targets are class
    numbers.
    """
    _check_classes("nll_loss", inputs, target, weight)
    ignore_index = scalar("nll_loss", "ignore_index", ignore_index)
    label_smoothing = scalar("nll_loss", "label_smoothing", label_smoothing)
    inputs = as_float(inputs)
    axis = 0 if inputs.ndim == 1 else 1
    classes = inputs.shape[axis]
    target = classes_in_bounds("nll_loss", target, inputs, axis, ignore_index)
    ignored = equal(target, ignore_index)
    safe = select(ignored, 0, target)
    picked = _picked(inputs, axis, safe)
    weights = full(target.shape, 1.0, dtype=inputs.dtype)
    scaled = inputs
    if weight is not None:
        scaled = mul(inputs, _along(weight, axis, inputs.ndim))
        weights = rows_at(weight, safe)
        picked = mul(picked, weights)
    weights = select(ignored, 0.0, weights)
    loss = select(ignored, 0.0, -picked)
    if _smooths(label_smoothing):
        smooth = select(ignored, 0.0, -reduce_sum(scaled, axis))
        loss = add(mul(loss, 1.0 - label_smoothing), mul(smooth, label_smoothing / classes))
    if reduction == "mean":
        return div(reduce_sum(loss), reduce_sum(weights))
    return reduced("nll_loss", loss, reduction)


def softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(loss per row, its gradient for the logits) with labels that are probabilities."""
    return cast_pair(call_op("SoftmaxCrossEntropyWithLogits", logits, labels))


def sparse_softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(loss per row, its gradient for the logits) with labels that are class numbers. IndexRangeError for one out of range."""
    if logits.ndim == 2 and labels.tensor_type.dtype in INDEX_DTYPES:
        labels = classes_in_bounds("cross entropy", labels, logits, 1)
    return _sparse_entropies(logits, labels)


def _sparse_entropies(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return cast_pair(call_op("SparseSoftmaxCrossEntropyWithLogits", logits, labels))


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "reduced",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
]
