"""Values that are cheaper to compute again than to keep.

    loop 1:  %5 = Mul(%1, 0.5)   %6 = Tanh(%1)   %7 = Mul(%5, %6)      stores %5, %6, %7
    loop 2:  %8 = Mul(%7, %5)    %9 = Mul(%8, %6)                      reads %5, %6, %7

Loop 2 computes %5 again from %1, so that no loop stores it; %6 costs more than the memory. Most of what a forward pass keeps for
its backward pass is like %5.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.op import OpDef, Scalar, Strided
from graphc.ir.types import HALVES
from graphc.lower.calls import walk
from graphc.lower.cost import price
from graphc.lower.expression import Expression
from graphc.lower.fuse import MAX_NODES, MAX_OPERANDS, Group, Step
from graphc.lower.statements import row_major
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
) -> tuple[list[Step], Callable[[Value], bool]]:
    """The steps, some groups with more members, some with fewer; those that have none left are gone. And whether a value that a
    group makes is read outside of it, by a step that does not compute it itself.

    `source` gives the value whose memory holds another one. `keep` tells values that must be stored, or that may not be read
    later than they are now.
    """
    made = _Recomputation(graph, steps, uniform, source, keep)
    return made.run(), made.is_stored


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
        self.position = {node: i for i, node in enumerate(graph.order())}
        self.home: dict[int, Group] = {}
        self.groups: dict[int, list[Group]] = {}
        self.users: defaultdict[Value, list[int]] = defaultdict(list)
        types: dict[int, tuple[TensorType, ...]] = {}
        for node in graph.nodes():
            types[id(node.types)] = node.types  # Equal nodes share theirs.
            for value in node.inputs:
                users = self.users[value]
                if not users or users[-1] != node.id:
                    users.append(node.id)
        self.index = {step: k for k, step in enumerate(steps) if isinstance(step, Group)}
        self.has_halves = any(t.dtype in HALVES for made in types.values() for t in made)
        # Found once, until groups change: `_changed`.
        self._read_by: dict[Value, list[Group]] = {}
        self._stored: dict[Value, bool] = {}
        self._prices: dict[int, int] = {}
        #: Of nodes without attributes, by op, rank and dtypes of operands.
        self._priced_alike: dict[tuple[OpDef, int, tuple[str, ...]], int] = {}
        #: The groups that may have nodes which nobody needs.
        self._suspects: set[Group] = set()
        #: The last step that reads what is in the memory of a value.
        self.last: dict[Value, int] = {}
        for index, step in enumerate(steps):
            if isinstance(step, Group):
                for node in step.nodes:
                    self.home[node.id] = step
                    self.groups[node.id] = [step]
                    if node.outputs[0] not in self.users and not keep(node.outputs[0]):
                        self._suspects.add(step)
                read = {v for node in step.nodes for v in node.inputs}
            else:
                read = set(step.inputs)
            self.last.update(dict.fromkeys(map(source, read), index))

    def run(self) -> list[Step]:
        for step in self.steps:
            if isinstance(step, Group) and math.prod(step.domain) >= SMALLEST:
                self._replace(step)
        for index, step in enumerate(self.steps):
            if isinstance(step, Group) and math.prod(step.domain) >= SMALLEST:
                self._improve(step, index)
        for step in self.steps:
            if isinstance(step, Group) and step in self._suspects:
                self._drop_unneeded(step)
        return [s for s in self.steps if not isinstance(s, Group) or s.nodes]

    def _replace(self, home: Group) -> None:
        """Have all readers compute what a group makes, where so less must be moved: it is neither stored nor kept then."""
        for value in [n.outputs[0] for n in home.nodes if n.id not in home.again]:
            readers = self._readers(value)
            recipes = self._recipes(value, readers)
            if not recipes:
                continue
            size, last = self._size(value), max(self.index[g] for g in readers)
            new = [v for g, r in zip(readers, recipes, strict=True) for v in r.reads - g.reads]
            kept = [v for v in set(new) if not self._is_alive(v, last)]
            if any(v.node not in self.home and last > self.last.get(self.source(v), -1) + _NEAR for v in kept):
                continue
            if (2 + len(readers)) * size + self._freed(value, home) > sum(map(self._size, new + kept)):
                for group, recipe in zip(readers, recipes, strict=True):
                    self._add(group, recipe, self.index[group])

    def _recipes(self, value: Value, readers: Sequence[Group]) -> list[_Recipe]:
        """How each of the groups can compute a value; none if one of them cannot, or should not."""
        recipes: list[_Recipe] = []
        for reader in readers:
            recipe = self._recipe(value, reader)
            if recipe is None:
                return []
            recipes.append(recipe)
        return recipes

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
        if reader not in others or not self._is_in_step(value, reader):
            return None
        size, moved = self.graph.type(value).size, self._size(value)
        recipe = _Recipe(gain=moved + (moved + self._freed(value, home)) / len(others))
        self._collect(recipe, value, reader, home, touch)
        fits = sum(map(self._price, recipe.nodes)) * size <= touch * recipe.gain and self._has_room(reader, recipe)
        return recipe if fits else None

    def _collect(self, recipe: _Recipe, wanted: Value, reader: Group, home: Group, touch: int) -> None:
        seen: set[Value] = set()

        def visit(value: Value) -> None:
            if value in seen or value in self.uniform or value.node in reader.members:
                return
            seen.add(value)
            maker = self.graph.node(value.node)
            # A widening cast is there for whoever wants it.
            there = self.is_stored(value) and not (touch == _FROM_HALVES and self._is_widened(maker))
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
        for node in home.nodes:
            if node.id != value.node and node.id not in home.again and self.is_stored(node.outputs[0]):
                return 0
        return sum(map(self._size, home.reads))

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

    def is_stored(self, value: Value) -> bool:
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
        known = self._prices.get(node.id)
        if known is None:
            known = self._prices[node.id] = self._find_price(node)
        return known

    def _find_price(self, node: Node) -> int:
        lower = node.lower
        if not isinstance(lower, Scalar):
            return 0
        dtypes = tuple([self.graph.type(v).dtype for v in node.inputs])
        key = node.op, node.type.rank, dtypes
        known = self._priced_alike.get(key) if not node.attrs else None
        if known is None:
            e = Expression(max(node.type.rank, 1))
            lower.fn(e, *(e.input(Access(dtype, (), 0, 1), i) for i, dtype in enumerate(dtypes)), **node.attrs)
            known = price(e.body)
            if not node.attrs:
                self._priced_alike[key] = known
        return known

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
        shape = self.graph.type(value).shape
        if shape != reader.domain:
            return False
        whole = (0, row_major(shape))
        for user in reader.nodes:
            if value in user.inputs:
                places = [i for i, v in enumerate(user.inputs) if v == value]
                if any([walk(self.graph, shape, user, i) != whole for i in places]):
                    return False
        return True

    def _add(self, reader: Group, recipe: _Recipe, index: int) -> None:
        reader.nodes = sorted([*reader.nodes, *recipe.nodes], key=lambda n: self.position[n.id])
        reader.members |= {n.id for n in recipe.nodes}
        reader.again |= {n.id for n in recipe.nodes}
        self._suspects.add(reader)
        for node in recipe.nodes:
            self.groups[node.id].append(reader)
            self._suspects.add(self.home[node.id])
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
            if value in wanted or (node.id not in group.again and self.is_stored(value)):
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
