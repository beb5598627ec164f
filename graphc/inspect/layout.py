"""Text laid out: tables, and lines that fit a terminal, whatever scripts the names are written in."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

#: What stands for what was cut off.
_CUT = "..."
#: A column that may be cut keeps so many cells at least.
_LEAST = 12


def cells(text: str) -> int:
    """How many cells of a terminal a text takes: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def cut(text: str, width: int, *, front: bool = False) -> str:
    """A text of at most so many cells; what does not fit is cut off, with `front` at its beginning."""
    if cells(text) <= width:
        return text
    kept, size = "", len(_CUT)
    for c in reversed(text) if front else text:
        size += cells(c)
        if size > width:
            break
        kept = c + kept if front else kept + c
    return _CUT[: max(width, 0)] + kept if front else kept + _CUT[: max(width, 0)]


def padded(text: str, width: int, *, right: bool = False) -> str:
    """A text of just so many cells, if it is not longer."""
    space = " " * max(width - cells(text), 0)
    return space + text if right else text + space


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, left: Iterable[int] = (0,), width: int | None = None
) -> list[str]:
    """Lines of a table. Columns `left` are aligned to the left; where the lines would be longer than `width` these are cut,
    the widest first.
    """
    all_rows = [list(head), *map(list, rows)]
    sizes = [max(cells(row[k]) for row in all_rows) for k in range(len(head))]
    aligned = sorted(set(left))
    while width is not None and sum(sizes) + 2 * (len(sizes) - 1) > width:
        widest = max(aligned, key=lambda k: sizes[k])
        if sizes[widest] <= _LEAST:
            break
        sizes[widest] -= 1
    lines = []
    for row in all_rows:
        made = [
            padded(cut(text, size), size, right=k not in aligned)
            for k, (text, size) in enumerate(zip(row, sizes, strict=True))
        ]
        lines.append("  ".join(made).rstrip())
    return lines


def folded(text: str, width: int) -> str:
    """The lines of a text folded at spaces where they are longer than `width`; what goes on is indented by eight more."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        rest, limit = line, width
        while cells(rest) > limit:
            room = _fitting(rest, limit)
            at = rest.rfind(" ", len(rest) - len(rest.lstrip()) + 1, room + 1)
            if at <= 0:
                at = rest.find(" ", room)
                if at < 0:
                    break
            lines.append(rest[:at].rstrip())
            rest = indent[: width // 2] + " " * 8 + rest[at:].lstrip()
        lines.append(rest)
    return "\n".join(lines)


def _fitting(text: str, width: int) -> int:
    """How many characters of a text fit."""
    size = 0
    for k, c in enumerate(text):
        size += cells(c)
        if size > width:
            return k
    return len(text)


def in_bytes(count: float) -> str:
    """A number of bytes for people: 1.5 MB."""
    for unit in ("B", "kB", "MB"):
        if abs(count) < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"
