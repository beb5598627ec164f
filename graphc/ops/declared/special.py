"""Special functions by SciPy, elementwise, which compiled steps call back: Bessel's, incomplete gamma and beta functions, zeta.

SciPy is an optional package, behind the extra `scipy`: it is imported when one of these is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.ir import REQUIRED, Builder, Gradient, NodeView, Sample, Value, op
from graphc.ir.op import Alias, NoGrad
from graphc.ir.types import FLOATS
from graphc.ops.declared import padding
from graphc.ops.declared.optional_scipy import scipy_part
from graphc.ops.declared.python_call import by_reference
from graphc.ops.declared.rules import Array, elementwise, floats, unbroadcast


def _scipy() -> Any:
    return scipy_part("special")


def _by_scipy(name: str) -> Callable[..., Array]:
    """SciPy's function, in float64, rounded to the dtype of its first operand."""

    def computed(*operands: Array) -> Array:
        made = getattr(_scipy(), name)(*(x.astype(np.float64) for x in operands))
        return np.asarray(made).astype(operands[0].dtype)

    return computed


def _special(
    name: str,
    operands: str,
    reference: Callable[..., Array],
    grad: Gradient | NoGrad | None,
    samples: Callable[[], Sequence[Sample]],
    doc: str,
    dtypes: Sequence[str] = FLOATS,
    **attrs: Any,
) -> None:
    op(
        name,
        operands,
        attrs=attrs,
        infer=elementwise(name, dtypes),
        ref=reference,
        grad=grad,
        lower=by_reference(name, reference),
        samples=samples,
        doc=doc,
    )


# ---- Bessel functions

Rule = Callable[[Builder, NodeView], Value]


def _over(g: Builder, y: Value, x: Value, at_zero: float) -> Value:
    """y / x, with a value of its own at zero."""
    none = g.Equal(x, g.like(0.0, x))
    made: Value = g.Select(none, g.like(at_zero, x), g.Div(y, g.Select(none, g.like(1.0, x), x)))
    return made


_SLOPES: dict[str, Rule] = {
    "I0": lambda g, n: g.BesselI1(n.x),
    "I1": lambda g, n: g.Sub(g.BesselI0(n.x), _over(g, n.out(), n.x, 0.5)),
    "I0e": lambda g, n: g.Sub(g.BesselI1e(n.x), g.Mul(g.Sign(n.x), n.out())),
    "I1e": lambda g, n: g.Sub(g.Sub(g.BesselI0e(n.x), g.Mul(g.Sign(n.x), n.out())), _over(g, n.out(), n.x, 0.5)),
    "J0": lambda g, n: g.Neg(g.BesselJ1(n.x)),
    "J1": lambda g, n: g.Sub(g.BesselJ0(n.x), _over(g, n.out(), n.x, 0.5)),
    "K0": lambda g, n: g.Neg(g.BesselK1(n.x)),
    "K1": lambda g, n: g.Neg(g.Add(g.BesselK0(n.x), g.Div(n.out(), n.x))),
    "K0e": lambda g, n: g.Sub(n.out(), g.BesselK1e(n.x)),
    "K1e": lambda g, n: g.Sub(g.Sub(n.out(), g.BesselK0e(n.x)), g.Div(n.out(), n.x)),
    "Y0": lambda g, n: g.Neg(g.BesselY1(n.x)),
    "Y1": lambda g, n: g.Sub(g.BesselY0(n.x), g.Div(n.out(), n.x)),
}
_KINDS = {
    "I": "modified, of the first kind",
    "J": "of the first kind",
    "K": "modified, of the second kind",
    "Y": "of the second kind",
}


