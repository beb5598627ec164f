"""CRC-32C (Castagnoli, 1993: polynomial 0x1EDC6F41, reflected), as TFRecord files have it, masked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_POLYNOMIAL, _ALL = 0x82F63B78, 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
#: Bytes whose share in the CRC is looked up at once.
_PIECE = 1024
#: Pieces that are looked up at a time: what that takes stays near the processor.
_AT_ONCE = 64


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


@cache
def _carried() -> list[list[int]]:
    """[4][256]: what a byte of a CRC becomes after a piece of zeros, by the place of the byte."""
    table: list[list[int]] = _placewise()[: 4 * 256].reshape(4, 256).tolist()
    return table


def crc32c(data: bytes | memoryview) -> int:
    """The CRC of bytes."""
    return crcs([data])[0]


def crcs(parts: Sequence[bytes | memoryview]) -> list[int]:
    """The CRC of each of some bytes. What each byte makes of it is looked up by its place, in pieces, many at once."""
    long = [data for data in parts if len(data) >= 4]
    of_first, of_others = _first_pieces(long), iter(_whole_pieces(long))
    first, second, third, fourth = _carried()
    made = []
    for data, crc in zip(long, of_first, strict=True):
        for _ in range(len(data) // _PIECE):
            crc = first[crc & 0xFF] ^ second[crc >> 8 & 0xFF] ^ third[crc >> 16 & 0xFF] ^ fourth[crc >> 24]
            crc ^= next(of_others)
        made.append(crc ^ _ALL)
    found = iter(made)
    return [next(found) if len(data) >= 4 else _short(data) for data in parts]


def _begun(data: bytes | memoryview) -> bytes:
    """A CRC begins with ones: the first four bytes have them instead."""
    return bytes(byte ^ 0xFF for byte in data[:4])


def _first_pieces(parts: Sequence[bytes | memoryview]) -> list[int]:
    """Of each the CRC, from 0 on, of the bytes before the whole pieces."""
    sizes = np.array([len(data) % _PIECE for data in parts], np.int64)
    if not sizes.any():
        return [0] * len(parts)
    heads = [(_begun(data) + data[4:size])[:size] for data, size in zip(parts, sizes.tolist(), strict=True)]
    places = np.concatenate([_places()[_PIECE - size :] for size in sizes.tolist()])
    looked_up = _placewise()[places + np.frombuffer(b"".join(heads), np.uint8)]
    made = np.zeros(len(parts), np.uint32)
    there = np.flatnonzero(sizes)
    made[there] = np.bitwise_xor.reduceat(looked_up, (np.cumsum(sizes) - sizes)[there])
    found: list[int] = made.tolist()
    return found


def _whole_pieces(parts: Sequence[bytes | memoryview]) -> list[int]:
    """The CRC, from 0 on, of each whole piece."""
    made: list[int] = []
    for data in parts:
        rest = len(data) % _PIECE
        pieces = np.frombuffer(data, np.uint8)[rest:].reshape(-1, _PIECE)
        if rest < 4 and len(pieces):
            pieces = pieces.copy()
            pieces[0, : 4 - rest] ^= 0xFF
        for begin in range(0, len(pieces), _AT_ONCE):
            looked_up = _placewise()[_places() + pieces[begin : begin + _AT_ONCE]]
            made += np.bitwise_xor.reduce(looked_up, axis=1).tolist()
    return made


def _short(data: bytes | memoryview) -> int:
    crc, table = _ALL, _bytewise()
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
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
