"""Tasks of several Python threads in a new process, where each of them is the first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_RUN = """
import os, sys, threading, traceback

def _work(task):
    gate.wait()
    try:
        task()
    except BaseException:
        traceback.print_exc()

sys.setswitchinterval(float(sys.argv[1]))
gate = threading.Barrier(len(tasks))
workers = [threading.Thread(target=_work, args=(task,), daemon=True) for task in tasks]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join(15)
print("alive:", sum(w.is_alive() for w in workers), flush=True)
os._exit(0)
"""


def at_once(folder: Path, source: str, interval: float) -> None:
    """Run the `tasks` that a script's `source` defines, all at once; an object cache in `folder` is new.

    The interpreter goes from thread to thread after `interval` seconds. A task that fails or does not end is an
    AssertionError with what was printed.
    """
    script = folder / "script.py"  # Conditions on tensors are traced in functions whose source can be read.
    script.write_text(source + _RUN)
    environment = os.environ | {"GRAPHC_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(script), str(interval)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("alive: 0\n", ""), done.stdout + done.stderr