def _bessel(kind: str, slope: Rule) -> None:
    both = kind[0] in "IJ"
    scaled = {"I": " times e^-|x|", "K": " times e^x"}[kind[0]] if kind.endswith("e") else ""
    special = np.array([0, 1e-3, 30, np.inf, np.nan, -0.0, -5], np.float32)
    _special(
        f"Bessel{kind}",
        "x",
        _by_scipy(kind.lower()),
        lambda g, n, dy: [g.Mul(dy, slope(g, n))],
        lambda: [
            Sample((floats(3, 7, low=-6 if both else 0.2, high=6),), grad=(0,)),
            Sample((np.zeros((2, 2), np.float32),), grad=(0,)) if both and kind != "I0e" else Sample((floats(),)),
            Sample((special,)),
        ],
        f"Bessel's function {_KINDS[kind[0]]}, of order {kind[1]}{scaled}",
    )


for _kind, _slope in _SLOPES.items():
    _bessel(_kind, _slope)

# ---- incomplete gamma functions


def _igamma_slope(a: Array, x: Array) -> Array:
    """The derivative of P(a, x) for a, by the derivative of each term of its series x^a e^-x sum x^k / gamma(a + k + 1)."""
    special = _scipy()
    dtype = a.dtype
    a, x = (v.astype(np.float64) for v in np.broadcast_arrays(a, x))
    good = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    # Beyond this P is 1 in float64, and its derivative 0.
    far = good & (x > a + 40 + 12 * np.sqrt(np.where(good, a, 1)))
    near = good & ~far
    b, z = np.where(near, a, 1.0), np.where(near, x, 1.0)
    log_z = np.log(z)
    term = np.exp(b * log_z - z - special.gammaln(b + 1))
    digamma = special.digamma(b + 1)
    total = term * (log_z - digamma)
    k = 0
    while np.any((term > 1e-20) | (k < z - b)):
        k += 1
        term = term * (z / (b + k))
        digamma = digamma + 1 / (b + k)
        total += term * (log_z - digamma)
    made = np.where(near, total, np.where(far | ((a > 0) & ((x == 0) | np.isposinf(x))), 0.0, np.nan))
    return made.astype(dtype)


def _igamma_grad(sign: float) -> Gradient:
    def grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
        """dP/dx = x^(a - 1) e^-x / gamma(a)."""
        one = g.like(1.0, n.x)
        exponent = g.Sub(g.Mul(g.Sub(n.a, one), g.Log(n.x)), g.Add(n.x, g.LogGamma(n.a)))
        change = g.Mul(dy, g.like(sign, n.x))
        da = g.Mul(change, g.IgammaGradA(n.a, n.x))
        return [unbroadcast(g, da, n.a), unbroadcast(g, g.Mul(change, g.Exp(exponent)), n.x)]

    return grad


def _incomplete() -> list[Sample]:
    a, x = floats(3, 5, low=0.3, high=6), floats(3, 5, low=0.2, high=9, seed=3)
    ends = np.array([0.0, 0.5, 1, 30, np.inf], np.float32)
    return [
        Sample((a, x), grad=(0, 1)),
        Sample((a[:1], x[:, :1]), grad=(0, 1)),
        Sample((np.float32(2) * np.ones(5, np.float32), ends)),
        Sample((np.array([40, 900], np.float32), np.array([900, 880], np.float32))),
    ]


_special(
    "LogGamma",
    "x",
    _by_scipy("gammaln"),
    lambda g, n, dy: [g.Mul(dy, g.Polygamma(n.x, n=0))],
    lambda: [Sample((floats(3, 5, low=0.3, high=6),), grad=(0,))],
    "log |gamma(x)|, for gradients of functions of SciPy's; ops.lgamma is a composition that compiles",
)
for _name, _reference, _sign, _doc in (
    ("Igamma", "gammainc", 1.0, "the regularized lower incomplete gamma function P(a, x)"),
    ("Igammac", "gammaincc", -1.0, "the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)"),
):
    _special(_name, "a x", _by_scipy(_reference), _igamma_grad(_sign), _incomplete, _doc)

_special(
    "IgammaGradA",
    "a x",
    _igamma_slope,
    None,
    lambda: [Sample(s.operands) for s in _incomplete()],
    "the derivative of the lower incomplete gamma function P(a, x) for a. It has no gradient: the second derivative of Igamma"
    " for a has no formula",
)

