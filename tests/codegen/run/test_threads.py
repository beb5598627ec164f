"""The thread pool: several programs, forks, the end of the process, more threads than processors."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphc_codegen import compile_program
from graphc_codegen.cores import first_of_cores
from graphc_codegen.errors import CodegenError
from graphc_codegen.object_code.llvm_modules import compile_module
from graphc_codegen.object_code.loading import load
from graphc_codegen.program import Call, If, NamedKernel, Program, Stmt
from graphc_codegen.run.peak import measure_distance, measure_slowing
from graphc_codegen.run.threads import Pool, render_pool
from graphc_codegen.target import describe, host
from tests.codegen.programs import chain


def divided(program: Program, threads: int) -> Program:
    """Every call shared, a meeting before every statement."""

    def change(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Call):
            return replace(stmt, kernel=replace(stmt.kernel, threads=threads), wait=True)
        assert isinstance(stmt, If)
        return replace(stmt, then=tuple(map(change, stmt.then)), orelse=tuple(map(change, stmt.orelse)), wait=True)

    if threads == 1:
        return program
    return replace(program, body=tuple(map(change, program.body)), threads=threads)


def steps(threads: int, count: int, n: int = 1000) -> None:
    """Run `chain` and compare with NumPy."""
    w = np.zeros(n, np.float32)
    bound = compile_program(divided(chain(n), threads), cache_dir=None).bind([w], [])
    x = np.arange(n, dtype=np.float32)
    for k in range(count):
        before = w.copy()
        bound.run([x, np.array(k % 3 == 0)])
        np.testing.assert_array_equal(w, before + 10 if k % 3 == 0 else (x + 1) * x - (x + 1))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_any_number_of_threads(threads: int) -> None:
    steps(threads, 50)


def test_programs_of_several_python_threads_take_turns_in_the_pool() -> None:
    failed: list[BaseException] = []

    def work(threads: int) -> None:
        try:
            steps(threads, 60)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in (2, 2, 3, 3, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert not failed
    assert not any(w.is_alive() for w in workers)


_SCRIPT = """
import os, sys, threading, time
from tests.codegen.run.test_threads import steps
steps(2, 5)
"""


_NO_FUTEX = """
from graphc_codegen.target import Target
Target.futex = property(lambda self: 0)
"""


def run(script: str, before: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", before + _SCRIPT + script], capture_output=True, text=True, timeout=120
    )


def test_a_process_ends_with_its_workers() -> None:
    done = run("time.sleep(0.05); print('end')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_the_child_of_a_fork_has_workers_of_its_own() -> None:
    script = """
