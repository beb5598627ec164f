"""Ctrl-C ends a compiled loop that would not end, on one thread and on several; the next step is as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc_codegen.program import While
from graphc_codegen.run.interrupts import Watch

_SCRIPT = """
import os, signal, socket, sys
import numpy as np
import graphc
from graphc import Tensor, nn, ops

class Loop(nn.Cell):
    def construct(self, x, n, by):
        def outer(i, x):
            j, x = ops.while_loop(lambda j, x: j < n, lambda j, x: (j + by, ops.tanh(x)), Tensor(0, "int32"), x)
            return i + by, x + 1.0
        i, x = ops.while_loop(lambda i, x: i < n, outer, Tensor(0, "int32"), x)
        if x.sum() > 1e9:
            x = -x
        return x * 2.0

kind, threads = sys.argv[1], int(sys.argv[2])
x, n = Tensor(np.full((512, 512), 0.5, np.float32)), Tensor(3, "int32")
step = graphc.compile(Loop(), x, n, n)
assert step._lowered.program.threads == threads
one, none = Tensor(1, "int32"), Tensor(0, "int32")
right = step(x, n, one).asnumpy()

def handler(number, frame):
    print("handled", flush=True)
    if kind != "silent":
        signal.default_int_handler(number, frame)

if kind in ("chained", "silent"):
    signal.signal(signal.SIGINT, handler)
mine, other = socket.socketpair()
other.setblocking(False)
if kind == "file":
    signal.set_wakeup_fd(other.fileno())
for _ in range(3):
    print("ready", flush=True)
    try:
        step(x, n, none)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    assert (step(x, n, one).asnumpy() == right).all()
if kind == "file":
    assert mine.recv(16) and signal.set_wakeup_fd(-1) == other.fileno()
else:
    assert signal.set_wakeup_fd(-1) == -1
if kind == "fork":
    child = os.fork()
    if child == 0:
        print("ready", flush=True)
        try:
            step(x, n, none)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.waitpid(child, 0)
print("end")
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One object cache for all: what they compile is the same."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    ("kind", "threads"), [("plain", 1), ("plain", 2), ("chained", 1), ("silent", 2), ("file", 2), ("fork", 2)]
)
def test_ctrl_c_ends_an_endless_loop(kind: str, threads: int, tmp_path: Path, cache: Path) -> None:
    script = tmp_path / "script.py"  # Conditions on tensors are traced in functions whose source can be read.
    script.write_text(_SCRIPT)
    environment = os.environ | {"GRAPHC_NUM_THREADS": str(threads), "GRAPHC_CACHE_DIR": str(cache)}
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script), kind, str(threads)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert started.stdout is not None
    lines = []
    try:
        for line in started.stdout:
            lines.append(line.strip())
            if lines[-1] == "ready":
                time.sleep(0.2)
                os.killpg(started.pid, signal.SIGINT)
        assert started.wait(30) == 0, started.stderr.read() if started.stderr else ""
    finally:
        started.kill()
        started.communicate()
    handled = ["handled"] if kind in ("chained", "silent") else []
    assert lines == ["ready", *handled, "interrupted"] * (4 if kind == "fork" else 3) + ["end"]


class _Counted(nn.Cell):
    def construct(self, n):
        return ops.while_loop(lambda i: i < n, lambda i: i + 1, Tensor(0, "int32"))


def test_only_steps_with_loops_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    call = Watch.call
    monkeypatch.setattr(Watch, "call", lambda self, *args: seen.append(args) or call(self, *args))
    x = Tensor(np.ones(3, np.float32))
    with debug(cache=False):
        plain, counted = graphc.compile(nn.ReLU(), x), graphc.compile(_Counted(), Tensor(5, "int32"))
    assert not seen
    plain(x)
    assert not seen
    assert counted(Tensor(7, "int32")).asnumpy() == 7
    assert len(seen) == 1
    assert any(isinstance(s, While) for s in counted._lowered.program.body)
    assert "goes_on" in counted.source
    assert "goes_on" not in plain.source + plain.kernels