# ---- polygamma, zeta, beta


def _polygamma(x: Array, n: int) -> Array:
    return np.asarray(_scipy().polygamma(n, x.astype(np.float64))).astype(x.dtype)


_special(
    "Polygamma",
    "x",
    _polygamma,
    lambda g, n, dy: [g.Mul(dy, g.Polygamma(n.x, n=n.n + 1))],
    lambda: [
        *(Sample((floats(3, 5, low=0.3, high=6),), {"n": n}, grad=(0,)) for n in (0, 1, 3)),
        Sample((np.array([0, -0.5, -1, -2.5, 40], np.float32),), {"n": 1}),
    ],
    "the n-th derivative of digamma, which is the one for n = 0",
    n=REQUIRED,
)


def _unknown(g: Builder, x: Value) -> Value:
    """A gradient that nobody gets: what x comes from, Undifferentiated, refuses to pass one on."""
    type = g.type(x)
    made: Value = g.Fill(dtype=type.dtype, shape=type.shape, value=math.nan)
    return made


def _zeta_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """d zeta(x, q) / dq = -x zeta(x + 1, q)."""
    change = g.Neg(g.Mul(n.x, g.Zeta(g.Add(n.x, g.like(1.0, n.x)), n.q)))
    return [_unknown(g, n.x), unbroadcast(g, g.Mul(dy, change), n.q)]


_special(
    "Zeta",
    "x q",
    _by_scipy("zeta"),
    _zeta_grad,
    lambda: [
        Sample((floats(3, 5, low=1.2, high=6), floats(3, 5, low=0.3, high=6, seed=1)), grad=(1,)),
        Sample((np.array([1, 0.5, 3, 3, 2.5], np.float32), np.array([2, 2, 0, -1, -0.5], np.float32))),
    ],
    "Hurwitz's zeta function: the sum of (k + q)^-x",
)


def _betainc_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """dI/dx = x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""
    one = g.like(1.0, n.x)
    powers = g.Add(g.Mul(g.Sub(n.a, one), g.Log(n.x)), g.Mul(g.Sub(n.b, one), g.Log1p(g.Neg(n.x))))
    log_beta = g.Sub(g.Add(g.LogGamma(n.a), g.LogGamma(n.b)), g.LogGamma(g.Add(n.a, n.b)))
    return [_unknown(g, n.a), _unknown(g, n.b), unbroadcast(g, g.Mul(dy, g.Exp(g.Sub(powers, log_beta))), n.x)]


_special(
    "Betainc",
    "a b x",
    _by_scipy("betainc"),
    _betainc_grad,
    lambda: [
        Sample(
            (
                floats(3, 5, low=0.3, high=6),
                floats(3, 5, low=0.3, high=6, seed=1),
                floats(3, 5, low=0.1, high=0.9, seed=2),
            ),
            grad=(2,),
        ),
        Sample(tuple(np.array(v, np.float32) for v in ([2, 2, 1], [3, 3, 1], [0, 1, 0.5]))),
    ],
    "the regularized incomplete beta function I_x(a, b)",
)

# ---- neighbours

_special(
    "NextAfter",
    "x y",
    np.nextafter,
    lambda g, n, dy: [unbroadcast(g, dy, n.x), None],
    lambda: [
        Sample((floats(3, 7), floats(7, seed=2))),
        Sample(tuple(np.array(v, np.float64) for v in ([0, 0, 1, np.inf, np.nan, 2], [1, -1, 1, 0, 0, np.nan]))),
    ],
    "the next number of the dtype from x towards y. Its gradient is that of x",
    ("float32", "float64"),
)

op(
    "Undifferentiated",
    "x",
    infer=lambda types, attrs: (types[0],),
    ref=lambda x: x,
    grad=None,
    lower=Alias(),
    pad=padding.alike,
    samples=lambda: [Sample((floats(3, 7),))],
    doc="x as it is. It has no gradient: the function that takes it has no derivative for this operand",
)
