"""Fourier transforms along an axis that may lie anywhere in memory.

As many transforms as a vector has lanes are made at once: numbers that follow each other in memory are turned into lanes before,
and back afterwards, where the axis is the contiguous one. Two transforms of real numbers are one of complex numbers whose real
parts are the one and whose imaginary parts are the other: the symmetry of both tells the results apart, also backwards (Press et
al., "Numerical recipes", 12.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Operand, Params
from graphc_codegen.kernels.fourier.butterflies import Number, times
from graphc_codegen.kernels.fourier.kinds import emitters
from graphc_codegen.kernels.fourier.lines import Lines
from graphc_codegen.kernels.fourier.stages import Block, Place, last_block, transform
from graphc_codegen.writer import Writer

#: Bytes of the widest vector.
_WIDEST = 64


def half(size: int) -> int:
    """How many numbers tell all of the transform of real ones."""
    return size // 2 + 1


def _lanes(p: Params) -> int:
    return _WIDEST // (8 if p["dtype"] == "float64" else 4)


def _scratch(p: Params) -> int:
    """Elements of scratch memory of a part: two blocks of numbers."""
    size: int = p["size"]
    return 4 * _lanes(p) * (size + 2)


def _reach(p: Params, walk: Sequence[int], size: int) -> int:
    """Numbers up to the last one that is walked."""
    sizes: tuple[int, int, int] = (p["outer"], size, p["count"])
    return 1 + sum((n - 1) * step for n, step in zip(sizes, walk, strict=True))


def _side(p: Params, side: str, real: str) -> tuple[int, int, int]:
    """Of x ("source") or y: operands, floats of each at a place, and places along the axis. `real`: the kind for which it is."""
    size = p["size"] if p["kind"] in ("pair", real) else half(p["size"])
    if p["kind"] == real:
        return 1, 1, size
    return (1, 2, size) if side in p["whole"] else (2, 1, size)


def _sides(p: Params) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return _side(p, "source", "real"), _side(p, "target", "half")


def operands(p: Params) -> tuple[Operand, ...]:
    """x, turns [2 size], with `twisted` two tables [size, count] -> scratch, y. All of `dtype`, float32 or float64.

    Complex x or y are two operands, real and imaginary parts, or one where `whole` names "source" or "target": of pairs. Kinds
    "pair": both are complex; "real": y is; "half": x is. x and y are walked, in numbers, as `source` and `target` say, which
    have the steps between groups, along the axis, and between the transforms of a group: `outer` groups of `count` transforms
    of `size` numbers, of which the complex side of the real kinds has half and one. At most `parts` threads share them.
    """
    dtype, size = p["dtype"], p["size"]
    x, y = _sides(p)
    tables = [2 * size, *([size * p["count"]] * 2 if p["twisted"] else [])]
    return (
        *[Operand(dtype, x[1] * _reach(p, p["source"], x[2]), "in")] * x[0],
        *[Operand(dtype, n, "in") for n in tables],
        Operand(dtype, p["parts"] * _scratch(p), "out"),
        *[Operand(dtype, y[1] * _reach(p, p["target"], y[2]), "out")] * y[0],
    )


class _Group(NamedTuple):
    """Transforms that are made at once: operands where they begin, those of the second ones of pairs of real ones behind.

    active: the lanes that are used. first: the number of the first transform of its group.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    active: int
    first: Place


