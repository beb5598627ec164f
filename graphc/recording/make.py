"""The record of a compiled step, from its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphc.inspect.document import Machine, PassRow, Profile, Record, Rewrite
from graphc.inspect.tables import About, Knowledge, of_graph, pass_rows
from graphc.ir import walk
from graphc.lower import Lowered
from graphc.passes import Stage
from graphc.recording import schedule
from graphc.recording.frames import Frames
from graphc.recording.history import of_passes, of_rewrites, origins
from graphc.recording.memory import buffer_rows, memory_of
from graphc.recording.parameter_owners import gradient_owners, owners, weights
from graphc.trace.cells import CellCall
from graphc_codegen.target import Target
from graphc_codegen.text.render import version


@dataclass(frozen=True, slots=True)
class Parts:
    """What a record is made of: the graph after each pass, the Cells that were called, what lowering made, the text of step.py,
    the machine, and what profiling found.
    """

    stages: Sequence[Stage]
    calls: Sequence[CellCall]
    lowered: Lowered
    source: str
    target: Target
    profile: Profile | None = None


def make(parts: Parts) -> Record:
    """The record; see `graphc.inspect.record`."""
    graph, lowered = parts.stages[-1].graph, parts.lowered
    program = lowered.program
    node_of = {n.id: n for _, n in walk(graph)}
    history = of_passes(parts.stages)
    record = of_graph(graph, _knowledge(parts, history), version())
    plan = schedule.Schedule.of(program.body)
    # With `find_nan` a step computes more than its graph says: those calls stand here without nodes.
    calls = tuple(
        replace(call, nodes=tuple(i for i in call.nodes if i in node_of))
        for call in schedule.call_rows(program, plan, schedule.lines_of(parts.source, program))
    )
    alive = schedule.lifetimes(program, plan, [b for b, _ in lowered.results])
    params = {n.id: n.param for n in record.nodes}
    # Unscaled gradients are gradients.
    buffers = buffer_rows(
        graph,
        lowered,
        calls,
        alive,
        node_of,
        weights(parts.stages[0].graph),
        lambda n: n.region == "overflow" and params[n.id] is not None,
    )
    return replace(
        record,
        target=_machine(parts.target, program.threads),
        history=(*history, *of_rewrites(lowered.stages)),
        passes=_passes(parts.stages),
        buffers=buffers,
        calls=calls,
        memory=memory_of(lowered, buffers, len(calls)),
        profile=parts.profile,
    )


def _machine(target: Target, threads: int) -> Machine:
    features = tuple(f[1:] for f in target.features.split(",") if f.startswith("+"))
    return Machine(target.cpu, features, target.lanes, threads)


def _passes(stages: Sequence[Stage]) -> tuple[PassRow, ...]:
    graphs = [(stage.name, stage.graph) for stage in stages]
    return tuple(replace(row, ms=stage.seconds * 1e3) for row, stage in zip(pass_rows(graphs), stages, strict=True))


def _knowledge(parts: Parts, history: tuple[Rewrite, ...]) -> Knowledge:
    traced, final = parts.stages[0].graph, parts.stages[-1].graph
    ids = [n.id for _, n in walk(traced)]
    cells: dict[str, About] = {}
    for call in parts.calls:
        cells.setdefault(call.path, About(call.kind.__name__, call.definition, call.made))
    frames = Frames.of(parts.calls, history, ids)
    log = [entry for stage in parts.stages for entry in stage.log]
    params = owners(traced, history, (n.id for _, n in walk(final))) | gradient_owners(log, traced)
    made = origins(history, max(ids, default=-1) + 1)
    return Knowledge(cells, frames, lambda n: params.get(n.id), lambda n: made.get(n.id))
