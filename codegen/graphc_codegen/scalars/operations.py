"""The scalar operations of loop bodies, on vectors of `lanes` values in registers.

Meanings are NumPy's in the given dtype, with these decisions where NumPy leaves room or raises:

- integer arithmetic wraps; uint8 counts from 0 to 255 in division, comparison, `max`, `min`, `sign` and `cast`;
- integer `floordiv` and `mod` by zero give 0; the smallest integer divided by -1 wraps;
- integer `pow` wraps; a negative exponent gives 0 unless the base is 1 or -1;
- `cast` of a float to an integer truncates; out of range saturates and NaN gives 0; integers lose their high bits;
- `and`, `or`, `xor`, `not` are logical on bool and bitwise on integers; `shr` shifts integers right, zeros coming in,
  by less than their width;
- `add`, `mul`, `max`, `min` of bool are or, and, or, and.

`max` and `min` give NaN if either operand is NaN. Denormal floats count as zero while the step runs.

float16 and bfloat16 are floats in registers: every operation computes in float32 and is rounded to the half
type; see `halves`. Reductions of them are float32 until their end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphc_codegen.errors import CodegenError
from graphc_codegen.program import FLOATS, HALVES, INTEGERS, UNSIGNED, Instr, integer_limits
from graphc_codegen.scalars import (
    halves,
    maths_float32,
    maths_float64,
    power_float32,
    power_float64,
    trigonometry_float32,
)
from graphc_codegen.writer import MANGLED, REGISTER, Writer, vec

#: Operations whose result is a number of the half type already.
_EXACT = frozenset({"max", "min", "neg", "abs", "sign", "floor", "round", "select"})


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in a register: SSA name or constant text, dtype, and the number itself if it is a constant."""

    name: str
    dtype: str
    constant: float | int | bool | None = None


