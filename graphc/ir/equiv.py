"""Structural equality of graphs: same ops, attributes, types and wiring; ids, names and locations do not matter."""

from __future__ import annotations

from typing import Any

from graphc.ir.graph import Graph, Node, Value


def equal(a: Graph, b: Graph) -> bool:
    """Whether two graphs compute the same by the same nodes."""
    return difference(a, b) is None


def difference(a: Graph, b: Graph) -> str | None:
    """The first structural difference in words, or None."""
    paired: dict[int, int] = {}
    if len(a.inputs) != len(b.inputs):
        return f"@{a.name} has {len(a.inputs)} inputs, @{b.name} has {len(b.inputs)}"
    stack: list[tuple[int, int]] = list(zip(a.inputs, b.inputs, strict=True))
    ends_a, ends_b = _ends(a), _ends(b)
    if len(ends_a) != len(ends_b):
        return f"@{a.name} has {len(ends_a)} results and updates, @{b.name} has {len(ends_b)}"
    for va, vb in zip(ends_a, ends_b, strict=True):
        if va.slot != vb.slot:
            return f"{va} and {vb} are different results of their nodes"
        stack.append((va.node, vb.node))
    while stack:
        ia, ib = stack.pop()
        if ia in paired:
            if paired[ia] != ib:
                return f"%{ia} corresponds to both %{paired[ia]} and %{ib}"
            continue
        paired[ia] = ib
        na, nb = a.node(ia), b.node(ib)
        problem = _node_difference(na, nb)
        if problem:
            return f"%{ia} {na.op.name} and %{ib} {nb.op.name}: {problem}"
        stack += ((x.node, y.node) for x, y in zip(na.inputs, nb.inputs, strict=True))
        stack += zip(na.after, nb.after, strict=True)
    if len(set(paired.values())) != len(paired):
        return "nodes of one graph are shared where the other has copies"
    return None


def _ends(graph: Graph) -> list[Value]:
    """Results, then updates in the order of the parameters."""
    updates = sorted(graph.updates, key=lambda u: graph.inputs.index(u.param))
    return [r.value for r in graph.results] + [u.value for u in updates]


def _node_difference(a: Node, b: Node) -> str | None:
    if a.op is not b.op:
        return "the ops differ"
    if a.types != b.types:
        return "the types differ"
    if [v.slot for v in a.inputs] != [v.slot for v in b.inputs] or len(a.after) != len(b.after):
        return "the operands differ"
    for name in a.attrs:
        if not _attr_equal(a.attrs[name], b.attrs[name]):
            return f"attribute {name} differs"
    return None


def _attr_equal(a: Any, b: Any) -> bool:
    if isinstance(a, Graph) and isinstance(b, Graph):
        return equal(a, b)
    # NaN equals NaN here; 1 and True and 1.0 are three attributes.
    return type(a) is type(b) and (a == b or (a != a and b != b))
