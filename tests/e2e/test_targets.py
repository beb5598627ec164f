"""Whole training steps compile for processors other than this one."""

from __future__ import annotations

import pytest

import graphc
from graphc.examples.train_digits import build
from graphc_codegen.object_code import llvm_modules
from graphc_codegen.target import describe, machine
from graphc_codegen.text import render

_AVX2 = dict.fromkeys(("sse4.1", "avx2", "f16c", "fma"), True)


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "lanes"),
    [
        ("x86_64-unknown-linux-gnu", "haswell", _AVX2, 8),
        ("x86_64-unknown-linux-gnu", "nehalem", {"sse4.1": True}, 4),
        ("aarch64-unknown-linux-gnu", "generic", {}, 4),
        ("aarch64-apple-darwin", "apple-m1", {}, 4),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_loss_scaled_step_compiles(
    triple: str, cpu: str, features: dict[str, bool], lanes: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = describe(triple, cpu, features)
    assert target.lanes == lanes
    try:
        machine(target, jit=False)
    except RuntimeError:
        pytest.skip("this LLVM has no such target")
    monkeypatch.setenv("GRAPHC_NUM_THREADS", str(threads))
    monkeypatch.setenv("GRAPHC_JIT", "0")
    cell, inputs = build()
    program = graphc.compile(cell, *inputs)._lowered.program
    rendered = render.render(program, target)
    known = {*program.kernels(), "graphc_meet", "graphc_barrier", "graphc_move", "graphc_load_flag"}
    modules = [llvm_modules.compile_module(text, target, known) for text in rendered.modules()]
    assert len(modules) > 2
    assert all(modules)


@pytest.mark.parametrize(
    ("triple", "instruction"),
    [
        ("x86_64-unknown-linux-gnu", "rdtsc"),
        ("aarch64-unknown-linux-gnu", "cntvct_el0"),
        ("arm64-apple-darwin", "cntvct_el0"),
    ],
)
def test_the_clock_ticks(triple: str, instruction: str) -> None:
    """LLVM's `readsteadycounter` would be 0 on ARM, without a word."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = describe(triple, "generic", {"sse4.1": True})
    declaration, call = target.clock
    text = f"{declaration}\ndefine i64 @ticks() {{\n  %now = {call}\n  ret i64 %now\n}}\n"
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.triple = triple
        try:
            assembly = machine(target, jit=False).emit_assembly(module)
        except RuntimeError:
            pytest.skip("this LLVM has no such target")
    assert instruction in assembly.lower()
