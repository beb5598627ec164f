"""Products of a few rows with a matrix too large for the caches: its rows are read from one end to the other, some at a time.

So memory is as fast as it can be. What they add to the result is brought together in float64, a block of columns that stays near.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from graphc_codegen.kernels.gemm.plan import SWEPT_ROWS, Side
from graphc_codegen.writer import Writer

#: Columns of a block at most, and rows of the matrix that are read at a time: whole pages, so that a core goes ahead by itself.
COLUMNS, _TOGETHER = 4096, 8


def memory(w: Writer) -> str:
    """Where the sums of a block lie. To be asked for outside of all loops: it is on the stack."""
    return w.op(f"alloca [{SWEPT_ROWS * COLUMNS} x double], align 64")


def sweep(w: Writer, s: Side, v: Side, k: int, sums: str, store: Callable[[str, int, str | int], None]) -> None:
    """Multiply the rows of `s` by the matrix `v`, which is contiguous along n, but for the columns that fill no vector.

    `store` takes a vector of the result, its row and first column. Threads share the columns.
    """
    whole = v.size // w.lanes * w.lanes
    most = min(COLUMNS, math.ceil(whole / w.threads / w.lanes) * w.lanes)

    def total(r: int, e: str | int) -> str:
        return w.at(sums, w.linear((r, most), (e, 1)), "double")

    def block(index: str | int) -> None:
        first = w.mul(index, most)
        count = w.smaller(most, w.subtracted(whole, first))
        source = w.at(v.pointer, first)

        def rows(z: str | int, some: int) -> None:
            lines = [w.at(source, w.linear((z, v.deep), (q, v.deep))) for q in range(some)]
            factors = [
                [w.at(s.pointer, w.linear((z, s.deep), (q, s.deep), (r, s.along))) for q in range(some)]
                for r in range(s.size)
            ]
            splats = [[w.splat(w.load(place)) for place in row] for row in factors]

            def vector(e: str, _: list[str]) -> None:
                values = [w.vload(w.at(line, e)) for line in lines]
                for r, row in enumerate(splats):
                    sum = "zeroinitializer"
                    for factor, value in zip(row, values, strict=True):
                        sum = w.fma(factor, value, sum)
                    if w.element != "double":
                        sum = w.convert("fpext", sum, w.element, "double")
                    place = total(r, e)
                    w.vstore(w.binary("fadd", w.vload(place, type="double"), sum, "double"), place, type="double")

            w.loop(count, vector, step=w.lanes)

        def each(body: Callable[[int, str], None]) -> None:
            for r in range(s.size):
                w.loop(count, lambda e, _, r=r: body(r, e), step=w.lanes)  # type: ignore[misc]

        def finish(r: int, e: str) -> None:
            value = w.vload(total(r, e), type="double")
            if w.element != "double":
                value = w.convert("fptrunc", value, "double", w.element)
            store(value, r, w.add(first, e))

        each(lambda r, e: w.vstore("zeroinitializer", total(r, e), type="double"))
        groups = k // _TOGETHER
        w.repeat(groups, lambda n: rows(w.mul(n, _TOGETHER), _TOGETHER))
        w.repeat(k % _TOGETHER, lambda n: rows(w.add(n, groups * _TOGETHER), 1))
        each(finish)

    w.share(math.ceil(whole / most), block, hand_out=True)
