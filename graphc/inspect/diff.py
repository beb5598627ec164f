"""Structural differences of two versions of a program, by node id: ids are never reused, so a node keeps its id
through the passes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from graphc.inspect.flow import Place, places
from graphc.ir import Graph, Node, node_text


@dataclass
class Diff:
    """Lines of node text by id. `structure` says what differs besides nodes: results, updates, signature.

    `remarks` counts nodes that are the same but for name, scope, location, region or origin; they are no difference.
    """

    added: dict[int, str] = field(default_factory=dict)
    removed: dict[int, str] = field(default_factory=dict)
    changed: dict[int, tuple[str, str]] = field(default_factory=dict)
    structure: list[tuple[str, str]] = field(default_factory=list)
    remarks: int = 0

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.removed or self.changed or self.structure)

    def to_json(self) -> dict[str, Any]:
        return {
            "different": bool(self),
            "added": {f"%{i}": t for i, t in self.added.items()},
            "removed": {f"%{i}": t for i, t in self.removed.items()},
            "changed": {f"%{i}": {"before": a, "after": b} for i, (a, b) in self.changed.items()},
            "structure": [{"before": a, "after": b} for a, b in self.structure],
            "remarks": self.remarks,
        }


def compare(a: Graph, b: Graph) -> Diff:
    """What must change in `a` to become `b`, subgraphs included."""
    before, after = ({p.node.id: p for p in places(g)} for g in (a, b))
    diff = Diff()
    for id, place in before.items():
        if id not in after:
            diff.removed[id] = node_text(place.node)
        elif _meaning(place) != _meaning(after[id]):
            diff.changed[id] = (_moved(place, after[id]), _moved(after[id], place))
        else:
            diff.remarks += (
                node_text(place.node) != node_text(after[id].node) or place.node.region != after[id].node.region
            )
    diff.added = {id: node_text(p.node) for id, p in after.items() if id not in before}
    ends = [_ends(g) for g in (a, b)]
    for key in sorted(ends[0].keys() | ends[1].keys()):
        x, y = (f"{key} {e[key]}" if key in e else "" for e in ends)
        if x != y:
            diff.structure.append((x, y))
    return diff


def _meaning(place: Place) -> tuple[object, ...]:
    """A node without what is only said about it."""
    node = place.node
    attrs = _bare(node)
    return place.path, node.op.name, node.inputs, node.after, node.types, attrs


def _bare(node: Node) -> str:
    """The node's line from `=` on, without the remark; an attribute's digits decide, so NaN equals NaN."""
    text = node_text(node)
    return text[: len(text) - len(_remark(text))].partition(" = ")[2]


def _remark(text: str) -> str:
    # A quoted name may contain anything, so quotes are skipped as a whole.
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|  ; ', text):
        if match[0] == "  ; ":
            return text[match.start() :]
    return ""


def _moved(place: Place, other: Place) -> str:
    text = node_text(place.node)
    if place.path == other.path:
        return text
    where = " in ".join(f"{attr} of %{id}" for id, attr in reversed(place.path)) or "the outer graph"
    return f"{text}  # in {where}"


def _ends(graph: Graph, path: str = "graph") -> dict[str, str]:
    """Signature, results and updates of a graph and its subgraphs, as text by place and kind."""
    ends = {
        f"{path} takes": ", ".join(f"%{i}" for i in graph.inputs),
        f"{path} returns": ", ".join(f"{json.dumps(r.name)}={r.value}" for r in graph.results),
        **{f"{path} updates %{u.param}": str(u.value) for u in graph.updates},
    }
    for node in graph:
        for attr, sub in node.graphs():
            ends |= _ends(sub, f"{attr} of %{node.id}")
    return ends


def diff_text(diff: Diff) -> str:
    """The difference as lines marked -, + (removed, added, or both for changed)."""
    if not diff:
        note = f"; {diff.remarks} nodes differ in name, scope, location or region" if diff.remarks else ""
        return f"the structure is the same{note}"
    lines = [f"{len(diff.removed)} nodes removed, {len(diff.added)} added, {len(diff.changed)} changed"]
    entries: list[tuple[int, list[str]]] = [
        *((i, [f"- {t}"]) for i, t in diff.removed.items()),
        *((i, [f"+ {t}"]) for i, t in diff.added.items()),
        *((i, [f"- {a}", f"+ {b}"]) for i, (a, b) in diff.changed.items()),
    ]
    for _, marked in sorted(entries):
        lines += marked
    for a, b in diff.structure:
        lines += [f"- {a}"] * bool(a) + [f"+ {b}"] * bool(b)
    return "\n".join(lines)
