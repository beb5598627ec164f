"""`Dataset.save` and `Dataset.to_json`: the rows of a data set as MindRecord files, its pipeline as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc.dataset.checks import LateError
from graphc.dataset.core.dataset import Dataset, maker
from graphc.errors import ArgumentTypeError, DataError, user_loc
from graphc.validation.checks import string
from graphc.validation.unused_arguments import only

if TYPE_CHECKING:
    from graphc.mindrecord.writer import FileWriter

Array = np.ndarray[Any, np.dtype[Any]]

#: NumPy's dtypes, and what MindRecord files have of them.
_KINDS = {
    **dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16", "int32"), "int32"),
    **dict.fromkeys(("uint32", "int64", "uint64"), "int64"),
    "float16": "float32", "float32": "float32", "float64": "float64",
}  # fmt: skip
#: Rows that are written at a time.
_ROWS = 256


def save(dataset: Dataset, file_name: str, num_files: int, file_type: str) -> None:
    """Write one pass of a data set."""
    from graphc.mindrecord.writer import FileWriter  # Few data sets are written.

    string("save", "file_type", file_type)
    only("save", "file_type", file_type, "mindrecord")
    if not isinstance(file_name, str):
        raise ArgumentTypeError(f"save: file_name must be a str, got {type(file_name).__name__}", loc=user_loc())
    if not os.path.isdir(os.path.dirname(file_name) or ".") or not file_name:
        raise LateError(f"save: {file_name!r} is no file in a directory that is there", code="GC205", loc=user_loc())
    writer = FileWriter(file_name, num_files)
    try:
        _write(dataset, writer)
    except BaseException:
        writer.discard()
        raise
    writer.commit()


def _write(dataset: Dataset, writer: FileWriter) -> None:
    names = dataset.get_col_names()
    schema: dict[str, dict[str, Any]] = {}
    waiting: list[dict[str, Any]] = []
    with dataset.create_tuple_iterator(num_epochs=1, output_numpy=True) as rows:
        for number, row in enumerate(rows):
            if not schema:
                schema = {name: _field(name, value) for name, value in zip(names, row, strict=True)}
                writer.add_schema(schema, "mindrecord")
            held = zip(names, row, strict=True)
            waiting.append({name: _value(name, value, schema[name], number) for name, value in held})
            if len(waiting) == _ROWS:
                writer.write_raw_data(waiting)
                waiting = []
    if not schema:
        raise DataError("save: the data set has no rows", code="GC204", loc=user_loc())
    if waiting:
        writer.write_raw_data(waiting)


def _field(name: str, value: Array) -> dict[str, Any]:
    """The field of a column, by its value in the first row."""
    if value.dtype.kind in "US":
        if value.ndim:
            raise _refused(name, f"is an array of texts, {list(value.shape)}", 0)
        return {"type": "string" if value.dtype.kind == "U" else "bytes"}
    if value.dtype.name not in _KINDS:
        raise _refused(name, f"is of {value.dtype}", 0)
    kind = _KINDS[value.dtype.name]
    return {"type": kind, "shape": [-1, *value.shape[1:]]} if value.ndim else {"type": kind}


def _value(name: str, value: Array, field: dict[str, Any], number: int) -> Any:
    """The value as it is written. DataError for one that does not fit the first."""
    if _field(name, value) != field:
        raise _refused(name, f"is {value.dtype} {list(value.shape)}, the first row has another dtype or shape", number)
    if value.dtype.kind in "US":
        return value.item()
    if value.dtype == np.uint64 and value.size and value.max() >= 1 << 63:
        raise _refused(name, f"has {value.max()}, which is beyond int64", number)
    made = value.astype(field["type"])
    return made if made.ndim else made.item()


def _refused(name: str, what: str, number: int) -> DataError:
    return DataError(
        f"save: column {name!r} of row {number} {what}: MindRecord files cannot hold that", code="GC201", loc=user_loc()
    )


def to_json(dataset: Dataset, filename: str) -> dict[str, Any]:
    """`graphc.dataset.serialize`."""
    from graphc.dataset.written import pipelines  # It imports all transforms.

    return pipelines.to_json(dataset, filename)


maker("save", save)
maker("to_json", to_json)
