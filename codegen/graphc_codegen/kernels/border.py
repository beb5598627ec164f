"""Arrays with borders that repeat what is inside, and the gradients of these.

A place in front of an axis or behind it shows one of the axis, by a `mode` of NumPy's pad: its mirror image, where the outermost
element is the mirror ("reflect") or lies in front of it ("symmetric"), the outermost element ("edge"), or the one that comes
there if the axis begins anew ("wrap"). Rows are moved as a whole, with all of their borders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from graphc_codegen.dtypes import MEMORY
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.vectors import along
from graphc_codegen.writer import Writer

Axis = tuple[int, int, int]
Digits = Sequence[str | int]

#: The most places on one side of a row that are written one by one.
_FEW = 8


def _sizes(p: Params) -> tuple[int, int]:
    """Elements of the array, and of that with borders."""
    inside = math.prod(size for size, _, _ in p["axes"])
    return p["outer"] * inside, p["outer"] * math.prod(map(sum, p["axes"]))


def _shown(mode: str, axis: Axis, i: int) -> int:
    """The place inside that place `i` of an axis with its border shows."""
    size, before, _ = axis
    k = i - before
    if 0 <= k < size:
        return k
    mirrored = {"reflect": -k if k < 0 else 2 * size - 2 - k, "symmetric": -1 - k if k < 0 else 2 * size - 1 - k}
    found = mirrored | {"edge": 0 if k < 0 else size - 1, "wrap": k % size}
    return found[mode]


def _place(w: Writer, mode: str, axis: Axis, i: str | int) -> str | int:
    """The same of a place that may be known as the kernel runs only."""
    size, before, after = axis
    if isinstance(i, int):
        return _shown(mode, axis, i)
    if not before and not after:
        return i
    k = w.subtracted(i, before)
    least, most = {
        "reflect": (w.subtracted(0, k), w.subtracted(2 * size - 2, k)),
        "symmetric": (w.subtracted(-1, k), w.subtracted(2 * size - 1, k)),
        "edge": (0, size - 1),
        "wrap": (w.add(k, size), w.subtracted(k, size)),
    }[mode]
    inside = w.op(f"select i1 {w.op(f'icmp sge i64 {k}, {size}')}, i64 {most}, i64 {k}")
    return w.op(f"select i1 {w.op(f'icmp slt i64 {k}, 0')}, i64 {least}, i64 {inside}")


def _digits(w: Writer, index: str | int, sizes: Sequence[int]) -> Digits:
    """An index along each of these axes."""
    found: list[str | int] = []
    for size in reversed(sizes):
        index, digit = w.divided(index, size)
        found.insert(0, digit)
    return found


def _number(w: Writer, digits: Digits, sizes: Sequence[int]) -> str | int:
    """The number of the row with these digits."""
    number: str | int = 0
    for digit, size in zip(digits, sizes, strict=True):
        number = w.linear((number, size), (digit, 1))
    return number


def _around(w: Writer, p: Params, body: Callable[[str | int, str | int], None]) -> None:
    """`body` of every place beside the row, and of that in the row which it shows."""
    last = p["axes"][-1]
    size, before, after = last

    def one(j: str | int) -> None:
        body(j, _place(w, p["mode"], last, j))

    for start, count in ((0, before), (before + size, after)):
        if count <= _FEW:
            for j in range(start, start + count):
                one(j)
        else:
            w.turns((start, start + count), lambda j, _: one(j))


# ---- border_pad


def pad_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, *sizes] of `dtype` -> y [outer, *(before + size + after)], of `axes` (size, before, after)."""
    inside, whole = _sizes(p)
    return Operand(p["dtype"], inside, "in"), Operand(p["dtype"], whole, "out")


