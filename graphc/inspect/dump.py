"""Writing everything about a compiled step into a directory, and reading its graphs back.

summary.txt          what is here, counts, passes
step.ir              the graph that was compiled, as text IR
graph.json           the record of the step for other tools (graphc.inspect.record; schema: docs/step.schema.json)
passes/NN_name.ir    the graph after pass NN, for pass 00 and those that changed something
lower/NN_name.txt    the statements after fusion and after each rewrite of them
constants.npz        constants too large for the text, by the hash that the text shows
step.py              the generated step
kernels.ll           its kernels
memory.json          buffers and sizes in bytes
graph.dot, graph.mmd the graph as a picture, for Graphviz and Mermaid, where that is asked for
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphc.errors import ParseError
from graphc.files import make_directory, write_atomic
from graphc.inspect import export, jsonform, plainjson
from graphc.inspect.document import PassRow, Record
from graphc.inspect.flow import shown
from graphc.inspect.saved import PASS_FILE, graph_file, pass_files, read_json, read_text, saved_record
from graphc.inspect.tables import of_graph, pass_rows
from graphc.ir import REGIONS, Data, Graph, TensorType, dtype_name, parse, to_text, walk
from graphc.ir.text import INLINE_ELEMENTS
from graphc.ir.types import parse_type

#: What `level` may be, 0 being nothing; and the one that writes all but drawings.
LEVELS, EVERYTHING = (0, 1, 2, 3), 2
_DRAWINGS = {"dot": "dot", "mermaid": "mmd"}
_REWRITE_FILE = re.compile(r"\d\d+_[\w-]+\.txt\Z", re.ASCII)
#: How text and JSON show a large constant.
_LARGE = re.compile(r"((?:b1|bf16|f16|f32|f64|i8|i16|i32|i64|u8|u16|u32|u64|c64|c128)\[[\d,]*\]) #([0-9a-f]{16})")
#: Bytes of an array's description in an .npz at most.
_DESCRIPTION = 1024
#: A timestamp for zip members: the same constants give the same file.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_dump(
    directory: str | Path,
    *,
    graph: Graph,
    passes: Sequence[tuple[str, Graph]],
    source: str,
    kernels: str,
    memory: Mapping[str, Any],
    rewrites: Sequence[tuple[str, str]] = (),
    record: Record | None = None,
    level: int = 2,
) -> list[Path]:
    """Write the files listed above; returns their paths, the summary first.

    level, as MindSpore's save_graphs has it: 1 writes the graph alone, as text, JSON and constants; 3 draws it, too.

    passes: (name, graph after it) in order, the first being what the tracer made. rewrites: (name, text of the statements
    after it), the first being what fusion made. memory: plain numbers, strings, lists and dicts. record: of the step; of the
    graph alone if there is none. The directory is made if needed; files of an earlier dump are replaced, each at once, and files
    of passes and rewrites that no longer apply removed.
    Raises ArgumentValueError if the path, or a parent, is a file; OSError.
    """
    root = make_directory(Path(directory))
    files, names = _pass_files(passes) if level >= EVERYTHING else ({}, [None] * len(passes))
    record = record or replace(of_graph(graph), passes=pass_rows(passes))
    listing = tuple(replace(row, file=file) for row, file in zip(record.passes, names, strict=True))
    document = replace(record, passes=listing).to_document()
    files |= {
        "step.ir": (to_text(graph) + "\n").encode(),
        "graph.json": plainjson.dumps(document).encode(),
        "constants.npz": _constants([graph, *(g for _, g in passes)]),
    }
    if level >= EVERYTHING:
        files |= {
            _stage_file("lower", i, name, "txt"): (text + "\n").encode() for i, (name, text) in enumerate(rewrites)
        }
        files |= {
            "step.py": source.encode(),
            "kernels.ll": kernels.encode(),
            "memory.json": plainjson.dumps(dict(memory)).encode(),
        }
    if level > EVERYTHING:
        files |= {f"graph.{suffix}": (export.draw(graph, form) + "\n").encode() for form, suffix in _DRAWINGS.items()}
    for folder, ours in (("passes", PASS_FILE), ("lower", _REWRITE_FILE)):
        inner = make_directory(root / folder) if level >= EVERYTHING else root / folder
        for stale in inner.iterdir() if inner.is_dir() else ():
            if ours.match(stale.name) and f"{folder}/{stale.name}" not in files:
                stale.unlink()
    written = [write_atomic(root / name, data) for name, data in files.items()]
    summary = summary_text(graph, listing, {n: len(d) for n, d in files.items()}, memory)
    return [write_atomic(root / "summary.txt", summary.encode()), *written]


def _pass_files(passes: Sequence[tuple[str, Graph]]) -> tuple[dict[str, bytes], list[str | None]]:
    """Contents of the pass files by relative name; and for each pass its file, if it has one."""
    files: dict[str, bytes] = {}
    names: list[str | None] = []
    before = None
    for index, (name, graph) in enumerate(passes):
        text = to_text(graph)
        file = None
        if text != before:
            file = _stage_file("passes", index, name, "ir")
            files[file] = (text + "\n").encode()
        names.append(file)
        before = text
    return files, names


def _stage_file(folder: str, index: int, name: str, suffix: str) -> str:
    """The relative name of a stage's file, whatever the stage is called."""
    safe = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII)[:60] or "pass"
    return f"{folder}/{index:02}_{safe}.{suffix}"


