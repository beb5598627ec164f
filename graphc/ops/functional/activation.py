"""Activations, as compositions of elementwise functions that fuse into one loop; softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.ir.types import FLOATS, HALVES, INTEGERS
from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.clipping import clamp
from graphc.ops.functional.core import Operand, call, cast, cast_to, real_only
from graphc.ops.functional.elementwise import (
    abs_,
    erf,
    exp,
    expm1,
    greater,
    greater_equal,
    less_equal,
    log,
    maximum,
    minimum,
    mul,
    neg,
    relu,
    sigmoid,
    sub,
    tanh,
)
from graphc.ops.functional.joining import split, tensor_split
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_at_least
from graphc.ops.functional.reduce import reduce_max, reduce_sum
from graphc.ops.functional.scalars import scalar
from graphc.ops.functional.shapes import reshape, swapaxes
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: So many elements beside each other go through softmax together.
_BESIDE = 16


def _float(op: str, x: Tensor) -> Tensor:
    x = as_tensor(x, f"{op}: x")
    if x.tensor_type.dtype not in FLOATS:
        raise DTypeError(
            f"{op}: x is {x.tensor_type}, expected a float tensor", loc=user_loc(), help="ops.cast(x, graphc.float32)"
        )
    return x


def _as_float(op: str, x: Tensor) -> Tensor:
    """x as a float: integers are computed with in float32."""
    return cast_to(x, "float32") if x.tensor_type.dtype in INTEGERS else _float(op, x)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Phi(x) with the normal distribution function Phi; by "tanh": x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    (Hendrycks and Gimpel, 2016).
    """
    given = _float("gelu", input)
    x = _wide(given)
    if approximate == "none":
        made = x * 0.5 * (erf(x * math.sqrt(0.5)) + 1.0)
    elif approximate == "tanh":
        made = x * 0.5 * (tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1.0)
    else:
        raise ArgumentValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}", loc=user_loc())
    return cast_to(made, given.tensor_type.dtype)


def _wide(x: Tensor) -> Tensor:
    """x, in float32 if it is half as wide: there squares overflow, and sums of nearly opposite numbers keep no digits."""
    return cast_to(x, "float32") if x.tensor_type.dtype in HALVES else x


def fast_gelu(x: Tensor) -> Tensor:
    """x / (1 + exp(-1.702 |x|)) exp(0.851 (x - |x|)), which is x sigmoid(1.702 x)."""
    given = _float("fast_gelu", x)
    wide = _wide(given)
    return cast_to(wide * sigmoid(wide * 1.702), given.tensor_type.dtype)


def _negative_part(x: Tensor) -> Tensor:
    """x where it is not positive, else 0: a branch that is not taken must stay finite, its gradient is multiplied by zero."""
    return select(greater(x, 0.0), 0.0, x)


def elu(input_x: Tensor, alpha: Operand = 1.0) -> Tensor:
    """x if x > 0, else alpha (exp(x) - 1)."""
    x = _float("elu", input_x)
    return select(greater(x, 0.0), x, expm1(_negative_part(x)) * alpha)


def celu(x: Tensor, alpha: Operand = 1.0) -> Tensor:
    """max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)."""
    x = _float("celu", x)
    alpha = scalar("celu", "alpha", alpha, ("!=", 0), wanted="not be 0")
    return select(greater(x, 0.0), x, expm1(_negative_part(x) * (1 / alpha)) * alpha)


def selu(input_x: Tensor) -> Tensor:
    """1.0507 elu(x, 1.67326) (Klambauer et al., 2017)."""
    return elu(input_x, 1.67326324) * 1.05070098


def leaky_relu(input: Tensor, alpha: Operand = 0.2) -> Tensor:
    """x if x >= 0, else alpha x; of integers with the integer part of alpha."""
    if input.tensor_type.dtype in INTEGERS:
        return select(greater(input, 0), input, input * int(alpha))
    x = _float("leaky_relu", input)
    return select(greater(x, 0.0), x, x * alpha)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x if x >= 0, else w x, with one w, or one per channel (axis 1), in the dtype of x."""
    x = _float("prelu", input)
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.ndim != 1 or weight.size not in (1, channels):
        raise ShapeError(
            f"prelu: weight is {weight.tensor_type}, expected one number or one per channel of {x.tensor_type}"
        )
    shape = tuple(weight.size if i == 1 else 1 for i in range(x.ndim)) if weight.size > 1 else (1,) * x.ndim
    return select(greater(x, 0.0), x, cast(x * reshape(weight, shape), x.dtype))


def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6)."""
    # The gradient is 0 at 0 and 1 at 6, as in MindSpore.
    positive = relu(x)
    return select(greater(positive, 6.0), 6.0, positive)


def silu(input: Tensor) -> Tensor:
    """x sigmoid(x)."""
    x = _float("silu", input)
    return x * sigmoid(x)


