"""Reductions between processes that share memory: where in their windows each of them is carried out."""

from __future__ import annotations

from graphc import processes
from graphc.context import is_data_parallel, parallel_settings
from graphc.ir import Graph, Node
from graphc.ops.declared.async_collectives import window_bytes
from graphc.passes.tools import in_subgraphs
from graphc.processes import WINDOW_BYTES

#: Each begins at a multiple of so many bytes: pages of memory are not divided between two.
_ALIGNED = 4096


def place_in_windows(graph: Graph) -> Graph:
    """Give what is begun between processes that share memory a place of its own in their windows (`at`, bytes).

    before:  %5 = AllReduceStart(%1)           %6 = AllReduceWait(%5, %5#1)
    after:   %5 = AllReduceStart(%1) {at=0}    %6 = AllReduceWait(%5, %5#1) {at=0}

    MPI carries the rest: what no longer fits, is empty, or goes between processes on several machines. So it does in a mode in
    which graphs may differ: who reads a window counts what has been read, and must do so in the order of all others.
    """
    if not is_data_parallel():
        return graph
    return _place(graph, {})


def _place(graph: Graph, ends: dict[str, int]) -> Graph:
    """The same, of a graph and its subgraphs. ends: how much of each group's windows is in use."""
    graph = in_subgraphs(graph, lambda sub: _place(sub, ends))
    found: dict[int, int] = {}
    for id in graph.order():
        node = graph.node(id)
        if not node.op.name.endswith("Start") or "at" not in node.attrs or not _share_memory(node):
            continue
        group = node.attrs["group"]
        nbytes, at = window_bytes(node), ends.get(group, 0)
        end = at + -(-nbytes // _ALIGNED) * _ALIGNED
        if nbytes and end <= WINDOW_BYTES:
            found[id], ends[group] = at, end
    if not found:
        return graph
    graph = graph.copy()
    for id, at in found.items():
        node = graph.node(id)
        graph.set_node(id, attrs={**node.attrs, "at": at})
        for user in graph.users(id):
            wait = graph.node(user)
            if any(v.node == id for v in wait.inputs):
                graph.set_node(user, attrs={**wait.attrs, "group": node.attrs["group"], "at": at})
    return graph


def _share_memory(node: Node) -> bool:
    """Whether the processes of a collective read each other's windows, and all have this graph."""
    group, size = node.attrs["group"], node.attrs["size"]
    alike = group == processes.DATA
    if parallel_settings().pipeline_stages == 1:
        alike = alike or group == processes.MODEL or size == processes.size()
    return bool(alike and size > 1 and processes.group(group).windows)
