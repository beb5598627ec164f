"""Fourier transforms along an axis that may lie anywhere in memory.

As many transforms as a vector has lanes are made at once: numbers that follow each other in memory are turned into lanes before,
and back afterwards, where the axis is the contiguous one. Two transforms of real numbers are one of complex numbers whose real
parts are the one and whose imaginary parts are the other: the symmetry of both tells the results apart, also backwards (Press et
al., "Numerical recipes", 12.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.fourier.butterflies import Number, times
from graphc_codegen.kernels.fourier.stages import Block, Place, Turns, transform
from graphc_codegen.kernels.transposition import transpose_into
from graphc_codegen.writer import Writer

#: Bytes of the widest vector.
_WIDEST = 64


class Walk(NamedTuple):
    """Elements between transforms of different groups, between the numbers of one, and between the transforms of a group."""

    outer: int
    along: int
    beside: int


def half(size: int) -> int:
    """How many numbers tell all of the transform of real ones."""
    return size // 2 + 1


def _lanes(p: Params) -> int:
    return _WIDEST // (8 if p["dtype"] == "float64" else 4)


def _scratch(p: Params) -> int:
    """Elements of scratch memory of a part: two blocks of numbers, and two for a radix that is a product."""
    return 2 * _lanes(p) * (2 * (p["size"] + 2) + 2 * max(map(math.prod, p["radices"])))


def _reach(p: Params, walk: Sequence[int], size: int) -> int:
    """Elements up to the last one that is walked."""
    steps = zip((p["outer"], size, p["count"]), walk, strict=True)
    return 1 + sum((n - 1) * step for n, step in steps)


def operands(p: Params) -> tuple[Operand, ...]:
    """x, of kinds "pair" and "half" also its imaginary parts, turns [2 size], with `twisted` two tables [size, count] ->
    scratch, y, of kinds "pair" and "real" also its imaginary parts. All of `dtype`, float32 or float64.

    x and y are walked as `source` and `target` say: `outer` groups of `count` transforms of `size` numbers, of which the real
    kinds have half and one on their complex side. At most `parts` threads share them.
    """
    dtype, kind, size = p["dtype"], p["kind"], p["size"]
    taken = 1 if kind == "real" else 2
    made = 1 if kind == "half" else 2
    read, written = (half(size) if kind == k else size for k in ("half", "real"))
    tables = [2 * size, *([size * p["count"]] * 2 if p["twisted"] else [])]
    return (
        *[Operand(dtype, _reach(p, p["source"], read), "in")] * taken,
        *[Operand(dtype, n, "in") for n in tables],
        Operand(dtype, p["parts"] * _scratch(p), "out"),
        *[Operand(dtype, _reach(p, p["target"], written), "out")] * made,
    )


class _Group(NamedTuple):
    """Transforms that are made at once: operands where they begin, for the second ones of pairs of real ones, too.

    active: the lanes that are used. first: the number of the first transform of its group.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    active: int
    first: Place


