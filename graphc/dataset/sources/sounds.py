"""Samples of sounds: WAV files by Python's reader, and NIST's SPHERE files that are not packed."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset.sources.files import unfit
from graphc.dataset.sources.listed import Read

Array = np.ndarray[Any, np.dtype[Any]]

#: What the largest of 16 bits becomes 1 by.
_LARGEST = np.float32(32767)
_NIST = b"NIST_1A\n"


def _opened(owner: str, path: Path) -> wave.Wave_read:
    try:
        return wave.open(str(path), "rb")
    except (wave.Error, EOFError) as error:
        raise unfit(owner, path, f"is no WAV file that can be read: {error or 'it is cut off'}") from error


def read_wav(owner: str, path: Path) -> tuple[Array, int]:
    """float32 [1, n] from -1 to 1, and samples a second, of a WAV file of one channel of 16 bits. DataError for another one."""
    with _opened(owner, path) as file:
        kind = (file.getnchannels(), file.getsampwidth())
        rate, count = file.getframerate(), file.getnframes()
        data = file.readframes(count)
    if kind != (1, 2):
        raise unfit(owner, path, f"has {kind[0]} channels of {8 * kind[1]} bits; one of 16 is read")
    if len(data) != 2 * count:
        raise unfit(owner, path, f"is cut off: it has {len(data) // 2} of {count} samples")
    return (np.frombuffer(data, "<i2").astype(np.float32) / _LARGEST)[None], rate


def sphere_head(owner: str, path: Path) -> dict[str, str]:
    """The fields of the head of a SPHERE file, and "size", its bytes. DataError for another file."""
    try:
        with open(path, "rb") as file:
            begin = file.read(16)
            if not begin.startswith(_NIST) or not begin[8:].strip().isdigit():
                raise unfit(owner, path, "is no file of NIST's")
            size = int(begin[8:])
            lines = file.read(max(size - 16, 0)).decode("latin-1").split("end_head")[0].split("\n")
    except OSError as error:
        raise unfit(owner, path, f"cannot be read: {error.strerror}") from error
    fields = {words[0]: words[2] for line in lines if len(words := line.split(maxsplit=2)) == 3}
    return {**fields, "size": str(size)}


def read_sphere(owner: str, path: Path, start: float, end: float) -> tuple[Array, int]:
    """float32 [1, n] from -1 to 1, and samples a second, of what is between two seconds in a SPHERE file of one channel of 16
    bits. DataError for another one.
    """
    head = sphere_head(owner, path)
    known = {"channel_count": "1", "sample_n_bytes": "2", "sample_coding": "pcm"}
    other = next((name for name, value in known.items() if head.get(name, value) != value), None)
    order = {"10": ">i2", "01": "<i2"}.get(head.get("sample_byte_format", "10"))
    if other is not None or order is None or not head.get("sample_rate", "").isdigit():
        name = other or "sample_byte_format"
        raise unfit(owner, path, f"has {name} {head.get(name)}; one channel of 16 bits that are not packed is read")
    rate = int(head["sample_rate"])
    first, last = int(start * rate), int(end * rate)
    data = np.fromfile(path, order, max(last - first, 0), offset=int(head["size"]) + 2 * first)
    if len(data) < last - first:
        raise unfit(owner, path, f"ends before {end} s")
    return (data.astype(np.float32) / _LARGEST)[None], rate


class Sounds(Read):
    """Sounds in WAV files. rate: how many samples a second there must be, if that is known."""

    def __init__(self, owner: str, paths: list[Path], rate: int | None = None) -> None:
        self.owner, self.paths, self.rate = owner, paths, rate

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, i: int) -> str:
        return self.paths[i].name

    def value(self, i: int) -> Array:
        samples, rate = read_wav(self.owner, self.paths[i])
        if self.rate is not None and rate != self.rate:
            raise unfit(self.owner, self.paths[i], f"has {rate} samples a second, not {self.rate}")
        return samples


class Rates(Sounds):
    """How many samples a second WAV files have, int32."""

    def value(self, i: int) -> Array:
        with _opened(self.owner, self.paths[i]) as file:
            return np.array(file.getframerate(), np.int32)