def _constants(graphs: Iterable[Graph]) -> bytes:
    """An .npz of the constants that the text shows as a hash."""
    large = {
        value.digest: value.array
        for graph in graphs
        for _, node in walk(graph)
        for value in node.attrs.values()
        if isinstance(value, Data) and value.array is not None and value.type.size > INLINE_ELEMENTS
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for digest, array in sorted(large.items()):
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{digest}.npy", _EPOCH), member.getvalue(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def summary_text(graph: Graph, passes: Sequence[PassRow], sizes: Mapping[str, int], memory: Mapping[str, Any]) -> str:
    """summary.txt: what the directory holds, for people."""
    nodes = [n for _, n in walk(graph)]
    regions = Counter(n.region for n in nodes)
    params = [n for n in graph if n.op.name == "Param"]
    values = sum(n.type.nbytes for n in params)
    lines = [
        f"graph @{shown(graph.name)}: {len(nodes)} nodes, {len(params)} parameters ({values} bytes)",
        "",
        "nodes by region",
        *(f"  {r:<10} {regions[r]:>6}" for r in REGIONS if regions[r]),
        "",
        "memory",
        *(f"  {k:<24} {v}" for k, v in memory.items() if isinstance(v, (int, float))),
        "",
        "passes",
        *(
            f"  {index:02} {shown(p.name):<32} {p.nodes:>6} nodes  {p.file or 'unchanged'}"
            for index, p in enumerate(passes)
        ),
        "",
        "files",
        *(f"  {name:<32} {size:>9} bytes" for name, size in sizes.items()),
        "",
        "graphc show DIRECTORY prints the graph, graphc passes DIRECTORY what each pass did.",
    ]
    return "\n".join(lines) + "\n"


# ---- reading


def load(path: str | Path) -> Graph:
    """The graph of a dump directory, of a .ir file (with the constants.npz beside it or above it), or of a graph.json.

    Raises ArgumentValueError if there is no such file, ParseError if it cannot be read as a graph.
    """
    file = graph_file(path)
    text = read_text(file)
    constants = _read_constants(file.parent, {digest: parse_type(type) for type, digest in _LARGE.findall(text)})
    if file.suffix == ".json":
        return jsonform.from_document(read_json(file, text), constants)
    try:
        return parse(text, constants)
    except ParseError as error:
        error.details = (f"in {str(file)!r}", *error.details)
        raise


def load_record(path: str | Path) -> Record:
    """The record in a dump directory or a graph.json. A graph.json of version 1, and a .ir file, give the record of a graph.

    Raises ArgumentValueError if there is no such file, ParseError if it cannot be read.
    """
    file = Path(path)
    file = file / "graph.json" if (file / "graph.json").is_file() else file
    return saved_record(file) or of_graph(load(file))


def load_passes(path: str | Path) -> list[tuple[str, Graph | None]]:
    """(name, graph after it) of every pass of a dump directory; None in place of a graph that the pass left as it
    was.
    """
    root = Path(path)
    return [(name, load(root / file) if file else None) for name, file in pass_files(root)]


def _read_constants(directory: Path, wanted: Mapping[str, TensorType]) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of constants.npz here or, for a pass file, one level up: those that are wanted, as large as their types say;
    each is compared with its hash.
    """
    file = (directory.parent if directory.name == "passes" else directory) / "constants.npz"
    if not wanted or not file.is_file():
        return {}
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            arrays = {k: _read_array(archive, k, type) for k, type in wanted.items() if f"{k}.npy" in names}
    except (
        OSError, ValueError, EOFError, TypeError, NotImplementedError, RuntimeError, OverflowError, MemoryError,
        zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        raise ParseError(f"{str(file)!r} is damaged: {error}") from None
    for key, array in arrays.items():
        dtype = dtype_name(array.dtype)
        if dtype is None or Data(array, type=TensorType(dtype, array.shape)).digest != key:
            raise ParseError(f"{str(file)!r} is damaged: the data of {key} do not match their hash")
    return arrays


def _read_array(archive: zipfile.ZipFile, key: str, type: TensorType) -> np.ndarray[Any, Any]:
    """A member, if it is no longer than an array of this type is."""
    most = type.nbytes + _DESCRIPTION
    with archive.open(f"{key}.npy") as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{key} is longer than {type}")
    made: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
    return made
