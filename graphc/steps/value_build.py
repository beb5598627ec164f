"""A build of a step that keeps what its nodes make, so that it can be looked at node by node without computing it in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphc.debug import second_cache, switches, threads
from graphc.ir import Graph, Node, Value
from graphc.ir.op import Alias, Kernel
from graphc.ir.types import Array
from graphc.lower import lower
from graphc.passes.replicated import is_collective
from graphc.steps.build import build, multiplies_bfloat16
from graphc_codegen import Bound

#: Bytes that are kept at most. What does not fit is left to NumPy.
ROOM = 2**30


class EveryValue:
    """What the nodes of a graph make of given arrays, computed by machine code; its memory stays until the object goes."""

    def __init__(self, graph: Graph) -> None:
        """Compile the graph with as many results as there is room for, or take it from the object cache."""
        self._values = _kept(graph)
        whole = graph.copy()
        whole.set_results([(str(v), v) for v in self._values], ())
        lowered = lower(whole, threads=threads(), bfloat16=multiplies_bfloat16, cache=second_cache)
        self._inputs, self._params = lowered.inputs, lowered.params
        self._results, self._constants = lowered.results, list(lowered.constants)
        self._executable = build(lowered.program, checked=False)
        self._bound: Bound | None = None
        self._state: list[Array] = []
        self._made: dict[Value, Array] = {}

    def __call__(self, given: Mapping[int, Array]) -> dict[Value, Array]:
        """The values that are kept, valid until the next call. given: arrays of the Input and Param nodes by id, only read."""
        if self._bound is None:
            self._state = [given[id].copy() for id in self._params]
            self._bound = self._executable.bind(self._state, self._constants)
            pairs = zip(self._values, self._results, strict=True)
            self._made = {v: self._bound.memory(buffer, type.shape, type.dtype) for v, (buffer, type) in pairs}
        for kept, id in zip(self._state, self._params, strict=True):
            kept[...] = given[id]
        self._bound.run([given[id] for id in self._inputs])
        return self._made


def every_value(graph: Graph) -> EveryValue | None:
    """None in checked mode, which computes in NumPy anyway, and for a graph that talks to other processes: they would wait."""
    if not switches().jit or any(map(is_collective, graph)):
        return None
    return EveryValue(graph)


def _kept(graph: Graph) -> Sequence[Value]:
    """The values to keep: of nodes with kernels of their own or subgraphs first, which NumPy is slowest at."""
    nodes = [n for n in graph if n.op.name not in ("Input", "Param", "Constant") and not isinstance(n.lower, Alias)]
    room = ROOM
    found: list[Value] = []
    for node in sorted(nodes, key=lambda n: not _is_slow(n)):
        size = sum(t.nbytes for t in node.types)
        if size <= room:
            room -= size
            found += node.outputs
    return found


def _is_slow(node: Node) -> bool:
    return isinstance(node.lower, Kernel) or bool(node.graphs())
