"""Fourier transforms of contiguous rows, each row by itself: what it is made of stays in the nearest cache.

A row of n m numbers is a matrix of n rows and m columns: the transforms of columns, turned by a table, and then those of rows
are its transform (Bailey, "FFTs in external or hierarchical memory", 1990). Columns that lie side by side are lanes as they are;
in between squares of the matrix are turned, so that rows are. Of real numbers the even ones are real parts and the odd ones
imaginary parts of half as many complex ones, whose transform tells that of the real ones (Press et al., "Numerical recipes",
12.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import LINE, Array, Operand, Params
from graphc_codegen.kernels.fourier.butterflies import Number, times
from graphc_codegen.kernels.fourier.kinds import emitters
from graphc_codegen.kernels.fourier.lines import Lines
from graphc_codegen.kernels.fourier.stages import Block, Place, transform
from graphc_codegen.kernels.transposition import FOUR, transpose_into, turned
from graphc_codegen.writer import Writer

#: The fewest rows, and columns, of a matrix: half of a row is a vector then.
_LEAST = 8


def _widest(p: Params) -> int:
    """Numbers in the widest vector."""
    return LINE * 4 // (8 if p["dtype"] == "float64" else 4)


def _complex(p: Params) -> int:
    """How many complex numbers are transformed."""
    n, m = p["split"]
    return int(n * m)


def _length(p: Params, real: str) -> int:
    """Numbers in a row of x, or of y. `real`: the kind of which these are real."""
    count = _complex(p)
    if p["kind"] == "pair":
        return count
    if p["full"]:
        return 2 * count
    return 2 * count if p["kind"] == real else count + 1


def _sides(p: Params) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of x and y: operands, and floats of each at a place."""

    def side(name: str, real: str) -> tuple[int, int]:
        return (1, 1) if p["kind"] == real else (1, 2) if name in p["whole"] else (2, 1)

    return side("source", "real"), side("target", "half")


