"""An axis times a matrix with few numbers in each row, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphc_codegen.dtypes import MEMORY
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.transposition import FOUR, joined, square
from graphc_codegen.kernels.vectors import along
from graphc_codegen.writer import Writer, vec

#: Bands of so many numbers are written out.
_UNROLLED = 8


def banded_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, have, inner] of `dtype`, starts int32 [wanted], weights [width, wanted] like x -> y [outer, wanted, inner]."""
    outer, inner = p["outer"], p["inner"]
    return (
        Operand(p["dtype"], outer * p["have"] * inner, "in"),
        Operand("int32", p["wanted"], "in"),
        Operand(p["dtype"], p["width"] * p["wanted"], "in"),
        Operand(p["dtype"], outer * p["wanted"] * inner, "out"),
    )


def banded_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y[o, r] is the sum of weights[t, r] * x[o, starts[r] + t]; starts are brought into range."""
    with w.elements(MEMORY[p["dtype"]]):
        if p["inner"] > 1:
            w.share_pairs(p["outer"], p["wanted"], lambda o, r: _row(w, p, pointers, o, r))
            return
        whole, rest = divmod(p["wanted"], w.lanes)
        w.share_pairs(p["outer"], whole, lambda o, k: _lanes(w, p, pointers, (o, w.mul(k, w.lanes)), w.lanes))
        if rest:
            w.share(p["outer"], lambda o: _lanes(w, p, pointers, (o, whole * w.lanes), rest))


def _summed(w: Writer, p: Params, term: Callable[[str | int, str], str]) -> str:
    """The sum of all terms of a band, in float32 or float64."""
    total = "zeroinitializer"
    if p["width"] > _UNROLLED:
        return w.loop(p["width"], lambda t, s: [term(t, s[0])], [(vec(w.element, w.lanes), total)])[0]
    for t in range(p["width"]):
        total = term(t, total)
    return total


def _row(w: Writer, p: Params, pointers: Sequence[str], o: str | int, r: str | int) -> None:
    """One row of what lies beside the axis."""
    x, starts, weights, y = pointers
    inner, most = p["inner"], p["have"] - p["width"]
    start = w.call("llvm.smax.i32", "i32", [("i32", w.load(w.at(starts, r, "i32"), "i32")), ("i32", "0")])
    start = w.op(f"zext i32 {w.call('llvm.smin.i32', 'i32', [('i32', start), ('i32', f'{most}')])} to i64")
    source = w.at(x, w.linear((o, p["have"] * inner), (start, inner)))
    target = w.at(y, w.linear((o, p["wanted"] * inner), (r, inner)))

    def weight(t: str | int) -> str:
        return w.splat(w.load(w.at(weights, w.linear((t, p["wanted"]), (r, 1)))))

    known = [weight(t) for t in range(p["width"])] if p["width"] <= _UNROLLED else []

    def one(i: str | int, active: int, _: list[str]) -> list[str]:
        def term(t: str | int, total: str) -> str:
            value = w.vload(w.at(source, w.linear((t, inner), (i, 1))), active)
            factor = known[t] if isinstance(t, int) else weight(t)
            return w.fma(value, factor, total)

        w.vstore(_summed(w, p, term), w.at(target, i), active)
        return []

    along(w, inner, (), one)


def _lanes(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, str | int], active: int) -> None:
    """A vector of results of one row of x, whose bands are read four numbers at a time."""
    (x, starts, weights, y), (o, r), lanes = pointers, at, w.lanes
    width, numbers = p["width"], vec("i32", lanes)
    start = w.vload(w.at(starts, r, "i32"), active, "i32")
    for name, bound in (("smax", 0), ("smin", p["have"] - width)):
        start = w.call(f"llvm.{name}.v{lanes}i32", numbers, [(numbers, start), (numbers, w.constant(bound, "i32"))])
    source = w.op(f"getelementptr {w.element}, ptr {w.at(x, w.mul(o, p['have']))}, {numbers} {start}")
    places = [w.op(f"extractelement {vec('ptr', lanes)} {source}, i64 {k}") for k in range(lanes)]

    def some(t: str | int, total: str, size: int) -> str:
        """The next `size` terms of each band."""
        for k, value in enumerate(_columns(w, [w.at(place, t) for place in places], size)):
            factor = w.vload(w.at(weights, w.linear((t, p["wanted"]), (k, p["wanted"]), (r, 1))), active)
            total = w.fma(value, factor, total)
        return total

    most = min(FOUR, lanes)
    total, done = "zeroinitializer", width // most * most
    if done > _UNROLLED:
        (total,) = w.loop(done, lambda t, s: [some(t, s[0], most)], [(vec(w.element, lanes), total)], step=most)
    else:
        for t in range(0, done, most):
            total = some(t, total, most)
    for size in (2, 1):
        if (width - done) & size:
            total = some(done, total, size)
            done += size
    w.vstore(total, w.at(y, w.linear((o, p["wanted"]), (r, 1))), active)


def _columns(w: Writer, places: Sequence[str], size: int) -> list[str]:
    """The first 4, 2 or 1 numbers at the addresses, as so many vectors."""
    v, align = vec(w.element, size), 8 if w.element == "double" else 4
    if size == 1:
        made = "poison"
        for k, place in enumerate(places):
            made = w.op(f"insertelement {vec(w.element, w.lanes)} {made}, {w.element} {w.load(place)}, i64 {k}")
        return [made]
    pieces = [w.op(f"load {v}, ptr {place}, align {align}") for place in places]
    lines = [joined(w, pieces[k::size], size) for k in range(size)]
    if size == FOUR:
        return square(w, lines, w.lanes)
    order = [[g + t + w.lanes * k for g in range(0, w.lanes, 2) for k in range(2)] for t in range(2)]
    return [w.shuffle(lines[0], lines[1], indices, w.element) for indices in order]


@np.errstate(all="ignore")
def banded_twin(p: Params, x: Array, starts: Array, weights: Array, y: Array) -> None:
    rows = x.reshape(p["outer"], p["have"], p["inner"])
    first = np.clip(starts, 0, p["have"] - p["width"])
    shares = weights.reshape(p["width"], p["wanted"], 1)
    y[:] = sum(rows[:, first + t] * shares[t] for t in range(p["width"])).reshape(-1)


BANDED = Emitter(banded_operands, banded_emit, banded_twin)
