"""Elementary functions on float vectors, written as plain IR: no libm, and but one intrinsic of a target.

Every function takes a writer and the SSA name of a `<lanes x float>` value and returns another. NaN gives
NaN. Denormal arguments and results may be flushed to zero, as the step runs with flush-to-zero on.
Polynomials of exp and log are those of the Cephes library (S. Moshier); the argument of `log` is
split as in musl.
"""

from __future__ import annotations

import math

from graphc_codegen.scalars.pieces import polynomial, with_sign
from graphc_codegen.writer import Writer, vec

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
#: tanh of this and more is 1.
_TANH_ONE = 9.02
#: erf(x)/x on [0, 3.92] as a fraction in x*x: least largest relative error (by Lawson's weights), 1.9e-8 before rounding.
_ERF_ABOVE = (2.0500331e-6, 2.8487512e-4, 3.7655151e-3, 5.2748408e-2, 1.9040482e-1, 1.1283791e0)
_ERF_BELOW = (3.8090755e-5, 1.1625006e-3, 1.4969023e-2, 1.1410834e-1, 5.0207460e-1, 1.0)
#: Of this and more the fraction is more than 1, which erf then is.
_ERF_ONE = 4.0
#: Adding 1.5 * 2**23 rounds a float to an integer that can be read from its low bits; no conversion, so NaN
#: is safe.
_ROUND = 12582912.0
_ROUND_BITS = 0x4B400000
_SQRT_HALF_BITS = 0x3F3504F3
_SMALLEST_NORMAL = 2.0**-126


def _power_of_two(w: Writer, n: str) -> str:
    """2**n for i32 lanes in [-126, 127]."""
    biased = w.binary("add", n, w.constant(127, "i32"), "i32")
    return w.convert("bitcast", w.binary("shl", biased, w.constant(23, "i32"), "i32"), "i32", "float")


def _shifted_power(w: Writer, shifted: str) -> str:
    """2**n for n in [-126, 127] in the low bits of a float, all others of which are shifted out; 0 for n = -127."""
    high = w.binary("shl", w.convert("bitcast", shifted, "float", "i32"), w.constant(23, "i32"), "i32")
    return w.convert("bitcast", w.binary("add", high, w.constant(127 << 23, "i32"), "i32"), "i32", "float")


def _scaled(w: Writer, x: str, n: str) -> str:
    """x 2**n by AVX-512's instruction, for whole numbers n."""
    v = vec("float", w.lanes)
    args = [(v, x), (v, n), (v, "zeroinitializer"), (f"i{w.lanes}", "-1"), ("i32", "4")]
    return w.call(f"llvm.x86.avx512.mask.scalef.ps.{32 * w.lanes}", v, args)


def _exp_parts(w: Writer, x: str) -> tuple[str, str]:
    """(y, s) with e**x = y 2**n, y near 1, and the integer n in the low bits of the float s, above _ROUND_BITS."""
    shifted = w.fma(x, w.constant(math.log2(math.e)), w.constant(_ROUND))
    n = w.binary("fsub", shifted, w.constant(_ROUND))
    r = w.fma(n, w.constant(-_LN2_HIGH), x)
    r = w.fma(n, w.constant(-_LN2_LOW), r)
    p = polynomial(w, r, _EXP)
    return w.binary("fadd", w.fma(p, w.binary("fmul", r, r), r), w.constant(1.0)), shifted


def exp(w: Writer, x: str) -> str:
    """e**x, 1 ulp. Overflows to inf, underflows to 0 (through denormals where they are on)."""
    low, high = w.constant(-104.0), w.constant(89.0)
    x = w.select(w.binary("fcmp olt", x, low), low, x)
    x = w.select(w.binary("fcmp ogt", x, high), high, x)
    y, shifted = _exp_parts(w, x)
    if w.scales:
        return _scaled(w, y, w.binary("fsub", shifted, w.constant(_ROUND)))
    # n reaches 128 and -150, beyond the exponents of one factor: halve it.
    bits = w.binary("sub", w.convert("bitcast", shifted, "float", "i32"), w.constant(_ROUND_BITS, "i32"), "i32")
    half = w.binary("ashr", bits, w.constant(1, "i32"), "i32")
    rest = w.binary("sub", bits, half, "i32")
    return w.binary("fmul", w.binary("fmul", y, _power_of_two(w, half)), _power_of_two(w, rest))


