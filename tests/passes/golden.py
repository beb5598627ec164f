"""Golden files: the text of a graph, a line `=====`, the text after the pass that the folder is named after."""

from __future__ import annotations

from pathlib import Path

from graphc.ir import Graph, parse, verify
from graphc.passes import PIPELINE

FOLDER = Path(__file__).parent
SEPARATOR = "\n=====\n"
PASSES = {p.__name__: p for p in PIPELINE}


def files() -> list[Path]:
    return sorted(FOLDER.glob("*/*.ir"))


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def source(path: Path) -> Graph:
    """The input of a golden file, verified. Its text must be the one that the graph prints."""
    text = path.read_text().partition(SEPARATOR)[0].strip()
    graph = parse(text)
    verify(graph)
    assert str(graph) == text, f"{name(path)}: the input prints differently:\n{graph}"
    return graph


def output(path: Path) -> str:
    """The text after the pass, whose result is verified."""
    result = PASSES[path.parent.name](source(path))
    verify(result)
    return str(result)


def mismatch(path: Path) -> str | None:
    """What is wrong with a golden file, or None."""
    expected = path.read_text().partition(SEPARATOR)[2].strip()
    made = output(path)
    return None if made == expected else f"{name(path)} gives\n{made}\ninstead of\n{expected}"


def update(path: Path) -> None:
    path.write_text(f"{source(path)}{SEPARATOR}{output(path)}\n")
