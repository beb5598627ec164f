"""What runs along an axis from element to element: products, linear recurrences, extrema with their places.

Where something lies beside the axis, vectors of it go from row to row. Along rows extrema are taken by vectors, all others one by
one, of some rows at a time: each waits for the one before it, and those of other rows fill the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphc_codegen.dtypes import FLOATS, MEMORY, UNSIGNED
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.writer import Writer, vec

#: Vectors beside each other that go together, and rows, of which more would share a set of the cache: they may be a page long.
_TOGETHER, _ROWS = 4, 2


class _Values:
    """Writes what is done to `active` lanes of vectors, or where that is 0 to single elements."""

    def __init__(self, w: Writer, active: int) -> None:
        self.w, self.active = w, active

    def type(self, element: str) -> str:
        return vec(element, self.w.lanes) if self.active else element

    def load(self, pointer: str, place: str | int, element: str) -> str:
        where = self.w.at(pointer, place, element)
        return self.w.vload(where, self.active, element) if self.active else self.w.load(where, element)

    def store(self, value: str, pointer: str, place: str | int, element: str) -> None:
        where = self.w.at(pointer, place, element)
        if self.active:
            self.w.vstore(value, where, self.active, element)
        else:
            self.w.store(value, where, element)

    def op(self, op: str, element: str, a: str, b: str) -> str:
        return self.w.op(f"{op} {self.type(element)} {a}, {b}")

    def select(self, condition: str, element: str, a: str, b: str) -> str:
        v = self.type(element)
        return self.w.op(f"select {self.type('i1')} {condition}, {v} {a}, {v} {b}")

    def convert(self, op: str, value: str, source: str, target: str) -> str:
        return value if source == target else self.w.op(f"{op} {self.type(source)} {value} to {self.type(target)}")

    def number(self, i: str | int, element: str) -> str:
        """A place along the axis, in every lane."""
        one = i if element == "i64" or isinstance(i, int) else self.w.op(f"trunc i64 {i} to {element}")
        if not self.active:
            return str(one)
        return self.w.constant(one, element) if isinstance(one, int) else self.w.splat(one, element)


#: Does one element: of what is carried, or None for the first, to what is carried on. Given are its place, and that on the axis.
_Step = Callable[[_Values, str | int, str | int, Sequence[str] | None], Sequence[str]]


def _walk(w: Writer, p: Params, carried: Sequence[str], step: _Step) -> None:
    """Take every element along the axis, from the first or with `reverse` from the last; `carried` are types."""
    outer, size, inner, reverse = p["outer"], p["size"], p["inner"], p.get("reverse", False)

    def walk(firsts: Sequence[str | int], v: _Values) -> None:
        def each(k: str | int, values: Sequence[Sequence[str] | None]) -> list[str]:
            i = w.subtracted(size - 1, k) if reverse else k
            made: list[str] = []
            for first, before in zip(firsts, values, strict=True):
                made += step(v, w.linear((i, inner), (first, 1)), i, before)
            return made

        def turn(k: str, values: list[str]) -> list[str]:
            return each(k, [values[n : n + len(carried)] for n in range(0, len(values), len(carried))])

        begun = each(0, [None] * len(firsts))
        if size > 1:
            w.loop(size, turn, list(zip(map(v.type, [*carried] * len(firsts)), begun, strict=True)), start=1)

    if inner == 1:
        some, rest = divmod(outer, _ROWS)
        rows, single = _ROWS * size, _Values(w, 0)
        w.share(some, lambda u: walk([w.linear((u, rows), (r * size, 1)) for r in range(_ROWS)], single))
        w.share(rest, lambda r: walk([w.linear((r, size), (some * rows, 1))], single))
        return
    whole, tail = divmod(inner, w.lanes)
    blocks, rest = divmod(whole, _TOGETHER)
    done = blocks * _TOGETHER * w.lanes
    for start, count, vectors, active in ((0, blocks, _TOGETHER, w.lanes), (done, rest, 1, w.lanes)):

        def columns(
            o: str | int, b: str | int, start: int = start, vectors: int = vectors, active: int = active
        ) -> None:
            first = w.linear((o, size * inner), (b, vectors * w.lanes), (start, 1))
            walk([w.add(first, v * w.lanes) for v in range(vectors)], _Values(w, active))

        w.share_pairs(outer, count, columns)
    if tail:
        w.share(outer, lambda o: walk([w.linear((o, size * inner), (whole * w.lanes, 1))], _Values(w, tail)))


def _scan_rows(w: Writer, p: Params, carried: Sequence[str], step: _Step) -> None:
    """Take rows vector by vector, where what is before an element in its own vector can be brought together with it; a row is no
    shorter than a vector."""
    whole, tail = divmod(p["size"], w.lanes)

    def row(r: str | int) -> None:
        first, full = w.mul(r, p["size"]), _Values(w, w.lanes)

        def turn(b: str | int, values: list[str] | None) -> list[str]:
            i = w.mul(b, w.lanes)
            return list(step(full, w.add(first, i), i, values))

        values = turn(0, None)
        if whole > 1:
            values = w.loop(whole, turn, list(zip(map(full.type, carried), values, strict=True)), start=1)
        if tail:
            i = whole * w.lanes
            step(_Values(w, tail), w.add(first, i), i, values)

    w.share(p["outer"], row)


def _rows(p: Params, *arrays: Array) -> list[Array]:
    """Arrays with the axis in front, in the order in which it is walked."""
    made = [np.moveaxis(a.reshape(p["outer"], p["size"], p["inner"]), 1, 0) for a in arrays]
    return [a[::-1] for a in made] if p.get("reverse") else made


# ---- products


def cumprod_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype` -> y like x."""
    count = p["outer"] * p["size"] * p["inner"]
    return (Operand(p["dtype"], count, "in"), Operand(p["dtype"], count, "out"))


