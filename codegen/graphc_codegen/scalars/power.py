"""What powers and floored divisions have in common, whatever the dtype."""

from __future__ import annotations

import math

from graphc_codegen.scalars.pieces import with_sign
from graphc_codegen.writer import Writer, vec

#: The integer type that holds the bits of a float type.
BITS = {"float": "i32", "double": "i64"}


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
    negated = w.negative(result, type)
    result = w.select(w.binary("and", signed, odd, "i1"), negated, result, type)
    refused = w.binary("and", w.binary("fcmp olt", x, zero, type), w.binary("fcmp une", floor, y, type), "i1")
    refused = w.binary("and", refused, w.binary("fcmp olt", size, infinity, type), "i1")
    result = w.select(refused, w.constant(math.nan, type), result, type)
    unit = w.binary("fcmp oeq", w.unary("fabs", y, type), infinity, type)
    unit = w.binary("and", unit, w.binary("fcmp oeq", size, one, type), "i1")
    unit = w.binary("or", unit, w.binary("fcmp oeq", x, one, type), "i1")
    unit = w.binary("or", unit, w.binary("fcmp oeq", y, zero, type), "i1")
    return w.select(unit, one, result, type)


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
    signed_zero = with_sign(w, zero, b, type)
    m = w.select(nonzero, m, signed_zero, type)
    floor = w.unary("floor", q, type)
    up = w.binary("fcmp ogt", w.binary("fsub", q, floor, type), w.constant(0.5, type), type)
    floor = w.select(up, w.binary("fadd", floor, one, type), floor, type)
    ratio = w.binary("fdiv", a, b, type)
    tiny = with_sign(w, zero, ratio, type)
    floor = w.select(w.binary("fcmp oeq", q, zero, type), tiny, floor, type)
    return w.select(w.binary("fcmp oeq", b, zero, type), ratio, floor, type), m
