"""Matrix products C = A B: either operand transposed, single or batched, overwriting or accumulating.

One operand gives scalars, the other vectors that lie along m or n. Vectors that are not contiguous there are
transposed first, strip by strip, into a panel on the stack; contiguous ones may be copied there. Where they lie along
m, tiles of C are transposed before they are stored. If both operands are contiguous along k, lanes may run along k.
An epilogue is applied to each vector of a tile, which repeats its code: it should be short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Emitter, Operand, Params
from graphc_codegen.kernels.gemm import sweep
from graphc_codegen.kernels.gemm.fetch import FAR_AWAY, Rows, Strip, beside, far_extras
from graphc_codegen.kernels.gemm.pack import Tiles
from graphc_codegen.kernels.gemm.pairs import as_scalars, pack_pairs, pairs_of, places
from graphc_codegen.kernels.gemm.panels import Matrices, emit_panels, strip_elements
from graphc_codegen.kernels.gemm.plan import (
    FINISHES,
    LARGE,
    VECTORS,
    Side,
    aliases,
    axes_of,
    choose,
    domain,
    dot_sizes,
    dtype_of,
    few_rows,
    pairs_lie,
    shapes,
    steps,
    views,
    whole_lead,
)
from graphc_codegen.kernels.gemm.tiled import emit_tiled, kinds_of, packed_elements
from graphc_codegen.kernels.gemm.turns import Triangle, Turns, triangle_of, unless_above
from graphc_codegen.kernels.gemm.twin import twin
from graphc_codegen.kernels.microkernel import (
    Blocks,
    Kind,
    Pieces,
    Segment,
    block_kinds,
    contiguous,
    dot_tile,
    each_tile,
    prefetch,
    registers,
    splat_tile,
    strip_kinds,
    total_places,
    widest,
)
from graphc_codegen.kernels.transposition import transpose_into
from graphc_codegen.writer import Writer

#: The most rows of tiles with as many vectors as there are registers for.
_LOW = 2
#: Turns of k to prefetch ahead when the vectors of an operand lie further apart than this many elements.
_AHEAD, _FAR = 8, 128
#: The most elements of a matrix that is fetched while another one is multiplied.
_SMALL = 1 << 13
#: The most rows of it that are fetched with one row of a tile.
_MOST_TOGETHER = 4


class _Coming(NamedTuple):
    """A matrix of the next product, which is fetched meanwhile; `lead` lies between its rows. C has `all` elements."""

    pointer: str
    rows: int
    columns: int
    lead: int
    all: int


class _Product(NamedTuple):
    """C = S V: of S scalars are read, of V vectors. C's stride is `rows` along S and `lanes` along V.

    `finish` applies the epilogue and marks, if there is one to apply; `tile` is memory for tiles that are transposed; `at`
    is where this product begins: batch, i, j; `far` says that C is not near, and `coming` what is fetched for the next product.
    `source` is the operand of vectors that are fetched strip by strip while tiles of the strip before are computed.
    `triangle` is what a product with that parameter can do less of. If S and V are of `pairs` of bfloat16, that is the number of
    terms, and `k` that of pairs.
    """

    scalars: Side
    vectors: Side
    k: int
    c: str
    rows: int
    lanes: int
    accumulate: bool
    finish: epilogue.Finish | None
    tile: str
    at: tuple[str | int, str | int, str | int]
    far: bool
    coming: tuple[_Coming, ...]
    source: Side | None = None
    triangle: Triangle | None = None
    blocks: Blocks | None = None
    pairs: int = 0

    @property
    def turns(self) -> Turns:
        """Those of k."""
        counted = None if self.triangle is None or self.triangle.result else self.triangle
        return Turns(self.scalars.deep, self.vectors.deep, self.k, bool(self.pairs), counted, self.blocks is not None)


def operands(p: Params) -> tuple[Operand, ...]:
    """a [batch, m, k] ([k, m] if `ta`), b [batch, k, n] ([n, k] if `tb`) -> c [batch, m, n], all float32, or all of `dtype`.

    `accumulate` adds to what c holds. `batch` is 1 by default. An operand is contiguous unless a parameter of its
    name says otherwise: (size, offset, lead, *strides) as in `View`, with a stride for each of `axes`, the sizes
    whose product is `batch`. May have an epilogue and marks, unless it accumulates or c is not contiguous.

    With `triangle` = "a" the matrices of a, as it is stored, are square and hold zeros above their diagonal, which need not be
    multiplied. With "c" those of c are square, and what is above their diagonal does not count: it may be anything.

    With `tiles` the second factor may be `packed`: what `pack_factor` has made of numbers of that dtype; with `panels` what
    `pack_panels` has.

    `rounds` has the numbers of factors of float32 that are rounded to bfloat16 as they are read; the others are that in memory.
    Only products with panels can.
    """
    (a, b, c), dtype = views(p), dtype_of(p)
    plain = "c" in p or dtype != "float32"
    results = [Operand(dtype, c.size, "out")] if plain else list(epilogue.operands(p, domain(p)))
    if "scratch" in p:
        results.insert(len(p.get("extras", ())), Operand(dtype, p["scratch"], "out"))
    if "packed" in p:
        second = packed_elements(p) if "tiles" in p else strip_elements(p["n"], p["k"], *p["panels"][::2])
    else:
        second = b.size
    return Operand(dtype, a.size, "in"), Operand(dtype, second, "in"), *results


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Writes the products one after the other; threads share them, or parts of each."""
    with w.elements(REGISTER[dtype_of(p)]):
        _emit(w, p, pointers)


