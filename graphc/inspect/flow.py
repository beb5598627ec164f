"""Questions about a program's order and extent: slices of it, what comes before what, the overflow order, counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from graphc.errors import ArgumentValueError
from graphc.errors.suggestions import nearest, question
from graphc.grammar import REGIONS, quoted
from graphc.inspect.listing import Line, Listing, backwards, edges, reached, short_dtype, shortest, type_bytes

if TYPE_CHECKING:
    from graphc.ir import Graph, Node, Value


def captures(holder: Node, sub: Graph) -> list[tuple[Value, int]]:
    """(operand, input of the subgraph that it feeds): the trailing operands of the node that holds it."""
    first = max(len(holder.inputs) - len(sub.inputs), 0)
    return list(zip(holder.inputs[first:], sub.inputs, strict=False))


def shown(name: str) -> str:
    """A user's name as messages show it: as it is where all of it can be printed, else quoted and escaped."""
    if name and name.isprintable() and not re.search(r'[\s"\\;{}()=%<>]', name):
        return name
    return quoted(name)


def find(listing: Listing, reference: str) -> int:
    """The node that "%12", "12" or a name means. Raises ArgumentValueError if there is none, or more than one of a name."""
    digits = reference.removeprefix("%")
    if digits.isascii() and digits.isdigit():
        if int(digits) in listing.lines:
            return int(digits)
        raise ArgumentValueError(f"there is no node %{digits} in graph @{shown(listing.name)}")
    # What a subgraph takes has the name of the value outside.
    named = [line.id for line in listing if line.name == reference and not (line.path and line.op == "Input")]
    if len(named) == 1:
        return named[0]
    if named:
        which = ", ".join(f"%{id}" for id in named[:4])
        raise ArgumentValueError(f"{len(named)} nodes are called {reference!r}: {which}", help="name one by its id")
    raise ArgumentValueError(
        f"no node of graph @{shown(listing.name)} is called {reference!r}",
        help=question(nearest(reference, sorted({line.name for line in listing if line.name}), 3)),
    )


# ---- slices

#: (file, line) of the user's frames by node id, the innermost first.
Frames = Mapping[int, Sequence[tuple[str, int]]]


@dataclass(frozen=True)
class Selection:
    """What to show of a program; None where anything will do.

    region: region name. scope: a Cell path, which includes what is below it. op: op name. start, end: node ids: only
    what depends on `start`, and what `end` depends on, both included, through data and order edges. grad_of: only what
    computes the gradient of this node. at: "FILE:LINE", or a file: only what was made there, or by what is called there.
    dtype: only what makes it.
    """

    region: str | None = None
    scope: str | None = None
    op: str | None = None
    start: int | None = None
    end: int | None = None
    grad_of: int | None = None
    at: str | None = None
    dtype: str | None = None

    @property
    def everything(self) -> bool:
        return self == Selection()

    def __str__(self) -> str:
        parts = [
            f"region {self.region}" if self.region else "",
            f"scope {shown(self.scope)}" if self.scope else "",
            f"op {shown(self.op)}" if self.op else "",
            f"from %{self.start}" if self.start is not None else "",
            f"to %{self.end}" if self.end is not None else "",
            f"gradient of %{self.grad_of}" if self.grad_of is not None else "",
            f"at {shown(self.at)}" if self.at else "",
            f"dtype {shown(self.dtype)}" if self.dtype else "",
        ]
        return ", ".join(filter(None, parts))


def select(listing: Listing, wanted: Selection, frames: Frames = MappingProxyType({})) -> list[Line]:
    """The nodes of a program that a selection asks for, in the order of the text. ArgumentValueError for an unknown id.

    frames: how the user's code got to a node, by id; of the others the text has the innermost line.
    """
    within: set[int] | None = None
    for id in (wanted.start, wanted.end, wanted.grad_of):
        if id is not None:
            find(listing, f"%{id}")
    if wanted.start is not None or wanted.end is not None:
        following = edges(listing)
        within = set(following)
        if wanted.start is not None:
            within &= reached(following, wanted.start) | {wanted.start}
        if wanted.end is not None:
            within &= reached(backwards(following), wanted.end) | {wanted.end}
    if wanted.grad_of is not None:
        gradient = gradient_of(listing, wanted.grad_of)
        within = gradient if within is None else within & gradient
    return [line for line in listing if _wanted(line, wanted, frames) and (within is None or line.id in within)]


