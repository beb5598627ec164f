"""The places of the few first elements of rows in order, without sorting the others.

The list of the best so far is kept in order, each as one number: its key above its place, so that no two are equal and of equal
elements the earlier comes first. Most elements are passed over by one comparison of a vector: with a bound, and as soon as the
list is full with its last key. The bound is the largest of the least keys of as many columns of the row as the list is long: so
many elements are not above it, also of a row that is sorted the wrong way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.sort import bits_of, keys_at, ordered
from graphc_codegen.kernels.vectors import across, first
from graphc_codegen.writer import MANGLED, Writer, vec


def first_places_operands(p: Params) -> tuple[Operand, ...]:
    """x [rows, size] of `dtype` (32 or 64 bits) -> places int32 [rows, count]."""
    return (
        Operand(p["dtype"], p["rows"] * p["size"], "in"),
        Operand("int32", p["rows"] * p["count"], "out"),
    )


@dataclass(frozen=True)
class _Best:
    """Pointers of the list (0 in front of its numbers), of the limit, a key, and of a vector of keys."""

    numbers: str
    limit: str
    keys: str
    bits: int
    count: int
    room: int

    @property
    def key(self) -> str:
        return f"i{self.bits}"

    @property
    def number(self) -> str:
        return f"i{2 * self.bits}"

    def at(self, w: Writer, k: str | int) -> str:
        """The address of number k of the list, from -1 on."""
        return w.at(self.numbers, w.add(k, 1), self.number)


def first_places_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """places[r] lists the first `count` elements of row r as `argsort` orders them; `size` is not less than `count`."""
    x, places = pointers
    rows, size, count, bits = p["rows"], p["size"], p["count"], bits_of(p["dtype"])
    room = -(-count // w.lanes) * w.lanes
    numbers = w.op(f"alloca [{room + 1} x i{2 * bits}], align 64")
    limit, keys = w.op(f"alloca i{bits}"), w.op(f"alloca [{w.lanes} x i{bits}], align 64")
    best = _Best(numbers, limit, keys, bits, count, room)
    w.do(f"store {best.number} 0, ptr {best.numbers}, align 8")

    def one(r: str | int) -> None:
        w.repeat(room, lambda k: w.do(f"store {best.number} -1, ptr {best.at(w, k)}, align 8"))
        _choose(w, p, w.at(x, w.mul(r, size), best.key), best)

        def put(k: str | int) -> None:
            number = w.op(f"load {best.number}, ptr {best.at(w, k)}, align 8")
            place = w.op(f"trunc {best.number} {number} to i32")
            w.store(place, w.at(places, w.linear((r, count), (k, 1)), "i32"), "i32")

        w.repeat(count, put)

    w.share(rows, one)


def _choose(w: Writer, p: Params, row: str, best: _Best) -> None:
    """Walk along a row; what is not above the limit goes into the list, which lowers that as soon as it is full."""
    bound = _bound(w, p, row, best)
    w.store(bound, best.limit, best.key)
    full, rest = divmod(p["size"], w.lanes)

    def step(i: str | int, active: int) -> None:
        keys = keys_at(w, p, row, i, active)
        limit = w.splat(w.load(best.limit, best.key), best.key)
        bits = w.op(f"bitcast {vec('i1', w.lanes)} {w.binary('icmp ule', keys, limit, best.key)} to i{w.lanes}")
        if active < w.lanes:
            bits = w.op(f"and i{w.lanes} {bits}, {(1 << active) - 1}")
        some = w.op(f"icmp ne i{w.lanes} {bits}, 0")
        w.when(some, lambda: _take(w, best, (i, keys, bits), bound))

    w.repeat(full, lambda k: step(w.mul(k, w.lanes), w.lanes))
    if rest:
        step(full * w.lanes, rest)


def _bound(w: Writer, p: Params, row: str, best: _Best) -> str:
    """A key that no fewer than `room` elements are not above; the largest one where the row is too short for that."""
    turns = p["size"] // best.room
    if not turns:
        return "-1"
    v, name = vec(best.key, w.lanes), f"v{w.lanes}{MANGLED[best.key]}"

    def least(k: str, values: list[str]) -> list[str]:
        start = w.mul(k, best.room)
        read = [keys_at(w, p, row, w.add(start, n * w.lanes), w.lanes) for n in range(len(values))]
        return [w.call(f"llvm.umin.{name}", v, [(v, a), (v, b)]) for a, b in zip(values, read, strict=True)]

    def larger(a: str, b: str) -> str:
        return w.call(f"llvm.umax.{name}", v, [(v, a), (v, b)])

    columns = w.loop(turns, least, [(v, w.constant(-1, best.key))] * (best.room // w.lanes))
    most = columns[0]
    for column in columns[1:]:
        most = larger(most, column)
    return first(w, across(w, most, larger, best.key), best.key)


def _take(w: Writer, best: _Best, found: tuple[str | int, str, str], bound: str) -> None:
    """Bring elements of a vector, those whose bits are set, into the list."""
    i, keys, bits = found
    key, number, lanes = best.key, best.number, f"i{w.lanes}"
    w.vstore(keys, best.keys, type=key)

    def one(mask: str) -> str:
        lane = w.op(f"zext {lanes} {w.call(f'llvm.cttz.{lanes}', lanes, [(lanes, mask), ('i1', 'true')])} to i64")
        high = w.op(f"zext {key} {w.load(w.at(best.keys, lane, key), key)} to {number}")
        place = w.add(lane, i)
        low = place if number == "i64" else w.op(f"zext i64 {place} to {number}")
        _insert(w, best, w.op(f"or {number} {w.op(f'shl {number} {high}, {best.bits}')}, {low}"))
        return w.op(f"and {lanes} {mask}, {w.op(f'sub {lanes} {mask}, 1')}")

    w.until_zero(lanes, bits, one)
    last = w.op(f"load {number}, ptr {best.at(w, best.count - 1)}, align 8")
    worst = w.op(f"trunc {number} {w.op(f'lshr {number} {last}, {best.bits}')} to {key}")
    below = w.call(f"llvm.usub.sat.{key}", key, [(key, worst), (key, "1")])
    open = w.op(f"icmp eq {number} {last}, -1")
    w.store(w.op(f"select i1 {open}, {key} {bound}, {key} {below}"), best.limit, key)


def _insert(w: Writer, best: _Best, new: str) -> None:
    """Bring a number to its place: each is the smaller of what is there and the larger of the new one and what is before it."""
    lanes = w.lanes if best.number == "i64" else 1
    type = vec(best.number, lanes) if lanes > 1 else best.number
    name = f"v{lanes}i64" if lanes > 1 else best.number
    given = w.splat(new, best.number) if lanes > 1 else new
    for k in range(best.room - lanes, -1, -lanes):
        before, here = (w.op(f"load {type}, ptr {best.at(w, k - d)}, align 8") for d in (1, 0))
        larger = w.call(f"llvm.umax.{name}", type, [(type, before), (type, given)])
        made = w.call(f"llvm.umin.{name}", type, [(type, here), (type, larger)])
        w.do(f"store {type} {made}, ptr {best.at(w, k)}, align 8")


def first_places_twin(p: Params, x: Array, places: Array) -> None:
    places[:] = ordered(p, x)[:, : p["count"]].reshape(-1)


FIRST_PLACES = Emitter(first_places_operands, first_places_emit, first_places_twin)
