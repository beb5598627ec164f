"""From texts to code: errors, targets, what ends up in an object."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc_codegen import CodegenError, compile_program, symbol
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.kernels.base import Emitter, Operand
from graphc_codegen.object_code import compiling, llvm_modules, loading, numba_step
from graphc_codegen.program import Buffer, Call, LoopKernel, NamedKernel, Program
from graphc_codegen.scalars.table import SCALAR_OPS
from graphc_codegen.target import Target, describe, host, machine
from graphc_codegen.text import render
from graphc_codegen.writer import Writer
from tests.at_once import at_once
from tests.codegen.loop_harness import AVX2, HOST, pointwise, run
from tests.codegen.programs import add, chain, line
from tests.counting import calls


def broken(monkeypatch: pytest.MonkeyPatch, *lines: str) -> Program:
    """A program with a sound kernel and one whose body is `lines`."""

    def emit(w: Writer, params: Mapping[str, Any], pointers: Sequence[str]) -> None:
        w.lines.extend(lines)

    emitter = Emitter(lambda p: (Operand("float32", 8, "out"),), emit, lambda params, x: None)
    monkeypatch.setitem(EMITTERS, "broken", emitter)
    buffers = (Buffer(0, "float32", (8,), "input", 0), Buffer(1, "float32", (8,), "arena", 0))
    return Program("p", buffers, (Call(add(8, 1.0), (0, 1)), Call(NamedKernel("broken", ()), (1,))), 64)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["  %x = nonsense"], "expected instruction opcode"),
        (["  %x = fadd float %y, 1.0"], "use of undefined value '%y'"),
        (["  br label %a", "a:", "  %v = phi float [ 1.0, %b ]", "  br label %b", "b:"], "PHI"),
        (["  call void @nobody()"], "nobody"),
    ],
)
def test_kernels_that_llvm_refuses_are_named(monkeypatch: pytest.MonkeyPatch, lines: list[str], message: str) -> None:
    program = broken(monkeypatch, *lines)
    with pytest.raises(CodegenError, match=rf"LLVM refused kernel broken_[0-9a-f]+: (.|\n)*{message}"):
        compile_program(program, cache_dir=None)


def test_kernels_may_not_call_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(w: Writer, params: Mapping[str, Any], pointers: Sequence[str]) -> None:
        w.call("expf", "float", [("float", "1.0")])

    program = broken(monkeypatch)
    monkeypatch.setitem(EMITTERS, "broken", Emitter(lambda p: (Operand("float32", 8, "out"),), emit, lambda p, x: None))
    with pytest.raises(CodegenError, match="functions that do not exist: expf"):
        compile_program(program, cache_dir=None)


def test_numba_failures_say_what_was_refused() -> None:
    for source in ("def step(:", '@njit("void(int64)")\ndef step(ctx):\n    ctx + ""\n', "x = y"):
        with pytest.raises(CodegenError, match=r"Numba refused the generated step: .*Error"):
            numba_step.compile_step(source, [])


def test_a_switched_off_numba_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.core.config, "DISABLE_JIT", True)
    with pytest.raises(CodegenError, match="NUMBA_DISABLE_JIT"):
        compile_program(chain(), cache_dir=None)


_FIRST_OF_ALL = """
import numba
from graphc_codegen.object_code.numba_step import compile_step

STEP = '''
@njit("int32(int64)")
def step(ctx):
    kernel(ctx, 1)
    return 0
'''

def graphs():
    assert len(compile_step(STEP, ["kernel"])) == 1

def users():
    assert numba.njit(lambda x: x + 1)(2) == 3

tasks = [graphs, users] * 3
"""


@pytest.mark.parametrize("interval", [1e-6, 1e-5, 1e-4])
def test_the_first_steps_compile_on_several_threads_beside_functions_of_the_user(
    tmp_path: Path, interval: float
) -> None:
    """Numba makes its contexts with the first function: the order of its locks, and of this package's, is put to the test."""
    at_once(tmp_path, _FIRST_OF_ALL, interval)


def test_modules_compile_to_the_same_objects_on_several_threads() -> None:
    kernels = {symbol(k): k for k in (add(n, 1.0) for n in range(1, 13))}
    texts = [render.render_kernels({name: kernel}, HOST) for name, kernel in kernels.items()]
    alone = [llvm_modules.compile_module(text, HOST) for text in texts]
    with llvm_modules.Compilers(HOST, {*kernels, render.LOAD_FLAG, render.MOVE}, 3) as compilers:
        together = [compilers.submit(text) for text in texts]
        assert [part.result() for part in together] == alone


