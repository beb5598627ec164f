"""Starts and asks the processes that measure. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: How many threads each library may have, and what says so to it.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GRAPHC_NUM_THREADS")
_ONE_THREAD = {
    **dict.fromkeys(_THREADS, "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
#: Not passed on: without bytecode every start compiles all sources, but those of packages whose installer has done it.
_LEFT_OUT = ("PYTHONDONTWRITEBYTECODE",)


class LeftOut(Exception):
    """A measurement that failed or took too long; the message says why."""


class Overdue(LeftOut):
    """It took longer than the limit."""


class Process:
    """A script of this directory with `arguments`, pinned to `cpu` with one thread per library if that is given.

    Object caches of all frameworks are in `cache`; nothing may take longer than `limit` seconds.
    """

    def __init__(self, python: str, arguments: Sequence[str], cache: str, cpu: int | None, limit: float) -> None:
        self._limit = limit
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*_pin(cpu), python, str(HERE / arguments[0]), *arguments[1:]],
            env=environment(cache, cpu),
            cwd=cache,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )

    def ask(self, line: str = "") -> dict[str, Any]:
        """Send a line, if there is one, and wait for an answer. Raises LeftOut."""
        if line:
            with contextlib.suppress(BrokenPipeError):
                self._input.write(line + "\n")
                self._input.flush()
        stop = threading.Timer(self._limit, self._kill)
        stop.start()
        try:
            for text in self._output:
                if text.startswith("{"):
                    return dict(json.loads(text))
        finally:
            overdue = not stop.is_alive()
            stop.cancel()
        self._process.wait()
        raise Overdue(f"more than {self._limit:g} s") if overdue else LeftOut(self._last_error())

    def ask_once(self) -> dict[str, Any]:
        """Its first answer, and its end. Raises LeftOut."""
        try:
            return self.ask()
        finally:
            self.close()

    def close(self) -> None:
        # A process that has ended cannot take what was written last.
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        self._output.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        self._errors.close()

    def _kill(self) -> None:
        """End it, and the compilers it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def _input(self) -> Any:
        return self._process.stdin

    @property
    def _output(self) -> Any:
        return self._process.stdout

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        return (lines or ["no message"])[-1].strip()[:200]


def interpreters(peers: str) -> tuple[dict[str, str], list[str]]:
    """The Pythons of "NAME=PYTHON,...", graphc's among them, and a line for each that cannot be run."""
    pythons, left_out = {"graphc": sys.executable}, []
    for item in filter(None, peers.split(",")):
        name, _, python = item.partition("=")
        if shutil.which(python) is None:
            left_out.append(f"{name} left out: {python!r} cannot be run")
        else:
            pythons[name] = python
    return pythons, left_out


def last_cpu() -> int:
    """The last CPU that this process may use."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def _pin(cpu: int | None) -> list[str]:
    return [] if cpu is None or shutil.which("taskset") is None else ["taskset", "-c", str(cpu)]


def environment(cache: str, cpu: int | None) -> dict[str, str]:
    caches = {
        "GRAPHC_CACHE_DIR": os.path.join(cache, "graphc"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(cache, "torch"),
        "JAX_COMPILATION_CACHE_DIR": os.path.join(cache, "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "MS_COMPILER_CACHE_ENABLE": "1",
        "MS_COMPILER_CACHE_PATH": os.path.join(cache, "mindspore"),
    }
    os.makedirs(cache, exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if name not in (*_ONE_THREAD, *_LEFT_OUT)},
        **(_ONE_THREAD if cpu is not None else {}),
        **caches,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "codegen"))),
        "BENCH_STARTED": repr(time.time()),
    }
