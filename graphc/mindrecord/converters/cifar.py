"""`mindrecord.Cifar10ToMR` and `Cifar100ToMR`: MindRecord files of CIFAR's version for Python."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from graphc.dataset.sources.files import directory, read_whole
from graphc.errors import ArgumentTypeError, DataError, user_loc
from graphc.mindrecord import SUCCESS, MSRStatus
from graphc.mindrecord.converters.base import Converter, jpeg, write
from graphc.mindrecord.packing import Row
from graphc.mindrecord.reading import file_name
from graphc.mindrecord.writer import FileWriter

Array = np.ndarray[Any, np.dtype[Any]]


class _Arrays(pickle.Unpickler):
    """Unpickles arrays, and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return np._core.multiarray._reconstruct  # type: ignore[attr-defined]
        if (module, name) == ("_codecs", "encode"):
            return _latin
        raise pickle.UnpicklingError(f"{module}.{name} is no array")


def _latin(text: str, encoding: str) -> bytes:
    """Bytes, as Python 3 writes them for Python 2."""
    return text.encode("latin-1" if encoding == "latin1" else "ascii")


class _CifarToMR(Converter):
    """What both have in common: files, and the labels in them."""

    #: Files of training: what their names begin with. Field of MindRecord -> name in the file.
    train, test = "", ""
    label_names: ClassVar[dict[str, str]] = {}

    def __init__(self, source: str, destination: str) -> None:
        self._owner = type(self).__name__
        self._source = directory(self._owner, "source", source)
        self._destination = file_name(self._owner, destination)
        names = sorted(p.name for p in self._source.iterdir() if p.is_file())
        self._parts = [[n for n in names if self._belongs(n, of)] for of in (self.train, self.test)]
        for of, found in zip((self.train, self.test), self._parts, strict=True):
            if not found:
                raise DataError(
                    f"{self._owner}: there is no file {of!r} in {str(source)!r}", code="GC205", loc=user_loc()
                )

    def _belongs(self, name: str, of: str) -> bool:
        return name == of or (of.endswith("_") and name.startswith(of))

    def run(self, fields: list[str] | None = None) -> MSRStatus:
        """Write the files. fields: those of the index, all numbers by default. DataError for a source that is damaged, or a
        destination that is there already."""
        if fields is not None and not isinstance(fields, list):
            raise ArgumentTypeError(
                f"{self._owner}: fields must be a list, got {type(fields).__name__}", loc=user_loc()
            )
        schema = {"id": {"type": "int64"}, "data": {"type": "bytes"}}
        schema |= {name: {"type": "int64"} for name in self.label_names}
        for files, ending, said in zip(self._parts, ("", "_test"), ("img_train", "img_test"), strict=True):
            writer = FileWriter(f"{self._destination}{ending}")
            write(writer, schema, said, self._rows(files), fields)
        return SUCCESS

    def transform(self, fields: list[str] | None = None) -> None:
        """Write the files, as `run` does."""
        self.run(fields)

    def _rows(self, files: list[str]) -> Iterator[Row]:
        number = 0
        for name in files:
            images, labels = self._loaded(self._source / name)
            for k, image in enumerate(images):
                yield {"id": number, "data": jpeg(image), **{n: int(of[k]) for n, of in labels.items()}}
                number += 1

    def _loaded(self, path: Path) -> tuple[Array, dict[str, Array]]:
        """uint8 [n, 32, 32, 3], and labels [n] by their names."""
        data = read_whole(self._owner, path)
        try:
            held = _Arrays(io.BytesIO(data), encoding="bytes").load()
            images = np.asarray(held[b"data"])
            labels = {n: np.asarray(held[of.encode()]) for n, of in self.label_names.items()}
            fits = images.dtype == np.uint8 and all(of.dtype.kind in "iu" and of.ndim == 1 for of in labels.values())
            if not fits or any(len(of) != len(images) for of in labels.values()):
                raise ValueError("images and labels do not match")
            shaped = images.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        except Exception as error:  # A pickle that is damaged may raise anything.
            raise DataError(
                f"{self._owner}: {path.name} is no file of CIFAR's version for Python: {type(error).__name__}: {error}",
                code="GC205",
                loc=user_loc(),
            ) from None
        return np.ascontiguousarray(shaped), labels


class Cifar10ToMR(_CifarToMR):
    """MindRecord files DESTINATION and DESTINATION_test of the images of CIFAR-10: "id" and "label" int64, and "data", the bytes
    of a JPEG file.

    source: where data_batch_1 .. data_batch_5 and test_batch are, the version for Python. Nothing in them is run.
    """

    train, test = "data_batch_", "test_batch"
    label_names: ClassVar = {"label": "labels"}


class Cifar100ToMR(_CifarToMR):
    """MindRecord files DESTINATION and DESTINATION_test of the images of CIFAR-100: "id", "fine_label" and "coarse_label" int64,
    and "data", the bytes of a JPEG file.

    source: where train and test are, the version for Python. Nothing in them is run.
    """

    train, test = "train", "test"
    label_names: ClassVar = {"fine_label": "fine_labels", "coarse_label": "coarse_labels"}
