"""Primitives of networks: activations, convolutions, pooling, normalizations, losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import HALVES
from graphc.ops import functional as F
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import Axis, Ints, Operand
from graphc.ops.functional.distributions import sizes
from graphc.ops.functional.normalization import lrn
from graphc.ops.tensor.dtype import float32, int32, int64, to_name
from graphc.ops.tensor.primitive import REQUIRED, Only, declare
from graphc.ops.tensor.seed import generator
from graphc.ops.tensor.tensor import Tensor

# ---- activations

ReLU, ReLU6, Sigmoid, Tanh = (
    declare("ReLU", F.relu),
    declare("ReLU6", F.relu6),
    declare("Sigmoid", F.sigmoid),
    declare("Tanh", F.tanh),
)

Elu, SeLU, CeLU = declare("Elu", F.elu, alpha=1.0), declare("SeLU", F.selu), declare("CeLU", F.celu, alpha=1.0)

GeLU = declare("GeLU", lambda x: F.gelu(x, "tanh"), "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).")

Gelu, FastGeLU, FastGelu = declare("Gelu", GeLU()), declare("FastGeLU", F.fast_gelu), declare("FastGelu", F.fast_gelu)

HSigmoid, HSwish = declare("HSigmoid", F.hardsigmoid), declare("HSwish", F.hardswish)

HShrink, SoftShrink = declare("HShrink", F.hardshrink, lambd=0.5), declare("SoftShrink", F.softshrink, lambd=0.5)

Mish, PReLU, SiLU = declare("Mish", F.mish), declare("PReLU", F.prelu), declare("SiLU", F.silu)

Softplus, Softsign = declare("Softplus", F.softplus), declare("Softsign", F.softsign)

GLU = declare("GLU", F.glu, axis=-1)


def _softmax(function: Any) -> Any:
    def over(x: Tensor, axis: Axis) -> Tensor:
        if isinstance(axis, (tuple, list)):
            if len(axis) != 1:
                raise ArgumentValueError(f"Softmax: one axis is supported, got {axis}", loc=user_loc())
            axis = axis[0]
        return function(x, axis)  # type: ignore[no-any-return]

    over.__doc__ = function.__doc__
    return over


Softmax, LogSoftmax = (
    declare("Softmax", _softmax(F.softmax), axis=-1),
    declare("LogSoftmax", _softmax(F.log_softmax), axis=-1),
)


def _log_softmax_ext(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """log of softmax along dim, None: the first axis of tensors with 0, 1 or 3 axes, else the second. dtype: cast to before."""
    axis = dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1
    return F.log_softmax(input if dtype is None else F.cast(input, dtype), axis)


LogSoftmaxExt = declare("LogSoftmaxExt", _log_softmax_ext)

# ---- images

BiasAdd = declare("BiasAdd", F.bias_add, data_format=Only("NCHW"))


def pair_of(owner: str, name: str, value: Any) -> tuple[int, int]:
    """An int, a pair, or MindSpore's (1, 1, vertical, horizontal)."""
    sizes = (value, value) if isinstance(value, int) else tuple(value)[-2:]
    if len(sizes) != 2 or any(isinstance(v, bool) or not isinstance(v, int) or v < 1 for v in sizes):
        raise ArgumentValueError(f"{owner}: {name} must be a positive int or two, got {value!r}", loc=user_loc())
    return sizes[0], sizes[1]


def check_weight(owner: str, weight: Tensor, out_channel: int, kernel_size: Any) -> None:
    """ShapeError unless a weight [out, in, *window] has so many results and a window of that size."""
    rank = weight.ndim - 2
    window = (kernel_size,) * rank if isinstance(kernel_size, int) else tuple(kernel_size)
    if weight.shape[0] != out_channel or weight.shape[2:] != window:
        raise ShapeError(
            f"{owner}: the weight is {weight.tensor_type}, expected [{out_channel}, in / group, {', '.join(map(str, window))}]"
            " by out_channel and kernel_size",
            loc=user_loc(),
        )


