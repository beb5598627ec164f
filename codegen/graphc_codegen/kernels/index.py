"""Kernels that find or follow indices: argmax, gather and its gradient; and the overflow flag."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import FLOATS, ITEMSIZE, MEMORY, REGISTER, UNSIGNED
from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import LINE, Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import each_tile, prefetch, strip_kinds
from graphc_codegen.kernels.vectors import along, fill_zero, first, gathered, iota
from graphc_codegen.writer import Writer, vec

#: Accumulators of the overflow sweep, to hide the latency of its maximum.
_UNROLL = 4
#: Vectors of extrema and their places, so that a comparison need not wait for the one before it.
_CHAINS = 4
#: Bytes of a table that comes from memory, of rows that are asked for before they are read, and of one row then.
_FAR, _BYTES_AHEAD, _BYTES_OF_ROW = 1 << 20, 4096, 1024
_FINITE_BITS, _ABSOLUTE_BITS = 0x7F7FFFFF, 0x7FFFFFFF


# ---- argmax


def argmax_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype` -> [outer, inner] of `out_dtype`."""
    outer, inner = p["outer"], p["inner"]
    return (
        Operand(p["dtype"], outer * p["size"] * inner, "in"),
        Operand(p["out_dtype"], outer * inner, "out"),
    )


def argmax_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """The first extremum along the middle axis (`mode` "max" or "min"); the first NaN counts as extremum.

    Raises CodegenError for an axis whose places are more than an int32 can tell.
    """
    if p["size"] > 1 << 31:
        raise CodegenError(f"argmax along {p['size']} elements: places are counted with 32 bits")
    if p["inner"] == 1:
        w.share(p["outer"], lambda o: _argmax_row(w, p, pointers, o))
        return

    def lanes(o: str | int, _: None, i: str | int, widths: tuple[int, ...]) -> None:
        _argmax_lanes(w, p, pointers, (o, i, widths[0]))

    each_tile(w, [(0, p["outer"], 1, None)], strip_kinds(p["inner"], w.lanes, 1), lanes)


def _better(w: Writer, p: Params, type: str, v: str, best: str) -> str:
    """Whether v displaces best, for a scalar or vector type."""
    up = p["mode"] == "max"
    if p["dtype"] not in FLOATS:
        sign = "u" if p["dtype"] in UNSIGNED else "s"
        return w.op(f"icmp {sign}{'gt' if up else 'lt'} {type} {v}, {best}")
    bits = type.replace(REGISTER[p["dtype"]], "i1")
    beyond = w.op(f"fcmp {'ugt' if up else 'ult'} {type} {v}, {best}")
    return w.op(f"and {bits} {beyond}, {w.op(f'fcmp ord {type} {best}, {best}')}")


def _argmax_row(w: Writer, p: Params, pointers: Sequence[str], o: str | int) -> None:
    x, y = pointers
    type, out = REGISTER[p["dtype"]], REGISTER[p["out_dtype"]]
    row = w.at(x, w.mul(o, p["size"]), type)
    if p["size"] >= w.lanes:
        index = _place_of_lanes(w, p, row)
    else:
        best, index = w.load(row, type), "0"
        for k in range(1, p["size"]):
            v = w.load(w.at(row, k, type), type)
            take = _better(w, p, type, v, best)
            best = w.op(f"select i1 {take}, {type} {v}, {type} {best}")
            index = w.op(f"select i1 {take}, i32 {k}, i32 {index}")
    if out == "i64":
        index = w.op(f"sext i32 {index} to i64")
    w.store(index, w.at(y, o, out), out)


