"""Powers, and floored division, of double vectors."""

from __future__ import annotations

import math

from graphc_codegen.scalars import maths_float64, power
from graphc_codegen.scalars.pieces import with_sign
from graphc_codegen.writer import Writer, vec

_D = "double"
_MANTISSA = (1 << 52) - 1
#: Bits by which a remainder (53 bits) can be shifted in 64.
_SHIFT = 11


def pow(w: Writer, x: str, y: str) -> str:
    """x**y, 5 ulp (1e-12 without a fused multiply-add), with C's special cases; negative x needs a whole y, else NaN."""
    size = w.unary("fabs", x, _D)
    high, low = _log(w, size)
    t = w.binary("fmul", y, high, _D)
    negated = w.negative(t, _D)
    tail = w.fma(y, low, w.fma(y, high, negated, _D), _D)
    # Beyond the range of exp the tail does not matter, and may be NaN.
    inside = w.binary("fcmp olt", w.unary("fabs", t, _D), w.constant(800.0, _D), _D)
    tail = w.select(inside, tail, "zeroinitializer", _D)
    return power.special_cases(w, x, y, size, maths_float64.exp(w, t, tail), _D)


def _log(w: Writer, x: str) -> tuple[str, str]:
    """Natural logarithm of non-negative numbers as the sum of two; the second is below an ulp of the first.

    For 0, infinity and NaN only the first counts.
    """
    one, two = w.constant(1.0, _D), w.constant(2.0, _D)
    m, e = maths_float64.split(w, x)
    f = w.binary("fsub", m, one, _D)
    d = w.binary("fadd", m, one, _D)
    d_low = w.binary("fsub", m, w.binary("fsub", d, one, _D), _D)
    s = w.binary("fdiv", f, d, _D)
    minus = w.negative(s, _D)
    # What f / (m + 1) has beyond s.
    s_low = w.fma(minus, d_low, w.fma(minus, d, f, _D), _D)
    s_low = w.binary("fdiv", s_low, d, _D)
    top = w.binary("fmul", s, two, _D)
    small = w.fma(s_low, two, w.binary("fmul", s, maths_float64.log_series(w, s), _D), _D)
    inner = w.binary("fadd", top, small, _D)
    inner_low = w.binary("fsub", small, w.binary("fsub", inner, top, _D), _D)
    scale = w.binary("fmul", e, w.constant(maths_float64.LN2_HIGH, _D), _D)
    high = w.binary("fadd", scale, inner, _D)
    low = w.binary("fsub", inner, w.binary("fsub", high, scale, _D), _D)
    low = w.binary("fadd", low, inner_low, _D)
    low = w.fma(e, w.constant(maths_float64.LN2_LOW, _D), low, _D)
    zero = w.binary("fcmp olt", x, w.constant(maths_float64.SMALLEST_NORMAL, _D), _D)
    high = w.select(zero, w.constant(-math.inf, _D), high, _D)
    return w.select(w.binary("fcmp olt", x, w.constant(math.inf, _D), _D), high, x, _D), low


def floor_divide(w: Writer, a: str, b: str) -> tuple[str, str]:
    """Floored quotient and remainder, as NumPy's `floor_divide` and `remainder` define them."""
    return power.floored(w, a, b, _fmod(w, a, b), _D)


def _fmod(w: Writer, a: str, b: str) -> str:
    """C's fmod, exact: a division of whole numbers with 11 bits of the quotient per turn."""
    i, lanes = "i64", w.lanes
    v = vec(i, lanes)
    sizes = [w.unary("fabs", x, _D) for x in (a, b)]
    exponents: list[str] = []
    mantissas: list[str] = []
    for size in sizes:
        bits = w.convert("bitcast", size, _D, i)
        exponents.append(w.binary("lshr", bits, w.constant(52, i), i))
        mantissa = w.binary("and", bits, w.constant(_MANTISSA, i), i)
        mantissas.append(w.binary("or", mantissa, w.constant(1 << 52, i), i))
    shift = w.binary("sub", exponents[0], exponents[1], i)
    negative = w.binary("icmp slt", shift, "zeroinitializer", i)
    shift = w.select(negative, "zeroinitializer", shift, i)
    divisor, step = mantissas[1], w.constant(_SHIFT, i)

    def turn(_: str, state: list[str]) -> list[str]:
        r, left = state
        now = w.select(w.binary("icmp ult", left, step, i), left, step, i)
        r = w.binary("urem", w.binary("shl", r, now, i), divisor, i)
        return [r, w.binary("sub", left, now, i)]

    most = w.call(f"llvm.vector.reduce.umax.v{lanes}i64", i, [(v, shift)])
    turns = w.op(f"udiv i64 {w.op(f'add i64 {most}, {_SHIFT - 1}')}, {_SHIFT}")
    r = w.loop(turns, turn, [(v, mantissas[0]), (v, shift)])[0]  # one turn at least: it shifts by 0
    value = w.binary("fmul", w.convert("sitofp", r, i, _D), w.constant(2.0**-52, _D), _D)
    scale = w.binary("shl", exponents[1], w.constant(52, i), i)
    value = w.binary("fmul", value, w.convert("bitcast", scale, i, _D), _D)
    infinity = w.constant(math.inf, _D)
    below = w.binary("or", negative, w.binary("fcmp oeq", sizes[1], infinity, _D), "i1")
    value = w.select(below, sizes[0], value, _D)
    valid = w.binary("fcmp olt", sizes[0], infinity, _D)
    valid = w.binary("and", valid, w.binary("fcmp oge", sizes[1], w.constant(2.0**-1022, _D), _D), "i1")
    value = w.select(valid, value, w.constant(math.nan, _D), _D)
    return with_sign(w, value, a, _D)