def _conv2d(
    x: Tensor,
    weight: Tensor,
    out_channel: int,
    kernel_size: Ints,
    pad_mode: str,
    pad: Ints,
    stride: Ints,
    dilation: Ints,
    group: int,
) -> Tensor:
    """Cross-correlation of [N, C, H, W] with [out, C / group, kh, kw]."""
    check_weight("Conv2D", weight, out_channel, kernel_size)
    strides, dilations = pair_of("Conv2D", "stride", stride), pair_of("Conv2D", "dilation", dilation)
    return F.conv2d(x, weight, None, strides, pad_mode, pad, dilations, group)


Conv2D = declare(
    "Conv2D",
    _conv2d,
    out_channel=REQUIRED,
    kernel_size=REQUIRED,
    mode=Only(1),
    pad_mode="valid",
    pad=0,
    stride=1,
    dilation=1,
    group=1,
    data_format=Only("NCHW"),
)


def _pool(kind: str) -> Any:
    def run(x: Tensor, kernel_size: Ints, strides: Ints, pad_mode: str) -> Tensor:
        kernel, stride = pair_of(kind, "kernel_size", kernel_size), pair_of(kind, "strides", strides)
        mode = pad_mode.lower()
        if mode not in ("same", "valid"):
            raise ArgumentValueError(f"{kind}: pad_mode must be 'same' or 'valid', got {pad_mode!r}", loc=user_loc())
        pads = F.same_pad((x.shape[2], x.shape[3]), kernel, stride, (1, 1)) if mode == "same" else (0, 0, 0, 0)
        if kind == "MaxPool":
            largest: Tensor = F.max_pool2d(x, kernel, stride, pads)
            return largest
        return F.avg_pool2d(x, kernel, stride, pads, count_include_pad=False)

    run.__doc__ = f"{'Largest' if kind == 'MaxPool' else 'Mean'} pixel of each window of [N, C, H, W]."
    return run


MaxPool, AvgPool = (
    declare(n, _pool(n), kernel_size=1, strides=1, pad_mode="valid", data_format=Only("NCHW"))
    for n in ("MaxPool", "AvgPool")
)

# ---- normalizations


def _batch_norm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    is_training: bool,
    epsilon: float,
    momentum: float,
) -> tuple[Tensor, ...]:
    """(y, mean, variance, mean, variance): x standardized per channel by the batch's statistics in training, which also move
    the parameters `mean` and `variance`, else by those given, which get no gradient.
    """
    if not is_training:
        m, v = F.stop_gradient(mean), F.stop_gradient(variance)
        return F.batch_norm(x, m, v, scale, bias, False, momentum, epsilon), m, v, m, v
    y = F.batch_norm(x, mean, variance, scale, bias, True, momentum, epsilon)
    m, v = F.moments(x, [i for i in range(x.ndim) if i != 1])
    m, v = F.reshape(m, (-1,)), F.reshape(v, (-1,))
    return y, m, v, m, v


BatchNorm = declare("BatchNorm", _batch_norm, is_training=False, epsilon=1e-5, momentum=0.1, data_format=Only("NCHW"))


def _instance_norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    mean: Tensor,
    variance: Tensor,
    is_training: bool,
    momentum: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """(y, the means, 1 over the standard deviations) of x [N, C, H, W] or [N, C, H, W, C0], standardized by channel and image in
    training, else by the mean and the variance given; zeros are the latter two then. Only y has a gradient, as in MindSpore.

    gamma, beta, mean, variance: float32 [N, C, 1, 1] or [N, C, 1, 1, C0]; momentum counts for nothing. Raises ShapeError,
    DTypeError, ArgumentValueError.
    """
    owner = "InstanceNormV2"
    for name, value in (("momentum", momentum), ("epsilon", epsilon)):
        if not 0 <= value <= 1 or (name == "epsilon" and value == 0):
            raise ArgumentValueError(f"{owner}: {name} must lie between 0 and 1, got {value}", loc=user_loc())
    if x.tensor_type.dtype not in ("float16", "float32"):
        raise DTypeError(f"{owner}: x is {x.tensor_type}, expected float16 or float32", loc=user_loc())
    sizes = (*x.shape[:2], 1, 1, *x.shape[4:])
    if x.ndim not in (4, 5) or any(p.shape != sizes for p in (gamma, beta, mean, variance)):
        raise ShapeError(
            f"{owner}: x is {x.tensor_type}, gamma {gamma.tensor_type}, beta {beta.tensor_type}, mean {mean.tensor_type},"
            f" variance {variance.tensor_type}: expected {sizes} for all but x",
            loc=user_loc(),
        )
    wide = F.cast(x, "float32")
    if is_training:
        middle = F.reduce_mean(wide, (2, 3), keep_dims=True)
        rate = F.rsqrt(F.reduce_mean(F.square(wide - middle), (2, 3), keep_dims=True) + epsilon)
        saved = (F.stop_gradient(middle), F.stop_gradient(rate))
    else:
        middle, rate = F.stop_gradient(mean), F.rsqrt(F.stop_gradient(variance) + epsilon)
        saved = (F.zeros_like(mean), F.zeros_like(variance))
    return F.cast((wide - middle) * rate * gamma + beta, x.dtype), *saved


