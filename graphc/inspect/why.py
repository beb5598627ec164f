"""Where a node comes from and where it goes: back through the passes to the user's lines, forward to the generated code."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphc.errors import ArgumentValueError
from graphc.inspect.document import BufferRow, CallRow, NodeRow, Record, Rewrite, document
from graphc.inspect.flow import shown
from graphc.inspect.layout import in_bytes

#: Entries of a node's history, calls and frames that are shown, and ids of a list.
_ENTRIES, _IDS = 12, 6


@dataclass(frozen=True)
class Why:
    """What is known of a node.

    node     its row; None for one that a pass has removed
    text     its line of the text form; "" for one that is gone
    back     what made it, and that of what it was made from, the latest first
    forward  what has become of it since
    calls    what computes it in the step; `buffers` what holds it
    source   line of step.py by number, as far as the text of step.py is at hand
    """

    id: int
    node: NodeRow | None
    text: str
    back: tuple[Rewrite, ...]
    forward: tuple[Rewrite, ...]
    calls: tuple[CallRow, ...]
    buffers: tuple[BufferRow, ...]
    source: Mapping[int, str]


def find_node(record: Record, reference: str) -> int:
    """The id that "%12", "12" or the name of a value means; a node may be gone. Raises ArgumentValueError for anything else."""
    digits = reference.removeprefix("%")
    if digits.isascii() and digits.isdigit():
        id = int(digits)
        known = {n.id for n in record.nodes}
        if id in known or any(id in (*row.from_, *row.to) for row in record.history) or _in_passes(record, id):
            return id
        raise ArgumentValueError(f"there is, and was, no node %{id} in graph @{shown(record.name)}")
    # What a subgraph takes has the name of the value outside.
    named = [n.id for n in record.nodes if n.name == reference and not (n.graph and n.op == "Input")]
    if len(named) != 1:
        what = f"{len(named)} nodes are" if named else "no node is"
        raise ArgumentValueError(
            f"{what} called {reference!r} in graph @{shown(record.name)}",
            help=f"name one by its id: {_ids(named)}" if named else None,
        )
    return named[0]


def _in_passes(record: Record, id: int) -> bool:
    return any(id in row.removed or id in row.added for row in record.passes)


def why(record: Record, id: int, source: str = "") -> Why:
    """What is known of a node; `source` is the text of step.py."""
    node = next((n for n in record.nodes if n.id == id), None)
    lines = source.split("\n")
    calls = tuple(c for c in record.calls if id in c.nodes)
    values = {f"%{id}", *(f"%{id}#{k}" for k in range(1, len(node.types) if node else 0))}
    return Why(
        id=id,
        node=node,
        text=_line(record, id) if node else "",
        back=_back(record.history, id),
        forward=tuple(row for row in record.history if id in row.from_ and id not in row.to),
        calls=calls,
        buffers=tuple(b for b in record.buffers if values & set(b.values)),
        source={
            c.line: lines[c.line - 1].strip() for c in calls if c.line and c.line <= len(lines) and lines[c.line - 1]
        },
    )


def _line(record: Record, id: int) -> str:
    start = f"%{id}"
    for line in record.text.split("\n"):
        text = line.strip()
        if text.startswith(start) and text[len(start) : len(start) + 1] in (":", " "):
            return text
    return ""


def _back(history: Sequence[Rewrite], id: int) -> tuple[Rewrite, ...]:
    """The rules that made a node, then those that made what it was made from, the latest first."""
    wanted, found = {id}, []
    for row in reversed(history):
        if wanted & set(row.to) and not set(row.from_) & {id}:
            found.append(row)
            wanted |= set(row.from_)
    return tuple(found)


def why_text(record: Record, about: Why) -> str:
    """All of it as lines: what it is, where it comes from, what has become of it, where it is computed."""
    lines = [about.text or f"%{about.id} is gone: no node of the compiled graph"]
    if about.node is not None:
        lines += _made(record, about.node)
    lines += _history("comes from", about.back)
    lines += _history("then", about.forward)
    if about.node is not None:
        lines += _generated(record, about)
    return "\n".join(lines)


def _made(record: Record, node: NodeRow) -> list[str]:
    cell = record.cells[node.cell]
    lines = []
    if cell.path or cell.class_:
        kind = f" ({cell.class_})" if cell.class_ else ""
        lines.append(f"  Cell       {shown(cell.path) if cell.path else 'the outermost'}{kind}")
    if node.param:
        lines.append(f"  parameter  {shown(node.param)}")
    for k, index in enumerate(node.locs[:_ENTRIES]):
        lines.append(f"  {'made at' if not k else 'called at':<9}  {_place(record, index)}")
    if node.fwd is not None:
        forward = next((n for n in record.nodes if n.id == node.fwd), None)
        what = _line(record, node.fwd) if forward is not None else "which is gone"
        lines.append(f"  gradient of %{node.fwd}: {what}")
    return lines


def _place(record: Record, index: int) -> str:
    """A line of the user's, with its text where the file is at hand."""
    at = record.locs[index]
    file = record.files[at.file]
    code = linecache.getline(file, at.line).strip()
    return f"{file}:{at.line}{f'  {code}' if code else ''}"


