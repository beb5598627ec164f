"""Passes on text: the verified graph of a text, and what one pass or several make of it."""

from __future__ import annotations

from collections.abc import Sequence

from graphc import passes as pipeline
from graphc.debug import debug
from graphc.ir import Graph, parse, verify
from graphc.passes import Pass


def graph_of(text: str) -> Graph:
    """The verified graph of a text. Raises ParseError, VerifyError."""
    graph = parse(text)
    verify(graph)
    return graph


def transform(source: Graph | str, *passes: Pass | str, meaning: bool = False) -> Graph:
    """What passes, by themselves or by name (`passes.find`), make of a graph or its text; verified after each.

    With `meaning` each must leave the numbers that the interpreter computes as they were. Raises VerifyError, naming the
    pass, and what the passes raise.
    """
    graph = graph_of(source) if isinstance(source, str) else source.copy()
    chosen: Sequence[Pass] = [pipeline.find(p) if isinstance(p, str) else p for p in passes]
    with debug(verify=2 if meaning else 1, debug=0):
        return pipeline.run(graph, chosen)[-1].graph