InstanceNormV2 = declare("InstanceNormV2", _instance_norm, is_training=True, momentum=0.1, epsilon=1e-5)


def _layer_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, begin_norm_axis: int, begin_params_axis: int, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(y, mean, variance): x standardized over the axes from begin_norm_axis, times gamma plus beta; the mean and the variance
    are float32.
    """
    begin = check_axis("LayerNorm: begin_norm_axis", begin_norm_axis, x.ndim)
    mean, variance = F.moments(F.cast(x, "float32") if x.tensor_type.dtype in HALVES else x, list(range(begin, x.ndim)))
    first = check_axis("LayerNorm: begin_params_axis", begin_params_axis, x.ndim)
    for name, p in (("gamma", gamma), ("beta", beta)):
        if p.shape != x.shape[first:]:
            raise ShapeError(
                f"LayerNorm: {name} is {p.tensor_type}, expected the axes from {first} on of {x.tensor_type}",
                loc=user_loc(),
            )
    y = F.layer_norm_over(x, gamma, beta, begin, epsilon)
    return y, F.cast(mean, "float32"), F.cast(variance, "float32")


LayerNorm = declare("LayerNorm", _layer_norm, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)


RmsNorm = declare("RmsNorm", F.rms_norm, epsilon=1e-6)


def _l2_normalize(x: Tensor, axis: Axis, epsilon: float) -> Tensor:
    """x / sqrt(max(sum x^2, epsilon)) over an axis."""
    axes = tuple(axis) if isinstance(axis, list) else axis
    return F.div(x, F.sqrt(F.maximum(F.reduce_sum(F.square(x), axes, True), epsilon)))


L2Normalize = declare("L2Normalize", _l2_normalize, axis=0, epsilon=1e-4)

# ---- random numbers


def _probability(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{name} must be a number, got {type(value).__name__}", loc=user_loc())
    return float(value)


def _dropout(x: Tensor, keep_prob: float, Seed0: int, Seed1: int) -> tuple[Tensor, Tensor]:
    """(x / keep_prob where kept, else 0; the mask as float32 zeros and ones)."""
    keep = _probability("Dropout: keep_prob", keep_prob)
    seed = Seed0 or Seed1
    mask = F.less(F.uniform_from(generator(seed or None), x.shape), keep)
    return F.select(mask, F.mul(x, 1.0 / keep), 0.0), F.cast(mask, x.dtype)


Dropout = declare("Dropout", _dropout, keep_prob=0.5, Seed0=0, Seed1=0)


def _uniform(shape: Sequence[int], seed: int, seed2: int) -> Tensor:
    """float32 numbers, uniform in [0, 1)."""
    return F.uniform_from(generator(seed or seed2 or None), sizes("UniformReal", shape))


def _uniform_int(shape: Sequence[int], minval: Operand, maxval: Operand, seed: int, seed2: int) -> Tensor:
    """int32 numbers from minval up to, but without, maxval."""
    return F.randint(minval, maxval, sizes("UniformInt", shape), seed or seed2, dtype="int32")


def _truncated_normal(shape: Sequence[int], dtype: Any, seed: int, seed2: int) -> Tensor:
    """Standard normal numbers between -2 and 2, by the inverse of the distribution function."""
    inside = F.uniform(sizes("TruncatedNormal", shape), -0.9544997361, 0.9544997361, seed or seed2)
    return F.cast(F.mul(F.erfinv(inside), 2**0.5), dtype)


TruncatedNormal = declare("TruncatedNormal", _truncated_normal, dtype=float32, seed=0, seed2=0)

RandomShuffle = declare(
    "RandomShuffle", lambda x, seed, seed2: F.shuffle(x, seed or seed2), F.shuffle.__doc__, seed=0, seed2=0
)

StandardNormal = declare(
    "StandardNormal",
    lambda shape, seed, seed2: F.standard_normal(sizes("StandardNormal", shape), seed or seed2),
    F.standard_normal.__doc__,
    seed=0,
    seed2=0,
)

UniformReal = declare("UniformReal", _uniform, seed=0, seed2=0)


def _multinomial(x: Tensor, num_samples: int, seed: int, seed2: int, dtype: Any) -> Tensor:
    """Indices drawn, with replacement, with the probabilities in a row."""
    if to_name(dtype) not in ("int32", "int64"):
        raise ArgumentTypeError(f"Multinomial: dtype must be int32 or int64, got {to_name(dtype)}", loc=user_loc())
    return F.cast(F.multinomial(x, num_samples, True, seed or seed2 or None), dtype)


Multinomial = declare("Multinomial", _multinomial, seed=0, seed2=0, dtype=int32)

RandomCategorical = declare("RandomCategorical", F.random_categorical, dtype=int64)

UniformInt = declare("UniformInt", _uniform_int, seed=0, seed2=0)

# ---- losses

SoftmaxCrossEntropyWithLogits = declare("SoftmaxCrossEntropyWithLogits", F.softmax_cross_entropy_with_logits)


def _sparse_entropy(logits: Tensor, labels: Tensor, is_grad: bool) -> Tensor:
    """The mean loss, or with is_grad its gradient for the logits; labels are class numbers."""
    loss, grad = F.sparse_softmax_cross_entropy_with_logits(logits, labels)
    if is_grad:
        return F.div(F.stop_gradient(grad), float(max(logits.shape[0], 1)))
    return F.reduce_mean(loss)


SparseSoftmaxCrossEntropyWithLogits = declare("SparseSoftmaxCrossEntropyWithLogits", _sparse_entropy, is_grad=False)


def _sigmoid_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """softplus(x) - x label: the loss per element of labels that are probabilities, which get no gradient."""
    return F.binary_cross_entropy_with_logits(logits, F.stop_gradient(label), None, None, "none")


SigmoidCrossEntropyWithLogits = declare("SigmoidCrossEntropyWithLogits", _sigmoid_entropy)

SmoothL1Loss = declare("SmoothL1Loss", F.smooth_l1_loss, beta=1.0, reduction="none")

SoftMarginLoss = declare("SoftMarginLoss", F.soft_margin_loss, reduction="mean")

BinaryCrossEntropy = declare("BinaryCrossEntropy", F.binary_cross_entropy, reduction="mean")

BCEWithLogitsLoss = declare(
    "BCEWithLogitsLoss",
    lambda x, y, weight=None, pos_weight=None, *, reduction: F.binary_cross_entropy_with_logits(
        x, y, weight, pos_weight, reduction
    ),
    F.binary_cross_entropy_with_logits.__doc__,
    reduction="mean",
)


def _kl_div(logits: Tensor, labels: Tensor, reduction: str) -> Tensor:
    """labels (log labels - logits), 0 where labels are not positive; the labels get no gradient."""
    return F.kl_div(logits, F.stop_gradient(labels), reduction)


KLDivLoss = declare("KLDivLoss", _kl_div, reduction="mean")


def _nll(logits: Tensor, labels: Tensor, weight: Tensor, reduction: str, ignore_index: int) -> tuple[Tensor, Tensor]:
    """(loss, sum of the weights of the labels), in the dtype of the logits; the weights get no gradient."""
    if not logits.tensor_type.is_float:
        raise DTypeError(f"NLLLoss: logits are {logits.tensor_type}, expected floats", loc=user_loc())
    weight = F.stop_gradient(weight)
    loss = F.nll_loss(logits, labels, weight, ignore_index, reduction)
    counted = F.select(F.equal(labels, ignore_index), 0.0, F.gather(weight, labels, 0))
    return F.cast(loss, logits.dtype), F.cast(F.reduce_sum(counted), logits.dtype)


NLLLoss = declare("NLLLoss", _nll, reduction="mean", ignore_index=-100)

LRN = declare("LRN", lrn, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS")
