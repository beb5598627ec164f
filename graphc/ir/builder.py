"""A thin writer over Graph for gradient rules and passes: `b.Mul(x, y)` adds a node and returns its Value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate

import numpy as np

from graphc.errors import Loc
from graphc.ir.graph import Data, Graph, Ids, Node, Origin, Region, Value
from graphc.ir.types import TensorType, numpy_dtype


@dataclass(slots=True)
class Builder:
    """Adds nodes to `graph` with the given provenance. Any op name is a method: operands positional, attributes by keyword."""

    graph: Graph
    region: Region = "forward"
    scope: str = ""
    loc: Loc | None = None
    fwd: int | None = None
    origin: Origin | None = None
    constants: dict[Any, Value] = field(default_factory=dict)

    def node(self, op: str, *inputs: Value, attrs: Mapping[str, Any], after: tuple[int, ...] = ()) -> Node:
        return self.graph.add(
            op,
            inputs,
            attrs,
            after=after,
            scope=self.scope,
            loc=self.loc,
            region=self.region,
            fwd=self.fwd,
            origin=self.origin,
        )

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if not op[:1].isupper():
            raise AttributeError(op)

        def add(*inputs: Value, **attrs: Any) -> Value | tuple[Value, ...]:
            node = self.node(op, *inputs, attrs=attrs)
            return node.outputs[0] if len(node.types) == 1 else node.outputs

        return add

    def type(self, value: Value) -> TensorType:
        return self.graph.type(value)

    def constant(self, value: Any, dtype: str, shape: tuple[int, ...] = ()) -> Value:
        """A constant filled with one number; equal ones are shared."""
        key = (value, dtype, shape)
        if key not in self.constants:
            self.constants[key] = self._held(np.full(shape, value, numpy_dtype(dtype)), TensorType(dtype, shape))
        return self.constants[key]

    def matrix(self, array: Any) -> Value:
        """A constant array; equal ones are not shared."""
        return self._held(array, TensorType.of(array))

    def _held(self, array: Any, type: TensorType) -> Value:
        node = self.graph.add(
            "Constant",
            attrs={"value": Data(array, type=type)},
            types=(type,),
            scope=self.scope,
            loc=self.loc,
            region=self.region,
            fwd=self.fwd,
            origin=self.origin,
        )
        return node.outputs[0]

    def like(self, value: float, x: Value) -> Value:
        """A 0-d constant of x's dtype, which broadcasts against it."""
        return self.constant(value, self.type(x).dtype)


class NodeView:
    """A node as its gradient rule sees it: `n.x` is operand "x", `n.out(0)` a result, `n.axis` attribute "axis"."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.node = node
        self._graph = graph

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.node.inputs

    def out(self, index: int = 0) -> Value:
        return Value(self.node.id, index)

    def type(self, value: Value) -> TensorType:
        return self._graph.type(value)

    def __getattr__(self, name: str) -> Any:
        if name in self.node.op.operands:
            return self.node.inputs[self.node.op.operands.index(name)]
        if name in self.node.attrs:
            return self.node.attrs[name]
        raise AttributeError(f"{self.node.op.name} has no operand or attribute {name!r}")


#: Of an op: (g, n, the gradient of each result) -> the gradient of each operand, None where there is none.
Gradient = (
    Callable[[Builder, NodeView, Value], Sequence[Value | None]]
    | Callable[Concatenate[Builder, NodeView, ...], Sequence[Value | None]]
)


def inline(graph: Graph, source: Graph, arguments: Sequence[Value]) -> list[Value]:
    """Copy the nodes of `source` into `graph`, its inputs being `arguments`. Returns the values of its results."""
    values = {Value(i): argument for i, argument in zip(source.inputs, arguments, strict=True)}
    ids: dict[int, int] = {}
    given = set(source.inputs)
    for node in source:
        if node.id in given:
            continue
        made = graph.add(
            node.op,
            [values[v] for v in node.inputs],
            {k: fresh(v, graph.ids) if isinstance(v, Graph) else v for k, v in node.attrs.items()},
            after=[ids[i] for i in node.after if i in ids],
            types=node.types,
            name=node.name,
            scope=node.scope,
            loc=node.loc,
            region=node.region,
            origin=node.origin,
        )
        ids[node.id] = made.id
        graph.note("copied", (node.id,), (made.id,))
        values.update(zip(node.outputs, made.outputs, strict=True))
    return [values[r.value] for r in source.results]


def fresh(source: Graph, ids: Ids) -> Graph:
    """A copy of a subgraph with new node ids, for a second use in the same program."""
    graph = Graph(source.name, ids)
    inputs = [
        graph.add("Input", types=source.node(i).types, name=source.node(i).name, region="state").outputs[0]
        for i in source.inputs
    ]
    results = inline(graph, source, inputs)
    graph.set_results((r.name, v) for r, v in zip(source.results, results, strict=True))
    return graph
