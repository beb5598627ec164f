"""Rules of elementwise ops."""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.table import plain, rule
from graphc.exports.onnx_model.writer import View, Writer

_FLOATS = "float32 float64 float16"
_WIDE = f"{_FLOATS} int32 int64"

for _same in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan"):
    plain(_same)
for _same in (
    "Abs",
    "Ceil",
    "Erf",
    "Exp",
    "Floor",
    "Log",
    "Reciprocal",
    "Round",
    "Sigmoid",
    "Softplus",
    "Sqrt",
    "Tanh",
):
    plain(_same)
plain("Neg", native=f"{_WIDE} int8")
plain("Sign")
plain("LogicalNot", "Not")
plain("IsNan", "IsNaN")
plain("IsInf")
for _pair in ("Add", "Sub"):
    plain(_pair, native=_WIDE)
plain("Div", native=_FLOATS)
plain("Pow", native=_WIDE)
_COMPARISONS = {"Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Less": "Less", "LessEqual": "LessOrEqual"}
for _name in ("And", "Or", "Xor"):
    plain(f"Logical{_name}", _name)
for _kept in ("Depend", "StopGradient", "ToStage", "Undifferentiated"):
    plain(_kept, "Identity")


@rule("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def _bitwise(w: Writer, n: View, x: str, y: str) -> str:
    name = n.node.op.name
    return w(name.removeprefix("Bitwise") if n.dtype == "bool" else name, x, y)


@rule("Mul")
def _mul(w: Writer, n: View, x: str, y: str) -> str:
    return w("And", x, y) if n.dtype == "bool" else w.widened("Mul", (x, y), n.dtype, _WIDE.split())


@rule("Maximum", "Minimum")
def _extremum(w: Writer, n: View, x: str, y: str) -> str:
    largest = n.node.op.name == "Maximum"
    if n.dtype == "bool":
        return w("Or" if largest else "And", x, y)
    return w.widened("Max" if largest else "Min", (x, y), n.dtype, f"{_WIDE} uint32 uint64".split())


@rule(*_COMPARISONS)
def _compare(w: Writer, n: View, x: str, y: str) -> str:
    if n.dtype == "bool":
        x, y = w.cast(x, "int32"), w.cast(y, "int32")
        return w(_COMPARISONS[n.node.op.name], x, y)
    return w.widened_test(_COMPARISONS[n.node.op.name], (x, y), n.dtype, _WIDE.split())


@rule("Equal")
def _equal(w: Writer, n: View, x: str, y: str) -> str:
    return w.widened_test("Equal", (x, y), n.dtype, f"{_WIDE} bool".split())


@rule("NotEqual")
def _not_equal(w: Writer, n: View, x: str, y: str) -> str:
    return w("Not", _equal(w, n, x, y))  # type: ignore[arg-type]


@rule("IsFinite")
def _is_finite(w: Writer, n: View, x: str) -> str:
    return w("Not", not_finite(w, x))


def not_finite(w: Writer, x: str) -> str:
    """Which elements are infinite or NaN."""
    return w("Or", w("IsNaN", x), w("IsInf", x))


@rule("Square")
def _square(w: Writer, n: View, x: str) -> str:
    return w.widened("Mul", (x, x), n.dtype, _WIDE.split())


@rule("SquaredDeviation")
def _squared_deviation(w: Writer, n: View, x: str, mean: str) -> str:
    distance = w("Sub", x, mean)
    return w("Mul", distance, distance)


@rule("Rsqrt")
def _rsqrt(w: Writer, n: View, x: str) -> str:
    return w("Reciprocal", w("Sqrt", x))


@rule("Trunc")
def _trunc(w: Writer, n: View, x: str) -> str:
    return w("Mul", w("Sign", x), w("Floor", w("Abs", x)))


@rule("Log1p")
def _log1p(w: Writer, n: View, x: str) -> str:
    """log(u) x / (u - 1) with u = 1 + x: the rounding of u cancels (W. Kahan)."""
    one = w.number(1, n.dtype)
    u = w("Add", x, one)
    quotient = w("Div", w("Mul", w("Log", u), x), w("Sub", u, one))
    kept = w("Or", w("Equal", u, one), w("IsInf", u))
    return w("Where", kept, x, quotient)


@rule("Expm1")
def _expm1(w: Writer, n: View, x: str) -> str:
    """2 t / (1 - t) with t = tanh(x / 2) near zero, where exp(x) - 1 would cancel."""
    one, two = w.number(1, n.dtype), w.number(2, n.dtype)
    t = w("Tanh", w("Div", x, two))
    near = w("Div", w("Mul", two, t), w("Sub", one, t))
    return w("Where", w("Less", w("Abs", x), one), near, w("Sub", w("Exp", x), one))


@rule("ReLU")
def _relu(w: Writer, n: View, x: str) -> str:
    if n.dtype.startswith("uint"):
        return w("Identity", x)
    if n.dtype == "int64":
        return w("Max", x, w.number(0, n.dtype))
    return w.widened("Relu", (x,), n.dtype, [*_FLOATS.split(), "int32"])


@rule("ReluGrad")
def _relu_grad(w: Writer, n: View, dy: str, y: str) -> str:
    zero = w.number(0, n.dtype)
    return w("Where", w("Greater", y, zero), dy, zero)


@rule("BiasAdd")
def _bias_add(w: Writer, n: View, x: str, bias: str) -> str:
    return w.widened("Add", (x, w.reshape(bias, (-1, *(1,) * (n.types[0].rank - 2)))), n.dtype, _WIDE.split())


@rule("FloorDiv")
def _floor_div(w: Writer, n: View, x: str, y: str) -> str:
    if n.types[0].is_float:
        return w("Floor", w("Div", x, y))
    return _whole(w, n, x, y, _floored)


@rule("FloorMod")
def _floor_mod(w: Writer, n: View, x: str, y: str) -> str:
    if not n.types[0].is_float:
        return _whole(w, n, x, y, lambda w, x, y: w("Mod", x, y))
    rest = w("Mod", x, y, fmod=1)
    return w("Where", _other_sign(w, rest, y, w.number(0, n.dtype)), w("Add", rest, y), rest)


def _whole(w: Writer, n: View, x: str, y: str, divide: object) -> str:
    """A division of whole numbers, of which that by zero gives zero; in ONNX it is undefined."""
    dtype = n.dtype if n.dtype in ("int32", "int64") else {"uint64": ""}.get(n.dtype, "int64")
    if not dtype:
        raise n.refuse("there is no division of uint64 in whole numbers")
    x, y = (v if dtype == n.dtype else w.cast(v, dtype) for v in (x, y))
    zero = w.number(0, dtype)
    by_zero = w("Equal", y, zero)
    found = divide(w, x, w("Where", by_zero, w.number(1, dtype), y))  # type: ignore[operator]
    found = w("Where", by_zero, zero, found)
    return found if dtype == n.dtype else w.cast(found, n.dtype)


def _floored(w: Writer, x: str, y: str) -> str:
    """The quotient of ONNX is cut off towards zero."""
    rest = w("Mod", x, y)
    return w("Div", w("Sub", x, rest), y)


def _other_sign(w: Writer, rest: str, y: str, zero: str) -> str:
    differ = w("Xor", w("Less", rest, zero), w("Less", y, zero))
    return w("And", w("Not", w("Equal", rest, zero)), differ)


@rule("Cast")
def _cast(w: Writer, n: View, x: str) -> str:
    source, target = n.types[0], n["dtype"]
    if not source.is_float or not np.issubdtype(np.dtype(target), np.integer):
        return w.cast(x, target)
    # The fraction is cut off, the ends stand for what lies beyond them, and 0 for NaN; in ONNX that is undefined.
    ends = np.iinfo(target)
    if source.dtype == "float16":
        x, source_dtype = w.cast(x, "float32"), "float32"
    else:
        source_dtype = source.dtype
    over = w("GreaterOrEqual", x, w.number(float(ends.max), source_dtype))
    under = w("LessOrEqual", x, w.number(float(ends.min), source_dtype))
    outside = w("Or", w("Or", over, under), w("IsNaN", x))
    inner = w.cast(w("Where", outside, w.number(0, source_dtype), x), target)
    wide = "int64" if target != "uint64" else target
    kept = inner if target in ("int32", "int64") else w.cast(inner, wide)
    held = target if target in ("int32", "int64") else wide
    if held == "uint64":
        raise n.refuse("there is no cast of floats to uint64")
    kept = w("Where", over, w.number(ends.max, held), kept)
    kept = w("Where", under, w.number(ends.min, held), kept)
    return kept if held == target else w.cast(kept, target)


@rule("Select")
def _select(w: Writer, n: View, condition: str, x: str, y: str) -> str:
    dtype = n.types[1].dtype
    if dtype == "bool":
        return w("Or", w("And", condition, x), w("And", w("Not", condition), y))
    if dtype in ("float32", "float64", "float16", "int32", "int64", "uint8"):
        return w("Where", condition, x, y)
    if dtype == "uint64":
        raise n.refuse("there is no choice of uint64")
    return w.cast(w("Where", condition, w.cast(x, "int64"), w.cast(y, "int64")), dtype)
