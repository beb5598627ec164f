"""Kernels that write where indices say, and the log that prints are recorded in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.dtypes import MEMORY, UNSIGNED
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.index import fetch_row, index_at
from graphc_codegen.kernels.vectors import along
from graphc_codegen.writer import Writer, vec

# ---- scatter


def scatter_operands(p: Params) -> tuple[Operand, ...]:
    """x [outer, size, inner] of `dtype`, idx [count] of `index_dtype`, u [outer, count, inner] -> y like x.

    With a `block` x and u are float32, and y, in which they are added up, is float64. With `in_place` there is no x: y holds it.
    """
    outer, inner = p["outer"], p["inner"]
    x = () if "in_place" in p else (Operand(p["dtype"], outer * p["size"] * inner, "in"),)
    return (
        *x,
        Operand(p["index_dtype"], p["count"], "in"),
        Operand(p["dtype"], outer * p["count"] * inner, "in"),
        Operand("float64" if p.get("block") else p["dtype"], outer * p["size"] * inner, "out"),
    )


def scatter_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """y is x with row idx[k] combined with row k of u, for k in order; an index out of range is left out.

    `mode`: "update" (the last row wins), "add", "mul", "max", "min" (NaN stays); bool knows only "update". Each of several
    threads writes rows of its own, for which it looks at all indices.
    """
    *x, idx, u, y = pointers
    size, inner, count = p["size"], p["inner"], p["count"]
    type = MEMORY[p["dtype"]]
    out = "double" if p.get("block") else type
    low, high = w.shared_range(size)
    own = w.subtracted(high, low)

    def read(pointer: str, i: str | int, active: int) -> str:
        value = w.vload(w.at(pointer, i, type), active, type)
        return value if out == type else w.convert("fpext", value, type, out)

    def copy(o: str | int, r: str | int, rows: int) -> None:
        first = w.linear((o, size * inner), (r, inner))
        source, target = w.at(x[0], first, type), w.at(y, first, out)

        def one(i: str | int, active: int, _: list[str]) -> list[str]:
            w.vstore(read(source, i, active), w.at(target, i, out), active, out)
            return []

        along(w, rows * inner, (), one)

    def combine(o: str | int, k: str | int, index: str) -> None:
        source = w.at(u, w.linear((o, count * inner), (k, inner)), type)
        target = w.at(y, w.linear((o, size * inner), (index, inner)), out)

        def row(i: str | int, active: int, _: list[str]) -> list[str]:
            place = w.at(target, i, out)
            old, new = w.vload(place, active, out), read(source, i, active)
            made = combined(w, p["mode"], "float64" if p.get("block") else p["dtype"], (old, new))
            w.vstore(made, place, active, out)
            return []

        along(w, inner, (), row)

    def one(o: str | int, k: str | int) -> None:
        if w.threads == 1 and out == type:
            fetch_row(w, p, y, idx, (o, k), write=True)
        index = index_at(w, p, idx, k)
        mine = w.op(f"icmp ult i64 {w.subtracted(index, low)}, {own}")
        w.when(mine, lambda: combine(o, k, index))

    def outer(o: str | int) -> None:
        if x and w.threads == 1:
            copy(o, 0, size)
        elif x:
            w.turns((low, high), lambda r, _: copy(o, r, 1))
        w.repeat(count, lambda k: one(o, k))

    w.repeat(p["outer"], outer)


def combined(w: Writer, mode: str, dtype: str, values: tuple[str, str], lanes: int = 0) -> str:
    """(old, new) as one, of vectors, or with one of `lanes` of scalars."""
    (old, new), type = values, MEMORY[dtype]
    v, bits = (type, "i1") if lanes == 1 else (vec(type, w.lanes), vec("i1", w.lanes))
    if mode == "update":
        return new
    if mode in ("add", "mul"):
        return w.op(f"{'f' if type in ('float', 'double') else ''}{mode} {v} {old}, {new}")
    if type in ("float", "double"):
        better = w.op(f"fcmp {'ogt' if mode == 'max' else 'olt'} {v} {old}, {new}")
        # NaN stays.
        kept = w.op(f"or {bits} {better}, {w.op(f'fcmp uno {v} {old}, {old}')}")
    else:
        sign = "u" if dtype in UNSIGNED else "s"
        kept = w.op(f"icmp {sign}{'gt' if mode == 'max' else 'lt'} {v} {old}, {new}")
    return w.op(f"select {bits} {kept}, {v} {old}, {v} {new}")


COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@np.errstate(all="ignore")
def scatter_twin(p: Params, *arrays: Array) -> None:
    *x, idx, u, y = arrays
    if x:
        y[:] = x[0]
    out = y.reshape(p["outer"], p["size"], p["inner"])
    rows = u.reshape(p["outer"], p["count"], p["inner"])
    for k, index in enumerate(idx.tolist()):
        if 0 <= index < p["size"]:
            combine = COMBINE.get(p["mode"])
            out[:, index] = rows[:, k] if combine is None else combine(out[:, index], rows[:, k])


# ---- log


def log_operands(p: Params) -> tuple[Operand, ...]:
    """log int64[capacity], one array per entry of `dtypes` and `sizes` -> log."""
    arrays = [Operand(d, n, "in") for d, n in zip(p["dtypes"], p["sizes"], strict=True)]
    return (Operand("int64", p["capacity"], "in"), *arrays, Operand("int64", p["capacity"], "out"))


def log_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Appends an entry: `site`, then every element of the arrays as one word (floats by their bits).

    Word 0 is the number of words in use, counting itself and word 1; word 1 counts entries that did not fit.
    """
    log, *arrays, out = pointers
    capacity, need = p["capacity"], 1 + sum(p["sizes"])

    def copy(i: str | int, active: int, _: list[str]) -> list[str]:
        w.vstore(w.vload(w.at(log, i, "i64"), active, "i64"), w.at(out, i, "i64"), active, "i64")
        return []

    along(w, capacity, (), copy)
    used = w.load(log, "i64")
    fits = w.op(f"icmp sle i64 {used}, {capacity - need}")
    base = w.op(f"select i1 {fits}, i64 {used}, i64 0")

    def put(word: str, offset: str | int) -> None:
        place = w.at(out, w.add(base, offset), "i64")
        w.store(w.op(f"select i1 {fits}, i64 {word}, i64 {w.load(place, 'i64')}"), place, "i64")

    put(str(p["site"]), 0)
    start = 1
    for pointer, dtype, size in zip(arrays, p["dtypes"], p["sizes"], strict=True):
        w.repeat(size, lambda i, q=pointer, d=dtype, s=start: put(_word(w, q, d, i), w.add(i, s)))  # type: ignore[misc]
        start += size
    w.store(w.op(f"select i1 {fits}, i64 {w.add(used, need)}, i64 {used}"), out, "i64")
    lost = w.load(w.at(log, 1, "i64"), "i64")
    more = w.op(f"select i1 {fits}, i64 0, i64 1")
    w.store(w.op(f"add i64 {lost}, {more}"), w.at(out, 1, "i64"), "i64")


def _word(w: Writer, pointer: str, dtype: str, i: str | int) -> str:
    type = MEMORY[dtype]
    value = w.load(w.at(pointer, i, type), type)
    if type == "float":
        value, type = w.op(f"bitcast float {value} to i32"), "i32"
    if type == "double":
        value, type = w.op(f"bitcast double {value} to i64"), "i64"
    if type == "i64":
        return value
    return w.op(f"{'sext' if dtype == 'int32' else 'zext'} {type} {value} to i64")


def log_twin(p: Params, log: Array, *rest: Array) -> None:
    *arrays, out = rest
    out[:] = log
    need = 1 + sum(p["sizes"])
    used = int(log[0])
    if used > p["capacity"] - need:
        out[1] += 1
        return
    words = [np.array([p["site"]], np.int64)]
    for a in arrays:
        bits = a.view(f"u{a.dtype.itemsize}") if a.dtype.kind not in "iub" else a
        words.append(bits.astype(np.int64))
    out[used : used + need] = np.concatenate(words)
    out[0] = used + need


SCATTER = Emitter(scatter_operands, scatter_emit, scatter_twin)
LOG = Emitter(log_operands, log_emit, log_twin)