def _room(p: Params) -> tuple[int, int, int]:
    """Elements of the parts of a scratch memory: the matrix, what is in order before or behind it, and a block of lanes."""
    line, both = _widest(p), 2 * _complex(p)
    matrix = -(-both // line) * line
    return matrix, 0 if p["kind"] == "pair" else matrix, 2 * line * max(p["split"])


def _scratch(p: Params) -> int:
    matrix, ordered, block = _room(p)
    return matrix + ordered + 2 * block


def operands(p: Params) -> tuple[Operand, ...]:
    """x, turns of n, turns of m, two tables [n, m], for real kinds two tables [n m] -> scratch, y. All of `dtype`.

    Of `rows` rows. Complex x or y are two operands, real and imaginary parts, or one where `whole` names "source" or "target":
    of pairs. Kind "pair": n m complex numbers; "real": twice as many real ones, to n m and one complex ones, or with `full` to
    all; "half": from n m and one to real ones. `split` is n and m, `radices` the stages of either. At most `parts` threads share
    the rows.

    Raises ValueError for fewer than 8 rows or columns of a matrix.
    """
    if min(p["split"]) < _LEAST:
        raise ValueError(f"a matrix of {p['split']} is too small")
    dtype, count = p["dtype"], _complex(p)
    (taken, width), (made, wide) = _sides(p)
    tables = [*(2 * n for n in p["split"]), *[count] * (2 if p["kind"] == "pair" else 4)]
    return (
        *[Operand(dtype, p["rows"] * width * _length(p, "real"), "in")] * taken,
        *[Operand(dtype, n, "in") for n in tables],
        Operand(dtype, p["parts"] * _scratch(p), "out"),
        *[Operand(dtype, p["rows"] * wide * _length(p, "half"), "out")] * made,
    )


class _Tables(NamedTuple):
    turns: Sequence[str]
    twist: Sequence[str]
    mirror: Sequence[str]


class _Memory(NamedTuple):
    matrix: tuple[str, str]
    ordered: tuple[str, str]
    blocks: tuple[Block, Block]


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Kind "pair": y[k] = the sum of x[j] e^(-2 pi i j k / (n m)) times the first tables' scale, with `inverse` e^(2 pi i ...).
    Kinds "real" and "half": as those of `fourier_real` and `fourier_half`.

    The first tables have e^(-2 pi i j k / (n m)) times a scale, for "real" half of it; the others have -i e^(-pi i k / (n m)),
    for "half" its conjugate.
    """
    taken, tables = _sides(p)[0][0], 4 if p["kind"] == "pair" else 6
    xs, ts = pointers[:taken], pointers[taken : taken + tables]
    scratch, *ys = pointers[taken + tables :]
    with w.elements(REGISTER[p["dtype"]]):
        own = w.shared_range(p["parts"])[0] if w.divides else 0
        memory = _memory(w, p, w.at(scratch, w.mul(own, _scratch(p))))
        row = _Rows(w, p, _Tables(ts[:2], ts[2:4], ts[4:]), memory)

        def one(o: Place) -> None:
            sides = [
                [w.at(x, w.mul(o, width * _length(p, real))) for x in operands]
                for operands, (_, width), real in zip((xs, ys), _sides(p), ("real", "half"), strict=True)
            ]
            {"pair": row.pair, "real": row.real, "half": row.half}[p["kind"]](*sides)

        w.share(p["parts"], lambda n: w.part(n, p["parts"], p["rows"], one))


def _memory(w: Writer, p: Params, start: str) -> _Memory:
    matrix, ordered, block = _room(p)
    count = _complex(p)
    second, third = w.at(start, matrix), w.at(start, matrix + ordered)
    return _Memory(
        (start, w.at(start, count)), (second, w.at(second, count)), (Block(third), Block(w.at(third, block)))
    )


class _Rows(NamedTuple):
    w: Writer
    p: Params
    tables: _Tables
    memory: _Memory

    def pair(self, x: Sequence[str], y: Sequence[str]) -> None:
        (_, width), (_, wide) = _sides(self.p)
        self.columns(x, width, self.p["inverse"])
        self.rows(y, wide, self.p["inverse"])

    def real(self, x: Sequence[str], y: Sequence[str]) -> None:
        """X[k] = E + u D of Z[k] + Z[-k]* and their difference; the one at -k is (E - u D)*. Those behind are conjugates."""
        w, (re, im), wide = self.w, self.memory.ordered, _sides(self.p)[1][1]
        self.columns(x, 2, False)
        self.rows((re, im), 1, False)
        total = [w.load(re), w.load(im)]
        for place, how in ((0, "fadd"), (_complex(self.p), "fsub")):
            # Half of the scale is in the numbers.
            made = w.op(f"{how} {w.element} {total[0]}, {total[1]}")
            self.single(y, wide, place, (w.op(f"fadd {w.element} {made}, {made}"), "0.0"))
        self.mirrored(self.contiguous((re, im), 1), self.contiguous(y, wide))

    def half(self, x: Sequence[str], y: Sequence[str]) -> None:
        """The same the other way round, with conjugates of the tables; what must be real at both ends counts as that."""
        w, (re, im), width = self.w, self.memory.ordered, _sides(self.p)[0][1]
        ends = [w.load(w.at(x[0], place * width)) for place in (0, _complex(self.p))]
        for place, how in ((re, "fadd"), (im, "fsub")):
            w.store(w.op(f"{how} {w.element} {ends[0]}, {ends[1]}"), place)
        self.mirrored(self.contiguous(x, width), self.contiguous((re, im), 1))
        self.columns((re, im), 1, True)
        self.rows(y, 2, True)

    def contiguous(self, pointers: Sequence[str], width: int) -> Lines:
        """Complex numbers one after the other."""
        return Lines(self.w, (0, 1, 1), pointers, width, 1, self.w.lanes, "")

    def single(self, y: Sequence[str], wide: int, place: int, x: Sequence[str]) -> None:
        """Write one complex number of y."""
        for k, value in enumerate(x):
            at = self.w.at(y[0], 2 * place + k) if wide == 2 else self.w.at(y[k], place)
            self.w.store(value, at)

    # ---- the transform

    def columns(self, x: Sequence[str], width: int, swapped: bool) -> None:
        """The transforms of columns, turned, in the matrix."""
        w, (n, m) = self.w, self.p["split"]

        def some(first: Place, active: int) -> None:
            source = Lines(w, (0, m, 1), [w.at(a, w.mul(first, width)) for a in x], width, n, active, "")
            twist = [w.at(table, first) for table in self.tables.twist]
            target = [w.at(part, first) for part in self.memory.matrix]

            def load(place: Place, further: int) -> Number:
                re, im = source.vectors(place, further)
                return (im, re) if swapped else (re, im)

            def store(place: Place, further: int, x: Number) -> None:
                row = w.mul(place, m)
                by = [w.vload(w.at(w.at(table, row), further * m), active) for table in twist]
                for value, part in zip(times(w, x, (by[0], by[1])), target, strict=True):
                    w.vstore(value, w.at(w.at(part, row), further * m), active)

            transform(w, self.p["radices"][0], self.tables.turns[0], load, store, self.memory.blocks)

        self.groups(m, some)

    def rows(self, y: Sequence[str], wide: int, swapped: bool) -> None:
        """The transforms of the matrix' rows, to y."""
        w, (n, m) = self.w, self.p["split"]
        turned_rows = self.memory.blocks[1].pointer

        def some(first: Place, active: int) -> None:
            parts = [w.at(turned_rows, k * m * w.lanes) for k in range(2)]
            for source, part in zip(self.memory.matrix, parts, strict=True):
                self.turn(w.at(source, w.mul(first, m)), active, part)
            target = Lines(w, (0, n, 1), [w.at(a, w.mul(first, wide)) for a in y], wide, m, active, "")

            def load(place: Place, further: int) -> Number:
                at = [w.at(w.at(part, w.mul(place, w.lanes)), further * w.lanes) for part in parts]
                return w.vload(at[0]), w.vload(at[1])

            def store(place: Place, further: int, x: Number) -> None:
                target.put(place, x[::-1] if swapped else x, further)

            transform(w, self.p["radices"][1], self.tables.turns[1], load, store, self.memory.blocks)

        self.groups(n, some)

    def groups(self, count: int, body: Callable[[Place, int], None]) -> None:
        """As many at a time as there are lanes; the last ones may do again what those before have done: the same numbers."""
        w = self.w
        if count <= w.lanes:
            body(0, count)
        else:
            w.repeat(-(-count // w.lanes), lambda g: body(w.smaller(w.mul(g, w.lanes), count - w.lanes), w.lanes))

    def turn(self, source: str, active: int, target: str) -> None:
        """The columns of some rows of the matrix, as vectors."""
        w, m = self.w, self.p["split"][1]
        if w.lanes < FOUR:
            transpose_into(w, source, m, active, m, target, w.lanes)
            return
        lines = [w.at(source, min(r, active - 1) * m) for r in range(w.lanes)]

        def four(g: Place) -> None:
            z = w.smaller(w.mul(g, FOUR), m - FOUR)
            for c, value in enumerate(turned(w, [w.at(line, z) for line in lines])):
                w.vstore(value, w.at(w.at(target, w.mul(z, w.lanes)), c * w.lanes))

        w.repeat(-(-m // FOUR), four)

    # ---- real numbers

    def mirrored(self, source: Lines, target: Lines) -> None:
        """From the numbers at k and -k, but for those at the ends, those at k and -k."""
        w, count = self.w, _complex(self.p)
        backwards = range(w.lanes - 1, -1, -1)

        def some(g: Place) -> None:
            k = w.add(w.mul(g, w.lanes), 1)
            mirror = w.subtracted(count - w.lanes + 1, k)
            a, b = source.vectors(k)
            c, d = (w.shuffle(x, "poison", backwards) for x in source.vectors(mirror))
            both = w.binary("fadd", a, c), w.binary("fsub", b, d)
            apart = w.binary("fsub", a, c), w.binary("fadd", b, d)
            re, im = (w.vload(w.at(table, k)) for table in self.tables.mirror)
            turned = times(w, apart, (re, im))
            more, less = ([w.binary(how, x, y) for x, y in zip(both, turned, strict=True)] for how in ("fadd", "fsub"))
            target.put(k, more)
            target.put(mirror, [w.shuffle(x, "poison", backwards) for x in (less[0], w.negative(less[1]))])
            if self.p["full"]:
                target.put(w.add(k, count), less)
                last = w.subtracted(2 * count - w.lanes + 1, k)
                target.put(last, [w.shuffle(x, "poison", backwards) for x in (more[0], w.negative(more[1]))])

        w.repeat(-(-(count // 2) // w.lanes), some)


def twin(p: Params, *arrays: Array) -> None:
    kind, count = p["kind"], _complex(p)
    (taken, width), (_, wide) = _sides(p)
    tables = 4 if kind == "pair" else 6
    arrays[taken + tables][:] = 0
    scale = arrays[taken + 2][0] * (2 if kind == "real" else 1)
    xs = np.concatenate([x.reshape(p["rows"], -1, width) for x in arrays[:taken]], -1)
    ys = [y.reshape(p["rows"], -1, wide) for y in arrays[taken + tables + 1 :]]
    if kind == "half":
        ys[0][..., 0] = np.fft.irfft(xs[..., 0] + 1j * xs[..., 1], 2 * count, norm="forward") * scale
        return
    if kind == "real":
        z = (np.fft.fft if p["full"] else np.fft.rfft)(xs[..., 0])
    else:
        z = (np.fft.ifft if p["inverse"] else np.fft.fft)(
            xs[..., 0] + 1j * xs[..., 1], norm="forward" if p["inverse"] else None
        )
    parts = np.stack([z.real, z.imag], -1) * scale
    for k, y in enumerate(ys):
        y[:] = parts if wide == 2 else parts[..., k : k + 1]


FOURIER_ROWS, FOURIER_ROWS_REAL, FOURIER_ROWS_HALF = emitters(operands, emit, twin)
