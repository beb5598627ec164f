"""Lines of a text file by their numbers."""

from __future__ import annotations

import os
from typing import BinaryIO

from graphc.dataset.checks import integer
from graphc.errors import DataError, user_loc
from graphc.validation.checks import string


class LineReader:
    """The lines of a text file in UTF-8: `reader.readline(1)`, or `reader[1]`, is the first, without what ends it.

    Where they begin is looked up once. Raises ArgumentTypeError for what is no text, DataError where there is no file.
    """

    def __init__(self, filename: str) -> None:
        string("LineReader", "filename", filename)
        self.filename = os.path.realpath(filename)
        if not os.path.isfile(self.filename):
            raise DataError(f"LineReader: there is no file {filename!r}", code="GC205", loc=user_loc())
        self._file: BinaryIO | None = None
        self._starts, place = [0], 0
        with open(self.filename, "rb") as file:
            for line in file:
                place += len(line)
                self._starts.append(place)
        self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def len(self) -> int:
        """How many lines there are."""
        return len(self._starts)

    def __getitem__(self, line: int) -> str:
        return self.readline(line)

    def readline(self, line: int) -> str:
        """The text of a line; they count from 1. Raises ArgumentTypeError or ArgumentValueError for other numbers."""
        number = integer("LineReader", "line", line, 1, len(self._starts))
        if self._file is None:
            self._file = open(self.filename, "rb")  # noqa: SIM115, it stays open until close()
        self._file.seek(self._starts[number - 1])
        return self._file.readline().decode("utf-8").rstrip("\r\n")

    def close(self) -> None:
        """Close the file; the next readline opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None


__all__ = ["LineReader"]
