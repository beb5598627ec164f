"""`graphc train`: the whole way from the command line to a checkpoint that a fresh network continues from."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor
from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from graphc.dataset import load_digits
from graphc.errors import ArgumentValueError
from graphc.examples.train_digits import Options, evaluate, train, training_cell
from graphc.inspect.flow import overflow_order
from graphc.inspect.listing import read_listing
from graphc.inspect.saved import saved_text

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """For subprocesses: the checkout, and an object cache of their own."""
    cache = tmp_path_factory.mktemp("cache") / "objects"
    path = os.pathsep.join([str(ROOT), str(ROOT / "codegen")])
    return {**os.environ, "PYTHONPATH": path, "GRAPHC_CACHE_DIR": str(cache)}


def _graphc(environment: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphc", *args]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_the_command_trains_and_a_second_run_uses_the_cache(environment, tmp_path):
    args = ("train", "--epochs", "1", "--limit-steps", "20", "--out", str(tmp_path / "out"))
    first, second = _graphc(environment, *args), _graphc(environment, *args)
    for done in (first, second):
        assert (done.returncode, done.stderr) == (0, "")
    assert "(new object code)" in first.stdout
    assert "(from the object cache)" in second.stdout
    pattern = r"epoch   1/1  step  20/45  mean loss \d\.\d{4}  overflows 0  scale 1024  [\d,]+ samples/s\n"
    assert re.search(pattern, first.stdout)
    losses = [re.search(r"mean loss (\S+)", done.stdout)[1] for done in (first, second)]
    assert losses[0] == losses[1]
    assert re.search(r"test accuracy \d+\.\d\d% \(\d+ of 355\)", first.stdout)
    assert f"checkpoint  {tmp_path}/out/lenet.safetensors\n" in first.stdout
    assert f"graph dump  {tmp_path}/out/dump\n" in first.stdout

    state = load_checkpoint(tmp_path / "out" / "lenet.safetensors")
    assert state["global_step"].asnumpy().tolist() == [20]
    assert {"conv1.weight", "moments.fc3.bias", "scale_sense", "current_iterator_step", "learning_rate"} <= set(state)
    spine = overflow_order(read_listing(saved_text(tmp_path / "out" / "dump")))[0]
    ops = [step.node.op for step in spine]
    assert ops[1] == "ClearFloatStatus"
    assert ops.index("GetFloatStatus") < ops.index("If") < len(ops) - 1
    assert ops[-1] == "Depend"

    shown = _graphc(environment, "show", str(tmp_path / "out" / "dump"), "--scope", "network._backbone.conv1")
    assert "graphc/examples/lenet.py" in shown.stdout


def test_it_learns(tmp_path):
    lines: list[str] = []
    result = train(Options(out=tmp_path), lines.append)
    assert result.accuracy >= 0.97
    assert result.steps == 20 * 45
    assert result.loss < 0.2
    assert (result.overflows, result.scale) == (0, 1024 * 2 ** (900 // 200))
    assert sum(line.startswith("epoch") for line in lines) >= 20


def test_a_run_continues_exactly_from_a_checkpoint(tmp_path):
    data = load_digits()

    def run(step, first, last):
        losses = []
        for i in range(first, last):
            batch = slice(32 * i, 32 * i + 32)
            results = step(Tensor(data.train_images[batch]), Tensor(data.train_labels[batch]))
            losses.append([float(results[0]), bool(results[1]), float(results[2])])
        return losses

    # A scale this large overflows at first; the window makes it move again soon.
    options = Options(loss_scale=2.0**126, scale_window=3)
    example = Tensor(data.train_images[:32]), Tensor(data.train_labels[:32])
    graphc.set_seed(1)
    cell, network = training_cell(options)
    step = graphc.compile(cell, *example)
    before = run(step, 0, 8)
    assert any(overflow for _, overflow, _ in before)
    path = save_checkpoint(cell, tmp_path / "a.safetensors")
    expected = run(step, 8, 16)
    accuracy = evaluate(network, data.test_images, data.test_labels)
    assert network.training

    graphc.set_seed(2)
    fresh, fresh_network = training_cell(options)
    assert load_param_into_net(fresh, load_checkpoint(path), strict_load=True) == ([], [])
    assert run(graphc.compile(fresh, *example), 8, 16) == expected
    assert evaluate(fresh_network, data.test_images, data.test_labels) == accuracy
    for ours, theirs in zip(fresh.get_parameters(), cell.get_parameters(), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy(), err_msg=ours.name)


def test_an_overflow_step_moves_nothing_but_the_scale():
    data = load_digits()
    cell, _ = training_cell(Options(loss_scale=2.0**127))
    images, labels = Tensor(data.train_images[:32] * 1e3), Tensor(data.train_labels[:32])
    step = graphc.compile(cell, images, labels)
    before = {p.name: p.asnumpy() for p in cell.get_parameters()}
    loss, overflow, scale = step(images, labels)
    assert bool(overflow)
    assert float(scale) == 2.0**126
    assert np.isfinite(float(loss))
    moved = {p.name for p in cell.get_parameters() if (p.asnumpy() != before[p.name]).any()}
    assert moved == {"scale_sense", "current_iterator_step", "last_overflow_iterator_step"}


def test_an_interruption_is_clean(environment, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "graphc", "train", "--epochs", "100000", "--out", str(out)]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("epoch"):
            break
    running.send_signal(signal.SIGINT)
    # `communicate` drains both pipes, and closes them.
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "graphc: training interrupted; no checkpoint was written\n")
    assert not out.exists()


def test_bad_output_and_batch_are_refused_before_training(environment, tmp_path):
    (tmp_path / "file").write_text("")
    for path in ("file", "file/below"):
        done = _graphc(environment, "train", "--out", str(tmp_path / path))
        assert (done.returncode, done.stdout) == (2, "")
        assert "is a file, the output needs a directory" in done.stderr
    with pytest.raises(ArgumentValueError, match="the batch size is 2000, there are 1442 images"):
        train(Options(batch_size=2000, out=tmp_path), print)
