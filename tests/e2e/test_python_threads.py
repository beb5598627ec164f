"""Several Python threads in a new process, all of them the first: what is imported and made late is made once, and whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import os, sys, threading, traceback
import numpy as np
import graphc
from graphc import Tensor, nn, ops

class Net(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            return x * 3
        return x

def branching(x):
    if x.sum() > 0:
        return x * 3
    return x

x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
tasks = {
    "step": lambda: graphc.compile(Net(), x)(x),
    "cell": lambda: Net()(x),
    "jit": lambda: graphc.jit(branching)(x),
    "grad": lambda: x * graphc.grad(branching)(x),
    "operation": lambda: x * ops.GradOperation()(branching)(x),
    "plain": lambda: x * 3,
}

def work(name):
    gate.wait()
    try:
        assert (tasks[name]().asnumpy() == x.asnumpy() * 3).all(), name
    except BaseException:
        traceback.print_exc()

sys.setswitchinterval(float(sys.argv[1]))
gate = threading.Barrier(len(tasks))
workers = [threading.Thread(target=work, args=(name,), daemon=True) for name in tasks]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join(15)
print("end", sum(w.is_alive() for w in workers), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("interval", ["1e-5", "1e-4", "1e-3", "5e-3"])
def test_every_way_in_at_the_same_time(tmp_path: Path, interval: str) -> None:
    script = tmp_path / "script.py"  # Conditions on tensors are traced in functions whose source can be read.
    script.write_text(_SCRIPT)
    environment = os.environ | {"GRAPHC_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(script), interval]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("end 0\n", "")
