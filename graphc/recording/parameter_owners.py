"""Which parameter the nodes of a training step's end belong to: gradient, unscaling, clipping, accumulation, optimizer, averages.

Found by following values through the traced graph. The gradient for a parameter is that parameter's, and so is what is computed
from it and from values that belong to nobody, such as a learning rate. Where values of two parameters meet, as in a global norm,
the result is everybody's, and stays so when more is added; scaling a gradient by it leaves that gradient its owner. State that is
updated with a parameter's values is that parameter's, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphc.inspect.document import Rewrite
from graphc.ir import Graph, Node, Value, walk

#: Nodes of these regions belong to the parameters that they read; in the forward pass everybody reads them.
_LATE = frozenset(("overflow", "optimizer"))
#: What stands between a request for a gradient and the parameter that it is for.
_THROUGH = frozenset(("Cast", "Depend", "Assign"))
#: Owner of what was computed from values of several parameters.
_EVERYBODY = ""
#: Operations that leave the owner of one operand alone when another one is everybody's.
_SCALING = frozenset(("Mul", "Div", "Select", "Assign", "Depend", "Pow", "Cast"))
#: State of state: so often, at most, is what owns it looked for.
_ROUNDS = 4


def owners(traced: Graph, history: Sequence[Rewrite], nodes: Iterable[int]) -> dict[int, str]:
    """The names of the parameters that those of `nodes` belong to which do so. `history` is that of the passes."""
    found = _Owners(weights(traced))
    for _ in range(_ROUNDS):
        known = dict(found.state)
        found.graph(traced)
        if found.state == known:
            break
    wanted = set(nodes)
    named = {id: name for id, name in found.nodes.items() if name}
    requests = {n.id: found.slots[n.id] for _, n in walk(traced) if n.id in found.slots}
    for row in history:
        if row.rule == "Grad" and row.from_[0] in requests:
            continue
        given = {named[i] for i in row.from_ if i in named}
        for id in row.to if len(given) == 1 and row.pass_ != "trace" else ():
            if id not in found.nodes:
                named.setdefault(id, next(iter(given)))
    return {id: name for id, name in named.items() if id in wanted}


def weights(traced: Graph) -> frozenset[str]:
    """The names of the parameters that gradients are asked for; of all that could be trained where there are none."""
    asked = {name for graph, n in walk(traced) if n.op.name == "Grad" for name in _wrt(graph, n) if name}
    params = [n for n in map(traced.node, traced.inputs) if n.op.name == "Param"]
    return frozenset(asked & {n.name for n in params} or {n.name for n in params if n.attrs["trainable"]})


def gradient_owners(log: Iterable[tuple[str, Sequence[int], Sequence[int]]], traced: Graph) -> dict[int, str]:
    """The parameter that the nodes which make gradients belong to: results of requests, by what replaced them."""
    wrt = {n.id: _wrt(g, n) for g, n in walk(traced) if n.op.name == "Grad"}
    found: dict[int, set[str]] = {}
    for rule, sources, made in log:
        names = wrt.get(sources[0]) if rule == "Grad" else None
        for id, name in zip(made, names or (), strict=False):
            if name is not None:
                found.setdefault(id, set()).add(name)
    return {id: next(iter(names)) for id, names in found.items() if len(names) == 1}


def _wrt(graph: Graph, node: Node) -> list[str | None]:
    """For each result of a Grad node the name of the parameter that it is the gradient for."""
    cut = node.inputs[2 * node.attrs["ys"] :]
    names: list[str | None] = []
    for place in node.attrs["wrt"]:
        source = graph.node(cut[place].node)
        while source.op.name in _THROUGH:
            source = graph.node(source.inputs[0].node)
        names.append(source.name if source.op.name == "Param" and source.name else None)
    labels = node.attrs["names"] or [""] * len(names)
    return [n or label.removeprefix("grad.") or None for n, label in zip(names, labels, strict=True)]


@dataclass(slots=True)
class _Owners:
    """`nodes`: the owner of each node that was looked at, None for nobody. `state`: that of parameters that are no `weights`."""

    weights: frozenset[str]
    nodes: dict[int, str | None] = field(default_factory=dict)
    slots: dict[int, list[str | None]] = field(default_factory=dict)
    state: dict[int, str] = field(default_factory=dict)

    def graph(
        self, graph: Graph, given: Mapping[Value, str] | None = None, weak: Mapping[Value, str] | None = None
    ) -> list[str | None]:
        """Look at a graph; the owners of its results. `given` are owners of its inputs, `weak` such as count late only."""
        strong, read = dict(given or {}), dict(weak or {})
        for node in graph:
            if node.op.name == "Param":
                owner = node.name if node.name in self.weights else self.state.get(node.id)
                if owner:
                    read[node.outputs[0]] = owner
                    self.nodes[node.id] = owner
            elif node.op.name == "Grad":
                self.slots[node.id] = _wrt(graph, node)
                self._put(node, self.slots[node.id], strong)
            elif node.inputs:
                self._put(node, self._of(graph, node, strong, read), strong)
        for param, value in graph.updates:
            owner = strong.get(value)
            if owner and graph.node(param).name not in self.weights:
                self.state[param] = owner
        return [strong.get(r.value, read.get(r.value)) for r in graph.results]

    def _put(self, node: Node, owners: Sequence[str | None], strong: dict[Value, str]) -> None:
        strong.update((v, o) for v, o in zip(node.outputs, owners, strict=True) if o is not None)
        whole = set(owners)
        self.nodes[node.id] = owners[0] if len(whole) == 1 else None

    def _of(
        self, graph: Graph, node: Node, strong: Mapping[Value, str], read: Mapping[Value, str]
    ) -> Sequence[str | None]:
        """The owner of each result."""
        late = node.region in _LATE
        subs = node.graphs()
        if subs:
            return self._of_holder(node, [sub for _, sub in subs], strong, read)
        found = {strong[v] if v in strong else read[v] for v in node.inputs if v in strong or (late and v in read)}
        if not found and node.op.name == "Depend":
            found = {self.nodes.get(i) or _EVERYBODY for i in node.after}
        names = found - {_EVERYBODY}
        if len(names) > 1:
            owner: str | None = _EVERYBODY
        elif names and _EVERYBODY in found and not self._is_scaled(graph, node, strong):
            owner = _EVERYBODY
        else:
            owner = next(iter(names or found), None)
        return [owner] * len(node.types)

    def _is_scaled(self, graph: Graph, node: Node, strong: Mapping[Value, str]) -> bool:
        """Whether what is everybody's only scales the result, as a common factor or a smaller operand does."""
        shared = [graph.type(v).size for v in node.inputs if strong.get(v) == _EVERYBODY]
        return node.op.name in _SCALING or all(size < node.type.size for size in shared)

    def _of_holder(
        self, node: Node, subs: Sequence[Graph], strong: Mapping[Value, str], read: Mapping[Value, str]
    ) -> Sequence[str | None]:
        ways: list[list[str | None]] = []
        for sub in subs:
            outer = node.inputs[len(node.inputs) - len(sub.inputs) :]
            pairs = [(v, Value(i)) for v, i in zip(outer, sub.inputs, strict=False)]
            given, weak = ({i: owners[v] for v, i in pairs if v in owners} for owners in (strong, read))
            self.nodes.update((i.node, owner) for i, owner in (weak | given).items())
            ways.append(self.graph(sub, given, weak))
        fitting = [way for way in ways if len(way) == len(node.types)]
        merged: list[str | None] = []
        for slot in range(len(node.types)):
            found = {way[slot] for way in fitting} - {None}
            merged.append(next(iter(found)) if len(found) == 1 else _EVERYBODY if found else None)
        return merged
