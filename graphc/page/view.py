"""What the page holds: the step record in few characters, with the source lines and kernels that belong to it.

The script in the page does the rest (rows, folding, shares of time): it has to do it again whenever something is opened.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphc.page.excerpts import excerpts
from graphc.page.material import Material
from graphc.page.packing import aligned, deltas, digits, indexed, ragged

#: A node's line in text IR: id, attributes. Quoted names and attributes may hold anything.
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf"^ *%(\d+)(?: (?:[^\s\":]+|{_QUOTED}))?: [^=\"]+ = \w+\([^)]*\)(?: \{{((?:[^\"}}]|{_QUOTED})*)\}})?", re.MULTILINE
)
#: A function of the kernels' module.
_FUNCTION = re.compile(r"^define [^@]*@(\w+)\(.*?^}$", re.MULTILINE | re.DOTALL)
#: What the LLVM IR of all kernels together may add to a page, in compressed bytes, and how many lines of each are tried.
_ROOM, _TRIES = 8_000, (100_000, 400, 200, 120, 80, 60, 40, 24, 12)


def view(record: Mapping[str, Any], material: Material) -> dict[str, Any]:
    """The page's data, ready for JSON. record: the document of a step record."""
    nodes, graphs = record["nodes"], record["graphs"]
    locs = list(zip(record["locs"]["file"], record["locs"]["line"], strict=True))
    return {
        "name": record["name"],
        "graphc": record["graphc"],
        "target": record["target"],
        "memory": record["memory"],
        "files": record["files"],
        "locs": {"file": record["locs"]["file"], "line": record["locs"]["line"]},
        "source": excerpts(record["files"], locs),
        "cells": record["cells"],
        "nodes": _nodes(nodes, record["text"]),
        "graphs": graphs,
        "history": _history(record["history"]),
        "passes": _passes(record["passes"], material.gone),
        "buffers": _buffers(record["buffers"]),
        "calls": _calls(record["calls"]),
        "step": _step_lines(material.source, record["calls"]["line"]),
        "kernels": _kernels(material.kernels, set(record["calls"]["kernel"])),
        "profile": _profile(record["profile"], len(record["calls"]["kernel"])),
    }


def _nodes(nodes: Mapping[str, Any], text: str) -> dict[str, Any]:
    attributes = {int(m[1]): m[2] or "" for m in _LINE.finditer(text)}
    ids: list[int] = nodes["id"]
    values = [[_value(v) for v in row] for row in nodes["inputs"]]
    slots = [(k, j, slot) for k, row in enumerate(values) for j, (_, slot) in enumerate(row) if slot]
    return {
        "id": deltas(ids),
        "op": indexed(nodes["op"]),
        "name": nodes["name"],
        "types": indexed(json.dumps(types) for types in nodes["types"]),
        "inputs": aligned([[id for id, _ in row] for row in values], ids),
        "slots": [list(column) for column in zip(*slots, strict=True)],
        "after": aligned(nodes["after"], ids),
        "attrs": indexed(attributes.get(id, "") for id in ids),
        "cell": deltas(-1 if cell is None else cell for cell in nodes["cell"]),
        "locs": indexed(json.dumps(row) for row in nodes["locs"]),
        "region": indexed(nodes["region"]),
        "fwd": [0 if fwd is None else id - fwd for id, fwd in zip(ids, nodes["fwd"], strict=True)],
        "param": indexed(nodes["param"]),
        "graph": deltas(nodes["graph"]),
    }


def _value(text: str) -> tuple[int, int]:
    """Node and slot of "%3" or "%3#1"."""
    id, _, slot = text.removeprefix("%").partition("#")
    return int(id), int(slot or 0)


def _history(history: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "pass": indexed(history["pass"]),
        "rule": indexed(history["rule"]),
        "from": ragged(history["from"]),
        "to": ragged(history["to"]),
    }


def _passes(passes: Mapping[str, Any], gone: Mapping[int, str]) -> dict[str, Any]:
    removed = [id for row in passes["removed"] for id in row if id in gone]
    return {
        "name": passes["name"],
        "nodes": passes["nodes"],
        "ms": digits(ms or 0 for ms in passes["ms"]),
        "removed": ragged(passes["removed"]),
        "added": ragged(passes["added"]),
        "changed": ragged(passes["changed"]),
        "gone": {"id": deltas(removed), "text": [gone[id] for id in removed]},
    }


def _buffers(buffers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": deltas(buffers["id"]),
        "type": indexed(buffers["type"]),
        "bytes": buffers["bytes"],
        "space": indexed(buffers["space"]),
        "offset": buffers["offset"],
        "first": deltas(-1 if first is None else first for first in buffers["first"]),
        "last": deltas(-1 if last is None else last for last in buffers["last"]),
        "values": ragged([[_value(v)[0] for v in row] for row in buffers["values"]]),
        "class": indexed(buffers["class"]),
        "name": buffers["name"],
    }


def _calls(calls: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kernel": indexed(calls["kernel"]),
        "family": indexed(calls["family"]),
        "nodes": ragged(calls["nodes"]),
        "reads": ragged(calls["reads"]),
        "writes": ragged(calls["writes"]),
        "branch": indexed(json.dumps(branch) for branch in calls["branch"]),
        "line": deltas(line or 0 for line in calls["line"]),
        "flops": [flops or 0 for flops in calls["flops"]],
        "bytes": calls["bytes"],
        "threads": calls["threads"],
    }


def _profile(profile: Mapping[str, Any] | None, count: int) -> dict[str, Any] | None:
    """Milliseconds of each call's busiest thread, 0 for one that was not timed; None for a step that nobody profiled."""
    if profile is None:
        return None
    ms = [0.0] * count
    for call, row in zip(profile["calls"]["call"], profile["calls"]["ms"], strict=True):
        ms[call] = max(row, default=0.0)
    return {key: profile[key] for key in ("runs", "step_ms", "gflops", "gbs")} | {"ms": digits(ms)}


def _step_lines(source: str, lines: Iterable[int | None]) -> dict[str, Any]:
    """The lines of step.py on which kernels are called, each with its comment before it."""
    text = source.splitlines()
    wanted = sorted({line for line in lines if line and line <= len(text)})
    return {"line": deltas(wanted), "text": [text[line - 1].strip()[:160] for line in wanted]}


def _kernels(text: str, wanted: set[str]) -> dict[str, Any]:
    """Of every kernel the number of its lines and the first of them, as many as there is room for."""
    found = {m[1]: _body(m[0]) for m in _FUNCTION.finditer(text) if m[1] in wanted}
    for most in _TRIES:
        parts = ["\n".join(lines[:most]) for lines in found.values()]
        if len(zlib.compress("\n".join(parts).encode(), 9)) <= _ROOM or most == _TRIES[-1]:
            break
    return {"name": list(found), "lines": [len(lines) for lines in found.values()], "text": parts}


def _body(function: str) -> Sequence[str]:
    """A function without the fetching of its operands, which is the same in all of them."""
    lines = function.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.startswith("body:")), 0)
    return [lines[0], *lines[begin:]] if begin else lines
