"""A program's text as lines to look at: what the reading commands work on.

Reads what `graphc.ir.to_text` writes, of whatever step or file, without ops, types or NumPy, so that a command starts at once.
Operands have to exist, but nothing is inferred: `graphc.ir.parse` makes a graph that can be compiled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from graphc.errors import ParseError
from graphc.grammar import ABOUT, BLOCK, HEAD, NODE, REGIONS, RESULT, STRING, TAKEN, UPDATE, VALUE, Lines, unquoted

#: Where a node stands: () in the outer graph, else ((owner id, attribute), ...) from outside in.
Path = tuple[tuple[int, str], ...]
#: A result of a node: its id and slot.
Value = tuple[int, int]


class Origin(NamedTuple):
    """The pass and rule that made a node, and from which nodes."""

    made_by: str
    rule: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A node as its line says it. `attrs` is text, `text` the whole line; `fwd` the forward node of a gradient's."""

    id: int
    op: str
    name: str
    types: tuple[str, ...]
    inputs: tuple[Value, ...]
    after: tuple[int, ...]
    attrs: str
    region: str
    scope: str
    file: str
    line: int
    fwd: int | None
    origin: Origin | None
    path: Path
    text: str

    def predecessors(self) -> dict[int, str]:
        """The ids this node waits for, with the kind of edge: "data" or "order"."""
        return dict.fromkeys(self.after, "order") | dict.fromkeys((node for node, _ in self.inputs), "data")


