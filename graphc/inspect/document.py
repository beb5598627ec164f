"""What a step record is made of, and its form as JSON: a table, such as `nodes`, is an object with a list for each column.

docs/step.schema.json says the same for other programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from graphc.errors import ParseError
from graphc.inspect import columns

if TYPE_CHECKING:
    from graphc.ir import Graph

SCHEMA, VERSION = "graphc.step", 2

Ids = tuple[int, ...]
#: What a buffer holds.
BufferClass = Literal[
    "weight", "state", "saved", "activation", "gradient", "workspace", "constant", "input", "output"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    """What a step was compiled for.

    cpu       LLVM's name of the processor; "" where nothing was compiled
    features  the features of the processor that are used, by LLVM's names
    lanes     numbers of 32 bits in a vector
    threads   how many threads run the step
    """

    cpu: str = ""
    features: tuple[str, ...] = ()
    lanes: int = 0
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's.

    file  index into `files`
    line  counted from 1
    """

    file: int
    line: int


@dataclass(frozen=True, slots=True)
class CellRow:
    """A Cell that the step calls, or one between two of them. The outermost one is the first row.

    path    from the outermost Cell, as its cells_and_names() gives it; "" for that Cell itself
    class   name of its class; "" where it is not known
    loc     where its `construct` is defined, an index into `locs`; null where it is not known
    made    where it was made, an index into `locs`; null where it is not known
    parent  index of the Cell that holds it; -1 for the outermost one
    """

    path: str
    class_: str
    loc: int | None
    made: int | None
    parent: int


@dataclass(frozen=True, slots=True)
class NodeRow:
    """An operation of the graph that was compiled, or of one of its subgraphs.

    id      never used twice in a program, and kept through the passes
    op      name of the operation
    name    the user's name for the value; "" where there is none
    types   of the results, such as "f32[32,10]"
    inputs  operands: "%3" is the first result of node 3, "%3#1" its second
    after   ids of the nodes that must run before, although no data flows from them
    cell    index into `cells`
    locs    the user's frames, the innermost first: indices into `locs`
    region  part of the training step: state, forward, backward, overflow or optimizer
    fwd     id of the forward node whose gradient it helps to compute; null for none
    param   name of the parameter that it updates, unscales, clips or is the gradient of; null for none
    graph   index into `graphs`
    origin  the pass and the rule that made it, and the ids of the nodes that it was made from; null for the tracer's
    """

    id: int
    op: str
    name: str
    types: tuple[str, ...]
    inputs: tuple[str, ...]
    after: Ids
    cell: int
    locs: Ids
    region: str
    fwd: int | None
    param: str | None
    graph: int
    origin: tuple[str, str, Ids] | None