def exp_of_negative(w: Writer, x: str) -> str:
    """e**x for x <= 0, 1 ulp; results below 2**-126 may be 0."""
    low = w.constant(-88.0)
    y, shifted = _exp_parts(w, w.select(w.binary("fcmp olt", x, low), low, x))
    return w.binary("fmul", y, _shifted_power(w, shifted))


def log(w: Writer, x: str) -> str:
    """Natural logarithm, 1 ulp. log(0) and of denormals is -inf, of negative numbers NaN, of inf inf."""
    offset = w.constant(_SQRT_HALF_BITS, "i32")
    i = w.binary("sub", w.convert("bitcast", x, "float", "i32"), offset, "i32")
    exponent = w.binary("ashr", i, w.constant(23, "i32"), "i32")
    mantissa = w.binary("add", w.binary("and", i, w.constant(0x007FFFFF, "i32"), "i32"), offset, "i32")
    e = w.convert("sitofp", exponent, "i32", "float")
    r = w.binary("fsub", w.convert("bitcast", mantissa, "i32", "float"), w.constant(1.0))
    z = w.binary("fmul", r, r)
    y = w.binary("fmul", w.binary("fmul", polynomial(w, r, _LOG), z), r)
    y = w.fma(e, w.constant(_LN2_LOW), y)
    y = w.fma(z, w.constant(-0.5), y)
    y = w.fma(e, w.constant(_LN2_HIGH), w.binary("fadd", r, y))
    y = w.select(w.binary("fcmp olt", x, w.constant(math.inf)), y, x)
    negative = w.binary("fcmp ole", x, w.constant(-_SMALLEST_NORMAL))
    low = w.select(negative, w.constant(math.nan), w.constant(-math.inf))
    return w.select(w.binary("fcmp olt", x, w.constant(_SMALLEST_NORMAL)), low, y)


def tanh(w: Writer, x: str) -> str:
    """Hyperbolic tangent, 3 ulp: m/(m + 2) with m = exp(2|x|) - 1, which is 2**n (exp(r) - 1) + (2**n - 1)."""
    a = w.unary("fabs", x)
    # Beyond this it is 1, and m stays small: one factor holds 2**n, and one float is enough of log(2).
    a = w.select(w.binary("fcmp ogt", a, w.constant(_TANH_ONE)), w.constant(_TANH_ONE), a)
    shifted = w.fma(a, w.constant(2 * math.log2(math.e)), w.constant(_ROUND))
    n = w.binary("fsub", shifted, w.constant(_ROUND))
    r = w.fma(n, w.constant(-math.log(2.0)), w.binary("fadd", a, a))
    p = w.fma(polynomial(w, r, _EXP), w.binary("fmul", r, r), r)
    power = _shifted_power(w, shifted)
    m = w.fma(p, power, w.binary("fsub", power, w.constant(1.0)))
    return with_sign(w, w.binary("fdiv", m, w.binary("fadd", m, w.constant(2.0))), x)


def sigmoid(w: Writer, x: str) -> str:
    """1 / (1 + exp(-x)), 2 ulp; results below 2**-126 are flushed to zero."""
    negated = w.negative(x, "float")
    return w.binary("fdiv", w.constant(1.0), w.binary("fadd", exp(w, negated), w.constant(1.0)))


def erf(w: Writer, x: str) -> str:
    """Error function: relative error 3.3e-7."""
    a, one = w.unary("fabs", x), w.constant(1.0)
    a = w.select(w.binary("fcmp ogt", a, w.constant(_ERF_ONE)), w.constant(_ERF_ONE), a)
    z = w.binary("fmul", a, a)
    above = w.binary("fmul", polynomial(w, z, _ERF_ABOVE), a)
    y = w.binary("fdiv", above, polynomial(w, z, _ERF_BELOW))
    # Rounded it may be a little more than 1.
    return with_sign(w, w.select(w.binary("fcmp ogt", y, one), one, y), x)


def rsqrt(w: Writer, x: str) -> str:
    """1 / sqrt(x), 1 ulp: exact square root, then a division."""
    v = vec("float", w.lanes)
    return w.binary("fdiv", w.constant(1.0), w.call(f"llvm.sqrt.v{w.lanes}f32", v, [(v, x)]))
