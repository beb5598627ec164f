"""Powers, and floored division of floats, on vectors; those of float32 are computed in double, to be good to an ulp.

`power_float64` has what is different in double.
"""

from __future__ import annotations

import math

from graphc_codegen.writer import MANGLED, Writer, vec

#: The integer type that holds the bits of a float type.
BITS = {"float": "i32", "double": "i64"}
_MANTISSA = (1 << 52) - 1
#: Adding 1.5 * 2**52 rounds a double to an integer that stands in its low bits.
_ROUND = 6755399441055744.0
#: Quotients are cut to 28 bits, so that their product with a float's 24 bits is exact in a double.
_CUT = ~((1 << 25) - 1)
#: Turns of 27 bits that reduce the largest quotient of two floats (2**277) to nothing.
_TURNS = 11


def has_exact_form(exponent: float) -> bool:
    """Whether `constant_power` knows the exponent: whole numbers up to 16, and halves of one."""
    return exponent in (0.5, -0.5) or (exponent.is_integer() and abs(exponent) <= 16)


def constant_power(w: Writer, x: str, exponent: float, type: str = "float") -> str:
    """x**exponent by multiplications, a square root, a division. pow(x, 0) is 1, for NaN too."""
    one = w.constant(1.0, type)
    if abs(exponent) == 0.5:
        # Adding 0 makes a positive zero of a negative one, whose root is to be 0 and not -0.
        result = w.unary("sqrt", w.binary("fadd", x, w.constant(0.0, type), type), type)
    else:
        result = _by_squaring(w, x, int(abs(exponent)), type) or one
    return w.binary("fdiv", one, result, type) if exponent < 0 else result


def _by_squaring(w: Writer, x: str, n: int, type: str) -> str:
    """x**n; the empty string for n == 0."""
    result = ""
    while n:
        if n & 1:
            result = w.binary("fmul", result, x, type) if result else x
        n >>= 1
        if n:
            x = w.binary("fmul", x, x, type)
    return result


def power(w: Writer, x: str, y: str) -> str:
    """x**y on float vectors, 1 ulp, with C's special cases; a negative x needs a whole y, else NaN."""
    v = vec("double", w.lanes)
    size = w.unary("fabs", x)
    log = _log(w, w.convert("fpext", size, "float", "double"))
    t = w.op(f"fmul {v} {log}, {w.convert('fpext', y, 'float', 'double')}")
    return special_cases(w, x, y, size, w.convert("fptrunc", _exp(w, t), "double", "float"), "float")


def special_cases(w: Writer, x: str, y: str, size: str, result: str, type: str) -> str:
    """C's x**y from `result`, the power of `size` = |x|: the sign, NaN for what is not real, 1 where C wants it."""
    zero, one, infinity = "zeroinitializer", w.constant(1.0, type), w.constant(math.inf, type)
    integer = BITS[type]
    floor = w.unary("floor", y, type)
    half = w.binary("fmul", y, w.constant(0.5, type), type)
    whole = w.binary("fcmp oeq", floor, y, type)
    odd = w.binary("and", whole, w.binary("fcmp une", w.unary("floor", half, type), half, type), "i1")
    bits = w.convert("bitcast", x, type, integer)
    signed = w.binary("icmp slt", bits, zero, integer)
    negated = w.op(f"fneg {vec(type, w.lanes)} {result}")
    result = w.select(w.binary("and", signed, odd, "i1"), negated, result, type)
    refused = w.binary("and", w.binary("fcmp olt", x, zero, type), w.binary("fcmp une", floor, y, type), "i1")
    refused = w.binary("and", refused, w.binary("fcmp olt", size, infinity, type), "i1")
    result = w.select(refused, w.constant(math.nan, type), result, type)
    unit = w.binary("fcmp oeq", w.unary("fabs", y, type), infinity, type)
    unit = w.binary("and", unit, w.binary("fcmp oeq", size, one, type), "i1")
    unit = w.binary("or", unit, w.binary("fcmp oeq", x, one, type), "i1")
    unit = w.binary("or", unit, w.binary("fcmp oeq", y, zero, type), "i1")
    return w.select(unit, one, result, type)


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


