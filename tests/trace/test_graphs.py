"""What tracing writes down: nodes, names, lines, scopes, regions, state, control flow, and one forward per gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.ir import walk
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace
from tests.trace.tracing import X, cell, count, names, traced, weight

HERE = "tests/trace/test_graphs.py"


class Pair(NamedTuple):
    first: Any
    second: Any


# ---- nodes and where they come from


def test_a_small_cell():
    def construct(self, x):
        y = x * self.w
        return ops.exp(y)

    graph = traced(cell(construct, w=weight(3)), X)
    line = construct.__code__.co_firstlineno
    assert (
        str(graph)
        == f"""\
graph @Net {{
  forward:
    %0 x: f32[2,3] = Input()
  state:
    %1 w: f32[3] = Param()
  forward:
    %2: f32[2,3] = Mul(%0, %1)  ; @ {HERE}:{line + 1}
    %3: f32[2,3] = Exp(%2)  ; @ {HERE}:{line + 2}
  return result=%3
}}"""
    )


def test_the_line_is_the_users_even_through_layers():
    def construct(self, x):
        x = self.first(x)
        return self.second(x)

    graph = traced(cell(construct, first=nn.Dense(3, 4), second=nn.ReLU()), X)
    line = construct.__code__.co_firstlineno
    by_op = {n.op.name: n for n in graph}
    assert str(by_op["MatMul"].loc) == str(by_op["BiasAdd"].loc) == f"{HERE}:{line + 1}"
    assert str(by_op["ReLU"].loc) == f"{HERE}:{line + 2}"
    assert by_op["ReLU"].loc.function.endswith("construct")


def test_scopes_are_paths_of_attributes():
    def inner(self, x):
        return self.fc(x)

    def outer(self, x):
        return ops.exp(self.block(x)) + nn.ReLU()(x[:, :2])

    graph = traced(cell(outer, block=cell(inner, fc=nn.Dense(3, 2))), X)
    scopes = {n.op.name: n.scope for n in graph}
    assert scopes["MatMul"] == "block.fc"
    assert scopes["Exp"] == scopes["Add"] == ""
    assert scopes["ReLU"] == "ReLU"
    assert [n.name for n in graph if n.op.name == "Param"] == ["block.fc.weight", "block.fc.bias"]


def test_regions_of_a_training_step():
    net = nn.WithLossCell(nn.Dense(3, 4), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepWithLossScaleCell(net, optimizer, nn.DynamicLossScaleUpdateCell(1024.0, 2, 10))
    graph = traced(step, X, np.array([1, 2], np.int32))
    regions = {n.op.name: n.region for _, n in walk(graph)}
    assert regions["MatMul"] == "forward"
    assert regions["Grad"] == "backward"
    assert regions["ClearFloatStatus"] == regions["GetFloatStatus"] == regions["If"] == "overflow"
    assert regions["Param"] == "state"
    (conditional,) = [n for n in graph if n.op.name == "If"]
    inside = {n.region for _, n in walk(conditional.attrs["then"]) if n.op.name not in ("Input", "Constant", "Depend")}
    assert inside == {"optimizer"}
    assert [r.name for r in graph.results] == ["loss", "cond", "scale_sense"]
    written = {graph.node(u.param).name for u in graph.updates}
    assert {"weight", "bias"} <= {n.rsplit(".", 1)[-1] for n in written}
    assert {"scale_sense", "current_iterator_step", "last_overflow_iterator_step"} <= {
        n.rsplit(".")[-1] for n in written
    }


# ---- arguments and results


def test_names_of_arguments():
    def construct(self, x, pair, *rest, scale=None):
        return x + pair[0] + pair[1]["a"] + rest[0] + rest[1] + scale

    args = [Tensor(X) for _ in range(6)]
    leaves, structure = flatten(((args[0], (args[1], {"a": args[2]}), args[3], args[4]), {"scale": args[5]}))
    made = trace(cell(construct), leaves, structure)
    assert made.names == ("x", "pair0", "pair1", "rest0", "rest1", "scale")
    assert [made.graph.node(i).name for i in made.graph.inputs] == list(made.names)


@pytest.mark.parametrize(
    ("construct", "wanted"),
    [
        (lambda self, x: {"a": x, "b": [x + 1, None], "c": ("word", 3)}, {"a": 0, "b": [1, None], "c": ("word", 3)}),
        (lambda self, x: (x, [x, (x,)]), (0, [0, (0,)])),
        (lambda self, x: (Pair(x, Pair(x + 2, 3)), 4), (Pair(0, Pair(2, 3)), 4)),
        (lambda self, x: None, None),
        (lambda self, x: (), ()),
    ],
)
def test_nested_results(construct, wanted):
    step = graphc.compile(cell(construct), X)

    def same(made, want):
        if isinstance(want, int) and isinstance(made, Tensor):
            np.testing.assert_array_equal(made.asnumpy(), X + want)
            return True
        if isinstance(want, dict):
            return list(made) == list(want) and all(same(made[k], v) for k, v in want.items())
        if isinstance(want, (tuple, list)):
            return type(made) is type(want) and len(made) == len(want) and all(map(same, made, want))
        return made == want

    assert same(step(X), wanted)


def test_nested_arguments_and_python_values():
    def construct(self, batch, factor, *, flip=False):
        y = batch["x"] * factor
        return -y if flip else y + batch["more"][0]

    net = cell(construct)
    batch = {"x": X, "more": [X]}
    np.testing.assert_array_equal(graphc.compile(net, batch, 3)(batch, 3).asnumpy(), X * 4)
    np.testing.assert_array_equal(graphc.compile(net, batch, 2, flip=True)(batch, 2, flip=True).asnumpy(), -X * 2)
    assert "If" not in names(graphc.compile(net, batch, 2, flip=True).graph)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_named_tuples_go_in_and_out(mode, mode_again):
    graphc.set_context(mode=mode)

    def construct(self, pair):
        return Pair(pair.first * 2, pair.second["x"] + pair.first)

    def inner(self, x):
        pair = self.net(Pair(x, {"x": x}))
        return pair.first + pair.second

    net = cell(construct)
    for found in (net(Pair(X, {"x": Tensor(X)})), graphc.jit(net.construct)(Pair(Tensor(X), {"x": Tensor(X)}))):
        assert type(found) is Pair
        np.testing.assert_array_equal(found.first.asnumpy(), X * 2)
        np.testing.assert_array_equal(found.second.asnumpy(), X * 2)
    np.testing.assert_array_equal(cell(inner, net=net)(Tensor(X)).asnumpy(), X * 4)
    mapped = ops.vmap(lambda p: Pair(p.first + 1, 5))(Pair(Tensor(X), Tensor(X)))
    assert (type(mapped), mapped.second.asnumpy().tolist()) == (Pair, [5, 5])


def test_names_of_results():
    def several(self, x):
        loss, extra = x + 1, x * 2
        return loss, extra

    def expressions(self, x):
        return x + 1, x

    def attribute(self, x):
        return self.w

    assert [r.name for r in traced(cell(several), X).results] == ["loss", "extra"]
    assert [r.name for r in traced(cell(expressions), X).results] == ["result0", "result1"]
    assert [r.name for r in traced(cell(attribute, w=weight(3)), X).results] == ["w"]


# ---- state


def test_a_parameter_is_a_reference_and_reads_resolve_when_used():
    def construct(self, x):
        reference = self.w
        snapshot = self.w + 0
        ops.assign(self.w, x)
        return reference + 1, snapshot + 1, self.w

    net = cell(construct, w=weight(2, 3))
    first, second, last = graphc.compile(net, X)(X)
    np.testing.assert_array_equal(first.asnumpy(), X + 1)
    np.testing.assert_array_equal(second.asnumpy(), np.full((2, 3), 2))
    np.testing.assert_array_equal(last.asnumpy(), X)
    np.testing.assert_array_equal(net.w.asnumpy(), X)


def test_a_returned_parameter_is_what_it_holds_at_the_end():
    def construct(self, x):
        early = self.w
        ops.assign_add(self.w, x)
        ops.assign_add(self.w, x)
        return early

    graph = traced(cell(construct, w=weight(2, 3)), X)
    assert names(graph).count("Assign") == 2
    assert graph.results[0].value == graph.updates[0].value
    assert graph.node(graph.updates[0].value.node).inputs[0].node == next(n.id for n in graph if n.op.name == "Assign")


def test_parameters_only_read_are_not_updated():
    graph = traced(cell(lambda self, x: x * self.w, w=weight(3)), X)
    assert graph.updates == ()
    assert len(graph.inputs) == 2


def test_assign_casts_and_takes_numbers():
    def construct(self, x):
        ops.assign(self.w, 3)
        ops.assign(self.n, ops.cast(x[0, 1], "int64"))
        return x

    net = cell(construct, w=weight(1), n=Parameter(Tensor(0, "int32"), name="n"))
    graphc.compile(net, X)(X)
    assert net.w.asnumpy().tolist() == [3]
    assert net.n.asnumpy().tolist() == 1
    with pytest.raises(TypeError, match="a float32 value cannot go into parameter 'n'"):
        ops.assign(net.n, Tensor(1.5))


def test_depend_orders_a_value_and_a_parameter():
    def construct(self, x):
        first = ops.exp(x)
        value = ops.depend(x, first)
        later = ops.depend(self.w, first)
        ops.assign(self.w, x)
        return value + 1, later + 1

    graph = traced(cell(construct, w=weight(2, 3)), X)
    exp = next(n.id for n in graph if n.op.name == "Exp")
    depends = [n for n in graph if n.op.name == "Depend"]
    assert [n.after for n in depends] == [(exp,), (exp,)]
    assign = next(n for n in graph if n.op.name == "Assign")
    assert depends[1].inputs == assign.outputs  # Read when used: the new version.


def test_depend_on_nothing_traced_leaves_the_value_alone():
    graph = traced(cell(lambda self, x: ops.depend(x, (1, "a", Tensor(2.0))) + 0.5), X)
    assert names(graph) == ["Constant", "Add"]


def test_equal_numbers_are_one_constant_and_arrays_are_taken_by_identity():
    table = Tensor(np.arange(3, dtype=np.float32))

    def construct(self, x):
        return (x + 2) * 2 + table, x * table

    graph = traced(cell(construct), X)
    assert count(graph, "Constant") == 2


# ---- control flow


def test_cond_captures_what_its_branches_read():
    def construct(self, x, y):
        return ops.cond(x.sum() > 0, lambda: x * self.w, lambda: y - x)

    graph = traced(cell(construct, w=weight(3)), X, X)
    (node,) = [n for n in graph if n.op.name == "If"]
    branches = dict(node.graphs())
    assert [branches["then"].node(i).name for i in branches["then"].inputs] == ["x", "w", "y"]
    assert [branches["else"].node(i).name for i in branches["else"].inputs] == ["x", "w", "y"]
    assert len(node.inputs) == 4
    assert all(sub.frozen for sub in branches.values())


def test_a_state_written_in_one_branch_is_a_result_of_both():
    def construct(self, x):
        def write():
            ops.assign(self.w, x)
            return x

        y = ops.cond(x.sum() > 0, write, lambda: x + 1)
        return y, self.w + 1

    net = cell(construct, w=weight(2, 3))
    graph = traced(net, X)
    (node,) = [n for n in graph if n.op.name == "If"]
    assert len(node.types) == 2
    assert graph.updates[0].value == node.outputs[1]
    add = graph.node(graph.results[1].value.node)
    assert node.outputs[1] in add.inputs
    step = graphc.compile(net, X)
    np.testing.assert_array_equal(step(-X)[1].asnumpy(), np.full((2, 3), 2))
    np.testing.assert_array_equal(step(X)[1].asnumpy(), X + 1)
    np.testing.assert_array_equal(net.w.asnumpy(), X)


def test_nested_cond_and_states_of_the_inner_one():
    def construct(self, x):
        def inner():
            ops.assign_add(self.w, x)
            return x * 2

        def outer():
            return ops.cond(x[0, 0] > 5, inner, lambda: x * 3)

        return ops.cond(x.sum() > 0, outer, lambda: x)

    net = cell(construct, w=weight(2, 3))
    graph = traced(net, X)
    assert count(graph, "If") == 2
    step = graphc.compile(net, X)
    for sign, factor, total in ((1, 3, 1), (-1, 1, 1), (9, 2, 1)):
        x = (X + 1) * sign
        np.testing.assert_array_equal(step(x).asnumpy(), x * factor)
        assert (net.w.asnumpy() != total).any() == (factor == 2)


def test_python_conditions_cost_nothing():
    def construct(self, x):
        y = x * 2 if self.training else x * 3
        if x.shape[0] == 2:
            y = ops.exp(y)
        for _ in range(2):
            y = y + 1
        return ops.cond(True, lambda: y, lambda: y / 0)

    net = cell(construct)
    assert names(traced(net, X)) == ["Constant", "Mul", "Exp", "Constant", "Add", "Add"]
    net.set_train()
    assert [n.attrs["value"].array.item() for n in traced(net, X) if n.op.name == "Constant"] == [2.0, 1.0]


def test_an_if_statement_is_an_if_node():
    def construct(self, x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        return y

    graph = traced(cell(construct), X)
    assert count(graph, "If") == 1
    (node,) = [n for n in graph if n.op.name == "If"]
    assert str(node.loc) == f"{HERE}:{construct.__code__.co_firstlineno + 1}"


# ---- determinism


def test_tracing_twice_gives_the_same_text():
    def construct(self, x):
        y = ops.cond(x.sum() > 0, lambda: self.fc(x), lambda: self.fc(x) * 2)
        return y, ops.GradOperation(get_by_list=True)(self.fc, tuple(self.fc.trainable_params()))(x)

    net = cell(construct, fc=nn.Dense(3, 2))
    assert str(traced(net, X)) == str(traced(net, X))
    assert str(graphc.compile(net, X).graph) == str(graphc.compile(net, X).graph)


def test_tracing_changes_nothing():
    def construct(self, x):
        ops.assign_add(self.w, x)
        return self.w * 2

    net = cell(construct, w=weight(2, 3))
    graphc.compile(net, X)
    assert net.w.asnumpy().tolist() == np.ones((2, 3)).tolist()


# ---- constants


def test_a_replaced_constant_compiles_again():
    def construct(self, x):
        return x * self.number * self._hidden * self.listed[0] * self.named["a"] * self.table

    net = cell(construct, number=2.0, _hidden=3.0, listed=[5.0], named={"a": 7.0}, table=Tensor(11.0))
    want = 2 * 3 * 5 * 7 * 11
    assert net(Tensor(X)).asnumpy()[0, 1] == want
    for name, new, old in (
        ("number", 13.0, 2),
        ("_hidden", 17.0, 3),
        ("listed", [19.0], 5),
        ("named", {"a": 23.0}, 7),
        ("table", Tensor(29.0), 11),
    ):
        setattr(net, name, new)
        value = new[0] if isinstance(new, list) else new["a"] if isinstance(new, dict) else float(new)
        want = want * value / old
        assert net(Tensor(X)).asnumpy()[0, 1] == want


def test_an_attribute_of_an_array_that_a_function_names():
    """Looking for clocks and generators compares objects, not the elements of arrays."""
    table = np.arange(4.0)

    class Net(nn.Cell):
        def construct(self, x):
            return x + float(table.sum())

    assert float(Net()(Tensor(1.0))) == 7.0
