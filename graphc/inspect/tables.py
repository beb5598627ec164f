"""The tables of a record that a graph gives: lines, Cells, graphs, nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphc.errors import Loc
from graphc.inspect.document import CellRow, GraphRow, Line, Machine, NodeRow, PassRow, Record
from graphc.ir import Graph, Node, to_text, walk
from graphc.ir.text import attr_text


@dataclass(slots=True)
class Lines:
    """The files and lines that a record names, each once."""

    files: dict[str, int] = field(default_factory=dict)
    lines: dict[tuple[int, int], int] = field(default_factory=dict)

    def index(self, loc: Loc) -> int:
        """The number of a line."""
        file = self.files.setdefault(loc.file, len(self.files))
        return self.lines.setdefault((file, loc.line), len(self.lines))

    def table(self) -> tuple[Line, ...]:
        return tuple(Line(*pair) for pair in self.lines)


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a Cell: the name of its class, where its construct is defined, where it was made."""

    class_: str = ""
    loc: Loc | None = None
    made: Loc | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a graph alone does not say.

    cells   the Cells that were called, by path
    frames  the user's frames of a node, the innermost first
    param   the name of the parameter that a node belongs to
    origin  pass, rule and sources of a node
    """

    cells: Mapping[str, About] = field(default_factory=dict)
    frames: Callable[[Node], tuple[Loc, ...]] = lambda node: (node.loc,) if node.loc is not None else ()
    param: Callable[[Node], str | None] = lambda node: None
    origin: Callable[[Node], tuple[str, str, tuple[int, ...]] | None] = lambda node: (
        (node.origin.made_by, node.origin.rule, node.origin.sources) if node.origin is not None else None
    )


def of_graph(graph: Graph, known: Knowledge | None = None, version: str = "") -> Record:
    """The record of a graph that was not compiled: what it is, not how it runs."""
    known = known or Knowledge()
    lines = Lines()
    graphs: list[GraphRow] = []
    placed = list(_placed(graph, -1, "", graphs))
    numbers = _numbers(known.cells, (node.scope for node, _ in placed))
    cells = tuple(_cell(path, known.cells.get(path, About()), numbers, lines) for path in numbers)
    nodes = tuple(_node(node, place, known, numbers, lines) for node, place in placed)
    return Record(
        graph.name, version, Machine(), to_text(graph), tuple(lines.files), lines.table(), cells, nodes, tuple(graphs)
    )


def pass_rows(passes: Sequence[tuple[str, Graph]]) -> tuple[PassRow, ...]:
    """The table of passes, from (name, graph after it); without times and files."""
    rows: list[PassRow] = []
    before: dict[int, Node] = {}
    last: Graph | None = None
    for name, graph in passes:
        after = before if graph is last else {n.id: n for _, n in walk(graph)}
        both = () if graph is last or last is None else sorted(before.keys() & after.keys())
        rows.append(
            PassRow(
                name=name,
                nodes=len(after),
                ms=0.0,
                file=None,
                removed=tuple(sorted(before.keys() - after.keys())),
                added=tuple(sorted(after.keys() - before.keys())) if rows else (),
                changed=tuple(i for i in both if _differ(before[i], after[i])),
            )
        )
        before, last = after, graph
    return tuple(rows)


def _differ(a: Node, b: Node) -> bool:
    """Whether two versions of a node compute something else, or wait for something else; subgraphs have nodes of their own."""
    if a is b:
        return False
    plain = ({k: attr_text(v) for k, v in n.attrs.items()} for n in (a, b))
    return (a.op.name, a.inputs, a.after, a.types, next(plain)) != (b.op.name, b.inputs, b.after, b.types, next(plain))


def _placed(graph: Graph, holder: int, attribute: str, graphs: list[GraphRow]) -> Iterator[tuple[Node, int]]:
    """The nodes of a graph and its subgraphs in the order of the text, each with the number of its graph; collects graphs."""
    number = len(graphs)
    results = tuple((name, str(value)) for name, value in graph.results)
    updates = tuple((param, str(value)) for param, value in graph.updates)
    graphs.append(GraphRow(graph.name, holder, attribute, graph.inputs, results, updates))
    inputs = set(graph.inputs)
    for node in (*map(graph.node, graph.inputs), *(n for n in graph if n.id not in inputs)):
        yield node, number
        for attr, sub in node.graphs():
            yield from _placed(sub, node.id, attr, graphs)


def _numbers(cells: Mapping[str, About], scopes: Iterator[str]) -> dict[str, int]:
    """A number for each path and for each one above it, which comes first."""
    numbers = {"": 0}
    for path in (*cells, *scopes):
        if path not in numbers:
            parts = path.split(".")
            for k in range(1, len(parts) + 1):
                numbers.setdefault(".".join(parts[:k]), len(numbers))
    return numbers


def _cell(path: str, about: About, numbers: Mapping[str, int], lines: Lines) -> CellRow:
    loc, made = (None if at is None else lines.index(at) for at in (about.loc, about.made))
    return CellRow(path, about.class_, loc, made, numbers[path.rpartition(".")[0]] if path else -1)


def _node(node: Node, place: int, known: Knowledge, numbers: Mapping[str, int], lines: Lines) -> NodeRow:
    return NodeRow(
        id=node.id,
        op=node.op.name,
        name=node.name,
        types=tuple(map(str, node.types)),
        inputs=tuple(map(str, node.inputs)),
        after=node.after,
        cell=numbers[node.scope],
        locs=tuple(map(lines.index, known.frames(node))),
        region=node.region,
        fwd=node.fwd,
        param=known.param(node),
        graph=place,
        origin=known.origin(node),
    )
