"""Graph: records, derived edges, order, copies, freezing, pruning, replacement, and how the work grows with the nodes."""

from __future__ import annotations

from functools import partial

import networkx as nx
import numpy as np
import pytest

from graphc.errors import ArgumentTypeError, ArgumentValueError, Loc, ShapeError, VerifyError
from graphc.ir import Data, Graph, Origin, TensorType, Value, equal, get_op, parse, parse_type, to_text, verify, walk
from graphc.testing import seeded_graph
from tests.counting import calls

F = TensorType("float32", (2, 3))


def diamond() -> Graph:
    """x -> a -> b, x -> c, b + c; and one node that nobody needs."""
    g = Graph("diamond")
    x = g.add("Input", types=(F,), name="x").outputs[0]
    a = g.add("Exp", [x]).outputs[0]
    b = g.add("Neg", [a]).outputs[0]
    c = g.add("Tanh", [x], after=[a.node]).outputs[0]
    g.add("Log", [b])
    s = g.add("Add", [b, c]).outputs[0]
    g.set_results([("s", s)])
    return g


# ---- networkx


def test_networkx_holds_the_records_and_nothing_else():
    g = diamond()
    assert type(g.nx) is nx.DiGraph
    for id, data in g.nx.nodes(data=True):
        assert list(data) == ["node"]
        assert data["node"] is g.node(id)
        assert data["node"].id == id
    assert {(p, q): d for p, q, d in g.nx.edges(data=True)} == {
        (0, 1): {"kind": "data"},
        (1, 2): {"kind": "data"},
        (0, 3): {"kind": "data"},
        (1, 3): {"kind": "order"},
        (2, 4): {"kind": "data"},
        (2, 5): {"kind": "data"},
        (3, 5): {"kind": "data"},
    }


def test_an_edge_that_is_both_is_a_data_edge():
    g = diamond()
    node = g.add("Mul", [Value(1), Value(1)], after=[1, 2, 2])
    assert node.after == (1, 2)
    assert g.nx.edges[1, node.id] == {"kind": "data"}
    assert g.nx.edges[2, node.id] == {"kind": "order"}
    assert g.users(1) == [2, 3, node.id]


def test_networkx_algorithms_work_on_it():
    g = diamond()
    assert nx.ancestors(g.nx, 5) == {0, 1, 2, 3}
    assert nx.dag_longest_path_length(g.nx) == 4 - 1


# ---- order and ids


def test_the_order_is_by_region_then_id_and_always_the_same():
    g = Graph("order")
    x = g.add("Input", types=(F,)).outputs[0]
    names = ("optimizer", "backward", "forward", "overflow", "forward")
    nodes = [g.add("Neg", [x], region=region) for region in names]
    want = (0, nodes[2].id, nodes[4].id, nodes[1].id, nodes[3].id, nodes[0].id)
    assert g.order() == want
    assert g.copy().order() == want
    g.set_node(nodes[4].id, after=[nodes[0].id])
    assert g.order() == (0, nodes[2].id, nodes[1].id, nodes[3].id, nodes[0].id, nodes[4].id)


def test_ids_are_never_used_again():
    g = diamond()
    assert g.prune() == 1
    copy = g.copy()
    assert copy.add("Neg", [Value(0)]).id == 6
    assert g.add("Neg", [Value(0)]).id == 7
    assert g.add("Neg", [Value(0)], id=20).id == 20
    assert copy.add("Neg", [Value(0)]).id == 21
    with pytest.raises(VerifyError, match="node id %20 is used twice in graph @diamond"):
        g.add("Neg", [Value(0)], id=20)


def test_a_cycle_is_named_by_order():
    g = diamond()
    g.set_node(1, after=[5])
    with pytest.raises(VerifyError, match="graph @diamond has a cycle: %"):
        g.order()


# ---- adding