def gradient_of(listing: Listing, id: int) -> set[int]:
    """The nodes that compute the gradient of a forward node; of a parameter or input, its gradient and what that comes from:
    the last nodes that belong to each of its readers.
    """
    own = {line.id for line in listing if line.fwd == id}
    if listing[id].op not in ("Param", "Input"):
        return own
    return own | {line.id for line in listing if line.name == f"grad.{listing[id].name}"}


def places(line: Line, frames: Frames) -> Sequence[tuple[str, int]]:
    """The lines at which a node was made, the innermost first."""
    return frames.get(line.id) or [(line.file, line.line)]


def _wanted(line: Line, wanted: Selection, frames: Frames) -> bool:
    scope, dtype = wanted.scope, wanted.dtype
    return (
        (wanted.region is None or line.region == wanted.region)
        and (wanted.op is None or line.op == wanted.op)
        and (scope is None or line.scope == scope or line.scope.startswith(scope + "."))
        and (dtype is None or any(t.partition("[")[0] == short_dtype(dtype) for t in line.types))
        and (wanted.at is None or any(made_at(wanted.at, *place) for place in places(line, frames)))
    )


def made_at(place: str, file: str, line: int) -> bool:
    """Whether a line of a file is at "FILE:LINE", or in "FILE"; the end of a path will do for the file."""
    wanted, colon, number = place.rpartition(":")
    if colon and number.isascii() and number.isdigit():
        if int(number) != line:
            return False
    else:
        wanted = place
    return bool(file) and (file == wanted or file.endswith("/" + wanted.removeprefix("./")))


# ---- what comes before what


class Link(NamedTuple):
    """A node of a path, and the kind of edge that leads to it: "start", "data", "order" or "branch"."""

    line: Line
    link: str


def why_order(listing: Listing, first: int, second: int) -> list[Link]:
    """The shortest path of edges that guarantees the first node before the second; empty if nothing does.

    Whatever is on no path may run in either order: a pass, fusion and the schedule are free to change it.
    """
    following = edges(listing, whole=True)
    path = shortest(following, first, second) if first != second else []
    links = [Link(listing[first], "start")] if path else []
    return links + [Link(listing[b], following[a][b]) for a, b in pairwise(path)]


# ---- the overflow order


#: What several processes do together, begin, or wait for.
_TALKING = frozenset(
    f"{kind}{part}"
    for kind in ("AllReduce", "ReduceScatter", "AllGather", "AllToAll")
    for part in ("", "Start", "Wait")
) | {"Broadcast", "JoinParts", "Reduce", "SumPart"}


class Step(NamedTuple):
    """A station of the overflow order. `link`: how the one before leads here: "data", "order", "start"; "path" when other
    nodes stand between, counted by region in `between`; "beside" where it does not; "branch" where the update holds it.
    """

    node: Line
    link: str
    between: dict[str, int]
    note: str


def overflow_order(listing: Listing) -> list[list[Step]]:
    """For every GetFloatStatus: what runs before the status is cleared, the ClearFloatStatus, what it holds back, the
    check, the update that depends on it, and what waits for the update. Subgraphs count as part of the node that
    holds them. What several processes begin and wait for on the way, and in the update, are stations, too.
    """
    outer = {id: listing[id] for id in listing.blocks[0].nodes}
    following: dict[int, dict[int, str]] = {id: {} for id in outer}
    for line in outer.values():
        for before, kind in line.predecessors().items():
            following[before][line.id] = kind
    spines = []
    for check in outer.values():
        clear = _cleared_by(outer, check) if check.op == "GetFloatStatus" else None
        if clear is not None:
            spines.append(_spine(listing, following, clear, check))
    return spines


def _cleared_by(outer: dict[int, Line], check: Line) -> Line | None:
    """The ClearFloatStatus of a check, behind Depend."""
    line = outer[check.inputs[0][0]]
    while line.op == "Depend":
        line = outer[line.inputs[0][0]]
    return line if line.op == "ClearFloatStatus" else None


