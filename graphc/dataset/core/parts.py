"""Parts of a data set: how many rows each has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentValueError, DataError, KindError, user_loc


def part_sizes(sizes: Any, length: Callable[[], int]) -> list[int]:
    """How many rows each part has, given as ints or as shares of the rows, which are `length()`. What rounding leaves goes to the
    first part that has room for it.

    Raises KindError, ArgumentValueError; DataError for a sum that is not the number of rows, and for a part without rows.
    """
    if not isinstance(sizes, list) or not sizes:
        raise KindError("split: sizes must be a list of ints or of floats", loc=user_loc())
    total = length()
    if all(isinstance(s, int) and not isinstance(s, bool) for s in sizes):
        if min(sizes) <= 0:
            raise ArgumentValueError(f"split: a size is {min(sizes)}, it must be 1 or more", loc=user_loc())
        if sum(sizes) != total:
            raise DataError(f"split: the sum of sizes is {sum(sizes)}, the data set has {total} rows", loc=user_loc())
        return list(sizes)
    if not all(isinstance(s, float) for s in sizes):
        raise KindError("split: sizes must be all ints or all floats", loc=user_loc())
    if min(sizes) <= 0 or max(sizes) > 1 or abs(sum(sizes) - 1) > 1e-9:
        raise ArgumentValueError(f"split: shares must lie in (0, 1] and sum up to 1, got {sizes}", loc=user_loc())
    counts = [round(s * total) for s in sizes]
    if min(counts) == 0:
        raise DataError(f"split: a share of {sizes[counts.index(0)]} of {total} rows is no row at all", loc=user_loc())
    difference = total - sum(counts)
    for k in range(len(counts)):
        if counts[k] + difference > 0:
            counts[k] += difference
            break
    return counts
