"""Cholesky's factor, in tiles of rows and vectors of columns, as triangular systems are solved.

Row by row of the upper factor, of which rows are contiguous: from a tile what the rows above contribute is taken away; the
triangle of it that stands on the diagonal is factored in registers, and what is right of that are the right sides of a system.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.triangular import VECTORS, Rows, eliminated, tile_rows, without_products
from graphc_codegen.writer import Writer

#: Elements behind the columns of a row: those of the widest tile, less one.
_ROOM = VECTORS * 16 - 1


def operands(p: Params) -> tuple[Operand, ...]:
    """a [batch, size, lead] of `dtype`, float32 or float64 -> u like a.

    Raises ValueError unless there is room for the rest of a tile behind the columns of a row. That is read and written; what
    stands there does not matter.
    """
    if p["lead"] < p["size"] + _ROOM:
        raise ValueError(f"rows of {p['size']} elements stand {p['lead']} apart, which leaves too little room")
    count = p["batch"] * p["size"] * p["lead"]
    return Operand(p["dtype"], count, "in"), Operand(p["dtype"], count, "out")


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """u^T u = a, of which the upper triangle is read, for upper triangular u. What is below its diagonal may be anything.

    Where a is not positive definite: NaN from the row on that shows it.
    """
    a, u = pointers
    with w.elements(REGISTER[p["dtype"]]):
        rows = tile_rows(w, VECTORS)
        whole, rest = divmod(p["size"], rows)

        def one(o: str | int) -> None:
            first = w.mul(o, p["size"] * p["lead"])
            w.repeat(whole, lambda i: _rows(w, p, (w.at(a, first), w.at(u, first)), w.mul(i, rows), rows))
            if rest:
                _rows(w, p, (w.at(a, first), w.at(u, first)), whole * rows, rest)

        w.share(p["batch"], one)


def _rows(w: Writer, p: Params, pointers: tuple[str, str], start: str | int, rows: int) -> None:
    """Some rows of the factor, from their diagonal on."""
    (a, u), lead = pointers, p["lead"]
    wide = VECTORS * w.lanes

    def load(pointer: str, r: str | int, column: str | int) -> list[str]:
        place = w.at(pointer, w.linear((r, lead), (column, 1)))
        return [w.vload(w.at(place, v * w.lanes)) for v in range(VECTORS)]

    def factor(k: str | int, r: int) -> str:
        return w.at(w.at(u, w.linear((k, lead), (start, 1))), r)

    def tile(column: str | int, diagonal: bool) -> None:
        made = without_products(
            w,
            (rows, VECTORS),
            lambda r: load(a, w.add(start, r), column),
            start,
            factor,
            partial(load, u, column=column),
        )
        made = _factored(w, made) if diagonal else eliminated(w, made, lambda k, r: factor(w.add(start, k), r), False)
        for r, line in enumerate(made):
            place = w.at(u, w.linear((w.add(start, r), lead), (column, 1)))
            for v, value in enumerate(line):
                w.vstore(value, w.at(place, v * w.lanes))

    tile(start, True)
    w.turns((w.add(start, wide), p["size"]), lambda column, _: tile(column, False), step=wide)


def _factored(w: Writer, tile: Rows) -> Rows:
    """The rows of the factor, whose diagonal begins with the tile's first column."""
    done = list(tile)

    def everywhere(r: int, column: int) -> str:
        return w.shuffle(done[r][column // w.lanes], "poison", [column % w.lanes] * w.lanes)

    for k in range(len(done)):
        root = w.unary("sqrt", everywhere(k, k))
        done[k] = [w.binary("fdiv", x, root) for x in done[k]]
        for r in range(k + 1, len(done)):
            by = w.negative(everywhere(k, r))
            done[r] = [w.fma(by, x, y) for x, y in zip(done[k], done[r], strict=True)]
    return done


@np.errstate(all="ignore")
def twin(p: Params, a: Array, u: Array) -> None:
    size, lead = p["size"], p["lead"]
    source, made = (x.reshape(-1, size, lead)[..., :size] for x in (a, u))
    for r in range(size):
        above = made[:, :r, r, None]
        row = source[:, r, r:] - (above * made[:, :r, r:]).sum(1)
        made[:, r, r:] = row / np.sqrt(row[:, :1])


CHOLESKY = Emitter(operands, emit, twin)
