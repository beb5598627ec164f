"""CRC-32C (Castagnoli, 1993: polynomial 0x1EDC6F41, reflected), as TFRecord files have it, masked."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_POLYNOMIAL, _ALL = 0x82F63B78, 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
#: Bytes whose share in the CRC is looked up at once.
_PIECE = 1024


@cache
def _bytewise() -> list[int]:
    """[256]: what a byte makes of a CRC of 0."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    return list(map(int, table))


@cache
def _placewise() -> Array:
    """uint32 [_PIECE * 256]: what a byte at a place of a piece makes of a CRC of 0 at the piece's end."""
    step = np.array(_bytewise(), np.uint32)
    table = np.empty((_PIECE, 256), np.uint32)
    table[-1] = step
    for place in range(_PIECE - 2, -1, -1):
        after = table[place + 1]
        table[place] = (after >> np.uint32(8)) ^ step[after & np.uint32(0xFF)]
    return table.reshape(-1)


@cache
def _places() -> Array:
    return np.arange(_PIECE) * 256


def crc32c(data: bytes | memoryview) -> int:
    """The CRC of bytes."""
    crc, whole = _ALL, len(data) - len(data) % _PIECE
    if whole:
        table = _placewise()
        values = np.frombuffer(data, np.uint8, whole).reshape(-1, _PIECE)
        # A CRC so far goes into the first four bytes of the piece.
        first = table[: 4 * 256].reshape(4, 256)
        for piece in values:
            carried = int(
                first[0, crc & 0xFF] ^ first[1, crc >> 8 & 0xFF] ^ first[2, crc >> 16 & 0xFF] ^ first[3, crc >> 24]
            )
            crc = carried ^ int(np.bitwise_xor.reduce(table[_places() + piece]))
    table_of_one = _bytewise()
    for byte in data[whole:]:
        crc = crc >> 8 ^ table_of_one[(crc ^ byte) & 0xFF]
    return crc ^ _ALL


def masked(crc: int) -> int:
    """A CRC as it is stored: turned by 15 bits, and a number added."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & _ALL


def masked_of_lengths(lengths: Array) -> Array:
    """uint32 like `lengths` [n]: the masked CRCs of uint64 numbers of 8 bytes, little endian."""
    table = np.array(_bytewise(), np.uint32)
    crc = np.full(len(lengths), _ALL, np.uint32)
    for byte in np.ascontiguousarray(lengths, "<u8").view(np.uint8).reshape(-1, 8).T:
        crc = (crc >> np.uint32(8)) ^ table[(crc ^ byte) & np.uint32(0xFF)]
    crc ^= np.uint32(_ALL)
    turned = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    return turned + np.uint32(_MASK_DELTA)
