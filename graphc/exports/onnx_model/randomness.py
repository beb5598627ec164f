"""Rules of random numbers: the same bits as graphc's, computed modulo 2^64 in int64. See graphc.ops.declared.random."""

from __future__ import annotations

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ops.declared.random import (
    _GOLDEN,
    _ROUND,
    _SPLITMIX,
    NORMAL,
    NORMAL_MIDDLE,
    NORMAL_SHIFT,
    _signed,
)

_LOW = 0xFFFFFFFF


def _shifted(w: Writer, x: str, bits: int) -> str:
    """int64, zeros shifted in."""
    moved = w("BitShift", w.cast(x, "uint64"), w.number(bits, "uint64"), direction="RIGHT")
    return w.cast(moved, "int64")


def _mixed(w: Writer, x: str, rounds: tuple[tuple[int, int], ...], bits: int) -> str:
    for shift, factor in rounds:
        x = w("BitwiseXor", x, _shifted(w, x, shift))
        if factor != 1:
            x = _kept(w, w("Mul", x, w.number(_signed(factor, 64), "int64")), bits)
    return x


def _kept(w: Writer, x: str, bits: int) -> str:
    """The number modulo 2^bits."""
    return x if bits == 64 else w("BitwiseAnd", x, w.number(_LOW, "int64"))


@rule("RandomKey")
def _key(w: Writer, n: View, state: str) -> str:
    return _mixed(w, w("Add", state, w.number(_signed(_GOLDEN, 64), "int64")), _SPLITMIX, 64)


def _unit(w: Writer, n: View, key: str) -> str:
    shape = n["shape"]
    places = w.array(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))
    x = _kept(w, w("Add", places, w("BitwiseAnd", key, w.number(_LOW, "int64"))), 32)
    x = _mixed(w, x, _ROUND, 32)
    x = _mixed(w, w("BitwiseXor", x, _shifted(w, key, 32)), _ROUND, 32)
    return w("Mul", w.cast(_shifted(w, x, 8), "float32"), w.number(2.0**-24, "float32"))


@rule("RandomUniform")
def _uniform(w: Writer, n: View, key: str) -> str:
    return _unit(w, n, key)


@rule("RandomNormal")
def _normal(w: Writer, n: View, key: str) -> str:
    def number(x: float) -> str:
        return w.number(x, "float32")

    u = _unit(w, n, key)
    x = w("Add", w("Sub", w("Add", u, u), number(1.0)), number(2.0**-24))
    left = w("Mul", w("Sub", number(1.0), x), w("Add", number(1.0), x))
    t = w("Sub", w("Sqrt", w("Sub", number(NORMAL_SHIFT), w("Log", left))), number(NORMAL_MIDDLE))
    ratio = number(NORMAL[0])
    for c in NORMAL[1:]:
        ratio = w("Add", w("Mul", ratio, t), number(c))
    return w("Mul", ratio, x)
