"""float16 and bfloat16: 2 bytes in memory, a float32 that the type can represent in registers.

An operation on halves computes in float32 and is then `rounded` once, to nearest even. For sums, products,
quotients and square roots this equals arithmetic in the half type itself, because float32 has more than twice
its bits and two to spare (S. Figueroa, "When is double rounding innocuous?", 1995). So comparisons, choices and
sign changes need no rounding, and no value is ever of LLVM's types `half` or `bfloat` for longer than that.

Denormals: those of float16 are normal floats, and survive while the step flushes denormals: the conversion
instructions ignore that mode when they write float16, and the integer ones never see a denormal float. Those of
bfloat16 are denormals in float32 too: moved they stay, in arithmetic and comparisons they are zero; rounded they stay unless
the processor has an instruction for it, which takes them for zero.
NaN stays NaN with its sign; a signalling one may become quiet. Overflow gives infinity.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import Any

import numpy as np

from graphc_codegen.dtypes import HALVES
from graphc_codegen.errors import CodegenError
from graphc_codegen.writer import Writer, vec

_SIGN, _INFINITY, _QUIET = 0x80000000, 0x7F800000, 0x00400000
#: Smallest normal float16 (2**-14), 2**16 and the difference of the exponent biases, in the bits of a float.
_SMALLEST_NORMAL, _TOO_LARGE, _REBIAS = 113 << 23, 143 << 23, 112 << 23


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of that name; bfloat16 is `ml_dtypes.bfloat16`, imported when it is first asked for.

    Raises CodegenError when it cannot be imported.
    """
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise CodegenError(f"bfloat16 needs the package ml_dtypes: {error}") from None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def nearest(x: float, dtype: str) -> float:
    """`x` rounded to a half type, to nearest even; too large a number becomes infinite.

    float16 is rounded from double, as NumPy does; bfloat16 by way of float32, as ml_dtypes does.
    """
    try:
        if dtype == "float16":
            return float(struct.unpack("<e", struct.pack("<e", x))[0])
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)
    if math.isnan(x):
        return x
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])


def number(value: float | int | bool | None, dtype: str) -> float | int | bool:
    """The number of a constant instruction, as its dtype represents it."""
    # Not `or 0`, which would lose the sign of -0.0.
    given = 0 if value is None else value
    return nearest(float(given), dtype) if dtype in HALVES else given


def widen(w: Writer, bits: str, dtype: str) -> str:
    """<lanes x i16> as loaded -> <lanes x float>, exact."""
    made = _widened(w, bits, dtype)
    w.halves[made] = dtype, bits
    return made


def _widened(w: Writer, bits: str, dtype: str) -> str:
    if dtype == "float16" and w.converts:
        return w.convert("fpext", w.convert("bitcast", bits, "i16", "half"), "half", "float")
    if dtype == "bfloat16":
        return _widened_words(w, bits)
    wide = w.convert("zext", bits, "i16", "i32")
    size = w.binary("and", wide, w.constant(0x7FFF, "i32"), "i32")
    sign = w.binary("shl", w.binary("xor", wide, size, "i32"), w.constant(16, "i32"), "i32")
    rebias = w.constant(_REBIAS, "i32")
    normal = w.binary("add", w.binary("shl", size, w.constant(13, "i32"), "i32"), rebias, "i32")
    special = w.binary("icmp uge", size, w.constant(0x7C00, "i32"), "i32")
    value = w.select(special, w.binary("add", normal, rebias, "i32"), normal, "i32")
    steps = w.binary("fmul", w.convert("sitofp", size, "i32", "float"), w.constant(2.0**-24))
    small = w.binary("icmp ult", size, w.constant(0x0400, "i32"), "i32")
    value = w.select(small, w.convert("bitcast", steps, "float", "i32"), value, "i32")
    return w.convert("bitcast", w.binary("or", value, sign, "i32"), "i32", "float")


def _widened_words(w: Writer, bits: str) -> str:
    """The upper halves of words of zeros: one instruction where there is one that moves words anywhere."""
    if not w.bfloat16:
        wide = w.binary("shl", w.convert("zext", bits, "i16", "i32"), w.constant(16, "i32"), "i32")
        return w.convert("bitcast", wide, "i32", "float")
    v, words = vec("i16", w.lanes), 2 * w.lanes
    order = ", ".join(f"i32 {w.lanes}, i32 {lane}" for lane in range(w.lanes))
    pairs = w.op(f"shufflevector {v} {bits}, {v} zeroinitializer, {vec('i32', words)} <{order}>")
    return w.op(f"bitcast {vec('i16', words)} {pairs} to {vec('float', w.lanes)}")


