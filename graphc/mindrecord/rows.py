"""What users write into MindRecord files: schemas, and rows that fit them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord.layout import KINDS, NUMBERS, Field
from graphc.mindrecord.packing import Row

_OWNER = "FileWriter"
#: What values of Python's fields hold.
_PLAIN = {"string": str, "bytes": bytes, "int32": int, "int64": int, "float32": float, "float64": float}
_NAME = re.compile(r"[0-9a-zA-Z_]+")


def fields_of(content: Any) -> dict[str, Field]:
    """The fields of a schema {name: {"type": kind, "shape": [sizes]}}, by names in order. ArgumentTypeError or
    ArgumentValueError for what is none."""
    if not isinstance(content, dict) or not content:
        raise ArgumentTypeError(f"{_OWNER}: a schema must be a dict that is not empty", loc=user_loc())
    return {name: _field(name, content[name]) for name in sorted(content, key=str)}


def _field(name: Any, given: Any) -> Field:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentValueError(
            f"{_OWNER}: {name!r} is no name of a field: letters, digits and _ are allowed", loc=user_loc()
        )
    if not isinstance(given, dict) or "type" not in given or not set(given) <= {"type", "shape"}:
        raise ArgumentTypeError(
            f'{_OWNER}: field {name!r} must be {{"type": ...}}, with "shape" if it is an array, got {given!r}',
            loc=user_loc(),
        )
    kind, shape = given["type"], given.get("shape")
    if kind not in (KINDS if "shape" not in given else NUMBERS):
        allowed = ", ".join(KINDS if "shape" not in given else NUMBERS)
        raise ArgumentValueError(f"{_OWNER}: field {name!r} is of {kind!r}, allowed are {allowed}", loc=user_loc())
    if "shape" not in given:
        return Field(name, kind)
    if not isinstance(shape, (list, tuple)) or not shape or not all(map(_is_size, shape)) or shape.count(-1) > 1:
        raise ArgumentValueError(
            f"{_OWNER}: the shape of field {name!r} must be a list of sizes, one of which may be -1, got {shape!r}",
            loc=user_loc(),
        )
    return Field(name, kind, tuple(int(s) for s in shape))


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value > 0 or value == -1)


def within(value: int, kind: str) -> bool:
    """Whether "int32" or "int64" has a number."""
    most = 1 << int(kind[3:]) - 1
    return -most <= value < most


def checked(rows: Any, fields: Mapping[str, Field], first: int) -> list[Row]:
    """Rows of these fields, as they are written. ArgumentTypeError for what is no list of dicts, DataError, which says the row
    and the field, for values that do not fit. first: the number of the first row."""
    if not isinstance(rows, list):
        raise ArgumentTypeError(
            f"{_OWNER}: raw_data must be a list of dicts, got {type(rows).__name__}", loc=user_loc()
        )
    made = []
    for number, row in enumerate(rows, first):
        if not isinstance(row, dict):
            raise ArgumentTypeError(
                f"{_OWNER}: raw_data must be a list of dicts, it holds {type(row).__name__}", loc=user_loc()
            )
        made.append({name: _value(row, field, number) for name, field in fields.items()})
    return made


def _value(row: Row, field: Field, number: int) -> Any:
    if field.name not in row:
        raise _misfit(field, number, "is missing")
    value = row[field.name]
    if field.shape is not None:
        return _array(value, field, number)
    if isinstance(value, np.generic) and value.dtype.name == field.kind:
        value = value.item()
    # Python's ints are none of MindSpore's floats either.
    if isinstance(value, (np.generic, bool)) or not isinstance(value, _PLAIN[field.kind]):
        raise _misfit(field, number, f"is {_shown(value)}")
    if isinstance(value, int) and not within(value, field.kind):
        raise _misfit(field, number, f"is {value}, which is beyond {field.kind}")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise _misfit(field, number, "has characters that UTF-8 has not") from None
    return value


def _array(value: Any, field: Field, number: int) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.name != field.kind:
        raise _misfit(field, number, f"is {_shown(value)}")
    assert field.shape is not None
    try:
        return value.reshape(field.shape)
    except ValueError:
        raise _misfit(
            field, number, f"has the shape {list(value.shape)}, the schema says {list(field.shape)}"
        ) from None


def _shown(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"{type(value).__name__} {value!r:.40}"


def _misfit(field: Field, number: int, what: str) -> DataError:
    wanted = field.kind if field.shape is None else f"an array of {field.kind}"
    return DataError(
        f"{_OWNER}: field {field.name!r} of row {number} {what}, it must be {wanted}", code="GC201", loc=user_loc()
    )
