"""Powers, and floored division, of float vectors, computed in double to be good to an ulp."""

from __future__ import annotations

import math

from graphc_codegen.scalars import power
from graphc_codegen.scalars.pieces import with_sign
from graphc_codegen.writer import Writer, vec

_MANTISSA = (1 << 52) - 1
#: Adding 1.5 * 2**52 rounds a double to an integer that stands in its low bits.
_ROUND = 6755399441055744.0
#: Quotients are cut to 28 bits, so that their product with a float's 24 bits is exact in a double.
_CUT = ~((1 << 25) - 1)
#: Turns of 27 bits that reduce the largest quotient of two floats (2**277) to nothing.
_TURNS = 11


def pow(w: Writer, x: str, y: str) -> str:
    """x**y on float vectors, 1 ulp, with C's special cases; a negative x needs a whole y, else NaN."""
    v = vec("double", w.lanes)
    size = w.unary("fabs", x)
    log = _log(w, w.convert("fpext", size, "float", "double"))
    t = w.op(f"fmul {v} {log}, {w.convert('fpext', y, 'float', 'double')}")
    return power.special_cases(w, x, y, size, w.convert("fptrunc", _exp(w, t), "double", "float"), "float")


def _log(w: Writer, x: str) -> str:
    """Natural logarithm of non-negative doubles, relative error 1e-12: atanh series around 1."""
    d = "double"
    bits = w.convert("bitcast", x, d, "i64")
    exponent = w.binary("lshr", bits, w.constant(52, "i64"), "i64")
    mantissa = w.binary("and", bits, w.constant(_MANTISSA, "i64"), "i64")
    mantissa = w.binary("or", mantissa, w.constant(1023 << 52, "i64"), "i64")
    m = w.convert("bitcast", mantissa, "i64", d)
    large = w.binary("fcmp ogt", m, w.constant(math.sqrt(2), d), d)
    m = w.select(large, w.binary("fmul", m, w.constant(0.5, d), d), m, d)
    exponent = w.binary("add", exponent, w.convert("zext", large, "i1", "i64"), "i64")
    exponent = w.binary("sub", exponent, w.constant(1023, "i64"), "i64")
    e = w.convert("sitofp", w.convert("trunc", exponent, "i64", "i32"), "i32", d)
    one = w.constant(1.0, d)
    s = w.binary("fdiv", w.binary("fsub", m, one, d), w.binary("fadd", m, one, d), d)
    z = w.binary("fmul", s, s, d)
    p = w.constant(2 / 15, d)
    for k in (13, 11, 9, 7, 5, 3, 1):
        p = w.fma(p, z, w.constant(2 / k, d), d)
    y = w.fma(e, w.constant(math.log(2), d), w.binary("fmul", p, s, d), d)
    y = w.select(w.binary("fcmp oeq", x, "zeroinitializer", d), w.constant(-math.inf, d), y, d)
    return w.select(w.binary("fcmp olt", x, w.constant(math.inf, d), d), y, x, d)


def _exp(w: Writer, t: str) -> str:
    """e**t of doubles for a float result: beyond +-200 a float is inf or 0 whatever the value."""
    d = "double"
    for code, limit in (("fcmp ogt", 200.0), ("fcmp olt", -200.0)):
        bound = w.constant(limit, d)
        t = w.select(w.binary(code, t, bound, d), bound, t, d)
    shifted = w.fma(t, w.constant(math.log2(math.e), d), w.constant(_ROUND, d), d)
    n = w.binary("fsub", shifted, w.constant(_ROUND, d), d)
    r = w.fma(n, w.constant(-math.log(2), d), t, d)
    p = w.constant(1 / math.factorial(10), d)
    for k in range(9, -1, -1):
        p = w.fma(p, r, w.constant(1 / math.factorial(k), d), d)
    exponent = w.binary("add", w.convert("bitcast", shifted, d, "i64"), w.constant(1023, "i64"), "i64")
    scale = w.binary("shl", exponent, w.constant(52, "i64"), "i64")
    return w.binary("fmul", p, w.convert("bitcast", scale, "i64", d), d)


def floor_divide(w: Writer, a: str, b: str) -> tuple[str, str]:
    """Floored quotient and remainder of floats, as NumPy's `floor_divide` and `remainder` define them."""
    return power.floored(w, a, b, _fmod(w, a, b), "float")


def _fmod(w: Writer, a: str, b: str) -> str:
    """C's fmod, exact: subtract multiples of b whose quotient has few enough bits, until nothing is left."""
    d, lanes = "double", w.lanes
    v = vec(d, lanes)
    sizes = [w.convert("fpext", w.unary("fabs", x), "float", d) for x in (a, b)]
    start, divisor = sizes

    def turn(r: str) -> str:
        q = w.binary(
            "and",
            w.convert("bitcast", w.binary("fdiv", r, divisor, d), d, "i64"),
            w.constant(_CUT, "i64"),
            "i64",
        )
        q = w.unary("floor", w.convert("bitcast", q, "i64", d), d)
        return w.fma(w.negative(q, d), divisor, r, d)

    first = turn(start)
    more = w.op(f"bitcast {vec('i1', lanes)} {w.binary('fcmp oge', first, divisor, d)} to i{lanes}")
    turns = w.op(f"select i1 {w.op(f'icmp ne i{lanes} {more}, 0')}, i64 {_TURNS}, i64 1")
    r = w.loop(turns, lambda _, state: [turn(state[0])], [(v, first)])[0]
    # 0 * inf would make a NaN of a finite number modulo inf.
    infinity = w.constant(math.inf, d)
    plain = w.binary("and", w.binary("fcmp oeq", divisor, infinity, d), w.binary("fcmp olt", start, infinity, d), "i1")
    r = w.convert("fptrunc", w.select(plain, start, r, d), d, "float")
    return with_sign(w, r, a)
