"""The discrete Fourier transform, of real numbers, and back to them. What has other names is composed of these.

By NumPy in eager calls; in compiled steps by the ops of `graphc.ops.declared.fourier_parts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.op import Attrs, Types
from graphc.ir.types import COMPLEX
from graphc.ops.declared import padding
from graphc.ops.declared.batching import Mapped, along
from graphc.ops.declared.complex import WHOLE, complexes
from graphc.ops.declared.rules import Array, check_dtype, floats, normalize_axes, require_axis

NORMS = ("backward", "forward", "ortho")
#: Which direction is scaled, for a transform that computes the other direction.
OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(name: str, attrs: Attrs) -> None:
    if attrs["norm"] not in NORMS:
        raise ArgumentValueError(f"{name}: norm must be one of {', '.join(NORMS)}, got {attrs['norm']!r}")


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    check_dtype("FFT", "x", x, COMPLEX)
    if normalize_axes("FFT", attrs["axes"], x.rank) != tuple(sorted(attrs["axes"])):
        raise ArgumentValueError(f"FFT: axes {attrs['axes']} must be non-negative")
    if any(x.shape[a] == 0 for a in attrs["axes"]):
        raise ShapeError(f"FFT: {x} has nothing along axes {attrs['axes']}")
    _norm("FFT", attrs)
    return (x,)


def _ref(x: Array, axes: tuple[int, ...], inverse: bool, norm: Any) -> Array:
    if not axes:
        return x
    return np.asarray((np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes, norm=norm))


def _batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    return m.again(*m.fronts(), axes=tuple(a + 1 for a in m.node.attrs["axes"]))


op(
    "FFT",
    "x",
    attrs={"axes": REQUIRED, "inverse": False, "norm": "backward"},
    infer=_infer,
    ref=_ref,
    # The matrix is symmetric; its conjugate comes from how gradients of complex results are taken.
    grad=lambda g, n, dy: [g.FFT(dy, axes=n.axes, inverse=n.inverse, norm=n.norm)],
    batch=_batch,
    pad=padding.along("axes"),
    samples=lambda: [
        Sample((complexes(3, 5),), {"axes": (1,)}, grad=(0,)),
        Sample((complexes(4, 6),), {"axes": (0, 1), "inverse": True}, grad=(0,)),
        Sample((complexes(2, 7, 1),), {"axes": (1, 2), "norm": "ortho"}, grad=(0,)),
        Sample((complexes(2, 4),), {"axes": (0,), "inverse": True, "norm": "forward"}, grad=(0,)),
        Sample((complexes(0, 4),), {"axes": (1,)}),
    ],
    doc="the discrete Fourier transform over axes; `norm` says which direction is divided by the number of terms, or both by its"
    " root",
)


# ---- of real numbers, of which half of the transform tells the other half


def _resized(x: TensorType, dtype: str, axis: int, size: int) -> TensorType:
    return TensorType(dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :]))


def _counted(g: Builder, x: Value, axis: int, size: int, weight: float) -> Value:
    """The half of a transform of `size` numbers times a weight wherever its other half has the conjugate."""
    type = g.type(x)
    weights = np.full(size // 2 + 1, weight, type.part)
    weights[0] = 1
    if size % 2 == 0:
        weights[-1] = 1
    shape = [-1 if a == axis else 1 for a in range(type.rank)]
    made: Value = g.Mul(x, g.Cast(g.matrix(weights.reshape(shape)), dtype=type.dtype))
    return made


def _rfft_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,), axis = types, attrs["axis"]
    check_dtype("RFFT", "x", x, tuple(WHOLE))
    require_axis("RFFT", x, axis)
    if not x.shape[axis]:
        raise ShapeError(f"RFFT: {x} has nothing along axis {axis}")
    _norm("RFFT", attrs)
    return (_resized(x, WHOLE[x.dtype], axis, x.shape[axis] // 2 + 1),)


def _rfft_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """The real part of the sum over the half alone, which is that over all where each has half the weight of its pair."""
    size = n.type(n.x).shape[n.axis]
    halved = _counted(g, dy, n.axis, size, 0.5)
    return [g.IRFFT(g.Conj(halved), axis=n.axis, size=size, norm=OPPOSITE[n.norm])]


op(
    "RFFT",
    "x",
    attrs={"axis": REQUIRED, "norm": "backward"},
    infer=_rfft_types,
    ref=lambda x, axis, norm: np.fft.rfft(x, axis=axis, norm=norm),
    grad=_rfft_grad,
    batch=along("axis"),
    pad=padding.along("axis"),
    samples=lambda: [
        Sample((floats(3, 5),), {"axis": 1}, grad=(0,)),
        Sample((floats(4, 6),), {"axis": 0, "norm": "ortho"}, grad=(0,)),
        Sample((floats(2, 1, 8),), {"axis": 2, "norm": "forward"}, grad=(0,)),
        Sample((floats(1),), {"axis": 0}, grad=(0,)),
        Sample((floats(0, 4),), {"axis": 1}),
    ],
    doc="the first half of the Fourier transform of real numbers along an axis, n // 2 + 1 of n",
)


def _irfft_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,), axis, size = types, attrs["axis"], attrs["size"]
    check_dtype("IRFFT", "x", x, COMPLEX)
    require_axis("IRFFT", x, axis)
    if size < 1 or x.shape[axis] != size // 2 + 1:
        raise ShapeError(f"IRFFT: {x} is not the half of {size} numbers along axis {axis}")
    _norm("IRFFT", attrs)
    return (_resized(x, x.part, axis, size),)


def _irfft_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    made = g.RFFT(dy, axis=n.axis, norm=OPPOSITE[n.norm])
    return [_counted(g, made, n.axis, n.size, 2.0)]


op(
    "IRFFT",
    "x",
    attrs={"axis": REQUIRED, "size": REQUIRED, "norm": "backward"},
    infer=_irfft_types,
    ref=lambda x, axis, size, norm: np.fft.irfft(x, size, axis, norm),
    grad=_irfft_grad,
    batch=along("axis"),
    pad=padding.along("axis"),
    samples=lambda: [
        Sample((complexes(3, 3),), {"axis": 1, "size": 5}, grad=(0,)),
        Sample((complexes(4, 6),), {"axis": 0, "size": 6, "norm": "ortho"}, grad=(0,)),
        Sample((complexes(2, 1, 3),), {"axis": 2, "size": 4, "norm": "forward"}, grad=(0,)),
        Sample((complexes(1),), {"axis": 0, "size": 1}, grad=(0,)),
        Sample((complexes(0, 3),), {"axis": 1, "size": 4}),
    ],
    doc="the inverse of `RFFT`: `size` real numbers from their half; what must be real of it counts as that",
)
