"""`mindrecord.TFRecordToMR`: a MindRecord file of a TFRecord file."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphc.dataset.checks import names
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.mindrecord import MSRStatus
from graphc.mindrecord.converters.base import Converter, source_file, write
from graphc.mindrecord.examples import BYTES, FLOATS, INTS, DamagedExample, Feature, features, floats, integers
from graphc.mindrecord.packing import Row
from graphc.mindrecord.tfrecords import RecordFiles
from graphc.mindrecord.writer import FileWriter

_OWNER = "TFRecordToMR"
#: TensorFlow's dtypes of features: what they are in MindRecord files, and the kinds that they are read from.
_KINDS = {"string": ("string", BYTES), "int64": ("int64", INTS), "float32": ("float32", FLOATS)}
_ODD = frozenset(string.punctuation + " ") - {"_"}


class TFRecordToMR(Converter):
    """A MindRecord file of the records of a TFRecord file.

    feature_dict: {name: feature}, each with `shape`, [] or one size, `dtype`, TensorFlow's int64, float32 or string, or such a
    name, and a `default_value` if it may be missing: tf.io.FixedLenFeature is such. bytes_fields: the features of strings that
    are bytes; the others are texts. Signs in names become _.
    """

    def __init__(
        self, source: str, destination: str, feature_dict: dict[str, Any], bytes_fields: list[str] | None = None
    ) -> None:
        self._source = source_file(_OWNER, "source", source)
        self._destination = destination
        if not isinstance(feature_dict, dict) or not feature_dict:
            raise ArgumentTypeError(f"{_OWNER}: feature_dict must be a dict of features", loc=user_loc())
        as_bytes = names(_OWNER, "bytes_fields", bytes_fields) if bytes_fields else []
        self._features = {name: _Wanted(name, given, name in as_bytes) for name, given in feature_dict.items()}
        fields: dict[str, str] = {}
        for name, wanted in self._features.items():
            if (other := fields.setdefault(wanted.field, name)) != name:
                raise ArgumentValueError(
                    f"{_OWNER}: features {other!r} and {name!r} would both be the field {wanted.field!r}",
                    loc=user_loc(),
                )
        for name in as_bytes:
            if name not in self._features or self._features[name].kind != BYTES:
                raise ArgumentValueError(f"{_OWNER}: bytes_fields has {name!r}, which is no string", loc=user_loc())

    def run(self) -> MSRStatus:
        schema = {w.field: w.schema for w in self._features.values()}
        return write(FileWriter(self._destination), schema, "TFRecord to MindRecord", self._rows(), None)

    def _rows(self) -> Iterator[Row]:
        files = RecordFiles(_OWNER, [self._source])
        for number, data in enumerate(files.read(np.arange(files.ends[-1]))):
            try:
                found = features(data)
                yield {w.field: w.value(found.get(w.name.encode())) for w in self._features.values()}
            except (DamagedExample, UnicodeDecodeError) as error:
                raise DataError(
                    f"{_OWNER}: {self._source.name}: record {number}: {error}", code="GC205", loc=user_loc()
                ) from None


class _Wanted:
    """A feature that is to be there."""

    def __init__(self, name: str, given: Any, as_bytes: bool) -> None:
        shape, dtype = getattr(given, "shape", None), getattr(given, "dtype", None)
        kind = getattr(dtype, "name", dtype)
        if not isinstance(shape, (list, tuple)) or kind not in _KINDS:
            raise ArgumentValueError(
                f"{_OWNER}: feature {name!r} must have a shape and a dtype of {', '.join(_KINDS)}", loc=user_loc()
            )
        self.name, self.field = name, "".join("_" if c in _ODD else c for c in name)
        self.default = getattr(given, "default_value", None)
        field, self.kind = _KINDS[kind]
        self.schema: dict[str, Any] = {"type": "bytes" if as_bytes else field}
        if list(shape):
            if len(shape) != 1 or not isinstance(shape[0], int) or shape[0] < 1 or self.kind == BYTES:
                raise ArgumentValueError(
                    f"{_OWNER}: feature {name!r} has shape {list(shape)}: numbers may have one size, strings none",
                    loc=user_loc(),
                )
            self.schema["shape"] = [shape[0]]
        self.count = shape[0] if list(shape) else 1

    def value(self, feature: Feature | None) -> Any:
        """What a row has. DamagedExample for a feature of another kind, or number of values."""
        if feature is None or feature.kind == 0:
            if self.default is None:
                raise DamagedExample(f"feature {self.name!r} is missing")
            return self._shaped(np.ravel(self.default) if self.kind != BYTES else [self.default])
        if feature.kind != self.kind:
            raise DamagedExample(f"feature {self.name!r} is of another kind")
        if self.kind == BYTES:
            return self._shaped(feature.pieces)
        return self._shaped((integers if self.kind == INTS else floats)([feature])[0])

    def _shaped(self, values: Any) -> Any:
        if len(values) != self.count:
            raise DamagedExample(f"feature {self.name!r} has {len(values)} values, {self.count} are wanted")
        if "shape" in self.schema:
            return np.asarray(values, self.schema["type"])
        if self.kind != BYTES:
            return int(values[0]) if self.kind == INTS else float(values[0])
        value = values[0].encode("utf-8") if isinstance(values[0], str) else values[0]
        return value if self.schema["type"] == "bytes" else value.decode("utf-8")