def emit(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    """Write `instr` on vectors and return the result's name.

    Raises CodegenError when the operation has no meaning for the dtypes.
    """
    if instr.op == "cast":
        return cast(w, args[0].name, args[0].dtype, instr.dtype)
    table = _COMPARE if instr.op in _COMPARE_CODE else _BY_DTYPE.get(args[-1].dtype, {})
    write = table.get(instr.op)
    if write is None:
        raise CodegenError(f"loop operation {instr.op!r} is not defined for {args[-1].dtype}")
    result = write(w, instr, args)
    return halves.rounded(w, result, instr.dtype) if instr.dtype in HALVES and instr.op not in _EXACT else result


def combine(w: Writer, how: str, a: str, b: str, dtype: str) -> str:
    """One step of the reduction `how` on vectors; `a` is the accumulator. Halves are not rounded."""
    if dtype in HALVES:
        dtype = "float32"
    op = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(how, how)
    return emit(w, Instr(op, (0, 1), dtype), (Operand(a, dtype), Operand(b, dtype)))


def neutral(how: str, dtype: str) -> float | int:
    """The value that changes nothing in a reduction."""
    if how in ("sum", "any"):
        return 0
    if how in ("prod", "all"):
        return 1
    if dtype == "bool":
        return 0 if how == "max" else 1
    if dtype in FLOATS:
        return -math.inf if how == "max" else math.inf
    return integer_limits(dtype)[how == "min"]


def cast(w: Writer, x: str, source: str, target: str) -> str:
    """Convert a vector between two dtypes."""
    a, b = REGISTER[source], REGISTER[target]
    if source == target:
        return x
    if (source, target) == ("float64", "float16"):
        return halves.rounded(w, maths_float64.to_float(w, x), target)
    if target in HALVES:
        return halves.rounded(w, cast(w, x, source, "float32"), target)
    if source in HALVES:
        return cast(w, x, "float32", target)
    if target == "bool":
        return truth(w, x, source)
    if source in FLOATS:
        return _from_float(w, x, a, target)
    unsigned = source == "bool" or source in UNSIGNED
    if target in FLOATS:
        return w.convert("uitofp" if unsigned else "sitofp", x, a, b)
    return _resized(w, x, a, b, unsigned)


def _from_float(w: Writer, x: str, a: str, target: str) -> str:
    """float or double to the other one, or to an integer."""
    b = REGISTER[target]
    if target in FLOATS:
        return w.convert("fpext" if b == "double" else "fptrunc", x, a, b)
    name = "fptoui" if target in UNSIGNED else "fptosi"
    name = f"llvm.{name}.sat.v{w.lanes}{b}.v{w.lanes}{MANGLED[a]}"
    return w.call(name, vec(b, w.lanes), [(vec(a, w.lanes), x)])


def _resized(w: Writer, x: str, a: str, b: str, unsigned: bool) -> str:
    """An integer of another width; of the same width it has the same bits."""
    if a == b:
        return x
    wider = int(b[1:]) > int(a[1:])
    return w.convert("trunc" if not wider else "zext" if unsigned else "sext", x, a, b)


def truth(w: Writer, x: str, dtype: str) -> str:
    """`x != 0` as a vector of i1; NaN is true."""
    compare = "fcmp une" if dtype in FLOATS else "icmp ne"
    return w.binary(compare, x, "zeroinitializer", REGISTER[dtype])


Write = Callable[[Writer, Instr, Sequence[Operand]], str]


def _plain(op: str) -> Write:
    return lambda w, i, a: w.binary(op, a[0].name, a[1].name, REGISTER[a[0].dtype])


def _unary(intrinsic: str) -> Write:
    return lambda w, i, a: w.unary(intrinsic, a[0].name, REGISTER[a[0].dtype])


def _maths(function: Callable[[Writer, str], str]) -> Write:
    return lambda w, i, a: function(w, a[0].name)


def _extremum(compare: str) -> Write:
    """`max` or `min` of floats that keeps NaN."""

    def write(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
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


def _int_extremum(compare: str) -> Write:
    def write(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
        t = REGISTER[args[0].dtype]
        a, b = args[0].name, args[1].name
        return w.select(w.binary(compare, a, b, t), a, b, t)

    return write


def _sign(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    x, zero, t = args[0].name, "zeroinitializer", REGISTER[args[0].dtype]
    y = w.select(w.binary("fcmp oeq", x, zero, t), zero, x, t)  # NaN stays
    y = w.select(w.binary("fcmp ogt", x, zero, t), w.constant(1.0, t), y, t)
    return w.select(w.binary("fcmp olt", x, zero, t), w.constant(-1.0, t), y, t)


def _int_sign(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    x, t = args[0].name, REGISTER[args[0].dtype]
    positive = w.convert("zext", w.binary("icmp sgt", x, "zeroinitializer", t), "i1", t)
    negative = w.convert("sext", w.binary("icmp slt", x, "zeroinitializer", t), "i1", t)
    return w.binary("or", positive, negative, t)


def _unsigned_sign(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    t = REGISTER[args[0].dtype]
    return w.convert("zext", truth(w, args[0].name, args[0].dtype), "i1", t)


def _int_neg(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    return w.binary("sub", "zeroinitializer", args[0].name, REGISTER[args[0].dtype])


def _int_abs(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    x, t = args[0].name, REGISTER[args[0].dtype]
    negative = w.binary("icmp slt", x, "zeroinitializer", t)
    return w.select(negative, w.binary("sub", "zeroinitializer", x, t), x, t)


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


def _unsigned_divide(w: Writer, a: Operand, b: Operand, op: str) -> str:
    """Quotient ("udiv") or remainder ("urem") of unsigned integers; 0 for a division by zero."""
    t, zero = REGISTER[a.dtype], "zeroinitializer"
    by_zero = w.binary("icmp eq", b.name, zero, t)
    result = w.binary(op, a.name, w.select(by_zero, w.constant(1, t), b.name, t), t)
    return w.select(by_zero, zero, result, t)


def _float_pow(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    x, y = args
    if y.constant is not None and power_float32.has_exact_form(float(y.constant)):
        return power_float32.constant_power(w, x.name, float(y.constant), REGISTER[x.dtype])
    return (power_float64.pow if x.dtype == "float64" else power_float32.power)(w, x.name, y.name)


def _isfinite(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    t = REGISTER[args[0].dtype]
    i = power_float32.BITS[t]
    mask = w.constant(0x7F800000 if t == "float" else 0x7FF << 52, i)
    bits = w.convert("bitcast", args[0].name, t, i)
    return w.binary("icmp ne", w.binary("and", bits, mask, i), mask, i)


def _always(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    return w.constant(1, "i1")


def _same(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    return args[0].name


def _not(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    t = REGISTER[args[0].dtype]
    ones = w.constant(1 if t == "i1" else -1, t)
    return w.binary("xor", args[0].name, ones, t)


def _select(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    c, a, b = args
    return w.select(c.name, a.name, b.name, REGISTER[a.dtype])


def _neg(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    return w.op(f"fneg {vec(REGISTER[args[0].dtype], w.lanes)} {args[0].name}")


#: LLVM predicates for floats (ordered, except `ne`), signed integers, bool and unsigned integers.
_COMPARE_CODE = {
    "eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge"),
}  # fmt: skip


def _compare(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    floats, signed, unsigned = _COMPARE_CODE[instr.op]
    dtype = args[0].dtype
    code = f"icmp {unsigned if dtype == 'bool' or dtype in UNSIGNED else signed}"
    if dtype in FLOATS:
        code = f"fcmp {floats}"
    return w.binary(code, args[0].name, args[1].name, REGISTER[dtype])


_COMPARE: dict[str, Write] = dict.fromkeys(_COMPARE_CODE, _compare)

_FLOAT: dict[str, Write] = {
    "add": _plain("fadd contract"), "sub": _plain("fsub contract"), "mul": _plain("fmul contract"),
    "div": _plain("fdiv"), "max": _extremum("fcmp ogt"), "min": _extremum("fcmp olt"),
    "floordiv": lambda w, i, a: power_float32.floor_divide(w, a[0].name, a[1].name)[0],
    "mod": lambda w, i, a: power_float32.floor_divide(w, a[0].name, a[1].name)[1],
    "pow": _float_pow, "neg": _neg, "abs": _unary("fabs"), "sign": _sign, "sqrt": _unary("sqrt"),
    "floor": _unary("floor"), "round": _unary("roundeven"), 
    "sin": _maths(trigonometry_float32.sin), "cos": _maths(trigonometry_float32.cos),
    "exp": _maths(maths_float32.exp), "log": _maths(maths_float32.log),
    "rsqrt": _maths(maths_float32.rsqrt), "tanh": _maths(maths_float32.tanh), "sigmoid": _maths(maths_float32.sigmoid),
    "erf": _maths(maths_float32.erf), "isfinite": _isfinite, "select": _select,
}  # fmt: skip

_DOUBLE: dict[str, Write] = {
    **_FLOAT,
    "floordiv": lambda w, i, a: power_float64.floor_divide(w, a[0].name, a[1].name)[0],
    "mod": lambda w, i, a: power_float64.floor_divide(w, a[0].name, a[1].name)[1],
    "sin": _maths(maths_float64.sin), "cos": _maths(maths_float64.cos), "exp": _maths(maths_float64.exp),
    "log": _maths(maths_float64.log), "rsqrt": _maths(maths_float64.rsqrt), "tanh": _maths(maths_float64.tanh),
    "sigmoid": _maths(maths_float64.sigmoid), "erf": _maths(maths_float64.erf),
}  # fmt: skip

_INT: dict[str, Write] = {
    "add": _plain("add"), "sub": _plain("sub"), "mul": _plain("mul"),
    "max": _int_extremum("icmp sgt"), "min": _int_extremum("icmp slt"),
    "floordiv": lambda w, i, a: _divide(w, a[0], a[1])[0],
    "mod": lambda w, i, a: _divide(w, a[0], a[1])[1],
    "pow": lambda w, i, a: power_float32.integer_power(w, a[0].name, a[1].name, REGISTER[a[0].dtype]),
    "neg": _int_neg, "abs": _int_abs, "sign": _int_sign, "floor": _same, "round": _same, "isfinite": _always,
    "and": _plain("and"), "or": _plain("or"), "xor": _plain("xor"), "shr": _plain("lshr"), "not": _not,
    "select": _select,
}  # fmt: skip

_UNSIGNED: dict[str, Write] = {
    **_INT,
    "max": _int_extremum("icmp ugt"), "min": _int_extremum("icmp ult"),
    "floordiv": lambda w, i, a: _unsigned_divide(w, a[0], a[1], "udiv"),
    "mod": lambda w, i, a: _unsigned_divide(w, a[0], a[1], "urem"),
    "pow": lambda w, i, a: power_float32.integer_power(w, a[0].name, a[1].name, REGISTER[a[0].dtype], unsigned=True),
    "abs": _same, "sign": _unsigned_sign,
}  # fmt: skip

_BOOL: dict[str, Write] = {
    "add": _plain("or"), "mul": _plain("and"), "max": _plain("or"), "min": _plain("and"), "abs": _same,
    "and": _plain("and"), "or": _plain("or"), "xor": _plain("xor"), "not": _not, "isfinite": _always, "select": _select,
}  # fmt: skip

_BY_DTYPE: dict[str, dict[str, Write]] = {
    **dict.fromkeys(FLOATS, _FLOAT), **dict.fromkeys(INTEGERS, _INT), **dict.fromkeys(UNSIGNED, _UNSIGNED),
    "float64": _DOUBLE, "bool": _BOOL,
}  # fmt: skip
