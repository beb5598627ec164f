"""Random numbers as functions of an explicit state: the same state gives the same numbers, in every mode and thread.

The state is a number (int64) that a Parameter holds; whoever draws moves it on by one. `RandomKey` mixes it into 64
bits (the finalizer of SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), so
neighbouring states have unrelated keys. `RandomUniform` hashes the position of each element with the key: two rounds of
a 32-bit mixer of shifts and multiplications with the constants of C. Wellons' "Prospecting for hash functions" (2018),
the low half of the key added before the first and the high half xored in before the second. Bits 8..31 are the number.
`RandomNormal` puts the middles of these 2^24 intervals into the inverse of the normal distribution: none is beyond 5.4
deviations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError
from graphc.ir import NO_GRAD, REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import ExpressionBuilder, Handle
from graphc.ir.op import Attrs, Scalar, Types
from graphc.ir.types import contiguous_strides
from graphc.ops.declared.batching import loop
from graphc.ops.declared.rules import Array
from graphc.ops.declared.transcendental import polynomial

#: Shift right, multiply, ..., shift right.
_SPLITMIX: tuple[tuple[int, int], ...] = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))

_GOLDEN = 0x9E3779B97F4A7C15

_ROUND: tuple[tuple[int, int], ...] = ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1))


def _signed(value: int, bits: int) -> int:
    """The number of the same bits in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def mix64(state: int) -> int:
    """What `RandomKey` makes of a state, in Python: 64 bits as a signed number."""
    x = (state + _GOLDEN) & 0xFFFFFFFFFFFFFFFF
    for shift, factor in _SPLITMIX:
        x = (x ^ (x >> shift)) * factor & 0xFFFFFFFFFFFFFFFF
    return _signed(x, 64)


def _key_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if types[0] != TensorType("int64", ()):
        raise DTypeError(f"RandomKey: the state is {types[0]}, expected one int64: i64[]")
    return (types[0],)


def _mix_array(x: Array, rounds: tuple[tuple[int, int], ...]) -> Array:
    """x: unsigned."""
    for shift, factor in rounds:
        x = (x ^ (x >> x.dtype.type(shift))) * x.dtype.type(factor)
    return x


def _mix_scalar(e: ExpressionBuilder, x: Handle, rounds: tuple[tuple[int, int], ...], bits: int) -> Handle:
    for shift, factor in rounds:
        x = e.xor(x, e.shift_right(x, shift))
        if factor != 1:
            x = e.mul(x, e.constant(_signed(factor, bits), x))
    return x


def _key_ref(state: Array) -> Array:
    mixed = _mix_array(state.astype(np.uint64)[None] + np.uint64(_GOLDEN), _SPLITMIX)
    return np.asarray(mixed.astype(np.int64)[0])


op(
    "RandomKey",
    "state",
    infer=_key_infer,
    ref=_key_ref,
    grad=NO_GRAD,
    lower=Scalar(lambda e, state: _mix_scalar(e, e.add(state, e.constant(_signed(_GOLDEN, 64), state)), _SPLITMIX, 64)),
    batch=loop,
    samples=lambda: [Sample((np.array(x, np.int64),)) for x in (0, 1, -1, 1 << 40, -(1 << 63), (1 << 63) - 1)],
    doc="64 mixed bits of a state",
)


def _infer(name: str) -> Callable[[Types, Attrs], tuple[TensorType, ...]]:
    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        if types[0] != TensorType("int64", ()):
            raise DTypeError(f"{name}: the key is {types[0]}, expected one int64: i64[]")
        if any(not isinstance(d, int) or d < 0 for d in attrs["shape"]):
            raise ArgumentValueError(f"{name}: {attrs['shape']} is no shape")
        return (TensorType("float32", attrs["shape"]),)

    return infer


def kept_at(key: Array, shape: tuple[int, ...], keep: float) -> Array:
    """bool: where dropout of so many elements keeps one, with the probability `keep`."""
    return np.asarray(_uniform_ref(key, shape) < np.float32(keep))


