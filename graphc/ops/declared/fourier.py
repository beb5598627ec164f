"""The discrete Fourier transform. Real and one-sided transforms are composed of it: `graphc.ops.functional.fourier`."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import REQUIRED, Sample, TensorType, op
from graphc.ir.op import Attrs, Types
from graphc.ir.types import COMPLEX
from graphc.ops.declared.complex import complexes
from graphc.ops.declared.rules import Array, check_dtype, normalize_axes

NORMS = ("backward", "forward", "ortho")


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    check_dtype("FFT", "x", x, COMPLEX)
    if normalize_axes("FFT", attrs["axes"], x.rank) != tuple(sorted(attrs["axes"])):
        raise ArgumentValueError(f"FFT: axes {attrs['axes']} must be non-negative")
    if any(x.shape[a] == 0 for a in attrs["axes"]):
        raise ShapeError(f"FFT: {x} has nothing along axes {attrs['axes']}")
    if attrs["norm"] not in NORMS:
        raise ArgumentValueError(f"FFT: norm must be one of {', '.join(NORMS)}, got {attrs['norm']!r}")
    return (x,)


def _ref(x: Array, axes: tuple[int, ...], inverse: bool, norm: Any) -> Array:
    if not axes:
        return x
    return np.asarray((np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes, norm=norm))


op(
    "FFT",
    "x",
    attrs={"axes": REQUIRED, "inverse": False, "norm": "backward"},
    infer=_infer,
    ref=_ref,
    # The matrix is symmetric; its conjugate comes from how gradients of complex results are taken.
    grad=lambda g, n, dy: [g.FFT(dy, axes=n.axes, inverse=n.inverse, norm=n.norm)],
    samples=lambda: [
        Sample((complexes(3, 5),), {"axes": (1,)}, grad=(0,)),
        Sample((complexes(4, 6),), {"axes": (0, 1), "inverse": True}, grad=(0,)),
        Sample((complexes(2, 7, 1),), {"axes": (1, 2), "norm": "ortho"}, grad=(0,)),
        Sample((complexes(2, 4),), {"axes": (0,), "inverse": True, "norm": "forward"}, grad=(0,)),
        Sample((complexes(0, 4),), {"axes": (1,)}),
    ],
    doc="the discrete Fourier transform over axes, by NumPy; `norm` says which direction is divided by the number of terms,"
    " or both by its root; eager calls only",
)
