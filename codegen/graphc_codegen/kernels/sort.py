"""Kernels of order: the places that sort rows, and how many elements of a sorted row come before a value.

Short rows count for each element those before it, with vectors (rank sort); longer ones are sorted by the bytes of keys, the last
byte first (radix sort: Knuth, The Art of Computer Programming 3, 5.2.5), whose time goes with the length of the row. Both are
stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphc_codegen.dtypes import FLOATS, REGISTER, UNSIGNED
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.vectors import along, gathered, int32, iota
from graphc_codegen.writer import Writer, vec

#: Rows of at most so many elements are rank sorted.
SHORT = 64
#: Values of a byte; bytes that are counted at once.
_BINS, _DIGITS = 256, 4
#: Numbers of int32 that sorting by bytes counts in.
COUNTERS = _BINS * _DIGITS
#: Values that a row is searched for at once.
_SEARCHES = 8


def bits_of(dtype: str) -> int:
    """Of an element, and of its key."""
    return 64 if dtype.endswith("64") else 32


def _words(p: Params) -> int:
    """Elements of scratch memory of a part: two rows of keys, and one of int32 places."""
    size = int(p["size"])
    return 2 * size + (size if bits_of(p["dtype"]) == 32 else -(-size // 2))


def argsort_operands(p: Params) -> tuple[Operand, ...]:
    """x [rows, size] of `dtype` (32 or 64 bits) -> scratch, places int32 [rows, size].

    At most `parts` threads share the rows.
    """
    count = p["rows"] * p["size"]
    return (
        Operand(p["dtype"], count, "in"),
        Operand(f"int{bits_of(p['dtype'])}", p["parts"] * _words(p), "out"),
        Operand("int32", count, "out"),
    )


@dataclass(frozen=True)
class Row:
    """Pointers of the row that is sorted: keys, twice, places, twice; the type of a key and how many there are.

    Elements have the places that stand in the second array of them, if they are `placed`, else their numbers.
    """

    keys: tuple[str, str]
    places: tuple[str, str]
    type: str
    size: int | str
    placed: bool = False


def argsort_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """places[r] lists the elements of row r in ascending order, or `descending`; equal ones keep theirs, NaN comes last."""
    x, scratch, places = pointers
    rows, size, parts = p["rows"], p["size"], p["parts"]
    key, memory = f"i{bits_of(p['dtype'])}", REGISTER[p["dtype"]]
    counters = "" if size <= SHORT else w.op(f"alloca [{COUNTERS} x i32], align 64")

    def part(n: str | int) -> None:
        start = w.at(scratch, w.mul(n, _words(p)), key)
        other = w.at(start, size, key)
        spare = w.at(start, 2 * size, key)

        def one(r: str | int) -> None:
            row = Row((start, other), (spare, w.at(places, w.mul(r, size), "i32")), key, size)
            _write_keys(w, p, w.at(x, w.mul(r, size), memory), start)
            if size <= SHORT:
                _by_rank(w, row)
            else:
                by_bytes(w, row, counters)

        w.part(n, parts, rows, one)

    w.share(parts, part)


def _write_keys(w: Writer, p: Params, x: str, keys: str) -> None:
    type = f"i{bits_of(p['dtype'])}"

    def one(i: str | int, active: int, _: list[str]) -> list[str]:
        w.vstore(keys_at(w, p, x, i, active), w.at(keys, i, type), active, type)
        return []

    along(w, p["size"], (), one)


def keys_at(w: Writer, p: Params, x: str, i: str | int, active: int) -> str:
    """Numbers whose unsigned order is the order of elements i, i + 1, ...: zeros are equal, NaN is the largest."""
    dtype, descending = p["dtype"], bool(p["descending"])
    bits = bits_of(dtype)
    type = f"i{bits}"
    top, ones = 1 << (bits - 1), (1 << bits) - 1
    value = w.vload(w.at(x, i, type), active, type)
    if dtype not in FLOATS:
        flip = (0 if dtype in UNSIGNED else top) ^ (ones if descending else 0)
        return w.binary("xor", value, w.constant(flip, type), type)
    sign = w.binary("ashr", value, w.constant(bits - 1, type), type)
    made = w.binary("xor", value, w.binary("or", sign, w.constant(top, type), type), type)
    size = w.binary("and", value, w.constant(top - 1, type), type)
    zero = w.binary("icmp eq", size, w.constant(0, type), type)
    made = w.select(zero, w.constant(top, type), made, type)
    if descending:
        made = w.binary("xor", made, w.constant(ones, type), type)
    infinite = 0x7F800000 if bits == 32 else 0x7FF0000000000000
    nan = w.binary("icmp ugt", size, w.constant(infinite, type), type)
    return w.select(nan, w.constant(ones, type), made, type)


def _by_rank(w: Writer, row: Row) -> None:
    """Count before each element those that are less, or equal and earlier; its number goes to that place."""
    assert isinstance(row.size, int)
    keys, ranks, places = row.keys[0], row.keys[1], row.places[1]
    v = vec("i32", w.lanes)
    for base in range(0, row.size, w.lanes):
        active = min(w.lanes, row.size - base)
        mine = w.vload(w.at(keys, base, row.type), active, row.type)

        def turn(j: str, values: list[str], kind: str, mine: str = mine, base: int = base) -> list[str]:
            other = w.splat(w.load(w.at(keys, j, row.type), row.type), row.type)
            before = w.binary("icmp ule" if kind == "earlier" else "icmp ult", other, mine, row.type)
            if kind == "same":
                here = w.splat(w.op(f"trunc i64 {w.add(j, -base)} to i32"), "i32")
                later = w.binary("icmp ugt", iota(w), here, "i32")
                equal = w.binary("icmp eq", other, mine, row.type)
                before = w.binary("or", before, w.binary("and", equal, later, "i1"), "i1")
            return [w.binary("sub", values[0], w.convert("sext", before, "i1", "i32"), "i32")]

        count = "zeroinitializer"
        for start, end, kind in (
            (0, base, "earlier"),
            (base, base + active, "same"),
            (base + active, row.size, "later"),
        ):
            if end > start:
                (count,) = w.loop(end, lambda j, c, k=kind: turn(j, c, k), [(v, count)], start=start)  # type: ignore[misc]
        w.vstore(count, w.at(ranks, base, "i32"), active, "i32")

    def put(i: str | int) -> None:
        rank = w.op(f"zext i32 {w.load(w.at(ranks, i, 'i32'), 'i32')} to i64")
        w.store(int32(w, i), w.at(places, rank, "i32"), "i32")

    w.repeat(row.size, put)


def by_bytes(w: Writer, row: Row, counters: str) -> None:
    """Deal the elements into places by one byte of their keys after the other, the last one first.

    The sorted places are in the second array of them. counters: COUNTERS numbers of int32.
    """
    passes = int(row.type[1:]) // 8
    for n in range(passes):
        source, target = row.keys[n % 2], row.keys[1 - n % 2]
        if n % _DIGITS == 0:
            _count(w, row, source, counters, n)
        bins = w.at(counters, n % _DIGITS * _BINS, "i32")

        def deal(
            i: str, _: list[str], n: int = n, bins: str = bins, source: str = source, target: str = target
        ) -> None:
            key = w.load(w.at(source, i, row.type), row.type)
            number = (
                int32(w, i) if n == 0 and not row.placed else w.load(w.at(row.places[(n - 1) % 2], i, "i32"), "i32")
            )
            bin = w.at(bins, _byte(w, key, row.type, n), "i32")
            place = w.load(bin, "i32")
            w.store(w.op(f"add i32 {place}, 1"), bin, "i32")
            at = w.op(f"zext i32 {place} to i64")
            w.store(number, w.at(row.places[n % 2], at, "i32"), "i32")
            if n + 1 < passes:
                w.store(key, w.at(target, at, row.type), row.type)

        w.loop(row.size, deal)


def _byte(w: Writer, key: str, type: str, n: int) -> str:
    """Byte n of a key as i64, the last one being byte 0."""
    moved = w.op(f"lshr {type} {key}, {8 * n}") if n else key
    byte = w.op(f"and {type} {moved}, {_BINS - 1}")
    return byte if type == "i64" else w.op(f"zext {type} {byte} to i64")


def _count(w: Writer, row: Row, keys: str, counters: str, first: int) -> None:
    """Where the elements with each value of four bytes begin, from byte `first` on."""

    def clear(i: str | int, active: int, _: list[str]) -> list[str]:
        w.vstore("zeroinitializer", w.at(counters, i, "i32"), active, "i32")
        return []

    along(w, COUNTERS, (), clear)

    def count(i: str, _: list[str]) -> None:
        key = w.load(w.at(keys, i, row.type), row.type)
        for d in range(_DIGITS):
            bin = w.at(counters, w.add(_byte(w, key, row.type, first + d), d * _BINS), "i32")
            w.store(w.op(f"add i32 {w.load(bin, 'i32')}, 1"), bin, "i32")

    w.loop(row.size, count)

    def begin(i: str, sums: list[str]) -> list[str]:
        made = []
        for d in range(_DIGITS):
            bin = w.at(counters, w.add(i, d * _BINS), "i32")
            number = w.load(bin, "i32")
            w.store(sums[d], bin, "i32")
            made.append(w.op(f"add i32 {sums[d]}, {number}"))
        return made

    w.loop(_BINS, begin, [("i32", "0")] * _DIGITS)


def ordered(p: Params, x: Array) -> Array:
    """The places that sort the rows of x, in NumPy."""
    rows = x.reshape(p["rows"], p["size"])
    last = np.isnan(rows) if p["dtype"] in FLOATS else np.zeros(rows.shape, bool)
    keys = np.unique(np.where(last, 0, rows), return_inverse=True)[1].reshape(rows.shape)
    return np.lexsort((-keys if p["descending"] else keys, last), axis=-1)


def argsort_twin(p: Params, x: Array, scratch: Array, places: Array) -> None:
    places[:] = ordered(p, x).reshape(-1)
    scratch[:] = 0


def search_operands(p: Params) -> tuple[Operand, ...]:
    """table [rows, size], values [rows, count], both of `dtype` -> int32 [rows, count]."""
    rows = p["rows"]
    return (
        Operand(p["dtype"], rows * p["size"], "in"),
        Operand(p["dtype"], rows * p["count"], "in"),
        Operand("int32", rows * p["count"], "out"),
    )


def search_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """How many elements of an ascending row are less than each value, with `right` not greater; none for NaN. The row is halved
    again and again, for some values at once: in vectors nothing branches.
    """
    rows, count = p["rows"], p["count"]
    whole, rest = divmod(count, _SEARCHES)
    w.share_pairs(rows, whole, lambda r, k: _search(w, p, pointers, (r, w.mul(k, _SEARCHES)), _SEARCHES))
    w.share_pairs(rows, rest, lambda r, k: _search(w, p, pointers, (r, w.add(k, whole * _SEARCHES)), 1))


def _search(w: Writer, p: Params, pointers: Sequence[str], at: tuple[str | int, str | int], lanes: int) -> None:
    """Search a row for so many values."""
    table, values, out = pointers
    size, type, align = p["size"], REGISTER[p["dtype"]], bits_of(p["dtype"]) // 8
    v, numbers, on = vec(type, lanes), vec("i64", lanes), vec("i1", lanes)
    if p["dtype"] in FLOATS:
        test = f"fcmp {'ole' if p['right'] else 'olt'} {v}"
    else:
        test = f"icmp {'u' if p['dtype'] in UNSIGNED else 's'}{'le' if p['right'] else 'lt'} {v}"
    row, place = w.at(table, w.mul(at[0], size), type), w.linear((at[0], p["count"]), (at[1], 1))
    wanted = w.op(f"load {v}, ptr {w.at(values, place, type)}, align {align}")
    found = "zeroinitializer"
    for step in (1 << b for b in reversed(range(size.bit_length()))):
        more = w.op(f"add nsw {numbers} {found}, splat (i64 {step})")
        inside = w.op(f"icmp sle {numbers} {more}, splat (i64 {size})")
        clipped = w.op(f"select {on} {inside}, {numbers} {more}, {numbers} splat (i64 {size})")
        last = w.op(f"add nsw {numbers} {clipped}, splat (i64 -1)")
        read = gathered(w, row, last, (type, "i64"), lanes=lanes)
        before = w.op(f"and {on} {inside}, {w.op(f'{test} {read}, {wanted}')}")
        found = w.op(f"select {on} {before}, {numbers} {more}, {numbers} {found}")
    places32 = vec("i32", lanes)
    w.do(f"store {places32} {w.op(f'trunc {numbers} {found} to {places32}')}, ptr {w.at(out, place, 'i32')}, align 4")


@np.errstate(all="ignore")
def search_twin(p: Params, table: Array, values: Array, out: Array) -> None:
    compare = np.less_equal if p["right"] else np.less
    rows = zip(table.reshape(p["rows"], -1), values.reshape(p["rows"], -1), strict=True)
    out[:] = np.concatenate([[_halved(compare, row, v) for v in given] for row, given in rows])


def _halved(compare: np.ufunc, row: Array, value: Array) -> int:
    found = 0
    for step in (1 << b for b in reversed(range(len(row).bit_length()))):
        if found + step <= len(row) and compare(row[found + step - 1], value):
            found += step
    return found


ARGSORT = Emitter(argsort_operands, argsort_emit, argsort_twin)
SEARCH = Emitter(search_operands, search_emit, search_twin)
