"""Where a program runs: without a home, in a folder that is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_SCRIPT = """
import os, sys
sys.path[:0] = [{root!r}, {root!r} + "/codegen"]
import numpy as np
{before}
import graphc
from graphc import Tensor, nn

class Net(nn.Cell):
    def construct(self, x):
        return x * 3

print(Net()(Tensor(np.ones(2, np.float32))))
try:
    nn.ReLU()(Tensor(np.ones(2, np.float32)), 1)
except graphc.GraphcError as error:
    print(error.code)
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("import pwd; pwd.getpwuid = lambda uid: {}[uid]", ["this user has no home directory"]),
        ("os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')", []),
    ],
    ids=["no home", "no folder"],
)
def test_a_cell_compiles(tmp_path: Path, before: str, said: list[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(root=str(ROOT), before=before))
    keep = {
        k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "GRAPHC_CACHE_DIR", "PYTHONPATH")
    }
    environment = keep if said else keep | {"GRAPHC_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[3. 3.]\nGC100\n", done.stderr
    lines = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert [[text in line for text in said] for line in lines] == [[True]] * len(said), done.stderr
