"""The verifier: each rule of the IR, broken on purpose, is named with the node; all at once."""

from __future__ import annotations

from types import MappingProxyType

import networkx as nx
import numpy as np
import pytest

from graphc.errors import GraphcError, Loc, VerifyError
from graphc.ir import Data, Graph, Node, TensorType, Value, get_op, verify

F = TensorType("float32", (2, 3))


def chain() -> tuple[Graph, list[Node]]:
    """w (parameter), x, a = x * w, b = a + x; returns b and makes it the new w."""
    g = Graph("chain")
    w = g.add("Param", types=(F,), name="w", region="state")
    x = g.add("Input", types=(F,), name="x")
    a = g.add("Mul", [*x.outputs, *w.outputs], loc=Loc("model.py", 7))
    b = g.add("Add", [*a.outputs, *x.outputs])
    g.set_results([("b", b.outputs[0])], [(w.id, b.outputs[0])])
    verify(g)
    return g, [w, x, a, b]


def problems(graph: Graph, **options: bool) -> str:
    with pytest.raises(VerifyError) as caught:
        verify(graph, **options)
    return str(caught.value)


def put(graph: Graph, id: int, **fields: object) -> None:
    """Overwrite fields of a record behind the graph's back."""
    from dataclasses import replace

    graph.nx.nodes[id]["node"] = replace(graph.node(id), **fields)


def test_a_good_graph_passes():
    g, _ = chain()
    verify(g)
    verify(g.freeze())
    verify(g, ordered_writes=True)


# ---- what networkx holds


def test_a_removed_edge():
    g, (_, x, a, _) = chain()
    g.nx.remove_edge(x.id, a.id)
    text = problems(g)
    assert "%2 Mul: its edges differ from its operands" in text
    assert "model.py:7" in text


def test_an_edge_too_many():
    g, (w, _, _, b) = chain()
    g.nx.add_edge(w.id, b.id, kind="data")
    assert "%3 Add: its edges differ from its operands" in problems(g)


@pytest.mark.parametrize("attributes", [{"kind": "order"}, {}, {"kind": "data", "weight": 1}])
def test_an_edge_with_other_attributes(attributes):
    g, (_, x, a, _) = chain()
    g.nx.remove_edge(x.id, a.id)
    g.nx.add_edge(x.id, a.id, **attributes)
    assert "%2 Mul: its edges differ from its operands" in problems(g)


def test_a_cycle():
    g, (_, _, a, b) = chain()
    put(g, a.id, after=(b.id,))
    g.nx.add_edge(b.id, a.id, kind="order")
    text = problems(g)
    assert "graph @chain has a cycle: %2 -> %3" in text
    assert "1 problem\n" in text


def test_a_removed_node():
    g, (_, _, a, _) = chain()
    g.nx.remove_node(a.id)
    text = problems(g)
    assert "%3 Add: operand %2 does not exist" in text
    assert "%3 Add: its edges differ from its operands" in text


@pytest.mark.parametrize("damage", ["extra", "missing", "other"])
def test_a_networkx_node_without_its_record(damage):
    g, (_, _, a, b) = chain()
    data = g.nx.nodes[a.id]
    if damage == "extra":
        data["colour"] = "red"
    elif damage == "missing":
        del data["node"]
    else:
        data["node"] = b
    assert "graph @chain: networkx node 2 does not hold the record of %2 and that alone" in problems(g)


# ---- records


def test_a_type_that_is_not_the_rules():
    g, (_, _, a, _) = chain()
    put(g, a.id, types=(TensorType("float32", (3, 2)),))
    text = problems(g)
    assert "%2 Mul: its types are f32[3,2], the type rule says f32[2,3]" in text
    assert "%3 Add: Add: shapes (3, 2) and (2, 3) cannot be broadcast together" in text
    assert text.startswith("[GC163] graph @chain is not valid: 2 problems")


def test_an_operand_slot_that_does_not_exist():
    g, (_, x, a, b) = chain()
    put(g, b.id, inputs=(Value(a.id, 1), Value(x.id)))
    assert "%3 Add: operand %2#1 does not exist" in problems(g)


def test_too_few_operands():
    g, (_, x, _, b) = chain()
    put(g, b.id, inputs=(Value(x.id),))
    assert "%3 Add: Add takes 2 operands (x, y), got 1" in problems(g)


