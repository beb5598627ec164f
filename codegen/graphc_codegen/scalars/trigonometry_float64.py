"""Sine and cosine on double vectors: no libm.

The argument is reduced to [-pi/4, pi/4] by three-part multiples of pi/2 (Cody and Waite), where power series are good to a few
ulp, or to 1e-14 without a fused multiply-add. Beyond 2**51 the multiple is no longer known: the result is NaN, as it is for
infinity.
"""

from __future__ import annotations

import math

from graphc_codegen.scalars.pieces import polynomial
from graphc_codegen.writer import Writer

_D = "double"
#: Adding 1.5 * 2**52 rounds a double to an integer that stands in its low bits.
_ROUND = 6755399441055744.0
#: pi/2 in three parts of 53 bits, none of them negative, so that -0 stays -0.
_QUARTER = (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32)
_LIMIT = 2.0**51
_SIN = tuple((-1) ** (k // 2) / math.factorial(k) for k in range(17, 0, -2))
_COS = tuple((-1) ** (k // 2) / math.factorial(k) for k in range(18, -1, -2))


def sin(w: Writer, x: str) -> str:
    """Sine; NaN from 2**51 on, as for infinity."""
    return _quarter_turns(w, x, 0)


def cos(w: Writer, x: str) -> str:
    """Cosine; NaN from 2**51 on, as for infinity."""
    return _quarter_turns(w, x, 1)


def _quarter_turns(w: Writer, x: str, shift: int) -> str:
    """sin(x + shift * pi/2)."""
    turns = w.fma(x, w.constant(2 / math.pi, _D), w.constant(_ROUND, _D), _D)
    count = w.binary("fsub", turns, w.constant(_ROUND, _D), _D)
    rest = x
    for part in _QUARTER:
        rest = _less(w, rest, count, part)
    square = w.binary("fmul", rest, rest, _D)
    sine = w.binary("fmul", polynomial(w, square, _SIN, _D), rest, _D)  # keeps the sign of a zero
    cosine = polynomial(w, square, _COS, _D)
    bits = w.convert("bitcast", turns, _D, "i64")
    quarter = w.binary("add", bits, w.constant(shift, "i64"), "i64")
    odd = w.binary("icmp ne", w.binary("and", quarter, w.constant(1, "i64"), "i64"), "zeroinitializer", "i64")
    value = w.select(odd, cosine, sine, _D)
    low = w.binary("icmp ne", w.binary("and", quarter, w.constant(2, "i64"), "i64"), "zeroinitializer", "i64")
    value = w.select(low, w.negative(value, _D), value, _D)
    known = w.binary("fcmp olt", w.unary("fabs", x, _D), w.constant(_LIMIT, _D), _D)
    return w.select(known, value, w.constant(math.nan, _D), _D)


def _less(w: Writer, x: str, n: str, c: float) -> str:
    """x - n * c rounded once, for whole |n| < 2**51.

    Without a fused multiply-add n and c are split into halves whose products are exact (Dekker).
    """
    if w.fused:
        return w.fma(n, w.constant(-c, _D), x, _D)
    high = w.convert("bitcast", n, _D, "i64")
    high = w.convert("bitcast", w.binary("and", high, w.constant(-(1 << 27), "i64"), "i64"), "i64", _D)
    low = w.binary("fsub", n, high, _D)
    fraction, exponent = math.frexp(c)
    top = math.ldexp(math.floor(math.ldexp(fraction, 26)), exponent - 26)
    for part, factor in ((high, top), (high, c - top), (low, top), (low, c - top)):
        x = w.binary("fsub", x, w.binary("fmul", part, w.constant(factor, _D), _D), _D)
    return x
