"""The places of what is true, in order: a store at the next free place for every element, which moves on behind a true one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.writer import Writer


def operands(p: Params) -> tuple[Operand, ...]:
    """mask bool [size] -> places int32 [room], count int32 [1], ranks int32 [size].

    Raises ValueError for less room than for all elements.
    """
    if p["room"] < p["size"]:
        raise ValueError(f"room for {p['room']} places of {p['size']} elements")
    sizes = {"places": p["room"], "count": 1, "ranks": p["size"]}
    return Operand("bool", p["size"], "in"), *(Operand("int32", n, "out") for n in sizes.values())


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """places[:count] are those of true elements, the others repeat the last of these, -1 if there is none; ranks[i] is how many
    true elements stand before i.
    """
    w.by_one(lambda: _walk(w, p, pointers))


def _walk(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    mask, places, count, ranks = pointers

    def step(i: str, values: list[str]) -> list[str]:
        (free,) = values
        w.store(w.op(f"trunc i64 {i} to i32"), w.at(places, free, "i32"), "i32")
        w.store(w.op(f"trunc i64 {free} to i32"), w.at(ranks, i, "i32"), "i32")
        return [str(w.add(free, w.op(f"zext i8 {w.load(w.at(mask, i, 'i8'), 'i8')} to i64")))]

    (found,) = w.loop(p["size"], step, [("i64", "0")])
    w.store(w.op(f"trunc i64 {found} to i32"), count, "i32")
    none = w.op(f"icmp eq i64 {found}, 0")
    last = w.load(w.at(places, w.op(f"select i1 {none}, i64 0, i64 {w.add(found, -1)}"), "i32"), "i32")
    last = w.op(f"select i1 {none}, i32 -1, i32 {last}")
    w.turns((found, p["room"]), lambda k, _: w.store(last, w.at(places, k, "i32"), "i32"))


def twin(p: Params, mask: Array, places: Array, count: Array, ranks: Array) -> None:
    found = np.flatnonzero(mask)
    places[: found.size] = found
    places[found.size :] = found[-1] if found.size else -1
    count[:] = found.size
    ranks[:] = np.cumsum(mask) - mask


NONZERO = Emitter(operands, emit, twin)
