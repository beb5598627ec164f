"""Values that are cheaper to compute again than to keep.

    loop 1:  %5 = Mul(%1, 0.5)   %6 = Tanh(%1)   %7 = Mul(%5, %6)      stores %5, %6, %7
    loop 2:  %8 = Mul(%7, %5)    %9 = Mul(%8, %6)                      reads %5, %6, %7

Loop 2 computes %5 again from %1, so that no loop stores it; %6 costs more than the memory. Most of what a forward pass keeps for
its backward pass is like %5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from graphc.ir import Graph, Node, Value
from graphc.ir.op import Scalar, Strided
from graphc.ir.types import HALVES, contiguous_strides
from graphc.lower.calls import walk
from graphc.lower.cost import price
from graphc.lower.expression import Expression
from graphc.lower.fuse import MAX_NODES, MAX_OPERANDS, Group, Step
from graphc_codegen.program import Access

#: Smaller loops find their operands in the first cache.
SMALLEST = 1 << 14
#: Results of products and convolutions are kept for so many steps more at most: the next such kernel writes where the last one
#: did, which is still in the cache.
_NEAR = 8
#: What reading or writing an element costs, in additions.
_TOUCH = 4
#: What it may cost to compute float32 again from halves alone: kept, it would take twice the room of what it is made of.
_FROM_HALVES = 20


def recompute(
    graph: Graph,
    steps: list[Step],
    uniform: dict[Value, float],
    source: Callable[[Value], Value],
    keep: Callable[[Value], bool],
) -> list[Step]:
    """The steps, some groups with more members, some with fewer; those that have none left are gone.

    `source` gives the value whose memory holds another one. `keep` tells values that must be stored, or that may not be read
    later than they are now.
    """
    return _Recomputation(graph, steps, uniform, source, keep).run()


@dataclass(slots=True)
class _Recipe:
    """How a group computes a value itself: the nodes, and what they read; and how many elements need not be moved then."""

    nodes: list[Node] = field(default_factory=list)
    reads: set[Value] = field(default_factory=set)
    gain: float = 0.0


class _Recomputation:
    def __init__(
        self,
        graph: Graph,
        steps: list[Step],
        uniform: dict[Value, float],
        source: Callable[[Value], Value],
        keep: Callable[[Value], bool],
    ) -> None:
        self.graph = graph
        self.steps = steps
        self.uniform = uniform
        self.source = source
        self.keep = cache(keep)
        self.position = {id: i for i, id in enumerate(graph.order())}
        self.home: dict[int, Group] = {}
        self.groups: dict[int, list[Group]] = {}
        self.users: dict[Value, list[int]] = {}
        for node in graph.nodes():
            for value in node.inputs if len(node.inputs) < 2 else dict.fromkeys(node.inputs):
                self.users.setdefault(value, []).append(node.id)
        self.index = {step: k for k, step in enumerate(steps) if isinstance(step, Group)}
        self.has_halves = any(t.dtype in HALVES for node in graph.nodes() for t in node.types)
        # Found once, until groups change: `_changed`.
        self._read_by: dict[Value, list[Group]] = {}
        self._stored: dict[Value, bool] = {}
        self._prices: dict[int, int] = {}
        #: The last step that reads what is in the memory of a value.
        self.last: dict[Value, int] = {}
        for index, step in enumerate(steps):
            group = step if isinstance(step, Group) else None
            nodes: list[Node] = step.nodes if isinstance(step, Group) else [step]
            for node in nodes:
                for value in node.inputs:
                    self.last[source(value)] = index
                if group is not None:
                    self.home[node.id] = group
                    self.groups[node.id] = [group]

    def run(self) -> list[Step]:
        for step in self.steps:
            if isinstance(step, Group) and math.prod(step.domain) >= SMALLEST:
                self._replace(step)
        for index, step in enumerate(self.steps):
            if isinstance(step, Group) and math.prod(step.domain) >= SMALLEST:
                self._improve(step, index)
        for step in self.steps:
            if isinstance(step, Group):
                self._drop_unneeded(step)
        return [s for s in self.steps if not isinstance(s, Group) or s.nodes]

    def _replace(self, home: Group) -> None:
        """Have all readers compute what a group makes, where so less must be moved: it is neither stored nor kept then."""
        for value in [n.outputs[0] for n in home.nodes if n.id not in home.again]:
            readers = self._readers(value)
            recipes = [r for r in (self._recipe(value, g) for g in readers) if r is not None]
            if not readers or len(recipes) < len(readers):
                continue
            size, last = self._size(value), max(self.index[g] for g in readers)
            new = [v for g, r in zip(readers, recipes, strict=True) for v in r.reads - g.reads]
            kept = [v for v in set(new) if not self._is_alive(v, last)]
            if any(v.node not in self.home and last > self.last.get(self.source(v), -1) + _NEAR for v in kept):
                continue
            if (2 + len(readers)) * size + self._freed(value, home) > sum(map(self._size, new + kept)):
                for group, recipe in zip(readers, recipes, strict=True):
                    self._add(group, recipe, self.index[group])

    def _improve(self, reader: Group, index: int) -> None:
        """Have a group compute what it reads, as far as less must be kept and read for that."""
        found: dict[Value, _Recipe] = {}
        for value in sorted(reader.reads):
            recipe = self._recipe(value, reader)
            if recipe is not None:
                found[value] = recipe
        while True:
            # Recipes that read the same share what it costs.
            users = Counter(v for recipe in found.values() for v in recipe.reads - reader.reads)
            worth = {
                value: recipe
                for value, recipe in found.items()
                if recipe.gain > sum(self._charge(v, index) / users[v] for v in recipe.reads - reader.reads)
            }
            if len(worth) == len(found):
                break
            found = worth
        for value in found:
            recipe = self._recipe(value, reader)
            if recipe is not None:
                self._add(reader, recipe, index)

    def _charge(self, value: Value, index: int) -> float:
        """How many elements are moved if a value is read at a step, too, and for that kept until then."""
        size = self._size(value)
        return size if self._is_alive(value, index) else 2 * size

    def _size(self, value: Value) -> float:
        """How many elements are moved with a value; of halves two count as one."""
        type = self.graph.type(value)
        return type.size / 2 if type.dtype in HALVES else type.size

    def _is_alive(self, value: Value, index: int) -> bool:
        """Whether a value is there until a step in any case."""
        core = self.source(value)
        return not self.graph.node(core.node).inputs or self.keep(value) or self.last.get(core, -1) >= index

    def _recipe(self, value: Value, reader: Group) -> _Recipe | None:
        """How a group can compute what it reads, by nodes of the group that does; None if it cannot, or should not."""
        recipe = self._priced(value, reader, _TOUCH)
        if recipe is None and self.has_halves and self.graph.type(value).dtype == "float32":
            recipe = self._priced(value, reader, _FROM_HALVES)
            if recipe is not None and any(self.graph.type(v).dtype not in HALVES for v in recipe.reads):
                return None
        return recipe

    def _priced(self, value: Value, reader: Group, touch: int) -> _Recipe | None:
        """The same, if it costs no more than so much for each element that need not be moved."""
        node, home = self.graph.node(value.node), self.home.get(value.node)
        if home is None or self.keep(value) or not self._is_cheap(node, touch):
            return None
        others = self._readers(value)
        if reader not in others:
            return None
        size, moved = self.graph.type(value).size, self._size(value)
        recipe = _Recipe(gain=moved + (moved + self._freed(value, home)) / len(others))
        self._collect(recipe, value, reader, home, touch)
        fits = self._is_in_step(value, reader) and self._has_room(reader, recipe)
        return recipe if fits and sum(map(self._price, recipe.nodes)) * size <= touch * recipe.gain else None

    def _collect(self, recipe: _Recipe, wanted: Value, reader: Group, home: Group, touch: int) -> None:
        seen: set[Value] = set()

        def visit(value: Value) -> None:
            if value in seen or value in self.uniform or value.node in reader.members:
                return
            seen.add(value)
            maker = self.graph.node(value.node)
            # A widening cast is there for whoever wants it.
            there = self._is_stored(value) and not (touch == _FROM_HALVES and self._is_widened(maker))
            if value != wanted and (value.node not in home.members or not self._is_cheap(maker, touch) or there):
                recipe.reads.add(value)
                return
            for operand in maker.inputs:
                visit(operand)
            recipe.nodes.append(maker)

        visit(wanted)

    def _is_widened(self, node: Node) -> bool:
        return node.op.name == "Cast" and self.graph.type(node.inputs[0]).dtype in HALVES

    def _freed(self, value: Value, home: Group) -> float:
        """How many elements a group reads for nothing but a value."""
        others = (n.outputs[0] for n in home.nodes if n.id not in home.again and n.id != value.node)
        return 0 if any(map(self._is_stored, others)) else sum(map(self._size, home.reads))

    def _readers(self, value: Value) -> list[Group]:
        """The groups that read a value from memory; none if anything else does."""
        readers = self._read_by.get(value)
        if readers is None:
            readers = self._read_by[value] = self._find_readers(value)
        return readers

    def _find_readers(self, value: Value) -> list[Group]:
        found: dict[Group, None] = {}  # A scale may have a reader for each parameter.
        for user in self.users.get(value, ()):
            if user not in self.groups:
                return []
            for g in self.groups[user]:
                if value.node not in g.members:
                    found[g] = None
        return list(found)

    def _is_stored(self, value: Value) -> bool:
        stored = self._stored.get(value)
        if stored is None:
            stored = self._stored[value] = self._find_stored(value)
        return stored

    def _find_stored(self, value: Value) -> bool:
        if self.keep(value):
            return True
        for user in self.users.get(value, ()):
            places = self.groups.get(user)
            if places is None:
                return True
            for g in places:
                if value.node not in g.members:
                    return True
        return False

    def _changed(self, node: Node) -> None:
        """A group has begun or ceased to compute a node."""
        for value in (node.outputs[0], *node.inputs):
            self._read_by.pop(value, None)
            self._stored.pop(value, None)

    def _is_cheap(self, node: Node, touch: int) -> bool:
        return isinstance(node.lower, (Scalar, Strided)) and not node.after and self._price(node) <= 2 * touch

    def _price(self, node: Node) -> int:
        """Of one element, in additions."""
        if not isinstance(node.lower, Scalar):
            return 0
        if node.id not in self._prices:
            e = Expression(max(node.type.rank, 1))
            types = [self.graph.type(v) for v in node.inputs]
            node.lower.fn(e, *(e.input(Access(t.dtype, (), 0, 1), i) for i, t in enumerate(types)), **node.attrs)
            self._prices[node.id] = price(e.body)
        return self._prices[node.id]

    def _has_room(self, reader: Group, recipe: _Recipe) -> bool:
        """Whether a group has room for a recipe, and what that reads can still be read there."""
        new = recipe.reads - reader.reads
        room = len(reader.nodes) + len(recipe.nodes) <= MAX_NODES and len(reader.reads) + len(new) <= MAX_OPERANDS
        return room and all(v.node in self.home or self._is_there(v, self.index[reader]) for v in new)

    def _is_there(self, value: Value, index: int) -> bool:
        """Whether what is from outside the groups may be read at a step: nothing is written over it before, or others read it."""
        return not self.keep(value) or self.last.get(self.source(value), -1) >= index

    def _is_in_step(self, value: Value, reader: Group) -> bool:
        """Whether a group reads a value element by element."""
        type = self.graph.type(value)
        whole = (0, tuple(0 if n == 1 else s for n, s in zip(type.shape, contiguous_strides(type.shape), strict=True)))
        return type.shape == reader.domain and all(
            walk(self.graph, reader.domain, user, i) == whole
            for user in reader.nodes
            for i, v in enumerate(user.inputs)
            if v == value
        )

    def _add(self, reader: Group, recipe: _Recipe, index: int) -> None:
        reader.nodes = sorted([*reader.nodes, *recipe.nodes], key=lambda n: self.position[n.id])
        reader.members |= {n.id for n in recipe.nodes}
        reader.again |= {n.id for n in recipe.nodes}
        for node in recipe.nodes:
            self.groups[node.id].append(reader)
            self._changed(node)
        for value in map(self.source, recipe.reads):
            self.last[value] = max(self.last.get(value, -1), index)
        self._renew_reads(reader)

    def _renew_reads(self, group: Group) -> None:
        inputs = {v for n in group.nodes for v in n.inputs}
        group.reads = {v for v in inputs if v.node not in group.members and v not in self.uniform}

    def _drop_unneeded(self, group: Group) -> None:
        """Take out the nodes whose results nobody reads any more."""
        kept: list[Node] = []
        wanted: set[Value] = set()
        for node in sorted(group.nodes, key=lambda n: -self.position[n.id]):
            value = node.outputs[0]
            if value in wanted or (node.id not in group.again and self._is_stored(value)):
                kept.append(node)
                wanted.update(node.inputs)
            else:
                self.groups[node.id].remove(group)
                self._changed(node)
        if len(kept) < len(group.nodes):
            gone, group.nodes = set(group.members), kept[::-1]
            group.members = {n.id for n in kept}
            for id in gone - group.members:
                self._changed(self.graph.node(id))
            self._renew_reads(group)
