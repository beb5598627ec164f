"""From a program to a run, in native code and in checked mode."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc_codegen import CanaryError, CodegenError, Executable, Program, compile_program
from graphc_codegen.program import Access, Buffer, Call, If, Instr, LoopKernel, NamedKernel, Output
from graphc_codegen.run.bound import aligned_bytes
from graphc_codegen.run.native import NativeBound
from tests.codegen.programs import add, chain, line

MODES = pytest.mark.parametrize("checked", [False, True], ids=["native", "checked"])


def compiled(program: Program, checked: bool = False) -> Executable:
    return compile_program(program, cache_dir=None, checked=checked)


def floats(n: int = 10) -> np.ndarray[Any, Any]:
    return np.arange(n, dtype=np.float32)


@MODES
@pytest.mark.parametrize("gap", [0, 64])
def test_a_program_with_both_branches(checked: bool, gap: int) -> None:
    x, w = floats(), np.ones(10, np.float32)
    bound = compiled(chain(gap=gap), checked).bind([w], [])
    bound.run([x, np.array(True)])
    np.testing.assert_array_equal(w, np.full(10, 11))
    bound.run([x, np.array(False)])
    np.testing.assert_array_equal(w, (x + 1) * x - (x + 1))
    bound.check_canaries()


@MODES
def test_reading_gives_copies_with_the_declared_shape(checked: bool) -> None:
    access = Access("float32", (1,), 0, 6)
    program = Program(
        "shapes",
        (
            Buffer(0, "float32", (2, 3), "input", 0),
            Buffer(1, "float32", (3, 2), "arena", 0),
            Buffer(2, "int64", (), "const", 0),
        ),
        (
            Call(
                LoopKernel((6,), (False,), (access,), (Instr("input", (), "float32", 0),), (Output(access, 0),)),
                (0, 1),
            ),
        ),
        64,
    )
    bound = compiled(program, checked).bind([], [np.array(7)])
    x = floats(6).reshape(2, 3)
    with pytest.raises(RuntimeError, match="before the first run"):
        bound.read(0)
    bound.run([x])
    copy = bound.read(1)
    np.testing.assert_array_equal(copy, x.reshape(3, 2))
    copy[:] = 0
    np.testing.assert_array_equal(bound.read(1), x.reshape(3, 2))
    np.testing.assert_array_equal(bound.read(0), x)
    assert bound.read(2) == 7
    assert bound.read(2).shape == ()
    with pytest.raises(KeyError):
        bound.read(9)


def test_inputs_are_followed_when_they_change() -> None:
    bound = compiled(line(2)).bind([], [])
    a, b = np.zeros(8, np.float32), np.ones(8, np.float32)
    for x, want in ((a, 1), (b, 2), (a, 1)):
        bound.run([x])
        assert bound.read(1).tolist() == [want] * 8
    a[:] = 5
    bound.run([a])
    assert bound.read(1).tolist() == [6] * 8
    b.flags.writeable = False
    bound.run([b])
    assert bound.read(1).tolist() == [2] * 8
    with pytest.raises(RuntimeError, match="1 inputs, got 2"):
        bound.run([a, b])


def test_arrays_that_do_not_fit_are_refused() -> None:
    executable = compiled(chain(), checked=True)
    read_only = np.zeros(10, np.float32)
    read_only.flags.writeable = False
    for params, match in [
        ([], "needs 1 params, got 0"),
        ([np.zeros(10)], "float32 with 10 elements, not float64"),
        ([np.zeros(11, np.float32)], "not float32 with 11"),
        ([np.zeros(20, np.float32)[::2]], "C-contiguous"),
        ([np.zeros(41, np.uint8)[1:].view(np.float32)], "aligned"),
        ([read_only], "read-only"),
    ]:
        with pytest.raises(ValueError, match=match):
            executable.bind(params, [])


def test_the_arena_is_aligned() -> None:
    for count in (1, 64, 1000):
        block = aligned_bytes(count)
        assert block.size == count
        assert block.ctypes.data % 64 == 0
        assert not block.any()


@MODES
def test_canaries_name_the_buffers_beside_the_damage(checked: bool) -> None:
    program = chain(gap=64)
    bound = compiled(program, checked).bind([np.zeros(10, np.float32)], [])
    bound.check_canaries()
    bound._arena[45] = 0
    with pytest.raises(CanaryError, match=r"bytes 45\.\.45 .* beside buffers 3, 4"):
        bound.check_canaries()
    without = compiled(chain(), checked).bind([np.zeros(10, np.float32)], [])
    without._arena[45] = 1
    without.check_canaries()


def test_what_nobody_has_written_is_no_number_in_builds_with_canaries() -> None:
    program = chain(gap=64)
    bound = compiled(program).bind([np.zeros(10, np.float32)], [])
    assert all(np.isnan(bound.read(b.id)).all() for b in program.buffers if (b.space, b.dtype) == ("arena", "float32"))


@MODES
def test_one_thread_at_a_time(checked: bool) -> None:
    bound = compiled(chain(), checked).bind([np.zeros(10, np.float32)], [])
    with bound._lock, pytest.raises(RuntimeError, match="another thread"):
        bound.run([floats(), np.array(True)])
    bound.run([floats(), np.array(True)])


def test_two_bindings_run_side_by_side() -> None:
    executable = compiled(chain(1000))
    weights = [np.zeros(1000, np.float32) for _ in range(2)]
    bounds = [executable.bind([w], []) for w in weights]

    def work(bound: Any) -> None:
        for _ in range(200):
            bound.run([floats(1000), np.array(True)])

    threads = [threading.Thread(target=work, args=(b,)) for b in bounds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for w in weights:
        assert (w == 2000).all()


def test_denormals_are_flushed_inside_and_kept_outside() -> None:
    access = Access("float32", (1,), 0, 4)
    half = LoopKernel(
        (4,), (False,), (access,),
        (Instr("input", (), "float32", 0), Instr("const", (), "float32", 0.5), Instr("mul", (0, 1))),
        (Output(access, 2),),
    )  # fmt: skip
    program = Program(
        "half",
        (Buffer(0, "float32", (4,), "input", 0), Buffer(1, "float32", (4,), "arena", 0)),
        (Call(half, (0, 1)),),
        64,
    )
    bound = compiled(program).bind([], [])
    smallest = np.full(4, 1.1754944e-38, np.float32)
    bound.run([smallest])
    assert bound.read(1).tolist() == [0] * 4
    assert (smallest * np.float32(0.5) > 0).all()
    bound.run([smallest * np.float32(0.5)])
    assert bound.read(1).tolist() == [0] * 4
    assert smallest[0] * np.float32(0.5) > 0


@MODES
@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_nested_branches(checked: bool, outer: bool, inner: bool) -> None:
    n = 3
    buffers = (
        Buffer(0, "bool", (1,), "input", 0), Buffer(1, "bool", (), "input", 1),
        Buffer(2, "float32", (n,), "param", 0),
    )  # fmt: skip
    nested = If(1, (Call(add(n, 1.0), (2, 2)),), (Call(add(n, 2.0), (2, 2)),))
    program = Program("nested", buffers, (If(0, (nested, Call(add(n, 10.0), (2, 2))), ()), If(1, (), ())), 0)
    w = np.zeros(n, np.float32)
    compiled(program, checked).bind([w], []).run([np.array([outer]), np.array(inner)])
    assert w.tolist() == [((1 if inner else 2) + 10) if outer else 0] * n


@MODES
def test_an_empty_program(checked: bool) -> None:
    compiled(Program("", (), (), 0), checked).bind([], []).run([])


@MODES
def test_many_calls_in_several_functions(checked: bool) -> None:
    program = line(300)
    executable = compiled(program, checked)
    assert executable.source.count("@njit") == 3
    bound = executable.bind([], [])
    bound.run([np.zeros(8, np.float32)])
    assert bound.read(1).tolist() == [sum(range(300))] * 8


@MODES
def test_named_and_loop_kernels_together(checked: bool) -> None:
    m, k, n = 5, 20, 33
    gemm = NamedKernel(
        "gemm",
        (("m", m), ("n", n), ("k", k), ("ta", False), ("tb", False), ("accumulate", False), ("batch", 1)),
    )
    matrix, row = Access("float32", (n, 1), 0, m * n), Access("float32", (0, 1), 0, n)
    body = (
        Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("add", (0, 1)),
        Instr("const", (), "float32", 0.0), Instr("max", (2, 3)),
    )  # fmt: skip
    dense = LoopKernel((m, n), (False, False), (matrix, row), body, (Output(matrix, 4),))
    shapes = {0: (m, k), 1: (k, n), 2: (n,), 3: (m, n)}
    buffers = (
        Buffer(0, "float32", shapes[0], "input", 0),
        Buffer(1, "float32", shapes[1], "param", 0),
        Buffer(2, "float32", shapes[2], "param", 1),
        Buffer(3, "float32", shapes[3], "arena", 0),
    )
    program = Program("dense", buffers, (Call(gemm, (0, 1, 3)), Call(dense, (3, 2, 3))), 704)
    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=shapes[i]).astype(np.float32) for i in range(3))
    bound = compiled(program, checked).bind([w, b], [])
    bound.run([x])
    np.testing.assert_allclose(bound.read(3), np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-5)


def test_the_entry_can_be_called_by_address() -> None:
    executable = compiled(chain())
    w = np.zeros(10, np.float32)
    bound = executable.bind([w], [])
    assert isinstance(bound, NativeBound)
    bound.run([floats(), np.array(True)])
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(executable.entry_address)
    assert entry(bound.context) == 0
    assert (w == 20).all()
    with pytest.raises(CodegenError, match="no native entry"):
        _ = compiled(chain(), checked=True).entry_address


def test_large_results_are_made_in_memory_that_is_given_away() -> None:
    n = 1 << 14
    executable = compiled(line(3, n))
    bound = executable.bind([], [])
    assert isinstance(bound, NativeBound)
    (read,) = bound.readers([(1, (2, n // 2), "float32")])
    made = []
    for start in range(2):
        bound.run([np.full(n, start, np.float32)])
        made.append(read())
    assert [a.shape for a in made] == [(2, n // 2)] * 2
    assert all(a.ctypes.data % 64 == 0 for a in made)
    assert [set(a.flat) for a in made] == [{3}, {4}]
    assert not np.shares_memory(*made)
    # Who calls the entry, or many steps, finds results where the program has them.
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(executable.entry_address)
    bound.bind_inputs([np.full(n, 7, np.float32)])
    assert entry(bound.context) == 0
    assert set(bound.read(1)) == set(read().flat) == {10}
    bound.run([np.full(n, 9, np.float32)])  # Whose result nobody reads.
    (kept,) = bound.run_many([np.arange(2 * n, dtype=np.float32).reshape(2, n) // n], 2, [1])
    assert [set(a) for a in kept] == [{3}, {4}]
    assert set(read().flat) == {4}
    assert [set(a.flat) for a in made] == [{3}, {4}]


@pytest.mark.parametrize("kept", [False, True])
def test_results_that_several_read_are_copied(kept: bool) -> None:
    n = 1 << 14
    bound = compiled(line(2, n)).bind([], [])
    readers = bound.readers([(1, (n,), "float32")] * (1 if kept else 2), kept=kept)
    bound.run([np.zeros(n, np.float32)])
    made = [read() for read in (*readers, *readers)]
    assert all(set(a) == {1} for a in made)
    assert not any(np.shares_memory(a, b) for k, a in enumerate(made) for b in made[:k])


def test_memory_of_results_that_nobody_holds_is_taken_again() -> None:
    """That of one result at the most, and not while a view of it lives."""
    n = 1 << 14
    bound = compiled(line(2, n)).bind([], [])
    (read,) = bound.readers([(1, (n,), "float32")])

    def run(value: float) -> np.ndarray:
        bound.run([np.full(n, value, np.float32)])
        return read()

    first = run(0)
    held = first[5:7]
    address = first.ctypes.data
    del first
    second = run(1)
    assert second.ctypes.data != address
    assert list(held) == [1, 1]
    del held
    third, fourth = run(2), run(3)
    assert third.ctypes.data == address
    assert fourth.ctypes.data not in (address, second.ctypes.data)
    assert [set(x) for x in (second, third, fourth)] == [{2}, {3}, {4}]


def test_importing_and_checked_mode_need_no_compiler(tmp_path: Path) -> None:
    script = """
import sys
import graphc_codegen
assert not {"numba", "llvmlite", "jinja2"} & set(sys.modules)
from tests.codegen.programs import chain
import numpy as np
w = np.zeros(10, np.float32)
graphc_codegen.compile_program(chain(), cache_dir=None, checked=True).bind([w], []).run(
    [np.ones(10, np.float32), np.array(True)])
assert w[0] == 10
assert "numba" not in sys.modules
"""
    root = Path(__file__).parents[3]
    code = f"import sys; sys.path[:0] = [{str(root)!r}, {str(root / 'codegen')!r}]\n{script}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
