"""Frozen dataclasses as JSON and back: a table (a tuple of rows) is written as one list for each column.

Reading believes nothing: types, lengths and keys are checked against the annotations, and what does not fit is a ParseError
that names the place. `schema` says the same as a JSON Schema.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from graphc.errors import ParseError

#: Integers of a document lie within these bounds: other programs read them as 64 bits.
_LARGEST = 2**63 - 1


def encode(value: Any) -> Any:
    """A value of dataclasses, tuples, numbers and strings as plain data."""
    if is_dataclass(value):
        return {key: encode(getattr(value, name)) for name, key, _ in columns(type(value))}
    if isinstance(value, tuple):
        return [encode(x) for x in value]
    return value


def encode_table(row: type, rows: tuple[Any, ...]) -> dict[str, list[Any]]:
    """Rows of one dataclass as a list for each field."""
    return {key: [encode(getattr(r, name)) for r in rows] for name, key, _ in columns(row)}


def encode_record(record: Any) -> dict[str, Any]:
    """A dataclass whose fields may be tables or records, as plain data."""
    made: dict[str, Any] = {}
    for name, key, kind in columns(type(record)):
        value, row = getattr(record, name), _row(kind)
        if row is not None:
            made[key] = encode_table(row, value)
        else:
            made[key] = encode_record(value) if is_dataclass(value) else encode(value)
    return made


def decode_record(kind: type, data: Any, where: str = "") -> Any:
    """The inverse of `encode_record`. Raises ParseError for anything else; keys that are not known are passed over, so that
    later versions may add some.
    """
    if not isinstance(data, dict):
        raise _wrong(where or "the document", "an object", data)
    made = {}
    for name, key, field in columns(kind):
        place = f"{where}.{key}" if where else key
        if key not in data:
            raise ParseError(f"this record of a step is damaged: {place} is missing")
        value, row, inner = data[key], _row(field), _record(field)
        if row is not None:
            made[name] = _decode_table(row, value, place)
        elif inner is not None and not (value is None and NoneType in get_args(field)):
            made[name] = decode_record(inner, value, place)
        else:
            made[name] = _decode(field, value, place)
    return kind(**made)


def _decode_table(row: type, data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, dict):
        raise _wrong(where, "an object of columns", data)
    lists: list[list[Any]] = []
    for _, key, kind in columns(row):
        column = data.get(key)
        if not isinstance(column, list):
            raise _wrong(f"{where}.{key}", "a list", column)
        if lists and len(column) != len(lists[0]):
            raise ParseError(f"this record of a step is damaged: the columns of {where} differ in length")
        lists.append([_decode(kind, x, f"{where}.{key}") for x in column])
    return tuple(row(*values) for values in zip(*lists, strict=True))


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is int:
        if type(value) is not int or abs(value) > _LARGEST:
            raise _wrong(where, "an integer", value)
        return value
    if kind is str:
        if type(value) is not str:
            raise _wrong(where, "a string", value)
        return value
    if kind is float:
        if type(value) not in (int, float) or abs(value) > _LARGEST or not math.isfinite(value):
            raise _wrong(where, "a finite number", value)
        return value
    origin, inside = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _decode(inside[0], value, where)
    if origin is Literal:
        if value not in inside:
            raise _wrong(where, f"one of {', '.join(inside)}", value)
        return value
    assert origin is tuple, kind
    if not isinstance(value, list) or (inside[-1] is not Ellipsis and len(value) != len(inside)):
        raise _wrong(where, "a list" if inside[-1] is Ellipsis else f"a list of {len(inside)}", value)
    kinds = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
    return tuple([_decode(k, x, where) for k, x in zip(kinds, value, strict=True)])


def _wrong(where: str, wanted: str, value: Any) -> ParseError:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return ParseError(f"this record of a step is damaged: {where} is {shown}, expected {wanted}")


def columns(kind: Any) -> tuple[tuple[str, str, Any], ...]:
    """(name, key in a document, type) of each field. A name that is a word of Python's has an underscore that a key has not."""
    return _columns(kind)


@cache
def _columns(kind: Any) -> tuple[tuple[str, str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((f.name, f.name.rstrip("_"), hints[f.name]) for f in fields(kind))


def _row(kind: Any) -> type | None:
    """The dataclass of a table's rows; None for what is no table."""
    inside = get_args(kind)
    table = get_origin(kind) is tuple and inside[-1] is Ellipsis and is_dataclass(inside[0])
    return inside[0] if table else None


def _record(kind: Any) -> type | None:
    """The dataclass of a field, which may also be None."""
    return next((k for k in (kind, *get_args(kind)) if isinstance(k, type) and is_dataclass(k)), None)


# ---- JSON Schema


def schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of what `encode_record` writes; the lines of a class's docstring describe its fields."""
    described = _described(kind)
    properties = {}
    for _, key, field in columns(kind):
        row, inner = _row(field), _record(field)
        if row is not None:
            properties[key] = _table_schema(row)
        elif inner is not None:
            found = schema(inner)
            properties[key] = {"anyOf": [found, {"type": "null"}]} if NoneType in get_args(field) else found
        else:
            properties[key] = _type_schema(field)
        if key in described:
            properties[key]["description"] = described[key]
    return {"type": "object", "required": list(properties), "properties": properties}


def _table_schema(row: type) -> dict[str, Any]:
    described = _described(row)
    properties = {key: {"type": "array", "items": _type_schema(kind)} for _, key, kind in columns(row)}
    for key, text in described.items():
        properties[key]["description"] = text
    return {"type": "object", "required": list(properties), "properties": properties}


def _type_schema(kind: Any) -> dict[str, Any]:
    plain = {int: "integer", float: "number", str: "string"}
    if kind in plain:
        return {"type": plain[kind]}
    origin, inside = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return {"anyOf": [_type_schema(inside[0]), {"type": "null"}]}
    if origin is Literal:
        return {"enum": list(inside)}
    if inside[-1] is Ellipsis:
        return {"type": "array", "items": _type_schema(inside[0])}
    return {"type": "array", "prefixItems": [_type_schema(k) for k in inside], "minItems": len(inside), "items": False}


def _described(kind: type) -> dict[str, str]:
    """What the docstring of a dataclass says of each field: lines `name   text` after the first, indented where they go on."""
    keys = {key: key for _, key, _ in columns(kind)}
    found: dict[str, str] = {}
    current = None
    for line in inspect.cleandoc(kind.__doc__ or "").split("\n")[1:]:
        name, _, text = line.strip().partition(" ")
        if not line.startswith(" ") and name in keys and text.startswith(" "):
            current = keys[name]
            found[current] = text.strip()
        elif current is not None and line.startswith(" "):
            found[current] += f" {line.strip()}"
        else:
            current = None
    return found
