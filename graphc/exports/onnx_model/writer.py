"""What rules write with: nodes of one ONNX graph, constants, and the names of values, which are unique in the whole model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from graphc.errors import ExportError
from graphc.ir import Graph, Node, TensorType, Value

Array = np.ndarray[Any, np.dtype[Any]]
#: Names of dtypes as numbers: the fields of onnx.TensorProto.DataType.
DTYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13,
}  # fmt: skip
#: In what onnxruntime computes where it has no kernel for a dtype; the results are those of the dtype itself.
WIDER = {
    "int8": "int32",
    "int16": "int32",
    "uint8": "int32",
    "uint16": "int32",
    "uint32": "int64",
    "float16": "float32",
}


def dtype_number(dtype: str, node: Node | None = None) -> int:
    """The number of a dtype. Raises ExportError for one that models do not have here."""
    if dtype not in DTYPES:
        raise ExportError(
            f"an ONNX model here has no {dtype}" + (f", which {node.op.name} has" if node else ""),
            loc=node.loc if node else None,
            nodes=[node.id] if node else [],
            help="cast to float32: net.to_float(graphc.float32)" if dtype == "bfloat16" else None,
        )
    return DTYPES[dtype]


@dataclass
class Made:
    """An ONNX node: operator, names of operands and results, attributes; a subgraph among these is a `Body`."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any]
    source: Node | None


@dataclass
class Body:
    """A subgraph of If or Loop: its nodes; inputs and outputs with their types."""

    name: str
    nodes: list[Made] = field(default_factory=list)
    inputs: list[tuple[str, TensorType]] = field(default_factory=list)
    outputs: list[tuple[str, TensorType]] = field(default_factory=list)


@dataclass(frozen=True)
class View:
    """The node that a rule translates: its attributes, and the types of its operands and of its first result."""

    node: Node
    types: tuple[TensorType, ...]

    @property
    def type(self) -> TensorType:
        return self.node.types[0]

    @property
    def dtype(self) -> str:
        """Of the first operand."""
        return self.types[0].dtype

    def __getitem__(self, attribute: str) -> Any:
        return self.node.attrs[attribute]

    def refuse(self, why: str) -> ExportError:
        """What to raise where ONNX cannot say this."""
        return ExportError(
            f"{self.node.op.name} cannot be an ONNX model's: {why}", loc=self.node.loc, nodes=[self.node.id]
        )


class Writer:
    """Adds nodes to a graph. Constants belong to the model: `constants` is shared by the writers of its subgraphs."""

    def __init__(self, body: Body, outer: Writer | None = None) -> None:
        self.body = body
        self.constants: dict[str, Array] = outer.constants if outer else {}
        self._names: set[str] = outer._names if outer else set()
        self._numbers: Iterator[int] = outer._numbers if outer else count()
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = outer._known if outer else {}
        self.source: Node | None = outer.source if outer else None

    def name(self, wanted: str) -> str:
        """A name that nothing else has."""
        made = wanted
        number = 2
        while made in self._names or not made:
            made, number = f"{wanted}_{number}", number + 1
        self._names.add(made)
        return made

    def _fresh(self, op: str) -> str:
        source = f"{self.source.id}_" if self.source is not None else ""
        return self.name(f"v{source}{op}_{next(self._numbers)}")

    def nodes(self, op: str, inputs: Sequence[str], outputs: int, **attrs: Any) -> list[str]:
        """Add a node with several results; their names."""
        made = [self._fresh(op) for _ in range(outputs)]
        self.body.nodes.append(Made(op, list(inputs), made, attrs, self.source))
        return made

    def __call__(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Add a node; the name of its result."""
        return self.nodes(op, inputs, 1, **attrs)[0]

    def named(self, name: str, value: str) -> None:
        """Give a value another name, which `name` has made."""
        self.body.nodes.append(Made("Identity", [value], [name], {}, None))

    # ---- constants

    def array(self, array: Array) -> str:
        """A constant; equal ones are one."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._known:
            dtype_number(array.dtype.name, self.source)
            self._known[key] = self.name(f"constant_{next(self._numbers)}")
            self.constants[self._known[key]] = array
        return self._known[key]

    def ints(self, *values: int) -> str:
        """A vector of int64: shapes, axes."""
        return self.array(np.array(values, np.int64))

    def number(self, value: float, dtype: str) -> str:
        """A constant without axes."""
        return self.array(np.array(value, dtype))

    # ---- what several rules need

    def cast(self, value: str, dtype: str) -> str:
        return self("Cast", value, to=dtype_number(dtype, self.source))

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """allowzero: a 0 is a length, not a copy of the operand's."""
        return self("Reshape", value, self.ints(*shape), **({"allowzero": 1} if 0 in shape else {}))

    def swapped(self, value: str, rank: int) -> str:
        """The last two axes exchanged."""
        return self("Transpose", value, perm=[*range(rank - 2), rank - 1, rank - 2])

    def part(self, value: str, axis: int, begin: int, end: int) -> str:
        """Some of the elements along an axis."""
        return self("Slice", value, self.ints(begin), self.ints(end), self.ints(axis))

    def filled(self, value: float, type: TensorType) -> str:
        """An array of one number."""
        if not type.shape:
            return self.number(value, type.dtype)
        return self("ConstantOfShape", self.ints(*type.shape), value=np.full(1, value, type.numpy))

    def widened(self, op: str, inputs: Sequence[str], dtype: str, native: Sequence[str], **attrs: Any) -> str:
        """An operator on operands of `dtype`, computed in a wider dtype where onnxruntime has no kernel for it."""
        if dtype in native:
            return self(op, *inputs, **attrs)
        wide = self._wide(op, dtype, native)
        return self.cast(self(op, *(self.cast(x, wide) for x in inputs), **attrs), dtype)

    def widened_test(self, op: str, inputs: Sequence[str], dtype: str, native: Sequence[str]) -> str:
        """As `widened`, for an operator that gives bools."""
        if dtype in native:
            return self(op, *inputs)
        return self(op, *(self.cast(x, self._wide(op, dtype, native)) for x in inputs))

    def reduced(self, op: str, inputs: tuple[str, str], dtype: str, native: Sequence[str], **attrs: Any) -> str:
        """As `widened`, for what goes over axes, which are its second operand."""
        x, axes = inputs
        if dtype in native:
            return self(op, x, axes, **attrs)
        return self.cast(self(op, self.cast(x, self._wide(op, dtype, native)), axes, **attrs), dtype)

    def _wide(self, op: str, dtype: str, native: Sequence[str]) -> str:
        wide = WIDER.get(dtype, "")
        if wide not in native:
            assert self.source is not None
            raise View(self.source, ()).refuse(f"there is no {op} of {dtype}")
        return wide

    def subgraph(self, name: str) -> Writer:
        """A writer for a subgraph, which sees the values of this graph by their names."""
        return Writer(Body(name), self)


#: Names of a graph's values.
Scope = dict[Value, str]


def types_of(graph: Graph, node: Node) -> tuple[TensorType, ...]:
    return tuple(graph.type(v) for v in node.inputs)
