"""Memory of a step from its record: what is alive when, of which class and Cell; the plan is known before the first step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from graphc.inspect.document import BufferRow, Record, document
from graphc.inspect.flow import shown
from graphc.inspect.layout import in_bytes, table

#: Buffers and Cells that are listed.
_ROWS = 15
#: Lines of the timeline's bars, and how many columns it has if nothing is said.
_HEIGHT, _COLUMNS = 5, 72
_BARS = " ▁▂▃▄▅▆▇█"


def alive_at(record: Record, call: int) -> list[BufferRow]:
    """The buffers of the arena that are alive at a call, the largest first."""
    found = [b for b in record.buffers if b.space == "arena" and b.first <= call <= b.last]
    return sorted(found, key=lambda b: (-b.bytes, b.id))


def timeline(record: Record) -> list[int]:
    """Bytes of the arena that are alive at each call."""
    change = [0] * (len(record.calls) + 1)
    for b in record.buffers:
        if b.space == "arena":
            change[b.first] += b.bytes
            change[b.last + 1] -= b.bytes
    alive: list[int] = []
    for step in change[: len(record.calls)]:
        alive.append((alive[-1] if alive else 0) + step)
    return alive


def sums(record: Record, buffers: list[BufferRow]) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes of buffers by class, and by the Cell of the node that made what they hold first; most first."""
    nodes = {n.id: n for n in record.nodes}
    classes: defaultdict[str, int] = defaultdict(int)
    cells: defaultdict[str, int] = defaultdict(int)
    for b in buffers:
        classes[b.class_] += b.bytes
        cells[_cell(record, b, nodes)] += b.bytes
    return _ranked(classes), _ranked(cells)


def _ranked(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _cell(record: Record, buffer: BufferRow, nodes: Mapping[int, Any]) -> str:
    node = _maker(buffer, nodes)
    return "" if node is None else record.cells[node.cell].path


def _maker(buffer: BufferRow, nodes: Mapping[int, Any]) -> Any:
    ids = [int(v[1:].partition("#")[0]) for v in buffer.values]
    return next((nodes[id] for id in ids if id in nodes), None)


def _about(record: Record, buffer: BufferRow, nodes: Mapping[int, Any]) -> str:
    """Which node made what a buffer holds, where."""
    node = _maker(buffer, nodes)
    if node is None:
        return buffer.name and shown(buffer.name)
    line = record.locs[node.locs[0]] if node.locs else None
    where = f" @ {record.files[line.file]}:{line.line}" if line else ""
    path = record.cells[node.cell].path
    return f"%{node.id} {node.op}{f' in {shown(path)}' if path else ''}{where}"


def memory_text(
    record: Record,
    rss: Mapping[str, int] | None = None,
    *,
    width: int | None = None,
    call: int | None = None,
    rows: int = _ROWS,
) -> str:
    """Sizes, the timeline, and what is alive at the peak, or at a call. `rss`: bytes of the process that were measured."""
    m, nodes = record.memory, {n.id: n for n in record.nodes}
    at = m.peak_call if call is None else call
    lines = [f"{shown(record.name)}: {in_bytes(_total(record))} in all"]
    sizes = [
        ("parameters", m.parameters, "trainable"),
        ("state", m.state, "of the optimizer and others"),
        ("arena", m.arena, f"what the step computes; at most {in_bytes(m.peak)} of it is alive at once"),
        ("constants", m.constants, ""),
        ("inputs", m.inputs, "one batch, the caller's"),
    ]
    lines += table(
        ["", "bytes", ""], [[what, in_bytes(size), why] for what, size, why in sizes], left=(0, 2), width=width
    )[1:]
    if rss:
        lines.append("process: " + ", ".join(f"{in_bytes(size)} {what}" for what, size in rss.items()))
    if at is None:
        return "\n".join([*lines, "", "nothing of the arena is used"])
    lines += ["", *_bars(record, at, (width or _COLUMNS + 12) - 12)]
    alive = alive_at(record, at)
    classes, cells = sums(record, alive)
    whole = sum(b.bytes for b in alive) or 1
    peak = " (the peak)" if at == m.peak_call else ""
    there = f"alive at call {at} of {len(record.calls)}{peak}: {in_bytes(whole)} in {len(alive)} buffers"
    lines += ["", there, ""]
    for what, found in (("class", classes), ("Cell", dict(list(cells.items())[:rows]))):
        listed = [[shown(c) if c else "-", in_bytes(n), f"{n / whole:.1%}"] for c, n in found.items()]
        lines += [*table([what, "bytes", "share"], listed, width=width), ""]
    made = [
        [str(b.id), in_bytes(b.bytes), b.class_, b.type, f"{b.first}-{b.last}", _about(record, b, nodes)]
        for b in alive[:rows]
    ]
    head = ["buffer", "bytes", "class", "type", "calls", "made by"]
    lines += table(head, made, left=(2, 3, 5), width=width)
    if len(alive) > rows:
        lines.append(f"and {len(alive) - rows} more, {in_bytes(sum(b.bytes for b in alive[rows:]))}")
    return "\n".join(lines)


def _total(record: Record) -> int:
    m = record.memory
    return m.parameters + m.state + m.arena + m.constants + m.inputs


def _bars(record: Record, at: int, columns: int) -> list[str]:
    """Bytes alive over the calls as bars; each column has the most of its calls."""
    alive = timeline(record)
    columns = max(1, min(columns, len(alive)))
    edges = [k * len(alive) // columns for k in range(columns + 1)]
    tops = [max(alive[a:b] or [0]) for a, b in pairwise(edges)]
    most = max(tops) or 1
    lines = []
    for row in reversed(range(_HEIGHT)):
        levels = [min(max(top / most * _HEIGHT - row, 0.0), 1.0) for top in tops]
        label = in_bytes(most) if row == _HEIGHT - 1 else ""
        lines.append(f"{label:>10} {''.join(_BARS[round(8 * level)] for level in levels)}".rstrip())
    mark = next(k for k in range(columns) if edges[k] <= at < max(edges[k + 1], edges[k] + 1))
    return [*lines, f"{'calls':>10} {'0'.ljust(mark) if mark else ''}^{at}"]


def memory_json(record: Record, rss: Mapping[str, int] | None = None, *, call: int | None = None) -> dict[str, Any]:
    """The same as plain data."""
    at = record.memory.peak_call if call is None else call
    alive = [] if at is None else alive_at(record, at)
    classes, cells = sums(record, alive)
    sections = record.to_document()
    return document(
        name=record.name,
        memory=sections["memory"],
        process=dict(rss) if rss else None,
        buffers=sections["buffers"],
        alive={
            "timeline": timeline(record),
            "call": at,
            "bytes": sum(b.bytes for b in alive),
            "classes": classes,
            "cells": cells,
            "buffers": [b.id for b in alive],
        },
    )
