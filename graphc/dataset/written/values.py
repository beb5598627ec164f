"""What data sets and transforms are made with, as JSON, and back: numbers, texts, arrays, dtypes, choices, transforms.

What JSON knows stands as itself. Anything else is an object of one key that says what it is, {"tuple": [...]}, but for
transforms, which are as in MindSpore: {"tensor_op_name", "tensor_op_params"}.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
from collections.abc import Callable
from enum import Enum
from functools import cache
from types import EllipsisType
from typing import Any

import numpy as np

from graphc.dataset import audio, text, transforms, vision
from graphc.dataset.schema import Schema
from graphc.dataset.shuffle import Shuffle
from graphc.dataset.transforms.base import Transform
from graphc.errors import DataError, GraphcError, user_loc
from graphc.ops.tensor.dtype import to_name
from graphc.validation.signatures import Remembers

#: Where transforms have their public names; no name means two of them.
_MODULES = (transforms, vision, text, audio)


@cache
def public_names() -> dict[str, Any]:
    """{name: class} of transforms, and of the choices that they take."""
    found = {name: getattr(module, name) for module in _MODULES for name in module.__all__}
    return {**{name: member for name, member in found.items() if isinstance(member, type)}, "Shuffle": Shuffle}


def unreadable(what: str) -> DataError:
    """The error for JSON that says nothing here."""
    return DataError(f"deserialize: {what}", code="GC204", loc=user_loc())


# ---- writing


class Writer:
    """Writes values. What is no data, such as a function of the user's, is a DataError that says where it stands; with `named`
    its name is written, for people to read.
    """

    def __init__(self, named: bool = False) -> None:
        self._named = named

    def value(self, where: str, value: Any) -> Any:
        """The value as what `json` takes."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if type(value) is list:
            return [self.value(where, v) for v in value]
        if isinstance(value, Transform):
            return self.transform(where, value)
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write(self, where, value)
        try:
            return {"dtype": to_name(value)}
        except GraphcError:
            return self.unwritten(where, value)

    def transform(self, where: str, value: Any) -> Any:
        """{"tensor_op_name", "tensor_op_params"} of a transform of graphc's; any other callable is no data."""
        name = type(value).__name__
        if not isinstance(value, Transform) or public_names().get(name) is not type(value) or value.made_with is None:
            return self.unwritten(where, value)
        return {"tensor_op_name": name, "tensor_op_params": self.arguments(f"{where}: {name}", value) or None}

    def arguments(self, where: str, value: Remembers, dropped: tuple[str, ...] = ()) -> dict[str, Any]:
        """{name: value as JSON} of all arguments that an object was made with, defaults among them, but for those dropped."""
        assert value.made_with is not None
        signature = inspect.signature(type(value).__init__)
        bound = signature.bind(value, *value.made_with[0], **value.made_with[1])
        bound.apply_defaults()
        given = list(bound.arguments.items())[1:]
        return {name: self.value(f"{where}: {name}", held) for name, held in given if name not in dropped}

    def unwritten(self, where: str, value: Any) -> dict[str, str]:
        """What is no data, by its name; DataError if names do not do."""
        owner = value if isinstance(getattr(value, "__qualname__", None), str) else type(value)
        name = owner.__qualname__.rpartition(".")[2]
        if self._named:
            return {"tensor_op_name": name, "python_module": owner.__module__}
        what = "Python code, which is" if callable(value) else "made of objects of the program, which are"
        raise DataError(f"{where}: {name} is {what} not written", code="GC204", loc=user_loc())


def _dict(writer: Writer, where: str, value: dict[Any, Any]) -> dict[str, Any]:
    return {"dict": [[writer.value(where, key), writer.value(where, held)] for key, held in value.items()]}


def _array(writer: Writer, where: str, value: Any) -> dict[str, Any]:
    """{"data", "shape", "type"} of an array, or of a number of NumPy's."""
    held = np.asarray(value)
    if held.dtype.kind not in "biufUS":
        return writer.unwritten(where, value)
    kind = held.dtype.str if held.dtype.kind in "US" else held.dtype.name
    data = [base64.b64encode(v).decode() if held.dtype.kind == "S" else v for v in held.ravel().tolist()]
    return {"array": {"data": data, "shape": list(held.shape), "type": kind}}


