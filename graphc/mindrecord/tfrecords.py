"""TFRecord files: records one after the other, each of a length, its CRC, the data, and the CRC of those.

    uint64 length; uint32 masked CRC-32C of length; byte data[length]; uint32 masked CRC-32C of data      (little endian)

(tensorflow.org/tutorials/load_data/tfrecord). Compressed files are such a stream packed by gzip or zlib as a whole.
"""

from __future__ import annotations

import os
import struct
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphc.dataset.sources.files import unfit
from graphc.mindrecord.crc import crc32c, crcs, masked, masked_of_lengths

Array = np.ndarray[Any, np.dtype[Any]]

_HEAD, _FOOT = 12, 4
_CHUNK = 1 << 20
#: Records that are read at a time.
_RECORDS = 128
#: How zlib's windows are called for each kind of packing.
_WINDOWS = {"GZIP": 31, "ZLIB": 15}


class RecordFiles:
    """The records of files by their numbers. compression: "", "GZIP" or "ZLIB"; what is packed is unpacked into one
    temporary file.

    Where the records are is looked up at once, and the CRCs of lengths are checked; those of data are when records are read.
    DataError for files that are empty, cut off, or something else.
    """

    def __init__(self, owner: str, paths: list[Path], compression: str = "") -> None:
        self._owner, self.paths, self._compression = owner, paths, compression
        self._unpacked = tempfile.TemporaryFile() if compression else None  # noqa: SIM115, it is closed with this object
        if self._unpacked is not None:
            weakref.finalize(self, self._unpacked.close)
        begins, lengths, ends = [], [], list[int]()
        for path in paths:
            starts, sizes = self._scan(path)
            begins.append(starts)
            lengths.append(sizes)
            ends.append((ends[-1] if ends else 0) + len(sizes))
        #: After each file, how many records there are up to there.
        self.ends = ends
        self._begins, self._lengths = np.concatenate(begins), np.concatenate(lengths)
        self._whole = np.zeros(ends[-1], bool)

    def read(self, numbers: Array) -> Iterator[bytes]:
        """The data of records, whose CRC is looked at once. DataError where it is another one, or the file has become shorter."""
        for begin in range(0, len(numbers), _RECORDS):
            yield from self._some(numbers[begin : begin + _RECORDS])

    def _some(self, numbers: Array) -> list[bytes]:
        files = np.searchsorted(self.ends, numbers, side="right").tolist()
        file: IO[bytes] | None = self._unpacked
        at, read = -1, []
        try:
            for number, k in zip(numbers.tolist(), files, strict=True):
                if self._unpacked is None and k != at:
                    if file is not None:
                        file.close()
                    file, at = self._open(self.paths[k]), k
                assert file is not None
                read.append(self._one(file, self.paths[k], number))
        finally:
            if file is not None and self._unpacked is None:
                file.close()
        unknown = np.flatnonzero(~self._whole[numbers])
        for place, crc in zip(unknown.tolist(), crcs([read[k][:-_FOOT] for k in unknown]), strict=True):
            if struct.unpack("<I", read[place][-_FOOT:])[0] != masked(crc):
                raise unfit(
                    self._owner,
                    self.paths[files[place]],
                    f"has a record at byte {self._begins[numbers[place]]} whose data have another CRC than it says",
                )
        self._whole[numbers] = True
        return [both[:-_FOOT] for both in read]

    def _one(self, file: IO[bytes], path: Path, number: int) -> bytes:
        """The data of a record, and its CRC."""
        begin, size = int(self._begins[number]), int(self._lengths[number]) + _FOOT
        both = os.pread(file.fileno(), size, begin)
        if len(both) < size:
            raise unfit(self._owner, path, f"has become shorter: record {number} is cut off")
        return both

    def _scan(self, path: Path) -> tuple[Array, Array]:
        """int64 [n] each: where the data of each record begins, and how long it is."""
        with self._open(path) as file:
            if self._unpacked is None:
                return self._records(path, file, 0, os.fstat(file.fileno()).st_size)
            begin = self._unpacked.seek(0, os.SEEK_END)
            size = self._unpack(path, file, self._unpacked)
            self._unpacked.flush()
            return self._records(path, self._unpacked, begin, size)

    def _records(self, path: Path, file: IO[bytes], base: int, size: int) -> tuple[Array, Array]:
        if size == 0:
            raise unfit(self._owner, path, "is empty")
        begins: list[int] = []
        heads: list[bytes] = []
        at, wrong = 0, ""
        while at < size:
            file.seek(base + at)
            head = file.read(_HEAD)
            if len(head) < _HEAD or at + _HEAD > size:
                wrong = f"is cut off: {size - at} bytes at its end are no record"
                break
            length = int.from_bytes(head[:8], "little")
            heads.append(head)
            begins.append(base + at + _HEAD)
            at += _HEAD + length + _FOOT
            if at > size:
                wrong = f"is cut off: its last record says that it has {length} bytes of data"
        held = np.frombuffer(b"".join(heads), np.dtype([("length", "<u8"), ("crc", "<u4")]))
        bad = np.flatnonzero(masked_of_lengths(held["length"]) != held["crc"])
        if len(bad):
            place = begins[int(bad[0])] - _HEAD - base
            none = "is no TFRecord file" if bad[0] == 0 else "is damaged"
            raise unfit(
                self._owner, path, f"{none}: the length of the record at byte {place} has another CRC than it says"
            )
        if wrong:
            raise unfit(self._owner, path, wrong)
        return np.array(begins, np.int64), held["length"].astype(np.int64)

    def _unpack(self, path: Path, file: IO[bytes], into: IO[bytes]) -> int:
        """Unpack all of a file; returns how many bytes that makes. gzip files may have several members."""
        made, inflate = 0, zlib.decompressobj(_WINDOWS[self._compression])
        data = file.read(_CHUNK)
        try:
            while data:
                out = inflate.decompress(data, _CHUNK)
                made += into.write(out)
                data = inflate.unconsumed_tail or inflate.unused_data or file.read(_CHUNK)
                if inflate.eof and data:
                    inflate = zlib.decompressobj(_WINDOWS[self._compression])
            made += into.write(inflate.flush())
        except zlib.error as error:
            raise unfit(self._owner, path, f"is not packed as {self._compression}, or damaged: {error}") from None
        if not inflate.eof:
            raise unfit(self._owner, path, f"is cut off: what {self._compression} has packed has no end")
        return made

    def _open(self, path: Path) -> IO[bytes]:
        try:
            return open(path, "rb")
        except OSError as error:
            raise unfit(self._owner, path, f"cannot be read: {error.strerror}") from error


def framed(data: bytes) -> bytes:
    """Data as a record."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, struct.pack("<I", masked(crc32c(length))), data, struct.pack("<I", masked(crc32c(data)))))