def _emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    seen, axes, extras = views(p), axes_of(p), len(p.get("extras", ()))
    batch = math.prod(axes)
    factors, rest = pointers[:2], list(pointers[2:])
    memory = rest.pop(extras) if "scratch" in p else ""
    finish = epilogue.Finish(w, p, domain(p), rest) if p.keys() & FINISHES else None
    if finish is not None:
        finish.begin()

    def matrices(index: str | int) -> list[str]:
        digits = w.digits(index, axes)
        return [
            w.at(pointer, w.linear((view.offset, 1), *zip(digits, view.strides, strict=True)))
            for view, pointer in zip(seen, (*factors, rest[extras]), strict=True)
        ]

    def sides(index: str | int) -> tuple[Side, Side, str]:
        a, b, c = matrices(index)
        left, right = (Side(x, p[size], *strides) for x, size, strides in zip((a, b), "mn", steps(p), strict=True))
        return left, right, c

    if "tiles" in p:
        emit_tiled(
            w, p, finish, lambda index: Matrices(*sides(index), seen[2].lead, index), memory, kinds_of(w, p, factors)
        )
        return
    pairs = pairs_of(w, factors, p.get("rounds", ()))
    if memory and ("packed" in p or not few_rows(p, w.floats)):
        emit_panels(w, p, finish, lambda index: Matrices(*sides(index), seen[2].lead, index), memory, pairs)
        return
    way = choose(p, w.lanes, pairs=pairs is not None)
    k = -(-p["k"] // 2) if way.pairs else p["k"]
    lead = whole_lead(p, w.lanes) if way.packs and not way.pairs else 0
    panel = w.op(f"alloca [{k * (lead or VECTORS * w.lanes)} x {w.element}], align 64") if way.packs else ""
    copied = way.pairs and not pairs_lie(p)
    scalars = w.op(f"alloca [{k * places(w, p['m'])} x {w.element}], align 64") if copied else ""
    sums = sweep.memory(w) if way.sweeps else ""
    tile = w.op(f"alloca [{registers(w.floats) * w.lanes} x {w.element}], align 64") if way.swaps else ""
    block = int(p.get("block", 0))
    blocks = Blocks(0, block, total_places(w)) if block else None

    def product(index: str | int) -> None:
        left, right, c = sides(index)
        start = (index, 0, 0)
        far = batch == 1 and not p["accumulate"] and 4 * p["m"] * p["n"] >= FAR_AWAY
        coming = _coming(w, p, matrices(w.divided(w.add(index, 1), batch)[1])) if batch > 1 else ()
        if way.swaps:
            x = _Product(right, left, p["k"], c, 1, seen[2].lead, p["accumulate"], finish, tile, start, far, coming)
        else:
            left = as_scalars(w, left, p["k"], scalars) if way.pairs else left
            x = _Product(left, right, k, c, seen[2].lead, 1, p["accumulate"], finish, tile, start, far, coming)
        x = x._replace(pairs=p["k"] if way.pairs else 0, triangle=triangle_of(p, way), blocks=blocks)
        if way.dots:
            _along_k(w, x)
        elif way.sweeps:
            _sweep(w, x, sums)
        else:
            _splat(w, x, panel, lead)

    if batch % w.threads == 0 or batch >= 4 * w.threads:
        w.share(batch, product, hand_out=True)
    else:
        w.repeat(batch, product)


def _coming(w: Writer, p: Params, pointers: Sequence[str]) -> tuple[_Coming, ...]:
    """What to fetch for the next product: the small ones of a, b and c. Tiles share them as they share C."""
    all = p["m"] * p["n"]
    found = (_Coming(x, *shape, v.lead, all) for x, shape, v in zip(pointers, shapes(p), views(p), strict=True))
    return tuple(c for c in found if c.rows >= p["m"] and c.rows * c.columns <= _SMALL)


# ---- scalars times vectors


def _splat(w: Writer, x: _Product, panel: str, lead: int) -> None:
    if lead:
        v, panel = Side(panel, x.vectors.size, 1, lead), ""
        transpose_into(w, x.vectors.pointer, x.vectors.along, v.size, x.k, v.pointer, lead)
        x = x._replace(vectors=v)
    low = not panel and x.lanes == 1 and x.scalars.size <= _LOW
    # Tiles of few rows read long pieces of the rows of V, so that memory is as fast as it can be.
    kinds = strip_kinds(x.vectors.size, w.lanes, widest(w.floats, x.scalars.size) if low else VECTORS)
    if not panel and x.lanes == 1 and _by_rows(x, 4 * w.floats // w.lanes):
        _tiles_by_rows(w, x, kinds)
        return
    v = x.vectors
    if v.size > VECTORS * w.lanes and 4 * x.k * v.size >= FAR_AWAY:
        x = x._replace(source=v)
    for kind in kinds:
        if panel:
            _packed(w, x, kind, panel)
        else:
            _tiles(w, x, kind)


def _sweep(w: Writer, x: _Product, sums: str) -> None:
    """Whole vectors of columns, then the rest of them."""

    def store(value: str, r: int, j: str | int) -> None:
        if x.finish is not None:
            _finish(w, x, [value], (r, j), [w.lanes])
            return
        place = w.at(x.c, w.linear((r, x.rows), (j, 1)))
        w.vstore(w.binary("fadd", value, w.vload(place)) if x.accumulate else value, place)

    sweep.sweep(w, x.scalars, x.vectors, x.k, sums, store)
    whole, rest = divmod(x.vectors.size, w.lanes)
    if rest:
        _tiles(w, x._replace(lanes=1), (whole * w.lanes, 1, 0, (rest,)))


def _by_rows(x: _Product, item: int) -> bool:
    """Whether to go along the rows of C: where these come from far away, but all vectors stay near."""
    v = x.vectors
    large, small = item * x.scalars.size * v.size, item * x.k * v.size
    return large >= LARGE > small and not aliases(v.deep * item, x.k)


def _packed(w: Writer, x: _Product, kind: Kind, panel: str) -> None:
    """Strip after strip by way of the panel. Threads that do not share the strips fill one each and share its tiles."""
    start, count, step, widths = kind
    v, wide = x.vectors, VECTORS * w.lanes

    def row(source: str, z: str | int) -> None:
        for u, width in enumerate(widths):
            place = w.at(source, w.linear((z, v.deep), (u * w.lanes, 1)))
            prefetch(w, place, 2 * _AHEAD * v.deep)
            w.vstore(w.vload(place, width), w.at(panel, w.linear((z, wide), (u * w.lanes, 1))))

    def strip(index: str | int) -> None:
        j = w.linear((index, step), (start, 1))
        source = w.at(v.pointer, w.mul(j, v.along))
        if x.pairs:
            to = Tiles(panel, 1, sum(widths), wide, 0)
            pack_pairs(w, v, x.pairs, (j, 0), x.k, to, filled_up=False, inside=True)
        elif v.along == 1:
            w.repeat(x.k, partial(row, source))
        else:
            transpose_into(w, source, v.along, sum(widths), x.k, panel, wide)
        batch, i, _ = x.at
        part = x._replace(vectors=Side(panel, sum(widths), 1, wide), c=w.at(x.c, w.mul(j, x.lanes)), at=(batch, i, j))
        _tiles(w, part, (0, 1, 0, widths), whole=True)

    if count % w.threads == 0 or count >= 8 * w.threads:
        w.share(count, strip, hand_out=True)
    else:
        w.repeat(count, strip)


def _tiles(w: Writer, x: _Product, kind: Kind, *, whole: bool = False) -> None:
    """All tiles in strips of one kind."""
    rows, columns = x.scalars.size, x.vectors.size
    # Rows of S and C are more than V: each thread has rows of its own, which are near it from the kernel before.
    tall = rows * (x.k + columns) > x.k * columns
    each_tile(
        w, [kind], block_kinds(rows, registers(w.floats) // len(kind[3])), partial(_tile, w, x, whole), own_inner=tall
    )


def _tiles_by_rows(w: Writer, x: _Product, kinds: Sequence[Kind]) -> None:
    """All tiles, those of the same rows one after the other."""

    def tile(i: str | int, size: int, j: str | int, widths: tuple[int, ...]) -> None:
        _tile(w, x, False, j, widths, i, size)

    wide = max(len(widths) for *_, widths in kinds)
    each_tile(w, block_kinds(x.scalars.size, registers(w.floats) // wide), kinds, tile)


def _tile(w: Writer, x: _Product, whole: bool, j: str | int, widths: tuple[int, ...], i: str | int, size: int) -> None:
    """One tile. `whole` vectors are loaded, as a panel has them; spare lanes hold anything."""
    unless_above(w, x.triangle, _place(w, x, (i, j)), size, lambda: _seen_tile(w, x, whole, j, widths, i, size))


def _seen_tile(
    w: Writer, x: _Product, whole: bool, j: str | int, widths: tuple[int, ...], i: str | int, size: int
) -> None:
    s, v = x.scalars, x.vectors
    ahead = (_AHEAD if len(widths) <= VECTORS else 2) if v.deep > _FAR else 0
    a, b = w.at(s.pointer, w.mul(i, s.along)), w.at(v.pointer, j)
    target = w.at(x.c, w.linear((i, x.rows), (j, x.lanes)))
    vectors = contiguous([w.lanes] * len(widths) if whole else widths, w.lanes)
    rows = [r * s.along for r in range(size)]
    columns = sum(widths)
    turns = x.turns
    loop, ahead = turns.counting(w, _place(w, x, (i, j)), size, columns), -(-ahead // turns.together)
    if x.lanes != 1:
        acc = splat_tile(w, a, b, rows, vectors, (), turns.segments(w, loop), None, ahead, x.blocks)
        _store_transposed(w, x, acc, target, widths)
        return
    strip = _next_strip(w, x, (i, j), size, columns)
    fetch = beside(w, _wanted(w, x, (i, j), columns), size, turns.least(size), strip)
    segments = turns.segments(w, loop, fetch)
    places = [(w.at(target, r * x.rows + u * w.lanes), n) for r in range(size) for u, n in enumerate(widths)]
    before = [w.vload(*place) for place in places] if x.accumulate else None
    acc = splat_tile(w, a, b, rows, vectors, (), segments, before, ahead, x.blocks, pairs=bool(x.pairs))
    if x.finish is not None:
        _finish(w, x, acc, (i, j), widths)
        return
    for value, place in zip(acc, places, strict=True):
        w.vstore(value, *place)


def _store_transposed(w: Writer, x: _Product, acc: Sequence[str], target: str, widths: Sequence[int]) -> None:
    for i, value in enumerate(acc):
        w.vstore(value, w.at(x.tile, i * w.lanes))
    rows = len(acc) // len(widths)
    transpose_into(w, x.tile, len(widths) * w.lanes, rows, sum(widths), target, x.lanes, add=x.accumulate)


# ---- epilogues


def _wanted(w: Writer, x: _Product, at: tuple[str | int, str | int], columns: int) -> list[Rows]:
    """What a tile reads and writes at its end, and its rows of the next product, as far as they may not be near."""
    batch, i, j = _place(w, x, at)
    wanted = [
        Rows(pointer, w.linear((batch, outer), (i, lead), (j, step)), lead, columns)
        for pointer, (outer, lead, step) in far_extras(x.finish)
    ]
    if x.far:
        wanted.append(Rows(x.c, w.linear((at[0], x.rows), (at[1], 1)), x.rows, columns))
    for c in x.coming:
        size, elements = x.scalars.size, c.rows * c.columns
        if c.lead == c.columns:
            # For each row of a tile a piece of the matrix, where the pieces of the tiles before have their end.
            piece = math.ceil(elements * columns / c.all)
            before = w.divided(w.linear((j, size * elements), (i, columns * elements)), c.all)[0]
            wanted.append(Rows(c.pointer, before, piece, piece))
        elif columns * size == c.all and c.rows <= _MOST_TOGETHER * size:
            for begin in range(0, c.rows, size):
                wanted.append(Rows(c.pointer, w.mul(w.add(at[0], begin), c.lead), c.lead, c.columns))
    return wanted


def _next_strip(w: Writer, x: _Product, at: tuple[str | int, str | int], size: int, columns: int) -> Strip | None:
    """A tile's share of the vectors of the next strip, if these may not be near."""
    if x.source is None:
        return None
    v, (_, i, j) = x.source, _place(w, x, at)
    first = w.mul(w.add(j, columns), v.along)
    return Strip(v.pointer, first, x.k, columns, v.deep, v.along, i, size, x.scalars.size)


def _place(w: Writer, x: _Product, at: tuple[str | int, str | int]) -> tuple[str | int, str | int, str | int]:
    batch, i, j = x.at
    return batch, w.add(i, at[0]), w.add(j, at[1])


def _finish(w: Writer, x: _Product, acc: Sequence[str], at: tuple[str | int, str | int], widths: Sequence[int]) -> None:
    """Apply the epilogue to a tile, and store it."""
    assert x.finish is not None
    batch, i, j = _place(w, x, at)
    wide = len(widths)
    watched = []
    for index, value in enumerate(acc):
        r, u = divmod(index, wide)
        watched.append(x.finish.watch(value, (batch, w.add(i, r), w.add(j, u * w.lanes)), widths[u]))
    x.finish.mark(watched)


# ---- lanes along k


def _along_k(w: Writer, x: _Product) -> None:
    s, v = x.scalars, x.vectors
    segments = _runs(x.k, w.lanes)
    size_m, size_n = dot_sizes(w.lanes, 4 * w.floats // w.lanes)

    def tile(j: str | int, columns: int, i: str | int, rows: int) -> None:
        unless_above(w, x.triangle, _place(w, x, (i, j)), rows, lambda: seen_tile(j, columns, i, rows))

    def seen_tile(j: str | int, columns: int, i: str | int, rows: int) -> None:
        target = w.at(x.c, w.linear((i, x.rows), (j, 1)))
        left, right = w.at(s.pointer, w.mul(i, s.along)), w.at(v.pointer, w.mul(j, v.along))
        fetch = beside(w, _wanted(w, x, (i, j), columns), rows, rows)
        if fetch is not None:
            w.repeat(rows, fetch)
        at_rows, at_columns = [r * s.along for r in range(rows)], [q * v.along for q in range(columns)]
        watched = []
        for r, value in enumerate(dot_tile(w, left, right, at_rows, at_columns, (), segments, x.blocks)):
            place = w.at(target, r * x.rows)
            if x.finish is not None:
                batch, row, column = _place(w, x, (w.add(i, r), j))
                watched.append(x.finish.watch(value, (batch, row, column), columns))
                continue
            if x.accumulate:
                value = w.binary("fadd", value, w.vload(place, columns))
            w.vstore(value, place, columns)
        if x.finish is not None:
            x.finish.mark(watched)

    each_tile(w, block_kinds(v.size, size_n), block_kinds(s.size, size_m), tile)


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


GEMM = Emitter(operands, emit, twin)