child = os.fork()
steps(2, 5)
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(script)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_systems_without_futexes_and_semaphores() -> None:
    """As macOS: workers sleep in reads of pipes, which a fork does not share, and which are closed."""
    script = """
files = lambda: len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
from graphc_codegen.run import threads
assert not threads.host().futex and "@sem_wait" not in threads.render_pool(threads.host())
time.sleep(0.2)  # Workers sleep by now.
steps(2, 5)
opened = files()
child = os.fork()
steps(2, 5)
assert files() == opened
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
steps(3, 300)
threads._stop_all()
assert files() == opened - 2
"""
    done = run(script, before=_NO_FUTEX)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_a_bound_program_outlives_a_fork() -> None:
    script = """
import numpy as np
from graphc_codegen import compile_program
from tests.codegen.programs import chain
from tests.codegen.run.test_threads import divided
w = np.zeros(100, np.float32)
bound = compile_program(divided(chain(100), 2), cache_dir=None).bind([w], [])
run = lambda: bound.run([np.ones(100, np.float32), np.array(True)])
run()
child = os.fork()
run()
assert (w == 20).all()
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(script)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_a_slow_caller_wakes_nobody_twice() -> None:
    """Workers may finish a round and fall asleep before the caller has come to wake them."""
    program = chain(16)
    alone = replace(program, threads=3)  # Only the first thread works, so that the others end at once.
    w = np.zeros(16, np.float32)
    bound = compile_program(alone, cache_dir=None).bind([w], [])
    for k in range(3000):
        bound.run([np.ones(16, np.float32), np.array(True)])
        assert w[0] == 10 * (k + 1)


def test_threads_that_cannot_be_started_are_an_error_and_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Pool(4, None)
    begin = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "graphc-3":
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(CodegenError, match=r"cannot start 3 threads .*; set GRAPHC_NUM_THREADS"):
        made.start()
    assert not made.ready
    assert not any(worker.is_alive() for worker in made._workers)


def test_only_kernels_that_can_be_divided_are() -> None:
    scatter = NamedKernel("scatter", (("dtype", "float32"), ("inner", 1)), threads=2)
    program = replace(chain(), body=(Call(scatter, (0, 1, 2)),), threads=2)
    with pytest.raises(CodegenError, match="cannot run on 2 threads"):
        compile_program(program, cache_dir=None)
    with pytest.raises(CodegenError, match="waits for other threads, but there are none"):
        compile_program(replace(chain(), body=(replace(chain().body[0], wait=True),)), cache_dir=None)
    with pytest.raises(CodegenError, match="cannot run on 3 threads of 2"):
        compile_program(replace(divided(chain(), 3), threads=2), cache_dir=None)


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin"])
def test_waiting_fits_the_system(triple: str) -> None:
    features = dict.fromkeys(("sse4.1", "avx2", "fma", "f16c"), True) if triple.startswith("x86") else {}
    text = render_pool(describe(triple, "generic", features))
    assert ("@syscall" in text) == ("linux" in triple)
    assert ("@sched_yield" in text) == ("linux" not in triple)


def test_how_far_processors_are_apart() -> None:
    """On a busy machine that may not be known; afterwards this thread may run wherever it could before."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    found = measure_distance(None, 1.0)
    assert found is None or 0 < found < 1e6
    assert allowed is None or os.sched_getaffinity(0) == allowed
    assert measure_distance(None, 0.0) is None
    found = measure_slowing(None, 1.0)
    assert found is None or 0.5 < found < 5
    assert allowed is None or os.sched_getaffinity(0) == allowed
    assert measure_slowing(None, 0.0) is None


@pytest.mark.parametrize(
    ("lists", "file", "first"),
    [
        (["0,4", "1,5", "2,6", "3,7"] * 2, "core_cpus_list", [0, 1, 2, 3]),
        (["0-1", "0-1", "2-3", "2-3"], "thread_siblings_list", [0, 2]),
        (["0-1", "0-1", "2", "3"], "core_cpus_list", [0, 2, 3]),
        (["", "", None], "core_cpus_list", [0, 1, 2]),
        (["0", "1"], "something_else", [0, 1]),
    ],
)
def test_cores(monkeypatch, tmp_path: Path, lists: list[str | None], file: str, first: list[int]) -> None:
    monkeypatch.setattr("graphc_codegen.cores._TOPOLOGY", tmp_path)
    for number, text in enumerate(lists):
        folder = tmp_path / f"cpu{number}" / "topology"
        folder.mkdir(parents=True)
        if text is not None:
            (folder / file).write_text(text + "\n")
    assert first_of_cores(range(len(lists))) == first
    assert first_of_cores([1]) == [1]


@pytest.mark.skipif(not host().futex, reason="threads do not sleep on this system")
def test_others_want_the_cpus_where_this_process_had_to_leave_them() -> None:
    ask = """
define i64 @ask(ptr %watch) {
  %is = call i1 @graphc_crowded(ptr %watch)
  %word = zext i1 %is to i64
  ret i64 %word
}"""
    loaded = load([compile_module(render_pool(host()) + ask, host())], ["ask"], host())
    crowded = loaded.function("ask", words=1)
    watch = np.zeros(4, np.int64)
    began, count, until, apart = range(4)
    watch[apart] = 1_000_000
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    watch[count] = switches + 10**6  # Fewer since then than none.
    assert not crowded(watch.ctypes.data)
    assert switches <= watch[count] < switches + 10**6
    assert 0 < watch[began] <= time.monotonic_ns()
    # It looks again after two milliseconds, not before.
    watch[began], watch[count] = time.monotonic_ns() + 10**9, -(10**9)
    assert not crowded(watch.ctypes.data)
    watch[began] -= 2 * 10**9
    assert crowded(watch.ctypes.data)
    # What it found holds for a while, whatever is counted next.
    watch[began], watch[count] = time.monotonic_ns() - 10**9, 10**6
    assert crowded(watch.ctypes.data)
    watch[until] = time.monotonic_ns()
    assert not crowded(watch.ctypes.data)
    assert crowded(0)
