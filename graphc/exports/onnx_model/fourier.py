"""Rules of Fourier transforms of parts: ONNX's DFT has both parts in one tensor, as a last axis of two."""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ir import TensorType
from graphc.ops.declared.fourier_parts import scale_of


@rule("FourierParts")
def _pair(w: Writer, n: View, *parts: str) -> tuple[str, ...]:
    _check(n)
    return _transformed(w, n, n.types[0], parts, n["inverse"])


@rule("RealFourierParts")
def _real(w: Writer, n: View, x: str) -> tuple[str, ...]:
    _check(n)
    axis, kept = n["axis"], n.type.shape[n["axis"]]
    if not n.type.size:
        return _transformed(w, n, n.type, (x,), False)
    return tuple(w.part(part, axis, 0, kept) for part in _transformed(w, n, n.types[0], (x,), False))


@rule("HalfFourierParts")
def _half(w: Writer, n: View, re: str, *im: str) -> str:
    """The other half has the conjugates backwards. What has no pair has no imaginary part, which the real result leaves out."""
    _check(n)
    axis, size = n["axis"], n["size"]
    half = n.types[0].shape[axis]
    parts = (re, *im)
    if n.type.size and size > half:
        signed = zip(parts, (False, True), strict=True)
        parts = tuple(_whole(w, part, axis, size - half, negative) for part, negative in signed)
    return _transformed(w, n, n.type, parts, True)[0]


def _whole(w: Writer, part: str, axis: int, count: int, negative: bool) -> str:
    """With elements `count` to 1 behind it."""
    back = w("Slice", part, w.ints(count), w.ints(0), w.ints(axis), w.ints(-1))
    return w("Concat", part, w("Neg", back) if negative else back, axis=axis)


def _check(n: View) -> None:
    if n.types[0].is_complex or n.type.is_complex:
        raise n.refuse("there are no complex numbers")


def _transformed(w: Writer, n: View, type: TensorType, parts: tuple[str, ...], inverse: bool) -> tuple[str, ...]:
    """Both parts of the transform of a tensor of this type, of which one or both parts are given.

    The inverse is the transform with the parts exchanged, before and after: onnxruntime's divides by a float32.
    """
    if not type.size:
        return w.filled(0, type), w.filled(0, type)
    axis, size = n["axis"], type.shape[n["axis"]]
    z = w("Concat", *(w("Unsqueeze", part, w.ints(-1)) for part in (parts[::-1] if inverse else parts)), axis=-1)
    # DFT wants an axis in front of the first that it goes along.
    z = w("Unsqueeze", z, w.ints(0))
    z = w("DFT", z, "", w.array(np.array(axis + 1, np.int64)))
    scale = scale_of(size, n["norm"], inverse)
    z = z if scale == 1 else w("Mul", z, w.number(scale, type.dtype))
    return tuple(w.reshape(w.part(z, type.rank + 1, k, k + 1), type.shape) for k in ((1, 0) if inverse else (0, 1)))