def softplus(input: Tensor, beta: Operand = 1, threshold: Operand = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    x = _float("softplus", input)
    beta = scalar("softplus", "beta", beta, ("!=", 0), wanted="not be 0")
    threshold = scalar("softplus", "threshold", threshold)
    plain = not isinstance(beta, Tensor) and beta == 1
    scaled = x if plain else mul(x, beta)
    smooth = call("Softplus", scaled)
    smooth = smooth if plain else mul(smooth, 1 / beta)
    # Beyond 20 the two agree in float32.
    if not isinstance(threshold, Tensor) and threshold >= 20:
        return smooth
    return select(greater(scaled, threshold), x, smooth)


def logsigmoid(x: Tensor) -> Tensor:
    """log(1 / (1 + exp(-x)))."""
    return -softplus(-_float("logsigmoid", x))


def mish(x: Tensor) -> Tensor:
    """x tanh(log(1 + exp(x))) (Misra, 2019)."""
    x = _float("mish", x)
    return x * tanh(call("Softplus", x))


def hardsigmoid(input: Tensor) -> Tensor:
    """(x + 3) / 6 held between 0 and 1; of integers without its fraction."""
    # The gradient is 0 at both bounds.
    positive = relu(_as_float("hardsigmoid", input) * (1 / 6) + 0.5)
    return cast_to(select(greater_equal(positive, 1.0), 1.0, positive), input.tensor_type.dtype)


def hardswish(input: Tensor) -> Tensor:
    """x relu6(x + 3) / 6; of integers without its fraction."""
    x = _as_float("hardswish", input)
    # At both bounds relu6 counts with its gradient inside, as in MindSpore.
    inside: Tensor = clamp(x + 3.0, 0.0, 6.0)
    return cast_to(x * inside * (1 / 6), input.tensor_type.dtype)


def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    x = _float("softsign", x)
    return x / (abs_(x) + 1.0)


def hardtanh(input: Tensor, min_val: Operand = -1.0, max_val: Operand = 1.0) -> Tensor:
    """x held between two bounds, in its dtype: of integers the bounds are without their fractions."""
    dtype = input.tensor_type.dtype
    if dtype in INTEGERS:
        limits = np.iinfo(input.tensor_type.numpy)
        min_val, max_val = (min(max(int(bound), limits.min), limits.max) for bound in (min_val, max_val))
    return cast_to(minimum(max_val, maximum(min_val, input)), dtype)


@method()
def hardshrink(input: Tensor, lambd: Operand = 0.5) -> Tensor:
    """x where |x| > lambd, else 0."""
    x = _float("hardshrink", input)
    return select(less_equal(abs_(x), lambd), 0.0, x)


@method("soft_shrink")
def softshrink(input: Tensor, lambd: Operand = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 within it."""
    require_at_least("softshrink", "lambd", lambd, 0)
    x = _float("softshrink", input)
    bound: Any = cast(lambd, x.dtype) if isinstance(lambd, Tensor) else lambd
    return relu(x - bound) - relu(-x - bound)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x); of integers in float32."""
    x = _as_float("tanhshrink", input)
    return x - tanh(x)


def threshold(input: Tensor, thr: Operand, value: Operand) -> Tensor:
    """x where x > thr, else value, which is cast to the dtype of x."""
    return select(greater(input, thr), input, cast(value, input.dtype))


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """a sigmoid(b) with a and b the halves of x along an axis."""
    real_only("glu", x)
    at = check_axis("glu", axis, x.ndim)
    if x.shape[at] % 2:
        raise ShapeError(f"glu: axis {axis} of {x.tensor_type} cannot be halved", loc=user_loc())
    half = x.shape[at] // 2
    a, b = split(x, (half, half), at)
    return a * sigmoid(b)


def _over_last(op: str, x: Tensor, axis: int) -> Tensor:
    at = check_axis(op, axis, x.ndim)
    if at == x.ndim - 1:
        return call(op, x)
    if _goes_across(x, at):
        return _across(op, x, at)
    return swapaxes(call(op, swapaxes(x, at, -1)), at, -1)


def _goes_across(x: Tensor, at: int) -> bool:
    """Whether what lies beside each other goes through softmax along an axis together."""
    active = dispatch.recorder.get()
    if active is not None and active.compared:
        # One way for all sizes. Of what is counted there may be nothing, and nothing has no greatest.
        return not active.counts and x.shape[at] > 0
    return x.shape[at] > 0 and math.prod(x.shape[at + 1 :]) >= _BESIDE


def _across(op: str, x: Tensor, at: int) -> Tensor:
    """The same of an axis whose elements lie apart: what lies beside each other goes through it together, and nothing is
    transposed. Halves are computed in float32."""
    source = _float(op, x).tensor_type.dtype
    if source in HALVES:
        x = cast(x, "float32")
    x = sub(x, stop_gradient(reduce_max(x, at, True)))
    if op == "LogSoftmax":
        return cast(sub(x, log(reduce_sum(exp(x), at, True))), source)
    e = exp(x)
    return cast(e / reduce_sum(e, at, True), source)


def softmax(input: Tensor, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """exp(x) / sum exp(x) along an axis, in a dtype if given."""
    return _over_last("Softmax", input if dtype is None else cast(input, dtype), axis)


@method()
def log_softmax(logits: Tensor, axis: int = -1) -> Tensor:
    """log of softmax along an axis."""
    return _over_last("LogSoftmax", logits, axis)


def softmin(x: Tensor, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """softmax of -x, in a dtype if given."""
    return softmax(neg(x if dtype is None else cast(x, dtype)), axis)


def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu(a) b of the halves a, b of an axis of an even size."""
    at = check_axis("swiglu", dim, input.ndim)
    if input.shape[at] % 2:
        raise ShapeError(f"swiglu: axis {at} of {input.tensor_type} cannot be halved", loc=user_loc())
    a, b = tensor_split(input, 2, at)
    return mul(silu(a), b)


__all__ = [
    "celu",
    "elu",
    "fast_gelu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu6",
    "selu",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "swiglu",
    "tanhshrink",
    "threshold",
]
