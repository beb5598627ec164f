"""Small vector idioms that several kernels share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphc_codegen.writer import MANGLED, Carry, Writer, constant_mask, mask, vec


def iota(w: Writer) -> str:
    """The constant i32 vector 0, 1, 2, ..."""
    return "<" + ", ".join(f"i32 {i}" for i in range(w.lanes)) + ">"


def int32(w: Writer, i: str | int) -> str:
    """A number of i64 as i32."""
    return str(i) if isinstance(i, int) else w.op(f"trunc i64 {i} to i32")


def numbers_from(w: Writer, i: str | int) -> str:
    """The i32 vector i, i + 1, i + 2, ..."""
    return w.binary("add", iota(w), w.splat(int32(w, i), "i32"), "i32")


def below(w: Writer, first: str | int, size: int) -> str:
    """The mask of lanes with first, first + 1, first + 2, ... that are in [0, size).

    What is known is a constant, and nobody finds out more: LLVM 22 stores another lane of a shuffle where it sees late that the
    mask of a store has a single one.
    """
    if isinstance(first, int):
        return constant_mask(0 <= first + lane < size for lane in range(w.lanes))
    places = w.binary("add", w.splat(int32(w, w.hidden(first)), "i32"), iota(w), "i32")
    return w.op(f"icmp ult {vec('i32', w.lanes)} {places}, splat (i32 {size})")


def first_lanes(w: Writer, active: str | int) -> str:
    """The mask of the first so many lanes, maybe none; see `below`."""
    if isinstance(active, int):
        return mask(active, w.lanes)
    return w.binary("icmp slt", iota(w), w.splat(int32(w, w.hidden(active)), "i32"), "i32")


def both(w: Writer, a: str, b: str) -> str:
    """The mask of lanes that are on in two masks; that of two constants is one."""
    if a.startswith("<") and b.startswith("<"):
        pairs = zip(a.split(","), b.split(","), strict=True)
        return constant_mask("true" in one and "true" in other for one, other in pairs)
    return w.op(f"and {vec('i1', w.lanes)} {a}, {b}")


def fma_pairs(w: Writer, a: str, b: str, c: str) -> str:
    """c + a[0] * b[0] + a[1] * b[1] in each lane, where those of a and b are pairs of bfloat16 in the bits of a float."""
    v, pairs = vec("float", w.lanes), vec("bfloat", 2 * w.lanes)
    factors = [(pairs, x if x == "zeroinitializer" else w.op(f"bitcast {v} {x} to {pairs}")) for x in (a, b)]
    return w.call(f"llvm.x86.avx512bf16.dpbf16ps.{32 * w.lanes}", v, [(v, c), *factors])


def splat_pair(w: Writer, pointer: str) -> str:
    """A vector with the pair of bfloat16 at an address in every lane."""
    return w.splat(w.op(f"load float, ptr {pointer}, align 2"))


def deinterleave(w: Writer, low: str, high: str, parity: int) -> str:
    """Every second lane of the double vector (low, high), from lane `parity`."""
    return w.shuffle(low, high, range(parity, 2 * w.lanes, 2))


def interleave(w: Writer, even: str, odd: str) -> tuple[str, str]:
    """The double vector even[0], odd[0], even[1], odd[1], ..."""
    order = [i for lane in range(w.lanes) for i in (lane, w.lanes + lane)]
    return w.shuffle(even, odd, order[: w.lanes]), w.shuffle(even, odd, order[w.lanes :])


def across(w: Writer, value: str, combine: Callable[[str, str], str], type: str = "float") -> str:
    """All lanes combined, in every lane: a butterfly of log2(lanes) steps. `combine` must be commutative."""
    distance = w.lanes // 2
    while distance:
        value = combine(value, w.shuffle(value, "poison", [i ^ distance for i in range(w.lanes)], type))
        distance //= 2
    return value


def gathered(
    w: Writer,
    pointer: str,
    indices: str,
    kinds: tuple[str, str],
    *,
    lanes: int = 0,
    on: str = "",
    other: str = "poison",
) -> str:
    """Elements of a type at indices of a type (`kinds`), a vector's or `lanes` of them; where `on` is not, those of `other`."""
    type, index_type = kinds
    lanes = lanes or w.lanes
    v, places, size = vec(type, lanes), vec("ptr", lanes), 8 if type in ("double", "i64") else 4
    source = w.op(f"getelementptr {type}, ptr {pointer}, {vec(index_type, lanes)} {indices}")
    arguments = [(places, source), ("i32", str(size)), (vec("i1", lanes), on or "splat (i1 true)"), (v, other)]
    return w.call(f"llvm.masked.gather.v{lanes}{MANGLED[type]}.v{lanes}p0", v, arguments)


