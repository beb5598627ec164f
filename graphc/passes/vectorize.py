"""vmap: a Vmap node becomes the nodes of its body, of which those that depend on a mapped operand have a batch axis in front.

    before:  %5: f32[8,3] = Vmap(%3, %4) {body=(%1, %2) -> Mul(%1, %2), size=8, mapped=(True, False), fronts=(True,)}
    after:   %6: f32[8,3] = Mul(%3, %4)

The batching rules of the ops do the work (`graphc/ops/declared/batching.py`). What depends on no mapped operand is computed
once.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphc.errors import InternalError
from graphc.ir import Builder, Graph, Node, Origin, Value
from graphc.ir.builder import fresh
from graphc.ops.declared.batching import Mapped, rule_of
from graphc.passes.node_places import Places


def expand(graph: Graph, vmap: Node, _: Places) -> None:
    """Replace one Vmap node, whose body holds no requests any more."""
    builder = Builder(graph, vmap.region, vmap.scope, vmap.loc, origin=Origin("autodiff"))
    size, body = vmap.attrs["size"], vmap.attrs["body"]
    made = Vectorizer(size).run(builder, body, vmap.inputs, vmap.attrs["mapped"], vmap.attrs["fronts"])
    graph.replace_node(vmap.id, made, "Vmap")


def reached(source: Graph, mapped: Sequence[bool]) -> list[bool]:
    """Which results of a graph depend on inputs that are mapped."""
    found = {id for id, has in zip(source.inputs, mapped, strict=True) if has}
    for node in source:
        if any(v.node in found for v in node.inputs):
            found.add(node.id)
    return [r.value.node in found for r in source.results]


class Vectorizer:
    """Puts the nodes of bodies into graphs, for one batch axis."""

    def __init__(self, size: int) -> None:
        self.size = size

    def run(
        self, g: Builder, source: Graph, arguments: Sequence[Value], mapped: Sequence[bool], fronts: Sequence[bool]
    ) -> list[Value]:
        """The nodes of `source` in g's graph; its results, with the batch axis those of `fronts`.

        Raises InternalError if another result has it, too.
        """
        g = Builder(g.graph, g.region, g.scope, g.loc, origin=g.origin)
        values = {Value(i): v for i, v in zip(source.inputs, arguments, strict=True)}
        has = {Value(i): m for i, m in zip(source.inputs, mapped, strict=True)}
        made_of: dict[int, int] = {}
        given = set(source.inputs)
        for node in source:
            if node.id in given:
                continue
            g.region, g.scope, g.loc = node.region, node.scope, node.loc
            after = tuple(dict.fromkeys(made_of[i] for i in node.after if i in made_of))
            flags = [has[v] for v in node.inputs]
            inputs = [values[v] for v in node.inputs]
            made = (
                self._batched(g, source, node, inputs, flags, after) if any(flags) else _copied(g, node, inputs, after)
            )
            if made:
                made_of[node.id] = made[0].node
            values.update(zip(node.outputs, made, strict=True))
            has.update((v, any(flags)) for v in node.outputs)
        return [
            self._result(g, values[r.value], has[r.value], front)
            for r, front in zip(source.results, fronts, strict=True)
        ]

    def _batched(
        self, g: Builder, source: Graph, node: Node, inputs: list[Value], flags: list[bool], after: tuple[int, ...]
    ) -> list[Value]:
        types = [source.type(v) for v in node.inputs]
        view = Mapped(g, node, types, inputs, flags, self.size, after, self.run, reached)
        return list(rule_of(node.op)(g, view))

    def _result(self, g: Builder, value: Value, has: bool, front: bool) -> Value:
        if has and not front:
            raise InternalError("a result of vmap that should have no batch axis has one")
        if has or not front:
            return value
        made: Value = g.BroadcastTo(value, shape=(self.size, *g.type(value).shape))
        return made


def _copied(g: Builder, node: Node, inputs: list[Value], after: tuple[int, ...]) -> list[Value]:
    """The node itself: it is the same for all indices."""
    attrs = {k: fresh(v, g.graph.ids) if isinstance(v, Graph) else v for k, v in node.attrs.items()}
    made = g.graph.add(
        node.op,
        inputs,
        attrs,
        after=after,
        types=node.types,
        name=node.name,
        scope=node.scope,
        loc=node.loc,
        region=node.region,
        origin=node.origin,
    )
    g.graph.note("copied", (node.id,), (made.id,))
    return list(made.outputs)
