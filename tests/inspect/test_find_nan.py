"""find_nan: the first bad value of a step is named, wherever it is, and the step can be run again from where it began."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import graphc
from graphc import Tensor, debug, find_nan, nn, ops
from graphc.cli.main import main
from graphc.dataset import NumpySlicesDataset
from graphc.inspect.nonfinite import Range, Search, search
from graphc.ops.declared import reference
from graphc.steps import value_build
from graphc.train import FindNan, Model


class Net(nn.Cell):
    """The loss is the mean of `last` of a dense layer."""

    def __init__(self, last, width=4):
        super().__init__()
        self.fc = nn.Dense(3, width, weight_init="ones", has_bias=False)
        self.last = last

    def construct(self, x):
        return ops.reduce_mean(self.last(self.fc(x)))


def trained(net, rate=0.1):
    return nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), rate, 0.9))


def scaled(net, scale=1024.0, manager=True):
    kept = nn.DynamicLossScaleUpdateCell(scale, 2, 1000) if manager else Tensor(scale, "float32")
    return nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), kept)


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def failed(cell, *inputs):
    """The report of the error that a call raises."""
    with debug(find_nan=True), pytest.raises(graphc.NonFiniteError) as caught:
        cell(*inputs)
    return caught.value.report


def told(cell, *inputs, steps=1):
    """The reports of calls that raise nothing."""
    found = []
    with debug(find_nan=True), find_nan.watching(tell=found.append):
        for _ in range(steps):
            cell(*inputs)
    return found


def test_a_forward_nan_is_named_with_line_layer_and_ranges():
    report = failed(trained(Net(lambda y: ops.log(ops.tanh(y) - 2.0))), ones(2, 3))
    assert (report.first.node.op.name, report.first.node.region, report.first.node.scope) == (
        "Log",
        "forward",
        "network",
    )
    (_, operand), (_, result) = report.first.operands[0], report.first.results[0]
    assert operand.low == pytest.approx(np.tanh(3.0) - 2.0)
    assert (result.nans, result.infinities) == (8, 0)
    text = str(report)
    assert "[GC213] Log makes the first NaN in the forward part of step 1" in text
    assert "test_find_nan.py:" in text
    assert "layer network, forward" in text
    assert len(text.splitlines()) <= 15


def test_a_backward_infinity_is_named_though_the_loss_is_finite():
    report = failed(trained(Net(lambda y: ops.sqrt(y * 0.0))), ones(2, 3))
    node = report.first.node
    assert (node.op.name, node.region) == ("Div", "backward")
    assert report.graph.node(node.fwd).op.name == "Sqrt"
    assert "gradient of" in str(report)
    assert [n.op.name for n in report.first.through][-1] == "Assign"
    assert report.harm[0] == "parameter fc.weight"


def test_parameters_are_as_before_the_step_and_the_step_is_reproducible():
    cell = trained(Net(ops.log, width=1), rate=10.0)
    weight, moments = cell.network.fc.weight, cell.optimizer.moments[0]
    with debug(find_nan=True):
        cell(ones(2, 3))
        before = weight.asnumpy().copy(), moments.asnumpy().copy()
        assert np.abs(before[1]).max() > 0
        report = failed(cell, ones(2, 3))
    assert report.step == 2
    np.testing.assert_array_equal(weight.asnumpy(), before[0])
    np.testing.assert_array_equal(moments.asnumpy(), before[1])
    held = {report.graph.node(i).name: a for i, a in report.state.items()}
    np.testing.assert_array_equal(held["fc.weight"], before[0])
    np.testing.assert_array_equal(held["moments.fc.weight"], before[1])
    assert str(failed(cell, ones(2, 3)).first) == str(report.first)


def test_a_skipped_overflow_is_reported_and_is_no_error():
    class Half(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(3, 4, weight_init="ones").to_float(graphc.float16)

        def construct(self, x):
            return ops.reduce_mean(ops.cast(self.fc(x), graphc.float32) * 100.0)

    cell = scaled(Half(), 2.0**22)
    found = told(cell, ones(2, 3), steps=6)
    assert len(found) == 3, "further ones are counted only"
    report = found[0]
    assert report.skipped
    assert report.first.node.op.name == "Cast"
    assert report.first.results[0][1].type.dtype == "float16"
    assert report.loss_scale == ("scale_sense", 2.0**22)
    assert report.bound == find_nan.HALF
    assert report.above.node.op.name == "Mul"
    assert report.above.results[0][1].type.dtype == "float32"
    assert any("GetFloatStatus" in h for h in report.harm)
    with debug(find_nan=True), pytest.warns(graphc.NonFiniteWarning, match="skipped, as a loss scale does on purpose"):
        scaled(Half(), 2.0**22)(ones(2, 3))


def test_an_overflow_without_a_manager_and_with_checks_in_branches():
    report = told(scaled(Net(lambda y: ops.exp(y * 30.0)), 1.0, manager=False), ones(2, 3))[0]
    assert (report.first.node.op.name, report.skipped) == ("Exp", True)

    class Branched(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(3, 4, weight_init="ones", has_bias=False)
            self.w = self.fc.weight

        def construct(self, x, wanted):
            y = ops.exp(self.fc(x) * 30.0)
            if wanted:
                fine = ops.all_finite((y,))
                if fine:
                    ops.assign(self.w, self.w + ops.reduce_mean(y))
            return ops.reduce_sum(x)

    cell = Branched()
    assert told(cell, ones(2, 3), Tensor(False)) == []
    report = told(cell, ones(2, 3), Tensor(True))[0]
    assert (report.first.node.op.name, report.skipped) == ("Exp", True)


def test_in_branches_and_loops_the_turn_is_told():
    class Loop(nn.Cell):
        def construct(self, x, n):
            i = Tensor(0, "int32")
            while i < n:
                if ops.reduce_max(x) > 5e19:
                    x = x * x
                else:
                    x = x * 1e10
                i = i + 1
            return x

    report = failed(Loop(), ones(3), Tensor(9, "int32"))
    assert report.first.node.op.name in ("Mul", "Square")
    assert [(p.part, p.turn) for p in report.first.places] == [("body", 3), ("then", 1)]
    assert "turn 3" in str(report)
    assert told(Loop(), ones(3), Tensor(2, "int32")) == []


def rolled(first, last=16):
    """Turns of a loop of known length on x: [turns, 3] each, all the same rows of `first`."""

    class Rolled(nn.Cell):
        def construct(self, x):
            def turn(carried, row):
                carried = ops.exp(carried + row)
                return carried, carried * 2.0

            return ops.scan(turn, ops.zeros((3,), graphc.float32), x)[1]

    return Rolled(), Tensor(np.full((last, 3), first, np.float32))


@pytest.mark.parametrize("jit", [True, False])
def test_in_a_loop_of_known_length_the_turn_is_told(jit):
    with debug(jit=jit):
        report = failed(*rolled(1.0))
        assert report.first.node.op.name == "Exp"
        # exp(1), exp(exp(1) + 1) = 41.2, exp(42.2), and that is more than 3.4e38 is the logarithm of.
        assert [(p.part, p.turn) for p in report.first.places] == [("body", 4)]
        assert "Scan" in [n.op.name for n in report.first.through] or not jit
        assert told(*rolled(-9.0)) == []
        cell, x = rolled(-9.0)
        rows = x.asnumpy().copy()
        rows[5] = np.nan
        found = failed(cell, Tensor(rows))
        assert found.first.node.op.name == "Input"


@pytest.mark.parametrize("room", [2**30, 1000, 0])
def test_what_machine_code_makes_of_nodes_is_what_numpy_makes(room, monkeypatch):
    """With room for all values, for some, for none, the same is found."""
    monkeypatch.setattr(value_build, "ROOM", room)
    graphc.set_seed(1)  # Values at the end of the range would overflow in one order of adding and not in the other.
    net = nn.SequentialCell(nn.Dense(3, 8, activation="tanh"), nn.LayerNorm((8,)), nn.Dense(8, 4))
    cell = scaled(nn.WithLossCell(net, nn.MSELoss()), 1e38)
    x, y = ones(2, 3), Tensor(np.arange(8, dtype=np.float32).reshape(2, 4))
    report = told(cell, x, y)[0]
    given = {**report.state, **report.inputs}
    every = value_build.every_value(report.graph)
    calm = {id: np.full_like(a, 1.0) if a.size == 1 and a.dtype.kind == "f" else a for id, a in given.items()}
    values = reference.run(report.graph, calm, exact=False, keep=True).values
    made = every(calm)
    assert {2**30: len(made) > 60, 1000: 5 < len(made) < 60, 0: not made}[room]
    for value, array in made.items():
        np.testing.assert_allclose(array, values[value], rtol=2e-5, atol=1e-6, err_msg=str(value))
    made = every(given)
    slow, fast = search(report.graph, given, 1e4), search(report.graph, given, 1e4, made)
    assert slow.first.node.id == fast.first.node.id == report.first.node.id
    assert [n.id for n in slow.first.through] == [n.id for n in fast.first.through]
    assert slow.above.node.id == fast.above.node.id
    assert slow.roots == fast.roots


def test_infinities_that_are_meant_are_no_error_until_they_make_a_nan():
    mask = np.where(np.eye(3), 0, -np.inf).astype(np.float32)

    class Masked(nn.Cell):
        def construct(self, x, m):
            scores = ops.matmul(x, x) + Tensor(mask) + m
            return scores, ops.softmax(scores, -1)

    assert told(Masked(), ones(3, 3), Tensor(mask), steps=2) == []
    report = failed(Masked(), ones(3, 3), Tensor(np.full((3, 3), -np.inf, np.float32)))
    assert "Softmax" in report.first.node.op.name
    assert report.first.operands[0][1].infinities == 9
    # Nor does a value do harm that is chosen away.
    safe = Net(lambda y: ops.select(y > 5.0, ops.log(y - 5.0), y))
    assert told(safe, ones(2, 3)) == []


def test_a_bad_input_or_weight_is_said_to_be_one():
    x = np.ones((2, 3), np.float32)
    x[1, 1] = np.nan
    report = failed(Net(ops.tanh), Tensor(x))
    assert str(report).startswith("[GC213] input x holds NaN before step 1")
    net = Net(ops.relu)
    net.fc.weight.set_data(Tensor(np.full((4, 3), np.inf, np.float32)))
    assert "parameter fc.weight holds infinity" in str(failed(net, ones(2, 3)))


def test_within_fused_kernels_and_in_checked_mode():
    net = Net(lambda y: ops.tanh(ops.exp(ops.square(y) * 20.0)) + ops.relu(y) * ops.rsqrt(y - 3.0))
    names = set()
    for jit in (True, False):
        with debug(jit=jit):
            names.add(failed(trained(net), ones(2, 3)).first.node.op.name)
    assert len(names) == 1
    assert names <= {"Rsqrt", "Exp"}


def test_what_only_a_kernel_makes_is_named_by_its_call(monkeypatch):
    monkeypatch.setattr(find_nan, "search", lambda graph, given, bound, made: Search(None, None, ()))
    report = failed(trained(Net(lambda y: ops.tanh(ops.log(y - 4.0)))), ones(2, 3))
    assert report.first is None
    assert "Log" in report.kernel
    assert "node by node it is" in str(report)
    assert "the first call of the generated step that is not finite: %" in str(report)


def test_a_bound_is_looked_for_in_finite_steps_too():
    found = []
    with debug(find_nan=True), find_nan.watching(tell=found.append, bound=2.5, always=True):
        Net(ops.relu)(ones(2, 3))
    assert found[0].first is None
    assert found[0].above.node.op.name == "MatMul"
    assert "above 2.5" in str(found[0])


def test_random_numbers_and_prints_of_a_step_are_made_once(capsys):
    class Drops(nn.Cell):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(p=0.5)

        def construct(self, x):
            y = self.drop(x)
            ops.print_("sum", ops.reduce_sum(y))
            return ops.log(y - 1.0)

    cell = Drops().set_train()
    with debug(find_nan=True), find_nan.watching(raises=False, tell=lambda report: None):
        seen = [cell(ones(50)).asnumpy() for _ in range(2)]
    assert not np.array_equal(np.isnan(seen[0]), np.isnan(seen[1]))
    assert capsys.readouterr().out.count("sum") == 2
    report = find_nan.reports[-1]
    assert report.first.results[0][1].nans == np.isnan(seen[1]).sum(), "the very numbers of the step"


def test_off_it_costs_nothing_and_on_it_is_another_step():
    cell = trained(Net(ops.relu))
    step = graphc.compile(cell, ones(2, 3))
    with debug(find_nan=True):
        watched = graphc.compile(cell, ones(2, 3))
        with pytest.raises(graphc.ArgumentValueError, match="find_nan"):
            assert watched.entry
    assert len(watched.graph) == len(step.graph)
    assert watched.results == step.results
    assert "Or" not in step.source
    assert step(ones(2, 3)).tensor_type == watched(ones(2, 3)).tensor_type
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        where = r"PYNATIVE_MODE runs op by op(.*\n)*  the mode is set at .*test_find_nan.py:\d+\n  help: set mode=GRAPH"
        with debug(find_nan=True), pytest.raises(graphc.ArgumentValueError, match=where):
            cell(ones(2, 3))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)


@pytest.mark.parametrize("sink", [False, True])
def test_the_callback_ends_a_training_at_the_step(sink):
    rows = np.ones((6, 3), np.float32)
    rows[4] = 1e20
    data = NumpySlicesDataset((rows,), ["x"], shuffle=False).batch(1)
    net = Net(ops.square)
    callback = FindNan()
    model = Model(trained(net, 1e-3))
    with pytest.raises(graphc.NonFiniteError) as caught:
        model.train(1, data, callbacks=[callback], dataset_sink_mode=sink)
    assert callback.reports == [caught.value.report]
    report = caught.value.report
    assert report.step == 5
    (x,) = report.inputs.values()
    assert x.max() == np.float32(1e20)
    assert np.isfinite(net.fc.weight.asnumpy()).all()
    assert not debug_is_on()


def debug_is_on():
    from graphc.debug import switches

    return switches().find_nan


def test_the_callback_may_only_warn():
    data = NumpySlicesDataset((np.ones((5, 3), np.float32),), ["x"], shuffle=False).batch(1)
    callback = FindNan(limit=2, raises=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphc.NonFiniteWarning)
        Model(scaled(Net(lambda y: ops.exp(y * 50.0)))).train(1, data, callbacks=[callback], dataset_sink_mode=False)
    assert [r.step for r in callback.reports] == [1, 2]
    with pytest.raises(graphc.ArgumentTypeError):
        FindNan(limit="2")


_SCRIPT = """
import numpy as np
import graphc
from graphc import Tensor, nn, ops

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 1, weight_init="ones", has_bias=False)

    def construct(self, x):
        return ops.reduce_mean(ops.log(self.fc(x)))