@dataclass(frozen=True, slots=True)
class Block:
    """A graph: the outer one, or that which is `path[-1][1]` of node `path[-1][0]`."""

    name: str
    path: Path
    inputs: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    results: list[tuple[str, Value]] = field(default_factory=list)
    updates: list[tuple[int, Value]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Listing:
    """A program: its nodes by id in the order of the text, and its graphs, the outer one first."""

    name: str
    text: str
    lines: dict[int, Line]
    blocks: list[Block]

    def __getitem__(self, id: int) -> Line:
        return self.lines[id]

    def __len__(self) -> int:
        """The number of nodes, those of subgraphs among them."""
        return len(self.lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines.values())

    def held(self, id: int) -> list[Block]:
        """The subgraphs of a node."""
        return [b for b in self.blocks if b.path and b.path[-1][0] == id]


def read_listing(text: str) -> Listing:
    """The lines of a graph's text. Raises ParseError with the line of the text that is wrong."""
    reader = _Reader(text)
    try:
        name = reader.graph(reader.next(), ())
    except (ValueError, RecursionError) as error:
        if isinstance(error, ParseError):
            raise
        reader.fail(str(error))  # Numbers and strings that Python's own readers refuse.
    if reader.peek() is not None:
        reader.position += 1
        reader.fail("text after the end of the graph")
    return Listing(name, text, reader.found, reader.blocks)


class _Reader(Lines):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.found: dict[int, Line] = {}
        self.blocks: list[Block] = []
        self._node, self._about = re.compile(NODE), re.compile(ABOUT)

    def graph(self, head: str, path: Path) -> str:
        match = re.match(HEAD, head)
        if not match:
            self.fail("expected `graph @name {`")
        block = Block(unquoted(match[1]), path)
        self.blocks.append(block)
        here: set[int] = set()
        region = "forward"
        while not (line := self.next()).startswith(("return", "}")):
            if line.startswith("%"):
                self.node(line, region, block, here)
            elif line.startswith("takes "):
                self.takes(line, block, here)
            elif line.endswith(":") and line[:-1] in REGIONS:
                region = line[:-1]
            else:
                self.fail("expected a node, a region or `return`")
        self.ends(line, block, here)
        return block.name

    def ends(self, line: str, block: Block, here: set[int]) -> None:
        if line.startswith("return"):
            pairs = re.findall(RESULT, line[len("return") :])
            if ", ".join(f"{a}={b}" for a, b in pairs) != line[len("return") :].strip():
                self.fail("expected name=%id pairs")
            block.results.extend((unquoted(name), self.value(value)) for name, value in pairs)
            line = self.next()
        while match := re.match(UPDATE, line):
            block.updates.append((int(match[1]), self.value(match[2])))
            line = self.next()
        if line != "}":
            self.fail("expected `}`")
        self.defined([value for _, value in (*block.results, *block.updates)], here)

    def takes(self, line: str, block: Block, here: set[int]) -> None:
        text, position = line[len("takes ") :], 0
        taken = re.compile(TAKEN)
        while position < len(text):
            match = taken.match(text, position)
            if not match:
                self.fail("expected `takes %id name: type, ...`")
            position = match.end()
            own = match[0].removesuffix(", ")
            fields = ("Input", unquoted(match[2] or ""), (match[3],), (), (), "", "state", "", "", 0, None, None)
            self.add(Line(int(match[1]), *fields, block.path, own), block, here)

    def node(self, line: str, region: str, block: Block, here: set[int]) -> None:
        match = self._node.match(line)
        about = self._about.match(match[8] or "") if match else None
        if not match or not about:
            self.fail("what follows `;` does not parse" if match else "this is no node")
        id, name, types, op, inputs, attrs, after, _ = match.groups()
        scope, file, number, fwd, made_by, rule, sources = about.groups()
        operands = self.values(inputs)
        waits = tuple(node for node, _ in self.values(after))
        self.defined(operands, here)
        made = Line(
            int(id),
            op,
            unquoted(name or ""),
            tuple(filter(None, types[1:-1].split(", "))) if types[0] == "(" else (types,),
            operands,
            waits,
            attrs or "",
            region,
            unquoted(scope or ""),
            unquoted(file or ""),
            int(number or 0),
            int(fwd) if fwd else None,
            Origin(unquoted(made_by), unquoted(rule or ""), tuple(n for n, _ in self.values(sources)))
            if made_by
            else None,
            block.path,
            line,
        )
        if set(waits) - here:
            self.fail(f"%{min(set(waits) - here)} is not defined above")
        self.add(made, block, here)
        for attr in re.findall(r"(\w+)=graph(?=,|\Z)", re.sub(STRING, '""', made.attrs)):
            inner = re.match(BLOCK, self.next())
            if not inner or inner[1] != attr:
                self.fail(f"expected the subgraph `{attr} = graph @...`")
            self.graph(inner[2], (*block.path, (made.id, attr)))

    def add(self, line: Line, block: Block, here: set[int]) -> None:
        if line.id in self.found:
            self.fail(f"there is a node %{line.id} already")
        self.found[line.id] = line
        here.add(line.id)
        block.nodes.append(line.id)
        if line.op in ("Input", "Param"):
            block.inputs.append(line.id)

    def defined(self, values: Sequence[Value], here: set[int]) -> None:
        for node, slot in values:
            if node not in here or slot >= len(self.found[node].types):
                self.fail(f"%{node}{f'#{slot}' if slot else ''} is not defined above")

    def value(self, text: str) -> Value:
        match = re.match(VALUE, text)
        if not match:
            self.fail(f"{text!r} is no value")
        return int(match[1]), int(match[2] or 0)

    def values(self, text: str | None) -> tuple[Value, ...]:
        return tuple(map(self.value, text.split(","))) if text and text.strip() else ()


# ---- edges


#: The kinds of edges, those that say most first.
_KINDS = ("data", "order", "branch")


def edges(listing: Listing, *, whole: bool = False) -> dict[int, dict[int, str]]:
    """The program as one graph, subgraphs included: for every node the ones that wait for it, with the kind of edge: "data",
    "order" or "branch".

    A subgraph's inputs are fed by the trailing operands of the node that holds it (its captures). The operands before them (an
    If's condition) and the nodes it runs after come before every node of the subgraph. What a subgraph returns flows to its
    holder. With `whole` a node that holds subgraphs is one node to what stands around it, which is how it runs: all of a
    subgraph comes after all operands of its holder, and before whatever waits for the holder.
    """
    found: dict[int, dict[int, str]] = {id: {} for id in listing.lines}
    for line in listing:
        for before, kind in line.predecessors().items():
            found[before][line.id] = kind
    for block in listing.blocks[1:]:
        _splice(found, listing, block, whole)
    for inner, outer in captured(listing).items():
        found[outer][inner] = "data"
    return found


def _splice(found: dict[int, dict[int, str]], listing: Listing, block: Block, whole: bool) -> None:
    holder = listing[block.path[-1][0]]
    first = max(len(holder.inputs) - len(block.inputs), 0)
    gates = [node for node, _ in holder.inputs[: len(holder.inputs) if whole else first]] + list(holder.after)
    used = {before for id in block.nodes for before in listing[id].predecessors()} if whole else set()
    for id in block.nodes:
        if not listing[id].predecessors():
            for gate in gates:
                found[gate][id] = "branch"
        if whole and id not in used:
            found[id][holder.id] = "branch"
    for _, (node, _) in block.results:
        found[node][holder.id] = "data"


def captured(listing: Listing) -> dict[int, int]:
    """By input of a subgraph the node outside that feeds it."""
    found: dict[int, int] = {}
    for block in listing.blocks[1:]:
        holder = listing[block.path[-1][0]]
        first = max(len(holder.inputs) - len(block.inputs), 0)
        found.update((inner, outer) for (outer, _), inner in zip(holder.inputs[first:], block.inputs, strict=False))
    return found


def reached(following: dict[int, dict[int, str]], start: int) -> set[int]:
    """What can be reached from a node, which is not among it."""
    seen: set[int] = set()
    left = [start]
    while left:
        for id in following[left.pop()]:
            if id not in seen:
                seen.add(id)
                left.append(id)
    return seen


def backwards(following: dict[int, dict[int, str]]) -> dict[int, dict[int, str]]:
    """The same edges the other way round."""
    turned: dict[int, dict[int, str]] = {id: {} for id in following}
    for id, after in following.items():
        for other, kind in after.items():
            turned[other][id] = kind
    return turned


def _rank(edges: dict[int, str], id: int) -> tuple[int, int]:
    return _KINDS.index(edges[id]), id


def shortest(following: dict[int, dict[int, str]], start: int, end: int) -> list[int]:
    """The ids of a path with the fewest edges, both ends included; empty if there is none. Of several the one along data, then
    order edges, then the one of earlier nodes.
    """
    came: dict[int, int | None] = {start: None}
    layer = [start]
    while layer and end not in came:
        after: list[int] = []
        for id in layer:
            for other in sorted(following[id], key=partial(_rank, following[id])):
                if other not in came:
                    came[other] = id
                    after.append(other)
        layer = after
    path: list[int] = []
    at: int | None = end if end in came else None
    while at is not None:
        path.append(at)
        at = came[at]
    return path[::-1]


# ---- types


def type_bytes(type: str) -> int:
    """Bytes of a value of a type as the text writes it: f32[4,3]. Raises ParseError for what is none."""
    match = re.fullmatch(r"([a-z]+)(\d+)\[((?:\d+(?:,\d+)*)?)\]", type)
    if not match:
        raise ParseError(f"{type!r} is no type")
    return math.prod(map(int, filter(None, match[3].split(",")))) * max(int(match[2]) // 8, 1)


def short_dtype(name: str) -> str:
    """A dtype as the text writes it: "f16" for "f16" and for "float16"."""
    short = {"bool": "b1", "bfloat16": "bf16"}.get(name)
    return short or re.sub(r"\A(?:float|u?int|complex)(?=\d)", lambda m: {"uint": "u"}.get(m[0], m[0][0]), name)
