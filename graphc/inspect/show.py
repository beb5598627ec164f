"""Printing graphs for people: whole, in slices, the overflow order, counts; plain or coloured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphc.inspect.flow import Place, Selection, Step, shown
from graphc.ir import Graph, Node, node_text

_STYLES = {"head": "1", "region": "33", "id": "36", "op": "1", "type": "32", "about": "2"}
_NODE_LINE = re.compile(r"(\s*)(%\d+)( .*?|): (\([^=]*?\)|\S+) = (\w+)\((.*)\Z")


def paint(text: str) -> str:
    """Text IR with terminal colours: ids, types, ops, regions, and the remark after `;` dimmed."""
    return "\n".join(map(_paint_line, text.split("\n")))


def _paint_line(line: str) -> str:
    match = _NODE_LINE.match(line)
    if not match:
        return _style("region", line) if line.rstrip().endswith(":") else line
    indent, id, name, types, op, rest = match.groups()
    body, mark, about = rest.partition("  ; ")
    tail = _style("about", mark + about) if mark else ""
    return f"{indent}{_style('id', id)}{name}: {_style('type', types)} = {_style('op', op)}({body}{tail}"


def _style(kind: str, text: str) -> str:
    return f"\x1b[{_STYLES[kind]}m{text}\x1b[0m"


def slice_text(graph: Graph, found: Sequence[Place], wanted: Selection, total: int) -> str:
    """The nodes of a slice by region and place, under a line that counts them."""
    lines = [f"# {len(found)} of {total} nodes of graph @{shown(graph.name)}: {wanted}"]
    path: tuple[tuple[int, str], ...] | None = None
    region = None
    for place in found:
        indent = "  " * (len(place.path) + 1)
        if place.path != path:
            path, region = place.path, None
            if path:
                lines.append(f"{indent[2:]}in {' in '.join(f'{attr} of %{id}' for id, attr in reversed(path))}")
        if place.node.region != region:
            region = place.node.region
            lines.append(f"{indent}{region}:")
        lines.append(f"{indent}  {node_text(place.node)}")
    return "\n".join(lines)


def order_text(graph: Graph, spines: Sequence[Sequence[Step]]) -> str:
    """The overflow order as a numbered list; the edge that leads to each station stands before it."""
    if not spines:
        return f"graph @{shown(graph.name)} checks no float status"
    lines: list[str] = []
    for spine in spines:
        lines.append(f"overflow order of graph @{shown(graph.name)}")
        for number, step in enumerate(spine, 1):
            if step.link == "path":
                between = ", ".join(f"{count} {region}" for region, count in step.between.items())
                lines.append(f"       | through {sum(step.between.values())} nodes ({between})")
            elif step.link != "start":
                lines.append(f"       | {step.link}")
            note = f"   # {step.note}" if step.note else ""
            lines.append(f"  {number:>3}  {_brief(step.node)}{note}")
    return "\n".join(lines)


def order_json(spines: Iterable[Iterable[Step]]) -> list[list[dict[str, Any]]]:
    """The overflow order as plain data."""
    return [
        [
            {
                "id": s.node.id,
                "op": s.node.op.name,
                "link": s.link,
                "between": s.between,
                "note": s.note,
                "text": node_text(s.node),
            }
            for s in spine
        ]
        for spine in spines
    ]


def _brief(node: Node) -> str:
    """A node's line with long lists cut."""
    types, inputs = (_listed(list(map(str, xs))) for xs in (node.types, node.inputs))
    name = f" {shown(node.name)}" if node.name else ""
    text = f"%{node.id}{name}: {types if len(node.types) == 1 else f'({types})'} = {node.op.name}({inputs})"
    if node.after:
        text += f" after({_listed([f'%{i}' for i in node.after])})"
    return text


def _listed(items: list[str], most: int = 4) -> str:
    return ", ".join(items) if len(items) <= most else f"{', '.join(items[: most - 1])}, ... {len(items)} in all"


def stats_text(stats: Mapping[str, Any]) -> str:
    """Node counts as a table."""
    edges = stats["edges"]
    lines = [
        f"graph @{shown(stats['graph'])}: {stats['nodes']} nodes, {edges['data']} data edges,"
        f" {edges['order']} order edges, {stats['parameters']} parameters ({stats['parameter_bytes']} bytes)"
    ]
    for region, ops in stats["regions"].items():
        lines.append(f"  {region:<26} {sum(ops.values()):>6}")
        lines += [f"    {op:<24} {count:>6}" for op, count in ops.items()]
    return "\n".join(lines)