def test_the_caller_says_how_many_threads_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Noted(llvm_modules.Compilers):
        def __init__(self, target: Target, known: Collection[str], threads: int) -> None:
            asked.append(threads)
            super().__init__(target, known, threads)

    monkeypatch.setattr(compiling, "Compilers", Noted)
    compile_program(chain(), cache_dir=None)
    compile_program(chain(), cache_dir=None, compile_threads=3)
    assert asked == [1, 3]


def test_the_switch_interval_is_as_before_with_the_last_program_compiled() -> None:
    before = sys.getswitchinterval()
    with llvm_modules.Compilers(HOST, (), 1):
        hasty = sys.getswitchinterval()
        with pytest.raises(CodegenError), llvm_modules.Compilers(HOST, (), 1) as inner:
            inner.submit("nonsense").result()
        assert sys.getswitchinterval() == hasty <= before
    assert sys.getswitchinterval() == before
    sys.setswitchinterval(1e-5)
    try:
        compile_program(chain(), cache_dir=None)
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    finally:
        sys.setswitchinterval(before)


def test_llvm_is_entered_without_the_lock_of_llvmlite() -> None:
    from llvmlite.binding import ffi

    assert ffi.lib.LLVMPY_TargetMachineEmitToMemory._cfn.restype is not None


def test_the_modules_of_a_program_hold_each_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = render.render(chain(), HOST)
    for lines in (1, 10**9):
        monkeypatch.setattr(render, "LINES_PER_MODULE", lines)
        modules = list(rendered.modules())
        assert len(modules) == (5 if lines == 1 else 2)
        for name in (*rendered.program.kernels(), render.MOVE, render.LOAD_FLAG):
            assert sum(f"@{name}(i64 %ctx" in text for text in modules) == 1


def test_damaged_objects_do_not_load() -> None:
    with pytest.raises(CodegenError, match="cannot load"):
        loading.load([b"nonsense"], [numba_step.ENTRY], HOST)


def test_compile_seconds_name_the_stages() -> None:
    executable = compile_program(chain(), cache_dir=None)
    assert list(executable.compile_seconds) == ["layout", "render", "import numba", "numba", "llvm", "load"]
    assert all(seconds >= 0 for seconds in executable.compile_seconds.values())


def test_the_work_of_compiling_grows_as_the_kernels_do() -> None:
    """What the caller's thread does of it, Numba's work included; 60 kernels take 0.16 s."""

    def compiled(count: int) -> int:
        return calls(lambda: compile_program(line(count), cache_dir=None))

    compiled(2)
    few, some, many = compiled(20), compiled(60), compiled(100)
    assert many - some < 1.1 * (some - few)


def test_a_program_for_eight_lanes_runs() -> None:
    x, w = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    executable = compile_program(chain(), cache_dir=None, target=AVX2)
    assert "<16 x" not in executable.kernels
    executable.bind([w], []).run([x, np.array(False)])
    np.testing.assert_array_equal(w, (x + 1) * x - (x + 1))


def test_the_linker_of_other_processors_loads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """ARM's objects need the linker that keeps their parts together; it bears all that a step's are made of, and damage."""
    monkeypatch.setattr(Target, "arm", property(lambda self: True))
    x, w = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    compile_program(chain(), cache_dir=None).bind([w], []).run([x, np.array(False)])
    np.testing.assert_array_equal(w, (x + 1) * x - (x + 1))
    test_damaged_objects_do_not_load()


OLD = describe("x86_64-unknown-linux-gnu", "nehalem", {"sse4.1": True, "sse4.2": True})
ARM = describe("aarch64-unknown-linux-gnu", "generic", {})


def every_operation() -> dict[str, LoopKernel]:
    """A kernel for each operation on floats and integers, as far as it is defined for them."""
    kernels = []
    for op, row in SCALAR_OPS.items():
        for kind in ("float32", "int32", "int64"):
            args = ["bool", kind, kind] if row.result == "choice" else [kind] * row.operands
            if op == "cast":
                kernels.append(pointwise(op, args, "int64", 37))
            elif row.emitter(kind) is not None:
                kernels.append(pointwise(op, args, row.result_dtype(args), 37))
    return {symbol(k): k for k in kernels}


