"""Elementwise ops of arithmetic, comparison and logic: one element of the result from one of every operand, broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, Builder, Gradient, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import Binary, ExpressionBuilder, Handle, Unary
from graphc.ir.op import Attrs, NoGrad, Scalar, Types
from graphc.ir.types import COMPLEX, FLOATS, INTEGERS
from graphc.ops.declared.batching import Mapped
from graphc.ops.declared.rules import (
    NUMERIC,
    Array,
    booleans,
    broadcast_shape,
    check_dtype,
    elementwise,
    floats,
    in_float64,
    integers,
    rng,
    same_dtype,
    unbroadcast,
)

#: Numbers of any kind.
_NUMBERS = (*NUMERIC, *COMPLEX)

# ---- one operand


def unary_samples(low: float, high: float, dtypes: Sequence[str], grad: bool) -> Callable[[], list[Sample]]:
    def samples() -> list[Sample]:
        made = [
            Sample((floats(3, 37, low=low, high=high),), grad=(0,) if grad else ()),
            Sample((floats(1, low=low, high=high),), grad=(0,) if grad else ()),
            Sample((floats(low=low, high=high),), grad=(0,) if grad else ()),
        ]
        if "int32" in dtypes:
            made += [Sample((integers(5, 7),)), Sample((integers(18, dtype="int64"),))]
        return made

    return samples


def unary(
    name: str,
    ref: Callable[..., Array],
    scalar: Unary,
    grad: Gradient | NoGrad,
    low: float = -3.0,
    high: float = 3.0,
    dtypes: Sequence[str] = FLOATS,
    doc: str = "",
) -> None:
    """Declare an elementwise op of one operand; samples lie in [low, high)."""
    op(
        name,
        "x",
        infer=elementwise(name, dtypes),
        ref=ref,
        grad=grad,
        lower=Scalar(scalar),
        samples=unary_samples(low, high, dtypes, grad is not NO_GRAD),
        doc=doc,
    )


unary("Neg", np.negative, lambda e, x: e.neg(x), lambda g, n, dy: [g.Neg(dy)], dtypes=_NUMBERS, doc="-x")


def _abs_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    check_dtype("Abs", "x", types[0], ("bool", *_NUMBERS))
    return (TensorType(types[0].part, types[0].shape),)


def _abs_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    x = g.type(n.x)
    if not x.is_complex:
        return [g.Mul(dy, g.Sign(n.x))]
    # x / |x|, and 0 at 0.
    none = g.like(0.0, dy)
    share = g.Select(g.Equal(n.out(), none), none, g.Div(dy, n.out()))
    return [g.Mul(g.Cast(share, dtype=x.dtype), n.x)]


op(
    "Abs",
    "x",
    infer=_abs_infer,
    ref=np.abs,
    grad=_abs_grad,
    lower=Scalar(lambda e, x: e.abs(x)),
    samples=unary_samples(0.1, 3, NUMERIC, True),
    doc="|x|, of complex numbers a float; bools as they are",
)

unary("Sign", np.sign, lambda e, x: e.sign(x), NO_GRAD, dtypes=NUMERIC, doc="-1, 0 or 1")

unary(
    "Square",
    np.square,
    lambda e, x: e.mul(x, x),
    lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(2.0, n.x)), n.x)],
    dtypes=_NUMBERS,
    doc="x * x",
)

unary(
    "ReLU",
    lambda x: np.maximum(x, 0),
    lambda e, x: e.max(x, e.constant(0, x)),
    lambda g, n, dy: [g.ReluGrad(dy, n.out())],
    0.1,
    3,
    NUMERIC,
    doc="max(x, 0); NaN stays NaN",
)

unary("Floor", np.floor, lambda e, x: e.floor(x), NO_GRAD, doc="largest integer <= x")

op(
    "LogicalNot",
    "x",
    infer=elementwise("LogicalNot", ("bool",)),
    ref=np.logical_not,
    grad=NO_GRAD,
    lower=Scalar(lambda e, x: e.logical_not(x)),
    samples=lambda: [Sample((booleans(7, 5),)), Sample((booleans(),))],
    doc="not x",
)

op(
    "IsFinite",
    "x",
    infer=elementwise("IsFinite", FLOATS, "bool"),
    ref=np.isfinite,
    grad=NO_GRAD,
    lower=Scalar(lambda e, x: e.isfinite(x)),
    samples=lambda: [Sample((np.array([1, np.inf, -np.inf, np.nan, 0, 3e38], np.float32),))],
    doc="neither infinite nor NaN",
)

# ---- two operands


def _pair_samples(
    low: float, high: float, dtypes: Sequence[str], grad: tuple[int, ...], int_low: int = -9
) -> Callable[[], list[Sample]]:
    def samples() -> list[Sample]:
        made = []
        for a, b in (((4, 19), (4, 19)), ((3, 1, 5), (4, 1)), ((2, 3), ()), ((), ()), ((1, 1), (7,))):
            x, y = floats(*a, low=low, high=high), floats(*b, low=low, high=high, seed=100)
            made.append(Sample((x, y), grad=grad))
        if "int32" in dtypes:
            made.append(Sample((integers(4, 6, low=int_low), integers(6, low=max(int_low, 1), seed=5))))
            made.append(
                Sample(
                    (
                        integers(17, low=int_low, dtype="int64"),
                        integers(17, low=max(int_low, 1), dtype="int64"),
                    )
                )
            )
        return made

    return samples


def _binary(
    name: str,
    ref: Callable[..., Array],
    scalar: Binary,
    grad: Callable[[Builder, NodeView, Value], tuple[Value, Value]],
    dtypes: Sequence[str] = NUMERIC,
    low: float = 0.3,
    high: float = 2.5,
    int_low: int = -9,
    doc: str = "",
) -> None:
    def both(g: Builder, n: NodeView, dy: Value) -> list[Value]:
        return [unbroadcast(g, d, x) for d, x in zip(grad(g, n, dy), (n.x, n.y), strict=True)]

    op(
        name,
        "x y",
        infer=elementwise(name, dtypes),
        ref=ref,
        grad=both,
        lower=Scalar(scalar),
        samples=_pair_samples(low, high, dtypes, (0, 1), int_low),
        doc=doc,
    )


def _shared(g: Builder, n: NodeView, first: Value, dy: Value) -> tuple[Value, Value]:
    """dy for x where `first` holds, else for y; one half for either where they are equal, as in MindSpore."""
    zero, tie, half = g.like(0.0, dy), g.Equal(n.x, n.y), g.Mul(dy, g.like(0.5, dy))
    return g.Select(tie, half, g.Select(first, dy, zero)), g.Select(tie, half, g.Select(first, zero, dy))


def _int_div(x: Array, y: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.floor_divide(x, y)


def _int_mod(x: Array, y: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.mod(x, y)


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        # NumPy refuses negative integer exponents; the result is what integer division of 1 gives.
        return np.where(y < 0, np.where(np.abs(x) == 1, x ** np.abs(y % 2), 0), x ** np.maximum(y, 0)).astype(x.dtype)
    return np.power(x, y)


_binary("Add", np.add, lambda e, x, y: e.add(x, y), lambda g, n, dy: (dy, dy), _NUMBERS, doc="x + y")

_binary("Sub", np.subtract, lambda e, x, y: e.sub(x, y), lambda g, n, dy: (dy, g.Neg(dy)), _NUMBERS, doc="x - y")

_binary(
    "Mul",
    np.multiply,
    lambda e, x, y: e.mul(x, y),
    lambda g, n, dy: (g.Mul(dy, n.y), g.Mul(dy, n.x)),
    ("bool", *_NUMBERS),
    doc="x * y; of bools: and",
)

_binary(
    "Div",
    np.divide,
    lambda e, x, y: e.div(x, y),
    lambda g, n, dy: (g.Div(dy, n.y), g.Neg(g.Div(g.Mul(dy, n.out()), n.y))),
    (*FLOATS, *COMPLEX),
    doc="x / y",
)


def _power_grad(g: Builder, n: NodeView, dy: Value) -> tuple[Value, Value]:
    by_x = g.Mul(dy, g.Mul(n.y, g.Pow(n.x, g.Sub(n.y, g.like(1.0, n.y)))))
    # 0^y is 0 around any y > 0, though log 0 is infinite.
    base = g.Select(g.Equal(n.x, g.like(0.0, n.x)), g.like(1.0, n.x), n.x)
    if g.type(n.x).dtype in INTEGERS:
        return by_x, in_float64(g, lambda reached, base: g.Mul(reached, g.Log(base)), g.Mul(dy, n.out()), base)
    return by_x, g.Mul(dy, g.Mul(n.out(), g.Log(base)))


_binary(
    "Pow",
    _power,
    lambda e, x, y: e.pow(x, y),
    _power_grad,
    _NUMBERS,
    int_low=0,
    doc="x to the power y",
)

_binary(
    "Maximum",
    np.maximum,
    lambda e, x, y: e.max(x, y),
    lambda g, n, dy: _shared(g, n, g.Greater(n.x, n.y), dy),
    ("bool", *NUMERIC),
    doc="the larger one, NaN if either is; on a tie either gets half the gradient",
)

_binary(
    "Minimum",
    np.minimum,
    lambda e, x, y: e.min(x, y),
    lambda g, n, dy: _shared(g, n, g.Less(n.x, n.y), dy),
    ("bool", *NUMERIC),
    doc="the smaller one, NaN if either is; on a tie either gets half the gradient",
)

op(
    "FloorDiv",
    "x y",
    infer=elementwise("FloorDiv"),
    ref=_int_div,
    grad=NO_GRAD,
    lower=Scalar(lambda e, x, y: e.floordiv(x, y)),
    samples=_pair_samples(-3, 3, NUMERIC, ()),
    doc="floor(x / y); integer division by zero gives 0",
)

op(
    "FloorMod",
    "x y",
    infer=elementwise("FloorMod"),
    ref=_int_mod,
    grad=lambda g, n, dy: [
        unbroadcast(g, dy, n.x),
        unbroadcast(g, g.Neg(g.Mul(dy, g.FloorDiv(n.x, n.y))), n.y),
    ],
    lower=Scalar(lambda e, x, y: e.mod(x, y)),
    samples=_pair_samples(0.3, 3, NUMERIC, (0,)),
    doc="x - floor(x / y) * y; integer modulo zero gives 0",
)


def _compare(name: str, ref: Callable[..., Array], scalar: Binary, dtypes: Sequence[str] = ("bool", *NUMERIC)) -> None:
    def samples() -> list[Sample]:
        made = _pair_samples(-2, 2, NUMERIC, ())()
        special = np.array([1, np.nan, np.inf, -np.inf, 0, -0.0], np.float32)
        made += [
            Sample((special, special[::-1].copy())),
            Sample((integers(40, low=0, high=3), integers(40, low=0, high=3, seed=1))),
        ]
        if "bool" in dtypes:
            made.append(Sample((booleans(9), booleans(9, seed=3))))
        return made

    op(
        name,
        "x y",
        infer=elementwise(name, dtypes, "bool"),
        ref=ref,
        grad=NO_GRAD,
        lower=Scalar(scalar),
        samples=samples,
        doc="elementwise comparison; false where either is NaN (NotEqual: true)",
    )


_compare("Equal", np.equal, lambda e, x, y: e.eq(x, y), ("bool", *_NUMBERS))

_compare("NotEqual", np.not_equal, lambda e, x, y: e.ne(x, y), ("bool", *_NUMBERS))

_compare("Less", np.less, lambda e, x, y: e.lt(x, y))

_compare("LessEqual", np.less_equal, lambda e, x, y: e.le(x, y))

_compare("Greater", np.greater, lambda e, x, y: e.gt(x, y))

_compare("GreaterEqual", np.greater_equal, lambda e, x, y: e.ge(x, y))


def _logical(name: str, ref: Callable[..., Array], scalar: Binary) -> None:
    op(
        name,
        "x y",
        infer=elementwise(name, ("bool",)),
        ref=ref,
        grad=NO_GRAD,
        lower=Scalar(scalar),
        samples=lambda: [
            Sample((booleans(6, 7), booleans(7, seed=2))),
            Sample((booleans(), booleans(seed=9))),
        ],
        doc="elementwise logic",
    )


_logical("LogicalAnd", np.logical_and, lambda e, x, y: e.logical_and(x, y))

_logical("LogicalOr", np.logical_or, lambda e, x, y: e.logical_or(x, y))

_logical("LogicalXor", np.logical_xor, lambda e, x, y: e.xor(x, y))

op(
    "ReluGrad",
    "dy y",
    infer=elementwise("ReluGrad"),
    ref=lambda dy, y: np.where(y > 0, dy, 0).astype(dy.dtype),
    grad=lambda g, n, d: [g.ReluGrad(d, n.y), None],
    lower=Scalar(lambda e, dy, y: e.select(e.gt(y, e.constant(0, y)), dy, e.constant(0, dy))),
    samples=lambda: [Sample((floats(5, 33), floats(5, 33, seed=3)), grad=(0,))],
    doc="dy where the ReLU's result y is positive, else 0",
)


def _bias_batch(g: Builder, m: Mapped) -> list[Value]:
    rank = m.types[0].rank
    channels = (m.size if m.mapped[1] else 1, 1, *m.types[1].shape, *(1,) * (rank - 2))
    return [g.Add(m.front(0), m.reshaped(m.inputs[1], channels))]


def _bias_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, bias = types
    same_dtype("BiasAdd", types)
    check_dtype("BiasAdd", "x", x, NUMERIC)
    if x.rank < 2 or bias.rank != 1 or bias.shape[0] != x.shape[1]:
        raise ShapeError(f"BiasAdd: bias is {bias}, expected one number per channel (axis 1) of x, which is {x}")
    return (x,)


def _bias_ref(x: Array, bias: Array) -> Array:
    return np.asarray(x + bias.reshape((-1,) + (1,) * (x.ndim - 2)))


op(
    "BiasAdd",
    "x bias",
    infer=_bias_infer,
    ref=_bias_ref,
    grad=lambda g, n, dy: [
        dy,
        g.ReduceSum(dy, axis=tuple(i for i in range(g.type(dy).rank) if i != 1), keep_dims=False),
    ],
    lower=Scalar(
        lambda e, x, bias: e.add(x, bias),
        align=lambda types, attrs: (
            tuple(range(types[0].rank)),
            tuple(0 if i == 1 else None for i in range(types[0].rank)),
        ),
    ),
    batch=_bias_batch,
    samples=lambda: [
        Sample((floats(3, 5), floats(5)), grad=(0, 1)),
        Sample((floats(2, 3, 4, 5), floats(3)), grad=(0, 1)),
        Sample((rng().integers(0, 9, (2, 18)).astype("int32"), integers(18))),
    ],
    doc="x plus one number per channel (axis 1)",
)

unary("Ceil", np.ceil, lambda e, x: e.neg(e.floor(e.neg(x))), NO_GRAD, doc="smallest integer >= x")

unary("Round", np.round, lambda e, x: e.round(x), NO_GRAD, -9, 9, doc="nearest integer, halves to the even one")

_SPECIAL = np.array([1, np.inf, -np.inf, np.nan, 0, 3e38, -1e-38], np.float32)


def _test(name: str, ref: Callable[..., Array], scalar: Unary, doc: str) -> None:
    op(
        name,
        "x",
        infer=elementwise(name, FLOATS, "bool"),
        ref=ref,
        grad=NO_GRAD,
        lower=Scalar(scalar),
        samples=lambda: [Sample((_SPECIAL,)), Sample((floats(3, 19),))],
        doc=doc,
    )


_test("IsNan", np.isnan, lambda e, x: e.ne(x, x), "not a number")

_test("IsInf", np.isinf, lambda e, x: e.eq(e.abs(x), e.constant(np.inf, x)), "plus or minus infinity")


def _deviation_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, mean = types
    same_dtype("SquaredDeviation", types)
    check_dtype("SquaredDeviation", "x", x, FLOATS)
    if broadcast_shape("SquaredDeviation", types) != x.shape:
        raise ShapeError(f"SquaredDeviation: mean is {mean}, which is larger than x: {x}")
    return (x,)


op(
    "SquaredDeviation",
    "x mean",
    infer=_deviation_infer,
    ref=lambda x, mean: np.square(x - mean),
    # d/dmean sum (x - mean)^2 = -2 sum (x - mean) = 0 at the mean of x: one sweep less in every normalization.
    grad=lambda g, n, dy: [g.Mul(g.Mul(dy, g.like(2.0, n.x)), g.Sub(n.x, n.mean)), None],
    lower=Scalar(lambda e, x, mean: e.mul(e.sub(x, mean), e.sub(x, mean))),
    batch=lambda g, m: m.again(m.front(0), m.lined(1, m.types[0].rank)),
    samples=lambda: [
        Sample((floats(3, 37), floats(3, 1)), grad=(0,)),
        Sample((floats(2, 3, 5), floats(3, 1)), grad=(0,)),
        Sample((floats(7), floats()), grad=(0,)),
    ],
    doc="(x - mean)^2 for the variance. `mean` must be the mean of x over the axes that are then averaged: it gets no"
    " gradient, as that sums to zero there",
)


def _trunc(e: ExpressionBuilder, x: Handle) -> Handle:
    return e.select(e.lt(x, e.constant(0.0, x)), e.neg(e.floor(e.neg(x))), e.floor(x))


unary("Trunc", np.trunc, _trunc, NO_GRAD, -9, 9, doc="x without its fraction")

_BITS = ("bool", *INTEGERS)


def _bitwise(name: str, ref: Callable[..., Array], scalar: Binary, doc: str) -> None:
    op(
        name,
        "x y",
        infer=elementwise(name, _BITS),
        ref=ref,
        grad=NO_GRAD,
        lower=Scalar(scalar),
        samples=lambda: [
            Sample((integers(5, 7, low=-99, high=99), integers(7, low=-99, high=99, seed=3))),
            Sample((integers(19, dtype="int64"), integers(19, dtype="int64", seed=4))),
            Sample((booleans(9), booleans(9, seed=2))),
        ],
        doc=doc,
    )


_bitwise("BitwiseAnd", np.bitwise_and, lambda e, x, y: e.bit_and(x, y), "the bits that both have")

_bitwise("BitwiseOr", np.bitwise_or, lambda e, x, y: e.bit_or(x, y), "the bits that either has")

_bitwise("BitwiseXor", np.bitwise_xor, lambda e, x, y: e.xor(x, y), "the bits that one has and the other has not")
