"""Whole programs with 16-bit floats: compiled steps, which flush denormals, and the checked mode."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc_codegen import CanaryError, CheckedError, CodegenError, compile_program
from graphc_codegen.program import ALIGNMENT, Access, Buffer, Call, If, Instr, LoopKernel, Output, Program
from graphc_codegen.run.bound import Bound
from graphc_codegen.scalars import halves
from graphc_codegen.target import Target
from tests.codegen.loop_harness import HOST, contiguous
from tests.codegen.scalars.test_halves import PATTERNS, TYPES, half_types, targets, ulps

#: On ARM NumPy says so of signalling NaN.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")

Array = np.ndarray[Any, np.dtype[Any]]
modes = pytest.mark.parametrize("checked", [False, True], ids=["native", "checked"])


def bind(
    program: Program, params: list[Array], checked: bool, target: Target = HOST, cache: Path | None = None
) -> Bound:
    return compile_program(program, cache_dir=cache, checked=checked, target=target).bind(params, [])


def elementwise(dtype: str, n: int, result: str, *body: Instr) -> LoopKernel:
    """z = body(x, y) on n numbers; instructions 0 and 1 are the inputs."""
    access = contiguous((n,), dtype)
    inputs = (Instr("input", (), dtype, 0), Instr("input", (), dtype, 1))
    return LoopKernel(
        (n,), (False,), (access, access), (*inputs, *body), (Output(contiguous((n,), result), 1 + len(body)),)
    )


def arithmetic(dtype: str, n: int) -> Program:
    """x, y inputs -> x + y, x - y, x * y, x / y, min(x, y) and x < y, in buffers 2 to 7 of the arena."""
    size = -(-2 * n // ALIGNMENT) * ALIGNMENT
    buffers = [Buffer(k, dtype, (n,), "input", k) for k in range(2)]
    body = []
    for k, op in enumerate(("add", "sub", "mul", "div", "min", "lt")):
        result = "bool" if op == "lt" else dtype
        buffers.append(Buffer(2 + k, result, (n,), "arena", k * size))
        body.append(Call(elementwise(dtype, n, result, Instr(op, (0, 1), result)), (0, 1, 2 + k), op))
    return Program("arithmetic", tuple(buffers), tuple(body), 6 * size)


@targets
def test_denormals_of_float16_survive_in_a_step_that_flushes(target: Target) -> None:
    rng = np.random.default_rng(8)
    x = PATTERNS.view(np.float16)
    y = np.where(rng.random(65536) < 0.5, x[rng.permutation(65536)], np.float16(2) ** rng.integers(-14, 15, 65536))
    y = y.astype(np.float16)
    bound = bind(arithmetic("float16", 65536), [], False, target)
    bound.run([x, y])
    with np.errstate(all="ignore"):
        want: list[Array] = [x + y, x - y, x * y, x / y, np.minimum(x, y)]
        less = x < y
    denormal = [int(((w.view(np.uint16) & 0x7FFF) - 1 < 0x3FF).sum()) for w in want]
    assert min(denormal) > 100
    for k, w in enumerate(want):
        assert ulps(bound.read(2 + k), w) == 0
    np.testing.assert_array_equal(bound.read(7), less)


@targets
def test_denormals_of_bfloat16_are_zero_in_a_step_but_survive_moves(target: Target) -> None:
    rng = np.random.default_rng(8)
    x = PATTERNS.view(TYPES["bfloat16"])
    y = x[rng.permutation(65536)]
    bound = bind(arithmetic("bfloat16", 65536), [], False, target)
    bound.run([x, y])

    def flush(a: Array) -> Array:
        bits = a.view(np.uint16)
        return np.where((bits & 0x7FFF) < 0x80, bits & 0x8000, bits).astype(np.uint16).view(a.dtype)

    with np.errstate(all="ignore"):
        p, q = flush(x), flush(y)
        want = [p + q, p - q, p * q, p / q]
        less = p < q
    for k, w in enumerate(want):
        got = bound.read(2 + k)
        # The result is denormal or not before it is rounded: only just below 2**-126 this makes a difference.
        edge = np.abs(w.astype(np.float32)) == np.float32(2.0**-126)
        assert ulps(got[~edge], flush(w)[~edge]) == 0
        assert edge.sum() < 1000
    np.testing.assert_array_equal(bound.read(7), less)
    access = contiguous((65536,), "bfloat16")
    move = LoopKernel((65536,), (False,), (access,), (Instr("input", (), "bfloat16", 0),), (Output(access, 0),))
    buffers = (Buffer(0, "bfloat16", (65536,), "input", 0), Buffer(1, "bfloat16", (65536,), "arena", 0))
    mover = bind(Program("move", buffers, (Call(move, (0, 1)),), 131072), [], False, target)
    mover.run([x])
    np.testing.assert_array_equal(mover.read(1).view(np.uint16), PATTERNS)


def overflow_check(dtype: str, n: int, gap: int = 0) -> Program:
    """x, y inputs, w a parameter. g = x * 2 + y * 2; finite = all(isfinite(g)); if finite: w = w - g."""
    size = -(-(2 * n + gap) // ALIGNMENT) * ALIGNMENT
    buffers = (
        Buffer(0, dtype, (n,), "input", 0), Buffer(1, dtype, (n,), "input", 1), Buffer(2, dtype, (n,), "param", 0),
        Buffer(3, dtype, (n,), "arena", 0), Buffer(4, "bool", (), "arena", size),
    )  # fmt: skip
    scaled = elementwise(
        dtype, n, dtype, Instr("const", (), dtype, 2.0), Instr("mul", (0, 2), dtype), Instr("mul", (1, 2), dtype),
        Instr("add", (3, 4), dtype),
    )  # fmt: skip
    verdict = LoopKernel(
        (n,), (True,), (contiguous((n,), dtype),),
        (Instr("input", (), dtype, 0), Instr("isfinite", (0,), "bool")),
        (Output(Access("bool", (0,), 0, 1), 1, "all"),),
    )  # fmt: skip
    update = Call(elementwise(dtype, n, dtype, Instr("sub", (0, 1), dtype)), (2, 3, 2), "n3 Sub")
    body = (
        Call(scaled, (0, 1, 3), "n1 Grad"),
        Call(verdict, (3, 4), "n2 AllFinite"),
        If(4, (update,), (), "n3 If", dead=(3, 4)),
    )
    return Program("overflow", buffers, body, 2 * size, gap)


@modes
def test_a_genuine_overflow_skips_the_update(checked: bool) -> None:
    w = np.arange(37, dtype=np.float16)
    bound = bind(overflow_check("float16", 37), [w], checked)
    x = np.full(37, 40, np.float16)
    bound.run([x, x])
    after = np.arange(37, dtype=np.float16) - np.float16(160)
    np.testing.assert_array_equal(w, after)
    x[33] = 40000
    bound.run([x, x])
    np.testing.assert_array_equal(w, after)
    bound.run([x, np.full(37, -40000, np.float16)])  # inf - inf is NaN, and NaN is not finite
    np.testing.assert_array_equal(w, after)
    x[33] = 16000
    bound.run([x, x])
    assert w[33] == after[33] - np.float16(64000)


@modes
def test_bfloat16_holds_what_float16_cannot(checked: bool) -> None:
    dtype = TYPES["bfloat16"]
    w = np.ones(37, dtype)
    bound = bind(overflow_check("bfloat16", 37), [w], checked)
    x = np.full(37, 40000, dtype)
    bound.run([x, x])
    assert (w == (np.ones(37, dtype) - (x * dtype.type(2) + x * dtype.type(2)))).all()
    assert bound.read(2).dtype == dtype
    before = w.copy()
    x[5] = 3e38
    bound.run([x, x])
    np.testing.assert_array_equal(w.view(np.uint16), before.view(np.uint16))


@modes
@half_types
def test_arrays_of_another_dtype_are_refused(dtype: str, checked: bool) -> None:
    executable = compile_program(overflow_check(dtype, 8), cache_dir=None, checked=checked)
    for other in (np.float32, np.uint16, TYPES["float16" if dtype == "bfloat16" else "bfloat16"]):
        with pytest.raises(ValueError, match=f"must be {dtype} with 8 elements, not {np.dtype(other).name}"):
            executable.bind([np.zeros(8, other)], [])
    if checked:
        bound = executable.bind([np.zeros(8, TYPES[dtype])], [])
        with pytest.raises(CheckedError, match=f"must be a contiguous {dtype}"):
            bound.run([np.zeros(8, np.uint16), np.zeros(8, TYPES[dtype])])


@half_types
def test_the_checked_mode_poisons_dead_halves_with_nan(dtype: str) -> None:
    program = overflow_check(dtype, 37)
    bound = bind(program, [np.zeros(37, TYPES[dtype])], True)
    bound.run([np.ones(37, TYPES[dtype])] * 2)
    assert np.isnan(bound.read(3).astype(np.float32)).all()
    late = replace(program, body=(*program.body, Call(next(program.calls()).kernel, (3, 0, 3))))
    with pytest.raises(CheckedError, match="buffer 3"):
        bind(late, [np.zeros(37, TYPES[dtype])], True).run([np.ones(37, TYPES[dtype])] * 2)


@modes
@half_types
def test_canaries_stand_beside_halves(dtype: str, checked: bool) -> None:
    bound = bind(overflow_check(dtype, 37, gap=40), [np.zeros(37, TYPES[dtype])], checked)
    bound.run([np.ones(37, TYPES[dtype])] * 2)
    bound.check_canaries()
    bound._arena[2 * 37] ^= 1
    with pytest.raises(CanaryError, match="beside buffers 3"):
        bound.check_canaries()


def test_a_program_of_halves_is_found_in_the_cache(tmp_path: Path) -> None:
    first = compile_program(overflow_check("float16", 21), cache_dir=tmp_path)
    again = compile_program(overflow_check("float16", 21), cache_dir=tmp_path)
    other = compile_program(overflow_check("bfloat16", 21), cache_dir=tmp_path)
    assert [first.cache_hit, again.cache_hit, other.cache_hit] == [False, True, False]
    w = np.ones(21, np.float16)
    bound = again.bind([w], [])
    bound.run([np.ones(21, np.float16)] * 2)
    assert (w == -3).all()


def test_ml_dtypes_is_imported_for_bfloat16_only(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, numpy as np\n"
        "from tests.codegen.programs import chain\n"
        "from graphc_codegen import compile_program\n"
        "from graphc_codegen.scalars import halves\n"
        "halves.numpy_dtype('float16')\n"
        "x = np.ones(10, np.float32)\n"
        "compile_program(chain(), cache_dir=None, checked=True).bind([x], []).run([x, np.array(True)])\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "assert halves.numpy_dtype('bfloat16').itemsize == 2 and 'ml_dtypes' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.returncode == 0, done.stderr
    halves.numpy_dtype.cache_clear()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(CodegenError, match="needs the package ml_dtypes"):
        halves.numpy_dtype("bfloat16")