def integer_power(w: Writer, x: str, y: str, type: str, *, unsigned: bool = False) -> str:
    """x**y of integers, wrapping; a negative y gives 0 unless x is 1 or -1."""
    bits = int(type[1:]) - (not unsigned)
    one, v = w.constant(1, type), vec(type, w.lanes)

    def turn(_: str, state: list[str]) -> list[str]:
        result, base, rest = state
        odd = w.binary("icmp ne", w.binary("and", rest, one, type), "zeroinitializer", type)
        result = w.select(odd, w.binary("mul", result, base, type), result, type)
        return [result, w.binary("mul", base, base, type), w.binary("lshr", rest, one, type)]

    # For x = 1 and -1 only the lowest bit of y counts, and a negative y has the same one.
    result = w.loop(bits, turn, [(v, one), (v, x), (v, y)])[0]
    if unsigned:
        return result
    unit = w.binary("or", w.binary("icmp eq", x, one, type), w.binary("icmp eq", x, w.constant(-1, type), type), "i1")
    valid = w.binary("or", unit, w.binary("icmp sge", y, "zeroinitializer", type), "i1")
    return w.select(valid, result, "zeroinitializer", type)


def floor_divide(w: Writer, a: str, b: str) -> tuple[str, str]:
    """Floored quotient and remainder of floats, as NumPy's `floor_divide` and `remainder` define them."""
    return floored(w, a, b, _fmod(w, a, b), "float")


def floored(w: Writer, a: str, b: str, m: str, type: str) -> tuple[str, str]:
    """Floored quotient and remainder of a and b from m, their truncated remainder."""
    zero, one, integer = "zeroinitializer", w.constant(1.0, type), BITS[type]
    nonzero = w.binary("fcmp one", m, zero, type)
    nonzero = w.binary("or", nonzero, w.binary("fcmp uno", m, m, type), "i1")
    m_bits, b_bits = (w.convert("bitcast", x, type, integer) for x in (m, b))
    differ = w.binary("icmp slt", w.binary("xor", m_bits, b_bits, integer), zero, integer)
    adjust = w.binary("and", nonzero, differ, "i1")
    q = w.binary("fdiv", w.binary("fsub", a, m, type), b, type)
    q = w.select(adjust, w.binary("fsub", q, one, type), q, type)
    m = w.select(adjust, w.binary("fadd", m, b, type), m, type)
    v, copysign = vec(type, w.lanes), f"llvm.copysign.v{w.lanes}{MANGLED[type]}"
    signed_zero = w.call(copysign, v, [(v, zero), (v, b)])
    m = w.select(nonzero, m, signed_zero, type)
    floor = w.unary("floor", q, type)
    up = w.binary("fcmp ogt", w.binary("fsub", q, floor, type), w.constant(0.5, type), type)
    floor = w.select(up, w.binary("fadd", floor, one, type), floor, type)
    ratio = w.binary("fdiv", a, b, type)
    tiny = w.call(copysign, v, [(v, zero), (v, ratio)])
    floor = w.select(w.binary("fcmp oeq", q, zero, type), tiny, floor, type)
    return w.select(w.binary("fcmp oeq", b, zero, type), ratio, floor, type), m


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
        return w.fma(w.op(f"fneg {v} {q}"), divisor, r, d)

    first = turn(start)
    more = w.op(f"bitcast {vec('i1', lanes)} {w.binary('fcmp oge', first, divisor, d)} to i{lanes}")
    turns = w.op(f"select i1 {w.op(f'icmp ne i{lanes} {more}, 0')}, i64 {_TURNS}, i64 1")
    r = w.loop(turns, lambda _, state: [turn(state[0])], [(v, first)])[0]
    # 0 * inf would make a NaN of a finite number modulo inf.
    infinity = w.constant(math.inf, d)
    plain = w.binary("and", w.binary("fcmp oeq", divisor, infinity, d), w.binary("fcmp olt", start, infinity, d), "i1")
    r = w.convert("fptrunc", w.select(plain, start, r, d), d, "float")
    f = vec("float", lanes)
    return w.call(f"llvm.copysign.v{lanes}f32", f, [(f, r), (f, a)])
