"""Printing graphs for people: whole, in slices, the overflow order, counts; plain or coloured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphc.inspect.flow import Link, Selection, Step, shown
from graphc.inspect.listing import Line, Listing, Path

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


def slice_text(listing: Listing, found: Sequence[Line], wanted: Selection) -> str:
    """The nodes of a slice by region and place, under a line that counts them."""
    lines = [f"# {len(found)} of {len(listing)} nodes of graph @{shown(listing.name)}: {wanted}"]
    path: Path | None = None
    region = None
    for line in found:
        indent = "  " * (len(line.path) + 1)
        if line.path != path:
            path, region = line.path, None
            if path:
                lines.append(f"{indent[2:]}in {' in '.join(f'{attr} of %{id}' for id, attr in reversed(path))}")
        if line.region != region:
            region = line.region
            lines.append(f"{indent}{region}:")
        lines.append(f"{indent}  {line.text}")
    return "\n".join(lines)


def why_order_text(listing: Listing, first: int, second: int, links: Sequence[Link], back: bool) -> str:
    """The path that guarantees an order, one node a line, or that there is none; `back` says that one guarantees the reverse."""
    a, b = brief(listing[first]), brief(listing[second])
    if first == second:
        return f"{a}\nis one node"
    if not links:
        other = f"%{second} is guaranteed to run before %{first}" if back else "they may run in either order"
        return f"not ordered: nothing guarantees that %{first} runs before %{second}; {other}\n  {a}\n  {b}"
    lines = [f"%{first} runs before %{second}: {len(links) - 1} edge{'s' if len(links) > 2 else ''}"]
    for link in links:
        if link.link != "start":
            lines.append(f"       | {link.link}{_LINKS.get(link.link, '')}")
        lines.append(f"  {brief(link.line)}{_place(link.line)}")
    return "\n".join(lines)


_LINKS = {"order": ": it runs after", "branch": ": a branch runs where its node does"}


def _place(line: Line) -> str:
    where = " ".join(
        filter(None, (shown(line.scope) if line.scope else "", f"@ {line.file}:{line.line}" if line.file else ""))
    )
    return f"  ; {where}" if where else ""


def order_text(listing: Listing, spines: Sequence[Sequence[Step]]) -> str:
    """The overflow order as a numbered list; the edge that leads to each station stands before it."""
    if not spines:
        return f"graph @{shown(listing.name)} checks no float status"
    lines: list[str] = []
    for spine in spines:
        lines.append(f"overflow order of graph @{shown(listing.name)}")
        for number, step in enumerate(spine, 1):
            if step.link == "path":
                between = ", ".join(f"{count} {region}" for region, count in step.between.items())
                lines.append(f"       | through {sum(step.between.values())} nodes ({between})")
            elif step.link != "start":
                lines.append(f"       | {step.link}")
            note = f"   # {step.note}" if step.note else ""
            lines.append(f"  {number:>3}  {brief(step.node)}{note}")
    return "\n".join(lines)


def order_json(spines: Iterable[Iterable[Step]]) -> list[list[dict[str, Any]]]:
    """The overflow order as plain data."""
    return [
        [
            {
                "id": s.node.id,
                "op": s.node.op,
                "link": s.link,
                "between": s.between,
                "note": s.note,
                "text": s.node.text,
            }
            for s in spine
        ]
        for spine in spines
    ]


def brief(line: Line) -> str:
    """A node's line with long lists cut, without what is said about it."""
    types = _listed(list(line.types))
    inputs = _listed([f"%{node}{f'#{slot}' if slot else ''}" for node, slot in line.inputs])
    name = f" {shown(line.name)}" if line.name else ""
    text = f"%{line.id}{name}: {types if len(line.types) == 1 else f'({types})'} = {line.op}({inputs})"
    if line.after:
        text += f" after({_listed([f'%{i}' for i in line.after])})"
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
