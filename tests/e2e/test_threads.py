"""Steps of several threads: the same training, reproducible, and only where it pays."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
import graphc_codegen
from graphc import Tensor, nn, ops
from graphc.debug import cpus, debug, threads
from graphc.examples.lenet import LeNet5
from graphc_codegen import Executable
from graphc_codegen.run import executable


def lenet_step(count: int, batch: int = 32) -> graphc.steps.compiled_step.CompiledStep:
    """A loss-scaled training step of LeNet for so many threads."""
    graphc.set_seed(3)
    net = LeNet5()
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    scale = nn.DynamicLossScaleUpdateCell(1024.0, 2, 5)
    train = nn.TrainOneStepWithLossScaleCell(loss, nn.Momentum(net.trainable_params(), 0.05, 0.9), scale)
    train.set_train()
    with debug(threads=count):
        return graphc.compile(train, *data(batch))


def data(batch: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((batch, 1, 32, 32)).astype(np.float32)
    return Tensor(x), Tensor(rng.integers(0, 10, batch).astype(np.int32))


def follow(
    step: graphc.steps.compiled_step.CompiledStep, batch: int = 32
) -> tuple[list[float], list[bool], list[np.ndarray[Any, Any]]]:
    """Losses, overflows and final parameters of 12 steps, two of them with a bad input."""
    losses, overflows = [], []
    for k in range(12):
        x, y = data(batch, k)
        if k in (4, 9):
            x = ops.select(Tensor(np.eye(32, dtype=bool)), Tensor(np.float32(np.inf)), x)
        loss, overflow, _ = step(x, y)
        losses.append(float(loss))
        overflows.append(bool(overflow))
    return losses, overflows, [p.asnumpy() for p in step.parameters]


def test_training_is_the_same_on_any_number_of_threads() -> None:
    alone, divided = lenet_step(1), lenet_step(3)
    assert alone._lowered.program.threads == 1
    assert divided._lowered.program.threads == 3
    losses, overflows, params = follow(alone)
    other_losses, other_overflows, other_params = follow(divided)
    assert overflows == other_overflows
    assert overflows.count(True) == 2
    np.testing.assert_allclose(losses, other_losses, rtol=2e-4)
    for a, b in zip(params, other_params, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-5)


def test_a_number_of_threads_gives_the_same_bits_each_time() -> None:
    first, second = follow(lenet_step(3)), follow(lenet_step(3))
    assert first[:2] == second[:2] or np.isnan(first[0]).any()
    for a, b in zip(first[2], second[2], strict=True):
        assert a.tobytes() == b.tobytes()


def test_small_steps_stay_with_one_thread() -> None:
    net = nn.Dense(4, 3)
    with debug(threads=16):
        step = graphc.compile(net, np.zeros((2, 4), np.float32))
    assert step._lowered.program.threads == 1


def test_where_threads_meet_stands_in_the_source() -> None:
    source = lenet_step(2).source
    assert "2 threads run it" in source
    assert "(ctx, ~" in source
    assert "~" not in lenet_step(1).source


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "5")
    assert threads() == 5
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "0")
    assert threads() >= 1
    monkeypatch.delenv("GRAPHC_NUM_THREADS")
    assert threads() >= 1
    for wrong in ("-1", "two"):
        monkeypatch.setenv("GRAPHC_NUM_THREADS", wrong)
        with pytest.raises(ValueError, match=f"GRAPHC_NUM_THREADS.*{wrong}"):
            threads()


@pytest.mark.parametrize(
    ("quota", "granted"), [("max 100000", 8), ("300000 100000", 3), ("50000 100000", 1), ("900000 100000", 8), ("", 8)]
)
def test_a_cgroup_may_grant_fewer_cpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, granted: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(import_module("graphc.debug"), "_QUOTA", tmp_path / "cpu.max")
    (tmp_path / "cpu.max").write_text(quota)
    assert cpus.__wrapped__() == granted


def test_a_step_has_a_thread_for_each_core_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHC_NUM_THREADS", raising=False)
    for on, granted, most in ((4, 8, 4), (8, 8, 8), (4, 2, 2)):
        monkeypatch.setattr(import_module("graphc.debug"), "cores", lambda on=on: on)
        monkeypatch.setattr(import_module("graphc.debug"), "cpus", lambda granted=granted: granted)
        assert threads() == most
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "8")
    assert threads() == 8


def test_llvm_has_a_thread_for_each_cpu_however_many_the_step_has(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compile_program(*args: Any, compile_threads: int, **options: Any) -> Executable:
        asked.append(compile_threads)
        return executable.compile_program(*args, **options)

    monkeypatch.setattr("graphc.steps.build.cpus", lambda: 7)
    monkeypatch.setattr(graphc_codegen, "compile_program", compile_program)
    lenet_step(1)
    assert asked == [7]


def test_timings_name_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHC_PROFILE", "1")
    step = lenet_step(2)
    for k in range(3):
        step(*data(32, k))
    found = step.timings()
    assert len(found) == sum(1 for _ in step._lowered.program.calls())
    assert any("Conv2D" in t.nodes and t.seconds > 0 for t in found)
    assert all(t.seconds >= 0 and t.waited >= 0 for t in found)
    monkeypatch.delenv("GRAPHC_PROFILE")
    with pytest.raises(ValueError, match="does not count its time"):
        lenet_step(1).timings()
