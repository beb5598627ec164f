"""How long each buffer lives: from its first to its last use, in numbered statements.

A call has one number, a branch or loop one at its beginning and one at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from graphc.lower.statements import touched
from graphc_codegen.program import Call, For, Stmt, While, blocks, predicates


@dataclass(slots=True)
class Lives:
    """Numbers of the first and last statement that uses a buffer."""

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)


class _Span(NamedTuple):
    """Numbers of the beginning and the end of a branch or loop, whether that is a loop, and the buffers used inside."""

    begin: int
    end: int
    turns: bool
    inside: set[int]


def lives(body: Sequence[Stmt], results: Iterable[int]) -> Lives:
    """Lifetimes of all buffers; `results` are read after the end."""
    found = Lives()
    spans: list[_Span] = []
    position = _walk(body, 0, found, spans, {})
    for begin, end, turns, inside in spans:  # Inner ones come first.
        for buffer in inside:
            first, last = found.first[buffer], found.last[buffer]
            if begin < first < end < last:
                # Written by whichever branch runs, or by every turn: nobody else may have the memory in any of them.
                found.first[buffer] = begin
            elif turns and first <= begin < last < end:
                found.last[buffer] = end  # The next turn uses it again.
    for buffer in results:
        _use(found, buffer, position + 1)
    return found


def _walk(body: Sequence[Stmt], position: int, found: Lives, spans: list[_Span], windows: dict[int, int]) -> int:
    """Note the uses of a body that follows statement `position`; returns the number of its last statement.

    A use of a window, of those in `windows`, is one of the buffer in which it lies.
    """
    for stmt in body:
        position += 1
        if isinstance(stmt, Call):
            for buffer in stmt.args:
                _use(found, windows.get(buffer, buffer), position)
            continue
        begin = position
        for pred in predicates(stmt):
            _use(found, windows.get(pred, pred), begin)
        inner = windows
        if isinstance(stmt, For):
            inner = windows | {w.buffer: windows.get(w.within, w.within) for w in stmt.windows}
            for w in stmt.windows:
                _use(found, inner[w.buffer], begin)
        for block in blocks(stmt):
            position = _walk(block, position, found, spans, inner)
        position += 1
        if isinstance(stmt, For):  # Windows that no turn uses have a place, too.
            for w in stmt.windows:
                _use(found, inner[w.buffer], position)
        if isinstance(stmt, While):
            _use(found, stmt.pred, position)
        inside = {windows.get(b, b) for b in touched(stmt)}
        spans.append(_Span(begin, position, isinstance(stmt, (While, For)), inside))
    return position


def _use(found: Lives, buffer: int, position: int) -> None:
    found.first.setdefault(buffer, position)
    found.last[buffer] = position


def mark_dead(body: Sequence[Stmt], found: Lives, arena: set[int]) -> tuple[Stmt, ...]:
    """The statements, each with the buffers of the arena that nobody uses after it."""
    ends: dict[int, list[int]] = {}
    for buffer, position in found.last.items():
        if buffer in arena:
            ends.setdefault(position, []).append(buffer)
    position = 0

    def mark(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        nonlocal position
        marked: list[Stmt] = []
        for stmt in body:
            position += 1
            dead = ends.get(position, [])
            if isinstance(stmt, Call):
                gone = tuple(dead)
                marked.append(
                    stmt if gone == stmt.dead else Call(stmt.kernel, stmt.args, stmt.note, gone, stmt.wait, stmt.nodes)
                )
                continue
            inner = [mark(block) for block in blocks(stmt)]
            position += 1
            gone = (*dead, *ends.get(position, []))
            if isinstance(stmt, For):
                marked.append(replace(stmt, body=inner[0], dead=gone))
            elif isinstance(stmt, While):
                marked.append(replace(stmt, condition=inner[0], body=inner[1], dead=gone))
            else:
                marked.append(replace(stmt, then=inner[0], orelse=inner[1], dead=gone))
        return tuple(marked)

    return mark(body)
