"""What passes and verifier find out about a graph in one sweep, against networkx's own algorithms on random graphs."""

from __future__ import annotations

import gc
import random

import networkx as nx
import numpy as np
import pytest

import graphc
from graphc import Tensor, nn
from graphc.collector import Pause
from graphc.debug import debug
from graphc.errors import GraphcError, VerifyError
from graphc.ir import REGIONS, Graph, TensorType, Value, parse, verify, walk
from graphc.passes import order_writes, run
from graphc.passes.tools import Ancestors
from graphc.testing import seeded_graph


def tangled(seed: int, size: int = 60) -> Graph:
    """Nodes of all regions, each with random operands and order predecessors among those before it."""
    rng = np.random.default_rng(seed)
    g = Graph("tangled")
    ids = [g.add("Input", types=(TensorType("float32", ()),), region="state").id]
    for _ in range(size):
        operands = [g.node(i).outputs[0] for i in rng.choice(ids, 2)]
        after = [int(i) for i in rng.choice(ids[1:] or ids, int(rng.integers(3)))]
        region = REGIONS[int(rng.integers(len(REGIONS)))]
        ids.append(g.add("Add", operands, after=after, region=region).id)
    g.set_results([("last", g.node(ids[-1]).outputs[0])])
    return g


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_networkx(seed):
    g = tangled(seed)
    ranks = {n.id: (REGIONS.index(n.region), n.id) for n in g.nodes()}
    assert g.order() == tuple(nx.lexicographical_topological_sort(g.nx, ranks.__getitem__))


@pytest.mark.parametrize("seed", range(20))
def test_dead_is_what_no_result_descends_from(seed):
    g = tangled(seed)
    last = g.results[0].value.node
    live = nx.ancestors(g.nx, last) | {last, *g.inputs}
    assert set(g.dead()) == set(g.nx) - live


@pytest.mark.parametrize("seed", range(20))
def test_ancestors_are_those_of_networkx_also_after_changes(seed):
    g = tangled(seed)
    rng = np.random.default_rng(seed)
    chosen = [int(i) for i in rng.choice(list(g.nx), 12, replace=False)]
    comes_after = Ancestors(g)
    for _ in range(4):
        for id in g.nx:
            assert {c for c in chosen if comes_after(id, c)} == nx.ancestors(g.nx, id) & set(chosen)
        early, late = sorted(int(i) for i in rng.choice(list(g.nx)[1:], 2, replace=False))
        g.set_node(late, after=[*g.node(late).after, early])
        comes_after.update(g, late)


@pytest.mark.parametrize("seed", range(30))
def test_after_order_writes_no_reader_is_free_to_run_at_either_side_of_a_writer(seed):
    g = order_writes(seeded_graph(seed, 40))
    for param, value in g.updates:
        if g.node(value.node).op.name in ("Input", "Param"):
            continue
        beside = nx.ancestors(g.nx, value.node) | nx.descendants(g.nx, value.node) | {value.node}
        users = [g.node(i) for i in g.users(param)]
        # What shares the memory, or begins a new version, reads nothing itself.
        readers = {n.id for n in users if Value(param) in n.inputs and n.op.name not in ("Reshape", "Depend", "Assign")}
        assert readers <= beside


@pytest.mark.parametrize("seed", range(20))
def test_owners_are_the_nodes_with_subgraphs(seed):
    graph = seeded_graph(seed, 40)
    for g in {id(g): g for g, _ in walk(graph)}.values():
        assert {n.id for n in g.owners()} == {n.id for n in g if n.graphs()}


# ---- a pass that breaks a graph is found although most records have been found right before


def _wrong_type(graph: Graph) -> Graph:
    changed = graph.copy()
    node = next(n for n in changed if n.op.name == "MatMul")
    changed.set_node(node.id, types=(TensorType("float32", (9, 9)),))
    return changed


def _swapped_operands(graph: Graph) -> Graph:
    changed = graph.copy()
    node = next(n for n in changed if n.op.name == "MatMul")
    changed.set_node(node.id, inputs=node.inputs[::-1])
    return changed


def _lost_edge(graph: Graph) -> Graph:
    changed = graph.copy()
    node = next(n for n in changed if n.op.name == "MatMul")
    changed.nx.remove_edge(node.inputs[0].node, node.id)
    return changed


@pytest.mark.parametrize("broken", [_wrong_type, _swapped_operands, _lost_edge])
def test_a_pass_that_breaks_one_record_is_named(broken):
    g = Graph("g")
    x = g.add("Input", types=(TensorType("float32", (4, 3)),)).outputs[0]
    w = g.add("Input", types=(TensorType("float32", (3, 2)),)).outputs[0]
    g.set_results([("y", g.add("Exp", g.add("MatMul", [x, w]).outputs).outputs[0])])
    with pytest.raises(VerifyError, match=f"pass {broken.__name__} made an invalid graph") as caught:
        run(g, (broken,))
    assert "MatMul" in str(caught.value)


def test_a_record_is_checked_again_where_its_operand_has_another_type():
    g = Graph("g")
    x_type = TensorType("float32", (4,))
    x = g.add("Input", types=(x_type,)).outputs[0]
    y = g.add("Exp", [x])
    g.set_results([("y", y.outputs[0])])
    verify(g)
    assert y.ruled == (x_type,)
    changed = g.copy()
    changed.set_node(x.node, types=(TensorType("float32", (5,)),))
    with pytest.raises(VerifyError, match=r"its types are f32\[4\], the type rule says f32\[5\]"):
        verify(changed)