def maximum(w: Writer, a: str, b: str) -> str:
    """The larger; where only `a` is NaN, b."""
    return w.select(w.binary("fcmp ogt", a, b), a, b)


def maximum_or_nan(w: Writer, a: str, b: str) -> str:
    """The larger, or NaN where either is."""
    return w.select(w.binary("fcmp uno", a, a), a, maximum(w, a, b))


def across_sum(w: Writer, value: str) -> str:
    """The sum of all lanes, in every lane."""
    return across(w, value, lambda a, b: w.binary("fadd", a, b))


def across_maximum(w: Writer, value: str) -> str:
    """The largest of all lanes, in every lane; NaN may be ignored."""
    return across(w, value, lambda a, b: maximum(w, a, b))


def first(w: Writer, value: str, type: str = "float") -> str:
    """Lane 0 as a scalar."""
    return w.op(f"extractelement {vec(type, w.lanes)} {value}, i64 0")


def along(w: Writer, size: int, carry: Carry, body: Callable[[str | int, int, list[str]], Sequence[str]]) -> list[str]:
    """Walk a contiguous axis of static size vector by vector, tail last: `body(index, active, values)`."""
    full, rest = divmod(size, w.lanes)
    values = [initial for _, initial in carry]
    if full == 1:
        values = list(body(0, w.lanes, values))
    elif full:
        values = w.loop(full * w.lanes, lambda i, v: body(i, w.lanes, v), carry, step=w.lanes)
    if rest:
        values = list(body(full * w.lanes, rest, values))
    return values


def sum_along(
    w: Writer, size: int, term: Callable[[str | int, int], str], block: int = 0, *, masked: bool = False
) -> str:
    """The sum of `term(index, active lanes)` over a contiguous axis of static size, in every lane.

    Lanes of a tail's term that are not active are left out, unless terms are `masked`: zero there. With a `block` an accumulator
    takes so many terms at most before it is added to one of float64.
    """
    v, zero = vec("float", w.lanes), "zeroinitializer"

    def add(i: str | int, active: int, values: Sequence[str]) -> list[str]:
        x = term(i, active)
        if active < w.lanes and not masked:
            x = w.select(mask(active, w.lanes), x, zero)
        return [w.binary("fadd", values[0], x)]

    full, rest = divmod(size, w.lanes)
    if not block or full <= block:
        (value,) = along(w, size, [(v, zero)], add)
        return across_sum(w, value)
    end, far = full * w.lanes, block * w.lanes

    def one(i: str, totals: list[str]) -> list[str]:
        stop = w.smaller(w.add(i, far), end)
        (value,) = w.loop(stop, lambda k, x: add(k, w.lanes, x), [(v, zero)], step=w.lanes, start=i)
        return [widened(w, totals[0], value)]

    (total,) = w.loop(end, one, [(vec("double", w.lanes), zero)], step=far)
    if rest:
        total = widened(w, total, add(end, rest, [zero])[0])
    return across_total(w, total)


def widened(w: Writer, total: str, value: str) -> str:
    """A float64 vector with a float32 one added."""
    return w.binary("fadd", total, w.convert("fpext", value, "float", "double"), "double")


def across_total(w: Writer, total: str) -> str:
    """The sum of all lanes of a float64 vector, rounded, in every lane."""
    total = across(w, total, lambda a, b: w.binary("fadd", a, b, "double"), "double")
    return w.convert("fptrunc", total, "double", "float")


def fill_zero(w: Writer, pointer: str, size: int, type: str = "float") -> None:
    """Set `size` numbers to zero."""

    def one(i: str | int, active: int, _: list[str]) -> list[str]:
        w.vstore("zeroinitializer", w.at(pointer, i, type), active, type)
        return []

    along(w, size, (), one)
