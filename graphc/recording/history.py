"""What became of nodes: in the passes over the graph, as their rules have noted it, and in the rewrites of statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from graphc.inspect.document import Rewrite
from graphc.ir import Node, walk
from graphc.lower import Stage as Statements
from graphc.lower.statements import calls
from graphc.passes import Stage
from graphc_codegen.program import Call

#: What autodiff notes of a request: all nodes that were made for it, of which many were not needed.
_MADE = "made"


def of_passes(stages: Sequence[Stage]) -> tuple[Rewrite, ...]:
    """What each rule did to the graph; at the end of each pass the nodes that are gone without anybody standing for them."""
    rows: list[Rewrite] = []
    before: dict[int, Node] = {}
    for stage in stages:
        after = {n.id: n for _, n in walk(stage.graph)} if stage.changed or not rows else before
        rows += _of_pass(stage, before, after)
        before = after
    return tuple(rows)


def _of_pass(stage: Stage, before: dict[int, Node], after: dict[int, Node]) -> Iterator[Rewrite]:
    told: set[int] = set()
    gone: set[int] = set()
    for rule, sources, made in stage.log:
        if rule != _MADE:
            yield Rewrite(stage.name, rule, tuple(sources), tuple(dict.fromkeys(made)))
            told.update(made)
            gone.update(sources)
    if before:
        yield from _gradients(stage, before, after, told)
    unused = tuple(sorted(before.keys() - after.keys() - gone))
    if unused:
        yield Rewrite(stage.name, "unused", unused, ())


def _gradients(stage: Stage, before: dict[int, Node], after: dict[int, Node], told: set[int]) -> Iterator[Rewrite]:
    """The nodes that function transforms have made, by the node whose gradient or tangent they are, or else by the request."""
    groups: dict[int, list[int]] = {}
    asked = {id: sources[0] for rule, sources, made in stage.log if rule == _MADE for id in made}
    for id, node in after.items():
        if id not in before and id not in told and node.origin is not None and node.fwd is not None:
            groups.setdefault(node.fwd, []).append(id)
        elif id in asked and id not in told:
            groups.setdefault(asked[id], []).append(id)
    for source, made in groups.items():
        region = after[made[0]].region
        rule = "expanded" if source not in after else "gradient" if region == "backward" else "tangent"
        yield Rewrite(stage.name, rule, (source,), tuple(made))


def origins(rows: Sequence[Rewrite], first: int) -> dict[int, tuple[str, str, tuple[int, ...]]]:
    """Pass, rule and sources of the nodes that passes have made: ids from `first` on."""
    found: dict[int, tuple[str, str, tuple[int, ...]]] = {}
    for row in rows:
        if row.pass_ != "trace":
            for id in row.to:
                if id >= first:
                    found.setdefault(id, (row.pass_, row.rule, row.from_))
    return found


# ---- statements


def of_rewrites(stages: Sequence[Statements]) -> tuple[Rewrite, ...]:
    """Which calls the rewrites of statements have joined: nodes of a call that is gone, nodes of the one that does it now."""
    rows: list[Rewrite] = []
    for before, after in pairwise(stages):
        if after.changed:
            rows += _of_rewrite(after.name, list(calls(before.statements)), list(calls(after.statements)))
    return tuple(rows)


def _of_rewrite(name: str, before: list[Call], after: list[Call]) -> Iterator[Rewrite]:
    same = Counter(map(_key, before)) & Counter(map(_key, after))
    old, new = (_without(each, same) for each in (before, after))
    places: dict[int, list[Call]] = {}
    for call in old:
        for node in call.nodes:
            places.setdefault(node, []).append(call)
    for call in new:
        inside = set(call.nodes)
        parts = {id(p): p for n in call.nodes for p in places.get(n, ()) if inside.issuperset(p.nodes)}
        if not parts:
            continue
        host, *others = parts.values()
        for other in others:
            yield Rewrite(name, "joined", other.nodes, host.nodes)
        if not others and host.kernel != replace(call.kernel, threads=host.kernel.threads):
            yield Rewrite(name, "changed", host.nodes, call.nodes)


def _key(call: Call) -> tuple[object, ...]:
    """What tells calls apart, but for when buffers die and for threads."""
    kernel = call.kernel if call.kernel.threads == 1 else replace(call.kernel, threads=1)
    return kernel.digest, call.args, call.nodes


def _without(found: list[Call], same: Counter[tuple[object, ...]]) -> list[Call]:
    left = Counter(same)
    kept = []
    for call in found:
        key = _key(call)
        if left[key]:
            left[key] -= 1
        else:
            kept.append(call)
    return kept
