"""Loop nests of 16-bit floats: tails, strides, shared memory, reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphc_codegen import loops
from graphc_codegen.declarations import Declarations
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.target import Target
from graphc_codegen.writer import Writer
from tests.codegen.loop_harness import HOST, contiguous, expected, pointwise, run, run_many
from tests.codegen.scalars.test_halves import TYPES, exact, half_types, targets, ulps, values

Array = np.ndarray[Any, np.dtype[Any]]


@targets
@half_types
def test_all_tails(dtype: str, target: Target) -> None:
    jobs = []
    for n in range(1, 71):
        x, y = values(dtype, 70, n)[:n], values(dtype, 70, n + 100)[-n:]
        jobs.append((pointwise("mul", [dtype] * 2, dtype, n), [x, y, np.zeros_like(x)]))
    for (_, (x, y, _)), got in zip(jobs, run_many(jobs, target), strict=True):
        with np.errstate(all="ignore"):
            assert ulps(got[-1], x * y) == 0


def copy(dtype: str, domain: tuple[int, ...], source: Access) -> LoopKernel:
    """y = x, y row-major."""
    out = contiguous(domain, dtype)
    return LoopKernel(domain, (False,) * len(domain), (source,), (Instr("input", (), dtype, 0),), (Output(out, 0),))


@targets
@half_types
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
    for access, domain, want in cases.values():
        exact(copy(dtype, domain, access), [x], target, np.ascontiguousarray(want).ravel())
    for tail in (1, 2):  # Of 16 lanes and of 8.
        part = grid[: 16 + tail, :5]
        want = np.ascontiguousarray(part.T).ravel()
        exact(copy(dtype, (5, 16 + tail), Access(dtype, (1, 37), 0, x.size)), [x], target, want)
    # Scattered stores: y[2 i] = x[i], what lies between stays.
    scatter = LoopKernel(
        (41,), (False,), (contiguous((41,), dtype),), (Instr("input", (), dtype, 0),),
        (Output(Access(dtype, (2,), 0, 83), 0),),
    )  # fmt: skip
    y = values(dtype, 83, 9)
    want = y.copy()
    want[:82:2] = x[:41]
    np.testing.assert_array_equal(run(scatter, [x[:41], y], target)[-1].view(np.uint16), want.view(np.uint16))


@targets
@half_types
def test_in_place(dtype: str, target: Target) -> None:
    x, y = values(dtype, 99), values(dtype, 99, 8)
    kernel = pointwise("add", [dtype] * 2, dtype, 99)
    with np.errstate(all="ignore"):
        want = x + y
    assert ulps(run(kernel, [x, y, x], target, {2: 0})[-1], want) == 0
    assert ulps(run(kernel, [x, y, y], target, {2: 1})[-1], want) == 0


def fold(dtype: str, shape: tuple[int, int], reduced: tuple[bool, bool], how: str, scale: float = 1.0) -> LoopKernel:
    """x [shape] reduced to the axes that remain."""
    kept = tuple(n for n, r in zip(shape, reduced, strict=True) if not r)
    strides = iter(contiguous(kept, dtype).strides)
    out = Access(dtype, tuple(0 if r else next(strides) for r in reduced), 0, math.prod(kept))
    return LoopKernel(
        shape, reduced, (contiguous(shape, dtype),), (Instr("input", (), dtype, 0),), (Output(out, 0, how, scale),)
    )


REDUCED = [(True, False), (False, True), (True, True)]


@targets
@half_types
@pytest.mark.parametrize("shape", [(5, 37), (67, 3), (130, 16)])
def test_sums_and_means_are_rounded_once(dtype: str, shape: tuple[int, int], target: Target) -> None:
    x = np.random.default_rng(4).uniform(0.5, 3, shape).astype(np.float32).astype(TYPES[dtype])
    jobs, want = [], []
    for reduced in REDUCED:
        axes = tuple(k for k, r in enumerate(reduced) if r)
        for scale in (1.0, 1 / 7):
            sums = np.sum(x.astype(np.float64), axis=axes) * scale
            want.append(np.atleast_1d(sums).ravel().astype(np.float32).astype(x.dtype))
            jobs.append((fold(dtype, shape, reduced, "sum", scale), [x.ravel(), np.zeros_like(want[-1])]))
    for (kernel, arrays), native, w in zip(jobs, run_many(jobs, target), want, strict=True):
        assert ulps(native[-1], w) <= 1
        assert ulps(expected(kernel, arrays)[-1], w) <= 1


@targets
def test_sums_do_not_stop_at_the_largest_whole_number(target: Target) -> None:
    for dtype, count in (("float16", 6000), ("bfloat16", 768)):
        ones = np.ones(count, TYPES[dtype])
        exact(fold(dtype, (1, count), (True, True), "sum"), [ones], target, np.array([count], TYPES[dtype]))


@targets
def test_a_sum_overflows_and_a_mean_does_not(target: Target) -> None:
    x = np.full(50, 60000, np.float16)
    want = np.array([np.inf], np.float16)
    exact(fold("float16", (1, 50), (True, True), "sum"), [x], target, want)
    exact(fold("float16", (1, 50), (True, True), "sum", 1 / 50), [x], target, np.array([60000], np.float16))
    exact(fold("float16", (1, 50), (True, True), "prod"), [x], target, want)


@targets
@half_types
@pytest.mark.parametrize("shape", [(5, 37), (67, 3)])
def test_extrema_and_products(dtype: str, shape: tuple[int, int], target: Target) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(0, 1, shape).astype(np.float32)
    x[2, 1], x[3, 2] = np.nan, -np.inf
    x = x.astype(TYPES[dtype])
    factors = (2.0 ** rng.integers(-1, 2, shape)).astype(x.dtype)
    for reduced in REDUCED:
        axes = tuple(k for k, r in enumerate(reduced) if r)
        for how, function in (("max", np.max), ("min", np.min)):
            want = np.atleast_1d(function(x.astype(np.float32), axis=axes)).ravel().astype(x.dtype)
            exact(fold(dtype, shape, reduced, how), [x.ravel()], target, want)
        wide = np.atleast_1d(np.prod(factors.astype(np.float64), axis=axes)).ravel()
        with np.errstate(all="ignore"):
            want = wide.astype(np.float32).astype(x.dtype)
        exact(fold(dtype, shape, reduced, "prod"), [factors.ravel()], target, want)


@targets
@half_types
def test_reduced_and_stored_together(dtype: str, target: Target) -> None:
    """The fused body rounds every square before they are added up."""
    x = values(dtype, 401, 21)[60:]
    access = contiguous((x.size,), dtype)
    body = (Instr("input", (), dtype, 0), Instr("mul", (0, 0), dtype))
    total = Output(Access(dtype, (0,), 0, 1), 1, "max")
    kernel = LoopKernel((x.size,), (True,), (access,), body, (Output(access, 1), total))
    got = run(kernel, [x, np.zeros_like(x), np.zeros(1, x.dtype)], target)
    with np.errstate(all="ignore"):
        squares = x * x
    assert ulps(got[1], squares) == 0
    assert ulps(got[2], np.max(squares.astype(np.float32), keepdims=True).astype(x.dtype)) == 0


@half_types
def test_reductions_over_nothing(dtype: str) -> None:
    for how, number in (("sum", 0.0), ("prod", 1.0)):
        kernel = fold(dtype, (3, 0), (False, True), how)
        arrays = [np.zeros(0, TYPES[dtype]), np.full(3, 9, TYPES[dtype])]
        for got in (run(kernel, arrays, HOST), expected(kernel, arrays)):
            np.testing.assert_array_equal(got[-1], np.full(3, number, TYPES[dtype]))


@half_types
def test_malformed_kernels(dtype: str) -> None:
    other = "float32"
    mixed = pointwise("add", [dtype, other], dtype, 8)
    with pytest.raises(CodegenError, match=r"wrong dtypes"):
        loops.check(mixed)
    with pytest.raises(CodegenError, match=f"reduction 'any' is not defined for {dtype}"):
        loops.check(fold(dtype, (2, 3), (True, True), "any"))


@targets
@half_types
def test_a_choice_of_halves_is_stored_as_it_was(dtype: str, target: Target) -> None:
    """ReLU of a sum, and its gradient: infinities, NaN and what is next to them go where they go in float32."""
    n = 71
    body = (
        Instr("input", (), dtype, 0),
        Instr("input", (), dtype, 1),
        Instr("add", (0, 1), dtype),
        Instr("const", (), dtype, 0.0),
        Instr("max", (2, 3), dtype),
        Instr("gt", (0, 3), "bool"),
        Instr("select", (5, 1, 3), dtype),
    )
    one = contiguous((n,), dtype)
    kernel = LoopKernel((n,), (False,), (one, one), body, (Output(one, 4), Output(one, 6)))
    x, y = values(dtype, n), values(dtype, n, 8)[::-1].copy()
    zero = x.dtype.type(0)
    with np.errstate(all="ignore"):
        total = (x.astype(np.float32) + y.astype(np.float32)).astype(x.dtype)
        wanted = np.where(total.astype(np.float32) < 0, zero, total), np.where(x.astype(np.float32) > 0, y, zero)
    made = run(kernel, [x, y, np.zeros_like(x), np.zeros_like(x)], target)[-2:]
    assert [ulps(got, want) for got, want in zip(made, wanted, strict=True)] == [0, 0]
    w = Writer(Declarations(), 16, bfloat16=True)
    loops.emit(w, kernel, ["%p0", "%p1", "%p2", "%p3"])
    assert not any("trunc <16 x i32>" in line for line in w.lines)
