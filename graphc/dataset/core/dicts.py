"""Dicts among the values of rows: what iterators give of them, and batches of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.dataset.core.rows import Column, packed, to_array, unheld
from graphc.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]


def each(value: Any, of: Callable[[Array], Any]) -> Any:
    """What `of` gives for each array, number and text in a nest of dicts, lists and tuples; all else as it is."""
    if isinstance(value, dict):
        return {key: each(item, of) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        # A namedtuple takes its items one by one.
        made = getattr(value, "_make", type(value))
        return made([each(item, of) for item in value])
    try:
        array = to_array(value)
    except DataError:
        return value
    return of(array)


def batch(column: Column, name: str, ids: Array) -> Array:
    """A column of some rows as one batch: an array, or a dict of them, held by an array without axes.

    Raises DataError where the dicts differ in their keys, or what is under a key makes no array.
    """
    if not are_dicts(column):
        return packed(column, name, ids)
    return to_array({key: _stacked(key, listed, name) for key, listed in by_key(column, name).items()})


def by_key(column: Column, name: str) -> dict[Any, list[Any]]:
    """{key: what each of the dicts of a column has there}, in the order of the first dict, numbers and texts as arrays."""
    dicts: list[dict[Any, Any]] = [unheld(d) for d in column]
    for d in dicts[1:]:
        if odd := dicts[0].keys() ^ d.keys():
            raise DataError(
                f"batch: the dicts of column {name!r} have different keys: not all have {', '.join(map(repr, odd))}",
                code="GC203",
            )
    return {key: [each(d[key], lambda array: array) for d in dicts] for key in dicts[0]}


def for_a_function(column: Column, name: str, values: Callable[[Column], list[Any]]) -> Any:
    """A column as `per_batch_map` gets it: a list of values, or a dict of lists of them."""
    return by_key(column, name) if are_dicts(column) else values(column)


def are_dicts(column: Column) -> bool:
    """Whether each row's value is a dict. One of a batch's: all of them are dicts, or none."""
    if isinstance(column, np.ndarray):
        return column.dtype == object
    return all(isinstance(unheld(value), dict) for value in column)


def _stacked(key: Any, values: Sequence[Any], name: str) -> Array:
    """[len(values), ...], as NumPy makes it of values of different types."""
    try:
        array = np.array(values)
    except ValueError:
        array = None
    if array is None or array.dtype == object:
        raise DataError(
            f"batch: what the dicts of column {name!r} have under {key!r} makes no array",
            code="GC203",
            help="per_batch_map can make one of them, or keep a dict of lists",
        )
    return array
