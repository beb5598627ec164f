"""Golden files of passes: the text of a graph, a line `=====`, the text after the passes.

A folder takes part when it, or the folder above it, has a file `golden.toml`:

    passes = ["simplify", "cse"]     # what runs: names of the pipeline, FILE.py:FUNCTION, module:FUNCTION
    imports = ["my_ops.py"]          # what is run before a file is read: it may declare ops

Without `passes` the folder that a file stands in has the name of its pass. Files count from where `golden.toml` stands.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphc import passes as pipeline
from graphc import scripts
from graphc.errors import ArgumentTypeError, ParseError
from graphc.ir import Graph, parse, verify
from graphc.passes import Pass

SEPARATOR = "\n=====\n"
MARKER = "golden.toml"


@dataclass(frozen=True)
class Golden:
    """One golden file and the names of the passes that run; `imports` are files or modules that are loaded before."""

    path: Path
    passes: tuple[str, ...]
    imports: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    def transforms(self) -> list[Pass]:
        """The passes. Raises ArgumentValueError for one that does not exist."""
        return [pipeline.find(p) for p in self.passes]

    def source(self) -> Graph:
        """The input, verified and frozen. Raises ParseError also when it is not the text that its graph prints."""
        for name in self.imports:
            if name.endswith(".py"):
                scripts.load(Path(name))
            else:
                importlib.import_module(name)
        text = self.path.read_text(encoding="utf-8").partition(SEPARATOR)[0].strip()
        graph = parse(text)
        verify(graph)
        if str(graph) != text:
            raise ParseError(f"{self}: the input prints differently:\n{graph}")
        return graph.freeze()

    def output(self) -> str:
        """The text after the passes. The result is verified, and has the meaning of the input. Raises what passes raise."""
        graph = self.source()
        for transform in self.transforms():
            result = transform(graph)
            verify(result)
            if not any(n.op.name == "Grad" for g in (graph, result) for n in g.nodes()):
                name = pipeline.name_of(transform)
                exact = name not in pipeline.REASSOCIATING
                pipeline.same_meaning(graph, result, who=f"pass {name}", exact=exact)
            graph = result.freeze()
        return str(graph)

    def mismatch(self) -> str | None:
        """What is wrong with the file, or None."""
        expected = self.path.read_text(encoding="utf-8").partition(SEPARATOR)[2].strip()
        made = self.output()
        return None if made == expected else f"{self} gives\n{made}\ninstead of\n{expected}"

    def update(self) -> None:
        """Write the expected output anew."""
        self.path.write_text(f"{self.source()}{SEPARATOR}{self.output()}\n", encoding="utf-8")


def marker_of(path: Path) -> Path | None:
    """The golden.toml that a file belongs to."""
    return next((m for m in (path.parent / MARKER, path.parent.parent / MARKER) if m.is_file()), None)


def at(path: Path) -> Golden | None:
    """The golden file at a path; None where no golden.toml asks for it. Raises ParseError, ArgumentTypeError for its text."""
    marker = marker_of(path)
    if marker is None or path.suffix != ".ir":
        return None
    try:
        asked = tomllib.loads(marker.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ParseError(f"{str(marker)!r} is no TOML: {error}") from None
    for key, value in asked.items():
        if (
            key not in ("passes", "imports")
            or not isinstance(value, list)
            or not all(isinstance(v, str) for v in value)
        ):
            raise ArgumentTypeError(
                f"{str(marker)!r}: {key} = {value!r}", help="it takes passes and imports, each a list of strings"
            )
    passes = asked.get("passes", [path.parent.name])
    return Golden(path, _located(passes, marker), _located(asked.get("imports", []), marker))


def files(folder: Path) -> list[Golden]:
    """The golden files in a folder and below, by path."""
    found = [at(path) for path in sorted(folder.rglob("*.ir"))]
    return [g for g in found if g is not None]


def _located(names: Sequence[str], marker: Path) -> tuple[str, ...]:
    """The names, those of files counted from where golden.toml stands."""

    def located(name: str) -> str:
        file, colon, attr = name.partition(".py")
        return str((marker.parent / f"{file}.py").resolve()) + attr if colon else name

    return tuple(map(located, names))
