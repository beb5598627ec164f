"""Pieces that functions of vectors are made of, whatever the dtype."""

from __future__ import annotations

from collections.abc import Sequence

from graphc_codegen.writer import MANGLED, Writer, vec


def polynomial(w: Writer, x: str, coefficients: Sequence[float], type: str = "float") -> str:
    """Horner's rule, highest power first."""
    y = w.constant(coefficients[0], type)
    for c in coefficients[1:]:
        y = w.fma(y, x, w.constant(c, type), type)
    return y


def with_sign(w: Writer, magnitude: str, sign: str, type: str = "float") -> str:
    """`magnitude` with the sign of `sign`."""
    v = vec(type, w.lanes)
    return w.call(f"llvm.copysign.v{w.lanes}{MANGLED[type]}", v, [(v, magnitude), (v, sign)])