def cumprod_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y[o, i, j] is the product of x[o, :i + 1, j], in x's dtype."""
    (x, y), type = pointers, MEMORY[p["dtype"]]
    mul = "fmul" if p["dtype"] in FLOATS else "mul"

    def step(v: _Values, place: str | int, _: str | int, before: Sequence[str] | None) -> list[str]:
        value = v.load(x, place, type)
        made = value if before is None else v.op(mul, type, before[0], value)
        v.store(made, y, place, type)
        return [made]

    _walk(w, p, [type], step)


@np.errstate(all="ignore")
def cumprod_twin(p: Params, x: Array, y: Array) -> None:
    source, made = _rows(p, x, y)
    np.cumprod(source, axis=0, dtype=x.dtype, out=made)


# ---- linear recurrences


def recurrence_operands(p: Params) -> tuple[Operand, ...]:
    """a, b [outer, size, inner] of `dtype`, a float -> y like b."""
    count = p["outer"] * p["size"] * p["inner"]
    return (*[Operand(p["dtype"], count, "in")] * 2, Operand(p["dtype"], count, "out"))


def recurrence_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y_i = a_i y_j + b_i, j being the element before i on the way; unless `own` a_j y_j + b_i. The first one is b_i.

    What is carried on of float32 is float64.
    """
    (a, b, y), type = pointers, MEMORY[p["dtype"]]

    def wide(v: _Values, pointer: str, place: str | int) -> str:
        return v.convert("fpext", v.load(pointer, place, type), type, "double")

    def step(v: _Values, place: str | int, _: str | int, before: Sequence[str] | None) -> list[str]:
        made = wide(v, b, place)
        factor = wide(v, a, place)
        if before is not None:
            by = factor if p["own"] else before[1]
            made = v.op("fadd contract", "double", v.op("fmul contract", "double", by, before[0]), made)
        v.store(v.convert("fptrunc", made, "double", type), y, place, type)
        return [made] if p["own"] else [made, factor]

    _walk(w, p, ["double"] * (1 if p["own"] else 2), step)


@np.errstate(all="ignore")
def recurrence_twin(p: Params, a: Array, b: Array, y: Array) -> None:
    factors, terms, made = _rows(p, a, b, y)
    last = terms[0].astype(np.float64)
    made[0] = terms[0]
    for i in range(1, p["size"]):
        last = factors[i if p["own"] else i - 1] * last + terms[i]
        made[i] = last


# ---- extrema


def cumextremum_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype` -> values like x, places int64."""
    count = p["outer"] * p["size"] * p["inner"]
    return (Operand(p["dtype"], count, "in"), Operand(p["dtype"], count, "out"), Operand("int64", count, "out"))


