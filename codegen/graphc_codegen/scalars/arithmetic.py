"""What writes the operations that need a few instructions: each function here is an emitter of `table`, or makes one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.scalars import power
from graphc_codegen.scalars.conversion import truth
from graphc_codegen.writer import Writer


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in a register: SSA name or constant text, dtype, and the number itself if it is a constant."""

    name: str
    dtype: str
    constant: float | int | bool | None = None


#: Writes an operation on operands of one dtype, and returns the result's name.
Write = Callable[[Writer, Sequence[Operand]], str]


def plain(op: str) -> Write:
    """One LLVM instruction with two operands."""
    return lambda w, a: w.binary(op, a[0].name, a[1].name, REGISTER[a[0].dtype])


def intrinsic(name: str) -> Write:
    """One of LLVM's intrinsics with one operand, e.g. "floor"."""
    return lambda w, a: w.unary(name, a[0].name, REGISTER[a[0].dtype])


def unary(function: Callable[[Writer, str], str]) -> Write:
    """A function of one vector."""
    return lambda w, a: function(w, a[0].name)


def extremum(compare: str) -> Write:
    """`max` or `min` of floats that keeps NaN."""

    def write(w: Writer, args: Sequence[Operand]) -> str:
        a, b = args
        t = REGISTER[a.dtype]
        if a.constant is not None and not math.isnan(a.constant):
            a, b = b, a
        if b.constant is not None and not math.isnan(b.constant):
            # One compare: it is false for NaN, and then `a` is taken.
            return w.select(w.binary(compare, b.name, a.name, t), b.name, a.name, t)
        best = w.select(w.binary(compare, a.name, b.name, t), a.name, b.name, t)
        return w.select(w.binary("fcmp uno", a.name, a.name, t), a.name, best, t)

    return write


def integer_extremum(compare: str) -> Write:
    """`max` or `min` of integers."""

    def write(w: Writer, args: Sequence[Operand]) -> str:
        t = REGISTER[args[0].dtype]
        a, b = args[0].name, args[1].name
        return w.select(w.binary(compare, a, b, t), a, b, t)

    return write


def sign(w: Writer, args: Sequence[Operand]) -> str:
    x, zero, t = args[0].name, "zeroinitializer", REGISTER[args[0].dtype]
    y = w.select(w.binary("fcmp oeq", x, zero, t), zero, x, t)  # NaN stays
    y = w.select(w.binary("fcmp ogt", x, zero, t), w.constant(1.0, t), y, t)
    return w.select(w.binary("fcmp olt", x, zero, t), w.constant(-1.0, t), y, t)


def integer_sign(w: Writer, args: Sequence[Operand]) -> str:
    x, t = args[0].name, REGISTER[args[0].dtype]
    positive = w.convert("zext", w.binary("icmp sgt", x, "zeroinitializer", t), "i1", t)
    negative = w.convert("sext", w.binary("icmp slt", x, "zeroinitializer", t), "i1", t)
    return w.binary("or", positive, negative, t)


def unsigned_sign(w: Writer, args: Sequence[Operand]) -> str:
    t = REGISTER[args[0].dtype]
    return w.convert("zext", truth(w, args[0].name, args[0].dtype), "i1", t)


def integer_neg(w: Writer, args: Sequence[Operand]) -> str:
    return w.binary("sub", "zeroinitializer", args[0].name, REGISTER[args[0].dtype])


def integer_abs(w: Writer, args: Sequence[Operand]) -> str:
    x, t = args[0].name, REGISTER[args[0].dtype]
    negative = w.binary("icmp slt", x, "zeroinitializer", t)
    return w.select(negative, w.binary("sub", "zeroinitializer", x, t), x, t)


def integer_quotient(w: Writer, args: Sequence[Operand]) -> str:
    return _divide(w, *args)[0]


def integer_remainder(w: Writer, args: Sequence[Operand]) -> str:
    return _divide(w, *args)[1]


def _divide(w: Writer, a: Operand, b: Operand) -> tuple[str, str]:
    """Floored quotient and remainder of integers; neither zero nor -1 reaches the machine's division."""
    t = REGISTER[a.dtype]
    one, zero, minus = w.constant(1, t), "zeroinitializer", w.constant(-1, t)
    by_zero = w.binary("icmp eq", b.name, zero, t)
    by_minus = w.binary("icmp eq", b.name, minus, t)
    safe = w.select(w.binary("or", by_zero, by_minus, "i1"), one, b.name, t)
    q = w.binary("sdiv", a.name, safe, t)
    r = w.binary("sub", a.name, w.binary("mul", q, safe, t), t)
    differ = w.binary("icmp slt", w.binary("xor", r, safe, t), zero, t)
    adjust = w.binary("and", differ, w.binary("icmp ne", r, zero, t), "i1")
    q = w.binary("add", q, w.convert("sext", adjust, "i1", t), t)
    r = w.binary("add", r, w.select(adjust, safe, zero, t), t)
    q = w.select(by_minus, w.binary("sub", zero, a.name, t), q, t)
    return w.select(by_zero, zero, q, t), r  # with the divisor replaced by 1 the remainder is 0 already


def unsigned_division(op: str) -> Write:
    """Quotient ("udiv") or remainder ("urem") of unsigned integers; 0 for a division by zero."""

    def write(w: Writer, args: Sequence[Operand]) -> str:
        a, b = args
        t, zero = REGISTER[a.dtype], "zeroinitializer"
        by_zero = w.binary("icmp eq", b.name, zero, t)
        result = w.binary(op, a.name, w.select(by_zero, w.constant(1, t), b.name, t), t)
        return w.select(by_zero, zero, result, t)

    return write


def integer_pow(*, unsigned: bool = False) -> Write:
    """`power.integer_power`."""
    return lambda w, a: power.integer_power(w, a[0].name, a[1].name, REGISTER[a[0].dtype], unsigned=unsigned)


def float_pow(function: Callable[[Writer, str, str], str]) -> Write:
    """`function` where the exponent is no constant with an exact form."""

    def write(w: Writer, args: Sequence[Operand]) -> str:
        x, y = args
        if y.constant is not None and power.has_exact_form(float(y.constant)):
            return power.constant_power(w, x.name, float(y.constant), REGISTER[x.dtype])
        return function(w, x.name, y.name)

    return write


def one_of_two(function: Callable[[Writer, str, str], tuple[str, str]], which: int) -> Write:
    """One of the two results of a function of two vectors."""
    return lambda w, a: function(w, a[0].name, a[1].name)[which]


def isfinite(w: Writer, args: Sequence[Operand]) -> str:
    t = REGISTER[args[0].dtype]
    i = power.BITS[t]
    mask = w.constant(0x7F800000 if t == "float" else 0x7FF << 52, i)
    bits = w.convert("bitcast", args[0].name, t, i)
    return w.binary("icmp ne", w.binary("and", bits, mask, i), mask, i)


def true(w: Writer, args: Sequence[Operand]) -> str:
    return w.constant(1, "i1")


def same(w: Writer, args: Sequence[Operand]) -> str:
    return args[0].name


def invert(w: Writer, args: Sequence[Operand]) -> str:
    t = REGISTER[args[0].dtype]
    ones = w.constant(1 if t == "i1" else -1, t)
    return w.binary("xor", args[0].name, ones, t)


def choose(w: Writer, args: Sequence[Operand]) -> str:
    c, a, b = args
    return w.select(c.name, a.name, b.name, REGISTER[a.dtype])


def neg(w: Writer, args: Sequence[Operand]) -> str:
    return w.negative(args[0].name, REGISTER[args[0].dtype])