def test_missing_and_unknown_attributes():
    g, (_, _, a, _) = chain()
    r = g.add("Reshape", a.outputs, {"shape": (6,)})
    put(g, r.id, attrs=MappingProxyType({"form": (6,)}))
    assert "%4 Reshape: its attributes are ['form'], declared are ['shape']" in problems(g)


def test_attributes_that_the_type_rule_cannot_read():
    g, (_, _, a, _) = chain()
    r = g.add("Reshape", a.outputs, {"shape": (6,)})
    put(g, r.id, attrs=MappingProxyType({"shape": 6}))
    assert "%4 Reshape: its type rule fails: TypeError:" in problems(g)


def test_an_input_that_waits():
    g, (_, x, _, _) = chain()
    n = g.add("Fill", attrs={"dtype": "float32", "shape": (), "value": 1.0})
    g.set_node(x.id, after=[n.id])
    assert "%1 Input: it comes from outside and cannot wait for a node" in problems(g)


def test_the_gradient_of_a_node_that_is_gone():
    g, (_, _, a, _) = chain()
    put(g, a.id, fwd=99)
    assert "%2 Mul: it is the gradient of %99, which does not exist" in problems(g)


def test_an_id_used_twice_in_the_program():
    g, (w, x, _, b) = chain()
    flag = g.add("ReduceAny", g.add("Greater", [*b.outputs, *x.outputs]).outputs, {"axis": (0, 1)})
    branches = {}
    for name in ("then", "else"):
        sub = Graph(name)  # Numbers of its own, which the program has already.
        taken = sub.add("Input", types=(F,), region="state").outputs[0]
        sub.set_results([("0", taken)])
        branches[name] = sub
    g.add("If", [*flag.outputs, *w.outputs], branches)
    text = problems(g)
    assert text.count("%0 Input: its id is used twice in the program") == 2


def test_an_unfrozen_subgraph():
    g, (w, x, _, b) = chain()
    flag = g.add("ReduceAny", g.add("Greater", [*b.outputs, *x.outputs]).outputs, {"axis": (0, 1)})
    branches = {}
    for name in ("then", "else"):
        branches[name] = Graph(name, g.ids)
        taken = branches[name].add("Input", types=(F,), region="state").outputs[0]
        branches[name].set_results([("0", taken)])
    made = g.add("If", [*flag.outputs, *w.outputs], branches)
    verify(g)
    loose = branches["then"].copy()
    put(g, made.id, attrs=MappingProxyType({"then": loose, "else": branches["else"]}))
    assert f"%{made.id} If: its subgraph then is not frozen" in problems(g)


def test_problems_inside_a_subgraph_are_found():
    g, (w, x, _, b) = chain()
    flag = g.add("ReduceAny", g.add("Greater", [*b.outputs, *x.outputs]).outputs, {"axis": (0, 1)})
    branches = {}
    for name in ("then", "else"):
        branches[name] = Graph(name, g.ids)
        taken = branches[name].add("Input", types=(F,), region="state")
        made = branches[name].add("Neg", taken.outputs)
        branches[name].set_results([("0", made.outputs[0])])
    g.add("If", [*flag.outputs, *w.outputs], branches)
    put(branches["else"], made.id, types=(TensorType("int32", (2, 3)),))
    text = problems(g)
    assert f"%{made.id} Neg: its types are i32[2,3], the type rule says f32[2,3]" in text
    assert "If: the branches return (f32[2,3]) and (i32[2,3])" in text


# ---- signature, results, updates


def test_a_signature_that_lacks_an_input():
    g, (w, *_) = chain()
    g.inputs = (w.id,)
    assert "graph @chain: the signature differs from its Input and Param nodes" in problems(g)


@pytest.mark.parametrize("value", [Value(77), Value(3, 1)])
def test_a_result_that_does_not_exist(value):
    g, _ = chain()
    g.set_results([("gone", value)])
    assert f"graph @chain: result gone is {value}, which does not exist" in problems(g)


def test_updates_that_cannot_be():
    g, (w, x, a, b) = chain()
    other = g.add("ReduceSum", b.outputs, {"axis": (0,)})
    g.set_results(
        [],
        [
            (x.id, b.outputs[0]),
            (77, b.outputs[0]),
            (w.id, Value(88)),
            (w.id, Value(b.id, 3)),
            (w.id, other.outputs[0]),
            (w.id, a.outputs[0]),
        ],
    )
    text = problems(g, ordered_writes=True)
    assert "update of %1, which is no Param" in text
    assert "update of %77, which is no Param" in text
    assert "update of %0 to %88, which does not exist" in text
    assert "update of %0 to %3#3, which does not exist" in text
    assert "update of %0 to %4 changes its type" in text
    assert "%0 is updated twice" in text
    assert "6 problems" in text


