"""Reductions of gradients over processes: together in buckets, begun as soon as they can be, waited for as late as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.context import is_data_parallel, parallel_settings
from graphc.ir import Builder, Graph, Node, Origin, TensorType, Value
from graphc.passes.replicated import (
    BETWEEN_DATA,
    BETWEEN_PARTS,
    COLLECTIVES,
    NOWHERE,
    PEERS,
    differing,
    is_between_stages,
    is_collective,
)
from graphc.passes.shared_memory import place_in_windows
from graphc.passes.tools import in_subgraphs
from graphc.processes import part_length

#: What a bucket holds at least, unless the setting all_reduce_fusion_config says where buckets end. A message costs some tens of
#: microseconds whatever its size, which 512 KiB take on a network of 100 Gbit/s; with more in a bucket, networks of a few MiB
#: have but one, and nothing is on its way while gradients are computed.
BUCKET_BYTES = 512 << 10


def bucket_reductions(graph: Graph) -> Graph:
    """Join AllReduces of sums, SumParts and JoinParts that do not need each other, and put all collectives into one order.

    before:  %3 = AllReduce(%1)   %4 = AllReduce(%2) after(%3)
    after:   %5 = AllReduceStart(%1, %2)   %6 = AllReduceWait(%5, %5#1)   %3 = Slice(%6)   %4 = Slice(%6)

    Buckets are filled in the order in which their operands get ready, which is the same in every process: it is one graph. A
    process with nobody to talk to has none. Where processes share memory, buckets get places there (`place_in_windows`).
    """
    if graph.ops().isdisjoint(COLLECTIVES):
        return graph
    return place_in_windows(_bucketed(graph))


def _bucketed(graph: Graph) -> Graph:
    graph = in_subgraphs(graph, _bucketed)
    staged = parallel_settings().pipeline_stages > 1
    if not staged:
        graph = without_needless(graph)
    # Other stages of a pipeline have other graphs: `cut_stages` has put into one order what they say to each other.
    talking = [n.id for n in graph if is_collective(n) and not (staged and is_between_stages(n))]
    # Where two talk to each other other processes have other graphs: all keep the order of the program.
    if not talking or any(graph.node(id).op.name in PEERS for id in talking):
        return graph
    graph = graph.copy()
    order = graph.order()
    levels = _levels(graph, order, set(talking))
    ready = {id: k for k, id in enumerate(order)}
    groups: dict[tuple[Any, ...], list[int]] = {}
    for id in talking:
        node = graph.node(id)
        graph.set_node(id, after=tuple(i for i in node.after if i not in levels))
        if _can_wait(node):
            wire = node.attrs.get("wire")
            groups.setdefault((levels[id], node.op.name, node.attrs["group"], node.type.dtype, wire), []).append(id)
    # What is joined first may be the operand of what comes later.
    for members in groups.values():
        members.sort(key=lambda id: max(ready[v.node] for v in graph.node(id).inputs))
    for members in groups.values():
        buckets = _filled([graph.node(id) for id in members])
        if buckets[0][0].attrs.get("wire") is None:
            for bucket in buckets:
                _together(graph, bucket)
        else:
            _as_halves(graph, buckets)
    _in_order(graph, staged)
    return graph


def without_needless(graph: Graph) -> Graph:
    """Without maxima and minima over all processes of what is the same in each: where they all train the same parameters."""
    extrema = [n for n in graph if n.op.name == "AllReduce" and n.attrs["reduction"] in ("max", "min")]
    if not extrema or not is_data_parallel():
        return graph
    # Which parameters are parts of layers is not known here.
    params = BETWEEN_PARTS if parallel_settings().model_parallel > 1 else NOWHERE
    nodes = map(graph.node, graph.inputs)
    found = differing(graph, {n.id: BETWEEN_DATA if n.op.name == "Input" else params for n in nodes})
    needless = [n for n in extrema if is_collective(n) and n.inputs[0] not in found]
    copy = graph.copy()
    for node in needless:
        copy.replace_node(node.id, copy.node(node.id).inputs)
    copy.drop([n.id for n in needless])
    return copy


def _levels(graph: Graph, order: Sequence[int], talking: set[int]) -> dict[int, int]:
    """How many collectives at most each one needs the results of, one after the other; that it follows another is no need."""
    depth: dict[int, int] = {}
    for id in order:
        node = graph.node(id)
        before = [v.node for v in node.inputs] + [p for p in node.after if not (id in talking and p in talking)]
        depth[id] = max((depth[p] + (p in talking) for p in before), default=0)
    return {id: depth[id] for id in talking}


def _filled(nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes in buckets."""
    ends = parallel_settings().all_reduce_fusion_config
    buckets: list[list[Node]] = [[]]
    for k, node in enumerate(nodes):
        full = k in ends if ends is not None else sum(n.type.nbytes for n in buckets[-1]) >= BUCKET_BYTES
        if buckets[-1] and full:
            buckets.append([])
        buckets[-1].append(node)
    return buckets


def _can_wait(node: Node) -> bool:
    """Whether there are a start and a wait for what a node does."""
    sums = node.op.name == "SumPart" or (node.op.name == "AllReduce" and node.attrs["reduction"] == "sum")
    return (sums or node.op.name == "JoinParts") and node.type.dtype in ("float32", "float64")


def _builder(graph: Graph, bucket: Sequence[Node]) -> Builder:
    last, origin = bucket[-1], Origin("bucket_reductions", "bucket", tuple(n.id for n in bucket))
    return Builder(graph, scope=last.scope, loc=last.loc, region=last.region, origin=origin)


def _together(graph: Graph, bucket: Sequence[Node]) -> None:
    """Replace collectives by one that is begun and waited for."""
    last, g = bucket[-1], _builder(graph, bucket)
    after = tuple(dict.fromkeys(i for n in bucket for i in n.after))
    attrs = {name: last.attrs[name] for name in ("group", "size")}
    kind = _STARTED[last.op.name]
    reduction = {} if last.op.name == "JoinParts" else {"reduction": "sum"}
    operands = [n.inputs[0] for n in bucket]
    start = g.node(f"{kind}Start", *operands, attrs={**reduction, **attrs}, after=after)
    result = g.node(f"{kind}Wait", *start.outputs, attrs={"size": attrs["size"]}).outputs[0]
    if kind == "AllGather":
        result = g.Reshape(result, shape=(attrs["size"], start.type.size // attrs["size"]))
    at = 0
    for n in bucket:
        length = graph.type(n.inputs[0]).size if kind == "AllGather" else n.type.size
        graph.replace_node(n.id, [_taken(g, result, at, length, n.type)])
        at += length
    graph.drop([n.id for n in bucket])


def _as_halves(graph: Graph, buckets: Sequence[Sequence[Node]]) -> None:
    """Replace sums that travel as bfloat16: each process adds up its parts of them in float32, and sends these to the others.

    All buckets are on their way before the first one is waited for.
    """
    begun = []
    for bucket in buckets:
        g = _builder(graph, bucket)
        attrs = {name: bucket[-1].attrs[name] for name in ("group", "size")}
        after = tuple(dict.fromkeys(i for n in bucket for i in n.after))
        begun.append((g, g.node("AllToAllStart", *(n.inputs[0] for n in bucket), attrs=attrs, after=after), attrs))
    last = (begun[-1][1].id,)
    for bucket, (g, start, attrs) in zip(buckets, begun, strict=True):
        count, lengths = attrs["size"], [part_length(graph.type(n.inputs[0]).size, attrs["size"]) for n in bucket]
        sent, received, request = start.outputs
        wait = g.node("AllToAllWait", received, sent, request, attrs={"size": count})
        rows = g.Cast(g.Reshape(wait.outputs[0], shape=(count, sum(lengths))), dtype="float32")
        result = g.ReduceSum(rows, axis=(0,), keep_dims=False)
        whole = bucket[-1].op.name == "AllReduce"
        if whole:
            gather = g.node("AllGatherStart", g.Cast(result, dtype=wait.type.dtype), attrs=attrs, after=last)
            result = g.node("AllGatherWait", *gather.outputs, attrs={"size": count}).outputs[0]
            result = g.Reshape(result, shape=(count, sum(lengths)))
        at = 0
        for n, length in zip(bucket, lengths, strict=True):
            taken = _taken(g, result, at, length, n.type)
            graph.replace_node(n.id, [g.Cast(taken, dtype="float32") if whole else taken])
            at += length
        graph.drop([n.id for n in bucket])


#: What is begun of what is reduced and joined.
_STARTED = {"AllReduce": "AllReduce", "SumPart": "ReduceScatter", "JoinParts": "AllGather"}


def _taken(g: Builder, whole: Value, at: int, length: int, type: TensorType) -> Value:
    """A tensor out of a bucket, where it has so many elements from `at` on, of every process's if they are in rows."""
    *rows, held = g.type(whole).shape
    if (at, length) != (0, held):
        begin, size = (*(0 for _ in rows), at), (*rows, length)
        whole = g.Slice(whole, begin=begin, size=size, step=tuple(1 for _ in size))
    if g.type(whole).size != type.size:
        flat = g.Reshape(whole, shape=(g.type(whole).size,))
        whole = g.Slice(flat, begin=(0,), size=(type.size,), step=(1,))
    made: Value = g.Reshape(whole, shape=type.shape)
    return made


def _in_order(graph: Graph, staged: bool) -> None:
    """Order edges from each collective to the next one."""
    before: int | None = None
    for id in graph.order():
        if is_collective(graph.node(id)) and not (staged and is_between_stages(graph.node(id))):
            if before is not None:
                graph.set_node(id, after=tuple(dict.fromkeys((*graph.node(id).after, before))))
            before = id
