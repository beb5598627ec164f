"""Equal elements once: of known values as NumPy has it, in compiled steps by order and by counted places."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.ops.declared.shape import check_axis
from graphc.ops.functional.core import call, cast_to, is_compared
from graphc.ops.functional.create import arange, ones, zeros
from graphc.ops.functional.cumulative import cumsum
from graphc.ops.functional.dynamic import known_values, places_of
from graphc.ops.functional.elementwise import (
    equal,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    not_equal,
    sub,
)
from graphc.ops.functional.index import scattered
from graphc.ops.functional.logic import select
from graphc.ops.functional.reduce import reduce_any
from graphc.ops.functional.shapes import moveaxis, reshape
from graphc.ops.functional.slicing import rows_at
from graphc.ops.functional.sorting import sorting_places
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean


class Runs:
    """A tensor whose equal rows stand together. `fresh` bool [n]: where a run of them begins."""

    def __init__(self, rows: Tensor, equal_nan: bool) -> None:
        self.size = rows.shape[0]
        self.places = arange(0, self.size, dtype="int32")
        # As many as there are elements, of which there may be none.
        before = rows_at(rows, maximum(sub(self.places, 1), 0))
        other = not_equal(rows, before)
        if equal_nan and rows.tensor_type.is_float:
            other = logical_and(other, logical_not(logical_and(isnan(rows), isnan(before))))
        if rows.ndim > 1:
            other = reduce_any(other, tuple(range(1, rows.ndim)))
        self.fresh = logical_or(other, equal(self.places, 0))

    @property
    def numbers(self) -> Tensor:
        """int32 [n]: of which run each element is."""
        return sub(cumsum(cast_to(self.fresh, "int32"), 0), 1)

    @property
    def begins(self) -> Tensor:
        """int32 [n]: where the run of each element begins."""
        begun, _ = call("Cumextremum", select(self.fresh, self.places, 0), axis=0, mode="max")
        return begun

    def of_each(self, values: Tensor) -> Tensor:
        """Of values [n, ...] those where a run begins, in order."""
        return rows_at(values, places_of("unique", self.fresh))

    def listed(self, rows: Tensor, numbers: Tensor | None, lengths: bool) -> Any:
        """A row of each run; with them, if there are such, int64: numbers of runs, how long each is."""
        made = [rows]
        if numbers is not None:
            made.append(cast_to(numbers, "int64"))
        if lengths:
            made.append(self.lengths())
        return tuple(made) if len(made) > 1 else rows

    def lengths(self) -> Tensor:
        """int64: how long each run is."""
        empty, numbers = zeros((self.size,), "int32"), self.numbers
        found = scattered("add", empty, numbers, ones((self.size,), "int32"))
        return cast_to(self.of_each(rows_at(found, numbers)), "int64")


def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the distinct elements in order of appearance, the place of each element among them: int64 for int64, else int32). The
    gradient of an element is that of its first appearance.
    """
    array, flat = input.array, reshape(input, (-1,))
    of_places = "int64" if input.tensor_type.dtype == "int64" else "int32"
    if array is None and (input.size or is_compared()):
        order = sorting_places(flat)
        runs = Runs(rows_at(flat, order), True)
        empty = zeros((flat.size,), "int32")
        fresh = scattered("update", empty, order, cast_to(runs.fresh, "int32"))
        number = rows_at(sub(cumsum(fresh, 0), 1), rows_at(order, runs.begins))
        distinct = rows_at(flat, places_of("unique", not_equal(fresh, 0)))
        return distinct, cast_to(reshape(scattered("update", empty, order, number), input.shape), of_places)
    array = known_values("unique", input) if input.size else np.zeros(input.shape, input.tensor_type.numpy)
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    appeared = np.argsort(first)
    places = np.empty_like(appeared)
    places[appeared] = np.arange(appeared.size)
    distinct = rows_at(flat, Tensor(first[appeared]))
    return distinct, Tensor(places[inverse.reshape(array.shape)].astype(of_places))


def unique_sorted(input: Tensor, inverse: bool, counts: bool, dim: int | None, equal_nan: bool = True) -> Any:
    """The distinct elements, or entries of an axis, in order; with `inverse` the int64 place of each among them, with `counts`
    how often each occurs. Entries of an axis not in a compiled Cell.
    """
    if input.array is None and dim is None and (input.size or is_compared()):
        return _sorted_runs(input, inverse, counts, equal_nan)
    array = known_values("unique", input)
    axis = None if dim is None else check_axis("unique", dim, array.ndim)
    how: Any = {"return_index": True, "return_inverse": True, "return_counts": True, "equal_nan": equal_nan}
    _, first, places, numbers = np.unique(array, axis=axis, **how)
    made = [rows_at(reshape(input, (-1,)), Tensor(first)) if axis is None else rows_at(input, Tensor(first), axis)]
    if inverse:
        made.append(Tensor(places.reshape(array.shape if axis is None else -1).astype(np.int64)))
    if counts:
        made.append(Tensor(numbers.astype(np.int64)))
    return tuple(made) if len(made) > 1 else made[0]


def _sorted_runs(input: Tensor, inverse: bool, counts: bool, equal_nan: bool) -> Any:
    flat = reshape(input, (-1,))
    order = sorting_places(flat)
    rows = rows_at(flat, order)
    runs = Runs(rows, equal_nan)
    numbers = scattered("update", zeros((flat.size,), "int32"), order, runs.numbers) if inverse else None
    return runs.listed(runs.of_each(rows), None if numbers is None else reshape(numbers, input.shape), counts)


@method()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The elements, or the entries of an axis, that differ from the one before (MindSpore: ops.unique_consecutive).

    dim: None for the flattened tensor. With return_inverse also the int64 place of each element (of each entry of the axis)
    among them, with return_counts how many of it there were, int64. NaN differs from NaN. ArgumentTypeError,
    ArgumentValueError.
    """
    for name, flag in (("return_inverse", return_inverse), ("return_counts", return_counts)):
        boolean("unique_consecutive", name, flag)
    axis = 0 if dim is None else check_axis("unique_consecutive", dim, input.ndim)
    rows = reshape(input, (-1,)) if dim is None else moveaxis(input, axis, 0)
    shape = input.shape if dim is None else (rows.shape[0],)
    if not rows.shape[0] and not is_compared():
        known_values("unique_consecutive", input)
        none = [zeros(shape, "int64")] * return_inverse + [zeros((0,), "int64")] * return_counts
        kept = moveaxis(rows, 0, axis).value()
        return (kept, *none) if none else kept
    runs = Runs(rows, False)
    numbers = reshape(runs.numbers, shape) if return_inverse else None
    made: Tensor | tuple[Tensor, ...] = runs.listed(moveaxis(runs.of_each(rows), 0, axis), numbers, return_counts)
    return made


__all__ = ["unique", "unique_consecutive"]