@dataclass(frozen=True, slots=True)
class GraphRow:
    """The graph of the step, which is the first row, or a branch or a part of a loop.

    name       of the graph
    node       id of the node that holds it; -1 for the step
    attribute  of that node, such as "then" or "body"; "" for the step
    inputs     ids of its Input and Param nodes
    results    names and values, ("loss", "%9")
    updates    ids of Param nodes, and the values that the parameters have after the step
    """

    name: str
    node: int
    attribute: str
    inputs: Ids
    results: tuple[tuple[str, str], ...]
    updates: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What one application of a rule did.

    pass  the pass over the graph, or the rewrite of statements; "trace" for tracing
    rule  its name in the pass
    from  ids of the nodes that gave way, or that the new ones were made from. They need not exist any more
    to    ids of the nodes that stand for them, or were made; none where what was unused is gone
    """

    pass_: str
    rule: str
    from_: Ids
    to: Ids


@dataclass(frozen=True, slots=True)
class PassRow:
    """A pass over the graph, in the order in which they ran; the first is tracing.

    name     of the pass
    nodes    nodes after it, those of subgraphs included
    ms       milliseconds that it took
    file     file of a dump with the graph after it; null where it changed nothing
    removed  ids of the nodes that are gone
    added    ids of the nodes that are new
    changed  ids of the nodes that are there before and after, and not the same
    """

    name: str
    nodes: int
    ms: float
    file: str | None
    removed: Ids
    added: Ids
    changed: Ids = ()


@dataclass(frozen=True, slots=True)
class BufferRow:
    """Memory of the step.

    id      number in the program
    type    of its contents, such as "f32[32,10]"
    bytes   its size
    space   whose it is: input, param, const or arena
    offset  in the arena, in bytes; null elsewhere
    first   index of the first call at which it is alive
    last    index of the last call at which it is alive
    values  what it holds, in the order of their ids: "%3", "%3#1"; an alias stands beside its operand
    class   saved: a forward value that the gradient reads; activation: another forward value; gradient: a backward value;
            state: a parameter without gradient, optimizer state among them; workspace: scratch memory and the like
    name    of the parameter or input; "" for others
    """

    id: int
    type: str
    bytes: int
    space: Literal["input", "param", "const", "arena"]
    offset: int | None
    first: int
    last: int
    values: tuple[str, ...]
    class_: BufferClass
    name: str


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call of a kernel, in the order of execution: the ways of an If one after the other, a loop's condition before its body.

    index    its number in this table
    kernel   symbol in kernels.ll
    family   kind of kernel
    nodes    ids of all nodes that it computes
    reads    ids of the buffers that it reads
    writes   ids of the buffers that it writes
    branch   the If and While nodes around it and the arm of each, the outermost first
    line     in step.py, counted from 1; null where there is none
    flops    floating point operations, a multiply-add being two; null where they are not known
    bytes    bytes that it reads and writes at least
    threads  how many threads share it
    """

    index: int
    kernel: str
    family: str
    nodes: Ids
    reads: Ids
    writes: Ids
    branch: tuple[tuple[int, str], ...]
    line: int | None
    flops: int | None
    bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Sizes in bytes.

    arena        what is allocated for all that the step computes
    peak         the most bytes of the arena that are alive at once
    peak_call    index of the call at which that is; null where there is none
    parameters   trainable parameters
    state        other parameters, optimizer state among them
    constants    arrays that the step only reads
    inputs       one batch
    lower_bound  the least that any arena would need
    """

    arena: int = 0
    peak: int = 0
    peak_call: int | None = None
    parameters: int = 0
    state: int = 0
    constants: int = 0
    inputs: int = 0
    lower_bound: int = 0


@dataclass(frozen=True, slots=True)
class CallTime:
    """The time of a call.

    call    index into `calls`
    ms      milliseconds per run in which each thread worked on it, medians
    waited  milliseconds per run that each thread waited for others before it, medians
    count   how often it ran in one run of the step
    """

    call: int
    ms: tuple[float, ...]
    waited: tuple[float, ...]
    count: float


@dataclass(frozen=True, slots=True)
class Slice:
    """What a thread did in one run of the step. Of a call in a loop it is the last turn, with the mean time of all turns.

    call    index into `calls`
    thread  its number; 0 is the one that called the step
    start   milliseconds from the first call of the run until the thread came to this one
    waited  milliseconds that it waited for others then
    ms      milliseconds that it worked on it after that
    """

    call: int
    thread: int
    start: float
    waited: float
    ms: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What profiling found.

    runs        runs that were timed
    step_ms     milliseconds per run of the step, the median
    counted_ms  milliseconds per run of its profiling build, which counts the time of its calls, the median
    covered     share of a run of the profiling build that its calls take in the first thread, waiting included, the median
    calls       the time of each call
    timeline    the run of the profiling build whose time is the median
    gflops      floating point operations per nanosecond that this machine can do at most; null where that was not measured
    gbs         bytes per nanosecond that it can move at most; null where that was not measured
    """

    runs: int
    step_ms: float
    counted_ms: float
    covered: float
    calls: tuple[CallTime, ...]
    timeline: tuple[Slice, ...]
    gflops: float | None
    gbs: float | None


@dataclass(frozen=True, slots=True)
class Record:
    """One compiled step as plain data. Of a graph that was never compiled it has no calls and no buffers.

    name     of the graph
    graphc   version that compiled it
    target   the machine
    text     the graph as text, from which it can be rebuilt (`graphc.ir.parse`)
    files    names of the user's files
    locs     lines in them
    cells    the network
    nodes    operations, in the order of the text, those of subgraphs included
    graphs   the graph of the step and its subgraphs
    history  what became of nodes in the passes and the rewrites of statements, in that order
    passes   what ran
    buffers  memory
    calls    what runs, in order
    memory   sizes
    profile  times; null where nobody measured them
    """

    name: str
    graphc: str
    target: Machine
    text: str
    files: tuple[str, ...]
    locs: tuple[Line, ...]
    cells: tuple[CellRow, ...]
    nodes: tuple[NodeRow, ...]
    graphs: tuple[GraphRow, ...]
    history: tuple[Rewrite, ...] = ()
    passes: tuple[PassRow, ...] = ()
    buffers: tuple[BufferRow, ...] = ()
    calls: tuple[CallRow, ...] = ()
    memory: Memory = Memory()
    profile: Profile | None = None

    def to_document(self) -> dict[str, Any]:
        """Plain data for JSON, with schema and version; tables are objects of columns."""
        return document(**columns.encode_record(self))

    def only(self, ids: Iterable[int]) -> Record:
        """These of the nodes, where they stand in the network and in the user's files: nothing of how they run."""
        wanted = set(ids)
        graphs = tuple(
            replace(
                g,
                node=g.node if g.node in wanted else -1,
                inputs=tuple(i for i in g.inputs if i in wanted),
                updates=tuple(u for u in g.updates if u[0] in wanted),
            )
            for g in self.graphs
        )
        return Record(
            self.name, self.graphc, self.target, "", self.files, self.locs, self.cells,
            tuple(n for n in self.nodes if n.id in wanted), graphs,
        )  # fmt: skip

    @staticmethod
    def from_document(document: Any) -> Record:
        """The inverse of `to_document`. Raises ParseError for anything else, dangling references included."""
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ParseError("this JSON is no record of a step", help=f'expected {{"schema": "{SCHEMA}", ...}}')
        if document.get("version") != VERSION:
            raise ParseError(
                f"this record of a step has version {document.get('version')!r}, only {VERSION} can be read"
            )
        record: Record = columns.decode_record(Record, document)
        _require_sound(record)
        return record

    def graph(self) -> Graph:
        """The graph, rebuilt from its text. Large constants have their hash, not their data: `graphc.inspect.dump.load` has."""
        from graphc.ir import parse  # Here, so that records are read quickly.

        return parse(self.text)


