"""Columns in few characters. The page's script (script/data.js) reads what these write."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any


def indexed(values: Iterable[Hashable]) -> dict[str, Any]:
    """{"t": the distinct values, "k": for each value its place among them}."""
    places: dict[Hashable, int] = {}
    keys = [places.setdefault(v, len(places)) for v in values]
    return {"t": list(places), "k": keys}


def deltas(values: Iterable[int]) -> list[int]:
    """The first number, then what each adds to the one before."""
    found, before = [], 0
    for value in values:
        found.append(value - before)
        before = value
    return found


def ragged(rows: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    """{"n": how many numbers each row has, "v": all of them, as deltas}."""
    return {"n": [len(row) for row in rows], "v": deltas(v for row in rows for v in row)}


def aligned(rows: Sequence[Sequence[int]], bases: Sequence[int]) -> dict[str, list[int]]:
    """{"n": how many numbers each row has, "v": how far each is from the base of its row}: operands are mostly near."""
    return {
        "n": [len(row) for row in rows],
        "v": [base - v for row, base in zip(rows, bases, strict=True) for v in row],
    }


def digits(values: Iterable[float], count: int = 4) -> list[float]:
    """Numbers with so many significant digits, whole ones without a point."""
    found = [float(f"{v:.{count}g}") for v in values]
    return [int(v) if v == int(v) else v for v in found]
