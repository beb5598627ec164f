"""Hypothesis strategies: random graphs, and the programs that random graphs are lowered to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ir import Graph
from graphc.lower import lower
from graphc.passes import run
from graphc.testing.random_graphs import random_graph

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "graphc.testing.strategies needs hypothesis: pip install 'graphc[testing]'", name=error.name
    ) from error

if TYPE_CHECKING:
    from graphc_codegen.program import Program


@st.composite
def graphs(draw: st.DrawFn, min_steps: int = 2, max_steps: int = 12) -> Graph:
    """Valid graphs made in so many steps, with inputs, parameters and their updates, branches, loops and reductions.

    Their values are small binary fractions: on inputs made by `small_integers` float32, float64 and vectors agree exactly.
    They shrink to fewer and simpler nodes.
    """
    return random_graph(lambda n: draw(st.integers(0, n - 1)), draw(st.integers(min_steps, max_steps)))


@st.composite
def programs(draw: st.DrawFn, min_steps: int = 2, max_steps: int = 12, max_threads: int = 1) -> Program:
    """Finished programs for the code generator: what random graphs are lowered to after all passes."""
    graph = run(draw(graphs(min_steps, max_steps)))[-1].graph
    threads = draw(st.integers(1, max_threads))
    return lower(graph, canary=draw(st.booleans()), threads=threads).program
