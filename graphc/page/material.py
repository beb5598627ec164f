"""What a page shows beside the step record: generated code, and the text of nodes that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from graphc.inspect.dump import load_passes
from graphc.inspect.saved import read_text
from graphc.ir import Graph, node_text, walk


class Material(NamedTuple):
    """Empty where it is not at hand.

    source: the generated step. kernels: the LLVM IR. gone: lines of nodes that a pass has removed, by id.
    """

    source: str = ""
    kernels: str = ""
    gone: Mapping[int, str] = {}


def material_of(source: str, kernels: str, passes: Iterable[tuple[str, Graph | None]]) -> Material:
    """passes: (name, graph after it), None for one that a pass left as it was."""
    return Material(source, kernels, _gone([graph for _, graph in passes if graph is not None]))


def read_material(path: str | Path) -> Material:
    """That of a dump directory; a file of its own has none. Raises ParseError and ArgumentValueError for a damaged one."""
    root = Path(path)
    if not root.is_dir():
        return Material()
    texts = [read_text(root / name) if (root / name).is_file() else "" for name in ("step.py", "kernels.ll")]
    passes = load_passes(root) if (root / "passes").is_dir() and (root / "graph.json").is_file() else []
    return material_of(texts[0], texts[1], passes)


def _gone(graphs: list[Graph]) -> dict[int, str]:
    """Nodes of the graphs that the last one lacks, as they were last."""
    found: dict[int, str] = {}
    if graphs:
        left = {node.id for _, node in walk(graphs[-1])}
        for graph in dict.fromkeys(graphs[:-1]):
            for _, node in walk(graph):
                if node.id not in left:
                    found[node.id] = node_text(node).split("  ; ")[0]
    return found
