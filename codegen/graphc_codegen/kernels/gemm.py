"""Matrix products C = A B: either operand transposed, single or batched, overwriting or accumulating."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import (
    Pieces,
    Segment,
    block_kinds,
    contiguous,
    dot_tile,
    each_tile,
    registers,
    splat_tile,
    strip_kinds,
)
from graphc_codegen.writer import Writer, vec

#: Turns of k to prefetch ahead when the rows of B lie further apart than this many elements.
_AHEAD, _FAR = 8, 128


def operands(p: Params) -> tuple[Operand, ...]:
    """a [batch, m, k] ([k, m] if `ta`), b [batch, k, n] ([n, k] if `tb`) -> c [batch, m, n], all float32.

    `accumulate` adds to what c holds. `batch` is 1 by default.
    """
    batch, m, n, k = p.get("batch", 1), p["m"], p["n"], p["k"]
    return (
        Operand("float32", batch * m * k, "in"),
        Operand("float32", batch * k * n, "in"),
        Operand("float32", batch * m * n, "out"),
    )


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """nn, tn: a scalar of A times a piece of a row of B. nt: both contiguous along k, so lanes run along k.

    tt: the transposed product B A, whose operands are then nn, stored column by column.
    """
    a, b, c = pointers
    m, n, k = p["m"], p["n"], p["k"]

    def product(i: str | int) -> None:
        at = (w.at(a, w.mul(i, m * k)), w.at(b, w.mul(i, k * n)), w.at(c, w.mul(i, m * n)))
        if p["ta"] and p["tb"]:
            _both_transposed(w, p, *at)
        elif p["tb"]:
            _along_k(w, p, *at)
        else:
            _along_rows(w, p, *at)

    batch = p.get("batch", 1)
    if batch % w.threads == 0 or batch >= 4 * w.threads:
        w.share(batch, product)
    else:
        w.repeat(batch, product)  # Threads share the tiles of each product.


def _along_rows(w: Writer, p: Params, a: str, b: str, c: str) -> None:
    m, n, k = p["m"], p["n"], p["k"]
    row, step = (1, m) if p["ta"] else (k, 1)
    segment = Segment(k, step, n, ((0, 0),))

    def tile(j: str | int, widths: tuple[int, ...], i: str | int, size: int) -> None:
        target = w.at(c, w.linear((i, n), (j, 1)))
        places = [(r * n + v * w.lanes, width) for r in range(size) for v, width in enumerate(widths)]
        before = [w.vload(w.at(target, o), width) for o, width in places] if p["accumulate"] else None
        rows, vectors = [r * row for r in range(size)], contiguous(widths, w.lanes)
        ahead = _AHEAD if n > _FAR else 0
        acc = splat_tile(w, w.at(a, w.mul(i, row)), w.at(b, j), rows, vectors, (), (segment,), before, ahead)
        for value, (o, width) in zip(acc, places, strict=True):
            w.vstore(value, w.at(target, o), width)

    for strip in strip_kinds(n, w.lanes, 2):
        each_tile(w, [strip], block_kinds(m, registers(w.lanes) // len(strip[3])), tile)


def _along_k(w: Writer, p: Params, a: str, b: str, c: str) -> None:
    m, n, k = p["m"], p["n"], p["k"]
    segments = _runs(k, w.lanes)
    size_m, size_n = (4, 6) if w.lanes >= 16 else (4, 3)

    def tile(j: str | int, columns: int, i: str | int, rows: int) -> None:
        target = w.at(c, w.linear((i, n), (j, 1)))
        left, right = w.at(a, w.mul(i, k)), w.at(b, w.mul(j, k))
        sums = dot_tile(w, left, right, [r * k for r in range(rows)], [q * k for q in range(columns)], (), segments)
        for r, value in enumerate(sums):
            place = w.at(target, r * n)
            if p["accumulate"]:
                value = w.binary("fadd", value, w.vload(place, columns))
            w.vstore(value, place, columns)

    each_tile(w, block_kinds(n, size_n), block_kinds(m, size_m), tile)


def _runs(k: int, lanes: int) -> tuple[Segment, ...]:
    """Contiguous vectors along k, then the tail."""
    full, rest = divmod(k, lanes)

    def piece(start: int, count: int) -> Pieces:
        return ((start, 0, count),)

    cut = []
    if full:
        cut.append(Segment(full, lanes, lanes, ((piece(0, lanes), piece(0, lanes)),)))
    if rest:
        tail = piece(full * lanes, rest)
        cut.append(Segment(1, 0, 0, ((tail, tail),)))
    return tuple(cut)


def _both_transposed(w: Writer, p: Params, a: str, b: str, c: str) -> None:
    m, n, k = p["m"], p["n"], p["k"]
    segment = Segment(k, 1, m, ((0, 0),))
    v = vec("float", w.lanes)

    def tile(i: str | int, widths: tuple[int, ...], j: str | int, columns: int) -> None:
        target = w.at(c, w.linear((i, n), (j, 1)))
        rows = [q * k for q in range(columns)]
        at_b = w.at(b, w.mul(j, k))
        acc = splat_tile(w, at_b, w.at(a, i), rows, contiguous(widths, w.lanes), (), (segment,))
        for q, value in enumerate(acc):
            for lane in range(widths[0]):
                place = w.at(target, lane * n + q)
                x = w.op(f"extractelement {v} {value}, i64 {lane}")
                if p["accumulate"]:
                    x = w.op(f"fadd float {x}, {w.load(place)}")
                w.store(x, place)

    each_tile(w, strip_kinds(m, w.lanes, 1), block_kinds(n, 4), tile)


@np.errstate(all="ignore")
def twin(p: Params, a: Array, b: Array, c: Array) -> None:
    batch, m, n, k = p.get("batch", 1), p["m"], p["n"], p["k"]
    left = a.reshape(batch, k, m).transpose(0, 2, 1) if p["ta"] else a.reshape(batch, m, k)
    right = b.reshape(batch, n, k).transpose(0, 2, 1) if p["tb"] else b.reshape(batch, k, n)
    product = np.matmul(left, right).reshape(-1)
    c[:] = c + product if p["accumulate"] else product


GEMM = Emitter(operands, emit, twin)