class _Memory(NamedTuple):
    blocks: tuple[Block, Block]
    turns: str
    twist: tuple[str, ...]


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Kind "pair": y[k] = scale times the sum of x[j] e^(-2 pi i j k / size), with `inverse` e^(2 pi i ...), with `twisted` times
    the tables' cos - i sin, or its conjugate. Kind "real": the first half of that for real x. Kind "half": of such a half x, y[j]
    = scale times the sum over all k of x[k] e^(2 pi i j k / size), where imaginary parts of what must be real do not count.
    """
    kind = p["kind"]
    taken, tables = _sides(p)[0][0], 3 if p["twisted"] else 1
    xs, ts = pointers[:taken], pointers[taken : taken + tables]
    scratch, *ys = pointers[taken + tables :]
    with w.elements(REGISTER[p["dtype"]]):
        wide = w.lanes if kind == "pair" else 2 * w.lanes
        several = -(-p["count"] // wide)

        # A thread has the scratch memory of its first part for all of them: that stays in its cache.
        own = w.shared_range(p["parts"])[0] if w.divides else 0
        memory = _memory(w, p, w.at(scratch, w.mul(own, _scratch(p))), ts)

        def part(n: Place) -> None:
            def one(u: Place) -> None:
                o, g = w.divided(u, several) if several > 1 else (u, 0)
                run = {"pair": _pair, "real": _real, "half": _half}[kind]
                run(w, p, memory, _group(w, p, (xs, ys), o, g))

            w.part(n, p["parts"], p["outer"] * several, one)

        w.share(p["parts"], part)


def _memory(w: Writer, p: Params, start: str, tables: Sequence[str]) -> _Memory:
    other = w.at(start, 2 * w.lanes * (p["size"] + 2))
    return _Memory((Block(start), Block(other)), tables[0], tuple(tables[1:]))


def _group(w: Writer, p: Params, operands: tuple[Sequence[str], Sequence[str]], o: Place, g: Place) -> _Group:
    """Group `g` of vectors of group `o`. The last one may do again what the one before has done: the same numbers."""
    count, together = p["count"], 1 if p["kind"] == "pair" else 2
    wide = together * w.lanes
    active = w.lanes if count >= wide else -(-count // together)
    first = w.smaller(w.mul(g, wide), count - wide) if count > wide else 0
    starts = [w.add(first, 0 if k == 0 else min(active, count - active)) for k in range(together)]
    sides = []
    for pointers, walk, side in zip(operands, (p["source"], p["target"]), _sides(p), strict=True):
        places = [w.mul(w.linear((o, walk[0]), (start, walk[2])), side[1]) for start in starts]
        sides.append(tuple(w.at(x, place) for place in places for x in pointers))
    return _Group(sides[0], sides[1], active, first)


# ---- the kinds


def _ends(p: Params, memory: _Memory) -> tuple[Block, Block]:
    """The blocks that what is transformed may be in, and what is made of it."""
    return memory.blocks[1], last_block(p["radices"], memory.blocks)


def _pair(w: Writer, p: Params, memory: _Memory, group: _Group) -> None:
    first, last = _ends(p, memory)
    source, target = _between(w, p, group, (first, last))

    def load(place: Place, further: int) -> Number:
        re, im = source.vectors(place, further)
        return (im, re) if p["inverse"] else (re, im)

    def store(place: Place, further: int, x: Number) -> None:
        if memory.twist:
            row = w.linear((place, p["count"]), (group.first, 1))
            tables = [w.at(w.at(table, row), further * p["count"]) for table in memory.twist]
            re, im = (w.vload(table, group.active) for table in tables)
            x = times(w, x, (re, im))
        target.put(place, [_scaled(w, v, p["scale"]) for v in (x[::-1] if p["inverse"] else x)], further)

    transform(w, p["radices"], memory.turns, load, store, memory.blocks)
    target.finish()


def _between(w: Writer, p: Params, group: _Group, blocks: tuple[Block, Block]) -> tuple[Lines, Lines]:
    """What is read, brought into the first block where that must be turned, and what is written, by way of the other one."""
    (_, width, size), (_, wide, length) = _sides(p)
    source = Lines(w, p["source"], group.x, width, size, group.active, blocks[0].pointer)
    source.fetch()
    return source, Lines(w, p["target"], group.y, wide, length, group.active, blocks[1].pointer)


def _scaled(w: Writer, x: str, scale: float) -> str:
    return x if scale == 1 else w.binary("fmul", x, w.constant(scale))


def _real(w: Writer, p: Params, memory: _Memory, group: _Group) -> None:
    """Z of one transform + i times the other; these are (Z[k] + Z[-k]*) / 2 and (Z[k] - Z[-k]*) / 2i."""
    size = p["size"]
    first, last = _ends(p, memory)
    spare = memory.blocks[0] if last is memory.blocks[1] else memory.blocks[1]
    source, target = _between(w, p, group, (first, spare))

    def load(place: Place, further: int) -> Number:
        one, other = source.vectors(place, further)
        return one, other

    transform(w, p["radices"], memory.turns, load, partial(last.store, w), memory.blocks)

    def apart(k: Place, mirrored: Place) -> None:
        (a, b), (c, d) = last.load(w, k, 0), last.load(w, mirrored, 0)
        made = (("fadd", a, c), ("fsub", b, d), ("fadd", b, d), ("fsub", c, a))
        target.put(k, [_scaled(w, w.binary(*each), p["scale"] / 2) for each in made])

    apart(0, 0)
    if size > 1:
        w.loop(half(size), lambda k, _: apart(k, w.subtracted(size, k)), start=1)
    target.finish()


def _half(w: Writer, p: Params, memory: _Memory, group: _Group) -> None:
    """Z = A + i B, and Z[-k] = A* + i B*. Turned back by the transform forwards, real and imaginary parts exchanged."""
    size = p["size"]
    first, last = _ends(p, memory)
    rows = memory.blocks[0]
    source, target = _between(w, p, group, (rows, last))

    def together(k: Place, mirrored: Place | None) -> None:
        a, b, c, d = source.vectors(k)
        if mirrored is None:  # a and c alone are real.
            first.store(w, k, 0, (c, a))
            return
        first.store(w, k, 0, (w.binary("fadd", b, c), w.binary("fsub", a, d)))
        first.store(w, mirrored, 0, (w.binary("fsub", c, b), w.binary("fadd", a, d)))

    together(0, None)
    if size > 2:
        w.loop((size + 1) // 2, lambda k, _: together(k, w.subtracted(size, k)), start=1)
    if size % 2 == 0:
        together(size // 2, None)

    def store(place: Place, further: int, x: Number) -> None:
        target.put(place, [_scaled(w, v, p["scale"]) for v in (x[1], x[0])], further)

    transform(w, p["radices"], memory.turns, partial(first.load, w), store, memory.blocks)
    target.finish()


def twin(p: Params, *arrays: Array) -> None:
    kind, size = p["kind"], p["size"]
    (taken, width, read), (_, wide, written) = _sides(p)
    tables = 3 if p["twisted"] else 1
    arrays[taken + tables][:] = 0

    def walked(x: Array, walk: Sequence[int], count: int, width: int) -> Array:
        """[outer, count, along, width]"""
        strides = (*(x.itemsize * width * walk[k] for k in (0, 2, 1)), x.itemsize)
        return np.lib.stride_tricks.as_strided(x, (p["outer"], p["count"], count, width), strides)

    xs = np.concatenate([walked(x, p["source"], read, width) for x in arrays[:taken]], -1)
    ys = [walked(y, p["target"], written, wide) for y in arrays[taken + tables + 1 :]]
    if kind == "half":
        ys[0][..., 0] = np.fft.irfft(xs[..., 0] + 1j * xs[..., 1], size, norm="forward") * p["scale"]
        return
    if kind == "real":
        z = np.fft.rfft(xs[..., 0])
    else:
        z = (np.fft.ifft if p["inverse"] else np.fft.fft)(
            xs[..., 0] + 1j * xs[..., 1], norm="forward" if p["inverse"] else None
        )
    if p["twisted"]:
        c, s = (t.reshape(size, -1).T for t in arrays[taken + 1 : taken + 3])
        z = z * (c - 1j * s if p["inverse"] else c + 1j * s)
    parts = np.stack([z.real, z.imag], -1) * p["scale"]
    for k, y in enumerate(ys):
        y[:] = parts if wide == 2 else parts[..., k : k + 1]


FOURIER, FOURIER_REAL, FOURIER_HALF = emitters(operands, emit, twin)
