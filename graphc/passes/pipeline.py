"""The pipeline: one tuple, read top to bottom. Graph in, graph out; verified, timed and dumped between passes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.debug import switches
from graphc.errors import GraphcError, VerifyError
from graphc.ir import Graph, verify
from graphc.ir.verify import Proven
from graphc.ops.declared import reference
from graphc.passes.autodiff import autodiff
from graphc.passes.cleanup import cse, prune, simplify
from graphc.passes.order import order_writes
from graphc.passes.pooling import pool_before_relu

Pass = Callable[[Graph], Graph]

PIPELINE: tuple[Pass, ...] = (
    autodiff,
    simplify,
    cse,
    prune,
    pool_before_relu,
    # Last: its edges would keep dead nodes alive.
    order_writes,
)


@dataclass(frozen=True)
class Stage:
    """The graph after a pass, and what the pass took."""

    name: str
    graph: Graph
    changed: bool
    seconds: float


def run(graph: Graph, passes: Sequence[Pass] = PIPELINE) -> list[Stage]:
    """The graph after each pass, beginning with the traced one. Results are frozen.

    Raises what the passes raise; VerifyError, with the pass's name, when a pass breaks a rule of the IR.
    Switches: verify, debug.
    """
    level = switches().verify
    proven: Proven = {}
    if level:
        verify(graph, proven=proven)
    stages = [Stage("trace", graph.freeze(), True, 0.0)]
    for transform in passes:
        name = transform.__name__
        start = time.perf_counter()
        try:
            new = transform(graph)
        except GraphcError as error:
            error.add_note(f"in pass {name}, after {', '.join(s.name for s in stages)}")
            raise
        seconds = time.perf_counter() - start
        changed = new is not graph
        if changed and level:
            _check(name, graph, new, proven, meaning=level >= 2)
        stages.append(Stage(name, new.freeze(), changed, seconds))
        graph = new
    _report(stages)
    return stages


def _check(name: str, before: Graph, after: Graph, proven: Proven, meaning: bool) -> None:
    try:
        verify(after, proven=proven)
    except VerifyError as error:
        error.message = f"pass {name} made an invalid graph: {error.message}"
        raise
    if meaning and not any(n.op.name == "Grad" for n in before.nodes()):
        same_meaning(before, after)


def same_meaning(before: Graph, after: Graph, seed: int = 0) -> None:
    """Raise VerifyError unless both graphs give the same numbers on random inputs, bit for bit, by the interpreter.

    Each value is computed in its own dtype: what a pass computes at compile time is rounded as it would be in the step.
    """
    rng = np.random.default_rng(seed)
    inputs: dict[int, Any] = {}
    for id in before.inputs:
        type = before.node(id).type
        array = rng.uniform(0.1, 1.0, type.shape) if type.is_float else rng.integers(0, 2, type.shape)
        inputs[id] = array.astype(type.numpy)
    a, b = (reference.run(g, {i: inputs[i] for i in g.inputs}, exact=False) for g in (before, after))
    for x, y in zip(a.results, b.results, strict=True):
        if not np.array_equal(x, y, equal_nan=True):
            raise VerifyError("a pass changed what the graph computes")
    for id, x in a.updates.items():
        if not np.array_equal(x, b.updates[id], equal_nan=True):
            raise VerifyError(f"a pass changed the update of parameter %{id}")


def _report(stages: list[Stage]) -> None:
    level = switches().debug
    for stage in stages if level else ():
        nodes = f"  {len(stage.graph)} nodes" if level >= 2 else ""
        print(f"graphc: {stage.name:14} {stage.seconds * 1e3:7.2f} ms{nodes}", file=sys.stderr)
        if level >= 3 and stage.changed:
            print(stage.graph, file=sys.stderr)
