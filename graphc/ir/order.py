"""What graphs find by walking along their edges: the deterministic topological order, and what nodes depend on."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from graphc.grammar import REGIONS
from graphc.ir.parts import Edges

if TYPE_CHECKING:
    from graphc.ir.graph import Node


def in_order(
    records: Mapping[int, Mapping[str, Node]], succ: Mapping[int, Edges], pred: Mapping[int, Edges]
) -> list[int]:
    """Kahn's algorithm over a heap of the ready nodes; what lies on or behind a cycle is left out. See `Graph.order`.

    networkx's lexicographical_topological_sort takes four times as long for the same order.
    """
    pop, push = heapq.heappop, heapq.heappush
    bound = max(records, default=0) + 1
    first = {region: (len(REGIONS) + rank) * bound for rank, region in enumerate(REGIONS)}
    rush = len(REGIONS) * bound
    keys: dict[int, int] = {}
    for id, record in records.items():
        node = record["node"]
        keys[id] = first[node.region] + node.op.rush * rush + id
    waits = dict(zip(pred, map(len, pred.values()), strict=True))
    ready = [keys[id] for id, count in waits.items() if not count]
    heapq.heapify(ready)
    done: list[int] = []
    while ready:
        id = pop(ready) % bound
        done.append(id)
        for user in succ[id]:
            left = waits[user] = waits[user] - 1
            if not left:
                push(ready, keys[user])
    return done


def needed(pred: Mapping[int, Edges], ids: Iterable[int]) -> set[int]:
    """These nodes and all that they depend on."""
    stack = list(ids)
    found = set(stack)
    while stack:
        for p in pred[stack.pop()]:
            if p not in found:
                found.add(p)
                stack.append(p)
    return found