@pytest.mark.parametrize("seed", range(10))
def test_a_record_knows_for_which_operands_its_rule_was_asked_unless_it_saw_a_subgraph(seed):
    graph = seeded_graph(seed, 40)
    for node in graph:
        operands = tuple(graph.type(v) for v in node.inputs)
        assert node.ruled == (None if node.graphs() else operands)
        assert graph.copy().set_node(node.id, name="named").ruled == node.ruled
        assert graph.copy().set_node(node.id, types=node.types).ruled is None
        assert graph.copy().set_node(node.id, attrs=node.attrs).ruled is None


@pytest.mark.parametrize("seed", range(4))
def test_what_is_wrong_with_one_node_is_found_wherever_it_stands(seed):
    graph = seeded_graph(seed, 12)
    verify(graph)
    for node in list(graph):
        for wrong in ({"types": (TensorType("int8", (7,)),) * len(node.types)}, {"fwd": 10_000}):
            if (node.op.infer is not None and node.types) or "fwd" in wrong:
                changed = graph.copy()
                changed.set_node(node.id, **wrong)
                with pytest.raises(VerifyError, match=f"%{node.id} "):
                    verify(changed)


# ---- the garbage collector


class _Looks(nn.Cell):
    """Notes whether the collector is on while it is traced, and fails if asked to."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.fails = fails
        self.seen: list[bool] = []

    def construct(self, x):
        self.seen.append(gc.isenabled())
        return x.reshape((7,)) if self.fails else x + x


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("on", [False, True])
def test_the_collector_is_off_while_compiling_and_then_as_it_was(on, fails):
    was = gc.isenabled()
    cell = _Looks(fails)
    try:
        (gc.enable if on else gc.disable)()
        with debug(jit=False):
            if fails:
                with pytest.raises(GraphcError):
                    graphc.compile(cell, Tensor(np.ones(3, np.float32)))
            else:
                graphc.compile(cell, Tensor(np.ones(3, np.float32)))
        assert cell.seen == [False]
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()


def _generation(x: object) -> int:
    return next(g for g in range(3) if any(o is x for o in gc.get_objects(g)))


@pytest.mark.skipif(gc.get_freeze_count() > 0, reason="this Python has frozen objects of its own")
def test_what_is_made_in_a_pause_becomes_old_once_between_full_collections():
    was, pause = gc.isenabled(), Pause()
    gc.enable()
    try:
        with pause:
            assert not gc.isenabled()
            with pause:
                first: list[object] = []
            assert not gc.isenabled()
        assert gc.isenabled()
        with pause:
            second: list[object] = []
        assert _generation(first) == 2
        assert _generation(second) < 2
        gc.collect()
        gc.freeze()
        with pause:
            third: list[object] = []
        assert gc.get_freeze_count()
        assert _generation(third) < 2
        gc.unfreeze()
        with pause:
            fourth: list[object] = []
        assert _generation(fourth) == 2
    finally:
        gc.unfreeze()
        (gc.enable if was else gc.disable)()


# ---- what graphs remember while they change


def _changed_somehow(graph: Graph, rng: random.Random) -> None:
    """Make one change of any kind."""
    nodes = list(graph)
    node = rng.choice(nodes)
    earlier = nodes[: nodes.index(node)]
    kind = rng.randrange(6)
    if kind == 0 and node.types:
        graph.add("Depend", [node.outputs[0]], fwd=node.id)
    elif kind == 1 and node.inputs:
        same = [v for n in earlier for v in n.outputs if graph.type(v) == graph.type(node.inputs[0])]
        graph.set_node(node.id, inputs=[rng.choice(same), *node.inputs[1:]])
    elif kind == 2 and earlier and node.op.name not in ("Input", "Param"):
        graph.set_node(node.id, after=[rng.choice(earlier).id])
    elif kind == 3:
        same = [n for n in earlier if n.types == node.types and n.types]
        if same:
            graph.replace_node(node.id, rng.choice(same).outputs)
    elif kind == 4:
        made = [n for n in nodes if n.types]
        graph.set_results([("r", rng.choice(made).outputs[0])], graph.updates)
    else:
        graph.set_node(node.id, region=rng.choice(("forward", "backward", "optimizer")))


@pytest.mark.parametrize("seed", range(30))
def test_what_a_graph_remembers_is_what_it_would_find_anew(seed):
    rng = random.Random(seed)
    graph = seeded_graph(seed, 25).copy()
    graph.prune()
    assert graph.dead() == []
    before, edges = graph, {id: graph.users(id) for id in graph.nx}
    graph = graph.copy()
    for _ in range(20):
        _changed_somehow(graph, rng)
        anew = parse(str(graph))
        assert sorted(graph.dead()) == sorted(anew.dead())
        assert graph.order() == anew.order()
        assert {id: sorted(graph.users(id)) for id in graph.nx} == {id: sorted(anew.users(id)) for id in anew.nx}
        if rng.random() < 0.2:
            graph = graph.copy()
        elif rng.random() < 0.2:
            graph.prune()
            assert set(graph.nx) == set(anew.nx) - set(anew.dead())
            assert all(n.fwd is None or n.fwd in graph for n in graph)
    assert {id: before.users(id) for id in before.nx} == edges