def test_lanes_and_features() -> None:
    assert (OLD.lanes, OLD.fused, OLD.wide) == (4, False, False)
    assert (AVX2.lanes, AVX2.fused, AVX2.wide) == (8, True, False)
    assert (ARM.lanes, ARM.x86) == (4, False)
    all_of_it = dict.fromkeys(("sse4.1", "avx2", "f16c", "fma", "avx512f", "avx512vl", "avx512dq", "avx512bw"), True)
    assert describe(OLD.triple, "x", all_of_it).lanes == 16
    assert describe(OLD.triple, "x", all_of_it | {"avx512vl": False}).lanes == 8
    assert describe(OLD.triple, "x", all_of_it | {"fma": False, "avx512f": False}).lanes == 4
    with pytest.raises(CodegenError, match=r"no SSE4\.1"):
        describe(OLD.triple, "core2", {"sse4.1": False})
    assert len({t.key for t in (HOST, AVX2, OLD, ARM)}) == 4
    assert host() == HOST


@pytest.mark.parametrize("target", [HOST, AVX2, OLD, ARM], ids=["host", "avx2", "sse4", "arm"])
def test_no_operation_calls_a_library(target: Target) -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        emitter = machine(target, jit=False)
    except RuntimeError:
        pytest.skip("this LLVM has no such target")
    module = llvm.parse_assembly(render.render_kernels(dict(every_operation()), target))
    module.triple, module.data_layout = target.triple, str(emitter.target_data)
    assembly = emitter.emit_assembly(module)
    calls = [line for line in assembly.splitlines() if line.strip().startswith(("call", "bl\t", "jmp\t*"))]
    assert calls == []


def test_code_without_fused_multiply_add_is_right() -> None:
    x = np.linspace(-5, 5, 37).astype(np.float32)
    for op, function in (("exp", np.exp), ("tanh", np.tanh), ("floor", np.floor)):
        got = run(pointwise(op, ["float32"], "float32", 37), [x, np.zeros_like(x)], OLD)[-1]
        np.testing.assert_allclose(got, function(x.astype(np.float64)), rtol=1e-6, atol=1e-6)
    y = np.linspace(0.1, 3, 37).astype(np.float32)
    for op, binary in (("pow", np.power), ("mod", np.remainder)):
        got = run(pointwise(op, ["float32"] * 2, "float32", 37), [np.abs(x), y, np.zeros_like(x)], OLD)[-1]
        np.testing.assert_allclose(got, binary(np.abs(x), y), rtol=1e-6, atol=1e-6)


def staged(monkeypatch: pytest.MonkeyPatch, *plus: float) -> Program:
    """A kernel for each number, which copies x in a stage and adds the number to the first element."""

    def copied(w: Writer, pointers: Sequence[str], numbers: Sequence[str | int]) -> None:
        (x, y), (count, step) = pointers, numbers
        assert step == 1, "a number that is known stays so"
        w.loop(count, lambda i, _: w.store(w.load(w.at(x, i)), w.at(y, i)), step=1)

    def emit(w: Writer, params: Mapping[str, Any], pointers: Sequence[str]) -> None:
        x, y = pointers
        w.stage([x, y], ["8", 1], copied)
        w.store(w.op(f"fadd float {w.load(y)}, {params['plus']:.1f}"), y)

    operands = (Operand("float32", 8, "in"), Operand("float32", 8, "out"))
    monkeypatch.setitem(EMITTERS, "staged", Emitter(lambda p: operands, emit, lambda params, x, y: None))
    buffers = [Buffer(k, "float32", (8,), "param" if k else "input", max(k - 1, 0)) for k in range(len(plus) + 1)]
    body = [Call(NamedKernel("staged", (("plus", number),)), (0, k + 1)) for k, number in enumerate(plus)]
    return Program("p", tuple(buffers), tuple(body), 64)


@pytest.mark.parametrize("lines", [1, 10_000])
def test_kernels_share_stages_wherever_they_are(monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    monkeypatch.setattr(render, "LINES_PER_MODULE", lines)
    program = staged(monkeypatch, 1.0, 2.0, 3.0)
    modules = list(render.render(program, HOST).modules())
    assert len(modules) == (4 if lines == 1 else 2)
    assert sum(text.count("define void @stage_") for text in modules) == 1
    assert sum(text.count("declare void @stage_") for text in modules) == len(modules) - 2
    assert render.render(program, HOST).kernels.count("define void @stage_") == 1
    x, made = np.arange(8, dtype=np.float32), [np.zeros(8, np.float32) for _ in range(3)]
    compile_program(program, cache_dir=None).bind(made, []).run([x])
    assert all((y == [k + 1.0, *x[1:]]).all() for k, y in enumerate(made))


def test_kernels_that_have_stages_are_named_where_llvm_refuses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    program = staged(monkeypatch, 1.0, float("inf"))
    with pytest.raises(CodegenError, match=r"LLVM refused kernel staged_[0-9a-f]+: "):
        compile_program(program, cache_dir=None)
