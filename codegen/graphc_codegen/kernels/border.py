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
#: Where a row lies along each axis but the last one.
Digits = Sequence[str | int]

#: The most places on one side of a row that are written one by one.
_FEW = 8


def _sizes(p: Params) -> tuple[int, int]:
    """Elements of the array, and of that with borders."""
    inside = math.prod(size for size, _, _ in p["axes"])
    return p["outer"] * inside, p["outer"] * math.prod(map(sum, p["axes"]))


def _place(w: Writer, mode: str, axis: Axis, i: str | int) -> str | int:
    """The place inside that place `i` of an axis with its border shows."""
    size, before, after = axis
    if not before and not after:
        return i
    k = w.subtracted(i, before)
    least, most = {
        "reflect": (w.subtracted(0, k), w.subtracted(2 * size - 2, k)),
        "symmetric": (w.subtracted(-1, k), w.subtracted(2 * size - 1, k)),
        "edge": (0, size - 1),
        "wrap": (w.add(k, size), w.subtracted(k, size)),
    }[mode]
    if isinstance(k, int):
        return least if k < 0 else most if k >= size else k
    inside = w.op(f"select i1 {w.op(f'icmp sge i64 {k}, {size}')}, i64 {most}, i64 {k}")
    return w.op(f"select i1 {w.op(f'icmp slt i64 {k}, 0')}, i64 {least}, i64 {inside}")


def _rows(
    w: Writer, p: Params, pointers: Sequence[str], o: str | int, digits: tuple[Digits, Digits]
) -> tuple[str, str]:
    """The addresses of a row inside and of one with its border, in arrays of these kinds, by their digits."""
    found = []
    sizes = [axis[0] for axis in p["axes"]], [sum(axis) for axis in p["axes"]]
    for pointer, lengths, of in zip(pointers, sizes, digits, strict=True):
        number = o
        for digit, size in zip((*of, 0), lengths, strict=True):
            number = w.linear((number, size), (digit, 1))
        found.append(w.at(pointer, number, MEMORY[p["dtype"]]))
    return found[0], found[1]


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
    type, (*rows, last) = MEMORY[p["dtype"]], p["axes"]
    size, before, _ = last
    sizes = [sum(axis) for axis in rows]

    def row(o: str | int, r: str | int) -> None:
        digits = w.digits(r, sizes)
        places = [_place(w, p["mode"], axis, i) for axis, i in zip(rows, digits, strict=True)]
        source, target = _rows(w, p, pointers, o, (places, digits))

        def copy(i: str | int, active: int, _: list[str]) -> list[str]:
            w.vstore(w.vload(w.at(source, i, type), active, type), w.at(target, w.add(i, before), type), active, type)
            return []

        along(w, size, (), copy)
        _around(w, p, lambda j, k: w.store(w.load(w.at(source, k, type), type), w.at(target, j, type), type))

    w.share_pairs(p["outer"], math.prod(sizes), row)


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
    (dy, dx), type, (*rows, last) = pointers, MEMORY[p["dtype"]], p["axes"]
    size, before, _ = last

    def added(source: str, target: str) -> None:
        w.store(w.op(f"fadd {type} {w.load(target, type)}, {w.load(source, type)}"), target, type)

    def row(o: str | int, digits: tuple[Digits, Digits], *, add: bool) -> None:
        """A row of dy, to that of dx."""
        target, source = _rows(w, p, (dx, dy), o, digits)

        def move(i: str | int, active: int, _: list[str]) -> list[str]:
            value, place = w.vload(w.at(source, w.add(i, before), type), active, type), w.at(target, i, type)
            if add:
                value = w.binary("fadd", value, w.vload(place, active, type), type)
            w.vstore(value, place, active, type)
            return []

        along(w, size, (), move)
        _around(w, p, lambda j, k: added(w.at(source, j, type), w.at(target, k, type)))

    inside = tuple((b, b + n) for n, b, _ in rows)
    # In front of the array, in it, or behind it, along each axis; what lies in it along all of them comes first.
    parts = list(product(*[((0, b), (b, b + n), (b + n, b + n + a)) for n, b, a in rows]))

    def part(o: str | int, ranges: Sequence[tuple[int, int]]) -> None:
        counts = [end - start for start, end in ranges]

        def one(index: str | int) -> None:
            counted = w.digits(index, counts)
            digits = [w.add(i, start) for i, (start, _) in zip(counted, ranges, strict=True)]
            places = [
                i if span == own else _place(w, p["mode"], axis, j)
                for i, j, span, own, axis in zip(counted, digits, ranges, inside, rows, strict=True)
            ]
            row(o, (places, digits), add=ranges != inside)

        w.repeat(math.prod(counts), one)

    def outer(o: str | int) -> None:
        for ranges in sorted(parts, key=lambda ranges: ranges != inside):
            part(o, ranges)

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
