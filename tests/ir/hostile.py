"""Random graphs for the text form: every field of every record, with names chosen to break a printer or a parser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import graphc.ops  # noqa: F401
from graphc.errors import Loc
from graphc.ir import REGIONS, Data, Graph, Ids, OpDef, Origin, TensorType
from graphc.ir.types import FLOATS

HOSTILE = (
    "", "x", "by", "grad", "of", "after", "takes", "return", "update", "graph", "None", "nan", "}", "}  ; ", "; by x",
    '"', '\\"', "a\nb", "\r\n", "\u2028", "é", "\ud800", "{x=1}", "%3", "%3#1", "x: f32[2] = Add(%1, %2)", "@ e:1",
    "network.fc.0-1", "a b", " ", "grad of %3", "by autodiff:Mul", "(", ")", "after(%1)", "#", "0", "-", "=", "a=%1,",
)  # fmt: skip
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=6))
FLOAT = st.one_of(st.sampled_from((math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-45, 0.1, 1e300, 3)), st.floats())
ATTRIBUTES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), FLOAT, NAMES, st.just(TensorType("float32", (2, 3)))),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)
TYPES = st.builds(
    TensorType,
    st.sampled_from(("bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64")),
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
)
LOCS = st.none() | st.builds(
    Loc, st.sampled_from(("m.py", "a/b.py", "<stdin>", "C:\\x y.py", 'q".py', "", "n\n.py")), st.integers(0, 99)
)

#: An op of these tests: any attributes, any operands, as many results of any types as it is told.
ANY = OpDef(
    name="AnyForTests",
    operands=("*xs",),
    attrs={"a": REGIONS[0], "b": None, "types": ()},
    infer=lambda types, attrs: attrs["types"],
    ref=None,
    grad=None,
    lower=None,
    samples=None,
    check=None,
    effect=False,
    doc="",
)


def origins(ids: list[int]) -> st.SearchStrategy[Origin | None]:
    sources = st.lists(st.sampled_from(ids), max_size=2).map(tuple) if ids else st.just(())
    return st.none() | st.builds(Origin, NAMES, NAMES, sources)


def data(draw: Any, type: TensorType) -> Data:
    """A constant of random bits, some of them special."""
    if type.dtype == "bool":
        return Data(np.array([draw(st.booleans()) for _ in range(type.size)], bool).reshape(type.shape), type=type)
    bits = draw(st.binary(min_size=type.nbytes, max_size=type.nbytes))
    array = np.frombuffer(bits, type.numpy).reshape(type.shape).copy()
    if type.dtype in FLOATS:
        array[np.isnan(array)] = np.nan  # NaN has one spelling: which bits it had is not kept.
        if array.size:
            with np.errstate(all="ignore"):
                array.flat[0] = np.float64(draw(FLOAT)).astype(type.numpy)
    return Data(array, type=type)


@st.composite
def graphs(draw: Any, ids: Ids | None = None, depth: int = 0, takes: list[TensorType] | None = None) -> Graph:
    """A graph of up to a dozen nodes; with `takes` a subgraph with inputs of these types."""
    graph = Graph(draw(NAMES), ids or Ids())
    for type in takes if takes is not None else draw(st.lists(TYPES, max_size=3)):
        kind = "Input" if takes is not None else draw(st.sampled_from(("Input", "Param")))
        region = "state" if takes is not None else draw(st.sampled_from(REGIONS))
        graph.add(kind, types=(type,), name=draw(NAMES), region=region, id=graph.ids.next + draw(st.integers(0, 3)))
    for _ in range(draw(st.integers(0, 6 - 2 * depth))):
        add(draw, graph, depth)
    values = [v for node in graph for v in node.outputs]
    picked = draw(st.lists(st.sampled_from(values), max_size=3)) if values else []
    updates = []
    if takes is None:
        for id in graph.inputs:
            fit = [v for v in values if graph.type(v) == graph.node(id).type]
            if graph.node(id).op.name == "Param" and draw(st.booleans()):
                updates.append((id, draw(st.sampled_from(fit))))
    graph.set_results([(draw(NAMES), v) for v in picked], updates)
    return graph


def add(draw: Any, graph: Graph, depth: int) -> None:
    """One more node of a random kind."""
    present = list(graph.nx)
    values = [v for node in graph for v in node.outputs]
    inputs = draw(st.lists(st.sampled_from(values), max_size=3)) if values else []
    free = [i for i in present if draw(st.booleans())]
    fields: dict[str, Any] = {
        "name": draw(NAMES),
        "scope": draw(NAMES),
        "loc": draw(LOCS),
        "region": draw(st.sampled_from(REGIONS)),
        "fwd": draw(st.none() | st.sampled_from(present)) if present else None,
        "origin": draw(origins(present)),
        "after": free[:2],
    }
    kind = draw(st.integers(0, 3))
    if kind == 0:
        type = draw(TYPES)
        graph.add("Constant", attrs={"value": data(draw, type)}, types=(type,), **fields)
    elif kind == 1 and depth < 2:
        flag = graph.add("Fill", attrs={"dtype": "bool", "shape": (), "value": True}).outputs[0]
        taken = [graph.type(v) for v in inputs]
        then = draw(graphs(graph.ids, depth + 1, taken))
        orelse = draw(graphs(graph.ids, depth + 1, taken))
        orelse.set_results([])
        then.set_results([])
        graph.add("If", [flag, *inputs], {"then": then, "else": orelse}, **fields)
    else:
        attrs = {"a": draw(ATTRIBUTES), "b": draw(ATTRIBUTES), "types": tuple(draw(st.lists(TYPES, max_size=3)))}
        graph.add(ANY, inputs, attrs, **fields)


def constants(graph: Graph) -> dict[str, Any]:
    """The arrays that a text names by their hash only."""
    found: dict[str, Any] = {}
    for node in graph:
        for value in node.attrs.values():
            if isinstance(value, Data):
                found[value.digest] = value.array
        for _, sub in node.graphs():
            found |= constants(sub)
    return found