def _choice(writer: Writer, where: str, value: Enum) -> dict[str, Any]:
    name = type(value).__name__
    if public_names().get(name) is not type(value):
        return writer.unwritten(where, value)
    return {"enum": f"{name}.{value.name}"}


def _slice(writer: Writer, where: str, value: slice) -> dict[str, Any]:
    return {"slice": [writer.value(where, part) for part in (value.start, value.stop, value.step)]}


_WRITERS: list[tuple[Any, Callable[[Writer, str, Any], Any]]] = [
    (Enum, _choice),
    (tuple, lambda writer, where, value: {"tuple": [writer.value(where, v) for v in value]}),
    (dict, _dict),
    (np.dtype, lambda writer, where, value: {"dtype": "string" if value.kind == "U" else to_name(value)}),
    ((np.ndarray, np.generic), _array),
    (bytes, lambda writer, where, value: {"bytes": base64.b64encode(value).decode()}),
    (os.PathLike, lambda writer, where, value: os.fspath(value)),
    (slice, _slice),
    (EllipsisType, lambda writer, where, value: {"ellipsis": True}),
    (text.Vocab, lambda writer, where, value: {"vocab": [[token, number] for token, number in value.vocab().items()]}),
    (Schema, lambda writer, where, value: {"schema": json.loads(value.to_json())}),
]

# ---- reading


def read(value: Any) -> Any:
    """What a Writer has written. DataError, or one of Python's own errors, for anything else."""
    if isinstance(value, list):
        return [read(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "tensor_op_name" in value:
        return read_transform(value)
    if len(value) == 1 and (kind := next(iter(value))) in _READERS:
        return _READERS[kind](value[kind])
    raise unreadable(f"{sorted(value)!r} is nothing that serialize writes")


def read_transform(value: Any) -> Any:
    """A transform of {"tensor_op_name", "tensor_op_params"}. DataError for what names none of graphc's."""
    name = value.get("tensor_op_name") if isinstance(value, dict) else None
    cls = public_names().get(name) if isinstance(name, str) else None
    if cls is None or not issubclass(cls, Transform):
        raise unreadable(f"there is no transform {name!r}")
    return made(cls, str(name), value.get("tensor_op_params") or {})


def made(cls: Any, name: str, fields: dict[str, Any]) -> Any:
    """An object of the class with these arguments, written as JSON. DataError for those that it has not."""
    signature = inspect.signature(cls)
    unknown = [key for key in fields if key not in signature.parameters]
    if unknown:
        raise unreadable(f"{name} has no argument {unknown[0]!r}")
    bound = signature.bind_partial()
    bound.arguments.update({key: read(fields[key]) for key in signature.parameters if key in fields})
    return cls(*bound.args, **bound.kwargs)


def _read_array(fields: dict[str, Any]) -> Any:
    dtype = np.dtype(str(fields["type"]))
    data = [base64.b64decode(v) for v in fields["data"]] if dtype.kind == "S" else fields["data"]
    return np.array(data, dtype).reshape(fields["shape"])[()]


def _read_choice(name: str) -> Any:
    owner, _, member = name.partition(".")
    cls = public_names()[owner]
    return cls[member]


def _read_dtype(name: str) -> Any:
    return np.dtype(np.str_) if name == "string" else np.dtype(to_name(name))


def _read_schema(fields: dict[str, Any]) -> Schema:
    schema = Schema()
    schema.from_json(fields)
    return schema


_READERS: dict[str, Callable[[Any], Any]] = {
    "enum": _read_choice,
    "tuple": lambda values: tuple(read(v) for v in values),
    "dict": lambda pairs: {_hashed(read(key)): read(held) for key, held in pairs},
    "dtype": _read_dtype,
    "array": _read_array,
    "bytes": base64.b64decode,
    "slice": lambda parts: slice(*map(read, parts)),
    "ellipsis": lambda _: ...,
    "vocab": lambda pairs: text.Vocab.from_dict(dict(pairs)),
    "schema": _read_schema,
}


def _hashed(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
