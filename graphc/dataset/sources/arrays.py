"""Sources that are arrays: batches are gathered from them without a Python call per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphc.dataset.checks import LateError, names
from graphc.dataset.core.rows import Column, Rows, to_array
from graphc.dataset.core.streams import Run, Stream
from graphc.dataset.orders.samplers import BuiltinSampler, Order
from graphc.dataset.sources.source import MappableDataset, chosen_sampler
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]


class ArrayDataset(MappableDataset):
    """Columns that lie in memory, one array each, or one for each sample."""

    def __init__(self, columns: Mapping[str, Column], workers_: int | None, sampler: BuiltinSampler) -> None:
        super().__init__(list(columns), workers_, sampler)
        self._arrays = list(columns.values())

    def length(self) -> int:
        return len(self._arrays[0])

    def labels(self, column: str) -> Array:
        held = self._arrays[self._columns.index(column)] if column in self._columns else None
        return held if isinstance(held, np.ndarray) else super().labels(column)

    def open(self, run: Run) -> Stream:
        return ArrayStream(self._arrays, self.order(run.seed))


def taken(column: Column, chosen: Array) -> Any:
    """The rows of a column that are chosen, at least one, in memory of their own: functions of users' may write to them."""
    if not isinstance(column, np.ndarray):
        return [column[i].copy() for i in chosen.tolist()]
    first, last = int(chosen[0]), int(chosen[-1])
    if last - first + 1 == len(chosen) and bool((np.diff(chosen) == 1).all()):
        return column[first : last + 1].copy()
    return column.take(chosen, axis=0)


class ArrayStream(Stream):
    """Rows that are gathered from columns, one `take` for each array."""

    def __init__(self, arrays: Sequence[Column], order: Order) -> None:
        self._arrays, self._order = arrays, order

    def begin(self) -> None:
        self._order.begin()

    def read(self, count: int) -> Rows | None:
        chosen = self._order.take(count)
        if not len(chosen):
            return None
        return Rows(len(chosen), [taken(a, chosen) for a in self._arrays], chosen)

    def skip(self, count: int) -> int:
        return self._order.skip(count)

    def leave(self) -> None:
        """Its order is all that passes have in common, and drawn when one begins."""


class NumpySlicesDataset(ArrayDataset):
    """Slices along the first axis of arrays.

    data: one array or list, a tuple of several (a column each), or a dict {column: array}; of a list whose items differ in
    length samples do, too (padded_batch). column_names: "column_0", ... or the
    dict's keys by default. num_samples, shuffle (True by default), sampler, num_shards and shard_id: which slices, in which
    order. num_parallel_workers: has no effect on arrays, which are gathered a batch at a time. ArgumentValueError for arrays of
    different lengths.
    """

    def __init__(
        self,
        data: Any,
        column_names: str | list[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        owner = "NumpySlicesDataset"
        if isinstance(data, dict):
            columns = {name: _array(name, value) for name, value in data.items()}
        elif isinstance(data, tuple):
            columns = {f"column_{k}": _array(f"column_{k}", value) for k, value in enumerate(data)}
        elif isinstance(data, (list, np.ndarray)):
            columns = {"column_0": _array("column_0", data)}
        else:
            raise ArgumentTypeError(
                f"{owner}: data must be an array, a list, a tuple or a dict of them, got {type(data).__name__}",
                loc=user_loc(),
            )
        if not columns:
            raise ArgumentValueError(f"{owner}: data has no columns", loc=user_loc())
        lengths = {name: len(a) for name, a in columns.items()}
        if not any(lengths.values()):
            raise LateError(f"{owner}: the data set is empty", code="GC204", loc=user_loc())
        if len(set(lengths.values())) > 1:
            raise ArgumentValueError(
                f"{owner}: columns differ in length: {', '.join(f'{n} has {k}' for n, k in lengths.items())}",
                loc=user_loc(),
            )
        if column_names is not None:
            given = names(owner, "column_names", column_names)
            if len(given) != len(columns):
                raise ArgumentValueError(
                    f"{owner}: column_names has {len(given)} names, data has {len(columns)} columns", loc=user_loc()
                )
            columns = dict(zip(given, columns.values(), strict=True))
        names(owner, "data", list(columns))
        chosen = chosen_sampler(owner, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(columns, num_parallel_workers, chosen)


def _array(name: str, value: Any) -> Column:
    """A column: one array, or, of a list whose items differ in length, one for each."""
    try:
        array = np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)
    except ValueError:
        return [to_array(item) for item in value]
    if array.ndim == 0 or array.dtype.kind not in "biufUSV":
        raise ArgumentTypeError(
            f"NumpySlicesDataset: column {name!r} must be an array of numbers or text with an axis, got "
            f"{type(value).__name__} of dtype {array.dtype} and shape {array.shape}",
            loc=user_loc(),
        )
    return array
