"""The pipeline: one tuple, read top to bottom. Graph in, graph out; verified at both ends, timed and dumped between passes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from graphc.debug import switches
from graphc.errors import ArgumentTypeError, VerifyError, user_loc
from graphc.internal_errors import failing
from graphc.ir import Graph, Replaced, verify
from graphc.ops.declared import reference
from graphc.ops.declared.transforms import REQUESTS
from graphc.passes.attention import fuse_attention
from graphc.passes.autodiff import autodiff
from graphc.passes.buckets import bucket_reductions
from graphc.passes.cleanup import cse, prune, simplify
from graphc.passes.complex_parts import split_complex
from graphc.passes.cross_entropy import fuse_cross_entropy
from graphc.passes.pooling import pool_before_relu
from graphc.passes.scans import keep_turns, roll_loops, split_scans
from graphc.passes.scatter import scatter_reductions
from graphc.passes.stages import cut_stages, is_staged, order_stages
from graphc.passes.write_order import order_writes

Pass = Callable[[Graph], Graph]

PIPELINE: tuple[Pass, ...] = (
    # First: what these make has a gradient of its own, without scores; in a loop masks are no constants any more.
    fuse_attention,
    fuse_cross_entropy,
    # The gradient of a loop is a loop.
    roll_loops,
    autodiff,
    # While each gradient still has its forward node.
    cut_stages,
    # The gradient of complex numbers has been taken as that of complex numbers; all that follows sees real ones.
    split_complex,
    simplify,
    scatter_reductions,
    cse,
    prune,
    keep_turns,
    split_scans,
    pool_before_relu,
    order_stages,
    bucket_reductions,
    # Last: its edges would keep dead nodes alive.
    order_writes,
)


#: Passes that compute numbers in another order, so that their last bits may change.
REASSOCIATING = frozenset(
    {"fuse_attention", "fuse_cross_entropy", "split_complex", "split_scans", "scatter_reductions"}
)


@dataclass(frozen=True)
class Stage:
    """The graph after a pass, what the pass took, and what its rules did."""

    name: str
    graph: Graph
    changed: bool
    seconds: float
    log: tuple[Replaced, ...] = ()


def before_buckets(stages: Sequence[Stage]) -> Graph:
    """The graph before collectives were joined, which makes values that differ between processes one with those that do not;
    the last one where they were not.
    """
    places = [k for k, stage in enumerate(stages) if stage.name == bucket_reductions.__name__]
    return stages[places[0] - 1 if places else -1].graph


def before_stages(stages: Sequence[Stage]) -> Graph:
    """The graph before it was cut into stages of a pipeline, which is the same in all processes."""
    places = [k for k, stage in enumerate(stages) if stage.name == cut_stages.__name__]
    return stages[places[0] - 1 if places else -1].graph


def name_of(transform: Pass) -> str:
    """What a pass is called in timings, dumps and errors. Raises ArgumentTypeError for what is no named function."""
    name = getattr(transform, "__name__", None)
    if not callable(transform) or not isinstance(name, str):
        raise ArgumentTypeError(
            f"a pass is a function that takes a Graph and gives one, got {transform!r}",
            loc=user_loc(),
            help="an object or a functools.partial needs a __name__" if callable(transform) else None,
        )
    return name


def run(graph: Graph, passes: Sequence[Pass] = PIPELINE) -> list[Stage]:
    """The graph after each pass, beginning with the traced one. Results are frozen.

    The first and the last graph are verified, and what passes that are not PIPELINE's have made; in checked mode, or with
    `verify=2`, the others too. A last graph that is not valid has them verified after all, to find out who broke it.

    Raises what the passes raise, with a note that names the pass; VerifyError, with the pass's name, when a pass breaks a
    rule of the IR; ArgumentTypeError when one is no function or gives no Graph. Switches: jit, verify, debug.
    """
    on = switches()
    level, checked = on.verify, on.verify >= 2 or (on.verify >= 1 and not on.jit)
    names = [name_of(p) for p in passes]
    if level:
        verify(graph)
    stages = [Stage("trace", graph.freeze(), True, 0.0, tuple(graph.ids.log))]
    for name, transform in zip(names, passes, strict=True):
        start, known = time.perf_counter(), len(graph.ids.log)
        try:
            with failing(f"pass {name}"):
                new = transform(graph)
        except Exception as error:
            if level and not checked:
                _blame(stages)
            error.add_note(f"in pass {name}, after {', '.join(s.name for s in stages)}")
            raise
        seconds = time.perf_counter() - start
        if not isinstance(new, Graph):
            raise ArgumentTypeError(f"pass {name} gives {type(new).__name__}, a pass gives a Graph")
        changed = new is not graph
        if changed and (checked or (level and transform not in PIPELINE)):
            _check(name, graph, new, meaning=level >= 2)
        log = tuple(new.ids.log[known if new.ids is graph.ids else 0 :])
        stages.append(Stage(name, new.freeze(), changed, seconds, log))
        graph = new
    if level and not checked:
        try:
            verify(graph)
            # Who cuts a graph leaves other inputs to other processes.
            cut = [s for s in stages if s.name == cut_stages.__name__ and s.changed]
            _same_interface("the pipeline", (cut or stages)[0].graph, graph)
        except VerifyError:
            _blame(stages)
            raise
    _report(stages)
    return stages


def _blame(stages: Sequence[Stage]) -> None:
    """Raise the VerifyError of the first pass that has broken a rule of the IR, if one has."""
    for before, after in pairwise(stages):
        if after.changed:
            _check(after.name, before.graph, after.graph, meaning=False)


def _check(name: str, before: Graph, after: Graph, meaning: bool) -> None:
    try:
        verify(after)
    except VerifyError as error:
        error.message = f"pass {name} made an invalid graph: {error.message}"
        raise
    if name == cut_stages.__name__ and is_staged(before):
        return  # Other processes have the rest.
    _same_interface(f"pass {name}", before, after)
    if meaning and not any(n.op.name in REQUESTS for n in before.nodes()):
        same_meaning(before, after, who=f"pass {name}", exact=name not in REASSOCIATING)


def same_meaning(before: Graph, after: Graph, seed: int = 0, *, who: str = "a pass", exact: bool = True) -> None:
    """Raise VerifyError unless both graphs give the same numbers on random inputs, bit for bit, by the interpreter.

    Each value is computed in its own dtype: what a pass computes at compile time is rounded as it would be in the step.
    Without `exact` floats are computed in float64 and may differ in their last bits.
    Graphs that hold Grad, Jvp or Vmap nodes have no numbers. `who` is named in the error.
    """

    def same(x: Any, y: Any) -> bool:
        if exact or x.dtype.kind not in "fc":
            return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
        return np.allclose(
            x, y, rtol=1e-9, atol=1e-9 * np.max(np.abs(x), initial=0, where=np.isfinite(x)), equal_nan=True
        )

    _same_interface(who, before, after)
    rng = np.random.default_rng(seed)
    inputs: dict[int, Any] = {}
    for id in before.inputs:
        type = before.node(id).type
        array: Any = rng.integers(0, 2, type.shape)
        if type.is_inexact:
            array = rng.uniform(0.1, 1.0, type.shape)
        if type.is_complex:
            array = array + 1j * rng.uniform(0.1, 1.0, type.shape)
        inputs[id] = array.astype(type.numpy)
    one, other = (reference.run(g, inputs, exact=not exact) for g in (before, after))
    for x, y in zip(one.results, other.results, strict=True):
        if not same(x, y):
            raise VerifyError(f"{who} changed what the graph computes")
    for id, x in one.updates.items():
        if not same(x, other.updates[id]):
            raise VerifyError(f"{who} changed the update of parameter %{id}")


def _same_interface(who: str, before: Graph, after: Graph) -> None:
    """Raise VerifyError unless both graphs take, give and update the same."""
    parts: dict[str, Callable[[Graph], Any]] = {
        "inputs": lambda g: {i: g.node(i).type for i in g.inputs},
        "results": lambda g: [(r.name, g.type(r.value)) for r in g.results],
        "updates": lambda g: {u.param for u in g.updates},
    }
    for what, part in parts.items():
        old, new = part(before), part(after)
        if old != new:
            raise VerifyError(f"{who} changed the {what} of the graph", details=[f"before: {old}", f"after: {new}"])


def _report(stages: list[Stage]) -> None:
    level = switches().debug
    for stage in stages if level else ():
        nodes = f"  {stage.graph.count()} nodes" if level >= 2 else ""
        print(f"graphc: {stage.name:14} {stage.seconds * 1e3:7.2f} ms{nodes}", file=sys.stderr)
        if level >= 3 and stage.changed:
            print(stage.graph, file=sys.stderr)