def test_a_reader_after_the_write():
    g, (w, _, _, b) = chain()
    late = g.add("Neg", w.outputs)
    g.set_results([("late", late.outputs[0])], [(w.id, b.outputs[0])])
    verify(g)
    text = problems(g, ordered_writes=True)
    assert "%3 Add: it writes parameter %0 but is not ordered after its reader %4" in text
    g.set_node(b.id, after=[late.id])
    verify(g, ordered_writes=True)


# ---- rules that ops add


def status(after_clear: bool) -> Graph:
    g = Graph("status")
    x = g.add("Input", types=(F,), name="x")
    clear = g.add("ClearFloatStatus", region="overflow")
    held = g.add("Depend", x.outputs, after=[clear.id]) if after_clear else x
    y = g.add("Exp", held.outputs, loc=Loc("model.py", 3))
    check = g.add("GetFloatStatus", [*clear.outputs, *y.outputs])
    g.set_results([("overflow", check.outputs[0])])
    return g


def test_a_status_check_without_a_path_from_its_clearing():
    verify(status(True))
    with pytest.raises(VerifyError, match="nothing orders that after the clearing of the status") as caught:
        verify(status(False))
    assert caught.value.code == "GC161"
    assert caught.value.nodes == (3,)
    assert caught.value.details == ("%2 Exp at model.py:3 may run before the clearing of the status (%1)",)
    assert "start_overflow_check" in str(caught.value)


def test_a_users_mistake_among_others_is_one_line():
    g = status(False)
    g.set_results([("gone", Value(77))])
    text = problems(g)
    assert text.startswith("[GC163] graph @status is not valid: 2 problems")
    assert "%3 GetFloatStatus: the overflow check does not cover what it tests" in text
    assert "graph @status: result gone is %77, which does not exist" in text


def test_a_status_that_nobody_cleared():
    g = Graph("status")
    type = TensorType("int32", (8,))
    zeros = g.add("Constant", attrs={"value": Data(np.zeros(8, np.int32), type=type)}, types=(type,))
    g.add("GetFloatStatus", zeros.outputs)
    assert "its status is the result of Constant, not of ClearFloatStatus" in problems(g)


def test_assignment_to_what_is_no_parameter():
    g, (_, _, a, b) = chain()
    g.add("Assign", [*a.outputs, *b.outputs])
    assert "%4 Assign: operand 0 is the result of Mul, not a version of a parameter" in problems(g)


@pytest.mark.parametrize("kind", ["If", "While"])
def test_a_parameter_may_be_assigned_after_control_flow(kind):
    g = Graph("g")
    w = g.add("Param", types=(F,), name="w")
    flag = g.add("Input", types=(TensorType("bool", ()),), name="flag")
    subs = []
    for name in ("one", "two"):
        sub = Graph(name, g.ids)
        types = (w.types,) if kind == "If" else (w.types, flag.types)
        taken = [sub.add("Input", types=t, region="state") for t in types]
        sub.set_results([("0", taken[1 if kind == "While" and name == "one" else 0].outputs[0])])
        subs.append(sub)
    if kind == "If":
        made = g.add("If", [*flag.outputs, *w.outputs], {"then": subs[0], "else": subs[1]})
    else:
        made = g.add("While", [*w.outputs, *flag.outputs], {"carried": 1, "cond": subs[0], "body": subs[1]})
    new = g.add("Assign", [made.outputs[0], *w.outputs])
    g.set_results([], [(w.id, new.outputs[0])])
    verify(g)


# ---- how it reports


def test_more_problems_than_fit_are_counted():
    g = Graph("many")
    x = g.add("Input", types=(F,))
    ids = [g.add("Neg", x.outputs).id for _ in range(12)]
    for id in ids:
        put(g, id, types=(TensorType("int32", ()),))
    with pytest.raises(VerifyError) as caught:
        verify(g)
    assert "12 problems" in caught.value.message
    assert caught.value.details[-1] == "... and 4 more"
    assert set(caught.value.nodes) == set(ids)
    assert isinstance(caught.value, GraphcError | RuntimeError)


def test_the_verifier_uses_networkx_only_to_read():
    g, _ = chain()
    before = nx.to_dict_of_dicts(g.nx)
    verify(g)
    assert nx.to_dict_of_dicts(g.nx) == before
    assert get_op("Mul") is g.node(2).op
