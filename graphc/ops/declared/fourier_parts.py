"""Fourier transforms along one axis, of real and imaginary parts in tensors of their own: what compiled steps are made of.

`graphc.passes.complex_parts` puts them in the place of `FFT`, `RFFT` and `IRFFT`, after gradients have been taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared.fourier_plan import LARGEST_PRIME, divided, is_smooth, radices
from graphc.ops.declared.rules import Array, check_dtype, floats, require_axis, same_dtype

_DTYPES = ("float32", "float64")
#: At most so many threads share the transforms of a call: each has scratch memory of its own.
_MOST_PARTS = 8


def scale_of(size: int, norm: str, inverse: bool) -> float:
    """What a transform is multiplied by."""
    if norm == "ortho":
        return 1 / math.sqrt(size)
    return 1 / size if (norm == "forward") != inverse else 1.0


def _checked(name: str, types: Types, attrs: Attrs, size: int | None) -> TensorType:
    x = types[0]
    check_dtype(name, "x", x, _DTYPES)
    same_dtype(name, types)
    if types[-1].shape != x.shape:
        raise ShapeError(f"{name}: real parts are {x}, imaginary parts {types[-1]}")
    require_axis(name, x, attrs["axis"])
    n = x.shape[attrs["axis"]] if size is None else size
    if not n or not is_smooth(n):
        raise ShapeError(f"{name}: there is no kernel for {n} numbers, one for those with primes up to {LARGEST_PRIME}")
    return x


def _resized(x: TensorType, axis: int, size: int) -> TensorType:
    return TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :]))


# ---- what kernels are told


@lru_cache(maxsize=64)
def turns(size: int, dtype: str) -> Array:
    """e^(-2 pi i k / size): cosines and negative sines in turn."""
    angles = 2 * np.pi * np.arange(size) / size
    return np.stack([np.cos(angles), -np.sin(angles)], -1).astype(dtype)


@lru_cache(maxsize=16)
def _twist(size: int, count: int, dtype: str) -> tuple[Array, Array]:
    """e^(-2 pi i j k / (size count)) for j < size and k < count: cosines, and negative sines."""
    angles = 2 * np.pi * (np.outer(np.arange(size), np.arange(count)) % (size * count)) / (size * count)
    return np.cos(angles).astype(dtype), (-np.sin(angles)).astype(dtype)


def _call(
    k: CallBuilder,
    name: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    size: int,
    walks: Sequence[tuple[int, int, int]],
    groups: tuple[int, int],
    scale: float = 1.0,
    twist: Sequence[Array] = (),
) -> None:
    dtype = inputs[0].type.dtype
    outer, count = groups
    stages, lanes = radices(size), 64 // (8 if dtype == "float64" else 4)
    parts = max(1, min(_MOST_PARTS, outer * -(-count // lanes)))
    inner = max(map(math.prod, stages))
    scratch = k.temp(TensorType(dtype, (parts * 2 * lanes * (2 * (size + 2) + 2 * inner),)))
    tables = [k.table(turns(size, dtype)), *map(k.table, twist)]
    k.call(
        name, (*inputs, *tables), (scratch, *outputs), size=size, outer=outer, count=count, source=walks[0], target=walks[1],
        scale=scale, parts=parts, twisted=bool(twist), radices=stages, dtype=dtype,
    )  # fmt: skip


def _along(k: CallBuilder, name: str, inputs: Operands, outputs: Operands, axis: int, size: int, scale: float) -> None:
    """One call; rows of a last axis are one group."""
    shapes = [x[0].type.shape for x in (inputs, outputs)]
    outer, inner = math.prod(shapes[0][:axis]), math.prod(shapes[0][axis + 1 :])
    sizes = [shape[axis] for shape in shapes]
    if inner == 1:
        walks = [(n * outer, 1, n) for n in sizes]
        _call(k, name, inputs, outputs, size, walks, (1, outer), scale)
    else:
        walks = [(n * inner, inner, 1) for n in sizes]
        _call(k, name, inputs, outputs, size, walks, (outer, inner), scale)


# ---- of complex numbers


def _pair_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = _checked("FourierParts", types, attrs, None)
    return (x, x)


def _pair(re: Array, im: Array, axis: int, inverse: bool, norm: str) -> tuple[Array, Array]:
    made = (np.fft.ifft if inverse else np.fft.fft)(re + 1j * im, axis=axis, norm=norm)
    return made.real.astype(re.dtype), made.imag.astype(re.dtype)


def _pair_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    """Backwards it is the transform forwards of numbers whose real and imaginary parts are exchanged."""
    axis, inverse = attrs["axis"], attrs["inverse"]
    x = inputs[0].type
    size = x.shape[axis]
    if not x.size:
        return
    if inverse:
        inputs, outputs = inputs[::-1], outputs[::-1]
    scale = scale_of(size, attrs["norm"], inverse)
    rows = x.size // size
    parts = divided(size, rows) if axis == x.rank - 1 else None
    if parts is None:
        _along(k, "fourier", inputs, outputs, axis, size, scale)
        return
    n, m = parts
    between = (k.temp(x), k.temp(x))
    columns = (size, m, 1)
    _call(k, "fourier", inputs, between, n, (columns, columns), (rows, m), twist=_twist(n, m, x.dtype))
    _call(k, "fourier", between, outputs, m, ((size, 1, m), (size, n, 1)), (rows, n), scale)


op(
    "FourierParts",
    "re im",
    attrs={"axis": REQUIRED, "inverse": False, "norm": "backward"},
    infer=_pair_types,
    ref=_pair,
    lower=Kernel(_pair_lower, _DTYPES),
    samples=lambda: [
        Sample((floats(3, 12), floats(3, 12, seed=1)), {"axis": 1}),
        Sample((floats(2, 15, 5), floats(2, 15, 5, seed=1)), {"axis": 1, "inverse": True}),
        Sample((floats(2, 7), floats(2, 7, seed=1)), {"axis": 0, "norm": "ortho"}),
        Sample((floats(2, 1024), floats(2, 1024, seed=1)), {"axis": 1, "inverse": True, "norm": "forward"}),
        Sample((floats(0, 4), floats(0, 4)), {"axis": 1}),
    ],
    doc="real and imaginary parts of `FFT` along one axis, from those of its operand; for sizes with primes up to 31",
)


# ---- of real numbers, and back


def _real_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x = _checked("RealFourierParts", types, attrs, None)
    made = _resized(x, attrs["axis"], x.shape[attrs["axis"]] // 2 + 1)
    return (made, made)


def _real(x: Array, axis: int, norm: str) -> tuple[Array, Array]:
    made = np.fft.rfft(x, axis=axis, norm=norm)
    return made.real.astype(x.dtype), made.imag.astype(x.dtype)


def _real_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    size = inputs[0].type.shape[attrs["axis"]]
    _along(k, "fourier_real", inputs, outputs, attrs["axis"], size, scale_of(size, attrs["norm"], False))


op(
    "RealFourierParts",
    "x",
    attrs={"axis": REQUIRED, "norm": "backward"},
    infer=_real_types,
    ref=_real,
    lower=Kernel(_real_lower, _DTYPES),
    samples=lambda: [
        Sample((floats(3, 12),), {"axis": 1}),
        Sample((floats(2, 15, 5),), {"axis": 1, "norm": "ortho"}),
        Sample((floats(20, 7),), {"axis": 1, "norm": "forward"}),
        Sample((floats(1),), {"axis": 0}),
        Sample((floats(0, 4),), {"axis": 1}),
    ],
    doc="real and imaginary parts of `RFFT`; for sizes with primes up to 31",
)


def _half_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    axis, size = attrs["axis"], attrs["size"]
    x = _checked("HalfFourierParts", types, attrs, size)
    if x.shape[axis] != size // 2 + 1:
        raise ShapeError(f"HalfFourierParts: {x} is not the half of {size} numbers along axis {axis}")
    return (_resized(x, axis, size),)


def _half(re: Array, im: Array, axis: int, size: int, norm: str) -> Array:
    return np.fft.irfft(re + 1j * im, size, axis, norm).astype(re.dtype)


def _half_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    size = attrs["size"]
    _along(k, "fourier_half", inputs, outputs, attrs["axis"], size, scale_of(size, attrs["norm"], True))


op(
    "HalfFourierParts",
    "re im",
    attrs={"axis": REQUIRED, "size": REQUIRED, "norm": "backward"},
    infer=_half_types,
    ref=_half,
    lower=Kernel(_half_lower, _DTYPES),
    samples=lambda: [
        Sample((floats(3, 7), floats(3, 7, seed=1)), {"axis": 1, "size": 12}),
        Sample((floats(2, 8, 5), floats(2, 8, 5, seed=1)), {"axis": 1, "size": 15, "norm": "ortho"}),
        Sample((floats(20, 4), floats(20, 4, seed=1)), {"axis": 1, "size": 6, "norm": "forward"}),
        Sample((floats(0, 3), floats(0, 3)), {"axis": 1, "size": 4}),
    ],
    doc="`IRFFT` of real and imaginary parts; for sizes with primes up to 31",
)