def test_a_failed_addition_changes_nothing():
    g = diamond()
    text = str(g)
    loc = Loc("m.py", 4)
    with pytest.raises(ShapeError) as caught:
        g.add("MatMul", [Value(0), Value(0)], loc=loc)
    assert caught.value.loc == loc
    with pytest.raises(ArgumentTypeError, match="Add takes 2 operands"):
        g.add("Add", [Value(0)])
    with pytest.raises(ArgumentValueError, match="there is no op named 'Ad'") as named:
        g.add("Ad", [Value(0)])
    assert named.value.help == "did you mean Add?"
    with pytest.raises(ArgumentTypeError, match="Reshape needs attribute 'shape'"):
        g.add("Reshape", [Value(0)])
    with pytest.raises(ArgumentTypeError, match="Reshape has no attribute 'size'") as unknown:
        g.add("Reshape", [Value(0)], {"size": 6})
    assert unknown.value.details == ("its attributes are shape",)
    with pytest.raises(VerifyError, match="Input needs declared types"):
        g.add("Input")
    with pytest.raises(VerifyError, match=r"%6 Neg uses %99, which is not in graph @diamond"):
        g.add("Neg", [Value(0)], after=[99])
    assert str(g) == text


def test_attributes_come_in_declared_order_with_defaults_and_cannot_be_changed():
    g = diamond()
    node = g.add("MatMul", [Value(0), Value(0)], {"transpose_b": True})
    assert list(node.attrs.items()) == [("transpose_a", False), ("transpose_b", True)]
    with pytest.raises(TypeError):
        node.attrs["transpose_a"] = True  # type: ignore[index]
    with pytest.raises(AttributeError):
        node.name = "x"  # type: ignore[misc]


@pytest.mark.parametrize(("op", "attrs"), [("Cast", "dtype"), ("BroadcastTo", "shape")])
def test_an_attribute_that_only_the_run_tells_is_refused(op, attrs):
    class Traced:
        tensor_type = TensorType("int64", ())

    g = Graph("g")
    x = g.add("Input", types=(F,), name="x").outputs[0]
    given = Traced() if attrs == "dtype" else (Traced(), 3)
    with pytest.raises(ArgumentTypeError, match=f"{op} needs '{attrs}' .* i64") as error:
        g.add(op, [x], {attrs: given}, loc=Loc("net.py", 7))
    assert error.value.loc == Loc("net.py", 7)


def test_constants_cannot_be_changed_from_outside():
    array = np.zeros(3, np.float32)
    data = Data(array, type=TensorType("float32", (3,)))
    array[0] = 7
    assert data.array.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        data.array[0] = 1


# ---- copies and freezing


def test_a_copy_is_independent():
    g = diamond()
    text, copy = str(g), g.copy()
    copy.set_node(1, name="renamed")
    copy.replace_node(2, [Value(1)])
    copy.prune()
    assert str(g) == text
    g.set_results([])
    assert [r.name for r in copy.results] == ["s"]
    assert not g.freeze().copy().frozen


def state(g: Graph) -> tuple[object, ...]:
    """All that can be read of a graph and of its networkx graph."""
    nodes, edges = dict(g.nx.nodes(data="node")), sorted(g.nx.edges(data="kind"))
    back = sorted((u, v, data["kind"]) for v in g.nx for u, data in g.nx.pred[v].items())
    derived = sorted((p, node.id, kind) for node in g for p, kind in node.predecessors().items())
    assert edges == back == derived
    return g.inputs, g.results, g.updates, nodes, edges, g.order(), g.ops()


def change(g: Graph, pick) -> None:
    """Another name, order, operand, result or node; or fewer nodes."""
    node = list(g)[pick(len(g))]
    like = [n for n in g if n.types == node.types and n.id not in {node.id, *nx.descendants(g.nx, node.id)}]
    match pick(6):
        case 0:
            g.set_node(node.id, name=f"other{pick(99)}")
        case 1:
            g.set_node(node.id, after=[n.id for n in like[:1]])
        case 2 if like and node.types:
            g.replace_node(node.id, like[pick(len(like))].outputs)
        case 3:
            g.drop([n.id for n in g])
        case 4:
            g.prune()
        case 5 if node.types and node.type.dtype == "float32":
            g.set_results([*g.results, ("more", g.add("Neg", node.outputs[:1]).outputs[0])], g.updates)


