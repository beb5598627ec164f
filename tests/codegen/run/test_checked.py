"""What the checked mode finds."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphc_codegen import CheckedError, CodegenError, Program, compile_program
from graphc_codegen.kernel_facts import KERNEL_FACTS, KernelFacts
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.kernels.base import Emitter, Operand
from graphc_codegen.program import Access, Buffer, Call, If, Instr, LoopKernel, NamedKernel, Output
from tests.codegen.programs import add, binary, chain, slot

N = 10
X = np.ones(N, np.float32)


def program(body: list[Call | If], positions: dict[int, int], dtype: str = "float32") -> Program:
    """Input 0 (float32), input 1 (a flag), and arena buffers at the given positions."""
    buffers = [Buffer(0, "float32", (N,), "input", 0), Buffer(1, "bool", (), "input", 1)]
    buffers += [Buffer(id, dtype, (N,), "arena", position) for id, position in positions.items()]
    return Program("t", tuple(buffers), tuple(body), 1024)


def run(p: Program, flag: bool = True) -> Any:
    bound = compile_program(p, cache_dir=None, checked=True).bind([], [])
    bound.run([X, np.array(flag)])
    return bound


def test_reading_what_nothing_has_written() -> None:
    p = program([Call(add(N, 1.0), (2, 3), "n7 Add")], {2: 0, 3: 64})
    with pytest.raises(CheckedError, match=r"\(n7 Add\) reads buffer 2, which nothing has written"):
        run(p)


def test_writing_in_an_earlier_step_does_not_count() -> None:
    body: list[Call | If] = [If(1, (Call(add(N, 1.0), (0, 2)),), ()), Call(add(N, 1.0), (2, 3))]
    bound = run(program(body, {2: 0, 3: 64}))
    with pytest.raises(CheckedError, match="nothing has written in this step"):
        bound.run([X, np.array(False)])


def test_reading_a_dead_buffer() -> None:
    body: list[Call | If] = [
        Call(add(N, 1.0), (0, 2)),
        Call(add(N, 1.0), (2, 3), dead=(2,)),
        Call(binary(N, "add"), (2, 3, 4), "n9 Add"),
    ]
    with pytest.raises(CheckedError, match=r"\(n9 Add\) reads buffer 2 after its last use"):
        run(program(body, {2: 0, 3: 64, 4: 128}))


def test_buffers_that_die_after_a_branch() -> None:
    inner = Call(add(N, 1.0), (2, 3))
    body: list[Call | If] = [
        Call(add(N, 1.0), (0, 2)),
        If(1, (inner,), (inner,), dead=(2,)),
        Call(add(N, 1.0), (2, 3)),
    ]
    for flag in (True, False):
        with pytest.raises(CheckedError, match="after its last use"):
            run(program(body, {2: 0, 3: 64}), flag)


def test_overlapping_buffers() -> None:
    body: list[Call | If] = [
        Call(add(N, 1.0), (0, 2)),
        Call(add(N, 2.0), (0, 3)),
        Call(binary(N, "add"), (2, 3, 4), "n3 Add"),
    ]
    run(program(body, {2: 0, 3: 64, 4: 128}))
    with pytest.raises(CheckedError, match=r"\(n3 Add\) reads buffer 2, but buffer 3 has been written over it"):
        run(program(body, {2: 0, 3: 0, 4: 128}))


def test_dead_buffers_are_poisoned_unless_their_bytes_are_taken() -> None:
    body: list[Call | If] = [Call(add(N, 1.0), (0, 2), dead=(2,))]
    assert np.isnan(run(program(body, {2: 0})).read(2)).all()
    # 3 takes the place of 2 in the call that ends it.
    body = [Call(add(N, 1.0), (0, 2)), Call(add(N, 1.0), (2, 3), dead=(2,))]
    assert run(program(body, {2: 0, 3: 0})).read(3).tolist() == [3] * N
    access, whole = Access("float32", (1,), 0, N), Access("int32", (1,), 0, N)
    cast = LoopKernel(
        (N,),
        (False,),
        (access,),
        (Instr("input", (), "float32", 0), Instr("cast", (0,), "int32")),
        (Output(whole, 1),),
    )
    dead = run(program([Call(cast, (0, 2), dead=(2,))], {2: 0}, "int32")).read(2)
    assert dead.view(np.uint32).tolist() == [0xA5A5A5A5] * N


def test_writing_over_an_operand_out_of_step() -> None:
    read, write = Access("float32", (-1,), N - 1, N), Access("float32", (1,), 0, N)
    reverse = LoopKernel((N,), (False,), (read,), (Instr("input", (), "float32", 0),), (Output(write, 0),))
    body: list[Call | If] = [Call(add(N, 1.0), (0, 2)), Call(reverse, (2, 3), "n2 Reverse")]
    run(program(body, {2: 0, 3: 64}))
    with pytest.raises(CheckedError, match=r"\(n2 Reverse\) writes buffer 3 over buffer 2 while reading it"):
        run(program(body, {2: 0, 3: 0}))
    both = LoopKernel(
        (N,), (False,), (write,), (Instr("input", (), "float32", 0),), (Output(write, 0), Output(write, 0))
    )
    with pytest.raises(CheckedError, match="to the same bytes"):
        run(program([Call(both, (0, 2, 3))], {2: 0, 3: 0}))


def _named(monkeypatch: pytest.MonkeyPatch, twin: Any) -> NamedKernel:
    def two(params: Mapping[str, Any]) -> tuple[Operand, ...]:
        return (Operand("float32", N, "in"), Operand("float32", N, "out"))

    emitter = Emitter(two, lambda w, p, pointers: None, twin)
    monkeypatch.setitem(EMITTERS, "test_kernel", emitter)
    monkeypatch.setitem(KERNEL_FACTS, "test_kernel", KernelFacts())
    return NamedKernel("test_kernel", (("accumulate", False),))


def test_a_twin_that_writes_to_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def twin(params: Mapping[str, Any], x: Any, y: Any) -> None:
        x[0] = 1

    kernel = _named(monkeypatch, twin)
    with pytest.raises(CheckedError, match=r"\(n1 Test\): the kernel's twin failed: .*read-only"):
        run(program([Call(kernel, (0, 2), "n1 Test")], {2: 0}))


def test_named_kernels_may_not_run_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = _named(monkeypatch, lambda params, x, y: np.copyto(y, x))
    body: list[Call | If] = [Call(add(N, 1.0), (0, 2)), Call(kernel, (2, 3))]
    assert run(program(body, {2: 0, 3: 64})).read(3).tolist() == [2] * N
    with pytest.raises(CheckedError, match="while reading it"):
        run(program(body, {2: 0, 3: 0}))


def test_accumulating_reads_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = _named(monkeypatch, lambda params, x, y: np.add(x, y, out=y))
    adds = replace(kernel, params=(("accumulate", True),))
    body: list[Call | If] = [Call(add(N, 1.0), (0, 2)), Call(adds, (0, 2))]
    assert run(program(body, {2: 0})).read(2).tolist() == [3] * N
    with pytest.raises(CheckedError, match="reads buffer 2, which nothing"):
        run(program([Call(adds, (0, 2))], {2: 0}))


def test_generated_code_that_is_not_the_program() -> None:
    for change, match in [
        (lambda s: s.replace("(ctx, 2)", "(ctx, 0)"), "calls .* where the program has map_.*n2 Mul"),
        (lambda s: s.replace("if load_flag(ctx, 5):", "if True:"), "where the program has if buffer 1"),
        (lambda s: s[: s.index("    if load")], r"ended before if buffer 1 \(n5 If\)"),
        (lambda s: s + "\n    load_flag(ctx, 5)\n", "reads a predicate where the program has nothing more"),
    ]:
        executable = compile_program(chain(), cache_dir=None, checked=True)
        rendered = replace(executable._rendered)
        vars(rendered)["source"] = change(executable.source)
        wrong = replace(executable, _rendered=rendered)
        assert wrong.source != executable.source
        with pytest.raises(CheckedError, match=match):
            wrong.bind([np.zeros(10, np.float32)], []).run([X, np.array(True)])


def test_inputs_are_checked_at_every_run() -> None:
    bound = compile_program(chain(), cache_dir=None, checked=True).bind([np.zeros(10, np.float32)], [])
    for x in (np.ones(10), np.ones(11, np.float32), np.ones((10, 2), np.float32)[:, 0]):
        with pytest.raises(CheckedError, match=r"input 0 \(buffer 0\) must be"):
            bound.run([x, np.array(True)])
    with pytest.raises(RuntimeError, match="2 inputs, got 1"):
        bound.run([X])


def test_tracebacks_show_the_generated_line() -> None:
    p = program([Call(add(N, 1.0), (2, 3), "n7 Add")], {2: 0, 3: 64})
    with pytest.raises(CheckedError) as caught:
        run(p)
    assert any("(ctx, 0)" in line and "graphc step" in line for line in traceback.format_tb(caught.tb))


@pytest.mark.parametrize("checked", [False, True])
def test_programs_that_contradict_themselves(checked: bool) -> None:
    good = program([Call(add(N, 1.0), (0, 2), "n1 Add")], {2: 0})
    call = Call(add(N, 1.0), (0, 2), "n1 Add")
    flag = Buffer(1, "bool", (), "input", 1)
    cases = [
        (replace(good, body=(replace(call, args=(0, 7)),)), r"uses unknown buffers \[7\]"),
        (replace(good, body=(replace(call, args=(0,)),)), "has 1 operands, the kernel 2"),
        (
            replace(good, body=(Call(add(N + 1, 1.0), (0, 2)),)),
            "operand 0, buffer 0, is float32.10.; .* float32.11.",
        ),
        (replace(good, body=(replace(call, args=(1, 2)),)), "is bool"),
        (replace(good, body=(replace(call, args=(2, 0)),)), "is a input and may not be written"),
        (replace(good, body=(If(0, (), ()),)), "no single bool"),
        (replace(good, buffers=(*good.buffers, flag)), "buffer 1 is declared twice"),
        (program([], {2: 4}), "multiple of 64"),
        (program([], {2: 1024}), "ends at byte 1064 of 1024"),
        (program([Call(NamedKernel("nothing", ()), (0,))], {}), "no kernel named 'nothing'"),
    ]
    for wrong, match in cases:
        with pytest.raises(CodegenError, match=match):
            compile_program(wrong, cache_dir=None, checked=checked)


def test_positions_of_the_helper() -> None:
    assert [slot(k, 10) for k in range(3)] == [0, 64, 128]
