"""Reads the text form of a graph (graphc.ir.text). Types are inferred again and compared with the text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import numpy as np

from graphc.errors import GraphcError, Loc, ParseError
from graphc.grammar import ABOUT, BLOCK, HEAD, NODE, RESULT, STRING, TAKEN, UPDATE, VALUE, Lines, unquoted
from graphc.ir.graph import REGIONS, Data, Graph, Ids, Origin, Region, Value
from graphc.ir.op import get_op
from graphc.ir.types import TensorType, parse_type

_TOKEN = rf"\s*(<[^<>]*>|{STRING}|[(),]|\w+=|\w+\[[\d,]*\]|[\w.+\-]+)"


def parse(text: str, constants: Mapping[str, np.ndarray[Any, Any]] | None = None) -> Graph:
    """The graph that prints as `text`. `constants` maps hashes of large constants to their data.

    Raises ParseError with the line of the text, whatever is wrong with it.
    """
    reader = _Reader(text, constants or {})
    try:
        graph = reader.graph(reader.next(), Ids())
    except ParseError:
        raise
    except (ValueError, RecursionError) as error:
        # Numbers and strings that Python's own readers refuse.
        reader.fail(str(error))
    if reader.peek() is not None:
        reader.position += 1
        reader.fail("text after the end of the graph")
    return graph


class _Reader(Lines):
    def __init__(self, text: str, constants: Mapping[str, np.ndarray[Any, Any]]) -> None:
        super().__init__(text)
        self.constants = constants

    def graph(self, head: str, ids: Ids) -> Graph:
        match = re.match(HEAD, head)
        if not match:
            self.fail("expected `graph @name {`")
        graph = Graph(unquoted(match[1]), ids)
        region: Region = "forward"
        while not (line := self.next()).startswith(("return", "}")):
            if line.startswith("%"):
                self.node(graph, line, region)
            elif line.startswith("takes "):
                self.takes(graph, line)
            elif line[:-1] in REGIONS and line.endswith(":"):
                region = cast(Region, line[:-1])
            else:
                self.fail("expected a node, a region or `return`")
        results: list[tuple[str, Value]] = []
        updates: list[tuple[int, Value]] = []
        if line.startswith("return"):
            for name, value in self.pairs(line[len("return") :]):
                results.append((unquoted(name), self.value(value)))
            line = self.next()
        inputs = set(graph.inputs)
        while match := re.match(UPDATE, line):
            updates.append((int(match[1]), self.value(match[2])))
            if updates[-1][0] not in inputs:
                self.fail(f"%{match[1]} is not a parameter of this graph")
            line = self.next()
        if line != "}":
            self.fail("expected `}`")
        for _, v in [*results, *updates]:
            if v.node not in graph or v.slot >= len(graph.node(v.node).types):
                self.fail(f"{v} is not a value of this graph")
        graph.set_results(results, updates)
        return graph

    def takes(self, graph: Graph, line: str) -> None:
        text, position = line[len("takes ") :], 0
        while position < len(text):
            match = re.compile(TAKEN).match(text, position)
            if not match:
                self.fail("expected `takes %id name: type, ...`")
            type = parse_type(match[3])
            graph.add("Input", types=(type,), id=int(match[1]), name=unquoted(match[2] or ""), region="state")
            position = match.end()

    def pairs(self, text: str) -> list[tuple[str, str]]:
        pairs = re.findall(RESULT, text)
        if ", ".join(f"{a}={b}" for a, b in pairs) != text.strip():
            self.fail("expected name=%id pairs")
        return pairs

    def value(self, text: str) -> Value:
        match = re.match(VALUE, text)
        if not match:
            self.fail(f"{text!r} is no value")
        return Value(int(match[1]), int(match[2] or 0))

    def values(self, text: str) -> tuple[Value, ...]:
        return tuple(map(self.value, text.split(","))) if text.strip() else ()

    def node(self, graph: Graph, line: str, region: Region) -> None:
        match = re.match(NODE, line)
        if not match:
            self.fail("this is no node")
        id, name, types, op, inputs, attrs, after, about = match.groups()
        start = self.position
        several = types[1:-1].split(", ") if types[1:-1] else []
        declared = tuple(map(parse_type, several)) if types[0] == "(" else (parse_type(types),)
        fields = self.about(about or "")
        values = self.attrs(attrs or "", graph.ids)
        try:
            operands = self.values(inputs)
            for v in operands:
                if v.node not in graph or v.slot >= len(graph.node(v.node).types):
                    self.fail(f"{v} is not defined above")
            node = graph.add(
                get_op(op),
                operands,
                values,
                after=[v.node for v in self.values(after or "")],
                types=declared,
                id=int(id),
                name=unquoted(name or ""),
                region=region,
                **fields,
            )
        except ParseError:
            raise
        except GraphcError as error:
            self.position = start
            self.fail(error.message)
        except Exception as error:
            # A type rule that meets attributes of another kind than it was written for.
            self.position = start
            self.fail(f"{op}: {type(error).__name__}: {error}")
        if node.types != declared:
            self.position = start
            self.fail(f"{op} gives {', '.join(map(str, node.types))}, the text says {types}")

    def attrs(self, text: str, ids: Ids) -> dict[str, Any]:
        parsed = _parse_attrs(text)
        if parsed is None:
            self.fail("these attributes do not parse")
        values = dict(parsed)
        for name, value in values.items():
            if value is Graph:
                block = re.match(BLOCK, self.next())
                if not block or block[1] != name:
                    self.fail(f"expected the subgraph `{name} = graph @...`")
                values[name] = self.graph(block[2], ids)
            elif isinstance(value, Data) and value.array is None and value.digest in self.constants:
                values[name] = Data(self.constants[value.digest], type=value.type)
        return values

    def about(self, text: str) -> dict[str, Any]:
        match = re.match(ABOUT, text)
        if not match:
            self.fail("what follows `;` does not parse")
        scope, file, line, fwd, made_by, rule, sources = match.groups()
        origin = None
        if made_by:
            ids = tuple(v.node for v in self.values(sources or ""))
            origin = Origin(unquoted(made_by), unquoted(rule or ""), ids)
        return {
            "scope": unquoted(scope or ""),
            "loc": Loc(unquoted(file), int(line)) if file else None,
            "fwd": int(fwd) if fwd else None,
            "origin": origin,
        }


@lru_cache(maxsize=4096)
def _parse_attrs(text: str) -> tuple[tuple[str, Any], ...] | None:
    """`a=1, b=(2, 3)` as pairs; None if it does not parse. A subgraph is the class Graph."""
    tokens = re.findall(_TOKEN, text)
    if "".join(tokens).replace(" ", "") != text.replace(" ", ""):
        return None
    pairs: list[tuple[str, Any]] = []
    i = 0
    try:
        while i < len(tokens):
            if not tokens[i].endswith("=") or tokens[i][0] in '"<':
                return None
            name = tokens[i][:-1]
            value, i = _parse_value(tokens, i + 1)
            pairs.append((name, value))
            if i < len(tokens):
                if tokens[i] != ",":
                    return None
                i += 1
    except (ValueError, IndexError, KeyError, OverflowError):
        return None
    return tuple(pairs)


_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, "graph": Graph}


def _parse_value(tokens: list[str], i: int) -> tuple[Any, int]:
    token = tokens[i]
    if token == "(":
        items: list[Any] = []
        i += 1
        while tokens[i] != ")":
            item, i = _parse_value(tokens, i)
            items.append(item)
            if tokens[i] == ",":
                i += 1
        return tuple(items), i + 1
    if token[0] == '"':
        return json.loads(token), i + 1
    if token[0] == "<":
        return _parse_data(token[1:-1]), i + 1
    if token in _WORDS:
        return _WORDS[token], i + 1
    if token.endswith("]"):
        return parse_type(token), i + 1
    try:
        return int(token), i + 1
    except ValueError:
        return float(token), i + 1


def _parse_data(text: str) -> Data:
    head, _, body = text.partition(" ")
    type: TensorType = parse_type(head)
    if body.startswith("#"):
        return Data(None, digest=body[1:], type=type)
    items = body.split(", ") if body else []
    if type.dtype == "bool":
        array = np.array([{"True": True, "False": False}[x] for x in items], dtype=bool)
    else:
        array = np.array([_number(x, type.numpy) for x in items], dtype=type.numpy)
    return Data(array.reshape(type.shape), type=type)


def _number(text: str, dtype: np.dtype[Any]) -> Any:
    """An element of a constant: a decimal, or bits in hexadecimal."""
    if not text.startswith("0x"):
        return dtype.type(text)
    (number,) = np.frombuffer(bytes.fromhex(text[2:])[::-1], dtype)
    return number
