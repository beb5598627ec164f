"""Collectives of processes that share memory: each puts what it gives into a window of its own, which all others read.

What stands for a collective, in this order:

window_put    copies operands into this process's window, when all have read what lay there before
window_open   says to the others that they may read it: one number, the count of all that have been opened
window_fold   where processes are many: each adds up a part of all windows, in its own one; behind it another window_open
window_take   waits until all have opened theirs, and makes the result of what lies there, sums in the order of ranks
window_close  says that it has been read

Threads share what moves bytes; they meet before `window_open` and `window_close`, which the first one runs. Where windows are
stands in the table of `graphc_codegen.links`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.collective import count, links, others_run
from graphc_codegen.links import RANK, WINDOW_DATA, WINDOWS_FROM, exchange, held, hold
from graphc_codegen.links import WINDOW_WORDS as HEAD
from graphc_codegen.links import WORDS as LINKS
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.writer import Writer

#: Vectors that are added up at a time.
_ABREAST = 4

_TOKEN = Operand("int64", 1, "out")
_REQUEST = Operand("int64", 1, "in")


# ---- put


def put_operands(p: Params) -> tuple[Operand, ...]:
    """Operands of `dtype` with `sizes` elements, of which each piece (operand, from, to, elements) goes to its place in
    `room` elements `at` so many bytes; operand -1 are zeros. A token for `window_open`.
    """
    return (*(Operand(p["dtype"], n, "in") for n in p["sizes"]), _TOKEN)


def put_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Wait until the others have read as much as this process has, which is all that has lain here, and copy."""
    *xs, token = pointers
    table, windows = _windows(w, p)
    read = w.load(_head(w, _own(w, windows), "read"), "i64")
    _await(w, table, [_head(w, x, "read") for x in _all(w, windows, p["size"])], read)
    target, item = _data(w, _own(w, windows), p), ITEMSIZE[p["dtype"]]
    for operand, begin, place, elements in p["pieces"]:
        x = w.at(xs[operand], begin * item, "i8") if operand >= 0 else None
        _move(w, w.at(target, place * item, "i8"), x, elements, item)
    w.by_one(lambda: w.store("0", token, "i64"))


def put_twin(p: Params, *arrays: Array) -> None:
    """The window is an array of this process."""
    *xs, token = arrays
    laid = np.zeros(p["room"], numpy_dtype(p["dtype"]))
    for operand, begin, place, elements in p["pieces"]:
        if operand >= 0:
            laid[place : place + elements] = xs[operand][begin : begin + elements]
    hold(p["group"], p["at"], laid)
    token[:] = 0


# ---- open and close


def open_operands(p: Params) -> tuple[Operand, ...]:
    """The token of what comes before, and which of the `word`'s numbers this is, for those that wait for it."""
    return (_REQUEST, _TOKEN)


def open_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Publish all that has been written: whoever reads the number sees it."""
    table, windows = _windows(w, p)
    if p["word"] == "ready":
        count(w, table, "begun")
    word = _head(w, _own(w, windows), p["word"])
    number = w.op(f"add i64 {w.load(word, 'i64')}, 1")
    w.do(f"store atomic i64 {number}, ptr {word} release, align 8")
    w.store(number, pointers[1], "i64")


def open_twin(p: Params, token: Array, request: Array) -> None:
    """Others read nothing here."""
    request[:] = 0


def close_operands(p: Params) -> tuple[Operand, ...]:
    """The request, and what has been made of it, of `dtype` with `received` elements."""
    return (_REQUEST, Operand(p["dtype"], p["received"], "out"))


def close_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """All that others may write over now has been read."""
    table, windows = _windows(w, p)
    word = _head(w, _own(w, windows), "read")
    number = w.op(f"add i64 {w.load(word, 'i64')}, 1")
    w.do(f"store atomic i64 {number}, ptr {word} release, align 8")
    count(w, table, "done")


def close_twin(p: Params, request: Array, out: Array) -> None:
    """It has been."""


# ---- fold and take


def fold_operands(p: Params) -> tuple[Operand, ...]:
    """The request; a token for `window_open`. This process's part has `part` elements of `dtype`, a multiple of FOLDED."""
    return (_REQUEST, _TOKEN)


def fold_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Add up this process's part of all windows in its own one, where nobody else reads that before."""
    table, windows = _windows(w, p)
    _opened(w, table, windows, p, pointers[0])
    size = p["part"]
    base = w.mul(w.load(w.at(windows, RANK, "i64"), "i64"), size)
    _add(w, p, windows, base, size, w.at(_data(w, _own(w, windows), p), w.mul(base, ITEMSIZE[p["dtype"]]), "i8"))
    w.by_one(lambda: w.store("0", pointers[1], "i64"))


def fold_twin(p: Params, request: Array, token: Array) -> None:
    """`window_take` does it all."""
    token[:] = 0


def take_operands(p: Params) -> tuple[Operand, ...]:
    """The request; the result of the collective `call`, of `dtype`, with `received` elements. Of `part` each process gives, or
    gets, so many.
    """
    return (_REQUEST, Operand(p["dtype"], p["received"], "out"))


