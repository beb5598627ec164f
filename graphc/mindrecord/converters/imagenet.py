"""`mindrecord.ImageNetToMR`: MindRecord files of images in folders, one folder per class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graphc.dataset.sources.files import directory, read_whole
from graphc.errors import DataError, user_loc
from graphc.mindrecord import MSRStatus
from graphc.mindrecord.converters.base import Converter, source_file, write
from graphc.mindrecord.packing import Row
from graphc.mindrecord.writer import FileWriter

_OWNER = "ImageNetToMR"
_ENDINGS = ("JPEG", "jpg")


class ImageNetToMR(Converter):
    """MindRecord files of images in folders: "label" int32, "image", the bytes of a JPEG file, and "file_name".

    map_file: lines of a folder and its label, with a space between. image_dir: where the folders are; those that are missing,
    and files that do not end in JPEG or jpg, are left out. destination: the file, or with partition_number > 1 what the names
    of the files begin with.
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1) -> None:
        self._map = source_file(_OWNER, "map_file", map_file)
        self._images = directory(_OWNER, "image_dir", image_dir)
        self._writer = FileWriter(destination, partition_number)

    def run(self) -> MSRStatus:
        schema = {"label": {"type": "int32"}, "image": {"type": "bytes"}, "file_name": {"type": "string"}}
        return write(self._writer, schema, "imagenet_schema", self._rows(), ["label", "file_name"], in_turn=True)

    def _rows(self) -> Iterator[Row]:
        folders = [(label, self._images / name) for name, label in self._labels()]
        there = [(label, folder) for label, folder in folders if folder.is_dir()]
        if not there:
            raise DataError(f"{_OWNER}: no folder of {self._map.name} is there", code="GC205", loc=user_loc())
        for label, folder in there:
            for path in sorted(p for p in folder.iterdir() if p.name.endswith(_ENDINGS)):
                if data := read_whole(_OWNER, path):
                    yield {"label": label, "image": data, "file_name": str(Path(path))}

    def _labels(self) -> list[tuple[str, int]]:
        """The folders and their labels, each pair once; folders may share a label."""
        made: list[tuple[str, int]] = []
        text = read_whole(_OWNER, self._map).decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words:
                continue
            if len(words) != 2 or not words[1].isdecimal():
                raise DataError(
                    f"{_OWNER}: {self._map.name}:{number} has {line!r}, a folder and its label are needed",
                    code="GC205",
                    loc=user_loc(),
                )
            made.append((words[0], int(words[1])))
        return list(dict.fromkeys(made))
