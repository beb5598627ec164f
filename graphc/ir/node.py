"""Node: one operation, a frozen record with its operands inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from graphc.errors import Loc
from graphc.grammar import Region
from graphc.ir.op import ByAttributes, Lowering, OpDef
from graphc.ir.parts import DATA, ORDER, Edges, Origin, Value
from graphc.ir.types import TensorType

if TYPE_CHECKING:
    from graphc.ir.graph import Graph


class Held:
    """The base of Graph alone: a graph that an attribute may hold."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    id        never reused, increasing: program order before any reordering
    op        its declaration
    inputs    data operands, in order
    after     nodes that must run before this one although no data flows from them
    attrs     frozen: numbers, strings, tuples, Data, frozen Graphs
    types     of the results, by the op's type rule
    name      the user's name for the value, where there is one
    scope     path of the Cell that made it, e.g. "network.conv1"
    loc       the user's line; a backward node has its forward node's
    region    which part of a training step it belongs to
    fwd       the forward node whose gradient it helps to compute
    origin    the pass and rule that made it; None for the tracer
    outputs   its results: derived, and read more often than anything else
    ruled     the types of operands of which the op's type rule, if any, has said `types`; None if not asked, or with a subgraph
    """

    id: int
    op: OpDef
    inputs: tuple[Value, ...]
    after: tuple[int, ...]
    attrs: Mapping[str, Any]
    types: tuple[TensorType, ...]
    name: str = ""
    scope: str = ""
    loc: Loc | None = None
    region: Region = "forward"
    fwd: int | None = None
    origin: Origin | None = None
    outputs: tuple[Value, ...] = field(init=False, repr=False, compare=False)
    ruled: tuple[TensorType, ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ruled", None)
        object.__setattr__(self, "outputs", tuple([Value(self.id, i) for i in range(len(self.types))]))

    @property
    def type(self) -> TensorType:
        """The type of the first result."""
        return self.types[0]

    @property
    def lower(self) -> Lowering | None:
        """How it becomes kernels."""
        lower = self.op.lower
        return lower if lower.__class__ is not ByAttributes else lower.choose(self.attrs)

    def predecessors(self) -> dict[int, str]:
        """The ids this node waits for, with the kind of edge."""
        return {id: edge["kind"] for id, edge in self.edges().items()}

    def edges(self) -> Edges:
        """The edges into this node."""
        edges = dict.fromkeys(self.after, ORDER) if self.after else {}
        for id, _ in self.inputs:
            edges[id] = DATA
        return edges

    def graphs(self) -> list[tuple[str, Graph]]:
        """The subgraphs among the attributes."""
        held: Any = [(k, v) for k, v in self.attrs.items() if isinstance(v, Held)] if self.attrs else []
        found: list[tuple[str, Graph]] = held
        return found


#: The fields of Node in the order in which `frozen` takes them.
_PLACES = {each.name: k for k, each in enumerate(each for each in fields(Node) if each.init)}
_fields_of = attrgetter(*_PLACES)
#: What a type rule sees besides the types of operands, and says.
_RULED = {"op", "attrs", "types"}


class _Draft:
    """A Node that can still be written: setting the fields of a frozen record one by one takes four times as long."""

    __slots__ = Node.__slots__


def frozen(
    id: int,
    op: OpDef,
    inputs: tuple[Value, ...],
    after: tuple[int, ...],
    attrs: Mapping[str, Any],
    types: tuple[TensorType, ...],
    name: str,
    scope: str,
    loc: Loc | None,
    region: Region,
    fwd: int | None,
    origin: Origin | None,
    ruled: tuple[TensorType, ...] | None,
) -> Node:
    """Node(...), quicker."""
    draft: Any = _Draft()
    draft.id = id
    draft.op = op
    draft.inputs = inputs
    draft.after = after
    draft.attrs = attrs
    draft.types = types
    draft.name = name
    draft.scope = scope
    draft.loc = loc
    draft.region = region
    draft.fwd = fwd
    draft.origin = origin
    draft.ruled = ruled
    draft.outputs = (Value(id),) if len(types) == 1 else tuple([Value(id, i) for i in range(len(types))])
    draft.__class__ = Node
    node: Node = draft
    return node


def replaced(node: Node, **changes: Any) -> Node:
    """dataclasses.replace(node, **changes), quicker."""
    values = list(_fields_of(node))
    for name, value in changes.items():
        values[_PLACES[name]] = value
    values.append(None if changes.keys() & _RULED else node.ruled)
    return frozen(*values)
