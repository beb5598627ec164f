"""Compiled functions that are called where nothing is compiled: inside of a Cell or a gradient in PYNATIVE_MODE.

Such a call is one node of what is recorded there. Its gradient is a graph of its own, which makes the forward once more, and is
compiled when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc import passes
from graphc.attached import attached
from graphc.debug import second_cache, switches, threads
from graphc.errors import Loc
from graphc.internal_errors import failing
from graphc.ir import Graph, Ids, TensorType, inline, walk
from graphc.ir.builder import fresh
from graphc.ir.types import Array
from graphc.lower import lower
from graphc.ops.functional.printing import PrintLog
from graphc.ops.tensor.parameter import Parameter
from graphc.passes.replicated import is_collective
from graphc.steps.build import apart, build, multiplies_bfloat16, too_large
from graphc.steps.compile_context import compilation
from graphc.steps.compiled_step import CompiledStep
from graphc_codegen.forks import rlock


class CompiledFunction:
    """A graph without parameters as a function of arrays, compiled when it is first called; with its gradients.

    types: of its results. varying: the operands that it can be differentiated for, by position.
    """

    def __init__(self, graph: Graph) -> None:
        """graph: its inputs are the operands; what it would write is among its results."""
        self.graph = graph
        self.types: list[TensorType] = [graph.type(r.value) for r in graph.results]
        self.operands: list[TensorType] = [graph.node(i).type for i in graph.inputs]
        self.varying = tuple(k for k, t in enumerate(self.operands) if t.is_inexact)
        self._gradients: dict[tuple[bool, ...], CompiledFunction] = {}
        self._programs: dict[Any, _Program] = {}
        self._lock = rlock()

    def __call__(self, operands: Sequence[Array], wanted: Sequence[int] | None = None) -> tuple[Array, ...]:
        """The results. Of those that are not `wanted`, by position, only the shape and the dtype are right."""
        kept = tuple(range(len(self.types))) if wanted is None else tuple(wanted)
        # Of halves the operands come as float32.
        given = [np.asarray(a, t.numpy, order="C") for a, t in zip(operands, self.operands, strict=True)]
        made = dict(zip(kept, self._program(kept)(given), strict=True))
        return tuple(
            made[k] if k in made else np.broadcast_to(np.zeros((), t.numpy), t.shape) for k, t in enumerate(self.types)
        )

    def gradient(self, given: tuple[bool, ...]) -> CompiledFunction:
        """Of the operands and of gradients for the results that are `given`: the gradients for the `varying` operands."""
        with self._lock:
            if given not in self._gradients:
                self._gradients[given] = CompiledFunction(_gradient(self.graph, given, self.varying))
            return self._gradients[given]

    def _program(self, kept: tuple[int, ...]) -> _Program:
        on = switches()
        key = kept, on.jit, on.canary, threads()
        with self._lock:
            if key not in self._programs:
                graph = self.graph.copy()
                graph.set_results([(self.graph.results[k].name, self.graph.results[k].value) for k in kept])
                graph.prune()
                with compilation():
                    self._programs[key] = _Program(graph)
            return self._programs[key]


class _Program:
    """The machine code of a graph without parameters."""

    def __init__(self, graph: Graph) -> None:
        on = switches()
        with failing("running the passes", outermost=True, deep=True):
            final = passes.run(graph)[-1].graph

        def locations() -> dict[int, Loc]:
            return {n.id: n.loc for _, n in walk(final) if n.loc is not None}

        with failing("lowering", locations=locations, outermost=True, deep=True):
            lowered = lower(
                final,
                canary=on.canary,
                threads=threads(),
                apart=None if on.threads else apart,
                bfloat16=multiplies_bfloat16,
                cache=second_cache,
            )
        with failing("generating code", locations=locations, outermost=True, deep=True):
            executable = build(lowered.program, checked=not on.jit, locations=locations)
        try:
            self._bound = executable.bind([], list(lowered.constants))
        except MemoryError:
            raise too_large(final, lowered.memory["arena"]) from None
        self._readers = self._bound.readers([(b, type.shape, type.dtype) for b, type in lowered.results])
        places = {id: k for k, id in enumerate(graph.inputs)}
        self._inputs = [places[id] for id in lowered.inputs]
        self._canary = on.canary
        self._lock = rlock()

    def __call__(self, operands: Sequence[Array]) -> list[Array]:
        with self._lock:
            self._bound.run([operands[k] for k in self._inputs])
            if self._canary:
                self._bound.check_canaries()
            return [read() for read in self._readers]


class Call(NamedTuple):
    """A step as a function: what it reads, in the order of its operands (None: the next argument), and writes."""

    function: CompiledFunction
    reads: tuple[Parameter | None, ...]
    writes: tuple[Parameter, ...]


def call_of(step: CompiledStep) -> Call | None:
    """How a step is called as a function of arrays; None for one that cannot be: where sizes or Python numbers among its results
    are counted, where gradients are of rows, where processes talk, and where attributes are set.
    """
    # In a tuple: what is attached is never None.
    held: tuple[Call | None] = attached(step, "call", lambda: (_call_of(step),))
    return held[0]


def _call_of(step: CompiledStep) -> Call | None:
    traced, graph = step.traced, step.passes[0][1].copy()
    talks = any(is_collective(n) for _, n in walk(graph))
    if step.counted is not None or any(traced.numbers) or traced.by_rows or traced.kept or talks:
        return None
    # What is printed has been, when the function is called.
    updates = [u for u in graph.updates if not isinstance(traced.params[u.param], PrintLog)]
    graph.set_results([*graph.results, *((f"new{u.param}", u.value) for u in updates)])
    reads = tuple(traced.params.get(id) for id in graph.inputs)
    # In it parameters are inputs, too.
    return Call(CompiledFunction(fresh(graph, Ids())), reads, tuple(traced.params[u.param] for u in updates))


def _gradient(graph: Graph, given: tuple[bool, ...], varying: tuple[int, ...]) -> Graph:
    """The graph of the gradients of a graph's results for its inputs, which the autodiff pass expands."""
    made = Graph(f"{graph.name}.grad")
    inputs = [
        made.add("Input", types=graph.node(i).types, name=graph.node(i).name, region="state").outputs[0]
        for i in graph.inputs
    ]
    ys = [y for y, has in zip(inline(made, graph, inputs), given, strict=True) if has]
    weights = [made.add("Input", types=(made.type(y),), name=f"grad{k}").outputs[0] for k, y in enumerate(ys)]
    attrs = {"ys": len(ys), "wrt": varying, "names": ("",) * len(varying)}
    request = made.add("Grad", [*ys, *weights, *inputs], attrs, region="backward")
    made.set_results(
        (f"grad.{graph.node(graph.inputs[k]).name}", v) for k, v in zip(varying, request.outputs, strict=True)
    )
    return made
