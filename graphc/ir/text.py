"""The text form of a graph: printing. `graphc.ir.parse` reads it back to identical text.

    graph @name {
      state:
        %0 fc.weight: f32[10,84] = Param()
      forward:
        %1 x: f32[32,84] = Input()
        %2: f32[32,10] = MatMul(%1, %0) {transpose_b=True}  ; network.fc @ model.py:41
      backward:
        %5 grad.fc.weight: f32[10,84] = MatMul(%4, %1) {transpose_a=True}  ; network.fc @ model.py:41 grad of %2 by autodiff
      return loss=%9
      update %0 = %8  ; fc.weight
    }

Inputs come first, the others in topological order. A section line gives the region of the nodes below it. Attributes that have
their default are left out. A subgraph stands below its node and begins with what it `takes`. Grammar: docs/ir.md.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from graphc.errors import Loc
from graphc.grammar import quoted
from graphc.ir.graph import Data, Graph, Node
from graphc.ir.types import TensorType

#: Constants up to this many elements are printed in full, larger ones as a hash.
INLINE_ELEMENTS = 16

#: Lists are broken into lines of about this many characters.
WIDTH = 120

_BARE = re.compile(r"[A-Za-z_][\w.\-]*\Z", re.ASCII)
_BARE_FILE = re.compile(r"[\w./<>\-]+\Z", re.ASCII)


def to_text(graph: Graph) -> str:
    """The whole graph as text, without a final newline."""
    return "\n".join(_graph_lines(graph, ""))


def node_text(node: Node) -> str:
    """One node's line, without its subgraphs."""
    return _node_line(node)


def _graph_lines(graph: Graph, indent: str) -> list[str]:
    lines = [f"{indent}graph @{_name(graph.name)} {{"]
    region = None
    inputs = set(graph.inputs)
    ordered = [*map(graph.node, graph.inputs), *(n for n in graph if n.id not in inputs)]
    if indent:
        taken, ordered = ordered[: len(inputs)], ordered[len(inputs) :]
        lines += _takes(taken, f"{indent}  takes ")
    for node in ordered:
        if node.region != region:
            region = node.region
            lines.append(f"{indent}  {region}:")
        lines.append(f"{indent}    {_node_line(node)}")
        for attr, sub in node.graphs():
            block = _graph_lines(sub, indent + "      ")
            lines.append(f"{indent}      {attr} = {block[0].lstrip()}")
            lines += block[1:]
    returned = ", ".join(f"{_name(r.name)}={r.value}" for r in graph.results)
    lines.append(f"{indent}  return {returned}".rstrip())
    for u in graph.updates:
        lines.append(f"{indent}  update %{u.param} = {u.value}  ; {_name(graph.node(u.param).name or '_')}")
    lines.append(f"{indent}}}")
    return lines


def _takes(inputs: list[Node], prefix: str) -> list[str]:
    """What a subgraph captures, several to a line."""
    lines: list[str] = []
    for node in inputs:
        item = f"%{node.id}{' ' + _name(node.name) if node.name else ''}: {node.type}"
        if lines and len(lines[-1]) + len(item) < WIDTH:
            lines[-1] += f", {item}"
        else:
            lines.append(prefix + item)
    return lines


def _node_line(node: Node) -> str:
    types = str(node.types[0]) if len(node.types) == 1 else f"({', '.join(map(str, node.types))})"
    name = f" {_name(node.name)}" if node.name else ""
    text = f"%{node.id}{name}: {types} = {node.op.name}({', '.join(map(str, node.inputs))})"
    defaults = node.op.attrs
    given = {k: v for k, v in node.attrs.items() if k not in defaults or not _is_default(v, defaults[k])}
    attrs = [f"{k}={attr_text(v)}" for k, v in given.items()]
    if attrs:
        text += f" {{{', '.join(attrs)}}}"
    if node.after:
        text += f" after({', '.join(f'%{i}' for i in node.after)})"
    about = []
    if node.scope:
        about.append(_name(node.scope))
    if node.loc is not None:
        about.append(f"@ {_loc(node.loc)}")
    if node.fwd is not None:
        about.append(f"grad of %{node.fwd}")
    if node.origin is not None:
        o = node.origin
        sources = f"({', '.join(f'%{i}' for i in o.sources)})" if o.sources else ""
        about.append(f"by {_name(o.made_by)}{':' + _name(o.rule) if o.rule else ''}{sources}")
    return f"{text}  ; {' '.join(about)}" if about else text


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and repr(value) == repr(default)


def _name(name: str) -> str:
    return name if _BARE.match(name) else quoted(name)


def _loc(loc: Loc) -> str:
    return f"{loc.file if _BARE_FILE.match(loc.file) else quoted(loc.file)}:{loc.line}"


def attr_text(value: Any) -> str:
    """An attribute value as text."""
    if isinstance(value, Graph):
        return "graph"
    if isinstance(value, Data):
        return _data_text(value)
    if isinstance(value, TensorType):
        return str(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(attr_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    raise TypeError(f"an attribute cannot be a {type(value).__name__}")


def _data_text(data: Data) -> str:
    if data.array is None or data.type.size > INLINE_ELEMENTS:
        return f"<{data.type} #{data.digest}>"
    return f"<{data.type} {', '.join(_number(x) for x in data.array.ravel())}>".replace(" >", ">")


def _number(x: Any) -> str:
    """The shortest decimal that gives the same value back in its own dtype; of a NaN of other bits these, in hexadecimal."""
    if isinstance(x, np.floating) and math.isfinite(x):
        text = str(x)
        return text if any(c in text for c in ".e") else text + ".0"
    if x != x and np.asarray(type(x)(str(x))).tobytes() != (own := np.asarray(x).tobytes()):
        return f"0x{own[::-1].hex()}"
    return str(x)