def pad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Row after row of y: the row of x that it shows, and the elements in front of it and behind it."""
    (x, y), type, mode = pointers, MEMORY[p["dtype"]], p["mode"]
    (*rows, last), sizes = p["axes"], [sum(axis) for axis in p["axes"][:-1]]
    size, before, _ = last
    count = math.prod(sizes)

    def row(o: str | int, r: str | int) -> None:
        digits = [_place(w, mode, axis, i) for axis, i in zip(rows, _digits(w, r, sizes), strict=True)]
        number = _number(w, digits, [axis[0] for axis in rows])
        inside = math.prod(axis[0] for axis in rows)
        source = w.at(x, w.mul(w.linear((o, inside), (number, 1)), size), type)
        target = w.at(y, w.mul(w.linear((o, count), (r, 1)), sum(last)), type)

        def copy(i: str | int, active: int, _: list[str]) -> list[str]:
            w.vstore(w.vload(w.at(source, i, type), active, type), w.at(target, w.add(i, before), type), active, type)
            return []

        along(w, size, (), copy)
        _around(w, p, lambda j, k: w.store(w.load(w.at(source, k, type), type), w.at(target, j, type), type))

    w.share_pairs(p["outer"], count, row)


def _places(p: Params) -> list[Array]:
    """Of each axis the places inside that those of the axis with its border show."""
    return [np.pad(np.arange(size), (before, after), p["mode"]) for size, before, after in p["axes"]]


def pad_twin(p: Params, x: Array, y: Array) -> None:
    made = x.reshape(p["outer"], *(size for size, _, _ in p["axes"]))
    y[:] = made[np.ix_(np.arange(p["outer"]), *_places(p))].reshape(-1)


# ---- border_pad_grad


def grad_operands(p: Params) -> tuple[Operand, ...]:
    """dy like y of border_pad -> dx like its x, of `dtype` float32 or float64."""
    inside, whole = _sizes(p)
    return Operand(p["dtype"], whole, "in"), Operand(p["dtype"], inside, "out")


def grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Rows of dy that lie inside are stored, then those of borders are added to the rows that they show."""
    (dy, dx), type, mode = pointers, MEMORY[p["dtype"]], p["mode"]
    (*rows, last), sizes = p["axes"], [sum(axis) for axis in p["axes"][:-1]]
    inside = [axis[0] for axis in rows]
    size, before, _ = last

    def row(o: str | int, r: str | int, number: str | int, *, add: bool) -> None:
        """Row r of dy, to that of dx with such a number."""
        source = w.at(dy, w.mul(w.linear((o, math.prod(sizes)), (r, 1)), sum(last)), type)
        target = w.at(dx, w.mul(w.linear((o, math.prod(inside)), (number, 1)), size), type)

        def move(i: str | int, active: int, _: list[str]) -> list[str]:
            value, place = w.vload(w.at(source, w.add(i, before), type), active, type), w.at(target, i, type)
            if add:
                value = w.binary("fadd", value, w.vload(place, active, type), type)
            w.vstore(value, place, active, type)
            return []

        along(w, size, (), move)
        _around(w, p, lambda j, k: added(w.at(source, j, type), w.at(target, k, type)))

    def added(source: str, target: str) -> None:
        w.store(w.op(f"fadd {type} {w.load(target, type)}, {w.load(source, type)}"), target, type)

    def within(o: str | int) -> None:
        def one(number: str | int) -> None:
            digits = [w.add(i, axis[1]) for axis, i in zip(rows, _digits(w, number, inside), strict=True)]
            row(o, _number(w, digits, sizes), number, add=False)

        w.repeat(math.prod(inside), one)

    def around(o: str | int) -> None:
        """Rows of borders, by what each axis is of: what is in front of the array, in it, or behind it."""
        for kinds in product(*[((0, b), (b, b + n), (b + n, b + n + a)) for n, b, a in rows]):
            if any(kind != (axis[1], axis[1] + axis[0]) for kind, axis in zip(kinds, rows, strict=True)):
                border(o, kinds)

    def border(o: str | int, kinds: Sequence[tuple[int, int]]) -> None:
        def one(index: str | int) -> None:
            counted = _digits(w, index, [end - start for start, end in kinds])
            digits = [w.add(i, start) for i, (start, _) in zip(counted, kinds, strict=True)]
            places = [_place(w, mode, axis, i) for axis, i in zip(rows, digits, strict=True)]
            row(o, _number(w, digits, sizes), _number(w, places, inside), add=True)

        w.repeat(math.prod(end - start for start, end in kinds), one)

    def outer(o: str | int) -> None:
        within(o)
        around(o)

    w.share(p["outer"], outer)


@np.errstate(all="ignore")
def grad_twin(p: Params, dy: Array, dx: Array) -> None:
    places = _places(p)
    made = np.zeros((p["outer"], *(size for size, _, _ in p["axes"])), np.float64)
    given = dy.reshape(p["outer"], *map(len, places))
    np.add.at(made, np.ix_(np.arange(p["outer"]), *places), given)
    dx[:] = made.reshape(-1)


BORDER_PAD = Emitter(pad_operands, pad_emit, pad_twin)
BORDER_PAD_GRAD = Emitter(grad_operands, grad_emit, grad_twin)
