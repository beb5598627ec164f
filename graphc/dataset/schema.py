"""`dataset.Schema`: names and dtypes of columns, from calls or from MindSpore's JSON file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphc.dataset.checks import LateError, integer
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, GraphcError, KindError, user_loc
from graphc.ops.tensor.dtype import to_name
from graphc.validation.checks import string
from graphc.validation.signatures import Plain


def numpy_dtype(owner: str, given: Any) -> np.dtype[Any]:
    """The NumPy dtype of a dtype of graphc's, NumPy's, Python's or a name; "string" is text. ArgumentTypeError for others."""
    if given is str or given == "string":
        return np.dtype(np.str_)
    if isinstance(given, str) and len(given) == 1:  # A letter of NumPy's for one.
        raise ArgumentTypeError(f"{owner}: {given!r} is no dtype", loc=user_loc())
    try:
        name: Any = to_name(given)
    except GraphcError:
        raise ArgumentTypeError(f"{owner}: {given!r} is no dtype", loc=user_loc()) from None
    if name == "bfloat16":
        import ml_dtypes

        name = ml_dtypes.bfloat16
    found: np.dtype[Any] = np.dtype(name)
    return found


def _loaded(path: str) -> Any:
    """What a JSON file holds. ArgumentValueError where there is none, DataError for what is no JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise ArgumentValueError(
            f"Schema: {str(path)!r} cannot be read: {error.strerror}", code="GC205", loc=user_loc()
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"Schema: {str(path)!r} is no JSON: {error}", code="GC205", loc=user_loc()) from None


class Schema(Plain):
    """Columns with names, dtypes and shapes. schema_file: a JSON file {"columns": {name: {"type", "rank", "shape"}}}."""

    def __init__(self, schema_file: str | None = None) -> None:
        self.num_rows: int | None = None
        self.columns: list[dict[str, Any]] = []
        if schema_file is not None:
            self.from_json(_loaded(string("Schema", "schema_file", schema_file)))

    def add_column(self, name: str, de_type: Any, shape: list[int] | None = None) -> None:
        """A column. shape: sizes, -1 for any. ArgumentTypeError or ArgumentValueError for what is none."""
        if not string("Schema", "name", name):
            raise KindError("Schema: name is empty", loc=user_loc())
        if any(c["name"] == name for c in self.columns):
            raise ArgumentValueError(f"Schema: there is a column {name!r} already", loc=user_loc())
        if isinstance(de_type, (bytes, tuple, list)):  # Of which NumPy makes dtypes.
            raise ArgumentTypeError(f"Schema: {de_type!r} is no dtype", loc=user_loc())
        dtype = numpy_dtype("Schema", de_type)
        column: dict[str, Any] = {"name": name, "type": "string" if dtype.kind == "U" else dtype.name}
        if shape is not None:
            if not isinstance(shape, list):
                raise ArgumentTypeError(f"Schema: shape must be a list, got {type(shape).__name__}", loc=user_loc())
            column["shape"] = [integer("Schema", "shape", s, -1) for s in shape]
            column["rank"] = len(shape)
        else:
            column["rank"] = 1
        self.columns.append(column)

    def parse_columns(self, columns: list[dict[str, Any]] | dict[str, dict[str, Any]]) -> None:
        """Columns in place of those there: dicts with "name" and "type", or {name: {"type", "shape"}}."""
        if not isinstance(columns, (list, dict)):
            raise LateError(
                f"Schema: columns must be a list or a dict of dicts, got {type(columns).__name__}", loc=user_loc()
            )
        held = list(columns.items()) if isinstance(columns, dict) else [(None, column) for column in columns]
        listed = []
        for name, column in held:
            if not isinstance(column, dict):
                raise LateError(f"Schema: a column must be a dict, got {column!r}", loc=user_loc())
            listed.append(column if name is None else {"name": name, **column})
        self.columns = []
        for column in listed:
            lacking = [key for key in ("name", "type") if key not in column]
            if lacking:
                raise LateError(f"Schema: a column has no {lacking[0]!r}: {column}", loc=user_loc())
            # A file may give the number of axes alone: what has none is one value.
            shape: list[int] | None = [] if column.get("rank") == 0 else None
            self.add_column(column["name"], column["type"], column.get("shape", shape))

    def from_json(self, json_obj: dict[str, Any]) -> None:
        """What `to_json` gave, as a dict."""
        if not isinstance(json_obj, dict) or "columns" not in json_obj:
            raise LateError('Schema: a dict with "columns" is needed', loc=user_loc())
        rows = json_obj.get("numRows")
        self.num_rows = None if rows is None else integer("Schema", "numRows", rows, 0) or None
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """The schema as JSON text, the columns in a list."""
        rows = {} if self.num_rows is None else {"numRows": self.num_rows}
        return json.dumps({**rows, "columns": self.columns}, indent=2, sort_keys=True)

    def __str__(self) -> str:
        return self.to_json()
