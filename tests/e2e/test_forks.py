"""A process forks while another of its threads runs a step or compiles one: the child can do both."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import os, sys, threading, time
import numpy as np
import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.zeros((256, 256), np.float32)), name="w")
        self.dense = nn.Dense(256, 256)
    def construct(self, x):
        ops.assign(self.w, self.w + ops.tanh(self.dense(x)))
        return self.w.sum()

x, small = Tensor(np.ones((256, 256), np.float32)), Tensor(np.ones((2, 4), np.float32))
step, calls = Net(), 0
def run():
    global calls
    while True:
        step(x)
        calls += 1
def compile_one(k=[0]):
    k[0] += 1
    with debug(cache=False):
        made = graphc.compile(nn.SequentialCell([nn.Dense(4, 4) for _ in range(1 + k[0] % 3)]), small)
    return made(small)
def compile_all():
    global calls
    while True:
        compile_one()
        calls += 1
step(x)
beside, child = {"run": run, "compile": compile_all}[sys.argv[1]], sys.argv[2]
threading.Thread(target=beside, daemon=True).start()
ended = []
for k in range(4):
    seen = calls
    while calls == seen:
        time.sleep(0.001)
    time.sleep(0.013 * k)
    pid = os.fork()
    if pid == 0:
        step(x) if child == "run" else compile_one()
        os._exit(7)
    for _ in range(3000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(pid, 9)
    ended.append(os.waitstatus_to_exitcode(status) if done else "hangs")
seen = calls
while calls < seen + 2:
    time.sleep(0.001)
print(*ended)
os._exit(0)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One object cache for all: what they compile is the same."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("beside", "child"), [("run", "run"), ("compile", "compile"), ("compile", "run")])
def test_the_child_of_a_fork_does_not_hang(beside: str, child: str, threads: int, cache: Path) -> None:
    environment = os.environ | {"GRAPHC_NUM_THREADS": str(threads), "GRAPHC_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, beside, child],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout == "7 7 7 7\n", done.stdout + done.stderr


def test_every_lock_is_made_where_forks_are_known() -> None:
    root = Path(__file__).parents[2]
    made = set()
    for path in [*(root / "graphc").rglob("*.py"), *(root / "codegen" / "graphc_codegen").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("Lock", "RLock", "Condition", "Semaphore", "Event"):
                parent = ast.unparse(node.value)
                made |= {path.name} if parent == "threading" else set()
    # In compiled_step.py and buckets.py one is a type; the conditions in ahead.py and waiting.py have a lock of forks.py; the
    # event in watchdog.py is for a thread that no child has; events in waited_callbacks.py are for the process that trains, those
    # in group_calls.py for one that may talk to others, which a child may not.
    known = {
        *("forks.py", "compiled_step.py", "buckets.py", "ahead.py", "watchdog.py", "waiting.py", "waited_callbacks.py"),
        "group_calls.py",
    }
    assert made == known
