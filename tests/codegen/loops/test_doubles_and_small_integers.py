"""Loop nests, whole programs and index kernels of float64, int8, int16 and uint8."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphc_codegen import CanaryError, CheckedError, CodegenError, compile_program
from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.program import ALIGNMENT, Access, Buffer, Call, Instr, LoopKernel, Output, Program
from graphc_codegen.run.bound import Bound
from graphc_codegen.target import Target
from tests.codegen.kernel_harness import run_all
from tests.codegen.loop_harness import HOST, contiguous, expected, pointwise, run, run_many
from tests.codegen.scalars.test_doubles_and_small_integers import targets

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = ["float64", "int8", "int16", "uint8"]
types = pytest.mark.parametrize("dtype", TYPES)
modes = pytest.mark.parametrize("checked", [False, True], ids=["native", "checked"])


def values(dtype: str, count: int, seed: int = 3) -> Array:
    """Random numbers over the whole range of the integers, small doubles with many digits."""
    rng = np.random.default_rng(seed)
    if dtype == "float64":
        return rng.normal(0, 1, count)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, count, np.dtype(dtype), endpoint=True)


# ---- nests


@targets
@types
def test_all_tails(dtype: str, target: Target) -> None:
    jobs = []
    for n in range(1, 71):
        x, y = values(dtype, n, n), values(dtype, n, n + 100)
        jobs.append((pointwise("mul", [dtype] * 2, dtype, n), [x, y, np.zeros_like(x)]))
    for (_, (x, y, _)), got in zip(jobs, run_many(jobs, target), strict=True):
        np.testing.assert_array_equal(got[-1], x * y)


@targets
@types
def test_in_place(dtype: str, target: Target) -> None:
    x, y = values(dtype, 99), values(dtype, 99, 8)
    kernel = pointwise("sub", [dtype] * 2, dtype, 99)
    np.testing.assert_array_equal(run(kernel, [x, y, x], target, {2: 0})[-1], x - y)
    np.testing.assert_array_equal(run(kernel, [x, y, y], target, {2: 1})[-1], x - y)


@targets
@types
def test_strides(dtype: str, target: Target) -> None:
    x = values(dtype, 23 * 37)
    grid = x.reshape(23, 37)
    cases = {
        "transposed": (Access(dtype, (1, 37), 0, x.size), (37, 23), grid.T),
        "backwards": (Access(dtype, (37, -1), 36, x.size), (23, 37), grid[:, ::-1]),
        "every second": (Access(dtype, (37, 2), 0, x.size), (23, 19), grid[:, ::2]),
        "every second, in whole vectors": (Access(dtype, (37, 2), 5, x.size), (23, 16), grid[:, 5:36:2]),
        "every second to the end": (Access(dtype, (0, 2), x.size - 63, x.size), (2, 32), np.tile(x[-63::2], (2, 1))),
        "every third": (Access(dtype, (37, 3), 1, x.size), (23, 12), grid[:, 1::3]),
        "every fourth": (Access(dtype, (37, 4), 2, x.size), (23, 9), grid[:, 2::4]),
        **{
            f"{n} elements, {step} apart, to the end": (
                Access(dtype, (0, step), x.size - step * (n - 1) - 1, x.size),
                (2, n),
                np.tile(x[x.size - step * (n - 1) - 1 :: step], (2, 1)),
            )
            for step in (3, 4)
            for n in (4, 9, 16, 21, 32)
        },
        "a row again and again": (Access(dtype, (0, 1), 74, x.size), (5, 37), np.tile(grid[2], (5, 1))),
        "a column again and again": (Access(dtype, (37, 0), 4, x.size), (23, 19), np.tile(grid[:, 4:5], (1, 19))),
    }
    for name, (access, domain, want) in cases.items():
        out = contiguous(domain, dtype)
        kernel = LoopKernel(domain, (False,) * 2, (access,), (Instr("input", (), dtype, 0),), (Output(out, 0),))
        arrays = [x, np.zeros(out.size, dtype)]
        for got in (run(kernel, arrays, target), expected(kernel, arrays)):
            np.testing.assert_array_equal(got[-1], want.ravel(), err_msg=name)


def fold(dtype: str, shape: tuple[int, ...], reduced: tuple[bool, ...], how: str, scale: float = 1.0) -> LoopKernel:
    """x [shape] reduced to the axes that remain."""
    kept = tuple(n for n, r in zip(shape, reduced, strict=True) if not r)
    strides = iter(contiguous(kept, dtype).strides)
    out = Access(dtype, tuple(0 if r else next(strides) for r in reduced), 0, math.prod(kept))
    read = (Instr("input", (), dtype, 0),)
    return LoopKernel(shape, reduced, (contiguous(shape, dtype),), read, (Output(out, 0, how, scale),))


@targets
@types
def test_reductions(dtype: str, target: Target) -> None:
    """Sums and products of integers wrap in the dtype; those of doubles are good to its last places."""
    x = values(dtype, 29 * 45)
    functions = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
    for reduced in ((False, True), (True, False), (True, True)):
        axes = tuple(k for k, r in enumerate(reduced) if r)
        kernels = [fold(dtype, (29, 45), reduced, how) for how in functions]
        jobs = [(k, [x, np.zeros(k.outputs[0].access.size, dtype)]) for k in kernels]
        for how, (kernel, arrays), got in zip(functions, jobs, run_many(jobs, target), strict=True):
            if how in ("sum", "prod"):
                want = functions[how](x.reshape(29, 45), axis=axes, dtype=dtype)
            else:
                want = functions[how](x.reshape(29, 45), axis=axes)
            for result in (got[-1], expected(kernel, arrays)[-1]):
                if dtype == "float64":
                    np.testing.assert_allclose(result, np.ravel(want), rtol=1e-13, atol=1e-13 * (how == "sum"))
                else:
                    np.testing.assert_array_equal(result, np.ravel(want), err_msg=how)


def test_a_sum_of_bytes_wraps() -> None:
    x = np.full(300, 100, np.int8)
    total = run(fold("int8", (300,), (True,), "sum"), [x, np.zeros(1, np.int8)])[-1]
    assert total[0] == 48  # 30000 - 117 * 256
    y = np.full(300, 200, np.uint8)
    assert run(fold("uint8", (300,), (True,), "sum"), [y, np.zeros(1, np.uint8)])[-1][0] == 60000 % 256


@targets
def test_a_mean_of_doubles_and_nan(target: Target) -> None:
    x = 1e8 + values("float64", 3 * 70)
    kernel = fold("float64", (3, 70), (False, True), "sum", 1 / 70)
    got = run(kernel, [x, np.zeros(3)], target)[-1]
    np.testing.assert_allclose(got, x.reshape(3, 70).mean(axis=1), rtol=1e-15)
    np.testing.assert_allclose(expected(kernel, [x, np.zeros(3)])[-1], got, rtol=1e-15)
    x[5] = np.nan
    got = run(fold("float64", (3, 70), (False, True), "max"), [x, np.zeros(3)], target)[-1]
    np.testing.assert_array_equal(got, x.reshape(3, 70).max(axis=1))


@types
def test_reductions_over_nothing(dtype: str) -> None:
    for how, neutral in (("sum", 0), ("prod", 1)):
        got = run(fold(dtype, (4, 0), (False, True), how), [np.zeros(0, dtype), np.full(4, 7, dtype)])[-1]
        np.testing.assert_array_equal(got, np.full(4, neutral, dtype))
    with pytest.raises(CodegenError, match="over no elements"):
        run(fold(dtype, (0,), (True,), "max"), [np.zeros(0, dtype), np.zeros(1, dtype)])


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_integers_are_not_scaled(dtype: str) -> None:
    with pytest.raises(CodegenError, match="only floats can be scaled"):
        run(fold(dtype, (4,), (True,), "sum", 0.5), [np.zeros(4, dtype), np.zeros(1, dtype)])


@targets
def test_a_body_of_many_dtypes(target: Target) -> None:
    """Pixels to a normalised double, back to a byte: as many lanes for every width."""
    n = 203
    body = (
        Instr("input", (), "uint8", 0), Instr("cast", (0,), "float64"), Instr("input", (), "float64", 1),
        Instr("mul", (1, 2), "float64"), Instr("cast", (3,), "int8"), Instr("cast", (4,), "int16"),
        Instr("cast", (0,), "int16"), Instr("sub", (5, 6), "int16"), Instr("cast", (3,), "float16"),
    )  # fmt: skip
    inputs = (contiguous((n,), "uint8"), contiguous((n,), "float64"))
    outputs = tuple(Output(contiguous((n,), body[k].dtype), k) for k in (3, 4, 7, 8))
    kernel = LoopKernel((n,), (False,), inputs, body, outputs)
    x, y = values("uint8", n), values("float64", n)
    out = [np.zeros(n, o.access.dtype) for o in outputs]
    product = x * y
    cut = np.clip(np.trunc(product), -128, 127).astype(np.int8)
    wants = [product, cut, cut.astype(np.int16) - x, product.astype(np.float16)]
    for got in (run(kernel, [x, y, *out], target), expected(kernel, [x, y, *out])):
        for result, want in zip(got[2:], wants, strict=True):
            np.testing.assert_array_equal(result, want)


# ---- programs


def two_steps(dtype: str, n: int, gap: int = 0) -> Program:
    """x an input, w a parameter: t = x * x (arena), w = w + t."""
    size = -(-(ITEMSIZE[dtype] * n + gap) // ALIGNMENT) * ALIGNMENT
    buffers = (
        Buffer(0, dtype, (n,), "input", 0), Buffer(1, dtype, (n,), "param", 0), Buffer(2, dtype, (n,), "arena", 0),
        Buffer(3, dtype, (n,), "arena", size),
    )  # fmt: skip
    multiply, add = (pointwise(op, [dtype] * 2, dtype, n) for op in ("mul", "add"))
    square = LoopKernel(
        (n,), (False,), multiply.inputs[:1],
        (multiply.body[0], Instr("mul", (0, 0), dtype)), (Output(multiply.outputs[0].access, 1),),
    )  # fmt: skip
    body = (Call(square, (0, 2), "n1 Mul"), Call(add, (1, 2, 3), "n2 Add", dead=(2,)), Call(square, (3, 1), "n3 Mul"))
    return Program("steps", buffers, body, 2 * size, gap)


def bind(program: Program, params: list[Array], checked: bool, target: Target = HOST) -> Bound:
    return compile_program(program, cache_dir=None, checked=checked, target=target).bind(params, [])


@modes
@types
def test_programs(dtype: str, checked: bool) -> None:
    x, w = values(dtype, 53), values(dtype, 53, 4)
    want = (w + x * x) * (w + x * x)
    bound = bind(two_steps(dtype, 53, 64), [w], checked)
    bound.run([x])
    np.testing.assert_allclose(w, want, rtol=1e-15 if dtype == "float64" else 0)
    assert bound.read(3).dtype == np.dtype(dtype)
    bound.check_canaries()
    dead = bound.read(2)
    if not checked:
        np.testing.assert_allclose(dead, x * x, rtol=1e-15)
    elif dtype == "float64":
        assert np.isnan(dead).all()
    else:
        assert (dead.view(np.uint8) == 0xA5).all()


@types
def test_the_checked_mode_refuses_reads_of_what_is_not_there(dtype: str) -> None:
    program = two_steps(dtype, 9)
    early = Program("early", program.buffers, program.body[1:], program.arena)
    with pytest.raises(CheckedError, match="reads buffer 2, which nothing has written"):
        bind(early, [values(dtype, 9)], True).run([values(dtype, 9)])
    with pytest.raises(CheckedError, match="must be a contiguous"):
        bind(program, [values(dtype, 9)], True).run([np.zeros(9, np.float32)])


@types
def test_canaries_between_buffers(dtype: str) -> None:
    """A changed byte just behind a buffer is noticed."""
    program = two_steps(dtype, 16, 64)
    bound = bind(program, [values(dtype, 16)], False)
    bound.run([values(dtype, 16)])
    bound.check_canaries()
    bound._arena[16 * ITEMSIZE[dtype]] ^= 1
    with pytest.raises(CanaryError, match="beside buffers 2, 3"):
        bound.check_canaries()


def test_bindings_and_programs_name_the_dtype() -> None:
    with pytest.raises(ValueError, match="must be int8 with 9 elements, not uint8"):
        bind(two_steps("int8", 9), [np.zeros(9, np.uint8)], False)
    program = two_steps("uint8", 9)
    other = Buffer(2, "int8", (9,), "arena", 0)
    wrong = Program("wrong", (*program.buffers[:2], other, program.buffers[3]), program.body, program.arena)
    with pytest.raises(CodegenError, match=r"is int8\[9\]; the kernel expects uint8\[9\]"):
        compile_program(wrong, cache_dir=None)


# ---- index kernels


@pytest.mark.parametrize("inner", [1, 3, 21])
@types
def test_gather(dtype: str, inner: int) -> None:
    x = values(dtype, 2 * 5 * inner).reshape(2, 5, inner)
    index = np.array([4, 0, -1, 2, 5, 2], np.int32)
    params = {"outer": 2, "size": 5, "inner": inner, "count": 6, "dtype": dtype, "index_dtype": "int32"}
    want = x[:, [4, 0, 0, 2, 0, 2]]
    want[:, [2, 4]] = 0
    for where, (y,) in run_all("gather", params, x, index).items():
        np.testing.assert_array_equal(y, want.ravel(), err_msg=where)


@pytest.mark.parametrize("inner", [1, 19])
@pytest.mark.parametrize("mode", ["max", "min"])
@types
def test_argmax(dtype: str, mode: str, inner: int) -> None:
    x = values(dtype, 3 * 40 * inner).reshape(3, 40, inner)
    if dtype == "float64":
        x[0, 7], x[1, 3] = np.nan, np.inf
    params = {"outer": 3, "size": 40, "inner": inner, "dtype": dtype, "mode": mode, "out_dtype": "int64"}
    want = (np.argmax if mode == "max" else np.argmin)(x, axis=1).reshape(-1)
    for where, (y,) in run_all("argmax", params, x).items():
        np.testing.assert_array_equal(y, want, err_msg=where)
