"""The gradients of attention for queries, keys and values.

Scores are made again, block by block, and with the greatest score and the sum of each query shares come of them (Dao et al.,
"FlashAttention", 2022). A thread has whole matrices: it adds what each block of queries gives to the gradients of keys and
values.
With p the shares, d = dy v^T, both without what is dropped, and e = p (d - sum(dy y)): dq = e k, dk = e^T q, dv = p^T dy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np

from graphc_codegen.dtypes import REGISTER
from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.attention import plan
from graphc_codegen.kernels.attention.walk import Index, Walk
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.gemm.plan import VECTORS
from graphc_codegen.kernels.microkernel import Segment, contiguous, splat_tile, strip_kinds
from graphc_codegen.kernels.vectors import fill_zero
from graphc_codegen.writer import Writer, vec

_REST = ("y", "top", "total", "dy", "dq", "dk", "dv")


def operands(p: Params) -> tuple[Operand, ...]:
    """What `attention` reads, its results y, greatest scores and sums, and dy [axes, l, e] -> dq, dk, dv, like q, k and v.

    Params are those of `attention`; dy, dq, dk and dv may be views, too. The last three may be parts of one buffer.
    """
    dtype, rows = plan.dtype_of(p), plan.batch(p) * p["l"]
    sizes = (plan.view(p, "y").size, rows, rows, plan.view(p, "dy").size)
    made = [Operand(dtype, plan.view(p, name).size, "out") for name in ("dq", "dk", "dv")]
    return (*plan.read(p), *(Operand(dtype, size, "in") for size in sizes), *made)


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    with w.elements(REGISTER[plan.dtype_of(p)]):
        one = _Matrices(w, p, pointers)
        w.share(plan.batch(p), one.write, hand_out=True)


class _Matrices:
    """The gradients of the matrices at one batch index.

    Panels: queries, gradients and results turned; `shares` and `errors`, a row for each key; `means` are sums of dy y.
    """

    def __init__(self, w: Writer, p: Params, pointers: Sequence[str]) -> None:
        self.w, self.p, self.walk = w, p, Walk(w, p, pointers, _REST)
        c, panel = self.walk.cut, self.walk.panel
        self.queries, self.gradients = panel(p["d"], c.queries), panel(p["e"], c.queries)
        # Results are read before the gradients of queries are summed there.
        self.sums = panel(max(p["d"], p["e"]), c.queries)
        self.shares, self.errors = (panel(c.keys, c.queries) for _ in range(2))
        self.tops, self.totals, self.means = (panel(1, c.queries) for _ in range(3))

    def write(self, batch: Index) -> None:
        w, p = self.w, self.p
        for name in ("dk", "dv"):
            w.repeat(p["s"], partial(self._clear, name, batch))
        w.repeat(self.walk.cut.blocks, partial(self._block, batch))

    def _clear(self, name: str, batch: Index, row: Index) -> None:
        fill_zero(self.w, self.walk.matrix(name, batch, row), plan.shapes(self.p)[name][1], self.w.element)

    def _block(self, batch: Index, number: Index) -> None:
        w, walk, p = self.w, self.walk, self.p
        first = w.mul(number, walk.cut.queries)
        for name, panel in (("q", self.queries), ("dy", self.gradients), ("y", self.sums)):
            walk.pack(name, batch, first, panel)
        start = w.linear((batch, p["l"]), (first, 1))
        walk.rows(first, [(w.at(walk.operands[n], start), getattr(self, f"{n}s")) for n in ("top", "total")])
        walk.strips(first, self._means)
        walk.fill(self.sums, p["d"], "zeroinitializer")
        count = walk.count(first)

        def keys(key: Index, tiles: Index, size: Index) -> None:
            walk.strips(first, lambda strip: self._strip(batch, first, strip, (key, tiles, size)))
            for panel, factor, name in ((self.shares, "dy", "dv"), (self.errors, "q", "dk")):
                self._add(panel, walk.matrix(factor, batch, first), factor, batch, name, (key, tiles), count)

        walk.blocks(first, keys)
        walk.unpack(self.sums, "dq", batch, first)

    def _means(self, strip: Index) -> None:
        """sum(dy y) of each query; and the sums of exponentials become factors."""
        w, walk = self.w, self.walk
        at = w.mul(strip, walk.cut.wide)

        def feature(i: Index, values: list[str]) -> list[str]:
            places = [w.linear((i, walk.cut.queries), (at, 1), (u * w.lanes, 1)) for u in range(VECTORS)]
            pairs = [(w.vload(w.at(self.gradients, x)), w.vload(w.at(self.sums, x))) for x in places]
            return [w.fma(*pair, value) for pair, value in zip(pairs, values, strict=True)]

        means = w.loop(self.p["e"], feature, [(vec(w.element, w.lanes), "zeroinitializer")] * VECTORS)
        for u, (mean, total) in enumerate(zip(means, walk.strip(self.totals, at), strict=True)):
            place = w.linear((at, 1), (u * w.lanes, 1))
            w.vstore(mean, w.at(self.means, place))
            w.vstore(w.binary("fdiv", w.constant(1.0), total), w.at(self.totals, place))

    def _strip(self, batch: Index, first: Index, strip: Index, block: tuple[Index, Index, Index]) -> None:
        """Shares and errors of a strip of queries, and what these give for the queries."""
        w, walk, p, (key, tiles, count) = self.w, self.walk, self.p, block
        at, wide = w.mul(strip, walk.cut.wide), walk.cut.queries
        k, v = walk.matrix("k", batch, key), walk.matrix("v", batch, key)
        shares, errors = w.at(self.shares, at), w.at(self.errors, at)
        walk.products(k, walk.lead("k"), w.at(self.queries, at), p["d"], shares, wide, (key, tiles))
        walk.products(v, walk.lead("v"), w.at(self.gradients, at), p["e"], errors, wide, (key, tiles))
        scores, kept = walk.scores(batch, first, strip, key, tiles), walk.chance(batch, first, strip, key)
        tops, factors, means = (walk.strip(panel, at) for panel in (self.tops, self.totals, self.means))
        whole = w.constant(1 / p["keep"])

        def step(j: str, _: list[str]) -> None:
            for u in range(VECTORS):
                place = w.linear((j, wide), (u * w.lanes, 1))
                score = scores(w.vload(w.at(shares, place)), u, j)
                share = w.binary("fmul", walk.exp(w.binary("fsub", score, tops[u])), factors[u])
                gradient, left = w.vload(w.at(errors, place)), share
                if kept is not None:
                    on = kept(u, j)
                    gradient = w.select(on, w.binary("fmul", gradient, whole), "zeroinitializer")
                    left = w.select(on, w.binary("fmul", share, whole), "zeroinitializer")
                error = w.binary("fmul", share, w.binary("fsub", gradient, means[u]))
                w.vstore(left, w.at(shares, place))
                w.vstore(w.binary("fmul", error, w.constant(p["scale"])), w.at(errors, place))

        w.loop(count, step)
        walk.gather(k, walk.lead("k"), p["d"], errors, wide, count, w.at(self.sums, at))

    def _add(
        self, panel: str, rows: str, factor: str, batch: Index, name: str, block: tuple[Index, Index], count: Index
    ) -> None:
        """The rows of a gradient, of a block of keys, plus panel[key, query] rows[query]."""
        w, walk, p = self.w, self.walk, self.p
        lead, width, wide = walk.lead(factor), plan.shapes(p)[name][1], walk.cut.queries

        def tile(j: Index, size: int, start: int, step: int, widths: tuple[int, ...], column: Index) -> None:
            at = w.linear((column, step), (start, 1))
            target = w.at(walk.matrix(name, batch, w.add(block[0], j)), at)
            places = [
                (w.at(target, r * walk.lead(name) + u * w.lanes), n) for r in range(size) for u, n in enumerate(widths)
            ]
            acc = splat_tile(
                w, w.at(panel, w.mul(j, wide)), w.at(rows, at), [r * wide for r in range(size)],
                contiguous(widths, w.lanes), (), (Segment(count, 1, lead, ((0, 0),)),), [w.vload(*x) for x in places],
            )  # fmt: skip
            for value, place in zip(acc, places, strict=True):
                w.vstore(value, *place)

        def keys(j: Index, size: int) -> None:
            for start, times, step, widths in strip_kinds(width, w.lanes, VECTORS):
                w.repeat(times, partial(tile, j, size, start, step, widths))

        walk.tiles(*block, keys)


@np.errstate(all="ignore")
def twin(p: Params, q: Array, k: Array, v: Array, *rest: Array) -> None:
    masks, key, (y, top, total, dy, dq, dk, dv) = rest[: len(p["masks"])], rest[len(p["masks"]) : -7], rest[-7:]
    a, b, c, r, g = (x[plan.index(p, n)] for x, n in ((q, "q"), (k, "k"), (v, "v"), (y, "y"), (dy, "dy")))
    shape = (*p["axes"], p["l"], 1)
    shares = np.exp(plan.scores(p, a, b, masks) - top.reshape(shape)) / total.reshape(shape)
    gradient, left = np.matmul(g, c.swapaxes(-1, -2)), shares
    if key:
        on = plan.kept(p, key[0]) / q.dtype.type(p["keep"])
        gradient, left = gradient * on, shares * on
    error = shares * (gradient - (g * r).sum(-1, keepdims=True)) * q.dtype.type(p["scale"])
    results = {"dq": dq, "dk": dk, "dv": dv}
    for one, other in combinations(results, 2):
        common = np.intersect1d(plan.index(p, one), plan.index(p, other))
        if common.size and np.shares_memory(results[one], results[other]):
            raise CodegenError(f"attention_grad writes {one} and {other} to the same elements")
    dq[plan.index(p, "dq")] = np.matmul(error, b)
    dk[plan.index(p, "dk")] = np.matmul(error.swapaxes(-1, -2), a)
    dv[plan.index(p, "dv")] = np.matmul(left.swapaxes(-1, -2), g)


ATTENTION_GRAD = Emitter(operands, emit, twin)
