"""Order along the last axis: the places that sort it, and where values belong in a sorted one."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError
from graphc.ir import NO_GRAD, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder, Operand
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import HALVES
from graphc.ops.declared import padding_places
from graphc.ops.declared.batching import leading
from graphc.ops.declared.rules import check_dtype, floats, integers, same_dtype

Array = np.ndarray[Any, np.dtype[Any]]

#: What the kernels compare; the functions cast shorter integers.
RANKED = ("float32", "float64", "int32", "int64", "uint32", "uint64")
_ALLOWED = (*RANKED, *HALVES)
#: Of longer rows than this, and than so many times what is wanted, at most so many places are chosen without sorting.
_SHORT, _TIMES, _MOST_CHOSEN = 64, 4, 32
#: Rows of at least so many elements more than so many times what is wanted are narrowed before they are sorted; in the memory for
#: that so many keys stand behind a row, and a part of it behind what is wanted.
_BESIDES, _NARROWED, _BEHIND, _SPARE = 150, 2, 16, 8
#: Threads that may share the rows of an argsort: each takes scratch memory.
_PARTS = 16


def _argsort_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    check_dtype("Argsort", "x", x, _ALLOWED)
    if not x.rank:
        raise ShapeError(f"Argsort: x is {x}, which has no axis to sort")
    if not 0 <= attrs["count"] <= x.shape[-1]:
        raise ArgumentValueError(f"Argsort: count is {attrs['count']}, the last axis of {x} has {x.shape[-1]}")
    if attrs["last"] and not attrs["count"]:
        raise ArgumentValueError("Argsort: count is 0: that has no last place")
    return (TensorType("int32", (*x.shape[:-1], 1 if attrs["last"] else attrs["count"] or x.shape[-1])),)


def _argsort_ref(x: Array, descending: bool, count: int, last: bool) -> Array:
    places = _sorted_places(x, descending)
    return places[..., count - 1 if last else 0 : count] if count else places


def _sorted_places(x: Array, descending: bool) -> Array:
    if not descending:
        return np.argsort(x, axis=-1, kind="stable").astype(np.int32)
    if x.dtype.kind in "iu":
        # Backwards, so that equal elements keep their order.
        backwards = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        return np.asarray(x.shape[-1] - 1 - backwards, np.int32)
    return np.argsort(-x, axis=-1, kind="stable").astype(np.int32)


def _argsort_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    (x,) = inputs
    size = x.type.shape[-1]
    if not size or not x.type.size:
        return
    rows, count, last = x.type.size // size, attrs["count"], attrs["last"]
    order: dict[str, Any] = {"rows": rows, "size": size, "dtype": x.type.dtype, "descending": attrs["descending"]}
    if 0 < count <= _MOST_CHOSEN and size > max(_SHORT, _TIMES * count):
        places = k.temp(TensorType("int32", (rows, count))) if last else outputs[0]
        k.call("first_places", inputs, (places,), **order, count=count)
        if last:
            k.copy(places, outputs[0], (rows, 1), count - 1, (count, 1), 0, (1, 1))
        return
    order["parts"] = parts = min(rows, _PARTS)
    some = last or 0 < count < size
    # One place alone takes no sort.
    if some and _BESIDES + (0 if last else _NARROWED * count) <= size:
        room = size + _BEHIND + (1 if last else count) + size // _SPARE
        scratch = _scratch(k, x, parts, (room, room))
        k.call("partial_argsort", inputs, (scratch, outputs[0]), **order, count=count, last=last)
        return
    scratch = _scratch(k, x, parts, (2 * size, size))
    places = k.temp(TensorType("int32", x.type.shape)) if some else outputs[0]
    k.call("argsort", inputs, (scratch, places), **order)
    if some:
        start, wanted = (count - 1, 1) if last else (0, count)
        k.copy(places, outputs[0], (rows, wanted), start, (size, 1), 0, (wanted, 1))


def _scratch(k: CallBuilder, x: Operand, parts: int, room: tuple[int, int]) -> Operand:
    """Memory for so many keys and int32 places of each part."""
    (keys, places), wide = room, x.type.dtype.endswith("64")
    words = keys + (-(-places // 2) if wide else places)
    return k.temp(TensorType("int64" if wide else "int32", (parts * words,)))


def _search_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    table, values = types
    check_dtype("SearchSorted", "table", table, _ALLOWED)
    same_dtype("SearchSorted", types)
    if not table.rank or table.rank != values.rank or table.shape[:-1] != values.shape[:-1]:
        raise ShapeError(f"SearchSorted: rows of {table} are searched for {values}: all axes but the last must agree")
    return (TensorType("int32", values.shape),)


def _search_ref(table: Array, values: Array, right: bool) -> Array:
    # As the kernel: the same answer for rows that are not sorted, where any will do.
    size, compare = table.shape[-1], np.less_equal if right else np.less
    found = np.zeros(values.shape, np.int32)
    for step in (1 << b for b in reversed(range(size.bit_length()))):
        more = found + step
        last = np.take_along_axis(table, np.minimum(more, size) - 1, -1)
        found = np.where((more <= size) & compare(last, values), more, found)
    return np.asarray(found)


def _search_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    table, values = (x.type for x in inputs)
    size, count = table.shape[-1], values.shape[-1]
    rows = TensorType("bool", table.shape[:-1]).size
    k.call("search", inputs, outputs, rows=rows, size=size, count=count, dtype=table.dtype, right=attrs["right"])


def _rows() -> Array:
    """With equal elements, both zeros, infinities and NaN."""
    x = np.random.default_rng(0).integers(-3, 4, (3, 75)).astype(np.float32)
    x[0, :6] = [np.nan, -np.inf, -0.0, 0.0, np.inf, np.nan]
    return x


op(
    "Argsort",
    "x",
    attrs={"descending": False, "count": 0, "last": False},
    infer=_argsort_infer,
    ref=_argsort_ref,
    grad=NO_GRAD,
    lower=Kernel(_argsort_lower, RANKED),
    batch=leading,
    pad=padding_places.sorted_rows,
    samples=lambda: [
        Sample((_rows(),)),
        Sample((_rows(),), {"descending": True}),
        Sample((floats(2, 3, 17),), {"descending": True}),
        Sample((integers(200, low=-9, high=9),)),
        Sample((integers(3, 9, low=-9, high=9, dtype="int64"),), {"descending": True}),
        Sample((_rows(),), {"descending": True, "count": 5}),
        Sample((floats(2, 3, 17),), {"count": 3}),
        Sample((floats(3, 400),), {"descending": True, "count": 30}),
        Sample((floats(3, 400),), {"descending": True, "count": 64}),
        Sample((integers(3, 1201, low=-99, high=99),), {"count": 70}),
        Sample((integers(2, 301, low=-9, high=9, dtype="int64"),), {"descending": True, "count": 99}),
        Sample((integers(2, 300, low=-9, high=9, dtype="int64"),), {"count": 9}),
        Sample((_rows(),), {"count": 38, "last": True}),
        Sample((floats(3, 400),), {"count": 7, "last": True}),
        Sample((integers(3, 1201, low=-99, high=99),), {"count": 601, "last": True}),
        Sample((floats(4, 0),)),
        Sample((floats(0, 4),)),
    ],
    doc="int32: the places that sort the last axis, the first `count` of them unless that is 0, or the `last` of these alone;"
    " equal elements keep their order, NaN comes last, `descending`, too",
)

op(
    "SearchSorted",
    "table values",
    attrs={"right": False},
    infer=_search_infer,
    ref=_search_ref,
    grad=NO_GRAD,
    lower=Kernel(_search_lower, RANKED),
    batch=leading,
    samples=lambda: [
        Sample((np.sort(_rows()), floats(3, 9))),
        Sample((np.sort(floats(33)), np.array([np.nan, -np.inf, 0, np.inf], np.float32)), {"right": True}),
        Sample((np.sort(integers(2, 8)), integers(2, 5, seed=1)), {"right": True}),
        Sample((floats(2, 0), floats(2, 3))),
    ],
    doc="int32: how many elements of each ascending last axis are less than each value, with `right` not greater; 0 for NaN",
)
