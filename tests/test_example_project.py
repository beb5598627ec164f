"""docs/example_project as its owner runs it: in a folder of its own, by pytest, with nothing of this checkout's settings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path):
    shutil.copytree(
        ROOT / "docs" / "example_project", tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", ".*")
    )
    return tmp_path / "project"


def run(project, *options):
    """pytest's exit code and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "graphc.testing.plugin", "-p", "no:cacheprovider", "-q", *options],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "codegen")))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_it_passes_and_fails_when_its_golden_is_broken(project):
    code, text = run(project)
    assert code == 0, text
    golden = project / "golden" / "twice.ir"
    before = golden.read_text()
    golden.write_text(before.replace("Neg(%0)", "Neg(%1)"))
    code, text = run(project, "golden")
    assert code == 1
    assert "golden/twice gives" in text
    assert "1 failed, 1 passed" in text
    assert run(project, "golden", "--update-golden")[0] == 0
    assert golden.read_text() == before


def test_a_broken_kernel_is_found(project):
    ops = project / "smoothing.py"
    ops.write_text(ops.read_text().replace("dx[row, t] = (1 - alpha) * last", "dx[row, t] = last"))
    code, text = run(project, "test_project.py", "-k", "gradient")
    assert code == 1
    assert "Smooth-gradient-0-operand0" in text
    assert "differences give" in text
