"""`mindrecord.MnistToMR`: MindRecord files of MNIST's, packed by gzip as they are published."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import directory
from graphc.errors import DataError, user_loc
from graphc.mindrecord import SUCCESS, MSRStatus
from graphc.mindrecord.converters.base import Converter, jpeg, write
from graphc.mindrecord.packing import Row
from graphc.mindrecord.writer import FileWriter

_OWNER = "MnistToMR"
_SIDE = 28


class MnistToMR(Converter):
    """MindRecord files DESTINATION_train.mindrecord and DESTINATION_test.mindrecord of the images of MNIST: "label" int64, and
    "data", the bytes of a JPEG file.

    source: where train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and the same of t10k are. partition_number: how many
    files each is.
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        self._source = directory(_OWNER, "source", source)
        self._writers = [
            (prefix, FileWriter(f"{destination}_{part}.mindrecord", partition_number))
            for prefix, part in (("train", "train"), ("t10k", "test"))
        ]

    def run(self) -> MSRStatus:
        schema = {"label": {"type": "int64"}, "data": {"type": "bytes"}}
        for prefix, writer in self._writers:
            write(writer, schema, "mnist_schema", self._rows(prefix), ["label"])
        return SUCCESS

    def _rows(self, prefix: str) -> Iterator[Row]:
        images = _unpacked(self._source / f"{prefix}-images-idx3-ubyte.gz", 3)
        labels = _unpacked(self._source / f"{prefix}-labels-idx1-ubyte.gz", 1)
        if len(images) != len(labels) or images.shape[1:] != (_SIDE, _SIDE):
            raise DataError(
                f"{_OWNER}: {prefix} has images {list(images.shape)} and {len(labels)} labels",
                code="GC205",
                loc=user_loc(),
            )
        for image, label in zip(images, labels.tolist(), strict=True):
            yield {"label": label, "data": jpeg(image)}


def _unpacked(path: Path, axes: int) -> np.ndarray[Any, Any]:
    """uint8 of an IDX file in so many axes, packed by gzip."""
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{_OWNER}: {path.name} cannot be read: {error}", code="GC205", loc=user_loc()) from error
    head = 4 + 4 * axes
    if len(data) < head or data[:4] != bytes([0, 0, 8, axes]):
        raise DataError(f"{_OWNER}: {path.name} is no IDX file of bytes", code="GC205", loc=user_loc())
    shape = struct.unpack(f">{axes}I", data[4:head])
    if len(data) - head != int(np.prod(shape, dtype=object)):
        raise DataError(f"{_OWNER}: {path.name} is cut off", code="GC205", loc=user_loc())
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)
