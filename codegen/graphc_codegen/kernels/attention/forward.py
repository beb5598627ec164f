"""Attention: y = dropout(softmax(scale q k^T + masks)) v, with the greatest score of each query and the sum beside it.

One block of queries walks over blocks of keys. Queries lie along the lanes: products read keys and values as they lie in
memory, one number for all lanes, and the greatest scores, the sums and what they rescale are vectors without anything across
lanes. The softmax is online: what earlier blocks gave is multiplied by exp(old greatest - new greatest) (Milakov and Gimelshein,
2018; Dao et al., "FlashAttention", 2022). A query that sees no key, all scores -inf, gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.kernels.attention import plan
from graphc_codegen.kernels.attention.walk import Chance, Index, Scores, Walk
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.gemm.plan import VECTORS
from graphc_codegen.writer import Writer, vec


def operands(p: Params) -> tuple[Operand, ...]:
    """q [axes, l, d], k [axes, s, d], v [axes, s, e], masks, with dropout the key int64 [1] -> y [axes, l, e], and [axes, l]
    twice: the greatest score of each query, and the sum of exp(score - greatest). All float32, or `dtype`.

    `masks` has the strides of each along axes, queries and keys; it is added to scores. Query i sees the keys up to i + `ahead`,
    all if that is negative. `keep`, below 1, is the part of shares that is not dropped; it is divided by `keep`. Operands may be
    views, see `gemm`, whose rows are contiguous.
    """
    dtype, rows = plan.dtype_of(p), plan.batch(p) * p["l"]
    made = [Operand(dtype, size, "out") for size in (plan.view(p, "y").size, rows, rows)]
    return (*plan.read(p), *made)


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    with w.elements(REGISTER[plan.dtype_of(p)]):
        one = _Block(w, p, pointers)
        w.share(plan.batch(p) * one.walk.cut.blocks, one.write, hand_out=True)


class _Block:
    """What a block of queries gives; `sums` are those of the values so far, `tops` and `totals` of what is in the exponents."""

    def __init__(self, w: Writer, p: Params, pointers: Sequence[str]) -> None:
        self.w, self.p, self.walk = w, p, Walk(w, p, pointers, ("y", "top", "total"))
        c, panel = self.walk.cut, self.walk.panel
        self.queries, self.shares = panel(p["d"], c.queries), panel(c.keys, c.wide)
        self.sums, self.tops, self.totals = panel(p["e"], c.queries), panel(1, c.queries), panel(1, c.queries)

    def write(self, number: Index) -> None:
        w, walk, c = self.w, self.walk, self.walk.cut
        batch, block = w.divided(number, c.blocks)
        first = w.mul(block, c.queries)
        walk.pack("q", batch, first, self.queries)
        walk.fill(self.tops, 1, walk.lowest())
        walk.fill(self.totals, 1, "zeroinitializer")
        walk.fill(self.sums, self.p["e"], "zeroinitializer")

        def keys(key: Index, tiles: Index, count: Index) -> None:
            walk.strips(first, lambda strip: self._strip(batch, first, strip, (key, tiles, count)))

        walk.blocks(first, keys)
        walk.strips(first, self._divide)
        walk.unpack(self.sums, "y", batch, first)
        start = w.linear((batch, self.p["l"]), (first, 1))
        walk.rows(first, [(getattr(self, f"{n}s"), w.at(walk.operands[n], start)) for n in ("top", "total")])

    def _strip(self, batch: Index, first: Index, strip: Index, block: tuple[Index, Index, Index]) -> None:
        w, walk, (key, tiles, count) = self.w, self.walk, block
        at = w.mul(strip, walk.cut.wide)
        k, v = walk.matrix("k", batch, key), walk.matrix("v", batch, key)
        walk.products(k, walk.lead("k"), w.at(self.queries, at), self.p["d"], self.shares, walk.cut.wide, (key, tiles))
        before = walk.strip(self.tops, at)
        tops = self._tops(walk.scores(batch, first, strip, key, tiles), count, before)
        factors = [walk.exp(w.binary("fsub", x, y)) for x, y in zip(before, tops, strict=True)]
        sums = self._exponentials(walk.chance(batch, first, strip, key), count, tops)
        for u, old in enumerate(walk.strip(self.totals, at)):
            place = w.linear((at, 1), (u * w.lanes, 1))
            w.vstore(w.fma(old, factors[u], sums[u]), w.at(self.totals, place))
            w.vstore(tops[u], w.at(self.tops, place))
        walk.gather(v, walk.lead("v"), self.p["e"], self.shares, walk.cut.wide, count, w.at(self.sums, at), factors)

    def _tops(self, scores: Scores, count: Index, before: Sequence[str]) -> list[str]:
        """Make products scores; their maxima."""
        w, walk = self.w, self.walk

        def step(j: str, values: list[str]) -> list[str]:
            made = []
            for u, top in enumerate(values):
                place = w.at(self.shares, w.linear((j, walk.cut.wide), (u * w.lanes, 1)))
                score = scores(w.vload(place), u, j)
                w.vstore(score, place)
                made.append(walk.maximum(score, top))
            return made

        return w.loop(count, step, [(vec(w.element, w.lanes), x) for x in before])

    def _exponentials(self, kept: Chance, count: Index, tops: Sequence[str]) -> list[str]:
        """Make scores what keys count, zero where dropped; the sums of all."""
        w, walk = self.w, self.walk

        def step(j: str, values: list[str]) -> list[str]:
            made = []
            for u, total in enumerate(values):
                place = w.at(self.shares, w.linear((j, walk.cut.wide), (u * w.lanes, 1)))
                share = walk.exp(w.binary("fsub", w.vload(place), tops[u]))
                made.append(w.binary("fadd", total, share))
                w.vstore(share if kept is None else w.select(kept(u, j), share, "zeroinitializer"), place)
            return made

        return w.loop(count, step, [(vec(w.element, w.lanes), "zeroinitializer")] * VECTORS)

    def _divide(self, strip: Index) -> None:
        """Make sums means, with what was dropped made up for."""
        w, walk = self.w, self.walk
        at = w.mul(strip, walk.cut.wide)
        whole = w.constant(1 / self.p["keep"])
        shares = [w.binary("fdiv", whole, total) for total in walk.strip(self.totals, at)]

        def feature(i: Index) -> None:
            for u, share in enumerate(shares):
                place = w.at(self.sums, w.linear((i, walk.cut.queries), (at, 1), (u * w.lanes, 1)))
                w.vstore(w.binary("fmul", w.vload(place), share), place)

        w.repeat(self.p["e"], feature)


@np.errstate(all="ignore")
def twin(p: Params, q: Array, k: Array, v: Array, *rest: Array) -> None:
    masks, key, (y, top, total) = rest[: len(p["masks"])], rest[len(p["masks"]) : -3], rest[-3:]
    scores = plan.scores(p, q[plan.index(p, "q")], k[plan.index(p, "k")], masks)
    greatest = scores.max(-1, keepdims=True)
    e = np.exp(scores - greatest)
    sums = e.sum(-1, keepdims=True)
    if key:
        e = np.where(plan.kept(p, key[0]), e, 0)
    y[plan.index(p, "y")] = np.matmul(e, v[plan.index(p, "v")]) / sums / y.dtype.type(p["keep"])
    top[:], total[:] = greatest.reshape(-1), sums.reshape(-1)


ATTENTION = Emitter(operands, emit, twin)
