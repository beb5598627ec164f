"""Fourier transforms of complex values as transforms of pairs, along one axis after the other.

Where a number of elements has a large prime the transform is a convolution with a chirp (Bluestein, "A linear filtering approach
to the computation of discrete Fourier transform", 1970), which longer transforms make, of numbers with small primes.
"""

from __future__ import annotations

import numpy as np

from graphc.ir import Builder, Node, TensorType, Value
from graphc.ops.declared.fourier_parts import has_full, scale_of
from graphc.ops.declared.fourier_plan import convolved, divided, is_smooth, matrix
from graphc.passes.complex_parts.arithmetic import times
from graphc.passes.complex_parts.parts import Parts, imaginary, zeros


def transform(g: Builder, node: Node, x: Parts) -> Parts:
    """FFT"""
    inverse, norm = node.attrs["inverse"], node.attrs["norm"]
    for axis in reversed(node.attrs["axes"]):
        if x.im is None and not inverse and has_full(g.type(x.re).shape, axis):
            x = Parts(*g.RealFourierParts(x.re, axis=axis, norm=norm, full=True))
        else:
            x = _along(g, x, axis, inverse, norm)
    return x


def _has_real_kernel(g: Builder, x: Value, axis: int, size: int) -> bool:
    """Whether a kernel makes real transforms of a size, and rather than that for complex ones, which divides few long rows."""
    type = g.type(x)
    rows = type.size // max(type.shape[axis], 1)
    if not is_smooth(size) or axis != type.rank - 1:
        return is_smooth(size)
    return divided(size, rows) is None or (size % 2 == 0 and matrix(size // 2, rows) is not None)


def of_real(g: Builder, node: Node, x: Parts) -> Parts:
    """RFFT"""
    axis, norm = node.attrs["axis"], node.attrs["norm"]
    size = g.type(x.re).shape[axis]
    if _has_real_kernel(g, x.re, axis, size):
        return Parts(*g.RealFourierParts(x.re, axis=axis, norm=norm))
    made = _along(g, x, axis, False, norm)
    return Parts(*(cut(g, part, axis, 0, size // 2 + 1) for part in (made.re, imaginary(g, made))))


def to_real(g: Builder, node: Node, x: Parts) -> Parts:
    """IRFFT"""
    axis, size, norm = (node.attrs[k] for k in ("axis", "size", "norm"))
    re, im = x.re, imaginary(g, x)
    if _has_real_kernel(g, re, axis, size):
        return Parts(g.HalfFourierParts(re, im, axis=axis, size=size, norm=norm))
    # Twice the half is a whole of which the real parts of the transform are the same, but for what has no pair.
    shape = [-1 if a == axis else 1 for a in range(g.type(re).rank)]
    weights = np.full(size // 2 + 1, 2, g.type(re).dtype)
    weights[0] = 1
    weights[-1] = 1 if size % 2 == 0 else 2
    by = g.matrix(weights.reshape(shape))
    whole = Parts(*(filled(g, g.Mul(part, by), axis, size) for part in (re, im)))
    return Parts(_along(g, whole, axis, True, norm).re)


def parts(g: Builder, node: Node, *x: Parts) -> Parts:
    """A transform of complex numbers by that of their parts."""
    given = [each.re for each in x]
    if g.type(node.inputs[0]).is_complex:
        given.append(imaginary(g, x[0]))
    attrs = {**node.attrs, "whole": False} if "whole" in node.attrs else node.attrs
    return Parts(*g.node(node.op.name, *given, attrs=attrs).outputs)


def _along(g: Builder, x: Parts, axis: int, inverse: bool, norm: str) -> Parts:
    size = g.type(x.re).shape[axis]
    if is_smooth(size):
        return Parts(*g.FourierParts(x.re, imaginary(g, x), axis=axis, inverse=inverse, norm=norm))
    return _bluestein(g, x, axis, inverse, norm)


def _bluestein(g: Builder, x: Parts, axis: int, inverse: bool, norm: str) -> Parts:
    """j k = (j^2 + k^2 - (k - j)^2) / 2: y[k] = c[k] times the sum of (x[j] c[j]) / c[k - j], with c[j] = e^(-+ pi i j^2 / n)."""
    type = g.type(x.re)
    size = type.shape[axis]
    longer = convolved(2 * size - 1)
    places = np.arange(size)
    angles = np.pi * (places * places % (2 * size)) / size * (1 if inverse else -1)
    chirp = np.exp(1j * angles)
    answer = np.zeros(longer, complex)
    answer[:size] = np.conj(chirp)
    answer[longer - size + 1 :] = np.conj(chirp[:0:-1])
    response = np.fft.fft(answer) / longer

    def constant(values: np.ndarray) -> Parts:
        shape = [-1 if a == axis else 1 for a in range(type.rank)]
        return Parts(*(g.matrix(part.reshape(shape).astype(type.dtype)) for part in (values.real, values.imag)))

    made = times(g, x, constant(chirp))
    made = Parts(*(filled(g, part, axis, longer) for part in (made.re, imaginary(g, made))))
    made = Parts(*g.FourierParts(made.re, made.im, axis=axis))
    made = times(g, made, constant(response))
    made = Parts(*g.FourierParts(made.re, made.im, axis=axis, inverse=True, norm="forward"))
    made = Parts(*(cut(g, part, axis, 0, size) for part in (made.re, imaginary(g, made))))
    return times(g, made, constant(chirp * scale_of(size, norm, inverse)))


def cut(g: Builder, x: Value, axis: int, start: int, stop: int) -> Value:
    """Elements start to stop along an axis."""
    shape = g.type(x).shape
    begin = tuple(start if a == axis else 0 for a in range(len(shape)))
    size = tuple(stop - start if a == axis else n for a, n in enumerate(shape))
    made: Value = g.Slice(x, begin=begin, size=size, step=(1,) * len(shape))
    return made


def filled(g: Builder, x: Value, axis: int, size: int) -> Value:
    """x with zeros behind it up to so many elements along an axis."""
    type = g.type(x)
    shape = (*type.shape[:axis], size - type.shape[axis], *type.shape[axis + 1 :])
    made: Value = g.Concat(x, zeros(g, TensorType(type.dtype, shape)), axis=axis)
    return made
