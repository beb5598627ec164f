"""What the converters share: checks of arguments, and writing in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.vision.files import encode_jpeg
from graphc.errors import DataError, user_loc
from graphc.mindrecord import SUCCESS, MSRStatus
from graphc.mindrecord.packing import Row
from graphc.mindrecord.reading import file_name
from graphc.mindrecord.writer import FileWriter

#: Bytes of a page, as MindSpore's converters have them.
_PAGE = 1 << 26
#: Rows that are written at a time.
_ROWS = 256
#: The quality of OpenCV's JPEG files.
_QUALITY = 95


class Converter:
    """Makes MindRecord files of other files."""

    def run(self) -> MSRStatus:
        """Write the files. DataError for a source that is damaged, or a destination that is there already."""
        raise NotImplementedError

    def transform(self) -> None:
        """Write the files, as `run` does."""
        self.run()


def source_file(owner: str, name: str, value: Any) -> Path:
    """A file that is there; ArgumentTypeError for what is no path, DataError where there is none."""
    path = file_name(f"{owner}: {name}", value)
    if not path.is_file():
        raise DataError(f"{owner}: there is no file {str(path)!r}", code="GC205", loc=user_loc())
    return path


def write(
    writer: FileWriter,
    schema: dict[str, dict[str, Any]],
    description: str,
    rows: Iterable[Row],
    index: list[str] | None,
    in_turn: bool = False,
) -> MSRStatus:
    """Write all rows. in_turn: some into each file in turn, so that rows stay together."""
    writer.set_page_size(_PAGE)
    writer.add_schema(schema, description)
    if index:
        writer.add_index(index)
    left = iter(rows)
    while some := list(islice(left, _ROWS)):
        writer.write_raw_data(some, in_turn)
    writer.commit()
    return SUCCESS


def jpeg(image: np.ndarray[Any, Any]) -> bytes:
    """An image uint8 [H, W] or [H, W, 3] as a JPEG file."""
    return encode_jpeg(image, _QUALITY).tobytes()