def narrow(w: Writer, value: str, dtype: str) -> str:
    """<lanes x float> of numbers that the half type represents -> <lanes x i16> to store, exact."""
    if short := _short(w, value, dtype):
        return short
    if dtype == "float16" and w.converts:
        return w.convert("bitcast", w.convert("fptrunc", value, "float", "half"), "half", "i16")
    bits = w.convert("bitcast", value, "float", "i32")
    if dtype == "bfloat16":
        return w.convert("trunc", w.binary("lshr", bits, w.constant(16, "i32"), "i32"), "i32", "i16")
    size = w.binary("and", bits, w.constant(_SIGN - 1, "i32"), "i32")
    sign = w.binary("lshr", w.binary("xor", bits, size, "i32"), w.constant(16, "i32"), "i32")
    rebias = w.constant(_REBIAS, "i32")
    normal = w.binary("sub", size, rebias, "i32")
    special = w.binary("icmp uge", size, w.constant(_INFINITY, "i32"), "i32")
    normal = w.select(special, w.binary("sub", normal, rebias, "i32"), normal, "i32")
    normal = w.binary("lshr", normal, w.constant(13, "i32"), "i32")
    steps = w.binary("fmul", w.convert("bitcast", size, "i32", "float"), w.constant(2.0**24))
    # Lanes that are too large for an integer are not taken.
    steps = w.convert("fptosi", steps, "float", "i32")
    small = w.binary("icmp ult", size, w.constant(_SMALLEST_NORMAL, "i32"), "i32")
    result = w.binary("or", w.select(small, steps, normal, "i32"), sign, "i32")
    return w.convert("trunc", result, "i32", "i16")


def _short(w: Writer, value: str, dtype: str) -> str:
    """The bits of numbers that have been in the half type, or of a choice between such; "" where they have not."""
    if value in ("zeroinitializer", w.constant(0.0)):
        return "zeroinitializer"
    known, bits = w.halves.get(value, (dtype, ""))
    if bits and known == dtype:
        return bits
    if value not in w.choices:
        return ""
    condition, *both = w.choices[value]
    a, b = (_short(w, x, dtype) for x in both)
    return w.select(condition, a, b, "i16") if a and b else ""


def rounded(w: Writer, value: str, dtype: str) -> str:
    """A vector of floats rounded to the numbers of the half type, to nearest even; still floats."""
    known = w.halves.get(value)
    if known is not None and known[0] == dtype:
        return value
    if dtype == "float16" and w.converts:
        return widen(w, w.convert("bitcast", w.convert("fptrunc", value, "float", "half"), "half", "i16"), dtype)
    if dtype == "bfloat16" and w.bfloat16:
        return widen(w, w.convert("bitcast", w.convert("fptrunc", value, "float", "bfloat"), "bfloat", "i16"), dtype)
    made = _rounded_bits(w, value, 16) if dtype == "bfloat16" else _rounded_to_half(w, value)
    w.halves[made] = dtype, ""
    return made


def _rounded_to_half(w: Writer, value: str) -> str:
    """The same for float16 without the instructions for it."""
    normal = w.convert("bitcast", _rounded_bits(w, value, 13), "float", "i32")
    size = w.binary("and", normal, w.constant(_SIGN - 1, "i32"), "i32")
    # From 2**16 to infinity all numbers become infinite; NaN is above.
    large = w.binary("icmp uge", size, w.constant(_TOO_LARGE, "i32"), "i32")
    number = w.binary("icmp ule", size, w.constant(_INFINITY, "i32"), "i32")
    infinite = w.binary("and", large, number, "i1")
    size = w.select(infinite, w.constant(_INFINITY, "i32"), size, "i32")
    # Below 2**-14 the numbers are multiples of 2**-24, which is the last bit of a float near 1/2.
    bits = w.convert("bitcast", value, "float", "i32")
    plain = w.binary("and", bits, w.constant(_SIGN - 1, "i32"), "i32")
    shifted = w.binary("fadd", w.convert("bitcast", plain, "i32", "float"), w.constant(0.5))
    steps = w.convert("bitcast", w.binary("fsub", shifted, w.constant(0.5)), "float", "i32")
    small = w.binary("icmp ult", plain, w.constant(_SMALLEST_NORMAL, "i32"), "i32")
    size = w.select(small, steps, size, "i32")
    sign = w.binary("xor", bits, plain, "i32")
    return w.convert("bitcast", w.binary("or", size, sign, "i32"), "i32", "float")


def _rounded_bits(w: Writer, value: str, drop: int) -> str:
    """Round floats to 23 - `drop` bits of fraction, as integers: half of the last place, less one for even."""
    bits = w.convert("bitcast", value, "float", "i32")
    odd = w.binary("lshr", bits, w.constant(drop, "i32"), "i32")
    odd = w.binary("and", odd, w.constant(1, "i32"), "i32")
    up = w.binary("add", bits, w.constant((1 << (drop - 1)) - 1, "i32"), "i32")
    up = w.binary("add", up, odd, "i32")
    nan = w.binary("fcmp uno", value, "zeroinitializer")
    up = w.select(nan, w.binary("or", bits, w.constant(_QUIET, "i32"), "i32"), up, "i32")
    kept = w.binary("and", up, w.constant(-(1 << drop), "i32"), "i32")
    return w.convert("bitcast", kept, "i32", "float")
