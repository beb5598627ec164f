"""Many runs in one loop: the same as run by run, natively, on several threads, and in checked mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc_codegen import compile_program
from graphc_codegen.program import Access, Buffer, Call, Instr, LoopKernel, Output, Program
from graphc_codegen.run import queue
from graphc_codegen.run.native import NativeBound

ROWS = 6


def sums(threads: int = 1) -> Program:
    """w += x and y = w + x, for x, w, y float32[4]."""
    line = Access("float32", (1,), 0, 4)
    add = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("add", (0, 1), "float32"))
    kernel = LoopKernel((4,), (False,), (line, line), add, (Output(line, 2),))
    spaces = ("input", "param", "arena")
    buffers = tuple(Buffer(k, "float32", (4,), space, 0) for k, space in enumerate(spaces))
    return Program("sums", buffers, (Call(kernel, (0, 1, 1)), Call(kernel, (0, 1, 2))), 64, threads=threads)


def batches() -> np.ndarray[Any, Any]:
    return np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)


@pytest.mark.parametrize(("checked", "threads"), [(False, 1), (False, 2), (True, 1)])
def test_the_same_as_run_by_run(checked: bool, threads: int, tmp_path: Path) -> None:
    executable = compile_program(sums(threads), cache_dir=tmp_path, checked=checked)
    once, many = np.ones(4, np.float32), np.ones(4, np.float32)
    bound = executable.bind([once], [])
    kept = []
    for x in batches():
        bound.run([x])
        kept.append((bound.read(1), bound.read(2)))
    looped = executable.bind([many], [])
    w, y = looped.run_many([batches()], ROWS, [1, 2])
    np.testing.assert_array_equal(once, many)
    np.testing.assert_array_equal(w, [a for a, _ in kept])
    np.testing.assert_array_equal(y, [b for _, b in kept])
    np.testing.assert_array_equal(looped.read(0), batches()[-1])
    looped.run([batches()[0]])
    np.testing.assert_array_equal(many, once + batches()[0])


def test_the_loop_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its object code is in the cache: another process needs no compiler for it."""
    queue.loop.cache_clear()
    queue.loop(tmp_path)
    files = sorted(p.name for p in tmp_path.iterdir())
    queue.loop.cache_clear()
    from graphc_codegen.object_code import numba_step

    monkeypatch.setattr(numba_step, "compile_source", None)
    queue.loop(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == files
    queue.loop.cache_clear()


def test_a_plan_that_has_failed() -> None:
    """The loop ends at the step whose entry returns a status, and says how many are done."""
    import ctypes

    left = [3]

    def entry(context: int) -> int:
        left[0] -= 1
        return 7 if left[0] < 0 else 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(entry)
    address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    plan = queue.make_plan(address, 5, [], [])
    assert queue.run_plan(queue.loop(None), 0, plan) == (3, 7)


def test_no_steps() -> None:
    bound = compile_program(sums(), cache_dir=None).bind([np.ones(4, np.float32)], [])
    assert isinstance(bound, NativeBound)
    (kept,) = bound.run_many([batches()], 0, [1])
    assert kept.shape == (0, 4)
