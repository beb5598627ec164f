"""Pairs of channels of bfloat16, as direct convolutions multiply them: see `CONV2D`.

A pair has the bits of one float, the number of the even channel in the lower half, so that images of pairs lie in memory as those
of floats do. The channel behind an odd number of them is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import load_pieces
from graphc_codegen.kernels.vectors import deinterleave
from graphc_codegen.kernels.winograd.plan import runs
from graphc_codegen.writer import Writer


class _Sizes(NamedTuple):
    """n images of c channels, of h x w pixels; of each phase there are ph x pw, after `top` rows and `left` columns of zeros."""

    n: int
    c: int
    h: int
    w: int
    top: int
    left: int
    ph: int
    pw: int
    stride: tuple[int, int]
    phases: tuple[int, int]

    @classmethod
    def of(cls, p: Params) -> Self:
        return cls(*(p[name] for name in cls._fields))

    @property
    def pairs(self) -> int:
        return -(-self.c // 2)

    @property
    def planes(self) -> int:
        """Elements of the phases of a pair."""
        return self.phases[0] * self.phases[1] * self.ph * self.pw


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, c, h, w], numbers of bfloat16 -> pairs [n, c / 2, phases, phases, ph, pw].

    Row r and column s of the phase (i, j) hold pixel (stride r + i - top, stride s + j - left) of a pair of channels, or zeros.
    Only the first `phases` of a stride are made. The stride of columns is 1 or 2.
    """
    z = _Sizes.of(p)
    return Operand("float32", z.n * z.c * z.h * z.w, "in"), Operand("float32", z.n * z.pairs * z.planes, "out")


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Pair after pair, row after row."""
    z, (x, pairs) = _Sizes.of(p), pointers

    def pair(number: str | int) -> None:
        n, k = (number, 0) if z.pairs == 1 else w.divided(number, z.pairs)
        plane, target = w.linear((n, z.c * z.h * z.w), (k, 2 * z.h * z.w)), w.mul(number, z.planes)

        def channels(count: int) -> None:
            for i in range(z.phases[0]):
                for j in range(z.phases[1]):
                    first = w.add(target, (i * z.phases[1] + j) * z.ph * z.pw)
                    w.repeat(z.ph, partial(_row, w, z, count, (w.at(x, plane), w.at(pairs, first)), (i, j)))

        if z.c % 2 and z.pairs > 1:
            last = w.op(f"icmp eq i64 {k}, {z.pairs - 1}")
            w.when(last, lambda: channels(1))
            w.when(w.op(f"xor i1 {last}, true"), lambda: channels(2))
        else:
            channels(2 - z.c % 2)

    w.share(z.n * z.pairs, pair)


def _row(w: Writer, z: _Sizes, count: int, at: tuple[str, str], phase: tuple[int, int], r: str | int) -> None:
    """A row of a phase; it may lie above the image or below it."""
    (x, pairs), (sh, sw) = at, z.stride
    target = w.at(pairs, w.mul(r, z.pw))
    y = w.linear((r, sh), (phase[0] - z.top, 1))
    begin = phase[1] - z.left
    low, high = -(begin // sw), -((begin - z.w) // sw)

    def vector(k: str | int, *, start: int, lane: int, inside: int, width: int, filled: bool) -> None:
        column = w.linear((k, w.lanes), (start, 1))
        value = "zeroinitializer"
        if filled and inside:
            source = w.at(x, w.linear((y, z.w), (column, sw), (begin, 1)), inside=False)
            value = _word(
                w, [_pixels(w, w.at(source, c * z.h * z.w, inside=False), sw, lane, inside) for c in range(count)]
            )
        w.vstore(value, w.at(target, column), width)

    def row(filled: bool) -> None:
        for start, number, lane, inside, width in runs(z.pw, w.lanes, low, high):
            w.repeat(number, partial(vector, start=start, lane=lane, inside=inside, width=width, filled=filled))

    if isinstance(y, int):
        row(0 <= y < z.h)
    elif phase[0] - z.top >= 0 and sh * (z.ph - 1) + phase[0] - z.top < z.h:
        row(True)
    else:
        within = w.op(f"icmp ult i64 {y}, {z.h}")
        w.when(within, lambda: row(True))
        w.when(w.op(f"xor i1 {within}, true"), lambda: row(False))


def _pixels(w: Writer, row: str, step: int, lane: int, count: int) -> str:
    """A vector of pixels a step apart, of which `count` from a lane on are in the image; memory of others is not touched."""
    if step == 1:
        return load_pieces(w, row, ((lane, lane, count),))
    halves = []
    for begin in (0, w.lanes):
        first, end = max(0, 2 * lane - begin), min(w.lanes, 2 * (lane + count) - 1 - begin)
        pieces = ((begin + first, first, end - first),)
        halves.append(load_pieces(w, row, pieces) if end > first else "zeroinitializer")
    return deinterleave(w, halves[0], halves[1], 0)


def _word(w: Writer, channels: Sequence[str]) -> str:
    """The upper halves of one or two vectors side by side."""
    bits = [w.convert("bitcast", x, "float", "i32") for x in channels]
    word = w.binary("lshr", bits[0], w.constant(16, "i32"), "i32")
    if len(bits) > 1:
        word = w.binary("or", word, w.binary("and", bits[1], w.constant(-1 << 16, "i32"), "i32"), "i32")
    return w.convert("bitcast", word, "i32", "float")


def twin(p: Params, x: Array, pairs: Array) -> None:
    z = _Sizes.of(p)
    (sh, sw), (rows, columns) = z.stride, z.phases
    whole = np.zeros((z.n, 2 * z.pairs, z.ph * sh, z.pw * sw), np.uint32)
    bits = x.reshape(z.n, z.c, z.h, z.w).view(np.uint32) >> 16
    (to_rows, rows_of), (to_columns, columns_of) = (
        (slice(max(0, before), max(0, before) + len(range(size)[seen])), seen)
        for before, size, room in ((z.top, z.h, z.ph * sh), (z.left, z.w, z.pw * sw))
        for seen in (slice(max(0, -before), max(0, room - before)),)
    )
    whole[:, : z.c, to_rows, to_columns] = bits[:, :, rows_of, columns_of]
    words = whole[:, ::2] | whole[:, 1::2] << 16
    split = words.reshape(z.n, z.pairs, z.ph, sh, z.pw, sw).transpose(0, 1, 3, 5, 2, 4)[:, :, :rows, :columns]
    pairs[:] = np.ascontiguousarray(split).reshape(-1).view(np.float32)


def unpaired(pairs: Array, planes: int) -> Array:
    """The numbers of so many planes of pairs: twice as many planes."""
    bits = pairs.reshape(planes, -1).view(np.uint32)
    return np.stack((bits << 16, bits & 0xFFFF0000), 1).view(np.float32).reshape(-1)


PAIR_CHANNELS = Emitter(operands, emit, twin)