def _history(title: str, rows: Sequence[Rewrite]) -> list[str]:
    lines = []
    for k, row in enumerate(rows[:_ENTRIES]):
        rule = f":{shown(row.rule)}" if row.rule else ""
        made = f"made {_ids(row.to)}" if row.to else "gone"
        lines.append(
            f"  {title if not k else '':<10} {shown(row.pass_)}{rule}: {_ids(row.from_) or 'nothing'} -> {made}"
        )
    if len(rows) > _ENTRIES:
        lines.append(f"  {'':<10} and {len(rows) - _ENTRIES} more")
    return lines


def _ids(ids: Sequence[int]) -> str:
    more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
    return " ".join(f"%{id}" for id in ids[:_IDS]) + more


def _generated(record: Record, about: Why) -> list[str]:
    lines = []
    for call in about.calls[:_ENTRIES]:
        where = f"step.py:{call.line}" if call.line else "step.py"
        branch = "".join(f" in {arm} of %{id}" for id, arm in reversed(call.branch))
        others = [id for id in call.nodes if id != about.id]
        beside = f", with {_ids(others)}" if others else ""
        lines.append(f"  computed   call {call.index} of {len(record.calls)}{branch}: {call.kernel}{beside}")
        code = about.source.get(call.line or 0, "")
        lines.append(f"  {'':<10} {where}{f'  {code}' if code else ''}")
    if record.calls and not about.calls:
        lines.append(
            "  computed   by no kernel of its own: it is memory of another value, a constant, or part of control flow"
        )
    for b in about.buffers[:_ENTRIES]:
        place = f"arena at {b.offset}" if b.offset is not None else b.space
        lines.append(
            f"  held in    buffer {b.id}: {b.type}, {in_bytes(b.bytes)}, {b.class_}, {place}, calls {b.first} to {b.last}"
        )
    return lines


def why_json(record: Record, about: Why) -> dict[str, Any]:
    """The same as plain data."""
    node = about.node
    found = {
        "id": about.id,
        "text": about.text or None,
        "cell": record.cells[node.cell].path if node else None,
        "class": record.cells[node.cell].class_ if node else None,
        "param": node.param if node else None,
        "locs": [
            {"file": record.files[at.file], "line": at.line} for at in (record.locs[i] for i in (node.locs if node else ()))
        ],
        "fwd": node.fwd if node else None,
        "back": [_row(row) for row in about.back],
        "forward": [_row(row) for row in about.forward],
        "calls": [_call(about, c) for c in about.calls],
        "buffers": [b.id for b in about.buffers],
    }  # fmt: skip
    return document(why=found)


def _call(about: Why, call: CallRow) -> dict[str, Any]:
    code = about.source.get(call.line or 0)
    return {"index": call.index, "kernel": call.kernel, "line": call.line, "source": code, "nodes": list(call.nodes)}


def _row(row: Rewrite) -> dict[str, Any]:
    return {"pass": row.pass_, "rule": row.rule, "from": list(row.from_), "to": list(row.to)}


# ---- the schedule


def schedule_text(record: Record, chosen: Sequence[CallRow]) -> str:
    """Calls of a step, in the order in which they run."""
    nodes = {n.id: n for n in record.nodes}
    lines = [f"# {len(chosen)} of {len(record.calls)} calls of {shown(record.name)}, in the order in which they run"]
    branch: tuple[tuple[int, str], ...] = ()
    for call in chosen:
        if call.branch != branch:
            branch = call.branch
            if branch:
                lines.append("  " * len(branch) + " ".join(f"in {arm} of %{id}" for id, arm in reversed(branch)))
        ops = ", ".join(f"%{id} {nodes[id].op}" for id in call.nodes)
        line = f"  step.py:{call.line}" if call.line else ""
        shared = f" on {call.threads} threads" if call.threads > 1 else ""
        lines.append(
            f"  {'  ' * len(branch)}{call.index:>4}  {call.kernel}{shared}: {ops}"
            f"  ; reads {_buffers(call.reads)} writes {_buffers(call.writes)}{line}"
        )
    return "\n".join(lines)


def _buffers(ids: Sequence[int]) -> str:
    return ",".join(f"b{id}" for id in ids) or "nothing"
