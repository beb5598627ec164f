"""Gradients of activations as primitives of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor

# ---- gradients: of dy and what the forward took or gave


def _gradient(name: str, rule: Callable[..., Tensor], doc: str, **attrs: Any) -> type[Any]:
    return declare(name, rule, f"The gradient {doc}", **attrs)


ReluGrad = _gradient("ReluGrad", lambda dy, x: F.select(x > 0, dy, 0), "of ReLU, from dy and its operand or result")

ReLU6Grad = _gradient("ReLU6Grad", lambda dy, x: F.select(F.logical_and(x > 0, x <= 6), dy, 0), "of ReLU6, from dy, x")

SigmoidGrad = _gradient("SigmoidGrad", lambda y, dy: dy * y * (1 - y), "of Sigmoid, from its result and dy")

TanhGrad = _gradient("TanhGrad", lambda y, dy: dy * (1 - y * y), "of Tanh, from its result and dy")

SqrtGrad = _gradient("SqrtGrad", lambda y, dy: dy / (y * 2), "of Sqrt, from its result and dy")

RsqrtGrad = _gradient("RsqrtGrad", lambda y, dy: dy * y * y * y * -0.5, "of Rsqrt, from its result and dy")

ReciprocalGrad = _gradient("ReciprocalGrad", lambda y, dy: -dy * y * y, "of Reciprocal, from its result and dy")

InvGrad = _gradient("InvGrad", lambda y, dy: -dy * y * y, "of Inv, from its result and dy")

AbsGrad = _gradient("AbsGrad", lambda x, dy: dy * F.sign(x), "of Abs, from x and dy")

ACosGrad = _gradient("ACosGrad", lambda x, dy: -dy * F.rsqrt(1 - x * x), "of ACos, from x and dy")

AsinGrad = _gradient("AsinGrad", lambda x, dy: dy * F.rsqrt(1 - x * x), "of Asin, from x and dy")

AtanGrad = _gradient("AtanGrad", lambda x, dy: dy / (1 + x * x), "of Atan, from x and dy")

AsinhGrad = _gradient("AsinhGrad", lambda y, dy: dy / F.cosh(y), "of Asinh, from its result and dy")

AcoshGrad = _gradient("AcoshGrad", lambda y, dy: dy / F.sinh(y), "of Acosh, from its result and dy")

SoftplusGrad = _gradient("SoftplusGrad", lambda dy, x: dy * F.sigmoid(x), "of Softplus, from dy and x")

EluGrad = _gradient(
    "EluGrad", lambda dy, y: dy * F.select(y > 0, F.ones_like(y), y + 1), "of Elu, from dy and its result"
)

HSigmoidGrad = _gradient(
    "HSigmoidGrad", lambda dy, x: dy * F.cast(F.logical_and(x > -3, x < 3), dy.dtype) / 6, "of HSigmoid, from dy and x"
)

SiLUGrad = _gradient(
    "SiLUGrad", lambda dy, x: dy * F.sigmoid(x) * (1 + x * (1 - F.sigmoid(x))), "of SiLU, from dy and x"
)

LogSoftmaxGrad = _gradient(
    "LogSoftmaxGrad",
    lambda y, dy, axis: dy - F.exp(y) * F.reduce_sum(dy, axis, keep_dims=True),
    "of LogSoftmax, from its result and dy",
    axis=-1,
)


def _bias_add_grad(dy: Tensor, data_format: str) -> Tensor:
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise ArgumentValueError(
            f"BiasAddGrad: data_format must be 'NCHW', 'NHWC' or 'NCDHW', got {data_format!r}", loc=user_loc()
        )
    channels = dy.ndim - 1 if data_format == "NHWC" else 1
    return F.reduce_sum(dy, tuple(i for i in range(dy.ndim) if i != channels))


BiasAddGrad = _gradient("BiasAddGrad", _bias_add_grad, "of BiasAdd for its bias, from dy", data_format="NCHW")

SigmoidCrossEntropyWithLogitsGrad = _gradient(
    "SigmoidCrossEntropyWithLogitsGrad",
    lambda x, label, dy: (F.sigmoid(x) - label) * dy,
    "of SigmoidCrossEntropyWithLogits, from logits, labels and dy",
)

FlattenGrad = _gradient("FlattenGrad", lambda dy, shape: F.reshape(dy, shape), "of Flatten, from dy and the shape of x")
