"""The buffers of a program: what they hold, of which kind, how long; and when most of the arena is alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import accumulate

from graphc.inspect.document import BufferClass, BufferRow, CallRow, Memory
from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.op import Alias
from graphc.lower import Lowered
from graphc.lower.buffers import Held
from graphc.recording.schedule import windows_of
from graphc_codegen.program import ALIGNMENT, Buffer


def buffer_rows(
    graph: Graph,
    lowered: Lowered,
    calls: Sequence[CallRow],
    alive: Mapping[int, tuple[int, int]],
    node_of: Mapping[int, Node],
    weights: Set[str],
    is_gradient: Callable[[Node], bool],
) -> tuple[BufferRow, ...]:
    """The table of buffers that are used. `alive`: the first and the last call of each. `weights`: names of parameters."""
    values = values_of(lowered.stages[-1].buffers.held)
    for window, whole in windows_of(lowered.program.body).items():
        values[whole] = sorted({*values.get(whole, ()), *values.get(window, ())})
    results = {b for b, _ in lowered.results}
    read_by_gradient = {b for c in calls if any(node_of[i].region == "backward" for i in c.nodes) for b in c.reads}
    names = {"input": lowered.inputs, "param": lowered.params}
    rows = []
    for b in lowered.program.buffers:
        if b.id not in alive or b.space == "window":
            continue
        held = [value for value in values.get(b.id, []) if value.node in node_of]
        outside = graph.node(names[b.space][b.position]) if b.space in names else None
        if b.space == "param" and outside is not None:
            kind: BufferClass = "weight" if outside.name in weights else "state"
        else:
            kind = _kind(b, b.id in results, [node_of[v.node] for v in held], b.id in read_by_gradient, is_gradient)
        first, last = alive[b.id]
        rows.append(
            BufferRow(
                id=b.id,
                type=str(TensorType(b.dtype, b.shape)),
                bytes=b.nbytes,
                space=b.space,
                offset=b.position if b.space == "arena" else None,
                first=first,
                last=last,
                values=tuple(map(str, held)),
                class_=kind,
                name=outside.name if outside is not None else "",
            )
        )
    return tuple(rows)


def values_of(held: Sequence[Held]) -> dict[int, list[Value]]:
    """The values that each buffer holds, aliases among them, in the order of their ids."""
    found: dict[int, set[Value]] = {}
    for graph, buffers, views in held:
        for value, buffer in buffers.items():
            found.setdefault(buffer, set()).add(value)
        for node in graph.nodes():
            for value in node.outputs:
                source = _source(graph, value, views)
                if source in buffers:
                    found[buffers[source]].add(value)
    return {b: sorted(values) for b, values in found.items()}


def _source(graph: Graph, value: Value, views: Set[int]) -> Value:
    """The value whose memory holds this one, as `graphc.lower.body.Body.source` has it."""
    while True:
        node = graph.node(value.node)
        if node.op.name == "Assign":
            value = node.inputs[1]
        elif isinstance(node.lower, Alias) or node.id in views:
            value = node.inputs[0]
        else:
            return value


def _kind(
    buffer: Buffer,
    is_result: bool,
    makers: Sequence[Node],
    read_by_gradient: bool,
    is_gradient: Callable[[Node], bool],
) -> BufferClass:
    if buffer.space == "input":
        return "input"
    if buffer.space == "const":
        return "constant"
    if is_result:
        return "output"
    if any(n.region == "backward" or is_gradient(n) for n in makers):
        return "gradient"
    if any(n.region == "forward" for n in makers):
        return "saved" if read_by_gradient else "activation"
    return "workspace"


def memory_of(lowered: Lowered, rows: Sequence[BufferRow], calls: int) -> Memory:
    """Sizes, and the call at which most of the arena is alive."""
    change = [0] * (calls + 1)
    for row in rows:
        if row.space == "arena":
            room = -(-max(row.bytes, 1) // ALIGNMENT) * ALIGNMENT
            change[row.first] += room
            change[row.last + 1] -= room
    alive = list(accumulate(change))[:calls]
    peak = max(alive, default=0)
    sizes = lowered.memory
    weights = sum(r.bytes for r in rows if r.class_ == "weight")
    return Memory(
        arena=sizes["arena"],
        peak=peak,
        peak_call=alive.index(peak) if alive else None,
        parameters=weights,
        state=sizes["params"] - weights,
        constants=sizes["constants"],
        inputs=sizes["inputs"],
        lower_bound=sizes["lower_bound"],
    )
