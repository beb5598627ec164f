"""The benchmark runs, measures everything it prints, and notices peers that are missing or compute something else."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def load_run():
    spec = importlib.util.spec_from_file_location("bench_run", HERE / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_graphc_alone(tmp_path):
    out = tmp_path / "numbers.json"
    command = [sys.executable, str(HERE / "run.py"), "--rounds", "1", "--seconds", "0", "--workloads", "mlp"]
    command += ["--variants", "scaled", "--peers", "torch=no-such-python", "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "torch left out: 'no-such-python' cannot be run" in done.stdout
    (numbers,) = json.loads(out.read_text())["measured"]
    assert {numbers["workload"], numbers["variant"], numbers["peer"]} == {"mlp", "scaled", "graphc"}
    for name in ("step", "cold_cpu", "start", "rss", "warm_rss"):
        (value,) = numbers[name]
        assert value > 0
    row = next(line for line in done.stdout.splitlines() if line.startswith("| graphc | ") and line.count("|") == 7)
    assert all(float(cell) > 0 for cell in row.split("|")[2:7])


def test_a_failing_peer_is_left_out_with_its_reason(tmp_path):
    command = [sys.executable, str(HERE / "run.py"), "--rounds", "1", "--seconds", "0", "--workloads", "mlp"]
    command += ["--variants", "plain", "--peers", f"nothing={sys.executable}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "nothing left out for mlp plain: ModuleNotFoundError" in done.stdout


def test_ratios_and_medians():
    run = load_run()
    rows = {"graphc": {"step": [0.001, 0.002, 0.009]}, "other": {"step": [0.005]}}
    assert run._cell("step", "graphc", rows) == "2.000"
    assert run._cell("step", "other", rows) == "5.000 (2.50)"
    assert run._cell("rss", "other", rows) == ""


def test_different_losses_are_reported():
    run = load_run()
    assert run._disagreeing({"a": {"loss": [1.0]}, "b": {"loss": [1.0001]}}) == ""
    assert "a 1.00000, b 1.01000" in run._disagreeing({"a": {"loss": [1.0]}, "b": {"loss": [1.01]}})
