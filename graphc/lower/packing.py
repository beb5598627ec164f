"""Large matrix products get memory into which they copy what they multiply: see `kernels.gemm.panels` and `gemm.tiled`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from graphc.ir import TensorType
from graphc.ir.lowering import Operand
from graphc.ir.types import HALVES
from graphc.lower import precision, tiles
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import params_of, with_blocks
from graphc_codegen.program import ITEMSIZE, Call, NamedKernel, written

#: Products of no more terms are as fast without, if all that they read and write is near; and those of few terms always.
_TERMS, _NEAR, _SHORT = 320, 400 << 10, 32
#: With fewer rows or columns a product reads its matrices too seldom for copies.
_LEAST_ROWS, _LEAST_COLUMNS = 16, 32
#: The fewest rows of one of a loop whose second factor is copied before; bytes of one that is read as fast as it lies.
_LEAST_ROWS_OF_STRIPS, _NEAR_FACTOR = 4, 1 << 16
#: Terms of a part at most, about; bytes of a column of a block, of a row, and of a column that is copied of A at a time: times
#: _DEPTH these stay in the second cache.
_DEPTH, _ROWS, _COLUMNS, _NEAR_ROWS = 320, 3072, 4096, 512
#: The widest and highest tile of any machine; blocks are filled up to whole tiles. Tiles of 6 or 12 rows fill groups of these.
_WIDE, _TALL, _WHOLE = 32, 16, 12
#: Of fewer terms tiles of the same rows may follow each other; columns that are copied at a time where all rows are there.
_FEW_TERMS, _FEW_COLUMNS = 256, 2 * _WIDE
#: Blocks for each thread at most, so that all have about as much to do; and what it costs to copy an element of a row of A or of
#: a column of B, for each turn of k, in multiply-adds.
_BLOCKS, _COPY = 4, 8


def copy_panels(body: Statements, context: Context) -> Statements:
    """Tell large products the sizes of their parts, and give them memory.

    before:  b2 = gemm(b0, b1) {m=4096, n=4096, k=4096}
    after:   b3, b2 = gemm(b0, b1) {m=4096, n=4096, k=4096, panels=(320, 204, 512), scratch=...}

    or with `tiles` where the processor has AMX' and these gain.
    """
    how = context.buffers.bfloat16()

    def told(call: Call) -> Call:
        p = params_of(call)
        if call.kernel.family != "gemm" or p.keys() & {"tiles", "panels"}:
            return call
        by_tiles = tiles.gains(p, tiles.pieces(p), how)
        if not by_tiles and not is_large(p):
            return call
        if by_tiles:
            return with_memory(call, "tiles", tiles.sizes(p, tiles.pieces(p), context.most_threads), context)
        return with_memory(call, "panels", panels(p, context.most_threads), context)

    return tuple(
        told(stmt) if isinstance(stmt, Call) else with_blocks(stmt, lambda block: copy_panels(block, context))
        for stmt in body
    )


def with_memory(call: Call, name: str, size: tuple[tuple[int, ...], int], context: Context) -> Call:
    """A product that is told its parts by a parameter of that name, with memory of so many elements for each thread."""
    parts, each = size
    scratch = each * context.most_threads
    made = context.buffers.new(TensorType(str(params_of(call).get("dtype", "float32")), (scratch,)))
    first = len(call.args) - written(call.kernel)
    kernel = context.once(_told, call.kernel, how=(name, parts, scratch, first))
    return replace(call, kernel=kernel, args=(*call.args[:first], made, *call.args[first:]))


def _told(kernel: NamedKernel, name: str, parts: tuple[int, ...], scratch: int, first: int) -> NamedKernel:
    """A product that is told its parts, with scratch memory as its operand number `first`."""
    p: dict[str, Any] = dict(kernel.params)
    p["block"] = precision.in_parts(p.pop("block", 0), p["k"])
    # The copies come in before the outputs: places of halves behind them move by one.
    params = {key: value for key, value in p.items() if key != "halves" and (key != "block" or value)}
    if "halves" in p:
        params["halves"] = tuple((dtype, tuple(k + (k >= first) for k in places)) for dtype, places in p["halves"])
    return NamedKernel("gemm", (*params.items(), (name, parts), ("scratch", scratch)))


def widens_scalars(kernel: NamedKernel, a: Operand, dtypes: tuple[str, ...], how: str) -> bool:
    """Whether to make float32 of the matrix of a product whose numbers are read one by one, for each strip of the other one.

    So many conversions would take up to a third of the time of the product. Not where numbers are multiplied as they lie: the
    factors have these `dtypes` in memory, and `how` says of bfloat16 what `Buffers` does.
    """
    p: dict[str, Any] = dict(kernel.params)
    if kernel.name != "gemm" or a.view is not None or p["n"] < _WIDE or is_large(p):
        return False
    if how == "pairs":
        return set(dtypes) != {"bfloat16"}
    halves = tuple((dtype, (k,)) for k, dtype in enumerate(dtypes) if dtype in HALVES)
    return not tiles.gains(p, tiles.pieces({"halves": halves}), how)


def reads_rounded(p: Mapping[str, Any], how: str) -> bool:
    """Whether a product rounds factors of float32 to bfloat16 as it copies them, `how` that is multiplied."""
    return is_large(p) if how == "pairs" else tiles.gains(p, (1, 1), how)


def is_large(p: Mapping[str, Any]) -> bool:
    """Whether a product copies what it multiplies."""
    m, n, k = (int(p[name]) for name in "mnk")
    if "triangle" in p or m < _LEAST_ROWS or n < _LEAST_COLUMNS:
        return False
    return k > _TERMS or (k > _SHORT and _item(p) * (m * k + k * n + m * n) > _NEAR)


def _item(p: Mapping[str, Any]) -> int:
    return ITEMSIZE[str(p.get("dtype", "float32"))]


def gains_by_strips(p: Mapping[str, Any]) -> bool:
    """Whether a product of a loop takes less time if its second factor has been copied before the loop: not of halves."""
    m, n, k = (int(p[name]) for name in "mnk")
    if "rounds" in p or any(1 in places for _, places in p.get("halves", ())):
        return False
    return m >= _LEAST_ROWS_OF_STRIPS and n >= _LEAST_COLUMNS and k >= _SHORT and _item(p) * n * k > _NEAR_FACTOR


def strip_elements(p: Mapping[str, Any], sizes: tuple[int, int, int, int]) -> int:
    """Elements that the second factor takes as strips of such parts, whatever the machine."""
    depth, _, columns, _ = sizes
    parts = math.ceil(int(p["n"]) / columns) * math.ceil(int(p["k"]) / depth)
    return parts * math.ceil(columns / _WIDE) * _WIDE * (math.ceil(depth / 4) * 4 + 8)


def panels(p: Mapping[str, Any], threads: int) -> tuple[tuple[int, int, int, int], int]:
    """Terms, rows and columns of a part, how many rows of A are copied at a time, and the elements of memory of a thread."""
    m, n, k, item = *(int(p[name]) for name in "mnk"), _item(p)
    depth, block = _even(k, _DEPTH, 8), precision.in_parts(p.get("block", 0), k)
    rows, columns = _block(tiles.batch(p), m, n, item, threads)
    some = _even(rows, _NEAR_ROWS // item, _WHOLE)
    # Tiles of A may have 12 rows and take the memory of 16; those of 5 that of 8.
    tall, wide = rows + _TALL, -(-columns // _WIDE) * _WIDE
    copied = min(wide, _FEW_COLUMNS) if some >= rows and k > _FEW_TERMS else wide
    # With a single part a tile's sums are only needed until the next one.
    sums = (8 if block else item) * (_TALL * _WIDE if depth >= k and not block else tall * wide)
    each = item * (8 * (some + _TALL) // 5 + copied) * (depth + 4) + sums + 64 * (tall + columns) + 4096
    return (depth, rows, columns, some), -(-each // (64 * item)) * 64


@cache
def _block(batch: int, m: int, n: int, item: int, threads: int) -> tuple[int, int]:
    """Rows and columns of a block of C: on one thread as many as may be, else what takes the least for who has most blocks."""
    rows, columns = _even(m, _ROWS // item, 1), _even(n, _COLUMNS // item, _WIDE)

    def cost(size: tuple[int, int]) -> tuple[float, int]:
        rows, columns = size
        blocks = batch * math.ceil(m / rows) * math.ceil(n / columns)
        each = rows * columns + _COPY * (rows + columns)
        return math.ceil(blocks / threads) * each, blocks

    def cuts(size: int, largest: int, least: int, step: int, most: int) -> set[int]:
        """Sizes of so many equal parts at most, from the largest to those of so many elements at least."""
        parts = range(math.ceil(size / largest), min(size // least, most) + 1)
        return {largest, *(_even(size, math.ceil(size / count), step) for count in parts)}

    if threads == 1:
        return rows, columns
    most = _BLOCKS * threads // batch
    down = cuts(m, rows, _LEAST_ROWS, 1, most)
    return min(((r, c) for r in down for c in cuts(n, columns, _WIDE, _WIDE, most // math.ceil(m / r))), key=cost)


def _even(size: int, most: int, step: int) -> int:
    """The size of equal parts, a multiple of `step` where that is not more than all."""
    each = math.ceil(size / math.ceil(size / most))
    return min(size, -(-each // step) * step)