def document(**sections: Any) -> dict[str, Any]:
    """Sections of a record, or others about a step, with the schema that they follow."""
    return {"schema": SCHEMA, "version": VERSION, **sections}


#: Sections that commands print beside those of a record.
_OTHERS = {
    "order": "graphc show --order: for each overflow check what runs before it, what it waits for, and what waits for it",
    "stats": "graphc show --stats: nodes, edges, parameters",
    "diff": "graphc diff: what is different, by kind; Cells and nodes that were inserted, removed and changed",
    "why": "graphc why: history of a node, its lines, calls and buffers",
    "why_order": "graphc why-order: whether a node runs before another one, and the path of edges that guarantees it",
    "alive": "graphc mem: bytes alive at each call, and what is alive at the peak by class and Cell",
    "process": "graphc mem: bytes of the process that are in memory; null where nothing was run",
    "shares": "graphc profile: milliseconds by Cell, op and kernel",
    "nan": "graphc nan: reports of values that are not finite: graph, step, skipped, first, above, bound, harm, loss_scale",
}


def schema() -> dict[str, Any]:
    """The JSON Schema of the document, which docs/step.schema.json holds."""
    body = columns.schema(Record)
    head = {"schema": {"const": SCHEMA}, "version": {"const": VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A step that graphc compiled",
        "description": "A record of a step has all sections but those that single commands print. docs/debugging.md.",
        "type": "object",
        "required": list(head),
        "properties": head | body["properties"] | {key: {"description": text} for key, text in _OTHERS.items()},
    }


# ---- what a document may say


def _require_sound(record: Record) -> None:
    """ParseError for references to rows, nodes and buffers that do not exist, and for Cells that are their own parents."""
    files, locs, cells = len(record.files), len(record.locs), len(record.cells)
    graphs, calls = len(record.graphs), len(record.calls)
    ids = _unique("nodes", (n.id for n in record.nodes))
    buffers = _unique("buffers", (b.id for b in record.buffers))
    _require("locs.file", (x.file for x in record.locs), range(files))
    for where, wanted in (("loc", [c.loc for c in record.cells]), ("made", [c.made for c in record.cells])):
        _require(f"cells.{where}", (x for x in wanted if x is not None), range(locs))
    for k, cell in enumerate(record.cells):
        _require("cells.parent", [cell.parent], range(-1, k))
    _require("nodes.cell", (n.cell for n in record.nodes), range(cells))
    _require("nodes.locs", (i for n in record.nodes for i in n.locs), range(locs))
    _require("nodes.graph", (n.graph for n in record.nodes), range(graphs))
    _require("graphs.node", (g.node for g in record.graphs), ids | {-1})
    _require("graphs.inputs", (i for g in record.graphs for i in g.inputs), ids)
    _require("graphs.updates", (i for g in record.graphs for i, _ in g.updates), ids)
    _require("calls.index", (c.index for c in record.calls), range(calls))
    _require("calls.nodes", (i for c in record.calls for i in c.nodes), ids)
    _require("calls.reads", (b for c in record.calls for b in c.reads), buffers)
    _require("calls.writes", (b for c in record.calls for b in c.writes), buffers)
    if calls:
        _require("buffers.first", (b.first for b in record.buffers), range(calls))
        _require("buffers.last", (b.last for b in record.buffers), range(calls))
    peak = record.memory.peak_call
    _require("memory.peak_call", () if peak is None else (peak,), range(calls))
    if record.profile is not None:
        _require("profile.calls", (t.call for t in record.profile.calls), range(calls))
        _require("profile.timeline", (t.call for t in record.profile.timeline), range(calls))


def _unique(what: str, ids: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for id in ids:
        if id in found:
            raise ParseError(f"this record of a step is damaged: {what} has {id} twice")
        found.add(id)
    return found


def _require(where: str, values: Iterable[int], known: range | set[int]) -> None:
    for value in values:
        if value not in known:
            raise ParseError(f"this record of a step is damaged: {where} names {value}, which does not exist")