def _uniform_ref(key: Array, shape: tuple[int, ...]) -> Array:
    bits = int(key) & 0xFFFFFFFFFFFFFFFF
    x = np.arange(np.prod(shape, dtype=np.int64)).astype(np.uint32).reshape(shape)
    x = _mix_array(np.atleast_1d(x) + np.uint32(bits & 0xFFFFFFFF), _ROUND)
    x = _mix_array(x ^ np.uint32(bits >> 32), _ROUND).reshape(shape)
    return (x >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def _uniform_scalar(e: ExpressionBuilder, key: Handle, shape: tuple[int, ...]) -> Handle:
    low, high = e.cast(key, "int32"), e.cast(e.shift_right(key, 32), "int32")
    x = low
    for axis, (size, stride) in enumerate(zip(shape, contiguous_strides(shape), strict=True)):
        if size > 1:
            # The position counts modulo 2^32.
            x = e.add(x, e.mul(e.iota(axis, x), e.constant(_signed(stride, 32), x)))
    x = _mix_scalar(e, x, _ROUND, 32)
    x = _mix_scalar(e, e.xor(x, high), _ROUND, 32)
    return e.mul(e.cast(e.shift_right(x, 8), "float32"), e.number(2.0**-24, "float32"))


#: Of x in (-1, 1), sqrt(2) erfinv(x) / x as a polynomial in sqrt(3.5 - log(1 - x^2)) - 3.14, the highest power first: a minimax
#: fit up to |x| = 1 - 2^-24, relative error 1.4e-6.
NORMAL_SHIFT, NORMAL_MIDDLE = 3.5, 3.14
NORMAL = (
    1.40614619e-3, -1.27963334e-3, -7.82375865e-3, 1.21104736e-2, 9.06191575e-3, -4.01046301e-2, 4.99343054e-2,
    -1.78878898e-2, -7.90742151e-2, 1.7322518, 3.33386754,
)  # fmt: skip


def _normal_ref(key: Array, shape: tuple[int, ...]) -> Array:
    x = 2 * _uniform_ref(key, shape).astype(np.float64) - 1 + 2.0**-24
    t = np.sqrt(NORMAL_SHIFT - np.log((1 - x) * (1 + x))) - NORMAL_MIDDLE
    return np.asarray(np.polyval(NORMAL, t) * x, np.float32)


def _normal_scalar(e: ExpressionBuilder, key: Handle, shape: tuple[int, ...]) -> Handle:
    u = _uniform_scalar(e, key, shape)
    one = e.constant(1.0, u)
    # Exact: an odd multiple of 2^-24.
    x = e.add(e.sub(e.add(u, u), one), e.constant(2.0**-24, u))
    left = e.mul(e.sub(one, x), e.add(one, x))
    t = e.sub(e.sqrt(e.sub(e.constant(NORMAL_SHIFT, u), e.log(left))), e.constant(NORMAL_MIDDLE, u))
    return e.mul(polynomial(e, t, NORMAL), x)


def _declare(name: str, ref: Callable[..., Array], lower: Callable[..., Handle], doc: str) -> None:
    op(
        name,
        "key",
        attrs={"shape": REQUIRED},
        infer=_infer(name),
        ref=ref,
        grad=NO_GRAD,
        lower=Scalar(lower),
        batch=loop,
        samples=lambda: [
            Sample((np.array(mix64(5), np.int64),), {"shape": (4, 3, 37)}),
            Sample((np.array(mix64(6), np.int64),), {"shape": ()}),
            Sample((np.array(-3, np.int64),), {"shape": (2, 1, 5)}),
        ],
        doc=doc,
    )


_declare(
    "RandomUniform",
    _uniform_ref,
    _uniform_scalar,
    "float32 numbers, uniform in [0, 1), from the key and the position of each element",
)
_declare(
    "RandomNormal",
    _normal_ref,
    _normal_scalar,
    "standard normal float32 numbers, of those of RandomUniform by the inverse of the distribution",
)