def _spine(listing: Listing, following: dict[int, dict[int, str]], clear: Line, check: Line) -> list[Step]:
    count = len(check.inputs) - 1
    checked = f"tests {count} value{'' if count == 1 else 's'}"
    steps = [Step(listing[p], "start", {}, "computed before the status is cleared") for p in clear.after]
    steps.append(Step(clear, "order" if clear.after else "start", {}, ""))
    inside = reached(following, clear.id) & reached(backwards(following), check.id)
    held = [line for i in sorted(inside) if clear.id in (line := listing[i]).after]
    steps += [Step(line, "order", {}, "waits for the cleared status") for line in held]
    back = backwards(following)
    for talk in [outer for outer in map(listing.__getitem__, following) if outer.id in inside and _talks(outer)]:
        way = reached(following, steps[-1].node.id) & reached(back, talk.id)
        leads = following[steps[-1].node.id].get(talk.id)
        link = leads or ("path" if way else "beside")
        steps.append(Step(talk, link, {} if leads else _regions(listing, way), _said(talk)))
    if len(steps) > 1 and _talks(steps[-1].node):
        inside = reached(following, steps[-1].node.id) & reached(back, check.id)
    steps.append(Step(check, "path" if inside else "data", _regions(listing, inside), checked))
    return steps + _after_check(listing, following, check)


def _talks(line: Line) -> bool:
    """Whether a node of several processes begins to talk to the others, or waits for them."""
    size = re.search(r"\bsize=(\d+)", line.attrs)
    return line.op in _TALKING and size is not None and int(size[1]) > 1


def _said(line: Line) -> str:
    if line.op.endswith("Start"):
        return f"begun for {len(line.inputs)} value{'' if len(line.inputs) == 1 else 's'}"
    return "waited for here" if line.op.endswith("Wait") else "all processes together"


def _after_check(listing: Listing, following: dict[int, dict[int, str]], check: Line) -> list[Step]:
    """The conditionals that depend on the check, with what leads there, and the Depends that wait for them."""
    after = reached(following, check.id)
    branches = [i for i in following if i in after and listing[i].op == "If"]
    steps: dict[int, Step] = {}
    for branch in branches:
        for p, i in pairwise(shortest(following, check.id, branch)):
            talk = listing[i]
            steps.setdefault(i, _linked(listing, following, p, i, _said(talk) if _talks(talk) else ""))
        for line in listing:
            if _talks(line) and any(owner == branch for owner, _ in line.path):
                steps[line.id] = Step(line, "branch", {}, _said(line))
    for last in branches or [check.id]:
        for user in sorted(following[last]):
            if listing[user].op == "Depend":
                steps.setdefault(user, _linked(listing, following, last, user, "waits for the update"))
    return list(steps.values())


def _linked(listing: Listing, following: dict[int, dict[int, str]], before: int, id: int, note: str = "") -> Step:
    inner: Counter[str] = Counter(line.path[k][1] for line in listing for k, (o, _) in enumerate(line.path) if o == id)
    subs = [f"{attr}: {count} nodes" for attr, count in inner.items()]
    return Step(listing[id], following[before][id], {}, note or ", ".join(subs))


def _regions(listing: Listing, ids: set[int]) -> dict[str, int]:
    counts = Counter(listing[i].region for i in ids)
    return {r: counts[r] for r in REGIONS if counts[r]}


# ---- counts


def stats(listing: Listing) -> dict[str, Any]:
    """Node counts of a program, subgraphs included: total, edges by kind, by region, by op (most frequent first) per
    region; parameters and their bytes.
    """
    kinds = Counter(kind for line in listing for kind in line.predecessors().values())
    by_region: dict[str, dict[str, int]] = {}
    for region in REGIONS:
        ops = Counter(line.op for line in listing if line.region == region)
        if ops:
            by_region[region] = dict(sorted(ops.items(), key=lambda item: (-item[1], item[0])))
    params = [line for line in listing if line.op == "Param"]
    return {
        "graph": listing.name,
        "nodes": len(listing),
        "edges": {kind: kinds[kind] for kind in ("data", "order")},
        "regions": by_region,
        "parameters": len(params),
        "parameter_bytes": sum(type_bytes(p.types[0]) for p in params),
    }
