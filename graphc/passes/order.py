"""Write-after-read: every reader of a parameter's old value runs before the node that makes the new one."""

from __future__ import annotations

import networkx as nx

from graphc.ir import Graph, Value
from graphc.ir.op import Alias
from graphc.passes.tools import depends_on, is_entry


def order_writes(graph: Graph) -> Graph:
    """Add order edges from readers of a parameter's entry value to the writer of its final value.

    before:  %0 p = Param()   %3 = Assign(%0, %2)   %4 = Exp(%0)   update %0=%3
    after:   %4 = Exp(%0)     %3 = Assign(%0, %2) after(%4)        update %0=%3

    So the write can be made in place. A reader that itself needs the new value keeps its place: the lowering copies there.
    Comes last: order edges keep alive what they name. Branches of an If write nothing themselves.
    """
    copy: Graph | None = None
    # A parameter that becomes another one or an input has no writer: the step copies at its end.
    for writer_id in dict.fromkeys(u.value.node for u in graph.updates if not is_entry(graph, u.value)):
        current = copy or graph
        writer = current.node(writer_id)
        params = [u.param for u in graph.updates if u.value.node == writer_id and u.param != writer_id]
        readers = [r for p in params for r in _readers(current, Value(p)) if r != writer_id]
        earlier = nx.ancestors(current.nx, writer_id)
        before = [r for r in readers if r not in earlier and not depends_on(current, r, {writer_id})]
        if before:
            copy = copy or graph.copy()
            copy.set_node(writer_id, after=(*writer.after, *before))
    return copy or graph


def _readers(graph: Graph, value: Value) -> list[int]:
    """Nodes that read a value's memory, through results that share it."""
    readers: list[int] = []
    stack = [value]
    while stack:
        v = stack.pop()
        for user in sorted(graph.users(v.node)):
            node = graph.node(user)
            if v not in node.inputs:
                continue
            if isinstance(node.op.lower, Alias):
                stack.append(node.outputs[0])
            elif node.op.name != "Assign" or v in node.inputs[1:]:
                readers.append(user)
    return list(dict.fromkeys(readers))
