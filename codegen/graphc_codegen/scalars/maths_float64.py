"""Elementary functions on double vectors, written as plain IR: no libm, no target intrinsics.

Every function takes a writer and the SSA name of a `<lanes x double>` value and returns another. NaN gives
NaN. Denormal arguments and results may be flushed to zero, as the step runs with flush-to-zero on.
exp and log are power series after the usual reductions; erf is a pair of Chebyshev fits. With a fused multiply-add
all are good to a few ulp, without one to 1e-14.
"""

from __future__ import annotations

import math

from graphc_codegen.scalars.pieces import polynomial, with_sign
from graphc_codegen.writer import Writer

_D = "double"
#: Adding 1.5 * 2**52 rounds a double to an integer that stands in its low bits.
_ROUND = 6755399441055744.0
_ROUND_BITS = 0x4338000000000000
#: log(2) in two parts; the first has 32 bits, so that its product with an exponent is exact.
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
#: (e**r - 1 - r) / r**2 to r**11: on |r| <= log(2)/2 what is left out is below 1e-17.
_EXP = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
#: (log((1 + s) / (1 - s)) - 2 s) / s**3 in powers of s**2, to s**18: |s| <= 0.172 leaves 1e-17.
_LOG = tuple(2 / k for k in range(19, 1, -2))
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MANTISSA = (1 << 52) - 1
SMALLEST_NORMAL = 2.0**-1022
#: erf(x)/x on [0, 1] as a polynomial in x*x: relative error 5e-17.
_ERF = (
    -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
    -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225,
    -0.02686617064323777, 0.11283791670945006, -0.37612638903183543, 1.1283791670955126,
)  # fmt: skip
#: exp(x*x) * (1 - erf(x)) on [1, 6] as a polynomial in 14.4/(x + 3) - 2.6, which is in [-1, 1]: 4e-16.
_ERFC = (
    6.0857915906870915e-12, -6.047405945991704e-12, -2.571511429603255e-10, 2.6381508985080735e-10,
    1.1339538061744706e-08, 4.526700764248741e-09, -5.541274478467714e-07, -2.4255574719050315e-06,
    1.9563583246137112e-05, 0.0003316029605764125, 0.002479314697078186, 0.012713147695692198,
    0.04969844540339464, 0.15436117429436919, 0.20798329133342885,
)  # fmt: skip


def _number(w: Writer, x: float) -> str:
    return w.constant(x, _D)


def power_of_two(w: Writer, n: str) -> str:
    """2**n for i64 lanes in [-1022, 1023]."""
    biased = w.binary("add", n, w.constant(1023, "i64"), "i64")
    return w.convert("bitcast", w.binary("shl", biased, w.constant(52, "i64"), "i64"), "i64", _D)


def _clamped(w: Writer, x: str, low: float | None, high: float) -> str:
    """x within bounds; NaN stays."""
    if low is not None:
        x = w.select(w.binary("fcmp olt", x, _number(w, low), _D), _number(w, low), x, _D)
    return w.select(w.binary("fcmp ogt", x, _number(w, high), _D), _number(w, high), x, _D)


def _reduced_exp(w: Writer, x: str, tail: str | None) -> tuple[str, str]:
    """e**r - 1, and the i64 n with x + tail = n log(2) + r, for |x| < 2**40; `tail` is tiny."""
    shifted = w.fma(x, _number(w, math.log2(math.e)), _number(w, _ROUND), _D)
    n = w.binary("fsub", shifted, _number(w, _ROUND), _D)
    r = w.fma(n, _number(w, -LN2_HIGH), x, _D)
    r = w.fma(n, _number(w, -LN2_LOW), r, _D)
    if tail is not None:
        r = w.binary("fadd", r, tail, _D)
    p = w.fma(polynomial(w, r, _EXP, _D), w.binary("fmul", r, r, _D), r, _D)
    bits = w.convert("bitcast", shifted, _D, "i64")
    return p, w.binary("sub", bits, w.constant(_ROUND_BITS, "i64"), "i64")


def exp(w: Writer, x: str, tail: str | None = None) -> str:
    """e**(x + tail), 1 ulp. Overflows to inf, underflows to 0 (through denormals where they are on)."""
    p, n = _reduced_exp(w, _clamped(w, x, -746.0, 710.0), tail)
    y = w.binary("fadd", p, _number(w, 1.0), _D)
    # n reaches 1024 and -1076, beyond the exponents of one factor: halve it.
    half = w.binary("ashr", n, w.constant(1, "i64"), "i64")
    rest = w.binary("sub", n, half, "i64")
    return w.binary("fmul", w.binary("fmul", y, power_of_two(w, half), _D), power_of_two(w, rest), _D)


