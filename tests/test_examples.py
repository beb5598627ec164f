"""The programs of docs/examples run as their first lines say, in short, and learn something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphc.dataset import load_digits

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"


def run(name, *options, folder=None, command=(sys.executable,)):
    """What a program prints."""
    done = subprocess.run(
        [*command, str(EXAMPLES / name), *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "codegen")))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout


def test_a_character_level_gpt(tmp_path):
    printed = run("char_gpt.py", "--steps", "60", "--length", "100", folder=tmp_path)
    losses = [float(x) for x in re.findall(r"loss (\d\.\d+)", printed)]
    # The text is Python's own, and that of later ones is harder.
    least = 2.7 if sys.version_info < (3, 12) else 2.85
    assert losses[0] > 2.9 > least > losses[-1]
    (text,) = re.findall(r"^The assignment.*(?=^[\d,]+ characters a second)", printed, re.DOTALL | re.MULTILINE)
    assert len(text) == len("The assignment") + 100 + 1


def test_a_gan_with_two_optimizers(tmp_path):
    printed = run("gan.py", "--steps", "150", folder=tmp_path)
    losses = [list(map(float, re.findall(r"tor (\d+\.\d+)", line))) for line in printed.splitlines()[:5]]
    # Chance is log 2 for both: the discriminator tells them apart, and the generator is told.
    assert all(generator > 0.75 and discriminator < 0.65 for generator, discriminator in losses)
    assert len(printed.splitlines()) == 5 + 8


def test_files_of_mnist_by_model(tmp_path):
    printed = run("mnist_files.py", "--epochs", "5", folder=tmp_path)
    assert re.search(r"^epoch: 5 step: 45, loss is 0\.\d+$", printed, re.MULTILINE)
    accuracy, again = map(float, re.findall(r"(?:accuracy|ckpt:) (0\.\d+)$", printed, re.MULTILINE))
    assert accuracy == again > 0.8
    files = sorted(p.name for p in (tmp_path / "out" / "mnist" / "checkpoints").iterdir())
    assert files == ["lenet-4_45.ckpt", "lenet-5_45.ckpt"]


def test_resnet20(tmp_path):
    printed = run("resnet20.py", "--epochs", "2", folder=tmp_path)
    assert float(re.findall(r"accuracy (0\.\d+)", printed)[0]) > 0.8


def test_transfer(tmp_path):
    said = run("transfer.py", folder=tmp_path)
    assert "not in the file: ['head.weight', 'head.bias']  not in the network: []" in said
    with_features, _ = map(float, re.findall(r"(?:accuracy|before) (0\.\d+)", said))
    assert with_features > 0.9


@pytest.mark.parametrize("options", [(), ("--sink",)])
def test_a_script_for_mindspore(tmp_path, options):
    """side_by_side/lenet_mindspore.py as it is; the others need their packages: tests/bench/whole.py runs them."""
    np.savez(tmp_path / "digits.npz", **load_digits()._asdict())
    printed = run(
        "side_by_side/lenet_mindspore.py", "digits.npz", "--epochs", "6", *options, folder=tmp_path,
        command=(sys.executable, "-m", "graphc", "run", "--mindspore"),
    )  # fmt: skip
    assert float(printed.split()[-1]) > 0.8


#: Of other packages; tests/bench/whole.py runs them.
OTHERS = {"side_by_side/lenet_jax.py", "side_by_side/lenet_torch.py"}


def test_every_example_is_run():
    tested = set(re.findall(r'run\(\s*"([\w/]+\.py)', Path(__file__).read_text()))
    assert {str(p.relative_to(EXAMPLES)) for p in EXAMPLES.rglob("*.py")} == tested | OTHERS
