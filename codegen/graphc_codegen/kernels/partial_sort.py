"""Partial sorts: the places of the first elements of rows in order, of more than a list can keep (`select`).

A row is narrowed before it is sorted. Its keys are counted by their distance from the least one, a digit of it at a time, the
first digit first, until few enough share all digits with the last key that is wanted (radix select: Alabi, Blanchard, Gordon and
Steinbach, Fast k-selection algorithms for graphics processing units, 2012). What is not above that is collected, in order of
places, and sorted by bytes.

Where a small part of a row is wanted, keys above a bound are passed over before that, by vectors: with the least of each of some
columns, a limit of these leaves no fewer of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.sort import COUNTERS, Row, bits_of, by_bytes, keys_at, ordered
from graphc_codegen.kernels.vectors import across, along, fill_zero, first, int32, numbers_from
from graphc_codegen.writer import MANGLED, Writer, mask, vec

#: Bits of a digit. Counters stand in two arrays, so that equal digits that follow each other need not wait; each has room for a
#: vector of others.
_DIGIT, _ARRAYS, _OTHERS = 11, 2, 16
_BINS = (1 << _DIGIT) + _OTHERS
#: Bins that are passed over at once.
_BLOCK = 32
#: What finds the ends of a range.
_ENDS = ("umin", "umax")
#: Elements of a column; how many times as many columns as wanted elements make a bound worth its walk.
_COLUMN, _ENOUGH = 8, 2
#: A row is narrow enough with so many elements more than are wanted: a part of it.
_SPARE = 8
#: Keys that may stand behind a row: those of a vector.
_BEHIND = 16


def _room(p: Params) -> int:
    """Elements that a row has at most when it is sorted."""
    return int(_wanted(p) + p["size"] // _SPARE)


def _wanted(p: Params) -> int:
    """Places of a row."""
    return 1 if p["last"] else int(p["count"])


def _words(p: Params) -> int:
    """Keys of scratch memory of a part: keys and int32 places of a whole row, and of one that is sorted."""
    count = int(p["size"]) + _BEHIND + _room(p)
    return count + (count if bits_of(p["dtype"]) == 32 else -(-count // 2))


def partial_argsort_operands(p: Params) -> tuple[Operand, ...]:
    """x [rows, size] of `dtype` (32 or 64 bits) -> scratch, places int32 [rows, count], [rows, 1] if only the `last` is wanted.

    At most `parts` threads share the rows.
    """
    return (
        Operand(p["dtype"], p["rows"] * p["size"], "in"),
        Operand(f"int{bits_of(p['dtype'])}", p["parts"] * _words(p), "out"),
        Operand("int32", p["rows"] * _wanted(p), "out"),
    )


@dataclass(frozen=True)
class _State:
    """Addresses of what is known of a row.

    only        whether only the last one is wanted
    low, high   the range of keys that may be the last wanted one; in the end what is not above `high` is taken, of those that
                equal it only the elements until number `last`. If `only` is so, nothing below `low`, nor before number `start`
    left        how many of the wanted elements are not below `low`
    bin         of the digit of the last wanted key; how many keys are `below` it, and `inside`
    few         whether all elements in that bin are taken
    found       how many elements have been taken
    bins        how many keys have each digit
    """

    bits: int
    only: bool
    low: str
    high: str
    left: str
    bin: str
    below: str
    inside: str
    start: str
    last: str
    found: str
    few: str
    bins: str

    @property
    def key(self) -> str:
        return f"i{self.bits}"


def _state(w: Writer, p: Params) -> _State:
    bits = bits_of(p["dtype"])
    types = [f"i{bits}"] * 2 + ["i64"] * 7 + ["i8", f"[{_ARRAYS * _BINS} x i32]"]
    return _State(bits, p["last"], *(w.op(f"alloca {type}, align 64") for type in types))


def partial_argsort_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """places[r] lists the first `count` elements of row r as `argsort` orders them, or the `last` of these alone; `size` is not
    less than `count`.
    """
    x, scratch, places = pointers
    size, wanted, parts = p["size"], _wanted(p), p["parts"]
    state, counters = _state(w, p), w.op(f"alloca [{COUNTERS} x i32], align 64")
    key = state.key

    def part(n: str | int) -> None:
        keys = w.at(scratch, w.mul(n, _words(p)), key)
        other = w.at(keys, size + _BEHIND, key)
        numbers = w.at(other, _room(p), key)
        spare = w.at(numbers, size + _BEHIND, "i32")

        def one(r: str | int) -> None:
            _narrow(w, p, state, (w.at(x, w.mul(r, size), key), keys, numbers, other))
            found = w.load(state.found, "i64")
            by_bytes(w, Row((keys, other), (spare, numbers), key, found, placed=True), counters)

            chosen = w.at(numbers, w.add(w.load(state.left, "i64"), -1), "i32") if p["last"] else numbers
            to = w.at(places, w.mul(r, wanted), "i32")

            def copy(i: str | int, active: int, _: list[str]) -> list[str]:
                w.vstore(w.vload(w.at(chosen, i, "i32"), active, "i32"), w.at(to, i, "i32"), active, "i32")
                return []

            along(w, wanted, (), copy)

        w.part(n, parts, p["rows"], one)

    w.share(parts, part)


def _narrow(w: Writer, p: Params, s: _State, pointers: tuple[str, str, str, str]) -> None:
    """Collect keys and places of a row that are not above the last one wanted, and few others; `spare` is memory that is free."""
    row, keys, numbers, spare = pointers
    size, count = p["size"], p["count"]
    columns = size // _COLUMN // w.lanes * w.lanes

    def choose(size: str | int) -> None:
        w.vstore(w.constant(-1, s.key), w.at(keys, size, s.key), type=s.key)
        _find_limit(w, s, keys, size, count)
        _find_last(w, s, keys, size)
        _keep(w, s, keys, numbers, size)

    if columns < _ENOUGH * count:
        _write_all(w, p, s, (row, keys, numbers))
        choose(size)
        return
    _least_of_columns(w, p, s, (row, spare), columns)
    _find_limit(w, s, spare, columns, count)
    _collect_below(w, p, s, (row, keys, numbers))
    w.store(f"{count}", s.left, "i64")
    found = w.load(s.found, "i64")
    w.when(w.op(f"icmp sgt i64 {found}, {count + count // 4}"), lambda: choose(found))


# ---- walks along a row


def _write_all(w: Writer, p: Params, s: _State, pointers: tuple[str, str, str]) -> None:
    """Keys and places of all elements."""
    row, keys, numbers = pointers

    def one(i: str | int, active: int, _: list[str]) -> list[str]:
        w.vstore(keys_at(w, p, row, i, active), w.at(keys, i, s.key), active, s.key)
        w.vstore(numbers_from(w, i), w.at(numbers, i, "i32"), active, "i32")
        return []

    along(w, p["size"], (), one)


def _least_of_columns(w: Writer, p: Params, s: _State, pointers: tuple[str, str], columns: int) -> None:
    """The least key of each column; the few elements behind the last row of columns are in none."""
    row, least = pointers

    def one(i: str, _: list[str]) -> None:
        made = keys_at(w, p, row, i, w.lanes)
        for n in range(1, _COLUMN):
            made = _of_two(w, "umin", made, keys_at(w, p, row, w.add(i, n * columns), w.lanes), s.key)
        w.vstore(made, w.at(least, i, s.key), type=s.key)

    w.loop(columns, one, step=w.lanes)


def _collect_below(w: Writer, p: Params, s: _State, pointers: tuple[str, str, str]) -> None:
    """Keys and places of the elements that are not above the limit."""
    row, keys, numbers = pointers
    limit = w.splat(w.load(s.high, s.key), s.key)
    w.store("0", s.found, "i64")

    def one(i: str | int, active: int, _: list[str]) -> list[str]:
        read = keys_at(w, p, row, i, active)
        chosen = _inside(w, w.binary("icmp ule", read, limit, s.key), active, "zeroinitializer", "i1")
        _take(w, s, (keys, numbers), chosen, read, lambda: numbers_from(w, i))
        return []

    along(w, p["size"], (), one)


def _keep(w: Writer, s: _State, keys: str, numbers: str, size: str | int) -> None:
    """Keep of collected elements those that are wanted, at the same addresses: they move to the front."""
    low, limit = (w.splat(w.load(end, s.key), s.key) for end in (s.low, s.high))
    start, last = (w.splat(int32(w, w.load(end, "i64")), "i32") for end in (s.start, s.last))
    w.store("0", s.found, "i64")

    def one(i: str, _: list[str]) -> None:
        read = w.vload(w.at(keys, i, s.key), type=s.key)
        early = w.binary("icmp ule", numbers_from(w, i), last, "i32")
        equal = w.binary("and", w.binary("icmp eq", read, limit, s.key), early, "i1")
        chosen = w.binary("or", w.binary("icmp ult", read, limit, s.key), equal, "i1")
        if s.only:
            chosen = w.binary("and", chosen, w.binary("icmp uge", read, low, s.key), "i1")
            chosen = w.binary("and", chosen, w.binary("icmp uge", numbers_from(w, i), start, "i32"), "i1")
        _take(w, s, (keys, numbers), chosen, read, lambda: w.vload(w.at(numbers, i, "i32"), type="i32"))

    w.loop(size, one, step=w.lanes)


def _take(w: Writer, s: _State, pointers: tuple[str, str], chosen: str, keys: str, numbers: Callable[[], str]) -> None:
    """Put the chosen lanes of keys and numbers behind those that were found.

    Each is stored, and the next one over it unless it is chosen: nothing branches.
    """
    lanes = w.lanes
    bits = w.op(f"bitcast {vec('i1', lanes)} {chosen} to i{lanes}")

    def put() -> None:
        which, places = w.op(f"zext i{lanes} {bits} to i64"), numbers()
        at: str | int = w.load(s.found, "i64")
        for lane in range(lanes):
            w.store(w.op(f"extractelement {vec(s.key, lanes)} {keys}, i64 {lane}"), w.at(pointers[0], at, s.key), s.key)
            w.store(
                w.op(f"extractelement {vec('i32', lanes)} {places}, i64 {lane}"), w.at(pointers[1], at, "i32"), "i32"
            )
            at = w.add(at, w.op(f"and i64 {w.op(f'lshr i64 {which}, {lane}') if lane else which}, 1"))
        w.store(str(at), s.found, "i64")

    w.when(w.op(f"icmp ne i{lanes} {bits}, 0"), put)


def _inside(w: Writer, value: str, active: int, other: str, type: str) -> str:
    """A vector whose lanes behind the first `active` are those of another."""
    return value if active == w.lanes else w.select(mask(active, w.lanes), value, other, type)


def _of_two(w: Writer, name: str, a: str, b: str, type: str) -> str:
    v = vec(type, w.lanes)
    return w.call(f"llvm.{name}.v{w.lanes}{MANGLED[type]}", v, [(v, a), (v, b)])


# ---- limits


def _find_limit(w: Writer, s: _State, keys: str, size: str | int, count: int) -> None:
    """The limit of `count` of the keys; behind them stand the largest ones until the vector is full."""
    key = s.key
    w.store("0", s.low, key)
    w.store("-1", s.high, key)
    w.store(f"{count}", s.left, "i64")
    spare = size // _SPARE if isinstance(size, int) else w.op(f"udiv i64 {size}, {_SPARE}")

    def digit() -> str:
        shift = _find_range(w, s, keys, size)
        _count_digits(w, s, keys, size, shift)
        bin, below, inside = _find_bin(w, s)
        left = w.op(f"sub i64 {w.load(s.left, 'i64')}, {below}")
        far = w.op(f"trunc i64 {bin} to {key}") if key == "i32" else bin
        low = w.op(f"add {key} {w.load(s.low, key)}, {w.op(f'shl {key} {far}, {shift}')}")
        span = w.op(f"sub {key} {w.op(f'shl {key} 1, {shift}')}, 1")
        few = w.op(f"icmp sle i64 {inside}, {spare if s.only else w.add(left, spare)}")
        w.store(low, s.low, key)
        w.store(w.call(f"llvm.uadd.sat.{key}", key, [(key, low), (key, span)]), s.high, key)
        w.store(left, s.left, "i64")
        w.store(w.op(f"zext i1 {few} to i8"), s.few, "i8")
        return w.op(f"or i1 {few}, {w.op(f'icmp eq {key} {shift}, 0')}")

    w.until(digit)


def _find_range(w: Writer, s: _State, keys: str, size: str | int) -> str:
    """Shrink the range to that of the keys in it; gives how many bits stand behind the first digit of their distances.

    So keys that are far from all others cost one digit, not all.
    """
    key, v, most = s.key, vec(s.key, w.lanes), w.constant(-1, s.key)
    low, high = (w.splat(w.load(at, key), key) for at in (s.low, s.high))
    last = w.splat(int32(w, w.add(size, -1)), "i32")

    def one(i: str, ends: list[str]) -> list[str]:
        read = w.vload(w.at(keys, i, key), type=key)
        inside = w.binary("icmp ule", numbers_from(w, i), last, "i32")
        for test, end in (("uge", low), ("ule", high)):
            inside = w.binary("and", inside, w.binary(f"icmp {test}", read, end, key), "i1")
        others = (w.select(inside, read, other, key) for other in (most, "zeroinitializer"))
        return [_of_two(w, name, a, b, key) for name, a, b in zip(_ENDS, ends, others, strict=True)]

    found = []
    for name, to, value in zip(
        _ENDS, (s.low, s.high), w.loop(size, one, [(v, most), (v, "zeroinitializer")], step=w.lanes), strict=True
    ):
        joined = across(w, value, lambda a, b, n=name: _of_two(w, n, a, b, key), key)  # type: ignore[misc]
        found.append(first(w, joined, key))
        w.store(found[-1], to, key)
    zeros = w.call(f"llvm.ctlz.{key}", key, [(key, w.op(f"sub {key} {found[1]}, {found[0]}")), ("i1", "false")])
    return w.call(f"llvm.usub.sat.{key}", key, [(key, w.op(f"sub {key} {s.bits}, {zeros}")), (key, f"{_DIGIT}")])


def _count_digits(w: Writer, s: _State, keys: str, size: str | int, shift: str) -> None:
    """How many keys in the range have each digit of the distance from its low end, in both arrays together."""
    key, v = s.key, vec(s.key, w.lanes)
    fill_zero(w, s.bins, _ARRAYS * _BINS, "i32")
    low, far = w.splat(w.load(s.low, key), key), w.splat(shift, key)

    def one(i: str, _: list[str]) -> None:
        read = w.vload(w.at(keys, i, key), type=key)
        digits = w.binary("lshr", w.binary("sub", read, low, key), far, key)
        digits = _of_two(w, "umin", digits, w.constant(1 << _DIGIT, key), key)
        for lane in range(w.lanes):
            digit = w.op(f"extractelement {v} {digits}, i64 {lane}")
            if key == "i32":
                digit = w.op(f"zext i32 {digit} to i64")
            bin = w.at(s.bins, w.add(digit, lane % _ARRAYS * _BINS), "i32")
            w.store(w.op(f"add i32 {w.load(bin, 'i32')}, 1"), bin, "i32")

    w.loop(size, one, step=w.lanes)


def _find_bin(w: Writer, s: _State) -> tuple[str, str, str]:
    """Which bin holds the last wanted key, how many are in those before and how many in it."""
    left = w.load(s.left, "i64")
    w.store("0", s.bin, "i64")
    w.store("0", s.below, "i64")

    def pass_over(width: int) -> str:
        bin, below = w.load(s.bin, "i64"), w.load(s.below, "i64")
        counts = [w.at(s.bins, w.add(bin, n * _BINS), "i32") for n in range(_ARRAYS)]
        inside = _sum(w, counts, width)
        up = w.op(f"add i64 {below}, {inside}")
        here = w.op(f"icmp sge i64 {up}, {left}")
        w.store(w.op(f"select i1 {here}, i64 {bin}, i64 {w.add(bin, width)}"), s.bin, "i64")
        w.store(w.op(f"select i1 {here}, i64 {below}, i64 {up}"), s.below, "i64")
        w.store(inside, s.inside, "i64")
        return here

    for width in (_BLOCK, 1):
        w.until(lambda width=width: pass_over(width))  # type: ignore[misc]
    return w.load(s.bin, "i64"), w.load(s.below, "i64"), w.load(s.inside, "i64")


def _sum(w: Writer, pointers: list[str], width: int) -> str:
    """Of so many counts from each address on: i64."""
    if width == 1:
        counts = [w.load(at, "i32") for at in pointers]
        return w.op(f"zext i32 {reduce(lambda a, b: w.op(f'add i32 {a}, {b}'), counts)} to i64")
    counts = [w.vload(w.at(at, i, "i32"), type="i32") for at in pointers for i in range(0, width, w.lanes)]

    def add(a: str, b: str) -> str:
        return w.binary("add", a, b, "i32")

    return w.op(f"zext i32 {first(w, across(w, reduce(add, counts), add, 'i32'), 'i32')} to i64")


def _find_last(w: Writer, s: _State, keys: str, size: str | int) -> None:
    """The number of the last element that is taken: of those that equal the limit, as many as are wanted."""
    key = s.key
    w.store("0", s.start, "i64")
    w.store(str(w.add(size, -1)), s.last, "i64")

    def search() -> None:
        limit, left = w.load(s.high, key), w.load(s.left, "i64")

        def one(i: str, values: list[str]) -> list[str]:
            equal = w.op(f"icmp eq {key} {w.load(w.at(keys, i, key), key)}, {limit}")
            seen = w.op(f"add i64 {values[0]}, {w.op(f'zext i1 {equal} to i64')}")
            before = w.op(f"icmp slt i64 {seen}, {left}")
            return [seen, w.op(f"add i64 {values[1]}, {w.op(f'zext i1 {before} to i64')}")]

        _, last = w.loop(size, one, [("i64", "0"), ("i64", "0")])
        w.store(last, s.last, "i64")
        if s.only:
            w.store(last, s.start, "i64")
            w.store("1", s.left, "i64")

    w.when(w.op(f"icmp eq i8 {w.load(s.few, 'i8')}, 0"), search)


def partial_argsort_twin(p: Params, x: Array, scratch: Array, places: Array) -> None:
    places[:] = ordered(p, x)[:, p["count"] - _wanted(p) : p["count"]].reshape(-1)
    scratch[:] = 0


PARTIAL_ARGSORT = Emitter(partial_argsort_operands, partial_argsort_emit, partial_argsort_twin)