@pytest.mark.parametrize("seed", range(20))
def test_changes_of_one_copy_are_not_those_of_another(seed):
    rng = np.random.default_rng(seed)
    graphs = [seeded_graph(seed, 25)]
    for _ in range(5):
        graphs.append(graphs[rng.integers(len(graphs))].copy())
        before = [state(g) for g in graphs]
        changed = int(rng.integers(len(graphs)))
        for _ in range(8):
            change(graphs[changed], lambda n: int(rng.integers(n)))
        assert all(k == changed or state(g) == before[k] for k, g in enumerate(graphs))
        state(graphs[changed])


def test_a_frozen_graph_refuses_every_change():
    g = diamond()
    assert g.freeze() is g
    text = str(g)
    changes = [
        lambda: g.add("Neg", [Value(0)]),
        lambda: g.set_node(1, name="n"),
        lambda: g.replace_node(2, [Value(1)]),
        lambda: g.set_results([]),
        lambda: g.prune(),
    ]
    for change in changes:
        with pytest.raises(VerifyError, match=r"graph @diamond is frozen and cannot be changed; change a copy\(\)"):
            change()
    with pytest.raises(nx.NetworkXError):
        g.nx.add_edge(0, 5)
    with pytest.raises(nx.NetworkXError):
        g.nx.remove_node(4)
    assert str(g) == text


def test_a_graph_used_as_an_attribute_is_frozen():
    g = Graph("outer")
    flag = g.add("Input", types=(TensorType("bool", ()),)).outputs[0]
    subs = {name: Graph(name, g.ids) for name in ("then", "else")}
    node = g.add("If", [flag], subs)
    assert subs["then"].frozen
    assert subs["else"].frozen
    assert node.outputs == ()
    assert [owner.name for owner, _ in walk(g)] == ["outer", "outer"]


# ---- pruning


def test_prune_keeps_inputs_and_what_order_needs():
    g = diamond()
    g.set_results([("c", Value(3))])
    assert g.prune() == 3  # b, Log, Add; a stays: c comes after it.
    assert sorted(g.nx) == [0, 1, 3]
    g.set_node(3, after=[])
    g.prune()
    assert sorted(g.nx) == [0, 3]
    g.set_results([])
    g.prune()
    assert sorted(g.nx) == [0]


def test_prune_forgets_forward_nodes_that_are_gone():
    g = diamond()
    back = g.add("Exp", [Value(0)], fwd=2, origin=Origin("autodiff", "", (2,)))
    g.set_results([("d", back.outputs[0])])
    g.prune()
    assert g.node(back.id).fwd is None
    assert g.node(back.id).origin == Origin("autodiff", "", (2,))
    verify(g)


def test_prune_keeps_what_updates_need():
    g = Graph("g")
    p = g.add("Param", types=(F,))
    y = g.add("Neg", p.outputs)
    g.set_results([], [(p.id, y.outputs[0])])
    assert g.prune() == 0


# ---- replacing


def test_replacement_reaches_operands_order_results_and_updates():
    g = Graph("g")
    p = g.add("Param", types=(F,)).outputs[0]
    old = g.add("Exp", [p]).outputs[0]
    user = g.add("Add", [old, p])
    waits = g.add("Neg", [p], after=[old.node])
    new = g.add("Tanh", [p]).outputs[0]
    g.set_results([("old", old), ("user", user.outputs[0])], [(p.node, old)])
    g.replace_node(old.node, [new])
    assert g.node(user.id).inputs == (new, p)
    assert g.node(waits.id).after == (new.node,)
    assert g.results[0].value == new
    assert g.updates[0].value == new
    assert g.users(old.node) == []
    verify(g)


