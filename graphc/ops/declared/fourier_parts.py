"""Fourier transforms along one axis, of real and imaginary parts in tensors of their own: what compiled steps are made of.

Where a step takes complex numbers, or gives them, the transform may read them, or make them, itself.
`graphc.passes.complex_parts` puts them in the place of `FFT`, `RFFT` and `IRFFT`, after gradients have been taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import REQUIRED, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import COMPLEX
from graphc.ops.declared.complex import WHOLE, complexes
from graphc.ops.declared.fourier_plan import LARGEST_PRIME, divided, is_smooth, matrix, radices
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
    """The type of real parts of the operand. DTypeError, ShapeError unless it is real, or complex in one tensor or two."""
    x = types[0]
    if x.is_complex and len(types) == 1:
        x = TensorType(x.part, x.shape)
    else:
        check_dtype(name, "x", x, _DTYPES)
        same_dtype(name, types)
    if len(types) > 2 or types[-1].shape != x.shape:
        raise ShapeError(f"{name}: {' and '.join(map(str, types))} are no real and imaginary parts")
    require_axis(name, x, attrs["axis"])
    n = x.shape[attrs["axis"]] if size is None else size
    if not n or not is_smooth(n):
        raise ShapeError(f"{name}: there is no kernel for {n} numbers, one for those with primes up to {LARGEST_PRIME}")
    return x


def _complex_types(x: TensorType, attrs: Attrs) -> tuple[TensorType, ...]:
    """Of a complex result: it is one tensor, or two."""
    return (TensorType(WHOLE[x.dtype], x.shape),) if attrs["whole"] else (x, x)


def _complex_of(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]


def _given(z: Array, whole: bool) -> Array | tuple[Array, Array]:
    return z if whole else (np.ascontiguousarray(z.real), np.ascontiguousarray(z.imag))


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
    inverse: bool = False,
) -> None:
    dtype = inputs[0].type.part
    whole = tuple(side for side, xs in (("source", inputs), ("target", outputs)) if xs[0].type.is_complex)
    outer, count = groups
    stages, lanes = radices(size), 64 // (8 if dtype == "float64" else 4)
    parts = max(1, min(_MOST_PARTS, outer * -(-count // lanes)))
    scratch = k.temp(TensorType(dtype, (parts * 4 * lanes * (size + 2),)))
    tables = [k.table(turns(size, dtype)), *map(k.table, twist)]
    k.call(
        name, (*inputs, *tables), (scratch, *outputs), size=size, outer=outer, count=count, source=walks[0], target=walks[1],
        scale=scale, parts=parts, twisted=bool(twist), inverse=inverse, whole=whole, radices=stages, dtype=dtype,
    )  # fmt: skip


def _along(
    k: CallBuilder,
    name: str,
    inputs: Operands,
    outputs: Operands,
    axis: int,
    size: int,
    scale: float,
    inverse: bool = False,
) -> None:
    """One call; rows of a last axis are one group."""
    shapes = [x[0].type.shape for x in (inputs, outputs)]
    outer, inner = math.prod(shapes[0][:axis]), math.prod(shapes[0][axis + 1 :])
    sizes = [shape[axis] for shape in shapes]
    if inner == 1:
        walks = [(n * outer, 1, n) for n in sizes]
        _call(k, name, inputs, outputs, size, walks, (1, outer), scale, inverse=inverse)
    else:
        walks = [(n * inner, inner, 1) for n in sizes]
        _call(k, name, inputs, outputs, size, walks, (outer, inner), scale, inverse=inverse)


@lru_cache(maxsize=16)
def _row_tables(n: int, m: int, kind: str, scale: float, dtype: str) -> tuple[Array, ...]:
    """What `fourier_rows` and its kin are told of rows of n m complex numbers."""
    count = n * m
    # Differences and sums of pairs are twice what they should be.
    turned = np.exp(-2j * np.pi * (np.outer(np.arange(n), np.arange(m)) % count) / count)
    turned *= scale / 2 if kind == "real" else scale
    half = -1j * np.exp(-1j * np.pi * np.arange(count) / count)
    found = [turned] if kind == "pair" else [turned, half if kind == "real" else half.conj()]
    return tuple(np.ascontiguousarray(part).astype(dtype) for z in found for part in (z.real, z.imag))


def _each_row(
    k: CallBuilder, kind: str, inputs: Operands, outputs: Operands, split: tuple[int, int], scale: float, **how: bool
) -> None:
    """Transforms of contiguous rows, each by itself. how: `inverse`, `full`."""
    dtype = inputs[0].type.part
    whole = tuple(side for side, xs in (("source", inputs), ("target", outputs)) if xs[0].type.is_complex)
    rows = inputs[0].type.size // inputs[0].type.shape[-1]
    n, m = split
    line = 64 // (8 if dtype == "float64" else 4)
    part = -(-2 * n * m // line) * line * (1 if kind == "pair" else 2) + 4 * line * max(split)
    parts = min(_MOST_PARTS, rows)
    scratch = k.temp(TensorType(dtype, (parts * part,)))
    tables = [turns(n, dtype), turns(m, dtype), *_row_tables(n, m, kind, scale, dtype)]
    k.call(
        "fourier_rows" + {"pair": "", "real": "_real", "half": "_half"}[kind], (*inputs, *map(k.table, tables)),
        (scratch, *outputs), rows=rows, split=split, radices=(radices(n), radices(m)), parts=parts, whole=whole, dtype=dtype,
        **{"inverse": False, "full": False, **how},
    )  # fmt: skip


# ---- of complex numbers


def _pair_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return _complex_types(_checked("FourierParts", types, attrs, None), attrs)


def _pair(*parts: Array, axis: int, inverse: bool, norm: Any, whole: bool) -> Array | tuple[Array, Array]:
    return _given((np.fft.ifft if inverse else np.fft.fft)(_complex_of(parts), axis=axis, norm=norm), whole)


def _pair_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    axis, inverse = attrs["axis"], attrs["inverse"]
    x = inputs[0].type
    size = x.shape[axis]
    if not x.size:
        return
    scale = scale_of(size, attrs["norm"], inverse)
    rows = x.size // size
    split = matrix(size, rows) if axis == x.rank - 1 else None
    if split is not None:
        _each_row(k, "pair", inputs, outputs, split, scale, inverse=inverse)
        return
    parts = divided(size, rows) if axis == x.rank - 1 else None
    if parts is None:
        _along(k, "fourier", inputs, outputs, axis, size, scale, inverse)
        return
    n, m = parts
    part = TensorType(x.part, x.shape)
    between = (k.temp(part), k.temp(part))
    columns, twist = (size, m, 1), _twist(n, m, part.dtype)
    _call(k, "fourier", inputs, between, n, (columns, columns), (rows, m), twist=twist, inverse=inverse)
    _call(k, "fourier", between, outputs, m, ((size, 1, m), (size, n, 1)), (rows, n), scale, inverse=inverse)


op(
    "FourierParts",
    "*x",
    attrs={"axis": REQUIRED, "inverse": False, "norm": "backward", "whole": False},
    infer=_pair_types,
    ref=_pair,
    lower=Kernel(_pair_lower, (*_DTYPES, *COMPLEX)),
    samples=lambda: [
        Sample((floats(3, 12), floats(3, 12, seed=1)), {"axis": 1}),
        Sample((floats(2, 15, 5), floats(2, 15, 5, seed=1)), {"axis": 1, "inverse": True}),
        Sample((floats(2, 7), floats(2, 7, seed=1)), {"axis": 0, "norm": "ortho"}),
        Sample((floats(2, 1024), floats(2, 1024, seed=1)), {"axis": 1, "inverse": True, "norm": "forward"}),
        Sample((complexes(2, 6, 11),), {"axis": 1, "whole": True}),
        Sample((complexes(3, 16),), {"axis": 1, "inverse": True, "whole": True}),
        Sample((complexes(9, 192),), {"axis": 1, "inverse": True, "whole": True}),
        Sample((floats(0, 4), floats(0, 4)), {"axis": 1}),
    ],
    doc="`FFT` along one axis, of a size with primes up to 31: parts, or complex numbers if `whole`, of such; no gradient",
)


# ---- of real numbers, and back


def _real_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    check_dtype("RealFourierParts", "x", types[0], _DTYPES)
    x = _checked("RealFourierParts", types, attrs, None)
    if attrs["full"]:
        if not has_full(x.shape, attrs["axis"]):
            raise ShapeError(
                f"RealFourierParts: no kernel makes all of the transform of {x} along axis {attrs['axis']}"
            )
        return _complex_types(x, attrs)
    return _complex_types(_resized(x, attrs["axis"], x.shape[attrs["axis"]] // 2 + 1), attrs)


def has_full(shape: Sequence[int], axis: int) -> bool:
    """Whether there is a kernel for all of the transform of real numbers along an axis."""
    return _real_rows(TensorType("float32", tuple(shape)), axis, shape[axis]) is not None


def _real_rows(x: TensorType, axis: int, size: int) -> tuple[int, int] | None:
    """The matrix that a row of half as many complex numbers is, where each row of x is transformed by itself."""
    if axis != x.rank - 1 or size % 2 or not x.size:
        return None
    return matrix(size // 2, x.size // x.shape[axis])


def _real(x: Array, axis: int, norm: Any, whole: bool, full: bool) -> Array | tuple[Array, Array]:
    return _given((np.fft.fft if full else np.fft.rfft)(x, axis=axis, norm=norm), whole)


def _real_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, axis = inputs[0].type, attrs["axis"]
    size = x.shape[axis]
    scale = scale_of(size, attrs["norm"], False)
    split = _real_rows(x, axis, size)
    if split is None:
        _along(k, "fourier_real", inputs, outputs, axis, size, scale)
    else:
        _each_row(k, "real", inputs, outputs, split, scale, full=attrs["full"])


op(
    "RealFourierParts",
    "x",
    attrs={"axis": REQUIRED, "norm": "backward", "whole": False, "full": False},
    infer=_real_types,
    ref=_real,
    lower=Kernel(_real_lower, _DTYPES),
    samples=lambda: [
        Sample((floats(3, 12),), {"axis": 1}),
        Sample((floats(2, 15, 5),), {"axis": 1, "norm": "ortho"}),
        Sample((floats(20, 7),), {"axis": 1, "norm": "forward", "whole": True}),
        Sample((floats(1),), {"axis": 0}),
        Sample((floats(9, 384),), {"axis": 1, "whole": True}),
        Sample((floats(8, 512),), {"axis": 1, "full": True, "norm": "ortho"}),
        Sample((floats(0, 4),), {"axis": 1}),
    ],
    doc="`RFFT`, of a size with primes up to 31: real and imaginary parts, or with `whole` complex numbers; with `full` all of"
    " the transform, of long rows of some sizes; no gradient",
)


def _half_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    axis, size = attrs["axis"], attrs["size"]
    x = _checked("HalfFourierParts", types, attrs, size)
    if x.shape[axis] != size // 2 + 1:
        raise ShapeError(f"HalfFourierParts: {x} is not the half of {size} numbers along axis {axis}")
    return (_resized(x, axis, size),)


def _half(*parts: Array, axis: int, size: int, norm: Any) -> Array:
    return np.fft.irfft(_complex_of(parts), size, axis, norm)


def _half_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, axis, size = inputs[0].type, attrs["axis"], attrs["size"]
    scale = scale_of(size, attrs["norm"], True)
    split = _real_rows(x, axis, size)
    if split is None:
        _along(k, "fourier_half", inputs, outputs, axis, size, scale)
    else:
        _each_row(k, "half", inputs, outputs, split, scale)


op(
    "HalfFourierParts",
    "*x",
    attrs={"axis": REQUIRED, "size": REQUIRED, "norm": "backward"},
    infer=_half_types,
    ref=_half,
    lower=Kernel(_half_lower, (*_DTYPES, *COMPLEX)),
    samples=lambda: [
        Sample((floats(3, 7), floats(3, 7, seed=1)), {"axis": 1, "size": 12}),
        Sample((floats(2, 8, 5), floats(2, 8, 5, seed=1)), {"axis": 1, "size": 15, "norm": "ortho"}),
        Sample((floats(20, 4), floats(20, 4, seed=1)), {"axis": 1, "size": 6, "norm": "forward"}),
        Sample((complexes(20, 4),), {"axis": 1, "size": 6}),
        Sample((complexes(9, 193),), {"axis": 1, "size": 384}),
        Sample((floats(0, 3), floats(0, 3)), {"axis": 1, "size": 4}),
    ],
    doc="`IRFFT`, of a size with primes up to 31, of real and imaginary parts, or of complex numbers; no gradient",
)
