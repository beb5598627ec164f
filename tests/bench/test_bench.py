"""The benchmark runs, measures everything it prints, and notices peers that are missing, slow or compute something else."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
#: Modules of the benchmark, which is no package: its scripts find each other by their directory.
MODULES = ("workloads", "report", "processes", "machine", "facts", "cells", "whole")


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the benchmark; none stays."""
    monkeypatch.syspath_prepend(str(HERE))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


def run(*arguments, workload="mlp_small", variants="scaled"):
    command = [sys.executable, str(HERE / "run.py"), "--rounds", "1", "--seconds", "0", "--threads", "1"]
    command += ["--workloads", workload, "--variants", variants, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_graphc_and_peers_that_fail(tmp_path):
    out = tmp_path / "numbers.json"
    peers = f"torch=no-such-python,nothing={sys.executable}"
    done = run("--peers", peers, "--json", str(out), variants="plain,scaled")
    assert done.returncode == 0, done.stderr
    assert "torch left out: 'no-such-python' cannot be run" in done.stdout
    assert "nothing left out for mlp_small plain, threads 1: ModuleNotFoundError" in done.stdout
    written = json.loads(out.read_text())
    plain, scaled = written["measured"]
    for name in ("step", "cold_wall", "cold_cpu", "start", "rss", "warm_rss"):
        (value,) = plain[name]
        assert value > 0
    assert scaled["variant"] == "scaled"
    assert scaled["step"][0] > 0
    # One compilation per workload is cold.
    assert "cold_wall" not in scaled
    assert set(written["facts"]) == {"machine 1", "step mlp_small", "dispatch"}
    for title in ("step, ms, one thread", "cold compile, s", "plain step", "one thread", "arena, bytes"):
        assert f"| {title} |" in done.stdout or f"| {title} " in done.stdout
    assert "Called from Python: " in done.stdout


def test_what_takes_too_long_is_left_out_and_not_tried_again():
    done = run("--limit", "0.01", variants="plain,scaled")
    assert done.returncode == 1
    reasons = [line for line in done.stdout.splitlines() if "graphc left out" in line]
    assert reasons == ["- graphc left out for mlp_small: more than 0.01 s (plain, threads 1)"]


def test_unknown_names_are_refused():
    done = run(workload="mlp,nothing")
    assert done.returncode == 2
    assert "unknown name 'nothing'; known are mlp_small, mlp, lenet, lenet256, resnet20, gpt, lstm16" in done.stderr


def test_ratios_and_medians(bench):
    report = bench("report")
    row = {"graphc": {"step": [0.001, 0.002, 0.009]}, "other": {"step": [0.005]}, "slow": {"step": [0.1]}}
    assert report.cell(row, "graphc", "step", 1e3, 3) == "2.000"
    assert report.cell(row, "other", "step", 1e3, 3) == "5.000 (2.50)"
    assert report.cell(row, "other", "rss", 1, 0) == ""
    assert report.against_best(row) == "0.40 (other)"
    assert report.against_best({"graphc": {"step": [1.0]}}) == ""


def test_different_losses_are_reported(bench):
    disagreeing = bench("report").disagreeing
    assert disagreeing({"a": {"loss": [1.0]}, "b": {"loss": [1.0001]}}) == ""
    assert disagreeing({"a": {"loss": [1.0]}, "b": {"loss": [1.01]}}) == "a 1.00000, b 1.01000"


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        # Forward, gradient of the weights, and of the inputs, which the first layer's does not need.
        ("mlp_small", 32 * (3 * (64 * 64 + 64 * 32 + 32 * 10) - 64 * 64)),
        # Inputs have no gradient; the state before the first step has one, which nobody asks for.
        ("lstm16", 32 * (16 * (2 * 64 * 512 + 3 * 128 * 512) + 3 * 128 * 10)),
        ("lenet", 32 * (2 * 784 * 6 * 25 + 3 * (100 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10))),
    ],
)
def test_multiply_adds_are_those_of_the_mathematics(bench, workload, expected):
    facts, workloads = bench("facts"), bench("workloads")
    x, y = workloads.batch(workload)
    step = facts.compiled(workload, "plain", (facts.Tensor(x), facts.Tensor(y)))
    assert facts.multiply_adds(step) == expected


@pytest.mark.parametrize("workload", ["mlp_small", "lenet", "resnet20", "gpt", "lstm16"])
def test_every_weight_belongs_to_a_network(bench, workload):
    cells, workloads = bench("cells"), bench("workloads")
    made = workloads.weights(workload)
    cell = cells.training_cell(workload, "plain", made, cells.nn.AdamW)
    assert sum(p.size for p in cell.weights) == sum(w.size for w in made.values())


def test_the_peak_is_that_of_the_loops(bench):
    machine = bench("machine")
    target = machine.host()
    floats = machine.SUMS * target.lanes
    data = np.arange(2 * floats, dtype=np.float32)
    expected = data.reshape(-1, target.lanes).sum(0)
    text = machine.function(target, data.size, floats, machine.reads)
    loaded = machine.loading.load([machine.llvm_modules.compile_module(text, target)], ["run"], target)
    assert loaded.function("run")(data.ctypes.data) == 0
    np.testing.assert_array_equal(data[: target.lanes], expected)


def test_whole_programs(bench, tmp_path):
    whole = bench("whole")
    tokens = np.load(whole.DATA["gpt"](tmp_path))
    assert tokens.dtype == np.int32
    assert set(tokens) == set(range(bench("workloads").GPT.vocabulary))
    with np.load(whole.DATA["digits"](tmp_path)) as data:
        assert data["train_images"].shape == (1442, 1, 32, 32)
    slept = [sys.executable, "-c", "import time; time.sleep(0.2); print('done')"]
    failed = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    options = argparse.Namespace(rounds=2, limit=20)
    found = whole._rounds({"graphc": slept, "torch": slept, "jax": failed}, tmp_path / "run", options)
    assert {name: len(times) for name, times in found.items()} == {
        "graphc cold": 2, "graphc warm": 2, "torch cold": 2, "jax cold": 0,
    }  # fmt: skip
    assert min(map(min, filter(None, found.values()))) > 0.2
    rows = whole.table({"digits": {"graphc cold": [1.0, 3.0, 2.0], "torch cold": [8.0]}, "gpt": {"jax cold": [4.0]}})
    assert rows[2:] == ["| digits | 2.00 | 8.00 |  | 0.25 |", "| gpt |  |  | 4.00 |  |"]


def test_a_transformer_trained_to_a_loss(tmp_path):
    np.save(tmp_path / "text.npy", np.arange(5000, dtype=np.int32) % 7)
    done = subprocess.run(
        [sys.executable, str(HERE / "train_gpt.py"), "graphc", str(tmp_path / "text.npy"), "2.5"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 50 <= json.loads(done.stdout)["steps"] < 200
