"""Sine and cosine on float vectors, computed in double: no libm.

The argument is reduced to [-pi/4, pi/4] by two-part multiples of pi/2 (Cody and Waite), where Taylor polynomials are good to
1e-9. Beyond 2**51 the multiple is no longer known: the result is NaN, as it is for infinity.
"""

from __future__ import annotations

import math

from graphc_codegen.scalars.pieces import polynomial
from graphc_codegen.writer import Writer, vec

#: Adding 1.5 * 2**52 rounds a double to an integer that stands in its low bits.
_ROUND = 6755399441055744.0
_HIGH = math.pi / 2
#: What pi/2 has beyond its double.
_LOW = 6.123233995736766e-17
_LIMIT = 2.0**51
_SIN = (1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1.0)
_COS = (-1 / 3628800, 1 / 40320, -1 / 720, 1 / 24, -1 / 2, 1.0)


def sin(w: Writer, x: str) -> str:
    """Sine, within 1 ulp or 1e-8."""
    return _quarter_turns(w, x, 0)


def cos(w: Writer, x: str) -> str:
    """Cosine, within 1 ulp or 1e-8."""
    return _quarter_turns(w, x, 1)


def _quarter_turns(w: Writer, x: str, shift: int) -> str:
    """sin(x + shift * pi/2)."""
    d, v = "double", vec("double", w.lanes)
    angle = w.convert("fpext", x, "float", d)
    turns = w.fma(angle, w.constant(2 / math.pi, d), w.constant(_ROUND, d), d)
    count = w.op(f"fsub {v} {turns}, {w.constant(_ROUND, d)}")
    rest = w.fma(count, w.constant(-_HIGH, d), angle, d)
    rest = w.fma(count, w.constant(-_LOW, d), rest, d)
    square = w.op(f"fmul {v} {rest}, {rest}")
    sine = w.op(f"fmul {v} {rest}, {polynomial(w, square, _SIN, 'double')}")
    cosine = polynomial(w, square, _COS, "double")
    bits = w.convert("bitcast", turns, d, "i64")
    quarter = w.binary("add", bits, w.constant(shift, "i64"), "i64")
    odd = w.binary("icmp ne", w.binary("and", quarter, w.constant(1, "i64"), "i64"), w.constant(0, "i64"), "i64")
    value = w.select(odd, cosine, sine, d)
    low = w.binary("icmp ne", w.binary("and", quarter, w.constant(2, "i64"), "i64"), w.constant(0, "i64"), "i64")
    value = w.select(low, w.negative(value, d), value, d)
    size = w.call(f"llvm.fabs.v{w.lanes}f64", v, [(v, angle)])
    known = w.binary("fcmp olt", size, w.constant(_LIMIT, d), d)
    return w.convert("fptrunc", w.select(known, value, w.constant(math.nan, d), d), d, "float")
