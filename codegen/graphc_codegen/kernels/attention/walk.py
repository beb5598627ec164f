"""What attention and its gradients share: blocks of keys for a block of queries, their scores, who sees whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from graphc_codegen.kernels.attention import plan
from graphc_codegen.kernels.base import Params
from graphc_codegen.kernels.gemm.plan import VECTORS
from graphc_codegen.kernels.microkernel import (
    Pieces,
    Segment,
    blocks,
    contiguous,
    registers,
    splat_tile,
)
from graphc_codegen.kernels.transposition import transpose_into
from graphc_codegen.kernels.vectors import iota
from graphc_codegen.scalars import maths_float32, maths_float64
from graphc_codegen.writer import Writer

Index = str | int

Scores = Callable[[str, int, Index], str]
Chance = Callable[[int, Index], str] | None


class Walk:
    """Blocks of one kernel. Panels have a row for each key or each feature, and the queries of a block along it.

    `operands` are addresses by name; `masks` those of masks; `random` that of the key of dropout.
    """

    def __init__(self, w: Writer, p: Params, pointers: Sequence[str], rest: Sequence[str]) -> None:
        self.w, self.p = w, p
        self.cut = plan.cut(p, w.lanes, w.floats)
        count = len(p["masks"])
        given = list(pointers)
        self.operands = dict(zip("qkv", given[:3], strict=True))
        self.masks = given[3 : 3 + count]
        self.random = given[3 + count] if plan.dropped(p) else ""
        self.operands.update(zip(rest, given[3 + count + plan.dropped(p) :], strict=True))
        # A mask that differs among queries is turned, block by block.
        self._turned = [self.panel(self.cut.keys, self.cut.wide) for strides in p["masks"] if strides[-2]]

    # ---- memory

    def panel(self, rows: int, columns: int) -> str:
        """Memory on the stack; to be asked for outside of all loops."""
        return self.w.op(f"alloca [{rows * columns} x {self.w.element}], align 64")

    def matrix(self, name: str, batch: Index, row: Index = 0) -> str:
        """The address of a row of an operand's matrix."""
        seen = plan.view(self.p, name)
        terms = [*zip(self.w.digits(batch, self.p["axes"]), seen.strides, strict=True), (row, seen.lead)]
        return self.w.at(self.operands[name], self.w.linear((seen.offset, 1), *terms))

    def lead(self, name: str) -> int:
        return plan.view(self.p, name).lead

    def fill(self, panel: str, rows: int, vector: str) -> None:
        """One vector everywhere in so many rows of a panel of queries."""
        size = rows * self.cut.queries
        self.w.repeat(
            size // self.w.lanes, lambda i: self.w.vstore(vector, self.w.at(panel, self.w.mul(i, self.w.lanes)))
        )

    def strip(self, panel: str, at: Index) -> list[str]:
        """The vectors of a strip, whose first query is number `at` of the block, in a panel of one row."""
        w = self.w
        return [w.vload(w.at(panel, w.linear((at, 1), (u * w.lanes, 1)))) for u in range(VECTORS)]

    # ---- queries

    def queries(self, first: Index, body: Callable[[int], None]) -> None:
        """`body(number of queries)` for the block that begins with a query; the last one may have fewer."""
        w, c = self.w, self.cut
        if not c.tail or c.blocks == 1:
            body(c.tail or c.queries)
            return
        whole = w.op(f"icmp sle i64 {first}, {self.p['l'] - c.queries}")
        w.when(whole, lambda: body(c.queries))
        w.when(w.op(f"xor i1 {whole}, true"), lambda: body(c.tail))

    def count(self, first: Index) -> Index:
        """How many queries a block has."""
        return self.w.smaller(self.w.subtracted(self.p["l"], first), self.cut.queries)

    def pack(self, name: str, batch: Index, first: Index, panel: str) -> None:
        """The rows of a block of queries as columns of a panel."""
        rows, columns = self.matrix(name, batch, first), plan.shapes(self.p)[name][1]

        def turn(count: int) -> None:
            transpose_into(self.w, rows, self.lead(name), count, columns, panel, self.cut.queries)

        self.queries(first, turn)

    def unpack(self, panel: str, name: str, batch: Index, first: Index) -> None:
        """The columns of a panel as rows of a block of queries."""
        rows, columns = self.matrix(name, batch, first), plan.shapes(self.p)[name][1]

        def turn(count: int) -> None:
            transpose_into(self.w, panel, self.cut.queries, columns, count, rows, self.lead(name))

        self.queries(first, turn)

    def rows(self, first: Index, pairs: Sequence[tuple[str, str]]) -> None:
        """Copy a number for each query of a block, from the first address of each pair to the second."""
        w = self.w

        def one(i: str | int, _: list[str]) -> None:
            for source, target in pairs:
                w.store(w.load(w.at(source, i)), w.at(target, i))

        w.loop(self.count(first), one)

    def numbers(self, first: Index, strip: Index) -> list[str]:
        """The numbers of the queries of a strip, as vectors of i32."""
        w = self.w
        start = w.linear((first, 1), (strip, self.cut.wide))
        return [w.binary("add", self.whole(w.add(start, u * w.lanes)), iota(w), "i32") for u in range(VECTORS)]

    def whole(self, number: Index) -> str:
        """A number in every lane, as i32."""
        w = self.w
        if isinstance(number, int):
            return w.constant(number, "i32")
        return w.splat(w.op(f"trunc i64 {number} to i32"), "i32")

    # ---- keys

    def blocks(self, first: Index, body: Callable[[Index, Index, Index], None]) -> None:
        """`body(first key, tiles, keys)` for every block of keys that queries from `first` on see."""
        w, c, p = self.w, self.cut, self.p
        tiles: Index = c.tiles
        if p["ahead"] >= 0:
            seen = w.add(first, c.queries + p["ahead"])
            tiles = w.smaller(w.divided(w.add(seen, c.rows - 1), c.rows)[0], c.tiles)
        if c.last == 0:
            body(0, c.tiles, p["s"])
            return
        count = w.divided(w.add(tiles, c.most - 1), c.most)[0]

        def one(i: str, _: list[str]) -> None:
            some = w.smaller(w.subtracted(tiles, w.mul(i, c.most)), c.most)
            keys = w.mul(some, c.rows)
            if c.rest:
                end = w.op(f"icmp eq i64 {i}, {c.last}")
                keys = w.add(keys, w.op(f"select i1 {end}, i64 {c.rest}, i64 0"))
            body(w.mul(i, c.most * c.rows), some, keys)

        w.loop(count, one)

    def tiles(self, first: Index, tiles: Index, body: Callable[[Index, int], None]) -> None:
        """`body(key in the block, keys)` for every tile of a block."""
        w, c = self.w, self.cut
        if isinstance(tiles, int):
            w.repeat(tiles, lambda i: body(w.mul(i, c.rows), c.rows))
        else:
            w.loop(tiles, lambda i, _: body(w.mul(i, c.rows), c.rows))
        if not c.rest:
            return
        if c.last == 0:
            body(c.tiles * c.rows, c.rest)
            return
        start = w.mul(tiles, c.rows)
        is_last = w.op(f"icmp eq i64 {first}, {c.last * c.most * c.rows}")
        w.when(is_last, lambda: body(start, c.rest))

    def products(
        self, rows: str, lead: int, columns: str, depth: int, into: str, wide: int, block: tuple[Index, Index]
    ) -> None:
        """into[key, query] = rows[key] . columns[:, query] for a block (its first key, tiles) and the queries of a strip."""
        w = self.w

        def tile(j: Index, size: int) -> None:
            acc = splat_tile(
                w, w.at(rows, w.mul(j, lead)), columns, [r * lead for r in range(size)], self.vectors(), (),
                (Segment(depth, 1, self.cut.queries, ((0, 0),)),),
            )  # fmt: skip
            for n, value in enumerate(acc):
                r, u = divmod(n, VECTORS)
                w.vstore(value, w.at(into, w.linear((j, wide), (r * wide + u * w.lanes, 1))))

        self.tiles(*block, tile)

    def gather(
        self,
        rows: str,
        lead: int,
        depth: int,
        weights: str,
        wide: int,
        keys: Index,
        sums: str,
        factor: Sequence[str] = (),
    ) -> None:
        """sums[feature, query] = sums * factor + sum over keys of rows[key, feature] weights[key, query], for a strip."""
        w, queries = self.w, self.cut.queries

        def tile(d: Index, size: int) -> None:
            places = [
                w.at(sums, w.linear((d, queries), (r * queries + u * w.lanes, 1)))
                for r in range(size)
                for u in range(VECTORS)
            ]
            before = [w.vload(place) for place in places]
            if factor:
                before = [w.binary("fmul", x, factor[n % VECTORS]) for n, x in enumerate(before)]
            segment = Segment(keys, lead, wide, ((0, 0),))
            acc = splat_tile(w, w.at(rows, d), weights, list(range(size)), self.vectors(), (), (segment,), before)
            for value, place in zip(acc, places, strict=True):
                w.vstore(value, place)

        for start, count, size in blocks(depth, registers(w.floats) // VECTORS):
            w.repeat(count, partial(_at, w, start, size, tile))

    def vectors(self) -> list[Pieces]:
        """Those of a strip."""
        return contiguous([self.w.lanes] * VECTORS, self.w.lanes)

    def strips(self, first: Index, body: Callable[[Index], None]) -> None:
        """`body(number)` for every strip of a block that has queries."""
        count = self.w.divided(self.w.add(self.count(first), self.cut.wide - 1), self.cut.wide)[0]
        if isinstance(count, int):
            self.w.repeat(count, body)
        else:
            self.w.loop(count, lambda i, _: body(i))

    # ---- scores

    def _masks(
        self, batch: Index, first: Index, strip: Index, key: Index, tiles: Index
    ) -> list[tuple[str, int | None]]:
        """Where masks are read for a block of keys: address, and the stride from key to key of what holds for all queries."""
        w, turned = self.w, iter(self._turned)
        made: list[tuple[str, int | None]] = []
        for strides, pointer in zip(self.p["masks"], self.masks, strict=True):
            *lead, down, across = strides
            terms = list(zip(self.w.digits(batch, self.p["axes"]), lead, strict=True))
            if not down:
                made.append((w.at(pointer, w.linear(*terms, (key, across))), across))
                continue
            panel = next(turned)
            start = w.linear((first, 1), (strip, self.cut.wide))
            self._turn(
                w.at(pointer, w.linear(*terms, (start, down), (key, across))), (down, across), start, key, tiles, panel
            )
            made.append((panel, None))
        return made

    def _turn(self, source: str, strides: tuple[int, int], start: Index, key: Index, tiles: Index, panel: str) -> None:
        """panel[key, query] of a mask for a strip of queries and a block of keys."""
        w, c, (down, across) = self.w, self.cut, strides
        left = w.subtracted(self.p["l"], start)

        def few_queries(single: Callable[[str, list[str]], None]) -> None:
            w.turns((0, left), single)

        def tile(j: Index, size: int) -> None:
            rows, target = w.at(source, w.mul(j, across)), w.at(panel, w.mul(j, c.wide))

            def single(i: str, _: list[str]) -> None:
                for r in range(size):
                    value = w.load(w.at(rows, w.linear((i, down), (r * across, 1))))
                    w.store(value, w.at(target, w.linear((i, 1), (r * c.wide, 1))))

            if across != 1:
                w.turns((0, w.smaller(left, c.wide)), single)
                return
            if self.p["l"] >= c.wide:
                full = w.op(f"icmp sge i64 {left}, {c.wide}")
                w.when(full, lambda: transpose_into(w, rows, down, c.wide, size, target, c.wide))
            if self.p["l"] % c.wide:
                few = w.op(f"icmp slt i64 {left}, {c.wide}")
                w.when(few, lambda: few_queries(single))

        self.tiles(key, tiles, tile)

    def scores(self, batch: Index, first: Index, strip: Index, key: Index, tiles: Index) -> Scores:
        """(product, number of the vector, key in the block) -> scores, for a strip of queries and a block of keys."""
        masks = self._masks(batch, first, strip, key, tiles)
        numbers = self.numbers(first, strip) if self.p["ahead"] >= 0 else ()

        def score(product: str, u: int, j: Index) -> str:
            seen = self._seen(numbers[u], key, j) if numbers else ""
            return self._score(product, u, j, masks, seen)

        return score

    def _score(self, product: str, u: int, j: Index, masks: Sequence[tuple[str, int | None]], seen: str) -> str:
        w = self.w
        value = w.binary("fmul", product, w.constant(self.p["scale"]))
        for pointer, stride in masks:
            if stride is not None:
                added = w.splat(w.load(w.at(pointer, w.mul(j, stride))))
            else:
                added = w.vload(w.at(pointer, w.linear((j, self.cut.wide), (u * w.lanes, 1))))
            value = w.binary("fadd", value, added)
        return w.select(seen, value, w.constant(float("-inf"))) if seen else value

    def _seen(self, numbers: str, key: Index, j: Index) -> str:
        """Which queries of a vector see a key of the block."""
        w, ahead = self.w, self.p["ahead"]
        return w.binary("icmp sge", numbers, self.whole(w.linear((key, 1), (j, 1), (-ahead, 1))), "i32")

    # ---- numbers

    def lowest(self) -> str:
        """Below all finite scores; so is no difference to it infinite or NaN."""
        return self.w.constant(-3.4028234663852886e38 if self.w.element == "float" else -1.7976931348623157e308)

    def exp(self, x: str) -> str:
        """e**x for x <= 0."""
        return maths_float32.exp_of_negative(self.w, x) if self.w.element == "float" else maths_float64.exp(self.w, x)

    def maximum(self, a: str, b: str) -> str:
        """The larger; where only `a` is NaN, b."""
        return self.w.select(self.w.binary("fcmp ogt", a, b), a, b)

    # ---- dropout

    def chance(self, batch: Index, first: Index, strip: Index, key: Index) -> Chance:
        """(number of the vector, key in the block) -> which shares are not dropped, for a strip of queries; None: all."""
        if not plan.dropped(self.p):
            return None
        w = self.w
        secret = w.load(self.random, "i64")
        low, high = self.whole(secret), self.whole(w.op(f"lshr i64 {secret}, 32"))
        base = self.whole(w.mul(batch, self.p["l"]))
        starts = []
        for vector in self.numbers(first, strip):
            # Positions among all shares count modulo 2**32.
            row = w.binary("mul", w.binary("add", vector, base, "i32"), w.constant(self.p["s"], "i32"), "i32")
            starts.append(w.binary("add", row, low, "i32"))
        return lambda u, j: self._kept(starts[u], key, j, high)

    def _kept(self, start: str, key: Index, j: Index, high: str) -> str:
        w = self.w
        x = w.binary("add", start, self.whole(w.linear((key, 1), (j, 1))), "i32")
        for mixed in (False, True):
            if mixed:
                x = w.binary("xor", x, high, "i32")
            for shift, factor in plan.ROUND:
                x = w.binary("xor", x, w.binary("lshr", x, w.constant(shift, "i32"), "i32"), "i32")
                if factor != 1:
                    x = w.binary("mul", x, w.constant(factor, "i32"), "i32")
        number = w.binary("lshr", x, w.constant(8, "i32"), "i32")
        return w.binary("icmp ult", number, w.constant(plan.threshold(self.p), "i32"), "i32")


def _at(w: Writer, start: int, size: int, tile: Callable[[Index, int], None], i: Index) -> None:
    tile(w.linear((i, size), (start, 1)), size)
