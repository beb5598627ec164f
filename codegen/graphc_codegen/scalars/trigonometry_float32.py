"""Sine and cosine on float vectors: no libm.

The argument is reduced to [-pi/4, pi/4] by multiples of pi/2 in three parts (Cody and Waite), or in double in two where some lane
is large; what is left is the difference of two floats, of which polynomials of float are good to 1e-9. Beyond 2**51 the multiple
is no longer known: the result is NaN, as it is for infinity.
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
#: The same for floats, the parts of pi/2, of which the first one leaves something exact up to _NEAR if nothing is rounded between
#: a product and a sum. The second one is positive, else sines of -0 were 0.
_SHIFT = 12582912.0
_PARTS = (1.570796251296997, 7.549790126404332e-08, -1.7151245100058819e-15)
_NEAR = 2.0**18
#: Of (x - sin x) / x**3 and (cos x - 1) / x**2, by powers of x**2.
_SIN = (-1 / 362880, 1 / 5040, -1 / 120, 1 / 6)
_COS = (-1 / 3628800, 1 / 40320, -1 / 720, 1 / 24, -1 / 2)


def sin(w: Writer, x: str) -> str:
    """Sine, within 1.2 ulp or 1e-8."""
    return _quarter_turns(w, x, 0)


def cos(w: Writer, x: str) -> str:
    """Cosine, within 1.2 ulp or 1e-8."""
    return _quarter_turns(w, x, 1)


def _quarter_turns(w: Writer, x: str, shift: int) -> str:
    """sin(x + shift * pi/2)."""
    rest, over, turns = _reduced(w, x) if w.fused else _reduced_far(w, x)
    square = w.binary("fmul", rest, rest)
    cube = w.binary("fmul", square, rest)
    # Subtracted, for that keeps the sign of zero.
    sine = w.binary("fsub", rest, w.fma(cube, polynomial(w, square, _SIN), over))
    less = w.fma(square, polynomial(w, square, _COS), w.binary("fmul", rest, over))
    cosine = w.binary("fadd", w.constant(1.0), less)
    quarter = w.binary("add", turns, w.constant(shift, "i32"), "i32") if shift else turns
    odd = w.binary("icmp ne", w.binary("and", quarter, w.constant(1, "i32"), "i32"), w.constant(0, "i32"), "i32")
    value = w.convert("bitcast", w.select(odd, cosine, sine), "float", "i32")
    sign = w.binary("shl", w.binary("and", quarter, w.constant(2, "i32"), "i32"), w.constant(30, "i32"), "i32")
    value = w.convert("bitcast", w.binary("xor", value, sign, "i32"), "i32", "float")
    known = w.binary("fcmp olt", w.unary("fabs", x), w.constant(_LIMIT))
    return w.select(known, value, w.constant(math.nan))


def _reduced(w: Writer, x: str) -> list[str]:
    """What is left of x without multiples of pi/2: a float, and by how much that is too large. And the number of these, of which
    i32 lanes have the low bits.
    """
    shifted = w.fma(x, w.constant(2 / math.pi), w.constant(_SHIFT))
    turns = w.binary("fsub", shifted, w.constant(_SHIFT))
    most = w.fma(turns, w.constant(-_PARTS[0]), x)
    rest = w.fma(turns, w.constant(-_PARTS[1]), most)
    lost = w.fma(turns, w.constant(_PARTS[1]), w.binary("fsub", rest, most))
    over = w.fma(turns, w.constant(_PARTS[2]), lost)
    near = w.binary("fcmp olt", w.unary("fabs", x), w.constant(_NEAR))
    bits = w.op(f"bitcast {vec('i1', w.lanes)} {near} to i{w.lanes}")
    all_near = w.op(f"icmp eq i{w.lanes} {bits}, -1")
    found = (rest, over, w.convert("bitcast", shifted, "float", "i32"))
    carry = list(zip((vec(t, w.lanes) for t in ("float", "float", "i32")), found, strict=True))
    # One turn if some lane is far, else none.
    return w.turns((w.op(f"zext i1 {all_near} to i64"), 1), lambda _, __: _reduced_far(w, x), carry)


def _reduced_far(w: Writer, x: str) -> list[str]:
    """`_reduced` by way of double."""
    d, v = "double", vec("double", w.lanes)
    angle = w.convert("fpext", x, "float", d)
    turns = w.fma(angle, w.constant(2 / math.pi, d), w.constant(_ROUND, d), d)
    count = w.op(f"fsub {v} {turns}, {w.constant(_ROUND, d)}")
    rest = w.fma(count, w.constant(-_HIGH, d), angle, d)
    rest = w.fma(count, w.constant(-_LOW, d), rest, d)
    high = w.convert("fptrunc", rest, d, "float")
    over = w.convert("fptrunc", w.op(f"fsub {v} {w.convert('fpext', high, 'float', d)}, {rest}"), d, "float")
    return [high, over, w.convert("trunc", w.convert("bitcast", turns, d, "i64"), "i64", "i32")]
