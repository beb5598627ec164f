"""Which nodes of two compiles are the same: by Cell, op and occurrence, as ids mean something within one program only.

Cells are matched first, level by level from the outside in: by name where what they hold is alike, and children of a list by the
order of what they hold, so that one more layer does not shift all later ones. Then parameters by who reads them, then nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from graphc.inspect.listing import Line, Listing, captured

#: Programs are versions of one program, such as two passes make, if so many nodes have an id and op in common.
_SAME = 0.9
#: Groups of nodes larger than this are paired by occurrence, not by their likeness.
_LIKENESS = 2000
#: Cells of a list may be each other's if they have this share of their ops in common.
_ALIKE = 0.5
#: Sequences are compared exactly where this is not less than the product of their lengths.
_EXACT = 250_000


def same_ids(a: Listing, b: Listing) -> bool:
    """Whether a node's id means the same in both."""
    common = sum(1 for line in a if line.id in b.lines and _place(b[line.id]) == _place(line))
    return common >= _SAME * min(len(a), len(b))


def _place(line: Line) -> tuple[str, str, str]:
    return line.op, line.scope, line.name


class Alignment:
    """Pairs of ids of two listings, and what they were found by.

    nodes: id in `b` by id in `a`. cells: Cell path in `b` by Cell path in `a`. owner_a, owner_b: by id the parameter that a
    node of the optimizer or of the overflow check is for, and for a parameter its own name.
    """

    def __init__(self, a: Listing, b: Listing, *, by_id: bool = False) -> None:
        self.a, self.b = a, b
        self.owner_a, self.owner_b = owners(a), owners(b)
        self.cells = _cells(a, b)
        self.nodes: dict[int, int] = {}
        if by_id:
            self.nodes = {id: id for id in a.lines if id in b.lines}
            return
        self._pair_parameters()
        names = {self.a[x].name: self.b[y].name for x, y in self.nodes.items()}
        self._pair(
            [line for line in a if line.id not in self.nodes],
            [line for line in b if line.id not in set(self.nodes.values())],
            lambda line: self._key(line, self.cells.get(line.scope), names.get(self.owner_a.get(line.id, ""))),
            lambda line: self._key(line, line.scope, self.owner_b.get(line.id)),
        )

    def _pair_parameters(self) -> None:
        """Parameters by their first reader, the others, such as state of an optimizer, by their names."""
        readers = [_readers(listing) for listing in (self.a, self.b)]
        own = [
            [line for line in listing if line.op in ("Param", "Input") and not line.path]
            for listing in (self.a, self.b)
        ]
        cells = self.cells

        def of_a(line: Line) -> Hashable:
            found = readers[0].get(line.id)
            return found and (line.op, cells.get(found[0]), *found[1:])

        def of_b(line: Line) -> Hashable:
            found = readers[1].get(line.id)
            return found and (line.op, *found)

        self._pair(own[0], own[1], of_a, of_b)
        taken = set(self.nodes.values())
        names = {self.a[x].name: self.b[y].name for x, y in self.nodes.items()}
        left = [line for line in own[0] if line.id not in self.nodes], [line for line in own[1] if line.id not in taken]

        def renamed(line: Line) -> Hashable:
            owner = self.owner_a.get(line.id, "")
            if owner and owner != line.name and owner in names:
                return line.op, line.name.removesuffix(owner) + names[owner]
            return line.op, line.name

        self._pair(*left, renamed, lambda line: (line.op, line.name))

    def _key(self, line: Line, scope: str | None, owner: str | None) -> Hashable:
        attrs = tuple(attr for _, attr in line.path)
        missing = line.id if scope is None else None  # In a Cell that the other one lacks, like nothing there.
        return attrs, line.region, scope, owner, line.op, missing

    def _pair(
        self, a: Sequence[Line], b: Sequence[Line], key_a: Callable[[Line], Hashable], key_b: Callable[[Line], Hashable]
    ) -> None:
        groups: defaultdict[Hashable, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
        for side, (lines, key) in enumerate(((a, key_a), (b, key_b))):
            for line in lines:
                found = key(line)
                if found is not None:
                    groups[found][side].append(line)
        for left, right in groups.values():
            self.nodes.update((x.id, y.id) for x, y in _matched(left, right))


def _matched(left: Sequence[Line], right: Sequence[Line]) -> Iterable[tuple[Line, Line]]:
    """Nodes of one key, in their order: all if they are as many, else those that are alike."""
    if len(left) == len(right) or max(len(left), len(right)) > _LIKENESS:
        return zip(left, right, strict=False)
    likeness = [[(line.types, line.attrs, len(line.inputs)) for line in side] for side in (left, right)]
    return [(left[i], right[j]) for i, j in _common(likeness[0], likeness[1])]


def _common(
    a: Sequence[Hashable], b: Sequence[Hashable], like: Callable[[Any, Any], float] | None = None
) -> Iterable[tuple[int, int]]:
    """Positions of a common subsequence with the greatest sum of likeness, 0 for what is not alike; by default of a longest one
    of equal items. Of long sequences that of the longest equal runs, which may be less.
    """
    if len(a) * len(b) > _EXACT:
        for i, j, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
            yield from zip(range(i, i + size), range(j, j + size), strict=True)
        return
    worth: dict[tuple[Hashable, Hashable], float] = {}
    for x in set(a):
        for y in set(b):
            worth[x, y] = float(x == y) if like is None else like(x, y)
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            both = worth[a[i], b[j]]
            best[i][j] = max(best[i + 1][j + 1] + both if both else 0.0, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(a) and j < len(b):
        both = worth[a[i], b[j]]
        if both and best[i][j] == best[i + 1][j + 1] + both:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1


def _readers(listing: Listing) -> dict[int, tuple[str, str, int, int]]:
    """By parameter or input: the Cell, op, operand number and occurrence of the first forward node that reads it."""
    found: dict[int, tuple[str, str, int, int]] = {}
    seen: Counter[tuple[str, str, int]] = Counter()
    for line in listing:
        if line.region != "forward" or line.path:
            continue
        for number, (node, _) in enumerate(line.inputs):
            if listing[node].op in ("Param", "Input"):
                at = (line.scope, line.op, number)
                found.setdefault(node, (*at, seen[at]))
                seen[at] += 1
    return found


def owners(listing: Listing) -> dict[int, str]:
    """The parameter that nodes of the optimizer and of the overflow check are for, where it is one: the trainable one that they
    read, whose gradient they read, or whose state; through what they compute.
    """
    params = [line for line in listing if line.op == "Param"]
    trained = {line.name for line in params if "trainable=False" not in line.attrs}
    found: dict[int, str] = {}
    feeds = captured(listing)
    for line in listing:
        if line.id in feeds:
            own = found.get(feeds[line.id], "")
        elif line.op in ("Param", "Input"):
            own = line.name if line.name in trained else _suffix(line.name, trained)
        elif line.name.startswith("grad.") and line.name[len("grad.") :] in trained:
            own = line.name[len("grad.") :]
        elif line.region in ("optimizer", "overflow"):
            of = {found[node] for node, _ in line.inputs if node in found}
            of = of or {found[node] for node in line.after if node in found}
            own = of.pop() if len(of) == 1 else ""
        else:
            own = ""
        if own:
            found[line.id] = own
    return found


def _suffix(name: str, trained: set[str]) -> str:
    """The longest trained name that a name of optimizer state ends with, as `moments.fc.weight` does."""
    parts = name.split(".")
    return next((tail for k in range(1, len(parts)) if (tail := ".".join(parts[k:])) in trained), "")


# ---- Cells


Tree = dict[str, "Tree"]


def _cells(a: Listing, b: Listing) -> dict[str, str]:
    """Cell paths of `b` by those of `a`."""
    found = {"": ""}
    held = [_held(listing) for listing in (a, b)]
    trees = [_tree(h) for h in held]

    def match(ta: Tree, tb: Tree, pa: str, pb: str) -> None:
        own = [lambda n, h=h, p=p: _ops(h, _join(p, n)) for h, p in zip(held, (pa, pb), strict=True)]
        for x, y in _children(ta, tb, *own):
            found[_join(pa, x)] = _join(pb, y)
            match(ta[x], tb[y], _join(pa, x), _join(pb, y))

    match(trees[0], trees[1], "", "")
    return found


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _held(listing: Listing) -> dict[str, tuple[str, ...]]:
    """The ops of the forward nodes of each Cell path and all above it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for line in listing:
        parts = line.scope.split(".")
        for k in range(1, len(parts) + 1) if line.scope else ():
            found[".".join(parts[:k])] += [line.op] if line.region == "forward" else []
    return {path: tuple(ops) for path, ops in found.items()}


def _tree(held: Iterable[str]) -> Tree:
    root: Tree = {}
    for path in held:
        at = root
        for part in path.split("."):
            at = at.setdefault(part, {})
    return root


def _ops(held: dict[str, tuple[str, ...]], path: str) -> tuple[tuple[str, int], ...]:
    """How often a Cell has each op."""
    return tuple(sorted(Counter(held[path]).items()))


def _alike(a: tuple[tuple[str, int], ...], b: tuple[tuple[str, int], ...]) -> float:
    """The share of ops that two Cells have in common; 0 where it is less than half."""
    x, y = Counter(dict(a)), Counter(dict(b))
    share = (x & y).total() / max((x | y).total(), 1)
    return share if share >= _ALIKE else 1.0 if x == y else 0.0


def _children(
    a: Iterable[str],
    b: Iterable[str],
    ops_a: Callable[[str], tuple[tuple[str, int], ...]],
    ops_b: Callable[[str], tuple[tuple[str, int], ...]],
) -> list[tuple[str, str]]:
    """Children of two matched Cells that are each other's: those of a list by what they hold in order, others by name."""
    numbered = [sorted((n for n in side if n.isdigit()), key=int) for side in (a, b)]
    pairs = [(n, n) for n in a if n in set(b) and not n.isdigit()]
    holds = [[ops(n) for n in side] for ops, side in zip((ops_a, ops_b), numbered, strict=True)]
    return pairs + [(numbered[0][i], numbered[1][j]) for i, j in _common(holds[0], holds[1], _alike)]
