"""The assignment of rows to columns with the least sum of costs."""

from __future__ import annotations

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ops.declared.rules import Array, check_dtype


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    cost, *limits = types
    check_dtype("Assignment", "cost", cost, ("float64",))
    if cost.rank != 2 or limits not in ([], [TensorType("int64", ())]):
        found = ", ".join(map(str, limits)) or "none"
        raise ShapeError(f"Assignment: cost is {cost}, limit {found}, expected a matrix, and an int64 or none")
    places = TensorType("int64", (min(cost.shape),))
    return places, places


def _ref(cost: Array, *limits: Array, maximize: bool) -> tuple[Array, Array]:
    """Shortest augmenting paths (Crouse, "On implementing 2D rectangular assignment algorithms", 2016); -1 if there is none."""
    row, column = np.full((2, min(cost.shape)), -1)
    cost = cost.astype(np.float64)[:, : int(limits[0]) if limits else None]
    cost = -cost if maximize else cost
    turned = cost.shape[0] > cost.shape[1]
    cost = cost.T if turned else cost
    count, end = cost.shape
    row_price, price = np.zeros(count), np.zeros(end)
    row_of, column_of = np.full(end, -1), np.full(count, -1)
    for current in range(count):
        shortest, seen, before = np.full(end, np.inf), np.zeros(end, bool), np.zeros(end, np.int64)
        here, length, sink = current, 0.0, -1
        while here >= 0:
            way = np.where(seen, np.inf, cost[here] - price + (length - row_price[here]))
            shorter = way < shortest
            shortest[shorter], before[shorter] = way[shorter], here
            left = np.where(seen, np.inf, shortest)
            length = left.min()
            if not length < np.inf:
                return row, column
            nearest = np.flatnonzero(left == length)
            free = nearest[row_of[nearest] < 0]
            sink = int(free[0] if free.size else nearest[0])
            seen[sink] = True
            here = int(row_of[sink])
        passed = np.flatnonzero(seen & (row_of >= 0))
        row_price[current] += length
        row_price[row_of[passed]] += length - shortest[passed]
        price[seen] -= length - shortest[seen]
        while here != current:
            here = int(before[sink])
            row_of[sink] = here
            column_of[here], sink = sink, int(column_of[here])
    order = np.argsort(column_of) if turned else np.arange(count)
    row[:count], column[:count] = (column_of[order], order) if turned else (order, column_of)
    return row, column


#: The kernel's columns stand in a multiple of so many, with so many arrays of columns beside the costs, and two of rows.
_STEP, _COLUMNS, _ROWS = 16, 5, 2


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    cost, *limits = inputs
    rows, cols = cost.type.shape
    if not cost.type.size:
        return
    limit = limits[0] if limits else k.table(np.array(cols, np.int64))
    least, wide = min(rows, cols), -(-max(rows, cols) // _STEP) * _STEP
    scratch = k.temp(TensorType("float64", ((least + _COLUMNS) * wide + _ROWS * least,)))
    k.call("assignment", (cost, limit), (scratch, *outputs), rows=rows, cols=cols, **attrs)


def _costs(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


op(
    "Assignment",
    "cost *limit",
    attrs={"maximize": False},
    infer=_infer,
    ref=_ref,
    grad=NO_GRAD,
    lower=Kernel(_lower, ("float64",)),
    samples=lambda: [
        Sample((_costs(5, 5),)),
        Sample((_costs(3, 20),), {"maximize": True}),
        Sample((_costs(37, 5),)),
        Sample((_costs(7, 9), np.array(4, np.int64))),
        Sample((_costs(4, 9), np.array(9, np.int64)), {"maximize": True}),
        Sample((_costs(0, 3),)),
        Sample((_costs(1, 1),)),
    ],
    doc="(row, column) int64, in the order of rows: the pairs with the least sum of cost float64 [m, n], with `maximize` the"
    " greatest, of the first `limit` columns; -1 behind them. The step ends where the limit is no number of columns, where a cost"
    " is NaN or infinite on the better side, and where all sums are infinite",
)
