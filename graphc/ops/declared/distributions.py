"""Draws whose algorithms have no kernel, and the gradient of a gamma number for its shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphc.errors import DTypeError, ShapeError
from graphc.ir import NO_GRAD, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.op import Attrs, Scalar, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared.python_call import by_reference
from graphc.ops.declared.random import mix64
from graphc.ops.declared.rules import Array, floats


def _poisson_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if types[0] != TensorType("int64", ()):
        raise DTypeError(f"RandomPoisson: the key is {types[0]}, expected one int64: i64[]")
    if types[1].dtype not in FLOATS:
        raise DTypeError(f"RandomPoisson: the rates are {types[1]}, expected floats")
    return (TensorType("int64", types[1].shape),)


def _poisson_ref(key: Array, rate: Array) -> Array:
    stream = np.random.Generator(np.random.Philox(key=int(key) & 0xFFFFFFFFFFFFFFFF))
    return np.asarray(stream.poisson(rate.astype(np.float64)), np.int64)


op(
    "RandomPoisson",
    "key rate",
    infer=_poisson_infer,
    ref=_poisson_ref,
    lower=by_reference("RandomPoisson", _poisson_ref),
    grad=NO_GRAD,
    samples=lambda: [
        Sample((np.array(mix64(3), np.int64), floats(4, 5, low=0.0, high=30.0))),
        Sample((np.array(mix64(4), np.int64), np.array(0.0, np.float32))),
    ],
    doc="Poisson numbers of rates, from a key (NumPy's generator Philox)",
)


#: Above this shape a gamma number is nearly the cube of a normal one.
_LARGE = 400.0


def _pair_infer(name: str) -> Callable[[Types, Attrs], tuple[TensorType, ...]]:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        alpha, x = types
        if alpha.dtype not in FLOATS or alpha.dtype != x.dtype:
            raise DTypeError(f"{name}: operands are {alpha} and {x}, expected floats of one dtype")
        if alpha.shape != x.shape:
            raise ShapeError(f"{name}: operands are {alpha} and {x}, expected one shape")
        return (x,)

    return infer


def _slope(alpha: Array, x: Array) -> Array:
    """dx / dalpha of x = F^-1(u; alpha) for a fixed u, F the distribution function of gamma numbers: -(dF / dalpha) / (dF / dx)
    (implicit reparameterization: Figurnov, Mohamed, Mnih, 2018). NaN where there are no such numbers.
    """
    a, y = alpha.astype(np.float64), x.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = np.where(a > _LARGE, _slope_of_normal(a, y), 0.0)
        few = (a > 0) & (a <= _LARGE) & (y >= 0) & (y < 4 * _LARGE)
        made[few] = _slope_by_series(a[few], y[few])
        made = np.where(y == 0, 0.0, np.where(np.isfinite(y) & (few | (a > _LARGE)), made, np.nan))
    return np.asarray(made).astype(x.dtype)


def _slope_by_series(a: Array, y: Array) -> Array:
    """Of F = y^a e^-y / gamma(a + 1) sum t_k, t_k = y^k / ((a + 1) ... (a + k)), what both derivatives share falls out."""
    term, rate = np.ones_like(a), np.zeros_like(a)
    total, change, k = np.ones_like(a), np.zeros_like(a), 0
    # Terms grow up to k = y - a; behind that they fall faster than those of a geometric series.
    while np.any(term > 1e-17 * total) or np.any(a + k < y):
        k += 1
        term = term * y / (a + k)
        rate = rate + 1 / (a + k)
        total, change = total + term, change + term * rate
    return np.asarray((change - total * (np.log(y) - _digamma(a + 1))) * y / a)


def _slope_of_normal(a: Array, y: Array) -> Array:
    """For large a: the cube root of y / a is nearly normal (Wilson and Hilferty, 1931)."""
    root = np.cbrt(y / a)
    z = 3 * np.sqrt(a) * (root - 1 + 1 / (9 * a))
    return np.asarray(root**3 + 3 * a * root**2 * (1 / (9 * a * a) - z / (6 * a**1.5)))


def _digamma(x: Array) -> Array:
    """psi(x) of x above 0 in float64: the recurrence up to 10, then the asymptotic series."""
    shift = np.zeros_like(x)
    for _ in range(10):
        small = x < 10
        shift = shift - np.where(small, 1 / x, 0.0)
        x = np.where(small, x + 1, x)
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * 691 / 32760)))))
    return np.log(x) - 0.5 / x - series + shift


def _path_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    return [g.Mul(dy, g.GammaSlope(n.alpha, n.x)), None]


def _samples() -> list[Sample]:
    return [
        Sample((floats(3, 7, low=0.3, high=5.0), floats(3, 7, seed=1, low=0.1, high=6.0))),
        Sample((floats(low=1.0, high=2.0), floats(seed=1, low=0.1, high=3.0))),
    ]


op(
    "GammaSlope",
    "alpha x",
    infer=_pair_infer("GammaSlope"),
    ref=_slope,
    lower=by_reference("GammaSlope", _slope),
    samples=_samples,
    doc="how gamma numbers x change with their shape alpha; no gradient of its own",
)

op(
    "GammaPath",
    "alpha x",
    infer=_pair_infer("GammaPath"),
    ref=lambda alpha, x: x,
    grad=_path_grad,
    lower=Scalar(lambda e, alpha, x: x),
    samples=_samples,
    doc="x, gamma numbers of shape alpha, which have a gradient for it",
)