def split(w: Writer, x: str) -> tuple[str, str]:
    """m in [sqrt(1/2), sqrt(2)) and a whole e, both double, with x = m * 2**e; for positive normal x."""
    offset = w.constant(_SQRT_HALF_BITS, "i64")
    i = w.binary("sub", w.convert("bitcast", x, _D, "i64"), offset, "i64")
    exponent = w.convert("trunc", w.binary("ashr", i, w.constant(52, "i64"), "i64"), "i64", "i32")
    mantissa = w.binary("add", w.binary("and", i, w.constant(_MANTISSA, "i64"), "i64"), offset, "i64")
    return w.convert("bitcast", mantissa, "i64", _D), w.convert("sitofp", exponent, "i32", _D)


def log_series(w: Writer, s: str) -> str:
    """(log((1 + s) / (1 - s)) - 2 s) / s for the s of a mantissa."""
    z = w.binary("fmul", s, s, _D)
    return w.binary("fmul", polynomial(w, z, _LOG, _D), z, _D)


def log(w: Writer, x: str) -> str:
    """Natural logarithm, 1 ulp. log(0) and of denormals is -inf, of negative numbers NaN, of inf inf."""
    m, e = split(w, x)
    f = w.binary("fsub", m, _number(w, 1.0), _D)
    s = w.binary("fdiv", f, w.binary("fadd", f, _number(w, 2.0), _D), _D)
    # log(1 + f) = f - (h - s (h + series)) with h = f*f/2: the large term is exact.
    h = w.binary("fmul", w.binary("fmul", f, f, _D), _number(w, 0.5), _D)
    inner = w.fma(s, w.binary("fadd", h, log_series(w, s), _D), w.binary("fmul", e, _number(w, LN2_LOW), _D), _D)
    y = w.binary("fsub", f, w.binary("fsub", h, inner, _D), _D)
    y = w.fma(e, _number(w, LN2_HIGH), y, _D)
    y = w.select(w.binary("fcmp olt", x, _number(w, math.inf), _D), y, x, _D)
    negative = w.binary("fcmp ole", x, _number(w, -SMALLEST_NORMAL), _D)
    low = w.select(negative, _number(w, math.nan), _number(w, -math.inf), _D)
    return w.select(w.binary("fcmp olt", x, _number(w, SMALLEST_NORMAL), _D), low, y, _D)


def tanh(w: Writer, x: str) -> str:
    """Hyperbolic tangent, 3 ulp: (e**(2|x|) - 1) / (e**(2|x|) + 1) without the cancellation."""
    a = w.unary("fabs", x, _D)
    p, n = _reduced_exp(w, _clamped(w, w.binary("fadd", a, a, _D), None, 44.0), None)
    scale = power_of_two(w, n)
    e = w.fma(scale, p, w.binary("fsub", scale, _number(w, 1.0), _D), _D)
    return with_sign(w, w.binary("fdiv", e, w.binary("fadd", e, _number(w, 2.0), _D), _D), x, _D)


def sigmoid(w: Writer, x: str) -> str:
    """1 / (1 + exp(-x)), 2 ulp; results below 2**-1022 are flushed to zero."""
    e = exp(w, w.negative(x, _D))
    return w.binary("fdiv", _number(w, 1.0), w.binary("fadd", e, _number(w, 1.0), _D), _D)


def rsqrt(w: Writer, x: str) -> str:
    """1 / sqrt(x), 1 ulp: exact square root, then a division."""
    return w.binary("fdiv", _number(w, 1.0), w.unary("sqrt", x, _D), _D)


def erf(w: Writer, x: str) -> str:
    """Error function, 4 ulp."""
    a = w.unary("fabs", x, _D)
    small = w.binary("fmul", polynomial(w, w.binary("fmul", x, x, _D), _ERF, _D), x, _D)
    b = _clamped(w, a, None, 6.0)  # beyond it the result is 1
    u = w.binary("fdiv", _number(w, 1.0), w.binary("fadd", b, _number(w, 3.0), _D), _D)
    u = w.fma(u, _number(w, 14.4), _number(w, -2.6), _D)
    bell = exp(w, w.negative(w.binary("fmul", b, b, _D), _D))
    large = w.binary("fsub", _number(w, 1.0), w.binary("fmul", polynomial(w, u, _ERFC, _D), bell, _D), _D)
    return with_sign(w, w.select(w.binary("fcmp olt", a, _number(w, 1.0), _D), small, large, _D), x, _D)


def to_float(w: Writer, x: str) -> str:
    """Double -> float so that a later rounding to float16 gives what one rounding would.

    Rounded to odd (S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008): an inexact
    result is cut and gets an odd last bit.
    """
    f = w.convert("fptrunc", x, _D, "float")
    back = w.convert("fpext", f, "float", _D)
    bits = w.convert("bitcast", f, "float", "i32")
    beyond = w.binary("fcmp ogt", w.unary("fabs", back, _D), w.unary("fabs", x, _D), _D)
    cut = w.binary("add", bits, w.convert("sext", beyond, "i1", "i32"), "i32")
    odd = w.binary("or", cut, w.constant(1, "i32"), "i32")
    inexact = w.binary("fcmp one", back, x, _D)
    return w.convert("bitcast", w.select(inexact, odd, bits, "i32"), "i32", "float")
