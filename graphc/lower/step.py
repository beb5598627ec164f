"""A whole step: from a graph to the program of which the code generator makes text."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphc.ir import Graph, TensorType, Value
from graphc.ir.types import Array
from graphc.lower.body import Body
from graphc.lower.buffers import Buffers, Constants
from graphc.lower.cost import Apart
from graphc.lower.pipeline import REWRITES, Stage, run
from graphc.lower.rewrite import Context, Rewrite, Statements
from graphc_codegen.program import Program

#: Bytes between buffers in the debug build.
_CANARY = 64


@dataclass(frozen=True)
class Lowered:
    """A program, and how it meets the outside.

    inputs      Input node ids in the order of the program's "input" buffers
    params      Param node ids in the order of its "param" buffers
    constants   the arrays of its "const" buffers
    results     (buffer id, type) of every result
    memory      sizes in bytes: "arena", "lower_bound" (of any arena), "params", "constants", "inputs"; "buffers" is a count
    stages      the statements after fusion and after each rewrite
    """

    program: Program
    inputs: tuple[int, ...]
    params: tuple[int, ...]
    constants: tuple[Array, ...]
    results: tuple[tuple[int, TensorType], ...]
    memory: dict[str, int]
    stages: tuple[Stage, ...]

    def texts(self) -> list[tuple[str, str]]:
        """(name, text of the statements) after fusion and after each rewrite."""
        return [(stage.name, stage.text()) for stage in self.stages]


def lower(
    graph: Graph,
    *,
    canary: bool = False,
    profile: bool = False,
    threads: int = 1,
    apart: Callable[[], Apart] | None = None,
    bfloat16: Callable[[], str] = str,
    cache: Callable[[], int] = int,
    rewrites: Sequence[Rewrite] = REWRITES,
) -> Lowered:
    """Lower a graph without Grad nodes, for at most so many threads.

    `canary` keeps buffers apart with 64 bytes between them, for the debug build; `profile` makes calls count their time.
    `apart` measures how far processors are apart, by which several threads pay or do not (None: nobody does).
    `bfloat16` says how the processor multiplies that: by "pairs", by AMX' "tiles", or not (""); if "all by tiles", others
    by these, too.
    `cache` says how many bytes the second cache of a processor has (0: not known).
    `rewrites` are applied in their order; `place_buffers` must be among them.

    Raises LoweringError GC181/GC182 with the user's line for what has no kernel; VerifyError as `pipeline.run` does.
    """
    start = time.perf_counter()
    buffers, constants = Buffers(bfloat16=bfloat16), Constants()
    inputs = [n for n in map(graph.node, graph.inputs) if n.op.name == "Input"]
    params = [n for n in map(graph.node, graph.inputs) if n.op.name == "Param"]
    bound = {Value(n.id): buffers.new(n.type, "input", i) for i, n in enumerate(inputs)}
    bound |= {Value(n.id): buffers.new(n.type, "param", i) for i, n in enumerate(params)}
    body, results = _fused(graph, buffers, constants, bound)
    arrays = tuple(constants.arrays)
    context = Context(
        buffers,
        results=tuple(buffer for buffer, _ in results),
        constants={b: arrays[k] for b, k in buffers.constants()},
        most_threads=threads,
        apart=apart,
        cache=cache(),
        canary=_CANARY if canary else 0,
    )
    stages = run(body, context, rewrites, time.perf_counter() - start)
    layout = context.placed()
    return Lowered(
        Program(
            graph.name, layout.buffers, stages[-1].statements, layout.arena, context.canary, context.threads, profile
        ),
        tuple(n.id for n in inputs),
        tuple(n.id for n in params),
        arrays,
        results,
        {
            "arena": layout.arena,
            "lower_bound": layout.lower_bound,
            "params": sum(n.type.nbytes for n in params),
            "constants": sum(a.nbytes for a in arrays),
            "inputs": sum(n.type.nbytes for n in inputs),
            "buffers": sum(b.space == "arena" for b in layout.buffers),
        },
        tuple(stages),
    )


def _fused(
    graph: Graph, buffers: Buffers, constants: Constants, bound: dict[Value, int]
) -> tuple[Statements, tuple[tuple[int, TensorType], ...]]:
    """The statements that fusion makes of a graph, and (buffer, type) of every result."""
    targets = [(u.value, bound[Value(u.param)]) for u in graph.updates]
    body = Body(graph, buffers, constants, bound, targets)
    copies: dict[Value, int] = {}
    updated = {u.param for u in graph.updates}
    for result in graph.results:
        core = body.source(result.value)
        # Memory from outside is copied: inputs belong to the caller, and a parameter may be about to change.
        if core in bound and core not in copies and (core.node in updated or graph.node(core.node).op.name == "Input"):
            copies[core] = buffers.new(graph.type(core))
            targets.append((core, copies[core]))
    body.run()
    results = []
    for result in graph.results:
        core = body.source(result.value)
        results.append((copies[core] if core in copies else body.of(result.value), graph.type(result.value)))
    return tuple(body.statements), tuple(results)