def cumextremum_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The largest of x[o, :i + 1, j], by `mode` "max" or the smallest, and its last place; NaN is beyond all."""
    (x, values, places), type = pointers, MEMORY[p["dtype"]]
    place_type = "i32" if p["size"] < 1 << 31 else "i64"

    def taken(v: _Values, value: str, best: str) -> str:
        way = "ge" if p["mode"] == "max" else "le"
        if p["dtype"] not in FLOATS:
            return v.op(f"icmp {'u' if p['dtype'] in UNSIGNED else 's'}{way}", type, value, best)
        return v.op("or", "i1", v.op(f"fcmp o{way}", type, value, best), v.op("fcmp uno", type, value, value))

    def best(v: _Values, later: Sequence[str], before: Sequence[str]) -> list[str]:
        take = taken(v, later[0], before[0])
        return [v.select(take, t, a, b) for t, a, b in zip((type, place_type), later, before, strict=True)]

    def store(v: _Values, made: Sequence[str], place: str | int) -> None:
        v.store(made[0], values, place, type)
        v.store(v.convert("sext", made[1], place_type, "i64"), places, place, "i64")

    def step(v: _Values, place: str | int, i: str | int, before: Sequence[str] | None) -> list[str]:
        made = [v.load(x, place, type), v.number(i, place_type)]
        if before is not None:
            made = best(v, made, before)
        store(v, made, place)
        return made

    def scanned(v: _Values, place: str | int, i: str | int, before: Sequence[str] | None) -> list[str]:
        lanes = ", ".join(f"{place_type} {lane}" for lane in range(w.lanes))
        made = [v.load(x, place, type), v.op("add", place_type, v.number(i, place_type), f"<{lanes}>")]
        away = 1
        while away < w.lanes:
            # The first lanes meet themselves, which changes nothing.
            moved = [lane - away if lane >= away else lane for lane in range(w.lanes)]
            pairs = zip(made, (type, place_type), strict=True)
            made = best(v, made, [w.shuffle(value, "poison", moved, t) for value, t in pairs])
            away *= 2
        if before is not None:
            made = best(v, made, before)
        store(v, made, place)
        last = [w.lanes - 1] * w.lanes
        return [w.shuffle(value, "poison", last, t) for value, t in zip(made, (type, place_type), strict=True)]

    if p["inner"] == 1 and p["size"] >= w.lanes:
        _scan_rows(w, p, [type, place_type], scanned)
    else:
        _walk(w, p, [type, place_type], step)


@np.errstate(all="ignore")
def cumextremum_twin(p: Params, x: Array, values: Array, places: Array) -> None:
    source, best, at = _rows(p, x, values, places)
    beyond = np.greater_equal if p["mode"] == "max" else np.less_equal
    best[0], at[0] = source[0], 0
    for i in range(1, p["size"]):
        # Only NaN is not itself.
        take = beyond(source[i], best[i - 1]) | (source[i] != source[i])
        best[i], at[i] = np.where(take, source[i], best[i - 1]), np.where(take, i, at[i - 1])


CUMPROD = Emitter(cumprod_operands, cumprod_emit, cumprod_twin)
RECURRENCE = Emitter(recurrence_operands, recurrence_emit, recurrence_twin)
CUMEXTREMUM = Emitter(cumextremum_operands, cumextremum_emit, cumextremum_twin)
