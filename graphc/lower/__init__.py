"""Lowering: a graph becomes a finished `Program`. All decisions are taken here: fusion, storage, order, memory.

Knows ops and the IR, and of the code generator only the contract `graphc_codegen.program`.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphc.errors import Loc
from graphc.ir import Graph, TensorType, Value
from graphc.lower.body import Body, Constants
from graphc.lower.buffers import Buffers
from graphc.lower.causal import causal
from graphc.lower.chains import chain
from graphc.lower.epilogue import absorb
from graphc.lower.lifetimes import lives, mark_dead
from graphc.lower.overflow import watch
from graphc.lower.pooling import pool_convolutions
from graphc.lower.sets import join
from graphc.lower.threads import spread
from graphc.ops.tensor.tensor import Array
from graphc_codegen.program import Program

__all__ = ["Lowered", "lower"]


@dataclass(frozen=True)
class Lowered:
    """A program, and how it meets the outside.

    inputs      Input node ids in the order of the program's "input" buffers
    params      Param node ids in the order of its "param" buffers
    constants   the arrays of its "const" buffers
    results     (buffer id, type) of every result
    memory      sizes in bytes: "arena", "lower_bound" (of any arena), "params", "constants", "inputs"; "buffers" is a count
    """

    program: Program
    inputs: tuple[int, ...]
    params: tuple[int, ...]
    constants: tuple[Array, ...]
    results: tuple[tuple[int, TensorType], ...]
    memory: dict[str, int]
    locations: dict[int, Loc]


def lower(graph: Graph, *, canary: bool = False, profile: bool = False, threads: int = 1) -> Lowered:
    """Lower a graph without Grad nodes, for at most so many threads.

    `canary` keeps buffers apart with 64 bytes between them, for the debug build; `profile` makes calls count their time.

    Raises LoweringError GC181/GC182 with the user's line for what has no kernel.
    """
    buffers, constants = Buffers(), Constants()
    inputs = [n for n in map(graph.node, graph.inputs) if n.op.name == "Input"]
    params = [n for n in map(graph.node, graph.inputs) if n.op.name == "Param"]
    bound = {Value(n.id): buffers.new(n.type, "input", i) for i, n in enumerate(inputs)}
    bound |= {Value(n.id): buffers.new(n.type, "param", i) for i, n in enumerate(params)}
    targets = [(u.value, bound[Value(u.param)]) for u in graph.updates]
    body = Body(graph, buffers, constants, bound, targets)
    copies: dict[Value, int] = {}
    for result in graph.results:
        core = body.source(result.value)
        # Memory from outside is copied: inputs belong to the caller, and a parameter may be about to change.
        if core in bound and core not in copies and _may_change(graph, core):
            copies[core] = buffers.new(graph.type(core))
            targets.append((core, copies[core]))
    statements = body.run()
    results = []
    for result in graph.results:
        core = body.source(result.value)
        results.append((copies[core] if core in copies else body.of(result.value), graph.type(result.value)))
    read = [buffer for buffer, _ in results]
    arrays = tuple(n.attrs["value"].array for n in constants.values)
    pooled = pool_convolutions(statements, read, buffers)
    absorbed = absorb(pooled, read)
    masked = causal(absorbed, read, {b: arrays[k] for b, k in buffers.constants()})
    watched = watch(masked, buffers, threads)
    joined = join(chain(watched, read, buffers, threads))
    found = lives(joined, read)
    placed, arena, bound_bytes = buffers.place(found, 64 if canary else 0, reuse=not canary)
    marked = mark_dead(joined, found, {b.id for b in placed if b.space == "arena"})
    program = Program(graph.name, placed, marked, arena, 64 if canary else 0, profile=profile)
    program = spread(program, threads)
    memory = {
        "arena": arena,
        "lower_bound": bound_bytes,
        "params": sum(n.type.nbytes for n in params),
        "constants": sum(a.nbytes for a in arrays),
        "inputs": sum(n.type.nbytes for n in inputs),
        "buffers": sum(b.space == "arena" for b in placed),
    }
    locations = {n.id: n.loc for n in graph if n.loc is not None}
    return Lowered(
        program,
        tuple(n.id for n in inputs),
        tuple(n.id for n in params),
        arrays,
        tuple(results),
        memory,
        locations,
    )


def _may_change(graph: Graph, value: Value) -> bool:
    """Whether entry memory is the caller's, or is overwritten by this step."""
    return graph.node(value.node).op.name == "Input" or any(u.param == value.node for u in graph.updates)