def _place_of_lanes(w: Writer, p: Params, row: str) -> str:
    """The place of the first extremum of a row of a vector's elements and more: of what every lane finds, the first."""
    type, size = REGISTER[p["dtype"]], p["size"]
    v, places = vec(type, w.lanes), vec("i32", w.lanes)
    chains = min(_CHAINS, size // w.lanes)
    starts = [w.lanes * u for u in range(chains)]
    carry = [(v, w.vload(w.at(row, start, type), type=type)) for start in starts]
    carry += [(places, w.constant(start, "i32")) for start in starts]

    def met(at: str | int, best: str, place: str) -> tuple[str, str]:
        """What a chain knows after the vector at `at`; a place is that of a vector's first element meanwhile."""
        value = w.vload(w.at(row, at, type), type=type)
        take = _better(w, p, v, value, best)
        here = w.constant(at, "i32") if isinstance(at, int) else w.splat(w.op(f"trunc i64 {at} to i32"), "i32")
        return w.select(take, value, best, type), w.select(take, here, place, "i32")

    def turn(k: str, values: list[str]) -> list[str]:
        new = [met(w.add(k, starts[u]), values[u], values[chains + u]) for u in range(chains)]
        return [value for value, _ in new] + [place for _, place in new]

    step = chains * w.lanes
    whole = size // step * step
    values = w.loop(whole, turn, carry, step=step, start=step) if whole > step else [initial for _, initial in carry]
    chain = list(zip(values[:chains], values[chains:], strict=True))
    for k in range(whole, size, w.lanes):
        # The last vector may begin among elements that have been met.
        chain[0] = met(min(k, size - w.lanes), *chain[0])
    found, *others = [(value, w.binary("add", place, iota(w), "i32")) for value, place in chain]
    for other in others:
        found = _first_of(w, p, found, other)
    half = w.lanes // 2
    while half:
        order = [(j + half) % w.lanes for j in range(w.lanes)]
        value, place = (w.shuffle(x, "poison", order, t) for t, x in zip((type, "i32"), found, strict=True))
        found = _first_of(w, p, found, (value, place))
        half //= 2
    return first(w, found[1], "i32")


def _first_of(w: Writer, p: Params, best: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
    """Lane by lane, of two vectors of extrema and their places the better extremum; of equal ones what stands first."""
    type = REGISTER[p["dtype"]]
    v = vec(type, w.lanes)
    better, worse = _better(w, p, v, other[0], best[0]), _better(w, p, v, best[0], other[0])
    before = w.binary("icmp slt", other[1], best[1], "i32")
    equal = w.binary("xor", w.binary("or", better, worse, "i1"), "splat (i1 true)", "i1")
    take = w.binary("or", better, w.binary("and", equal, before, "i1"), "i1")
    return w.select(take, other[0], best[0], type), w.select(take, other[1], best[1], "i32")


def _argmax_lanes(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, str | int, int]) -> None:
    o, i, active = at
    x, y = pointers
    type, out = REGISTER[p["dtype"]], REGISTER[p["out_dtype"]]
    size, inner = p["size"], p["inner"]
    column = w.at(x, w.linear((o, size * inner), (i, 1)), type)
    best, index = w.vload(column, active, type), "zeroinitializer"

    def turn(k: str, values: list[str]) -> list[str]:
        v = w.vload(w.at(column, w.mul(k, inner), type), active, type)
        take = _better(w, p, vec(type, w.lanes), v, values[0])
        here = w.splat(w.op(f"trunc i64 {k} to i32"), "i32")
        return [w.select(take, v, values[0], type), w.select(take, here, values[1], "i32")]

    if size > 1:
        carry = [(vec(type, w.lanes), best), (vec("i32", w.lanes), index)]
        _, index = w.loop(size, turn, carry, start=1)
    if out == "i64":
        index = w.convert("sext", index, "i32", "i64")
    w.vstore(index, w.at(y, w.linear((o, inner), (i, 1)), out), active, out)


@np.errstate(all="ignore")
def argmax_twin(p: Params, x: Array, y: Array) -> None:
    find = np.argmax if p["mode"] == "max" else np.argmin
    y[:] = find(x.reshape(p["outer"], p["size"], p["inner"]), axis=1).reshape(-1)


# ---- float_status


def status_operands(p: Params) -> tuple[Operand, ...]:
    """status int32[8], one float32 array per entry of `sizes` -> flag bool[1]."""
    arrays = [Operand("float32", size, "in") for size in p["sizes"]]
    return (Operand("int32", 8, "in"), *arrays, Operand("bool", 1, "out"))


def status_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """True if a status word is nonzero or an element not finite: an integer maximum of bits without sign."""
    words = [w.load(w.at(pointers[0], i, "i32"), "i32") for i in range(8)]
    status = words[0]
    for word in words[1:]:
        status = w.op(f"or i32 {status}, {word}")
    v = vec("i32", w.lanes)
    most = "zeroinitializer"

    def larger(a: str, b: str) -> str:
        return w.call(f"llvm.umax.v{w.lanes}i32", v, [(v, a), (v, b)])

    def fold(value: str, pointer: str, active: int) -> str:
        bits = w.convert("bitcast", w.vload(pointer, active), "float", "i32")
        return larger(value, w.binary("and", bits, w.constant(_ABSOLUTE_BITS, "i32"), "i32"))

    def most_of(pointer: str, size: int, most: str) -> str:
        wide = _UNROLL * w.lanes
        done = size // wide * wide

        def turn(i: str, values: list[str]) -> list[str]:
            at = w.at(pointer, w.mul(i, wide))
            return [fold(x, w.at(at, u * w.lanes), w.lanes) for u, x in enumerate(values)]

        if done:
            for value in w.turns(w.shared_range(done // wide), turn, [(v, "zeroinitializer")] * _UNROLL):
                most = larger(most, value)
        for i in range(done, size, w.lanes):
            most = fold(most, w.at(pointer, i), min(w.lanes, size - i))
        return most

    for pointer, size in zip(pointers[1:-1], p["sizes"], strict=True):
        most = most_of(pointer, size, most)
    if w.threads > 1:
        w.vstore(most, w.scratch("%thread"), type="i32")
        w.meet()
        for thread in range(w.threads):
            most = larger(most, w.vload(w.scratch(thread), type="i32"))
    lanes = w.binary("icmp ugt", most, w.constant(_FINITE_BITS, "i32"), "i32")
    bits = w.op(f"bitcast {vec('i1', w.lanes)} {lanes} to i{w.lanes}")
    bad = w.op(f"icmp ne i{w.lanes} {bits}, 0")
    flag = w.op(f"or i1 {bad}, {w.op(f'icmp ne i32 {status}, 0')}")
    w.by_one(lambda: w.store(w.op(f"zext i1 {flag} to i8"), pointers[-1], "i8"))


@np.errstate(all="ignore")
def status_twin(_p: Params, status: Array, *arrays: Array) -> None:
    *values, flag = arrays
    flag[0] = bool(status.any()) or not all(bool(np.isfinite(v).all()) for v in values)


# ---- gather


def gather_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype`, idx [count] of `index_dtype` -> y [outer, count, inner]."""
    outer, inner = p["outer"], p["inner"]
    return (
        Operand(p["dtype"], outer * p["size"] * inner, "in"),
        Operand(p["index_dtype"], p["count"], "in"),
        Operand(p["dtype"], outer * p["count"] * inner, "out"),
    )


def index_at(w: Writer, p: Params, idx: str, k: str | int) -> str:
    """Index k as i64."""
    type = REGISTER[p["index_dtype"]]
    value = w.load(w.at(idx, k, type), type)
    return value if type == "i64" else w.op(f"sext {type} {value} to i64")


def _index(w: Writer, p: Params, idx: str, k: str | int) -> tuple[str, str]:
    """Index k, or 0 where it is out of range; and whether it is in range."""
    value = index_at(w, p, idx, k)
    valid = w.op(f"icmp ult i64 {value}, {p['size']}")
    return w.op(f"select i1 {valid}, i64 {value}, i64 0"), valid


def fetch_row(w: Writer, p: Params, x: str, idx: str, at: tuple[str | int, str | int], *, write: bool = False) -> None:
    """Ask for the first lines of the row of x whose turn comes soon, if rows are no shorter than lines and come from memory, one
    here and one there."""
    (o, k), inner, item = at, p["inner"], ITEMSIZE[p["dtype"]]
    row = item * inner
    if row < 4 * LINE or row * p["outer"] * p["size"] < _FAR:
        return
    ahead = max(_BYTES_AHEAD // row, 1)
    index, _ = _index(w, p, idx, w.smaller(w.add(k, ahead), p["count"] - 1))
    first = w.at(x, w.linear((o, p["size"] * inner), (index, inner)), MEMORY[p["dtype"]])
    for start in range(0, min(row, _BYTES_OF_ROW), 4 * LINE):
        prefetch(w, w.at(first, start, "i8"), 0, write=write)


def gather_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """An index outside [0, size), negative too, gives zeros."""
    x, idx, y = pointers
    size, inner, count = p["size"], p["inner"], p["count"]
    type = MEMORY[p["dtype"]]

    def one(o: str | int, k: str | int) -> None:
        index, valid = _index(w, p, idx, k)
        source = w.at(x, w.linear((o, size * inner), (index, inner)), type)
        fetch_row(w, p, x, idx, (o, k))
        target = w.at(y, w.linear((o, count * inner), (k, inner)), type)
        zero = "0.0" if type in ("float", "double") else "0"
        if inner == 1:
            value = w.op(f"select i1 {valid}, {type} {w.load(source, type)}, {type} {zero}")
            w.store(value, target, type)
            return
        v = vec(type, w.lanes)

        def copy(i: str | int, active: int, _: list[str]) -> list[str]:
            loaded = w.vload(w.at(source, i, type), active, type)
            value = w.op(f"select i1 {valid}, {v} {loaded}, {v} zeroinitializer")
            w.vstore(value, w.at(target, i, type), active, type)
            return []

        along(w, inner, (), copy)

    if inner > 1 or type not in ("float", "double", "i32", "i64"):
        w.share_pairs(p["outer"], count, one)
        return
    whole, rest = divmod(count, w.lanes)
    w.share_pairs(p["outer"], whole, lambda o, k: _gather_lanes(w, p, pointers, (o, w.mul(k, w.lanes))))
    w.share_pairs(p["outer"], rest, lambda o, k: one(o, w.add(k, whole * w.lanes)))


def _gather_lanes(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, str | int]) -> None:
    """A vector of single elements, all of whose indices are looked at together."""
    (x, idx, y), (o, k), size = pointers, at, p["size"]
    type, index_type = MEMORY[p["dtype"]], REGISTER[p["index_dtype"]]
    index = w.vload(w.at(idx, k, index_type), type=index_type)
    most = (1 << 31) - 1 if index_type == "i32" else size
    valid = w.binary("icmp ult", index, w.constant(min(size, most), index_type), index_type)
    index = w.select(valid, index, w.constant(0, index_type), index_type)
    read = gathered(w, w.at(x, w.mul(o, size), type), index, (type, index_type))
    zero = "zeroinitializer"
    w.vstore(w.select(valid, read, zero, type), w.at(y, w.linear((o, p["count"]), (k, 1)), type), type=type)


@np.errstate(all="ignore")
def gather_twin(p: Params, x: Array, idx: Array, y: Array) -> None:
    source = x.reshape(p["outer"], p["size"], p["inner"])
    valid = (idx >= 0) & (idx < p["size"])
    taken = source[:, np.where(valid, idx, 0)]
    taken[:, ~valid] = 0
    y[:] = taken.reshape(-1)


def gather_grad_operands(p: Params) -> tuple[Operand, ...]:
    """dy [outer, count, inner] float32, idx [count] of `index_dtype` -> dx [outer, size, inner].

    dx is float32, with a `block` float64.
    """
    outer, inner = p["outer"], p["inner"]
    return (
        Operand("float32", outer * p["count"] * inner, "in"),
        Operand(p["index_dtype"], p["count"], "in"),
        Operand("float64" if p.get("block") else "float32", outer * p["size"] * inner, "out"),
    )


def gather_grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Rows of dy are added in order to rows of dx, which starts at zero; indices out of range are ignored.

    Threads share the rows of dx: each looks at all indices and adds those of its own rows.
    """
    dy, idx, dx = pointers
    size, inner, count = p["size"], p["inner"], p["count"]
    low, high = w.shared_range(size)
    number = w.op(f"sub nsw i64 {high}, {low}") if w.threads > 1 else size
    type = "double" if p.get("block") else "float"

    def add(o: str | int, k: str | int, index: str) -> None:
        source = w.at(dy, w.linear((o, count * inner), (k, inner)))
        target = w.at(dx, w.linear((o, size * inner), (index, inner)), type)
        if inner == 1:
            value = w.load(source)
            value = value if type == "float" else w.op(f"fpext float {value} to double")
            w.store(w.op(f"fadd {type} {w.load(target, type)}, {value}"), target, type)
            return

        def piece(i: str | int, active: int, _: list[str]) -> list[str]:
            place, value = w.at(target, i, type), w.vload(w.at(source, i), active)
            value = value if type == "float" else w.convert("fpext", value, "float", "double")
            w.vstore(w.binary("fadd", w.vload(place, active, type), value, type), place, active, type)
            return []

        along(w, inner, (), piece)

    def one(o: str | int, k: str | int) -> None:
        index = index_at(w, p, idx, k)
        mine = w.op(f"icmp ult i64 {w.op(f'sub i64 {index}, {low}')}, {number}")
        w.when(mine, lambda: add(o, k, index))

    def outer(o: str | int) -> None:
        at = w.at(dx, w.linear((o, size * inner), (low, inner)), type)
        if isinstance(number, int):
            fill_zero(w, at, number * inner, type)
        else:
            w.turns((0, number), lambda r, _: fill_zero(w, w.at(at, w.mul(r, inner), type), inner, type))
        w.repeat(count, lambda k: one(o, k))

    w.repeat(p["outer"], outer)


@np.errstate(all="ignore")
def gather_grad_twin(p: Params, dy: Array, idx: Array, dx: Array) -> None:
    out = dx.reshape(p["outer"], p["size"], p["inner"])
    rows = dy.reshape(p["outer"], p["count"], p["inner"])
    out[...] = 0
    for k, index in enumerate(idx.tolist()):
        if 0 <= index < p["size"]:
            out[:, index] += rows[:, k]


ARGMAX = Emitter(argmax_operands, argmax_emit, argmax_twin)
FLOAT_STATUS = Emitter(status_operands, status_emit, status_twin)
GATHER = Emitter(gather_operands, gather_emit, gather_twin)
GATHER_GRAD = Emitter(gather_grad_operands, gather_grad_emit, gather_grad_twin)
