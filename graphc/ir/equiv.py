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
    if len(a.results) != len(b.results):
        return f"@{a.name} has {len(a.results)} results, @{b.name} has {len(b.results)}"
    updates_a, updates_b = _updates(a), _updates(b)
    if updates_a.keys() != updates_b.keys():
        return f"@{a.name} updates inputs {sorted(updates_a)}, @{b.name} {sorted(updates_b)}"
    ends = [(x.value, y.value) for x, y in zip(a.results, b.results, strict=True)]
    ends += [(updates_a[k], updates_b[k]) for k in updates_a]
    for va, vb in ends:
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


def _updates(graph: Graph) -> dict[int, Value]:
    """The new versions of parameters, by their position in the signature."""
    position = {id: k for k, id in enumerate(graph.inputs)}
    return {position[u.param]: u.value for u in graph.updates}


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
    if type(a) is not type(b):
        return False  # 1 and True and 1.0 are three attributes.
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_attr_equal, a, b))
    # repr: NaN equals NaN here, and 0.0 is not -0.0.
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)