def build():
    net = Net()
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 10.0)), (Tensor(np.ones((2, 3), np.float32)),)

if __name__ == "__main__":
    cell, (x,) = build()
    for _ in range(3):
        print(cell(x))
"""


def test_the_command_runs_a_step_or_a_script(tmp_path, capsys):
    file = tmp_path / "model.py"
    file.write_text(_SCRIPT)
    assert main(["nan", f"{file}:build"]) == 0
    assert "finite" in capsys.readouterr().out
    assert main(["nan", f"{file}:build", "--steps", "3", "--save", str(tmp_path / "bad.py")]) == 1
    out = capsys.readouterr().out
    assert "Log makes the first NaN in the forward part of step 2" in out
    run = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "bad.py"), "1"], capture_output=True, text=True, check=True
    )
    assert run.stdout == "step 1: result = nan\n"
    assert main(["nan", "--json", str(file)]) == 1
    (report, _) = json.loads(capsys.readouterr().out)["nan"]
    assert (report["first"]["op"], report["first"]["region"], report["step"]) == ("Log", "forward", 2)
    assert main(["nan", f"{file}:build", "--bound", "2.5"]) == 1
    assert "MatMul" in capsys.readouterr().out
    assert main(["nan", "nothing"]) == 2
    file.write_text(
        "import graphc\ngraphc.set_context(mode=graphc.PYNATIVE_MODE)\ngraphc.nn.ReLU()(graphc.Tensor([1.0]))\n"
    )
    try:
        assert main(["nan", str(file)]) == 1
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    said = capsys.readouterr()
    assert said.out == ""
    assert f"the mode is set at {file.name}:2" in said.err or "model.py:2" in said.err


def test_ranges():
    assert str(Range.of(np.array([1, -2, np.inf, np.nan, np.nan], np.float32))) == "f32[5] -2 .. 1, 1 inf, 2 NaN"
    assert str(Range.of(np.array(3, np.int32))) == "i32[] 3"
    assert str(Range.of(np.zeros((0, 2), np.float32))) == "f32[0,2] empty"
    assert str(Range.of(np.array([np.nan], np.float16))) == "f16[1] 1 NaN"
