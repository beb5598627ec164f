"""`bucket_batch_by_length`: batches of rows of similar length."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.dataset.checks import function, integer, truth
from graphc.dataset.core.dataset import Dataset, node
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.rows import Rows, joined, values
from graphc.dataset.core.streams import OfOne, Run, Stream
from graphc.dataset.nodes.batches import Padding
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc

_OWNER = "bucket_batch_by_length"


class _BucketStream(OfOne):
    """Rows wait in the bucket of their length; a full bucket is a batch. What is left at the end comes bucket by bucket."""

    def __init__(self, child: Stream, dataset: BucketBatchByLengthDataset) -> None:
        super().__init__(child)
        self._dataset = dataset
        self._waiting: list[list[Rows]] = []
        self._rest: list[int] | None = None

    def begin(self) -> None:
        super().begin()
        self._waiting = [[] for _ in self._dataset.sizes]
        self._rest = None

    def read(self, count: int) -> Rows | None:
        while self._rest is None:
            row = self._child.read(1)
            if row is None:
                left = [k for k, rows in enumerate(self._waiting) if rows]
                self._rest = [] if self._dataset.drop_remainder else left
                break
            bucket = self._bucket(row)
            self._waiting[bucket].append(row)
            if len(self._waiting[bucket]) == self._dataset.sizes[bucket]:
                return self._batch(bucket)
        return self._batch(self._rest.pop(0)) if self._rest else None

    def _bucket(self, row: Rows) -> int:
        length = self._dataset.length_of(row)
        return int(np.searchsorted(self._dataset.boundaries, length, side="right"))

    def _batch(self, bucket: int) -> Rows:
        rows, self._waiting[bucket] = joined(self._waiting[bucket]), []
        dataset = self._dataset
        if not dataset.to_boundary:
            return dataset.padding.batch(rows)
        if not dataset.padding.named:
            return dataset.padding.batch(rows)
        if bucket == len(dataset.boundaries):
            raise DataError(
                f"{_OWNER}: sample {rows.ids[0]} is longer than the last boundary, {dataset.boundaries[-1]}, allows: "
                "pad_to_bucket_boundary needs one above all lengths",
                code="GC203",
            )
        return dataset.padding.batch(rows, dataset.boundaries[bucket] - 1)


@node("bucket")
class BucketBatchByLengthDataset(Dataset):
    """A data set in batches of similar length (MindSpore: BucketBatchByLengthDataset)."""

    in_python = True

    def __init__(
        self,
        child: Dataset,
        column_names: Any,
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        element_length_function: Any,
        pad_info: Any,
        pad_to_bucket_boundary: bool,
        drop_remainder: bool,
    ) -> None:
        columns = self.column_names = child.among(_OWNER, "column_names", column_names, alone=False)
        _listed("bucket_boundaries", bucket_boundaries)
        if not bucket_boundaries:
            raise ArgumentValueError(f"{_OWNER}: bucket_boundaries is empty", loc=user_loc())
        self.boundaries = [integer(_OWNER, "bucket_boundaries", b, 1) for b in bucket_boundaries]
        _listed("bucket_batch_sizes", bucket_batch_sizes)
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ArgumentValueError(
                f"{_OWNER}: bucket_batch_sizes must have one more element than bucket_boundaries, {len(bucket_boundaries) + 1}, "
                f"it has {len(bucket_batch_sizes)}",
                loc=user_loc(),
            )
        self.sizes = [integer(_OWNER, "bucket_batch_sizes", s, 1) for s in bucket_batch_sizes]
        if any(b <= a for a, b in zip(self.boundaries, self.boundaries[1:], strict=False)):
            raise ArgumentValueError(f"{_OWNER}: bucket_boundaries must ascend, got {self.boundaries}", loc=user_loc())
        self.element_length_function = element_length_function
        if element_length_function is not None:
            function(_OWNER, "element_length_function", element_length_function)
        elif len(columns) != 1:
            raise ArgumentValueError(
                f"{_OWNER}: without element_length_function, column_names must be one column", loc=user_loc()
            )
        known = child.get_col_names()
        self._places = [known.index(c) for c in columns]
        self.padding = Padding(_OWNER, child, {} if pad_info is None else pad_info)
        self.to_boundary = truth(_OWNER, "pad_to_bucket_boundary", pad_to_bucket_boundary)
        self.drop_remainder = truth(_OWNER, "drop_remainder", drop_remainder)
        super().__init__((child,), known)

    def length_of(self, row: Rows) -> int:
        """The length of the only row."""
        given = [values(row.columns[p])[0] for p in self._places]
        if self.element_length_function is None:
            return int(np.shape(given[0])[0]) if np.ndim(given[0]) else 1
        try:
            length = self.element_length_function(*given)
        except interrupts():
            raise
        except BaseException as raised:
            raise fault(f"{_OWNER}: element_length_function", row.ids[0], raised) from raised
        if isinstance(length, (bool, np.bool_)) or not isinstance(length, (int, np.integer)) or length < 0:
            raise DataError(
                f"{_OWNER}: element_length_function must give an int of 0 or more, it gave {length!r} at sample {row.ids[0]}",
                code="GC201",
            )
        return int(length)

    def open(self, run: Run) -> Stream:
        return _BucketStream(self.children[0].open(run), self)

    def count(self) -> int | None:
        return None

    def get_batch_size(self) -> int:
        return -1


def _listed(name: str, value: Any) -> None:
    if not isinstance(value, list):
        raise ArgumentTypeError(f"{_OWNER}: {name} must be a list of ints", loc=user_loc())
