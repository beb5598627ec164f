"""Graph, Node, Value: the IR, held by a networkx DiGraph.

A node is one frozen record with its operands inside; the DiGraph's node key is the node's id, its only node attribute is
`node`, its only edge attribute `kind`: "data" if any operand slot names the producer, else "order". Edges are derived from
the records, here and nowhere else. Analyses are dicts that passes compute and return; nothing is stored on nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import networkx as nx

from graphc.errors import GraphcError, Loc, VerifyError
from graphc.grammar import REGIONS as REGIONS
from graphc.grammar import Region as Region
from graphc.ir.data import Data as Data
from graphc.ir.node import Held, frozen, replaced
from graphc.ir.node import Node as Node
from graphc.ir.op import OpDef, get_op
from graphc.ir.order import in_order, needed, rank_of, unneeded
from graphc.ir.parts import Edges as Edges
from graphc.ir.parts import Ids as Ids
from graphc.ir.parts import Origin as Origin
from graphc.ir.parts import Replaced as Replaced
from graphc.ir.parts import Result as Result
from graphc.ir.parts import Update as Update
from graphc.ir.parts import Value as Value
from graphc.ir.parts import copied
from graphc.ir.types import TensorType

#: The record among a node's attributes.
_RECORD = itemgetter("node")
_NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


class Graph(Held):
    """A mutable DAG of nodes with inputs, results and updates of parameters.

    inputs    ids of Input and Param nodes: the signature, in order
    results   what the graph returns
    updates   final versions of the parameters it writes
    A graph used as an attribute is frozen; a frozen graph refuses every change. Subgraphs share the `ids` of the graph
    around them, so an id means one node in the whole program.
    """

    def __init__(self, name: str, ids: Ids | None = None) -> None:
        self.name = name
        self._inputs: list[int] = []
        self.results: tuple[Result, ...] = ()
        self.updates: tuple[Update, ...] = ()
        self.ends: set[int] = set()  # The nodes of results and updates.
        self._owners: dict[int, None] = {}  # The nodes that have been given subgraphs; some may be gone.
        self._hold(nx.DiGraph())
        self._ids = ids or Ids()
        self._order: tuple[int, ...] | None = None
        self._ops: frozenset[str] | None = None
        #: What may have lost its last user since the last `prune`: nothing else is dead. None: not known.
        self._suspects: set[int] | None = None
        self._ranks: dict[int, int] = {}  # By which nodes are put in order, before their ids.
        #: Nodes whose users are written down for this graph alone; None: those of all are. See `copy`.
        self._own: set[int] | None = None
        self.frozen = False

    def _hold(self, store: nx.DiGraph[int]) -> None:
        self._nx = store
        # They are read all the time, so not through networkx's views.
        inside: Any = store
        self._data: dict[int, dict[str, Node]] = inside._node
        self._succ: dict[int, Edges] = inside._succ
        self._pred: dict[int, Edges] = inside._pred

    # ---- reading

    @property
    def inputs(self) -> tuple[int, ...]:
        return tuple(self._inputs)

    @inputs.setter
    def inputs(self, ids: Iterable[int]) -> None:
        self._inputs = list(ids)
        self._suspects = None

    @property
    def ids(self) -> Ids:
        return self._ids

    @property
    def nx(self) -> nx.DiGraph[int]:
        """The networkx graph: node attribute `node`, edge attribute `kind`. To be read, not changed."""
        return self._nx

    def __len__(self) -> int:
        return len(self._data)

    def count(self) -> int:
        """Nodes, those of subgraphs included: what is said wherever nodes are counted. `len` counts the graph's own."""
        return len(self) + sum(sub.count() for node in self.owners() for _, sub in node.graphs())

    def __contains__(self, id: int) -> bool:
        return id in self._data

    def node(self, id: int) -> Node:
        return self._data[id]["node"]

    def __getitem__(self, id: int) -> Node:
        return self.node(id)

    def type(self, value: Value) -> TensorType:
        return self._data[value.node]["node"].types[value.slot]

    def users(self, id: int) -> list[int]:
        """Ids of the nodes that wait for this one."""
        return list(self._succ[id])

    def edges_into(self, id: int) -> Edges:
        """What networkx holds of the edges into a node: their attributes by predecessor."""
        return self._pred[id]

    def order(self) -> tuple[int, ...]:
        """All ids in the deterministic topological order.

        Of the nodes that are ready the one of the earliest region comes first, then the smallest id: so what belongs
        together stands together, as far as operands and order edges allow. An op's `rush` goes before its region.
        """
        if self._order is None:
            self._order = tuple(in_order(self._ranks, self._succ, self._pred))
            if len(self._order) < len(self):
                cycle = " -> ".join(f"%{u}" for u, _ in nx.find_cycle(self._nx))
                self._order = None
                raise VerifyError(f"graph @{self.name} has a cycle: {cycle}")
        return self._order

    def __iter__(self) -> Iterator[Node]:
        """The nodes in topological order."""
        return map(_RECORD, map(self._data.__getitem__, self.order()))

    def nodes(self) -> Iterator[Node]:
        """The nodes as they were added: quicker than in topological order."""
        return map(_RECORD, self._data.values())

    def ops(self) -> frozenset[str]:
        """The names of the ops in it and in its subgraphs: what a pass looks at first. Found once, until the graph changes."""
        if self._ops is None:
            inner = [sub.ops() for node in self.owners() for _, sub in node.graphs()]
            self._ops = frozenset([node.op.name for node in self.nodes()]).union(*inner)
        return self._ops

    def owners(self) -> list[Node]:
        """The nodes that have subgraphs, as they were added."""
        nodes = (self.node(id) for id in self._owners if id in self)
        return [node for node in nodes if node.graphs()]

    def __repr__(self) -> str:
        return f"<graph @{self.name}: {self.count()} nodes; print() shows them>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython and notebooks show: the text."""
        printer.text(str(self))

    def __str__(self) -> str:
        from graphc.ir.text import to_text  # A graph prints itself.

        return to_text(self)

    # ---- changing

    def _changing(self) -> None:
        if self.frozen:
            raise VerifyError(f"graph @{self.name} is frozen and cannot be changed; change a copy()")
        self._order = self._ops = None

    def _suspect(self, ids: Iterable[int]) -> None:
        if self._suspects is not None:
            self._suspects.update(ids)

    def _users_of(self, id: int) -> Edges:
        """The edges out of a node, to be changed."""
        if self._own is not None and id not in self._own:
            self._succ[id] = self._succ[id].copy()
            self._own.add(id)
        return self._succ[id]

    def add(
        self,
        op: OpDef | str,
        inputs: Sequence[Value] = (),
        attrs: Mapping[str, Any] | None = None,
        *,
        after: Iterable[int] = (),
        types: tuple[TensorType, ...] | None = None,
        trusted: bool = False,
        id: int | None = None,
        name: str = "",
        scope: str = "",
        loc: Loc | None = None,
        region: Region = "forward",
        fwd: int | None = None,
        origin: Origin | None = None,
    ) -> Node:
        """Add a node; its type rule runs now. `types` is for ops with declared types only; or for any, and then the rule is not
        asked, if they are `trusted`. Returns the node.

        Raises what the type rule raises (ShapeError, DTypeError), and ArgumentTypeError for attributes, with `loc`.
        """
        self._changing()
        definition = get_op(op) if isinstance(op, str) else op
        inputs = tuple(inputs)
        ruled: tuple[TensorType, ...] | None = None
        try:
            definition.check_arity(len(inputs))
            full = definition.complete(attrs or {})
            if full:
                definition.check_known(full)
            if definition.infer is None or not trusted:
                data = self._data
                ruled = tuple([data[id]["node"].types[slot] for id, slot in inputs])
            if definition.infer is not None and ruled is not None:
                types = definition.result_types(ruled, full)
            elif types is None:
                raise VerifyError(f"{definition.name} needs declared types")
        except GraphcError as error:
            error.loc = error.loc or loc
            raise
        if id is not None and id in self:
            raise VerifyError(f"node id %{id} is used twice in graph @{self.name}")
        id = self._ids.take(id)
        unique_after = tuple(dict.fromkeys(after)) if after else ()
        attributes = MappingProxyType(full) if full else _NO_ATTRS
        for subgraph in full.values():
            if isinstance(subgraph, Graph):
                subgraph.freeze()
                self._owners[id] = ruled = None
        node = frozen(
            id, definition, inputs, unique_after, attributes, types, name, scope, loc, region, fwd, origin, ruled
        )
        self._put(node)
        if definition.name in ("Input", "Param"):
            self._inputs.append(id)
        return node

    def _put(self, node: Node) -> None:
        """Write a node's record and derive its incoming edges."""
        id, edges, succ, own = node.id, node.edges(), self._succ, self._own
        if not edges.keys() <= self._data.keys():
            missing = next(p for p in edges if p not in self._data)
            raise VerifyError(f"%{id} {node.op.name} uses %{missing}, which is not in graph @{self.name}")
        # As networkx does, which looks at all that could be given to it.
        if id in self._data:
            self._suspect(self._pred[id])
            for p in self._pred[id]:
                del self._users_of(p)[id]
        else:
            self._suspect((id,))
            succ[id] = {}
            if own is not None:
                own.add(id)
        self._data[id] = {"node": node}
        self._ranks[id] = rank_of(node)
        self._pred[id] = edges
        for p, edge in edges.items():
            users = succ[p] if own is None or p in own else self._users_of(p)
            users[id] = edge

    def set_node(
        self,
        id: int,
        *,
        inputs: Sequence[Value] | None = None,
        after: Iterable[int] | None = None,
        **fields: Any,
    ) -> Node:
        """Replace operands, order predecessors or other fields of a node."""
        self._changing()
        rewired = inputs is not None or after is not None
        if inputs is not None:
            fields["inputs"] = tuple(inputs)
        if after is not None:
            fields["after"] = tuple(dict.fromkeys(after))
        if "attrs" in fields:
            fields["attrs"] = MappingProxyType(fields["attrs"])
        node = replaced(self.node(id), **fields)
        if node.graphs():
            self._owners[id] = None
        if rewired:
            self._put(node)
        else:
            self._data[id] = {"node": node}  # What is there copies of the graph have, too.
            self._ranks[id] = rank_of(node)
        return node

    def note(self, rule: str, sources: Sequence[int], made: Sequence[int]) -> None:
        """Remember that a rule has made nodes from others, or let them stand for others: for the history of a program."""
        self._ids.log.append(Replaced(rule, sources, made))

    def replace_node(self, id: int, values: Sequence[Value], rule: str = "") -> None:
        """Let every user of node `id` use `values[i]` instead of result i, in operands, order, results and updates.

        The node itself stays, without users, until `prune`. `rule` is what is noted in the program's history.
        """
        self._changing()
        if [self.type(v) for v in values] != list(self.node(id).types):
            raise VerifyError(f"%{id} cannot be replaced by values of other types")
        producers = tuple(dict.fromkeys(v.node for v in values))
        self.note(rule, (id,), tuple([v.node for v in values]))

        def swap(value: Value) -> Value:
            return values[value.slot] if value.node == id else value

        for user in self.users(id):
            if user in producers:
                continue
            node = self.node(user)
            after: list[int] = []
            for p in node.after:
                after += producers if p == id else (p,)
            self.set_node(user, inputs=[swap(v) for v in node.inputs], after=after)
        if id in self.ends:
            self.set_results(((n, swap(v)) for n, v in self.results), ((p, swap(v)) for p, v in self.updates))

    def set_results(self, results: Iterable[tuple[str, Value]], updates: Iterable[tuple[int, Value]] = ()) -> None:
        self._changing()
        self._suspect(self.ends)
        self.results = tuple(Result(*r) for r in results)
        self.updates = tuple(Update(*u) for u in updates)
        self.ends = {r.value.node for r in self.results} | {u.value.node for u in self.updates}

    def prune(self, keep: Iterable[int] = ()) -> int:
        """Remove the nodes that no result or update, nor what is to be kept, depends on; inputs stay. Returns how many went."""
        self._changing()
        keep = tuple(keep)
        dead = self.dead(keep)
        self._remove(dead)
        for node in [n for n in self.nodes() if n.fwd is not None and n.fwd not in self._data]:
            self.set_node(node.id, fwd=None)
        self._suspects = set(keep)
        return len(dead)

    def drop(self, ids: Iterable[int]) -> None:
        """Remove those of the nodes that nobody waits for, and what only they waited for; no result, update or input.

        `prune` looks at the whole graph, this at its neighbours alone. Nodes may still name what is gone as their `fwd`,
        until `prune`.
        """
        self._changing()
        self._suspects = None
        stack = list(ids)
        while stack:
            id = stack.pop()
            if id not in self or self._succ[id] or id in self.ends or self.node(id).op.name in ("Input", "Param"):
                continue
            stack += self._pred[id]
            self._remove((id,))

    def _remove(self, ids: Iterable[int]) -> None:
        """Remove nodes for which nobody waits but others of them."""
        for id in ids:
            for p in self._pred.pop(id):
                if p in self._succ:
                    del self._users_of(p)[id]
            del self._succ[id], self._data[id], self._ranks[id]

    def dead(self, keep: Iterable[int] = ()) -> list[int]:
        """Ids of the nodes that no result or update, nor what is to be kept, depends on; an input is never one."""
        kept = [*self._inputs, *self.ends, *keep]
        if self._suspects is not None:
            gone = unneeded(self._pred, self._succ, self._suspects, kept) if self._suspects else ()
            return [i for i in self._data if i in gone] if gone else []
        live = needed(self._pred, kept)
        return [i for i in self._data if i not in live]

    def copy(self) -> Graph:
        """A mutable copy with the same ids. Nodes are shared: they are frozen. So are the users of a node, until one of the
        two graphs changes them: the other keeps what it has.
        """
        other = Graph(self.name)
        other.inputs = self.inputs
        other.set_results(self.results, self.updates)
        other._hold(copied(self._nx))
        other._ids = self._ids
        other._owners, other._ranks = dict(self._owners), dict(self._ranks)
        other._order, other._ops = self._order, self._ops
        other._suspects = None if self._suspects is None else set(self._suspects)
        self._own, other._own = set(), set()
        return other

    def freeze(self) -> Graph:
        """Refuse further changes, in networkx too. Returns self."""
        if not self.frozen:
            self.order()
            nx.freeze(self._nx)
            self.frozen = True
        return self
