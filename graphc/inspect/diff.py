"""Differences of two programs: node by node by id where they are versions of one program, as after two passes; else of two
compiles, aligned by Cell, op and occurrence, and summed up: other sizes, Cells that came or went, nodes that were rewired.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from graphc.grammar import REGIONS, STRING, quoted
from graphc.inspect.align import Alignment, same_ids
from graphc.inspect.flow import shown
from graphc.inspect.listing import Line, Listing

#: What may differ in a node that has its counterpart. "numbers": attributes that differ in numbers only, such as shapes.
ASPECTS = ("types", "numbers", "attributes", "operands", "order", "place")
_NUMBER = re.compile(rf"{STRING}|#[0-9a-f]{{16}}|(?<![\w.])-?\d[\d.]*(?:e[+-]?\d+)?|\b(?:inf|nan)\b")


class Change(NamedTuple):
    """A node that both have. `rewired`: what it reads differs only by nodes that the other one lacks."""

    before: Line
    after: Line
    aspects: tuple[str, ...]
    rewired: bool


class CellChange(NamedTuple):
    """A Cell that only one of the two has: all nodes made in it, their gradients, and the updates of its `parameters`."""

    path: str
    kind: str
    nodes: tuple[Line, ...]
    parameters: tuple[str, ...]


@dataclass
class Diff:
    """What must change in one program to become the other.

    added, removed   nodes that only one has, of `inserted` and `deleted` Cells among them
    structure        what differs besides nodes: results, updates, signature
    remarks          how many nodes differ in name, scope, location, region or origin only; they are no difference
    sizes            (before, after) of dimensions that differ, most frequent first
    batch            (before, after) of the first dimension of inputs, if that is what differs in them
    """

    added: dict[int, Line] = field(default_factory=dict)
    removed: dict[int, Line] = field(default_factory=dict)
    changed: list[Change] = field(default_factory=list)
    structure: list[tuple[str, str]] = field(default_factory=list)
    inserted: list[CellChange] = field(default_factory=list)
    deleted: list[CellChange] = field(default_factory=list)
    remarks: int = 0
    sizes: list[tuple[int, int]] = field(default_factory=list)
    batch: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.removed or self.changed or self.structure)

    @property
    def same_structure(self) -> bool:
        """Whether only types, and numbers in attributes, differ."""
        return not (self.added or self.removed or self.structure) and all(
            set(c.aspects) <= {"types", "numbers"} for c in self.changed
        )

    def to_json(self) -> dict[str, Any]:
        cells = {"inserted": self.inserted, "deleted": self.deleted}
        return {
            "different": bool(self),
            "structure_equal": self.same_structure,
            "batch": self.batch,
            "sizes": self.sizes,
            **{
                name: [
                    {"cell": c.path, "class": c.kind, "nodes": [n.id for n in c.nodes], "parameters": list(c.parameters)}
                    for c in changes
                ]
                for name, changes in cells.items()
            },
            "added": {f"%{i}": line.text for i, line in self.added.items()},
            "removed": {f"%{i}": line.text for i, line in self.removed.items()},
            "changed": {
                f"%{c.before.id}": {
                    "before": c.before.text, "after": c.after.text, "what": list(c.aspects), "rewired": c.rewired
                }
                for c in self.changed
            },
            "structure": [{"before": a, "after": b} for a, b in self.structure],
            "remarks": self.remarks,
        }  # fmt: skip


def compare(
    a: Listing,
    b: Listing,
    *,
    by_id: bool | None = None,
    classes: tuple[Mapping[str, str], Mapping[str, str]] = (MappingProxyType({}), MappingProxyType({})),
) -> Diff:
    """What must change in `a` to become `b`, subgraphs included. `classes`: of both, the class by Cell path, if known.

    by_id: whether ids mean the same in both; by default that is seen from the nodes.
    """
    diff = Diff()
    by_id = same_ids(a, b) if by_id is None else by_id
    pairs = Alignment(a, b, by_id=by_id)
    back = {y: x for x, y in pairs.nodes.items()}
    diff.removed = {line.id: line for line in a if line.id not in pairs.nodes}
    diff.added = {line.id: line for line in b if line.id not in back}
    for x, y in pairs.nodes.items():
        aspects = _aspects(a[x], b[y], pairs.nodes)
        if aspects:
            diff.changed.append(Change(a[x], b[y], aspects, _rewired(a[x], b[y], aspects, diff, pairs.nodes)))
        else:
            diff.remarks += _said(a[x]) != _said(b[y])
    ends = _ends(a, pairs.nodes), _ends(b, None)
    for key in sorted(ends[0].keys() | ends[1].keys()):
        before, after = (f"{key} {e[key]}" if key in e else "" for e in ends)
        if ends[0].get(key) != ends[1].get(key):
            diff.structure.append((before, after))
    if not by_id:
        known = set(pairs.cells), set(pairs.cells.values())
        diff.deleted = _cells(a, diff.removed, known[0], pairs.owner_a, classes[0])
        diff.inserted = _cells(b, diff.added, known[1], pairs.owner_b, classes[1])
    _measure(diff)
    return diff


def _aspects(x: Line, y: Line, nodes: Mapping[int, int]) -> tuple[str, ...]:
    """In what a node and its counterpart differ."""
    blank = _NUMBER.sub(_blank, x.attrs) == _NUMBER.sub(_blank, y.attrs)
    found = {
        "types": x.types != y.types,
        "numbers": x.attrs != y.attrs and blank,
        "attributes": x.attrs != y.attrs and not blank,
        "operands": x.op != y.op or [(nodes.get(n), s) for n, s in x.inputs] != [(n, s) for n, s in y.inputs],
        "order": {nodes.get(n) for n in x.after} != set(y.after),
        "place": [(nodes.get(n), attr) for n, attr in x.path] != list(y.path),
    }
    return tuple(aspect for aspect in ASPECTS if found[aspect])


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else "#"


def _rewired(x: Line, y: Line, aspects: tuple[str, ...], diff: Diff, nodes: Mapping[int, int]) -> bool:
    """Whether operands or predecessors differ only where one of the two reads a node that the other one lacks."""
    if not {"operands", "order"} & set(aspects) or x.op != y.op:
        return False
    kept = [(nodes[n], s) for n, s in x.inputs if n in nodes], [(n, s) for n, s in y.inputs if n not in diff.added]
    lost = any(n not in nodes for n in (*(n for n, _ in x.inputs), *x.after))
    gained = any(n in diff.added for n in (*(n for n, _ in y.inputs), *y.after))
    shorter, longer = sorted(kept, key=len)
    rest = iter(longer)
    return (lost or gained) and all(value in rest for value in shorter)


def _said(line: Line) -> tuple[object, ...]:
    return line.name, line.scope, line.file, line.line, line.region, line.origin


def _ends(listing: Listing, nodes: Mapping[int, int] | None) -> dict[str, str]:
    """Signature, results and updates of a program and its subgraphs, as text by place and kind; ids as `nodes` says, if given."""

    def id(node: int) -> str:
        return f"%{node if nodes is None else nodes.get(node, f'{node} (gone)')}"

    def value(v: tuple[int, int]) -> str:
        return id(v[0]) + (f"#{v[1]}" if v[1] else "")

    ends: dict[str, str] = {}
    for block in listing.blocks:
        place = f"{block.path[-1][1]} of {id(block.path[-1][0])}" if block.path else "graph"
        ends[f"{place} takes"] = ", ".join(sorted(id(i) for i in block.inputs))
        ends[f"{place} returns"] = ", ".join(f"{quoted(name)}={value(v)}" for name, v in block.results)
        ends |= {f"{place} updates {id(param)}": value(v) for param, v in block.updates}
    return ends


def _cells(
    listing: Listing, lines: Mapping[int, Line], known: set[str], owner: Mapping[int, str], classes: Mapping[str, str]
) -> list[CellChange]:
    """The outermost Cells that have no counterpart, with what belongs to them of `lines`."""
    homes: dict[str, str] = {}
    for line in listing:  # Where each parameter is read first.
        if line.region == "forward":
            for node, _ in line.inputs:
                if listing[node].op == "Param":
                    homes.setdefault(listing[node].name, line.scope)
    found: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines.values():
        top = _outermost(line.scope, known) or _outermost(homes.get(owner.get(line.id, line.name), ""), known)
        if top:
            found[top].append(line)
    return [
        CellChange(top, classes.get(top, ""), tuple(nodes), tuple(n.name for n in nodes if _own(n, owner)))
        for top, nodes in found.items()
        if any(n.region == "forward" for n in nodes)
    ]


def _own(line: Line, owner: Mapping[int, str]) -> bool:
    """Whether it is a parameter itself, not the state that an optimizer has for one."""
    return line.op == "Param" and owner.get(line.id, line.name) == line.name


def _outermost(scope: str, known: set[str]) -> str:
    """The shortest beginning of a Cell path that is not known; "" if all are."""
    parts = scope.split(".")
    return next((p for k in range(1, len(parts) + 1) if (p := ".".join(parts[:k])) not in known), "") if scope else ""


def _measure(diff: Diff) -> None:
    """Write down which sizes differ, and whether it is the batch."""
    sizes: Counter[tuple[int, int]] = Counter()
    firsts: set[tuple[int, int]] = set()
    others = False
    for change in diff.changed:
        for before, after in zip(change.before.types, change.after.types, strict=False):
            dims = [[int(d) for d in t.partition("[")[2][:-1].split(",") if d] for t in (before, after)]
            if len(dims[0]) != len(dims[1]):
                others = True
                continue
            pairs = [(x, y) for x, y in zip(*dims, strict=True) if x != y]
            sizes.update(pairs)
            if change.before.op == "Input" and not change.before.path and pairs:
                firsts.add((dims[0][0], dims[1][0]))
                others |= dims[0][1:] != dims[1][1:]
    diff.sizes = [pair for pair, _ in sizes.most_common()]
    if len(firsts) == 1 and not others:
        diff.batch = firsts.pop()


# ---- as text


def diff_text(diff: Diff, *, nodes: bool = False) -> str:
    """What differs, summed up; lines marked - and + (removed, added, or both for changed) for what the summary does not explain,
    with `nodes` for all of it.
    """
    if not diff:
        note = f"; {diff.remarks} nodes differ in name, scope, location or region" if diff.remarks else ""
        return f"the structure is the same{note}"
    lines = _summary(diff)
    explained = set() if nodes else {n.id for c in diff.inserted for n in c.nodes}
    gone = set() if nodes else {n.id for c in diff.deleted for n in c.nodes}
    entries: list[tuple[int, list[str]]] = [
        *((i, [f"- {line.text}"]) for i, line in diff.removed.items() if i not in gone),
        *((i, [f"+ {line.text}"]) for i, line in diff.added.items() if i not in explained),
        *((c.before.id, _both(c)) for c in diff.changed if nodes or not _explained(diff, c)),
    ]
    for _, marked in sorted(entries, key=lambda entry: entry[0]):
        lines += marked
    if nodes or not (diff.inserted or diff.deleted):
        for a, b in diff.structure:
            lines += [f"- {a}"] * bool(a) + [f"+ {b}"] * bool(b)
    return "\n".join(lines)


def _explained(diff: Diff, change: Change) -> bool:
    if set(change.aspects) <= {"types", "numbers"}:
        return bool(diff.batch or diff.sizes)
    return change.rewired and bool(diff.inserted or diff.deleted)


def _both(change: Change) -> list[str]:
    moved = "place" in change.aspects
    marked = (("-", change.before), ("+", change.after))
    return [f"{mark} {line.text}{_where(line) if moved else ''}" for mark, line in marked]


def _where(line: Line) -> str:
    return f"  # in {' in '.join(f'{attr} of %{id}' for id, attr in reversed(line.path)) or 'the outer graph'}"


def _summary(diff: Diff) -> list[str]:
    counts = Counter(aspect for c in diff.changed for aspect in c.aspects)
    said = [f"{counts[a]} {one if counts[a] == 1 else many}" for a, one, many in _WORDS if counts[a]]
    if diff.same_structure:
        sizes = diff.batch or (diff.sizes[0] if diff.sizes else None)
        head = f"{'batch' if diff.batch else 'size'} {sizes[0]} -> {sizes[1]}: " if sizes else ""
        return [f"{head}{', '.join(said)}, structure equal"]
    lines = []
    for word, cells in (("inserted", diff.inserted), ("removed", diff.deleted)):
        lines += [f"Cell {word}: {_cell_text(cell)}" for cell in cells]
    if lines:
        inside = {n.id for c in diff.inserted for n in c.nodes}, {n.id for c in diff.deleted for n in c.nodes}
        rest = len(diff.removed.keys() - inside[1]), len(diff.added.keys() - inside[0])
        rewired = sum(c.rewired for c in diff.changed)
        other = len(diff.changed) - rewired
        lines.append(
            f"around it {rewired} nodes rewired, {other} changed otherwise, {rest[0]} removed, {rest[1]} added"
        )
        return lines
    changed = f" ({', '.join(said)})" if said else ""
    return [f"{len(diff.removed)} nodes removed, {len(diff.added)} added, {len(diff.changed)} changed{changed}"]


_WORDS: Sequence[tuple[str, str, str]] = (
    ("types", "type", "types"),
    ("numbers", "attribute's numbers", "attributes' numbers"),
    ("attributes", "attribute", "attributes"),
    ("operands", "node's operands", "nodes' operands"),
    ("order", "node's order", "nodes' order"),
    ("place", "moved", "moved"),
)


def _cell_text(cell: CellChange) -> str:
    regions = Counter(n.region for n in cell.nodes)
    counts = ", ".join(f"{regions[r]} {r}" for r in REGIONS if regions[r])
    own = f"; parameters {', '.join(map(shown, cell.parameters))}" if cell.parameters else ""
    return f"{shown(cell.path)}{f' ({cell.kind})' if cell.kind else ''}, {len(cell.nodes)} nodes: {counts}{own}"
