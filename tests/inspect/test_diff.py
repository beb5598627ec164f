"""Differences: of versions of one program by id, of two compiles by Cell, op and occurrence."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.inspect.diff import compare, diff_text
from graphc.inspect.listing import read_listing
from graphc.ir import Graph, TensorType, Value, parse, to_text


def _compared(a, b, **how):
    return compare(read_listing(to_text(a)), read_listing(to_text(b)), **how)


def _ids(diff):
    return {change.before.id for change in diff.changed}


def test_no_difference(step_graph, hostile_graph):
    for graph in (step_graph, hostile_graph):
        assert not _compared(graph, graph.copy())
    assert diff_text(_compared(step_graph, step_graph.copy())) == "the structure is the same"


def test_differences_by_id(step_graph):
    other = step_graph.copy()
    other.set_node(5, inputs=[Value(4), Value(4)])
    new = other.add("Neg", [Value(6)])
    other.set_results([("loss", new.outputs[0])], step_graph.updates)
    other.prune()
    diff = _compared(step_graph, other)
    # The pruned nodes: the Depend that was the loss and the unused table.
    assert set(diff.removed) == {3, 19}
    assert set(diff.added) == {new.id}
    assert _ids(diff) == {5}
    assert len(diff.structure) == 1
    text = diff_text(diff)
    assert "2 nodes removed, 1 added, 1 changed" in text
    assert "- %5: f32[4,3] = Add(%4, %2)" in text
    assert "+ %5: f32[4,3] = Add(%4, %4)" in text
    assert diff.to_json()["changed"]["%5"]["before"].startswith("%5")


def test_names_places_and_regions_are_no_difference(step_graph):
    other = step_graph.copy()
    other.set_node(5, name="sum", scope='a"  ; b', region="backward")
    diff = _compared(step_graph, other)
    assert not diff
    assert diff.remarks == 1
    assert "1 nodes differ in name" in diff_text(diff)


def test_attributes_order_edges_and_branches_are_differences(step_graph):
    changed = step_graph.copy()
    changed.set_node(9, after=[7])
    assert _ids(_compared(step_graph, changed)) == {9}
    t = TensorType("float32", (2, 2))
    a, b = Graph("g"), Graph("g")
    for graph, axis in ((a, 0), (b, 1)):
        x = graph.add("Input", types=(t,))
        graph.add("ReduceSum", [x.outputs[0]], {"axis": (axis,), "keep_dims": False})
    assert _ids(_compared(a, b)) == {1}


def test_a_change_inside_a_branch_is_found(step_graph):
    text = to_text(step_graph).replace("%15: f32[4,3] = Sub", "%15: f32[4,3] = Add")
    diff = _compared(step_graph, parse(text))
    assert _ids(diff) == {15}
    swapped = to_text(step_graph).replace("return w=%15", "return w=%13")
    diff = _compared(step_graph, parse(swapped))
    assert not diff.changed
    assert diff.structure == [('then of %18 returns "w"=%15', 'then of %18 returns "w"=%13')]


# ---- of two compiles


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Dense(width, width), nn.Dense(width, width)

    def construct(self, x):
        return x + self.b(ops.relu(self.a(x)))


class Net(nn.Cell):
    def __init__(self, width, layers):
        super().__init__()
        made = [nn.LayerNorm((width,)) if layer == "norm" else Block(width) for layer in layers.split()]
        self.body, self.head = nn.SequentialCell(*made), nn.Dense(width, 3)

    def construct(self, x):
        return self.head(self.body(x))


def _step(layers, *, batch=4, width=6):
    network = nn.WithLossCell(Net(width, layers), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Adam(network.trainable_params(), 1e-3)
    cell = nn.TrainOneStepWithLossScaleCell(network, optimizer, Tensor(1024.0))
    inputs = Tensor(np.ones((batch, width), np.float32)), Tensor(np.zeros(batch, np.int32))
    with graphc.debug(jit=False, verify=0):
        return graphc.compile(cell, *inputs).graph


@pytest.fixture(scope="module")
def plain():
    return _step("block block block")


def test_two_compiles_of_one_cell_are_the_same(plain):
    again = _step("block block block")
    assert not _compared(plain, again)
    assert not _compared(plain, again, by_id=False)


@pytest.mark.parametrize("by_id", [True, False])
def test_another_batch_is_other_types_and_nothing_else(plain, by_id):
    diff = _compared(plain, _step("block block block", batch=8), by_id=by_id)
    assert (diff.same_structure, diff.batch, diff.sizes) == (True, (4, 8), [(4, 8)])
    (line,) = diff_text(diff).split("\n")
    assert line.startswith("batch 4 -> 8: ")
    assert line.endswith(", structure equal")
    assert f"{sum('types' in c.aspects for c in diff.changed)} types" in line
    assert diff_text(diff, nodes=True).count("\n+ ") == len(diff.changed)


def test_another_width_is_no_batch(plain):
    diff = _compared(plain, _step("block block block", width=8))
    assert (diff.same_structure, diff.batch, diff.sizes[0]) == (True, None, (6, 8))
    assert diff_text(diff).startswith("size 6 -> 8: ")


@pytest.mark.parametrize(
    ("layers", "path"), [("block norm block block", "body.1"), ("block block block norm", "body.3")]
)
def test_an_inserted_cell_reads_as_one(plain, layers, path):
    """Later blocks of the list have other names then, and nearly all nodes other ids."""
    other = _step(layers)
    for a, b, word in ((plain, other, "inserted"), (other, plain, "removed")):
        diff = _compared(a, b)
        (cell,) = diff.inserted or diff.deleted
        assert cell.path == f"network._backbone.{path}"
        assert cell.parameters == (f"{path}.gamma", f"{path}.beta")
        assert {n.region for n in cell.nodes} == {"state", "forward", "backward", "overflow", "optimizer"}
        assert {n.id for n in cell.nodes} == set(diff.added or diff.removed)
        assert all(c.rewired for c in diff.changed)
        text = diff_text(diff).split("\n")
        assert text[0].startswith(f"Cell {word}: network._backbone.{path}, ")
        assert text[1].startswith("around it ")
        assert len(text) == 2


def test_two_more_layers_are_two_more_cells(plain):
    diff = _compared(plain, _step("norm block block norm block"))
    assert sorted(c.path.rpartition(".")[2] for c in diff.inserted) == ["0", "3"]
    assert not diff.deleted
    # What is left are sums of gradients that a block has now, and had not as the first one.
    left = diff.added.keys() - {n.id for c in diff.inserted for n in c.nodes}
    assert {(diff.added[id].op, diff.added[id].region) for id in left} <= {("Add", "backward"), ("MatMul", "backward")}


def test_one_changed_node_of_another_compile_is_found(plain):
    text = to_text(_step("block norm block block")).replace("ReLU(", "Exp(", 1)
    diff = _compared(plain, parse(text))
    assert [n.op for n in diff.removed.values()] == ["ReLU"]
    (cell,) = diff.inserted
    assert cell.path == "network._backbone.body.1"
    assert [n.op for id, n in diff.added.items() if n not in cell.nodes] == ["Exp"]
    assert "+ %" in diff_text(diff)