class _Memory(NamedTuple):
    blocks: tuple[Block, Block]
    small: tuple[Block, Block]
    turns: Turns
    twist: tuple[str, ...]


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Kind "pair": y[k] = scale times the sum of x[j] e^(-2 pi i j k / size), with `twisted` times the tables' cos - i sin.

    Kind "real": the first half of that for real x. Kind "half": of such a half x, y[j] = scale times the sum over all k of
    x[k] e^(2 pi i j k / size), where the imaginary parts of what must be real do not count.
    """
    kind = p["kind"]
    taken = 1 if kind == "real" else 2
    tables = 3 if p["twisted"] else 1
    xs, ts = pointers[:taken], pointers[taken : taken + tables]
    scratch, *ys = pointers[taken + tables :]
    with w.elements(REGISTER[p["dtype"]]):
        wide = w.lanes if kind == "pair" else 2 * w.lanes
        several = -(-p["count"] // wide)

        def part(n: Place) -> None:
            memory = _memory(w, p, w.at(scratch, w.mul(n, _scratch(p))), ts)

            def one(u: Place) -> None:
                o, g = w.divided(u, several) if several > 1 else (u, 0)
                run = {"pair": _pair, "real": _real, "half": _half}[kind]
                run(w, p, memory, _group(w, p, (xs, ys), o, g))

            w.part(n, p["parts"], p["outer"] * several, one)

        w.share(p["parts"], part)


def _memory(w: Writer, p: Params, start: str, tables: Sequence[str]) -> _Memory:
    block, inner = 2 * w.lanes * (p["size"] + 2), 2 * w.lanes * max(map(math.prod, p["radices"]))
    places = [w.at(start, n) for n in (0, block, 2 * block, 2 * block + inner)]
    a, b, c, d = map(Block, places)
    return _Memory((a, b), (c, d), Turns(tables[0], p["size"]), tuple(tables[1:]))


def _group(w: Writer, p: Params, operands: tuple[Sequence[str], Sequence[str]], o: Place, g: Place) -> _Group:
    """Group `g` of vectors of group `o`. The last one may do again what the one before has done: the same numbers."""
    count, together = p["count"], 1 if p["kind"] == "pair" else 2
    wide = together * w.lanes
    active = w.lanes if count >= wide else -(-count // together)
    first = w.smaller(w.mul(g, wide), count - wide) if count > wide else 0
    starts = [w.add(first, 0 if k == 0 else min(active, count - active)) for k in range(together)]
    sides = []
    for pointers, walk in zip(operands, (p["source"], p["target"]), strict=True):
        places = [w.linear((o, walk[0]), (start, walk[2])) for start in starts]
        sides.append(tuple(w.at(x, place) for place in places for x in pointers))
    return _Group(sides[0], sides[1], active, first)


# ---- between memory and blocks, which have `parts` vectors at each place


def _is_turned(walk: Sequence[int], size: int) -> bool:
    """Whether numbers of one transform follow each other, not those of different ones."""
    return walk[1] == 1 and walk[2] != 1 and size > 1


def _read(w: Writer, walk: Sequence[int], xs: Sequence[str], group: _Group, size: int, block: Block) -> None:
    """Bring rows into lanes: vector k of each place is of operand k."""
    for k, x in enumerate(xs):
        wide = len(xs) * w.lanes
        transpose_into(w, x, walk[2], group.active, size, w.at(block.pointer, k * w.lanes), wide)


def _written(w: Writer, walk: Sequence[int], ys: Sequence[str], group: _Group, size: int, block: Block) -> None:
    """Bring lanes back into rows."""
    for k, y in enumerate(ys):
        wide = len(ys) * w.lanes
        transpose_into(w, w.at(block.pointer, k * w.lanes), wide, size, group.active, y, walk[2])


class _Source:
    """Where vectors of some operands come from: rows that have been brought into lanes, vectors in memory, or single elements."""

    def __init__(
        self, w: Writer, walk: Sequence[int], xs: Sequence[str], group: _Group, size: int, block: Block
    ) -> None:
        self.w, self.walk, self.xs, self.active = w, walk, xs, group.active
        self.block = block if _is_turned(walk, size) else None
        if self.block is not None:
            _read(w, walk, xs, group, size, block)

    def vectors(self, place: Place) -> list[str]:
        """The vectors at a place along the transforms."""
        w = self.w
        if self.block is not None:
            wide = len(self.xs) * w.lanes
            first = w.at(self.block.pointer, w.mul(place, wide))
            return [w.vload(w.at(first, k * w.lanes)) for k in range(len(self.xs))]
        if self.walk[2] != 1 and self.active > 1:
            return [self._gathered(w.at(x, w.mul(place, self.walk[1]))) for x in self.xs]
        return [w.vload(w.at(x, w.mul(place, self.walk[1])), self.active) for x in self.xs]

    def _gathered(self, pointer: str) -> str:
        w = self.w
        type, value = f"<{w.lanes} x {w.element}>", "zeroinitializer"
        for lane in range(self.active):
            single = w.load(w.at(pointer, lane * self.walk[2]))
            value = w.op(f"insertelement {type} {value}, {w.element} {single}, i64 {lane}")
        return value


class _Target:
    """Where vectors go, as `_Source`; `finish` brings lanes back into rows."""

    def __init__(
        self, w: Writer, walk: Sequence[int], ys: Sequence[str], group: _Group, size: int, block: Block
    ) -> None:
        self.w, self.walk, self.ys, self.group, self.size = w, walk, ys, group, size
        self.block = block if _is_turned(walk, size) else None

    def put(self, place: Place, values: Sequence[str]) -> None:
        """Write the vectors at a place along the transforms."""
        w = self.w
        if self.block is not None:
            first = w.at(self.block.pointer, w.mul(place, len(self.ys) * w.lanes))
            for k, value in enumerate(values):
                w.vstore(value, w.at(first, k * w.lanes))
            return
        for y, value in zip(self.ys, values, strict=True):
            start = w.at(y, w.mul(place, self.walk[1]))
            if self.walk[2] != 1 and self.group.active > 1:
                for lane in range(self.group.active):
                    single = w.op(f"extractelement <{w.lanes} x {w.element}> {value}, i64 {lane}")
                    w.store(single, w.at(start, lane * self.walk[2]))
            else:
                w.vstore(value, start, self.group.active)

    def finish(self) -> None:
        """What has been put is where it belongs."""
        if self.block is not None:
            _written(self.w, self.walk, self.ys, self.group, self.size, self.block)


# ---- the kinds


def _ends(p: Params, memory: _Memory) -> tuple[Block, Block]:
    """The blocks that what is transformed may be in, and what is made of it."""
    a, b = memory.blocks
    return b, (a, b)[(len(p["radices"]) - 1) % 2]


def _pair(w: Writer, p: Params, memory: _Memory, group: _Group) -> None:
    first, last = _ends(p, memory)
    source = _Source(w, p["source"], group.x, group, p["size"], first)
    target = _Target(w, p["target"], group.y, group, p["size"], last)

    def load(place: Place) -> Number:
        re, im = source.vectors(place)
        return re, im

    def store(place: Place, x: Number) -> None:
        if memory.twist:
            row = w.linear((place, p["count"]), (group.first, 1))
            re, im = (w.vload(w.at(table, row), group.active) for table in memory.twist)
            x = times(w, x, (re, im))
        target.put(place, [_scaled(w, v, p["scale"]) for v in x])

    transform(w, p["radices"], memory.turns, load, store, memory.blocks, memory.small)
    target.finish()


def _scaled(w: Writer, x: str, scale: float) -> str:
    return x if scale == 1 else w.binary("fmul", x, w.constant(scale))


def _real(w: Writer, p: Params, memory: _Memory, group: _Group) -> None:
    """Z of one transform + i times the other; these are (Z[k] + Z[-k]*) / 2 and (Z[k] - Z[-k]*) / 2i."""
    size = p["size"]
    first, last = _ends(p, memory)
    spare = memory.blocks[0] if last is memory.blocks[1] else memory.blocks[1]
    source = _Source(w, p["source"], group.x, group, size, first)
    target = _Target(w, p["target"], group.y, group, half(size), spare)

    def load(place: Place) -> Number:
        one, other = source.vectors(place)
        return one, other

    transform(
        w, p["radices"], memory.turns, load, lambda place, x: last.store(w, place, x), memory.blocks, memory.small
    )

    def apart(k: Place, mirrored: Place) -> None:
        (a, b), (c, d) = last.load(w, k), last.load(w, mirrored)
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
    source = _Source(w, p["source"], group.x, group, half(size), rows)
    target = _Target(w, p["target"], group.y, group, size, last)

    def together(k: Place, mirrored: Place | None) -> None:
        a, b, c, d = source.vectors(k)
        if mirrored is None:  # a and c alone are real.
            first.store(w, k, (c, a))
            return
        first.store(w, k, (w.binary("fadd", b, c), w.binary("fsub", a, d)))
        first.store(w, mirrored, (w.binary("fsub", c, b), w.binary("fadd", a, d)))

    together(0, None)
    if size > 2:
        w.loop((size + 1) // 2, lambda k, _: together(k, w.subtracted(size, k)), start=1)
    if size % 2 == 0:
        together(size // 2, None)

    def store(place: Place, x: Number) -> None:
        target.put(place, [_scaled(w, v, p["scale"]) for v in (x[1], x[0])])

    transform(w, p["radices"], memory.turns, lambda place: first.load(w, place), store, memory.blocks, memory.small)
    target.finish()


def twin(p: Params, *arrays: Array) -> None:
    kind, size = p["kind"], p["size"]
    taken = 1 if kind == "real" else 2
    tables = 3 if p["twisted"] else 1
    made = arrays[taken + tables + 1 :]
    arrays[taken + tables][:] = 0

    def walked(x: Array, walk: Sequence[int], count: int) -> Array:
        strides = tuple(x.itemsize * walk[k] for k in (0, 2, 1))
        return np.lib.stride_tricks.as_strided(x, (p["outer"], p["count"], count), strides)

    read, written = (half(size) if kind == k else size for k in ("half", "real"))
    xs = [walked(x, p["source"], read) for x in arrays[:taken]]
    ys = [walked(y, p["target"], written) for y in made]
    if kind == "half":
        ys[0][:] = np.fft.irfft(xs[0] + 1j * xs[1], size, norm="forward") * p["scale"]
        return
    z = np.fft.rfft(xs[0]) if kind == "real" else np.fft.fft(xs[0] + 1j * xs[1])
    if p["twisted"]:
        c, s = (t.reshape(size, -1).T for t in arrays[taken + 1 : taken + 3])
        z = z * (c + 1j * s)
    ys[0][:], ys[1][:] = z.real * p["scale"], z.imag * p["scale"]


def _emitter(kind: str) -> Emitter:
    def of_kind(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: function(*[{**x, "kind": kind} if isinstance(x, Mapping) else x for x in args])

    return Emitter(of_kind(operands), of_kind(emit), of_kind(twin))


FOURIER, FOURIER_REAL, FOURIER_HALF = map(_emitter, ("pair", "real", "half"))