def test_replacement_by_something_that_uses_the_node():
    g = diamond()
    twice = g.add("Square", [Value(1)])
    g.replace_node(1, twice.outputs)
    assert g.node(twice.id).inputs == (Value(1),)
    assert g.node(2).inputs == twice.outputs
    assert g.node(3).after == (twice.id,)
    verify(g)


def test_replacement_of_one_result_among_several():
    g = Graph("g")
    logits = g.add("Input", types=(TensorType("float32", (4, 3)),)).outputs[0]
    pair = g.add("SoftmaxCrossEntropyWithLogits", [logits, logits])
    first, second = (g.add("StopGradient", [v]).outputs[0] for v in pair.outputs)
    g.set_results([("a", pair.outputs[0]), ("b", pair.outputs[1])])
    g.replace_node(pair.id, [g.node(first.node).inputs[0], second])
    assert [r.value for r in g.results] == [pair.outputs[0], second]


def test_replacement_by_other_types_is_refused():
    g = diamond()
    flat = g.add("Reshape", [Value(0)], {"shape": (6,)})
    with pytest.raises(VerifyError, match="%1 cannot be replaced by values of other types"):
        g.replace_node(1, flat.outputs)
    with pytest.raises(VerifyError, match="%1 cannot be replaced"):
        g.replace_node(1, [])


# ---- types


@pytest.mark.parametrize("text", ["f32[]", "f32[2,3]", "b1[0]", "i64[1,0,2]", "u8[7]", "f16[]", "f64[3]"])
def test_types_come_back(text):
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    "text", ["", "f32", "f33[2]", "f32[2", "f32[2,]", "f32[-1]", "f32[ 2]", "f32[2]x", "[2]", "f32[٣]"]
)
def test_what_is_no_type(text):
    with pytest.raises(ValueError, match="is no type, expected for example"):
        parse_type(text)


# ---- 10,000 nodes


def large(count: int = 10_000) -> Graph:
    """Layers of five kinds of nodes with scopes, lines, order edges and provenance."""
    type = TensorType("float32", (8, 8))
    g = Graph("large")
    x = g.add("Input", types=(type,), name="x").outputs[0]
    w = g.add("Param", types=(type,), name="w", region="state").outputs[0]
    values = [x, w]
    for i in range(count - 2):
        a, b = values[-1], values[max(0, len(values) - 7)]
        about = {"scope": f"net.l{i // 50}", "loc": Loc("model.py", i // 10 + 1)}
        made_by = Origin("autodiff", "", (b.node,))
        match i % 5:
            case 0:
                node = g.add("Add", [a, b], **about)
            case 1:
                node = g.add("Mul", [a, b], **about)
            case 2:
                node = g.add("MatMul", [a, w], {"transpose_b": True}, **about)
            case 3:
                node = g.add("Tanh", [a], region="backward", fwd=b.node, origin=made_by, **about)
            case _:
                node = g.add("Transpose", [b], {"perm": (1, 0)}, after=[a.node], **about)
        values.append(node.outputs[0])
    g.set_results([("y", values[-1])])
    return g


def test_the_work_grows_as_the_nodes_do():
    """Build, verify, print, copy and parse: 10,000 nodes take less than a second for each, four times of 2,500."""
    small, graph = large(2_500), large()
    assert len(graph) == 10_000
    text = to_text(graph)
    again = parse(text)
    assert to_text(again) == text
    assert equal(graph, again)
    for action in (lambda g: large(len(g)), verify, to_text, Graph.copy, lambda g: parse(to_text(g))):
        assert calls(partial(action, graph)) < 4.2 * calls(partial(action, small))


def test_the_registry_knows_an_op_by_name():
    assert get_op("MatMul").operands == ("x", "y")
    assert repr(get_op("MatMul")) == "<op MatMul>"