def take_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """all_reduce: the sum, which with `folded` has been made, by parts; reduce_scatter: that of this process's part, which
    comes first; all_gather: the parts of all; all_to_all: what all have for this process.
    """
    request, out = pointers
    table, windows = _windows(w, p)
    _opened(w, table, windows, p, request)
    item, part = ITEMSIZE[p["dtype"]], p["part"]
    if p["call"] == "all_reduce" and not p["folded"]:
        _add(w, p, windows, 0, p["received"], out)
        return
    own = w.mul(w.load(w.at(windows, RANK, "i64"), "i64"), part)
    if p["call"] == "reduce_scatter":
        _add(w, p, windows, own, part, out)
        return
    for rank, window in enumerate(_all(w, windows, p["size"])):
        elements = max(0, min(part, p["received"] - rank * part))
        begin = {"all_reduce": rank * part, "all_gather": 0, "all_to_all": own}[p["call"]]
        x = w.at(_data(w, window, p), w.mul(begin, item), "i8")
        _move(w, w.at(out, rank * part * item, "i8"), x, elements, item)


def take_twin(p: Params, request: Array, out: Array) -> None:
    """The whole collective, by MPI."""
    given = held(p["group"], p["at"])
    if p["call"] == "all_reduce":
        given = given[: p["received"]]
    exchange(p, given, out[: p["part"]] if p["call"] == "reduce_scatter" else out)


# ---- windows


def _windows(w: Writer, p: Params) -> tuple[str, str]:
    """The table of links, and the words that tell of the group's windows."""
    table = links(w)
    return table, w.load(w.at(table, LINKS["windows"] + p["group"], "i64"), "ptr")


def _all(w: Writer, windows: str, size: int) -> list[str]:
    return [w.load(w.at(windows, WINDOWS_FROM + rank, "i64"), "ptr") for rank in range(size)]


def _own(w: Writer, windows: str) -> str:
    rank = w.load(w.at(windows, RANK, "i64"), "i64")
    return w.load(w.at(windows, w.add(rank, WINDOWS_FROM), "i64"), "ptr")


def _head(w: Writer, window: str, word: str) -> str:
    return w.at(window, HEAD[word], "i8")


def _data(w: Writer, window: str, p: Params) -> str:
    return w.at(window, WINDOW_DATA + p["at"], "i8")


def _opened(w: Writer, table: str, windows: str, p: Params, request: str) -> None:
    """Wait until all have opened what the request tells of."""
    _await(w, table, [_head(w, x, p["word"]) for x in _all(w, windows, p["size"])], w.load(request, "i64"))


def _await(w: Writer, table: str, words: Sequence[str], least: str) -> None:
    """Wait until words of others are at least so large. While they are not, others get the processor and the watch knows."""
    waits = w.at(table, LINKS["waits"], "i64")

    def missing(word: str) -> str:
        return w.op(f"icmp slt i64 {w.op(f'load atomic i64, ptr {word} acquire, align 8')}, {least}")

    def wait(word: str) -> None:
        w.by_one(lambda: w.store("1", waits, "i64"))

        def look() -> str:
            others_run(w)
            return w.op(f"xor i1 {missing(word)}, true")

        w.until(look)
        w.by_one(lambda: w.store("0", waits, "i64"))

    for word in words:
        w.when(missing(word), partial(wait, word))


# ---- bytes and numbers


def _move(w: Writer, to: str, x: str | None, elements: int, item: int) -> None:
    """Copy so many elements of `item` bytes, of which each thread has its part; without x zeros."""
    if not elements:
        return
    begin, end = w.shared_range(elements)
    at, nbytes = w.mul(begin, item), w.mul(w.subtracted(end, begin), item)
    to, last = w.at(to, at, "i8"), [("i64", f"{nbytes}"), ("i1", "false")]
    if x is None:
        w.call_void("llvm.memset.p0.i64", [("ptr", to), ("i8", "0"), *last])
    else:
        w.call_void("llvm.memcpy.p0.p0.i64", [("ptr", to), ("ptr", w.at(x, at, "i8")), *last])


def _add(w: Writer, p: Params, windows: str, base: str | int, size: int, out: str) -> None:
    """`size` numbers of all windows from element `base` on, added up in the order of ranks."""
    item, type = ITEMSIZE[p["dtype"]], "float" if p["dtype"] == "float32" else "double"
    xs = [w.at(_data(w, x, p), w.mul(base, item), "i8") for x in _all(w, windows, p["size"])]
    with w.elements(type):
        width = _ABREAST * w.lanes
        blocks, rest = divmod(size, width)

        def vectors(at: str | int, vectors: int, active: int) -> None:
            places = [w.add(at, k * w.lanes) for k in range(vectors)]
            sums = [w.vload(w.at(xs[0], place), active) for place in places]
            for x in xs[1:]:
                sums = [
                    w.binary("fadd", s, w.vload(w.at(x, place), active)) for s, place in zip(sums, places, strict=True)
                ]
            for s, place in zip(sums, places, strict=True):
                w.vstore(s, w.at(out, place), active)

        w.share(blocks, lambda k: vectors(w.mul(k, width), _ABREAST, w.lanes))

        def tail() -> None:
            for at in range(blocks * width, size, w.lanes):
                vectors(at, 1, min(w.lanes, size - at))

        if rest:
            w.by_one(tail)


WINDOW_PUT = Emitter(put_operands, put_emit, put_twin)
WINDOW_OPEN = Emitter(open_operands, open_emit, open_twin)
WINDOW_FOLD = Emitter(fold_operands, fold_emit, fold_twin)
WINDOW_TAKE = Emitter(take_operands, take_emit, take_twin)
WINDOW_CLOSE = Emitter(close_operands, close_emit, close_twin)
