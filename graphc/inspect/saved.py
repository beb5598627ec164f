"""Texts of graphs on disk: what a dump directory, a .ir file or a graph.json holds, read without the compiler."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from graphc.errors import ArgumentValueError, ParseError
from graphc.inspect.document import SCHEMA, Record
from graphc.inspect.listing import Listing, read_listing

PASS_FILE = re.compile(r"\d\d+_[\w-]+\.ir\Z", re.ASCII)


def saved_text(path: str | Path) -> str:
    """The text of the graph of a dump directory, a .ir file or a graph.json.

    Raises ArgumentValueError if there is no such file, ParseError if it holds no text of a graph.
    """
    file = graph_file(path)
    text = read_text(file)
    if file.suffix != ".json":
        return text
    document = read_json(file, text)
    found = document.get("text") if isinstance(document, dict) else None
    if not isinstance(found, str) or not str(document.get("schema")).startswith("graphc."):
        raise ParseError("this JSON is no graph of graphc", details=[f"in {str(file)!r}"])
    return found


def saved_listing(path: str | Path) -> Listing:
    """What `saved_text` gives, as lines to look at. Raises ArgumentValueError; ParseError with the file."""
    try:
        return read_listing(saved_text(path))
    except ParseError as error:
        error.details = (f"in {str(path)!r}", *error.details)
        raise


def saved_record(path: str | Path) -> Record | None:
    """The record in a dump directory or a graph.json; None for what has none, such as a .ir file.

    Raises ArgumentValueError if there is no such file, ParseError if it cannot be read.
    """
    file = Path(path)
    file = file / "graph.json" if (file / "graph.json").is_file() else file
    if file.is_file() and file.suffix == ".json":
        document = read_json(file, read_text(file))
        if isinstance(document, dict) and document.get("schema") == SCHEMA:
            return Record.from_document(document)
    return None


def graph_file(path: str | Path) -> Path:
    """The file that holds the graph: of a dump directory its step.ir. Raises ArgumentValueError for another directory."""
    file = Path(path)
    if not file.is_dir():
        return file
    if not (file / "step.ir").is_file():
        raise ArgumentValueError(
            f"{str(path)!r} is no dump: it has no step.ir", help="graphc dump FILE.py:ATTR makes one"
        )
    return file / "step.ir"


def saved_passes(path: str | Path) -> list[tuple[str, str | None]]:
    """(name, text of the graph after it) of every pass of a dump directory; None where the pass left it as it was.

    Raises ArgumentValueError, ParseError.
    """
    root = Path(path)
    return [(name, read_text(root / file) if file else None) for name, file in pass_files(root)]


def pass_files(root: Path) -> list[tuple[str, str | None]]:
    """(name, file of the graph after it) of every pass of a dump directory; ParseError if a name leads elsewhere."""
    document = read_json(root / "graph.json", read_text(root / "graph.json"))
    try:
        listing = [(str(p["name"]), p["file"]) for p in _rows(document["passes"])]
    except (KeyError, TypeError, ValueError):
        raise ParseError(f"{str(root / 'graph.json')!r} has no list of passes") from None
    for _, file in listing:
        if file is not None and not (isinstance(file, str) and PASS_FILE.match(file.removeprefix("passes/"))):
            raise ParseError(f"{str(root / 'graph.json')!r} names {file!r} as a pass file")
    return listing


def _rows(table: Any) -> list[dict[str, Any]]:
    """Rows of a table that is a list of rows, or, as version 2 has it, a dict of columns."""
    if isinstance(table, dict):
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return list(table)


def read_text(path: Path) -> str:
    """A text file; ArgumentValueError if there is none, ParseError if it is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ArgumentValueError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParseError(f"{str(path)!r} is no text file") from None


def read_json(path: Path, text: str) -> Any:
    """Parsed JSON; ParseError otherwise."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{str(path)!r} is no JSON: {error}") from None
