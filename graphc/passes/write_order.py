"""Write-after-read: every reader of a parameter's old value runs before the node that makes the new one."""

from __future__ import annotations

from graphc.ir import Graph, Value
from graphc.ir.op import Alias
from graphc.passes.tools import Ancestors, is_entry


def order_writes(graph: Graph) -> Graph:
    """Add order edges from readers of a parameter's entry value to the writer of its final value.

    before:  %0 p = Param()   %3 = Assign(%0, %2)   %4 = Exp(%0)   update %0=%3
    after:   %4 = Exp(%0)     %3 = Assign(%0, %2) after(%4)        update %0=%3

    So the write can be made in place. A reader that itself needs the new value keeps its place: the lowering copies there.
    Comes last: order edges keep alive what they name. Branches of an If write nothing themselves.
    """
    readers: dict[int, list[int]] = {}  # by writer
    for param, value in graph.updates:
        # A parameter that becomes another one or an input has no writer: the step copies at its end.
        if not is_entry(graph, value):
            readers.setdefault(value.node, []).extend(r for r in _readers(graph, Value(param)) if r != value.node)
    comes_after = Ancestors(graph)
    copy: Graph | None = None
    for writer, found in readers.items():
        late = [r for r in found if not comes_after(writer, r) and not comes_after(r, writer)]
        if late:
            copy = copy or graph.copy()
            copy.set_node(writer, after=(*copy.node(writer).after, *late))
            copy.note("write_after_read", tuple(late), (writer,))
            comes_after.update(copy, writer)
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
            if isinstance(node.lower, Alias):
                stack.append(node.outputs[0])
            elif node.op.name != "Assign" or v in node.inputs[1:]:
                readers.append(user)
    return list(dict.fromkeys(readers))
