"""The programs of docs/examples run as their first lines say, in short, and learn something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
    assert not done.stderr.strip(), done.stderr
    return done.stdout


def test_a_character_level_gpt(tmp_path):
    printed = run("char_gpt.py", "--steps", "60", "--length", "100", folder=tmp_path)
    losses = [float(x) for x in re.findall(r"loss (\d\.\d+)", printed)]
    assert losses[0] > 2.9 > 2.7 > losses[-1]
    (text,) = re.findall(r"^The assignment.*(?=^[\d,]+ characters a second)", printed, re.DOTALL | re.MULTILINE)
    assert len(text) == len("The assignment") + 100 + 1


def test_a_gan_with_two_optimizers(tmp_path):
    printed = run("gan.py", "--steps", "150", folder=tmp_path)
    losses = [list(map(float, re.findall(r"tor (\d+\.\d+)", line))) for line in printed.splitlines()[:5]]
    # Chance is log 2 for both: the discriminator tells them apart, and the generator is told.
    assert all(generator > 0.75 and discriminator < 0.65 for generator, discriminator in losses)
    assert len(printed.splitlines()) == 5 + 8


def test_every_example_is_run():
    tested = set(re.findall(r"[\w/]+\.py", Path(__file__).read_text()))
    assert {str(p.relative_to(EXAMPLES)) for p in EXAMPLES.rglob("*.py")} - tested == set()
