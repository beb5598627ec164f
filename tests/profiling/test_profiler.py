"""`Profiler` and `profile`: a trace of what has run, where MindSpore writes its own."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError, Profiler, Tensor, compat, nn, ops
from graphc.profiling import collected
from graphc.profiling.profiler import analyse, profile, tensorboard_trace_handler
from graphc.profiling.settings import (
    AicoreMetrics,
    ExportType,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    Schedule,
    _ExperimentalConfig,
)
from graphc.steps import profile_hooks
from graphc.steps.compiled_step import watchers
from graphc.validation import unused_arguments

X = Tensor(np.ones((2, 3), np.float32))
NONE, WARM_UP, RECORD, SAVE = ProfilerAction


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 4)

    def construct(self, x):
        return ops.relu(self.fc(x))


@pytest.fixture(autouse=True)
def nobody_listens_afterwards():
    yield
    assert not profile_hooks.listeners
    assert not watchers


def traces(folder):
    """What was written below a folder, in order."""
    return [
        json.loads(p.read_text()) for p in sorted(folder.glob("*_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    ]


def runs(trace, kind="step"):
    return [e for e in trace if e.get("cat") == kind]


def kernels(trace):
    return [e for e in trace if e["ph"] == "X" and e["pid"] > 0]


def test_a_profiler_writes_what_has_run(tmp_path):
    net = Net()
    profiler = Profiler(output_path=str(tmp_path))
    for _ in range(3):
        net(X)
    assert not traces(tmp_path)
    profiler.analyse()
    (trace,) = traces(tmp_path)
    steps = runs(trace)
    assert [e["name"] for e in steps] == ["Net"] * 3
    assert all(e["dur"] > 0 and e["args"] == {"kind": "step", "steps": 1} for e in steps)
    assert steps[0]["ts"] + steps[0]["dur"] <= steps[1]["ts"]
    (compiled,) = runs(trace, "compile")
    assert compiled["ts"] + compiled["dur"] <= steps[0]["ts"]
    assert [e["name"] for e in kernels(trace) if e["cat"] == "forward"] == ["MatMul BiasAdd ReLU"]
    assert kernels(trace)[0]["ts"] >= steps[-1]["ts"]
    net(X)
    profiler.analyse()
    assert len(traces(tmp_path)) == 1


def test_what_was_given_is_not_kept_and_the_longest_steps_are_measured(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(collected, "_STEPS", 1)
    net, other = Net(), nn.Dense(3, 4)
    profiler = Profiler(output_path=str(tmp_path))
    given = [Tensor(np.ones((2, 3), np.float32)) for _ in range(4)]
    for x in given:
        net(x)
    other(given[-1])
    profiler.stop()
    assert not any(ran.arrays for ran in profiler._collected.runs)
    longest = max(profiler._collected.spent, key=profiler._collected.spent.get)
    profiler.analyse()
    (trace,) = traces(tmp_path)
    assert {e["pid"] for e in kernels(trace)} == {1}
    ends = [e["ts"] for e in runs(trace) if e["name"] == longest.graph.name]
    assert kernels(trace)[0]["ts"] >= ends[-1]
    assert "of 1 others they are not" in caplog.text


def test_nothing_is_recorded_before_start_and_after_stop(tmp_path):
    net = Net()
    net(X)
    profiler = Profiler(start_profile=False, output_path=str(tmp_path), profiler_level=ProfilerLevel.LevelNone)
    net(X)
    profiler.start()
    net(X)
    profiler.stop()
    net(X)
    profiler.start()
    net(X)
    profiler.analyse()
    (trace,) = traces(tmp_path)
    assert (len(runs(trace)), runs(trace, "compile"), kernels(trace)) == (2, [], [])


def test_cells_that_run_op_by_op_are_in_it(tmp_path):
    net = Net()
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        with Profiler(output_path=str(tmp_path)) as profiler:
            net(X)
        profiler.analyse()
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    (trace,) = traces(tmp_path)
    assert [e["name"] for e in runs(trace, "op by op")] == ["Net"]
    assert not kernels(trace)


def trained(sink, watch):
    graphc.set_seed(1)
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dropout(p=0.5), nn.Dense(4, 1))
    data = ds.NumpySlicesDataset((np.ones((8, 3), np.float32), np.ones((8, 1), np.float32)), ["x", "y"], shuffle=False)
    model = graphc.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.1))
    with watch() as found:
        model.train(2, data.batch(2), dataset_sink_mode=sink)
    with watch():
        model.train(1, data.batch(2), dataset_sink_mode=sink)
    return [p.asnumpy().tolist() for p in net.get_parameters()], found


@pytest.mark.parametrize("sink", [False, True])
def test_trainings_are_what_they_are_without(sink, tmp_path):
    class Nothing:
        def __enter__(self):
            return self

        def __exit__(self, *raised):
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        watched, _ = trained(sink, profile)
    plain, _ = trained(sink, Nothing)
    assert watched == plain
    first, second = traces(tmp_path / "data")
    assert [sum(e["args"]["steps"] for e in runs(t)) for t in (first, second)] == [8, 4]
    assert kernels(first)
    assert kernels(second)


def test_schedules():
    rounds = Schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    once = [NONE, WARM_UP, RECORD, SAVE]
    assert [rounds(k) for k in range(11)] == [NONE, *once, *once, NONE, NONE]
    assert [Schedule(wait=0, active=1)(k) for k in range(3)] == [SAVE] * 3
    assert repr(rounds) == "Schedule(wait=1, active=2, warmup=1, repeat=2, skip_first=1)"  # As in MindSpore.
    assert rounds.to_dict() == {"wait": 1, "active": 2, "warmup": 1, "repeat": 2, "skip_first": 1}
    assert ProfilerAction.get_by_value(2) is RECORD
    assert ProfilerAction.get_by_value(9) is None
    with pytest.raises(ArgumentValueError, match="active must be 1 or more, got 0"):
        Schedule(wait=0, active=0)
    with pytest.raises(ArgumentTypeError, match="wait must be an int, got float"):
        Schedule(wait=0.0, active=1)
    with pytest.raises(ValueError, match="step must be 0 or more, got -1"):
        rounds(-1)


def test_a_schedule_says_which_steps_are_recorded(tmp_path):
    net = Net()
    net(X)
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.LevelNone, export_type=[ExportType.Text])
    handler = tensorboard_trace_handler(str(tmp_path), "here")
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=Schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=handler,
        experimental_config=config,
    ) as prof:
        for k in range(10):
            for _ in range(k + 1):
                net(X)
            prof.step()
        prof.add_metadata("late", "x")
    first, second = traces(tmp_path)
    assert [len(runs(t)) for t in (first, second)] == [3 + 4, 7 + 8]
    marks = [[e["name"] for e in runs(t, "program")] for t in (first, second)]
    assert marks == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert all(p.name.startswith("here_") for p in tmp_path.iterdir())


def test_whoever_is_named_gets_what_was_recorded(tmp_path):
    net, got = Net(), []
    prof = profile(on_trace_ready=lambda p: got.append(len(p._collected.runs)), start_profile=False)
    prof.start()
    net(X)
    prof.step()
    net(X)
    prof.stop()
    assert got == [3]
    profiler = Profiler(
        schedule=Schedule(wait=0, active=2), on_trace_ready=tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    )
    for _ in range(5):
        net(X)
        profiler.step()
    profiler.stop()
    assert [(len(runs(t)), kernels(t)) for t in traces(tmp_path)] == [(2, []), (2, [])]


def test_metadata_lie_beside_the_trace(tmp_path):
    with Profiler(output_path=str(tmp_path), profiler_level=ProfilerLevel.LevelNone) as profiler:
        profiler.add_metadata("a", "b")
        profiler.add_metadata_json("c", '{"d": 1}')
        Net()(X)
    profiler.analyse()
    (file,) = tmp_path.glob("*/profiler_metadata.json")
    assert json.loads(file.read_text()) == {"a": "b", "c": {"d": 1}}
    with pytest.raises(ArgumentTypeError, match="value must be a str, got int"):
        profiler.add_metadata("a", 3)
    with pytest.raises(ArgumentValueError, match="value is no JSON"):
        profiler.add_metadata_json("a", "{")


def test_calls_out_of_turn_are_said(caplog, tmp_path):
    profiler = Profiler(output_path=str(tmp_path))
    prof = profile(start_profile=False)
    with caplog.at_level(logging.WARNING, "graphc"):
        profiler.start()
        profiler.step()
        profiler.stop()
        profiler.stop()
        prof.step()
        prof.stop()
    said = " ".join(caplog.messages)
    for part in (
        "start() while it records already",
        "step() has no effect without a schedule",
        "Profiler: stop() while nothing",
    ):
        assert part in said
    assert "profile: step() while nothing is recorded" in said
    assert "profile: stop() while nothing is recorded" in said
    profiler.analyse()
    assert not list(tmp_path.iterdir())


def test_what_means_nothing_here_is_said_once(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(unused_arguments, "_said", set())
    with caplog.at_level(logging.WARNING, "graphc"):
        for _ in range(2):
            Profiler(
                start_profile=False,
                profile_memory=True,
                aic_metrics=AicoreMetrics.Memory,
                activities=[ProfilerActivity.NPU],
            )
        profile(start_profile=False, with_stack=True, experimental_config=_ExperimentalConfig(l2_cache=True))
        Profiler.offline_analyse(str(tmp_path))
        analyse(str(tmp_path))
        Profiler(start_profile=False).analyse(step_list=[1])
    said = [m.split(" has no effect")[0] for m in caplog.messages]
    assert said == [
        "Profiler: profile_memory", "Profiler: aic_metrics", "_ExperimentalConfig: l2_cache", "profile: with_stack",
        "Profiler: offline_analyse", "profiler: analyse", "Profiler.analyse: step_list",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Profiler(output_path=3), "output_path must be a str, got int"),
        (lambda: Profiler(profiler_level="Level0"), "profiler_level must be a ProfilerLevel, got str"),
        (lambda: Profiler(activities=["CPU"]), "activities must be a list of ProfilerActivity"),
        (lambda: Profiler(schedule=3), "schedule must be a function, got int"),
        (lambda: Profiler(start_profile=1), "start_profile must be a bool, got int"),
        (lambda: Profiler(l2_cache=3), "l2_cache must be a bool, got int"),
        (lambda: Profiler(output=3), "output"),
        (lambda: profile(on_trace_ready=3), "on_trace_ready must be a function, got int"),
        (lambda: profile(experimental_config=3), "experimental_config must be a _ExperimentalConfig, got int"),
        (lambda: tensorboard_trace_handler(3), "dir_name must be a str, got int"),
        (lambda: _ExperimentalConfig(export_type=["text"]), "export_type must be a list of ExportType"),
    ],
)
def test_wrong_arguments(make, said):
    with pytest.raises(TypeError, match=said):
        make()


def test_what_is_refused(tmp_path):
    with pytest.raises(ArgumentValueError, match="export_type"):
        _ExperimentalConfig(export_type=[ExportType.Db])
    profiler = Profiler(start_profile=False)
    for given in ({"offline_path": "x"}, {"mode": "later"}):
        with pytest.raises(ArgumentValueError, match=next(iter(given))):
            profiler.analyse(**given)
    with pytest.raises(ArgumentValueError, match=r"(?s)several ops at once.*step\.profile"):
        profiler.op_analyse("MatMul")
    (tmp_path / "file").write_text("")
    with Profiler(output_path=str(tmp_path / "file")) as profiler:
        Net()(X)
    with pytest.raises(OSError, match="file"):
        profiler.analyse()


def test_scripts_find_them_where_mindspore_has_them():
    compat.install()
    try:
        import mindspore
        from mindspore.profiler.common.constant import ProfilerLevel as Level
        from mindspore.profiler.profiler import tensorboard_trace_handler as handler

        assert mindspore.Profiler is mindspore.profiler.Profiler is Profiler
        assert (mindspore.profiler.schedule, mindspore.profiler.profile) == (Schedule, profile)
        assert (Level, handler) == (ProfilerLevel, tensorboard_trace_handler)
        assert graphc.profiler.schedule is Schedule
    finally:
        compat.uninstall()
