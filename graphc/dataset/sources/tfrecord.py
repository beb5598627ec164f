"""Rows of TFRecord files, whose records are tf.train.Examples."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from graphc.dataset.checks import LateError, integer, names, no_cache, truth
from graphc.dataset.core.dataset import Dataset
from graphc.dataset.core.rows import Rows, alike, joined_alike
from graphc.dataset.core.streams import Done, Run, Stream
from graphc.dataset.orders.files import FilesSampler, how_mixed
from graphc.dataset.schema import Schema, numpy_dtype
from graphc.dataset.shuffle import Shuffle
from graphc.dataset.sources.files import matching_files
from graphc.dataset.sources.source import MappableDataset, Numbered, check_shards
from graphc.dataset.workers.choice import pool_of
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord.examples import BYTES, FLOATS, INTS, DamagedExample, Feature, features, floats, integers
from graphc.mindrecord.tfrecords import RecordFiles
from graphc.validation.signatures import Remembers

Array = np.ndarray[Any, np.dtype[Any]]

_OWNER = "TFRecordDataset"
#: What features are without a schema, and how they are called.
_DTYPES = {BYTES: "uint8", FLOATS: "float32", INTS: "int64"}
_KINDS = {0: "no values", BYTES: "bytes", FLOATS: "floats", INTS: "ints"}


class Column:
    """A column: its name, dtype, "string" for texts, and shape. kind: what features must be, None for any that fits the dtype."""

    def __init__(
        self, name: str, dtype: str, shape: list[int] | None, kind: int | None = None, padded: bool = False
    ) -> None:
        self.name, self.dtype, self.shape, self.kind, self.padded = name, dtype, shape, kind, padded

    def values(self, rows: Sequence[Feature]) -> list[Array]:
        """One array for each row. DataError for features of another kind, or number of values; DamagedExample."""
        for feature in rows:
            self._check(feature)
        kind = rows[0].kind
        if any(f.kind != kind for f in rows):
            return [self.values([f])[0] for f in rows]
        if kind == BYTES:
            return [self._text(f.pieces) if self.dtype == "string" else self._bytes(f.pieces) for f in rows]
        numbers, counts = integers(rows) if kind == INTS else floats(rows)
        with np.errstate(invalid="ignore", over="ignore"):
            numbers = numbers.astype(numpy_dtype(_OWNER, self.dtype))
        parts = np.split(numbers, np.cumsum(counts)[:-1])
        return [p.reshape(self._fitting(len(p), len(p))) for p in parts]

    def _check(self, feature: Feature) -> None:
        fits = feature.kind != 0 and (feature.kind == BYTES) == (self.dtype == "string")
        fits = fits or (feature.kind == BYTES and self.dtype == "uint8")
        if self.kind is not None:
            fits = feature.kind == self.kind
        if not fits:
            wanted = _KINDS[self.kind] if self.kind is not None else self.dtype
            raise self.error(f"holds {_KINDS[feature.kind]}, the column is of {wanted}")

    def _text(self, pieces: list[bytes]) -> Array:
        try:
            made = np.array([p.decode("utf-8") for p in pieces], np.str_)
        except UnicodeDecodeError as error:
            raise self.error(f"holds bytes that are no UTF-8 text: {error.reason} at byte {error.start}") from None
        return made.reshape(self._fitting(len(pieces), len(pieces)))

    def _bytes(self, pieces: list[bytes]) -> Array:
        if self.padded and len(pieces) > 1:
            width = max(map(len, pieces))
            pieces = [p.ljust(width) for p in pieces]
        made = np.frombuffer(b"".join(pieces), np.uint8)
        shape = self._fitting(len(made), len(pieces))
        return made if -1 in (self.shape or [-1]) else made.reshape(shape)

    def _fitting(self, count: int, items: int) -> list[int]:
        """The shape of so many values in so many items, which are counted where the shape leaves a size open."""
        shape = [-1] if self.shape is None else list(self.shape)
        known = prod(s for s in shape if s != -1)
        if shape.count(-1) > 1:
            raise self.error(f"cannot have the shape {shape}: only one size may be left open")
        if -1 not in shape:
            if known != count:
                raise self.error(f"has {count} values, the schema's shape {shape} has {known}")
            return shape
        if known == 0 or items % known:
            raise self.error(f"has {items} values, which the schema's shape {shape} cannot take")
        shape[shape.index(-1)] = items // known
        return shape

    def error(self, what: str) -> DataError:
        """The error that says what is wrong with the feature."""
        return DataError(f"{_OWNER}: feature {self.name!r} {what}", code="GC201")


class Read:
    """The job of reading records by their numbers."""

    def __init__(self, files: RecordFiles, columns: list[Column]) -> None:
        self.files, self.columns = files, columns
        self.wanted = {c.name.encode(): k for k, c in enumerate(columns)}

    def __call__(self, task: Array) -> Done:
        try:
            return Done(self._rows(task))
        except (DataError, DamagedExample):
            pass
        # Rows before the one that cannot be read are given first.
        for good in range(len(task)):
            try:
                self._rows(task[good : good + 1])
            except (DataError, DamagedExample) as raised:
                said = raised.message if isinstance(raised, DataError) else f"{_OWNER}: no tf.train.Example: {raised}"
                code = raised.code if isinstance(raised, DataError) else "GC205"
                path = self.files.paths[int(np.searchsorted(self.files.ends, task[good], side="right"))]
                error = DataError(f"{said}, at sample {task[good]}", code=code, details=[f"in {path}"])
                error.sample = str(task[good])
                return Done(self._rows(task[:good]) if good else None, error)
        return Done(self._rows(task))

    def _rows(self, task: Array) -> Rows:
        examples = [features(data, self.wanted) for data in self.files.read(task)]
        columns: list[Any] = []
        for column in self.columns:
            key = column.name.encode()
            for example in examples:
                if key not in example:
                    raise column.error("is not there")
            arrays = column.values([example[key] for example in examples])
            columns.append(joined_alike(arrays) if alike(arrays) else arrays)
        return Rows(len(task), columns, task)


class TFRecordDataset(MappableDataset, Remembers):
    """Rows of TFRecord files, a column for each feature of their tf.train.Examples.

    dataset_files: a path, or several; they may be patterns. Files come in the order of their names. schema: a Schema, or a
    JSON file of one, for names, dtypes and shapes; bytes are uint8 or text, and lists of numbers may have any length where a
    size is -1. Without one the first record says what there is: int64, float32, and uint8 for bytes, several ones filled up
    with spaces to the longest. columns_list: these only, in this order; bytes are then not filled up. num_samples: at most so
    many rows, of each share; those that the schema names by default. shuffle: Shuffle.GLOBAL or True mixes files and rows,
    Shuffle.FILES the order of files only, False nothing. num_shards, shard_id: one of so many shares, of files, or with
    shard_equal_rows of rows. compression_type: "", "GZIP" or "ZLIB", of all files; with num_samples shares are of rows.
    Shares of mixed files have other files in each pass; get_dataset_size counts those that they have unmixed, as in MindSpore.
    num_parallel_workers: threads that read. cache must be None. DataError for files that are damaged or no TFRecord files.
    """

    in_python = True

    def __init__(
        self,
        dataset_files: Any,
        schema: Schema | str | None = None,
        columns_list: list[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        shard_equal_rows: bool = False,
        cache: None = None,
        compression_type: str | None = None,
    ) -> None:
        no_cache(_OWNER, "cache", cache)
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise ArgumentValueError(
                f"{_OWNER}: compression_type must be '', 'GZIP' or 'ZLIB', got {compression_type!r}", loc=user_loc()
            )
        mixed = how_mixed(_OWNER, shuffle)
        check_shards(_OWNER, num_shards, shard_id)
        described = Schema(schema) if isinstance(schema, str) else schema
        if described is not None and not isinstance(described, Schema):
            raise ArgumentTypeError(
                f"{_OWNER}: schema must be a Schema or a path, got {type(schema).__name__}", loc=user_loc()
            )
        listed = [] if columns_list is None else columns_list
        chosen = names(_OWNER, "columns_list", listed, alone=False, empty=True, twice=LateError) or None
        number = None if num_samples is None else integer(_OWNER, "num_samples", num_samples, 0) or None
        if number is None and described is not None:
            number = described.num_rows or None
        equal = truth(_OWNER, "shard_equal_rows", shard_equal_rows)
        files = RecordFiles(_OWNER, matching_files(_OWNER, dataset_files), compression_type or "")
        shards = num_shards or 1
        if len(files.paths) < shards and (compression_type or not equal):
            needs = "compressed files need" if compression_type else "without shard_equal_rows there must be"
            raise ArgumentValueError(
                f"{_OWNER}: {needs} as many files as shares, there are {len(files.paths)} for {shards}", loc=user_loc()
            )
        by_files = not (equal or (compression_type and number is not None))
        columns = _columns(files, described, chosen)
        self.job = Read(files, columns)
        order = FilesSampler(files.ends, mixed, shards, shard_id or 0, number, by_files)
        super().__init__([c.name for c in columns], num_parallel_workers, order)

    def length(self) -> int:
        return self.job.files.ends[-1]

    def _varies(self) -> bool:
        """Whether other samplers cannot choose among the rows by their places: passes differ in how many there are."""
        return isinstance(self.sampler, FilesSampler) and self.sampler.varies()

    def share(self, shards: int, first: int) -> Dataset:
        return Dataset.share(self, shards, first) if self._varies() else super().share(shards, first)

    def _split(self, sizes: list[int], randomize: bool) -> tuple[Dataset, ...]:
        return Dataset._split(self, sizes, randomize) if self._varies() else super()._split(sizes, randomize)

    def open(self, run: Run) -> Stream:
        return Numbered(*pool_of(_OWNER, self.job, self.workers(), False, run), self.job, self.order(run.seed))


def _columns(files: RecordFiles, schema: Schema | None, chosen: list[str] | None) -> list[Column]:
    """The columns that a schema, or the first record, says there are."""
    if schema is not None:
        known = {c["name"]: Column(c["name"], c["type"], c.get("shape")) for c in schema.columns}
        if not known:
            raise ArgumentValueError(f"{_OWNER}: the schema has no columns", loc=user_loc())
        origin = "the schema"
    else:
        try:
            first = features(next(files.read(np.zeros(1, np.int64))))
        except DamagedExample as error:
            raise DataError(
                f"{_OWNER}: {files.paths[0].name}: its first record is no tf.train.Example: {error}",
                code="GC205",
                loc=user_loc(),
            ) from None
        origin = "the first record"
        known = {}
        for key in sorted(first):
            if chosen is not None and key.decode(errors="replace") not in chosen:
                continue
            kind = first[key].kind
            if kind == 0:
                raise DataError(
                    f"{_OWNER}: feature {key.decode(errors='replace')!r} of the first record has no values that say what it is",
                    code="GC205",
                    loc=user_loc(),
                )
            known[_name(files, key)] = Column(_name(files, key), _DTYPES[kind], None, kind, chosen is None)
        if not known and chosen is None:
            raise DataError(
                f"{_OWNER}: {files.paths[0].name}: its first record has no features", code="GC205", loc=user_loc()
            )
    for name in chosen or ():
        if name not in known:
            raise DataError(f"{_OWNER}: {origin} has no column {name!r}", code="GC204", loc=user_loc())
    return [known[name] for name in chosen] if chosen is not None else list(known.values())


def _name(files: RecordFiles, name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(
            f"{_OWNER}: {files.paths[0].name}: its first record has a feature whose name is no text: {name!r}",
            code="GC205",
            loc=user_loc(),
        ) from None
